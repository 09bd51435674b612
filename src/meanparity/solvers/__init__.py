"""Ways of solving: one file each, and `choose`, the only "auto"."""

from meanparity.solvers.choose import SOLVERS, choose_landmarks_for, choose_optimizer, solve
from meanparity.solvers.descent import OPTIMIZERS, Method, Run
from meanparity.solvers.iterative import LossSolution, solve_loss
from meanparity.solvers.penalised import Penalty, solve_penalised
from meanparity.solvers.solution import Fit, Info, Solution
from meanparity.solvers.summed import Summed, solve_sums
from meanparity.solvers.task import Task

__all__ = [
    "OPTIMIZERS",
    "SOLVERS",
    "Fit",
    "Info",
    "LossSolution",
    "Method",
    "Penalty",
    "Run",
    "Solution",
    "Summed",
    "Task",
    "choose_landmarks_for",
    "choose_optimizer",
    "solve",
    "solve_loss",
    "solve_penalised",
    "solve_sums",
]
