"""Exact kernel solutions from a factorisation of the stored kernel matrix ``K + λI``.

`Dense` takes one Cholesky factorisation, n³/3 operations. `Spectral` takes an eigendecomposition:
for λ = 0, singular and indefinite matrices.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from meanparity._typing import Precision
from meanparity.exceptions import warn
from meanparity.kernels.bound import gram
from meanparity.linalg.blas import NotPositiveDefiniteError
from meanparity.linalg.device import CPU, name_of, resolve_device
from meanparity.linalg.refinement import DOUBLE, Accuracy, Factorable, Refined, StoredMatrix
from meanparity.linalg.symmetric import Eigen, SymmetricMatrix
from meanparity.solvers.dual import GRAM_ADVICE, Dual
from meanparity.solvers.problem import ConstrainedProblem, Ends, Solver, solve_each_penalty
from meanparity.solvers.solution import Solution, SolverInfo
from meanparity.state import stored

if TYPE_CHECKING:
    from meanparity.linalg.device_matrix import DeviceMatrix

PRECISIONS = (DOUBLE, "mixed")
_UNPENALISED_CUT = 1e-6


@stored("Dense")
class Dense(Solver):
    """One Cholesky factorisation of the n × n kernel matrix, for a positive alpha.

    Parameters
    ----------
    precision : {"float64", "mixed"}, default="float64"
        Precision of the factor. The solution is that of double precision either way. With "mixed",
        the matrix is factored in single precision, which takes half of the time, and conjugate
        gradients in double precision, with this factor as preconditioner, lead to the solution. If
        they do not, the matrix is factored in double precision. `solver_info_` says which factor
        was used, how many steps were taken, and the residual of the linear system.
    device : str, default="cpu"
        Where the matrix is: "cpu", "cuda" or "cuda:1" for a GPU, or "auto" for a GPU if torch sees
        one. Arrays of NumPy go in and come out. Predictions are computed there as well.

    See Also
    --------
    Spectral : An eigendecomposition, also without a penalty.
    ConjugateGradient : Without the n × n matrix.

    Examples
    --------
    >>> from meanparity import ParityKernelRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(100, random_state=0)
    >>> model = ParityKernelRidge(kernel="rbf", solver=Dense()).fit(X, y, sensitive_features=s)
    >>> model.solver_
    'dense'
    >>> mixed = ParityKernelRidge(kernel="rbf", solver=Dense(precision="mixed"))
    >>> mixed.fit(X, y, sensitive_features=s).solver_info_.precision
    'float32'
    """

    name = "dense"
    exact = True

    def __init__(self, *, precision: Precision = "float64", device: str = "cpu") -> None:
        self.precision = precision
        self.device = device

    def solve(self, problem: ConstrainedProblem, reason: str = "asked for") -> Solution:
        """The constrained and the free minimiser; `reason` is why this solver was chosen.

        Raises
        ------
        NotPositiveDefiniteError
            When the matrix has no Cholesky factorisation in floating point.
        """
        if self.precision not in PRECISIONS:
            raise ValueError(
                f"precision={self.precision!r} is not known. Pass 'float64' or 'mixed'."
            )
        start, problem = time.perf_counter(), problem.in_double_precision()
        given: Factorable | None = None
        factors: list[Refined] = []
        mixed = self.precision != DOUBLE
        if self.device != CPU:
            problem = replace(problem, device=resolve_device(self.device))
        if problem.device is not None:
            given = device_matrix(problem, mixed=mixed)
        elif mixed:
            stored = gram(problem.bound_kernel, problem.X, advice=GRAM_ADVICE)
            given = StoredMatrix.from_matrix(stored)
        dual = Dual.prepare(problem, K=given)
        K = dual.K
        assert isinstance(K, SymmetricMatrix | Factorable)

        def solve(part: ConstrainedProblem, alpha: float) -> Ends:
            if isinstance(K, SymmetricMatrix):
                return dual.solve(part, alpha, K.cholesky(alpha))
            factors.append(Refined(K, alpha))
            return dual.solve(part, alpha, factors[-1])

        try:
            ends = solve_each_penalty(problem, solve)
        except NotPositiveDefiniteError as error:
            K.require_finite()
            raise NotPositiveDefiniteError(
                f"solver='dense' cannot factor K + alpha·I with alpha={problem.alpha.min():g}: "
                "the matrix is singular or indefinite. Pass a larger alpha, or solver='spectral'."
            ) from error
        info = SolverInfo(self.name, reason, 0.0, 8 * len(problem.Y) ** 2, 0.0)
        if not isinstance(K, SymmetricMatrix):
            info = replace(info, matrix_bytes=K.matrix_bytes, device=name_of(problem.device))
            info = with_accuracy(info, factors)
        return dual.solution(ends, info, start)


@stored("Spectral")
class Spectral(Solver):
    """An eigendecomposition of the n × n kernel matrix: any alpha, singular and indefinite kernels.

    Without a penalty, it gives the solution of least norm.

    See Also
    --------
    Dense : A factorisation, which takes less time.

    Examples
    --------
    >>> from meanparity import ParityKernelRidge, Spectral
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> model = ParityKernelRidge(kernel="rbf", alpha=0.0, solver=Spectral())
    >>> model.fit(X, y, sensitive_features=s).solver_
    'spectral'
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


def device_matrix(problem: ConstrainedProblem, *, mixed: bool) -> DeviceMatrix:
    """The kernel matrix of the training rows on the device of the problem.

    Raises
    ------
    MemoryError
        Before anything is allocated, when it does not fit.
    """
    from meanparity.linalg.device_matrix import DeviceMatrix  # for those who have a device

    assert problem.device is not None
    values = problem.bound_kernel.own_values(problem.X)
    return DeviceMatrix.compute(problem.device, values, len(problem.Y), mixed=mixed)


def with_accuracy(info: SolverInfo, factors: list[Refined]) -> SolverInfo:
    """What a solver says about itself, and how it solved its linear systems."""
    worst = Accuracy.worst([factor.accuracy for factor in factors if factor.accuracy is not None])
    return replace(info, precision=worst.rung, steps=worst.steps, system_residual=worst.residual)


def solve_exactly(
    problem: ConstrainedProblem, reason: str | None = None, device: str = "cpu"
) -> Solution:
    """By Cholesky if the matrix is positive definite, otherwise by its eigenvectors."""
    fallback = "alpha is zero: least-norm solution"
    if problem.alpha.min() > 0:
        try:
            chosen = f"alpha > 0 on {len(problem.Y):,} rows: one Cholesky factorisation"
            return Dense(device=device).solve(problem, chosen if reason is None else reason)
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
