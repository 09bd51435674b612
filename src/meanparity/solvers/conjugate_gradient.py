"""Exact kernel solution by conjugate gradients: kernel values are recomputed in every step.

No n × n matrix is stored. A randomly pivoted Cholesky factorisation ``F Fᵀ`` of the kernel matrix,
(n, r), preconditions the system: the part of the matrix that it misses decides how many steps it
takes. The constraint holds exactly however far the steps have come, because `Dual.solve` removes
the gaps that are left at the end.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from meanparity._typing import FloatArray
from meanparity.exceptions import StagnationError, warn
from meanparity.linalg.memory import require_memory
from meanparity.solvers.dual import Dual
from meanparity.solvers.factored import solve_exactly
from meanparity.solvers.landmarks import pivots
from meanparity.solvers.operator import KernelOperator
from meanparity.solvers.problem import (
    ConstrainedProblem,
    Ends,
    Solution,
    Solver,
    SolverInfo,
    solve_each_penalty,
)
from meanparity.state import stored

_TOLERANCE = 1e-10  # of the residual, beside the right-hand side
_PATIENCE = 60  # steps in which the residual has to halve
_ADVICE = "Fit on fewer rows, or pass solver='nystrom'."


@stored("ConjugateGradient")
class ConjugateGradient(Solver):
    """Preconditioned conjugate gradients: exact, without the n × n matrix, for a positive alpha.

    It is slower than `Dense`, and needs about 4 · n^1.5 numbers instead of n². A system that is
    too ill conditioned is factored instead, with a warning.
    """

    name = "conjugate_gradient"
    exact = True

    def solve(self, problem: ConstrainedProblem) -> Solution:
        """The constrained and the free minimiser."""
        if not problem.alpha.min() > 0:
            raise ValueError(
                "solver='conjugate_gradient' needs a positive alpha. Pass one, or "
                "solver='spectral'."
            )
        start, problem, n = time.perf_counter(), problem.in_double_precision(), len(problem.Y)
        operator = KernelOperator.from_kernel(problem.bound_kernel, problem.X)
        dual = Dual.prepare(problem, K=operator)
        prepared, rank = dual.K, min(n, max(int(4 * np.sqrt(n)), 50))
        assert isinstance(prepared, KernelOperator)

        def solve(part: ConstrainedProblem, alpha: float) -> Ends:
            return dual.solve(part, alpha, _Steps.prepare(prepared, alpha, rank))

        try:
            ends = solve_each_penalty(problem, solve)
        except StagnationError as error:
            warn(
                f"{error}: the system is too ill conditioned for conjugate gradients, or the "
                "kernel is indefinite. It is factored instead, which takes the memory of the "
                "kernel matrix. Raise alpha, or pass solver='nystrom'."
            )
            return solve_exactly(problem, "conjugate gradients did not converge")
        return dual.solution(
            ends, SolverInfo(self.name, "asked for", 0.0, 8 * n * rank, 0.0), start
        )


@dataclass(frozen=True, eq=False)
class _Steps:
    """``(K + λI)⁻¹`` by conjugate gradients, all right-hand sides at once.

    Parameters
    ----------
    operator : KernelOperator
        K.
    shift : float
        λ.
    F : (n, r) array
        ``F Fᵀ`` is close to K.
    inner : Cholesky factor of ``FᵀF + λI``
        As `scipy.linalg.cho_factor` gives it.
    """

    operator: KernelOperator
    shift: float
    F: FloatArray
    inner: tuple[FloatArray, bool]

    @classmethod
    def prepare(cls, operator: KernelOperator, shift: float, rank: int) -> _Steps:
        """Factor the kernel matrix in part, by randomly pivoted Cholesky."""
        n = len(operator)
        require_memory(3 * 8 * n * rank, what=f"A preconditioner of rank {rank}", advice=_ADVICE)
        _, F = pivots(operator.kernel, operator.X, rank, np.random.RandomState(0))
        F = F if F.shape[1] else np.zeros((n, 1))
        if operator.shares is not None:
            F = F - operator.shares @ F
        if operator.root is not None:
            F = operator.root[:, None] * F
        gram = F.T @ F
        gram[np.diag_indices_from(gram)] += shift
        return cls(operator, shift, F, scipy.linalg.cho_factor(gram, lower=True))

    def solve(self, rhs: FloatArray) -> FloatArray:
        """The solution of ``(K + λI) Z = rhs`` for rhs of shape (n, m).

        Raises
        ------
        StagnationError
            When the steps stop making progress.
        """
        size = np.linalg.norm(rhs, axis=0)
        Z, R = np.zeros_like(rhs), rhs.copy()
        P = S = self._precondition(R)
        rho = np.einsum("ij,ij->j", R, S)
        best, since = np.inf, 0
        while True:
            left = np.linalg.norm(R, axis=0) / np.where(size > 0, size, 1.0)
            active = left > _TOLERANCE
            if not active.any():
                return Z
            worst = float(left.max())
            if not np.isfinite(worst):
                raise StagnationError("The steps of conjugate gradients overflow.")
            if worst < 0.5 * best:
                best, since = worst, 0
            since += 1
            if since > _PATIENCE:
                raise StagnationError(
                    f"Conjugate gradients do not come closer than {best:.1e} of the right-hand side"
                )
            Q = self.operator.times(P[:, active]) + self.shift * P[:, active]
            step = np.zeros(len(size))
            curvature = np.einsum("ij,ij->j", P[:, active], Q)
            if (curvature <= 0).any():
                raise StagnationError("The kernel matrix is not positive definite")
            step[active] = rho[active] / curvature
            Z += step * P
            R[:, active] -= step[active] * Q
            S = self._precondition(R)
            new = np.einsum("ij,ij->j", R, S)
            P = S + np.where(rho > 0, new / np.where(rho > 0, rho, 1.0), 0.0) * P
            rho = new

    def _precondition(self, R: FloatArray) -> FloatArray:
        """``(F Fᵀ + λI)⁻¹ R``."""
        seen = scipy.linalg.cho_solve(self.inner, self.F.T @ R)
        return np.asarray((R - self.F @ seen) / self.shift)
