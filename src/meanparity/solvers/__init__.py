"""Ways of solving: one file each, and `choose`, the only place that knows what "auto" means."""

from meanparity.solvers.any_loss import LBFGS, Newton
from meanparity.solvers.conjugate_gradient import ConjugateGradient
from meanparity.solvers.factored import Dense, Spectral
from meanparity.solvers.features import LinearFeatures
from meanparity.solvers.nystrom import Nystrom
from meanparity.solvers.primal import Primal
from meanparity.solvers.problem import (
    ConstrainedProblem,
    Ends,
    Solver,
    evaluated_solution,
    solve_each_penalty,
)
from meanparity.solvers.solution import Directions, Fit, Solution, SolverInfo

__all__ = [
    "LBFGS",
    "ConjugateGradient",
    "ConstrainedProblem",
    "Dense",
    "Directions",
    "Ends",
    "Fit",
    "LinearFeatures",
    "Newton",
    "Nystrom",
    "Primal",
    "Solution",
    "Solver",
    "SolverInfo",
    "Spectral",
    "evaluated_solution",
    "solve_each_penalty",
]
