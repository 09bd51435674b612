"""The features of a Nyström approximation, from what a user asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from sklearn.utils import check_array, check_random_state

from meanparity._typing import Features
from meanparity.kernels import AbstractKernel, BoundKernel, Kernel
from meanparity.linalg import require_memory
from meanparity.solvers.features import FeatureSpace, FourierSpace, KernelSpace
from meanparity.solvers.landmarks import LANDMARKS, choose_landmarks

_ADVICE = "Pass a smaller n_components."


def feature_space(
    X: Features,
    kernel: AbstractKernel,
    names: tuple[str, ...] | None,
    landmarks: Any,
    n_components: Any,
    random_state: Any,
) -> FeatureSpace:
    """Kernel functions at landmarks among the rows of X, or at given ones, or Fourier features.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Rows.
    kernel : AbstractKernel
        The kernel.
    names : tuple of str or None
        Names of the columns.
    landmarks : str or array-like of shape (p, d)
        One of `LANDMARKS`, "fourier", or points.
    n_components : int
        Number of features, unless points are given.
    random_state : int, RandomState or None
        Where chance comes from.
    """
    if isinstance(kernel, Kernel) and kernel.kernel == "precomputed":
        raise ValueError(
            "solver='nystrom' evaluates the kernel at landmarks, which kernel='precomputed' does "
            "not allow. Pass the features and the kernel."
        )
    d = X.shape[1]

    def bind(points: Features) -> BoundKernel:
        return kernel.bind(points, names)

    if not isinstance(landmarks, str):
        if landmarks is None or np.ndim(landmarks) == 0:
            raise ValueError(
                f"landmarks={landmarks!r} is not known. Pass one of {', '.join(LANDMARKS)}, "
                "'fourier', or points."
            )
        points = check_array(landmarks, accept_sparse="csr", dtype=float, input_name="landmarks")
        if points.shape[1] != d:
            raise ValueError(
                f"landmarks have {points.shape[1]} columns, but there are {d} features. Pass "
                "points with the columns that the kernel sees."
            )
        return _at(kernel, names, points, X.dtype)
    count = isinstance(n_components, int | np.integer) and not isinstance(n_components, bool)
    if not count or n_components < 1:
        raise ValueError(f"n_components={n_components!r}. Pass a whole number of 1 or more.")
    if landmarks == "fourier":
        if not (isinstance(kernel, Kernel) and kernel.kernel == "rbf" and kernel.columns is None):
            raise ValueError(
                "landmarks='fourier' are features of the RBF kernel of whole rows. Pass "
                f"kernel='rbf', or one of {', '.join(LANDMARKS)}."
            )
        gamma = 1 / d if kernel.gamma is None else float(kernel.gamma)
        return FourierSpace.of(d, gamma, int(n_components), check_random_state(random_state))
    if landmarks not in LANDMARKS:
        raise ValueError(
            f"landmarks={landmarks!r} is not known. Pass one of {', '.join(LANDMARKS)}, 'fourier', "
            "or points."
        )
    chosen = choose_landmarks(X, int(n_components), landmarks, bind, random_state)
    return _at(kernel, names, X[chosen].astype(float), X.dtype)


def _at(
    kernel: AbstractKernel, names: tuple[str, ...] | None, points: Features, dtype: DTypeLike
) -> KernelSpace:
    p = points.shape[0]
    require_memory(4 * 8 * p * p, what=f"A kernel at {p:,} landmarks", advice=_ADVICE)
    return KernelSpace.of(kernel, names, points, dtype)
