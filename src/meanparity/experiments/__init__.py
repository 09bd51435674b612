"""The paper's tables and figures: one declaration each, one runner.

``meanparity reproduce`` on the command line; from Python:

>>> from meanparity.experiments import CATALOGUE
>>> CATALOGUE["fig:tradeoff"].title
'Error against gap'
"""

from meanparity.experiments.catalogue import CATALOGUE
from meanparity.experiments.declaration import Claim, Entry, Experiment, Verdict
from meanparity.experiments.runner import Plan

__all__ = ["CATALOGUE", "Claim", "Entry", "Experiment", "Plan", "Verdict"]
