"""Ways of solving: one file each, and `choose`, the only "auto"."""

from meanparity.solvers.choose import SOLVERS, solve
from meanparity.solvers.solution import Fit, Info, Solution

__all__ = ["SOLVERS", "Fit", "Info", "Solution", "solve"]
