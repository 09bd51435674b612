"""Ways of solving: one file each, and `choose`, the only "auto"."""

from meanparity.solvers.choose import SOLVERS, solve
from meanparity.solvers.penalised import Penalty, solve_penalised
from meanparity.solvers.solution import Fit, Info, Solution
from meanparity.solvers.task import Task

__all__ = ["SOLVERS", "Fit", "Info", "Penalty", "Solution", "Task", "solve", "solve_penalised"]
