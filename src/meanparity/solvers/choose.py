"""Which solver runs: the only place that knows what "auto" means."""

from __future__ import annotations

from typing import Any

from meanparity.exceptions import warn
from meanparity.linalg.memory import SMALL, available_bytes, format_bytes
from meanparity.solvers.any_loss import LBFGS, AnyLoss, InFeatures, Newton
from meanparity.solvers.conjugate_gradient import ConjugateGradient
from meanparity.solvers.factored import Dense, Spectral, solve_exactly
from meanparity.solvers.normal import SummedProblem, solve_sums
from meanparity.solvers.nystrom import Nystrom
from meanparity.solvers.primal import Primal
from meanparity.solvers.problem import ConstrainedProblem, Solver
from meanparity.solvers.solution import Solution

MOST_EXACT_ROWS = 25_000  # an exact kernel fit to more rows takes minutes
_RIDGE = {kind.name: kind for kind in (Primal, Dense, Spectral, ConjugateGradient, Nystrom)}
_LOSS = {kind.name: kind for kind in (Newton, LBFGS, Nystrom)}


class Auto(Solver):
    """The solver that suits the problem.

    Linear functions of fewer columns than rows, or without a penalty, are solved for their
    coefficients (`Primal`). Everything else is solved for one coefficient per row: by Cholesky
    (`Dense`), or, where ``K + λI`` is singular or indefinite, by an eigendecomposition
    (`Spectral`). Kernel fits that take minutes, or whose matrix does not fit into memory, are
    approximated (`Nystrom`), with a warning.
    """

    name = "auto"
    exact = True

    def solve(self, problem: ConstrainedProblem) -> Solution:
        """The constrained and the free minimiser."""
        n, d = problem.X.shape
        if problem.prefers_columns:
            return Primal().solve(problem, f"linear functions of {d} columns on {n} rows")
        if not problem.kernel.is_linear and not problem.kernel.is_precomputed:
            reason = _landmark_reason(n)
            if reason is not None:
                return _approximate(problem, reason)
        return solve_exactly(problem)

    def solve_sums(self, problem: SummedProblem, start: float) -> Solution:
        """The same from sums over rows."""
        return solve_sums(problem, start)


def _landmark_reason(n_rows: int) -> str | None:
    """Why an exact kernel fit is out of reach; None if it is not."""
    if n_rows > MOST_EXACT_ROWS:
        return f"an exact fit to {n_rows:,} rows takes long"
    needed = int(1.1 * 8 * n_rows**2)
    free = available_bytes() if needed > SMALL else needed
    if needed > free:
        return f"a kernel matrix of {n_rows:,} rows does not fit into {format_bytes(free)}"
    return None


def _approximate(problem: ConstrainedProblem, reason: str) -> Solution:
    nystrom = Nystrom()
    warn(
        f"The kernel fit is approximate, with {nystrom.n_components} landmarks, because {reason}. "
        "The constraint holds exactly. Pass solver='nystrom' to confirm this, "
        "solver=Nystrom(n_components=...) with more landmarks for a closer fit, or solver='dense' "
        "for the exact fit."
    )
    return nystrom.solve(problem, f"because {reason}")


def resolve_solver(solver: Any) -> Solver:
    """A solver for the squared error, from its name or from itself.

    Examples
    --------
    >>> resolve_solver("nystrom")
    Nystrom()
    """
    if isinstance(solver, str) and solver == "auto":
        return Auto()
    return _resolve(solver, _RIDGE)


def resolve_sums_solver(solver: Any) -> Solver:
    """The solver whose features stand for a kernel in sums over rows."""
    return Nystrom() if isinstance(solver, str) and solver == "auto" else resolve_solver(solver)


def resolve_loss_solver(solver: Any) -> Solver:
    """A solver for any loss, from its name or from itself."""
    if isinstance(solver, str) and solver == "auto":
        return AnyLoss()
    found = _resolve(solver, _LOSS)
    if hasattr(found, "feature_map") and not found.any_loss:
        return InFeatures(found)
    if not found.any_loss:
        raise ValueError(
            f"solver={found!r} minimises the squared error alone. Pass 'auto', "
            f"{' or '.join(map(repr, _LOSS))}. If it is your own solver and minimises "
            "problem.loss, say so in its class: any_loss = True."
        )
    return AnyLoss(found)


def _resolve(solver: Any, known: dict[str, type[Any]]) -> Solver:
    if isinstance(solver, str) and solver in known:
        solver = known[solver]()
    others = tuple({*_RIDGE.values(), *_LOSS.values()} - set(known.values()))
    is_other = isinstance(solver, others)
    if isinstance(solver, Solver) and not is_other:
        return solver
    why = "is not known here"
    if is_other or (isinstance(solver, str) and solver in [kind.name for kind in others]):
        why = "minimises the squared error alone" if known is _LOSS else "is for other losses"
    kinds = ", ".join(kind.__name__ + "()" for kind in known.values())
    raise ValueError(
        f"solver={solver!r} {why}. Pass 'auto', one of "
        f"{', '.join(map(repr, known))}, or an object such as {kinds}."
    )
