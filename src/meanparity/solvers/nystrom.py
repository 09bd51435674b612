"""Nyström approximation: kernel functions at landmarks, at a cost linear in the rows."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_array

from meanparity._typing import Features, FloatArray
from meanparity.data.columns import is_position
from meanparity.kernels.spec import AbstractKernel, Kernel
from meanparity.linalg.device import resolve_device
from meanparity.linalg.memory import require_memory
from meanparity.linalg.symmetric import row_blocks
from meanparity.solvers.features import FeatureMap, KernelFeatures, LinearFeatures, whiten
from meanparity.solvers.landmarks import LANDMARKS, choose_landmarks
from meanparity.solvers.normal import SummedProblem, solve_sums
from meanparity.solvers.problem import ConstrainedProblem, Solver
from meanparity.solvers.solution import Fit, Solution, no_columns
from meanparity.state import stored

_BLOCK = 2**20  # features computed at a time (8 MiB)


@stored("Nystrom")
class Nystrom(Solver):
    """Functions of features at landmark rows: an approximation in which the constraint is exact.

    The cost is linear in the rows. With as many landmarks as rows, the solution is exact.

    Parameters
    ----------
    n_components : int, default=500
        Number of landmarks.
    landmarks : {"rpcholesky", "uniform"} or array-like of shape (p, d), default="rpcholesky"
        How landmarks are drawn from the rows: by randomly pivoted Cholesky, or uniformly; or the
        landmarks themselves.
    random_state : int, RandomState or None, default=0
        Random seed.
    optimizer : Newton, LBFGS, another solver for any loss, or None, default=None
        How losses other than the squared error are minimised; None chooses by size.
    device : str, default="cpu"
        Where kernel values, sums over rows, and predictions are computed: "cpu", "cuda" or "cuda:1"
        for a GPU, or "auto" for a GPU if torch sees one.

    See Also
    --------
    Dense : The exact fit.
    ConjugateGradient : The exact fit without the n × n matrix.

    Examples
    --------
    >>> from meanparity import ParityKernelRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(1000, nonlinear=True, random_state=0)
    >>> model = ParityKernelRidge(kernel="rbf", solver=Nystrom(n_components=50))
    >>> model.fit(X, y, sensitive_features=s).X_fit_.shape
    (50, 5)
    """

    name = "nystrom"
    exact = True

    def __init__(
        self,
        n_components: int = 500,
        *,
        landmarks: Any = "rpcholesky",
        random_state: Any = 0,
        optimizer: Any = None,
        device: str = "cpu",
    ) -> None:
        self.n_components = n_components
        self.landmarks = landmarks
        self.random_state = random_state
        self.optimizer = optimizer
        self.device = device

    def solve(self, problem: ConstrainedProblem, reason: str = "asked for") -> Solution:
        """The constrained and the free minimiser; `reason` is why this solver was chosen."""
        start = time.perf_counter()
        if problem.kernel.is_linear:
            features: FeatureMap = LinearFeatures.near(problem.X, centred=problem.fit_intercept)
        else:
            features = self.feature_map(problem.X, problem.kernel, problem.names)
        return solve_sums(SummedProblem.from_problem(problem, features), start, f", {reason}")

    def solve_sums(self, problem: SummedProblem, start: float) -> Solution:
        """The same from sums over rows."""
        return solve_sums(problem, start)

    def feature_map(
        self, X: Features, kernel: AbstractKernel, names: tuple[str, ...] | None = None
    ) -> KernelFeatures:
        """Kernel functions at landmarks among the rows of X, (n, d), or at those given."""
        return _kernel_features(self, X, kernel, names)


def in_solver_features(solver: Any, problem: ConstrainedProblem) -> ConstrainedProblem:
    """The problem on the features of a solver that approximates; otherwise the problem itself."""
    if problem.kernel.is_linear or not hasattr(solver, "feature_map"):
        return problem
    return in_features(problem, solver.feature_map(problem.X, problem.kernel, problem.names))


def _kernel_features(
    nystrom: Nystrom, X: Features, kernel: AbstractKernel, names: tuple[str, ...] | None
) -> KernelFeatures:
    if kernel.is_precomputed:
        raise ValueError(
            "solver='nystrom' evaluates the kernel at landmarks, which kernel='precomputed' does "
            "not allow. Pass the features and the kernel."
        )
    how, count = nystrom.landmarks, nystrom.n_components
    if isinstance(how, str) and (not is_position(count) or count < 1):
        raise ValueError(f"n_components={count!r}. Pass an integer of 1 or more.")
    if how is None or (how not in LANDMARKS if isinstance(how, str) else np.ndim(how) == 0):
        raise ValueError(
            f"landmarks={how!r} is not known. Pass one of {', '.join(LANDMARKS)}, or points."
        )
    if isinstance(how, str):
        chosen = choose_landmarks(X, int(count), how, kernel, names, nystrom.random_state)
        points = X[chosen].astype(float)
    else:
        points = check_array(how, accept_sparse="csr", dtype=float, input_name="landmarks")
        if points.shape[1] != X.shape[1]:
            raise ValueError(
                f"landmarks have {points.shape[1]} columns, but there are {X.shape[1]} features. "
                "Pass points with the columns that the kernel sees."
            )
    p = points.shape[0]
    require_memory(
        4 * 8 * p * p, what=f"A kernel at {p:,} landmarks", advice="Pass a smaller n_components."
    )
    device = resolve_device(nystrom.device)
    return KernelFeatures.from_landmarks(kernel, names, points, X.dtype, device)


def in_features(problem: ConstrainedProblem, features: KernelFeatures) -> ConstrainedProblem:
    """The problem on whitened features, whose linear functions are those of the feature map."""
    rows = problem.X.shape[0] + (0 if problem.pool_X is None else problem.pool_X.shape[0])
    require_memory(
        2 * 8 * rows * features.width,
        what=f"{features.width:,} features of {rows:,} rows",
        advice="Pass a smaller n_components.",
    )
    return replace(
        problem,
        X=_whitened(problem.X, features),
        pool_X=None if problem.pool_X is None else _whitened(problem.pool_X, features),
        kernel=Kernel("linear"),
        names=None,
    )


def from_features(
    solution: Solution, problem: ConstrainedProblem, features: KernelFeatures
) -> Solution:
    """A solution of `in_features(problem, features)` as one of the problem itself."""
    as_columns = getattr(solution.basis, "as_columns", no_columns)

    def back(fit: Fit) -> Fit:
        columns = as_columns(fit.coef)
        if columns is None:
            raise ValueError(
                f"The optimizer of Nystrom returned functions of {type(solution.basis).__name__}, "
                "which are not known to be linear in the features. Return LinearFeatures as the "
                "basis, or a basis with a method as_columns."
            )
        theta, origin = columns
        coef, intercept = features.whitening @ theta, fit.intercept - origin @ theta
        pool = fit.pool
        if problem.pool_X is not None:
            pool = features.evaluate(problem.pool_X, coef) + intercept
        fitted = features.evaluate(problem.X, coef) + intercept
        return replace(fit, coef=coef, intercept=intercept, fitted=fitted, pool=pool)

    return replace(solution, fair=back(solution.fair), free=back(solution.free), basis=features)


def _whitened(X: Features, features: FeatureMap) -> FloatArray:
    values = np.empty((X.shape[0], features.width))
    for part in row_blocks(X.shape[0], max(_BLOCK // features.width, 256)):
        values[part] = features.raw(X[part])
        whiten(features, values[part])
    return values
