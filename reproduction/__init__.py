"""The paper's tables and figures: one declaration each, and one runner.

Run ``python -m reproduction`` or ``make reproduce`` in the root of a clone. From Python:

>>> from reproduction import CATALOGUE
>>> CATALOGUE["fig:tradeoff"].title
'Error against gap'
"""

from reproduction.catalogue import CATALOGUE
from reproduction.declaration import Claim, Entry, Experiment, Verdict
from reproduction.runner import Plan

__all__ = ["CATALOGUE", "Claim", "Entry", "Experiment", "Plan", "Verdict"]
