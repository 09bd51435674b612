"""Exact kernel solution by conjugate gradients: kernel values are recomputed in every step.

No n × n matrix is stored. A randomly pivoted Cholesky factorisation ``F Fᵀ`` of the kernel matrix,
(n, r), preconditions the system: the part of the matrix that it misses decides how many steps it
takes. The constraint holds exactly however far the steps have come, because `Dual.solve` removes
the gaps that are left at the end.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from meanparity._typing import FloatArray
from meanparity.exceptions import StagnationError, warn
from meanparity.linalg.device import name_of, resolve_device
from meanparity.linalg.memory import require_memory
from meanparity.linalg.refinement import conjugate_gradients
from meanparity.solvers.dual import Dual
from meanparity.solvers.factored import solve_exactly
from meanparity.solvers.landmarks import pivots
from meanparity.solvers.operator import KernelOperator
from meanparity.solvers.problem import ConstrainedProblem, Ends, Solver, solve_each_penalty
from meanparity.solvers.solution import Solution, SolverInfo
from meanparity.state import stored

_TOLERANCE = 1e-10  # of the residual, beside the right-hand side
_PATIENCE = 60  # steps in which the residual has to halve
_ADVICE = "Fit on fewer rows, or pass solver='nystrom'."


@stored("ConjugateGradient")
class ConjugateGradient(Solver):
    """Preconditioned conjugate gradients: exact, without the n × n matrix, for a positive alpha.

    It is slower than `Dense`, and needs about 4 · n^1.5 numbers instead of n². A system that is
    too ill conditioned is factored instead, with a warning.

    Parameters
    ----------
    device : str, default="cpu"
        Where kernel values are computed: "cpu", "cuda" or "cuda:1" for a GPU, or "auto" for a GPU
        if torch sees one. The preconditioner is computed on the CPU.

    See Also
    --------
    Dense : A factorisation, if the n × n matrix fits into memory.
    Nystrom : An approximation, at a cost linear in the rows.

    Examples
    --------
    >>> from meanparity import ConjugateGradient, ParityKernelRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> model = ParityKernelRidge(kernel="rbf", solver=ConjugateGradient())
    >>> model.fit(X, y, sensitive_features=s).solver_
    'conjugate_gradient'
    """

    name = "conjugate_gradient"
    exact = True

    def __init__(self, *, device: str = "cpu") -> None:
        self.device = device

    def solve(self, problem: ConstrainedProblem) -> Solution:
        """The constrained and the free minimiser."""
        if not problem.alpha.min() > 0:
            raise ValueError(
                "solver='conjugate_gradient' needs a positive alpha. Pass one, or "
                "solver='spectral'."
            )
        start, device, n = time.perf_counter(), resolve_device(self.device), len(problem.Y)
        problem = replace(problem.in_double_precision(), device=device)
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
            return solve_exactly(problem, "conjugate gradients did not converge", self.device)
        info = SolverInfo(self.name, "asked for", 0.0, 8 * n * rank, 0.0)
        return dual.solution(ends, replace(info, device=name_of(device)), start)


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
        done = operator.adjustment
        if done.shares is not None:
            F = F - done.shares @ F
        if done.root is not None:
            F = done.root[:, None] * F
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
        goal = _TOLERANCE * np.linalg.norm(rhs, axis=0)
        solved, _ = conjugate_gradients(
            self._times, self._precondition, rhs, goal, patience=_PATIENCE
        )
        return solved

    def _times(self, Z: FloatArray) -> FloatArray:
        """``(K + λI) Z``."""
        return self.operator.times(Z) + self.shift * Z

    def _precondition(self, R: FloatArray) -> FloatArray:
        """``(F Fᵀ + λI)⁻¹ R``."""
        seen = scipy.linalg.cho_solve(self.inner, self.F.T @ R)
        return np.asarray((R - self.F @ seen) / self.shift)
