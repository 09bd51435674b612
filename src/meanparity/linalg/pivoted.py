"""Features of positive semidefinite matrices, by pivoted Cholesky factorisations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from meanparity._typing import FloatArray


def pivoted_cholesky(
    diagonal: FloatArray,
    column: Callable[[int], FloatArray],
    tolerance: float = 1e-12,
    max_rank: int | None = None,
) -> FloatArray:
    """Features F with ``F @ F.T = R`` for a symmetric positive semidefinite R, never built whole.

    Each step takes the row with the largest remaining diagonal entry, until that is `tolerance`
    times the largest one at the start: F has as many columns as the numerical rank of R.

    Parameters
    ----------
    diagonal : (k,) array
        Diagonal of R.
    column : callable
        ``column(j)`` gives column j of R, (k,).
    tolerance : float
        Relative size of the diagonal at which the rest counts as rounding.
    max_rank : int, optional
        Largest number of columns of F.

    Returns
    -------
    (k, r) array

    Examples
    --------
    >>> R = np.array([[4.0, 2.0], [2.0, 1.0]])
    >>> pivoted_cholesky(R.diagonal(), lambda j: R[:, j])
    array([[2.],
           [1.]])
    """
    left = np.array(diagonal, dtype=float)
    stop = tolerance * left.max(initial=0.0)
    most = len(left) if max_rank is None else min(max_rank, len(left))
    features, rank = np.empty((min(most, 32), len(left))), 0
    while rank < most:
        pivot = int(np.argmax(left))
        if not left[pivot] > stop:
            break
        if rank == len(features):
            features = np.vstack([features, np.empty_like(features)])
        done = features[:rank]
        residual = np.array(column(pivot), dtype=float) - done[:, pivot] @ done
        features[rank] = residual / np.sqrt(left[pivot])
        left = np.maximum(left - features[rank] ** 2, 0.0)
        left[pivot] = 0.0
        rank += 1
    return np.ascontiguousarray(features[:rank].T)


def dense_features(R: FloatArray, tolerance: float = 1e-12) -> FloatArray:
    """The same features, (k, r), from the whole matrix R, (k, k): faster if there are many.

    Examples
    --------
    >>> R = np.array([[4.0, 2.0], [2.0, 1.0]])
    >>> dense_features(R)
    array([[2.],
           [1.]])
    """
    cut = tolerance * float(R.diagonal().max())
    factor, pivots, rank, _ = scipy.linalg.lapack.dpstrf(R, tol=cut, lower=1)
    features = np.empty((len(R), int(rank)))
    features[pivots - 1] = np.tril(factor)[:, :rank]
    return features
