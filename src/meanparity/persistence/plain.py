"""A fitted model as plain numbers: a kernel, its points, and coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import FloatArray
from meanparity.estimators import (
    ParityKernelRidge,
    ParityKernelRidgeCV,
    ParityRidge,
    ParityRidgeCV,
)
from meanparity.estimators._report import require_tradeoff
from meanparity.kernels import Kernel
from meanparity.kernels.bound import KernelExpansion
from meanparity.solvers.features import KernelFeatures, LinearFeatures

_KERNELS = {"linear": "linear", "rbf": "rbf", "poly": "polynomial", "polynomial": "polynomial"}


@dataclass(frozen=True, eq=False)
class PlainModel:
    """Predicts ``κ(z, points) @ coef + intercept`` at ``z = (x − shift) / scale``.

    Parameters
    ----------
    kernel : {"linear", "rbf", "polynomial"}
        ``zᵀp``, ``exp(−γ‖z − p‖²)`` or ``(γ zᵀp + coef0)^degree``.
    gamma, coef0, degree : float
        Its parameters.
    points : (p, d) array
        Points of the kernel expansion; the unit vectors if the kernel is linear.
    fair, free : (p, m) arrays
        Coefficients of the constrained and of the unconstrained model. For a model that is not on
        the dial between both, `fair` is the model itself.
    fair_intercept, free_intercept : (m,) arrays
        Intercepts of both models.
    fill, shift, scale : (d,) arrays
        For each column: the value that replaces a missing x (NaN if none does), the value that is
        subtracted, and the one that it is divided by.
    columns : tuple of str
        Names of the columns.
    single_output : bool
        Whether predictions have the shape (n,) instead of (n, m).
    unfairness : float
        Position of the model on the dial.
    """

    kernel: str
    gamma: float
    coef0: float
    degree: float
    points: FloatArray
    fair: FloatArray
    free: FloatArray
    fair_intercept: FloatArray
    free_intercept: FloatArray
    fill: FloatArray
    shift: FloatArray
    scale: FloatArray
    columns: tuple[str, ...]
    single_output: bool
    unfairness: float

    @classmethod
    def of(cls, model: Any) -> PlainModel:
        """From a fitted estimator, or from a pipeline that ends with one."""
        steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
        estimator: Any = steps[-1]
        if not isinstance(
            estimator, ParityRidge | ParityRidgeCV | ParityKernelRidge | ParityKernelRidgeCV
        ):
            raise TypeError(
                f"{type(estimator).__name__} has no export. Pass ParityRidge, ParityKernelRidge, "
                "or one of their CV estimators, fitted."
            )
        check_is_fitted(estimator)
        tradeoff = require_tradeoff(estimator)
        basis, solution = tradeoff.basis, tradeoff.solution
        kernel, points = _kernel_at(estimator, basis.functions)
        u = estimator.unfairness_
        fair = solution.fair if u is not None else estimator._function
        ends = [(end.coef, end.intercept) for end in (fair, solution.free)]
        if kernel.kernel == "linear":
            ends = [_linear(basis.functions, points, *end) for end in ends]
            points = np.eye(len(ends[0][0]))
        d = points.shape[1]
        fill, shift, scale = _before(steps[:-1], d)
        names = basis.layout.feature_names
        return cls(
            _KERNELS[str(kernel.kernel)],
            1 / d if kernel.gamma is None else float(kernel.gamma),
            float(kernel.coef0),
            float(kernel.degree),
            points,
            ends[0][0],
            ends[1][0],
            ends[0][1],
            ends[1][1],
            fill,
            shift,
            scale,
            tuple(names or (f"x{j}" for j in range(d))),
            tradeoff.single_output,
            0.0 if u is None else float(u),
        )


def _kernel_at(estimator: Any, functions: Any) -> tuple[Kernel, FloatArray]:
    """The kernel and its points, (p, d), of which linear functions of columns have none."""
    if isinstance(functions, LinearFeatures):
        return Kernel("linear"), np.zeros((0, functions.width))
    kernel: Any = None
    points: Any = None
    if isinstance(functions, KernelFeatures):
        kernel, points = functions.spec, functions.landmarks
    elif isinstance(functions, KernelExpansion):
        kernel, points = functions.kernel, functions.points
    known = isinstance(kernel, Kernel) and kernel.columns is None and kernel.kernel in _KERNELS
    if not known or points is None:
        raise ValueError(
            f"kernel={estimator.kernel!r} has no export. Those with one are linear, rbf and poly, "
            "on all columns."
        )
    return kernel, np.asarray(points.toarray() if sparse.issparse(points) else points, dtype=float)


def _linear(
    functions: Any, points: FloatArray, coef: FloatArray, intercept: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Coefficients of the columns, (d, m), and the intercept, (m,)."""
    if isinstance(functions, LinearFeatures):
        return coef, intercept - functions.origin @ coef
    origin = getattr(functions, "origin", None)
    origin = np.zeros(points.shape[1]) if origin is None else origin
    columns = (points - origin).T @ coef
    return columns, intercept - origin @ columns


def _before(steps: list[Any], d: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """`fill`, `shift` and `scale` of the steps right before the estimator; others are left out."""
    fill, shift, scale = np.full(d, np.nan), np.zeros(d), np.ones(d)
    for step in reversed(steps):
        if isinstance(step, StandardScaler) and not np.any(np.isfinite(fill)):
            mean = step.mean_ if step.with_mean else np.zeros(d)
            factor = step.scale_ if step.scale_ is not None else np.ones(d)
            shift, scale = mean + factor * shift, factor * scale
        elif isinstance(step, SimpleImputer) and len(step.statistics_) == d:
            fill = np.asarray(step.statistics_, dtype=float)
        else:
            break
    return fill, shift, scale
