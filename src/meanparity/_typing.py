"""Names for the types that annotations repeat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import metaestimators

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
Features: TypeAlias = Any  # float64 array or SciPy sparse matrix, (n, d)
FloatOrArray: TypeAlias = float | FloatArray  # one number for each output: a float for one output
Numbers: TypeAlias = float | Sequence[float] | FloatArray
Columns: TypeAlias = int | str | Sequence[int | str] | None  # by name or position

# names that stand for objects; `tests/types/test_types.py` compares them with what the code accepts
ConstraintName: TypeAlias = Literal["mean_parity", "covariance_parity", "residual_parity"]
RidgeSolverName: TypeAlias = Literal[
    "auto", "primal", "dense", "spectral", "conjugate_gradient", "nystrom"
]
LossSolverName: TypeAlias = Literal["auto", "newton", "lbfgs", "nystrom"]
KernelName: TypeAlias = Literal[
    "additive_chi2",
    "chi2",
    "cosine",
    "laplacian",
    "linear",
    "poly",
    "polynomial",
    "precomputed",
    "rbf",
    "sigmoid",
]
RegressionLossName: TypeAlias = Literal[
    "squared", "huber", "smooth_l1", "quantile", "epsilon_insensitive", "poisson", "gamma"
]
ClassificationLossName: TypeAlias = Literal["logistic", "hinge"]
MissingValues: TypeAlias = Literal["error", "group", "ignore"]
Scale: TypeAlias = Literal["score", "response"]
ParityOn: TypeAlias = Literal["both", "train", "pool"]
WeightScope: TypeAlias = Literal["both", "loss", "constraint"]
Precision: TypeAlias = Literal["float64", "mixed"]

_Method = TypeVar("_Method", bound=Callable[..., Any])


def available_if(check: Callable[[Any], bool]) -> Callable[[_Method], _Method]:
    """scikit-learn's `available_if`, which keeps the type of the method."""
    decorate: Callable[[_Method], _Method] = metaestimators.available_if(check)
    return decorate
