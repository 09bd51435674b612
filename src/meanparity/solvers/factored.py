"""Exact kernel solutions from a factorisation of the stored kernel matrix ``K + λI``.

`Dense` takes one Cholesky factorisation, n³/3 operations. `Spectral` takes an eigendecomposition:
for λ = 0, singular and indefinite matrices.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from meanparity.exceptions import warn
from meanparity.linalg.blas import NotPositiveDefiniteError
from meanparity.linalg.symmetric import Eigen, SymmetricMatrix
from meanparity.solvers.dual import Dual
from meanparity.solvers.problem import (
    ConstrainedProblem,
    Ends,
    Solution,
    Solver,
    SolverInfo,
    solve_each_penalty,
)
from meanparity.state import stored

_UNPENALISED_CUT = 1e-6


@stored("Dense")
class Dense(Solver):
    """One Cholesky factorisation of the n × n kernel matrix, for a positive alpha.

    Examples
    --------
    >>> from meanparity import ParityKernelRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(100, random_state=0)
    >>> model = ParityKernelRidge(kernel="rbf", solver=Dense()).fit(X, y, sensitive_features=s)
    >>> model.solver_
    'dense'
    """

    name = "dense"
    exact = True

    def solve(self, problem: ConstrainedProblem, reason: str = "asked for") -> Solution:
        """The constrained and the free minimiser; `reason` is why this solver was chosen.

        Raises
        ------
        NotPositiveDefiniteError
            When the matrix has no Cholesky factorisation in floating point.
        """
        start, problem = time.perf_counter(), problem.in_double_precision()
        dual = Dual.prepare(problem)
        K = dual.K
        assert isinstance(K, SymmetricMatrix)

        def solve(part: ConstrainedProblem, alpha: float) -> Ends:
            return dual.solve(part, alpha, K.cholesky(alpha))

        try:
            ends = solve_each_penalty(problem, solve)
        except NotPositiveDefiniteError as error:
            K.require_finite()
            raise NotPositiveDefiniteError(
                f"solver='dense' cannot factor K + alpha·I with alpha={problem.alpha.min():g}: "
                "the matrix is singular or indefinite. Pass a larger alpha, or solver='spectral'."
            ) from error
        return dual.solution(
            ends, SolverInfo(self.name, reason, 0.0, 8 * len(problem.Y) ** 2, 0.0), start
        )


@stored("Spectral")
class Spectral(Solver):
    """An eigendecomposition of the n × n kernel matrix: any alpha, singular and indefinite kernels.

    Without a penalty, it gives the solution of least norm.
    """

    name = "spectral"
    exact = True

    def solve(self, problem: ConstrainedProblem, reason: str = "asked for") -> Solution:
        """The constrained and the free minimiser; `reason` is why this solver was chosen."""
        start, problem = time.perf_counter(), problem.in_double_precision()
        dual = Dual.prepare(problem, spectral=True)
        assert isinstance(dual.K, SymmetricMatrix)
        eigen = dual.K.eigen()

        def solve(part: ConstrainedProblem, alpha: float) -> Ends:
            factor = pseudo_inverse(eigen, alpha)
            whole = dual.whole
            if whole is not None:
                whole = replace(whole.shifted(alpha), cut=factor.cut)
            return dual.solve(part, alpha, factor, whole)

        ends = solve_each_penalty(problem, solve)
        info = SolverInfo(self.name, reason, 0.0, 8 * len(problem.Y) ** 2, 0.0)
        return dual.solution(ends, info, start)


def solve_exactly(problem: ConstrainedProblem, reason: str | None = None) -> Solution:
    """By Cholesky if the matrix is positive definite, otherwise by its eigenvectors."""
    fallback = "alpha is zero: least-norm solution"
    if problem.alpha.min() > 0:
        try:
            chosen = f"alpha > 0 on {len(problem.Y):,} rows: one Cholesky factorisation"
            return Dense().solve(problem, chosen if reason is None else reason)
        except NotPositiveDefiniteError:
            fallback = "K + alpha·I is singular or indefinite"
    return Spectral().solve(problem, fallback if reason is None else f"{reason}; {fallback}")


def pseudo_inverse(eigen: Eigen, alpha: float) -> Eigen:
    """The decomposed matrix plus ``λI``, with a threshold below which eigenvalues count as zero.

    Without a penalty, the solution divides by small eigenvalues, and parity loses the digits that
    this costs: those below `_UNPENALISED_CUT` of the largest count as zero.
    """
    factor = eigen.shifted(alpha)
    low, high = factor.values.min(), np.abs(factor.values).max()
    if low < -1e-8 * high:
        warn(
            f"The kernel matrix is indefinite: K + alpha·I has an eigenvalue of {low:.3g}. The "
            "constraint holds, but the solution is a stationary point rather than a minimum, and "
            "may be far off. Raise alpha, or choose another kernel."
        )
    elif 0 < alpha < factor.cut * high:
        warn(
            f"alpha={alpha:g} is negligible compared with the largest eigenvalue of the kernel "
            f"matrix, {high:.3g}: rounding decides the solution. Raise alpha, or scale the "
            "features."
        )
    return factor if alpha > 0 else replace(factor, cut=_UNPENALISED_CUT)
