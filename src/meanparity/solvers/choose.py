"""Which solver runs: the only place that knows what "auto" means."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from meanparity._typing import Features, FloatArray
from meanparity.constraints import Functionals
from meanparity.exceptions import NotPositiveDefiniteError
from meanparity.kernels import BoundKernel, gram
from meanparity.solvers.dense import solve_dense
from meanparity.solvers.primal import solve_primal
from meanparity.solvers.solution import Info, Pieces, Solution, solve_each
from meanparity.solvers.spectral import solve_spectral

SOLVERS = ("auto", "dense", "primal", "spectral")
_ADVICE = (
    "Fit on fewer rows, or, if linear functions will do, use ParityRidge, which needs no n × n "
    "matrix."
)


def solve(
    X: Features,
    Y: FloatArray,
    functionals: Functionals,
    alpha: FloatArray,
    *,
    kernel: BoundKernel,
    is_linear: bool,
    fit_intercept: bool,
    solver: str,
) -> Solution:
    """Solve with the named solver, or with the one that suits the problem.

    Linear functions of fewer columns than rows, or without a penalty, are solved for their
    coefficients (primal); everything else for one coefficient a row: by Cholesky (dense), or, when
    ``K + λI`` is singular or indefinite, by an eigendecomposition (spectral).

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Training rows.
    Y : (n, m) array
        Targets.
    functionals : Functionals
        What has to vanish on the training rows.
    alpha : (m,) array
        Penalty of each output.
    kernel : BoundKernel
        The kernel, bound to X.
    is_linear : bool
        Whether the kernel is the inner product of whole rows.
    fit_intercept : bool
        Whether an unpenalised constant is fitted.
    solver : {"auto", "dense", "primal", "spectral"}
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
    n, d = X.shape
    if solver == "primal" or (solver == "auto" and is_linear and (n > d or not alpha.all())):
        name, bytes_, pieces = "primal", 8 * d * d, _primal(X, Y, functionals, alpha, fit_intercept)
        reason = f"linear functions of {d} columns on {n} rows"
    else:
        name, reason, pieces = _kernel(X, Y, functionals, alpha, kernel, fit_intercept, solver)
        bytes_ = 8 * n * n
    if solver != "auto":
        reason = "asked for"
    residual = float(np.abs(functionals.gaps(pieces[0].fitted)).max())
    return Solution(*pieces, Info(name, reason, time.perf_counter() - start, bytes_, residual))


def _primal(
    X: Features, Y: FloatArray, functionals: Functionals, alpha: FloatArray, fit_intercept: bool
) -> Pieces:
    def one(penalty: float, targets: FloatArray) -> Pieces:
        return solve_primal(X, targets, functionals, penalty, fit_intercept=fit_intercept)

    return solve_each(alpha, Y, one)


def _kernel(
    X: Features,
    Y: FloatArray,
    functionals: Functionals,
    alpha: FloatArray,
    kernel: BoundKernel,
    fit_intercept: bool,
    solver: str,
) -> tuple[str, str, Pieces]:
    """Name, reason and solution of the dense or the spectral solver."""
    K = gram(kernel, X, advice=_ADVICE)
    row_means = None
    if fit_intercept:
        K, row_means = K.centre()

    if solver == "dense" or (solver == "auto" and alpha.min() > 0):
        try:
            pieces = solve_each(
                alpha, Y, lambda penalty, y: solve_dense(K, y, functionals, penalty, row_means)
            )
            pieces = _as_predicted(pieces, kernel, X, Y, row_means)
            return "dense", f"alpha > 0 on {len(K)} rows: one Cholesky factorisation", pieces
        except NotPositiveDefiniteError as error:
            K.require_finite()
            if solver == "dense":
                raise NotPositiveDefiniteError(
                    f"solver='dense' cannot factor K + alpha·I with alpha={alpha.min():g}: the "
                    "matrix is singular or indefinite. Pass a larger alpha, or solver='spectral'."
                ) from error
            reason = "K + alpha·I is singular or indefinite"
    else:
        reason = "alpha is zero: least-norm solution"
    pieces = solve_each(
        alpha, Y, lambda penalty, y: solve_spectral(K, y, functionals, penalty, row_means)
    )
    return "spectral", reason, _as_predicted(pieces, kernel, X, Y, row_means)


def _as_predicted(
    pieces: Pieces,
    kernel: BoundKernel,
    X: Features,
    Y: FloatArray,
    row_means: FloatArray | None,
) -> Pieces:
    """Fitted values as the kernel itself gives them, not its centred matrix.

    The centred matrix forgets what a kernel with large values does to the rounding of real
    predictions; without an intercept the matrix is the kernel, and nothing is to be done.
    """
    if row_means is None:
        return pieces
    fair, free, multipliers = pieces
    values = kernel.evaluate(X, np.hstack([fair.coef, free.coef]))
    values += np.concatenate([fair.intercept, free.intercept])
    m = Y.shape[1]
    return (
        replace(fair, fitted=values[:, :m]),
        replace(free, fitted=values[:, m:]),
        multipliers,
    )
