"""Which solver runs: the only place that knows what "auto" means."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from meanparity.exceptions import NotPositiveDefiniteError, StagnationError, warn
from meanparity.kernels import BoundKernel
from meanparity.linalg import SymmetricMatrix
from meanparity.linalg.memory import available_bytes, format_bytes
from meanparity.solvers.conjugate_gradient import prepare_steps, solve_steps
from meanparity.solvers.dense import solve_dense
from meanparity.solvers.dual import Dual
from meanparity.solvers.primal import solve_primal
from meanparity.solvers.solution import Info, Pieces, Solution, solve_each
from meanparity.solvers.spectral import solve_spectral
from meanparity.solvers.task import Task

MANY = 25_000  # rows from which on an exact kernel fit takes minutes
SOLVERS = ("auto", "dense", "primal", "spectral", "conjugate_gradient")
_ADVICE = (
    "Fit on fewer rows, or, if linear functions will do, use ParityRidge, which needs no n × n "
    "matrix."
)


def solve(
    task: Task, *, kernel: Callable[[], BoundKernel], is_linear: bool, solver: str
) -> Solution:
    """Solve with the named solver, or with the one that suits the problem.

    Linear functions of fewer columns than rows, or without a penalty, are solved for their
    coefficients (primal); everything else for one coefficient a row: by Cholesky (dense), or, when
    ``K + λI`` is singular or indefinite, by an eigendecomposition (spectral).

    Parameters
    ----------
    task : Task
        What to minimise, subject to what.
    kernel : callable
        Gives the kernel, bound to the training rows followed by the pool, if it is needed.
    is_linear : bool
        Whether the kernel is the inner product of whole rows.
    solver : {"auto", "conjugate_gradient", "dense", "primal", "spectral"}
        Which solver.
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} is not known. Pass one of {', '.join(SOLVERS)}.")
    if solver == "primal" and not is_linear:
        raise ValueError(
            "solver='primal' solves for one coefficient per column, which only the kernel "
            "'linear' has. Pass solver='auto', or kernel='linear'."
        )
    start = time.perf_counter()
    n, d = task.X.shape
    if solver == "primal" or (solver == "auto" and is_linear and task.suits_columns):
        name, bytes_, pieces = "primal", 8 * d * d, solve_each(task, solve_primal)
        reason = f"linear functions of {d} columns on {n} rows"
    else:
        name, reason, pieces = _kernel(task, kernel(), solver)
        bytes_ = 8 * n * n
    if solver != "auto":
        reason = "asked for"
    fair = pieces[0]
    gaps = task.functionals.gaps(fair.fitted), task.pool.gaps(fair.pool)
    residual = max(float(np.abs(gap).max(initial=0.0)) for gap in gaps)
    return Solution(*pieces, Info(name, reason, time.perf_counter() - start, bytes_, residual))


def choose_landmarks_for(n_rows: int) -> str | None:
    """Why an exact kernel fit is out of reach and landmarks are not; None if it is not."""
    if n_rows > MANY:
        return f"an exact fit to {n_rows:,} rows takes long"
    free = available_bytes()
    if int(1.1 * 8 * n_rows**2) > free:
        return f"a kernel matrix of {n_rows:,} rows does not fit into {format_bytes(free)}"
    return None


def choose_optimizer(task: Task, *, is_linear: bool) -> str:
    """Newton's method, unless its square matrix is large beside a few passes over the rows."""
    columns = is_linear and task.suits_columns
    return "newton" if (task.X.shape[1] <= 2000 if columns else len(task.Y) <= 6000) else "lbfgs"


def _kernel(task: Task, kernel: BoundKernel, solver: str) -> tuple[str, str, Pieces]:
    """Name, reason and solution of the solvers with a coefficient a row."""
    if solver == "conjugate_gradient":
        if not task.alpha.min() > 0:
            raise ValueError(
                "solver='conjugate_gradient' needs a positive alpha. Pass one, or "
                "solver='spectral'."
            )
        try:
            dual, rank = prepare_steps(task, kernel)
            pieces = solve_each(task, lambda part, alpha: solve_steps(dual, rank, part, alpha))
            return solver, "asked for", pieces
        except StagnationError as error:
            warn(
                f"{error}: the system is too ill conditioned for steps, or the kernel indefinite. "
                "It is factored instead, which takes the memory of the kernel matrix. Raise alpha, "
                "or pass solver='nystrom'."
            )
            solver = "auto"
    if solver == "dense" or (solver == "auto" and task.alpha.min() > 0):
        dual = Dual.prepare(task, kernel, advice=_ADVICE, spectral=False)
        try:
            pieces = solve_each(task, lambda part, alpha: solve_dense(dual, part, alpha))
            return "dense", f"alpha > 0 on {len(dual.K)} rows: one Cholesky factorisation", pieces
        except NotPositiveDefiniteError as error:
            dual.K.require_finite()
            if solver == "dense":
                raise NotPositiveDefiniteError(
                    f"solver='dense' cannot factor K + alpha·I with alpha={task.alpha.min():g}: "
                    "the matrix is singular or indefinite. Pass a larger alpha, or "
                    "solver='spectral'."
                ) from error
            reason = "K + alpha·I is singular or indefinite"
        del dual  # its matrix makes room for that of the next
    else:
        reason = "alpha is zero: least-norm solution"
    dual = Dual.prepare(task, kernel, advice=_ADVICE, spectral=True)
    assert isinstance(dual.K, SymmetricMatrix)
    eigen = dual.K.eigen()
    pieces = solve_each(task, lambda part, alpha: solve_spectral(dual, eigen, part, alpha))
    return "spectral", reason, pieces
