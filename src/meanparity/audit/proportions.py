"""Limits for means of 0/1 values, by the binomial distribution itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from meanparity._typing import FloatArray


def share_limits(shares: Any, sizes: Any, error: Any) -> tuple[FloatArray, FloatArray]:
    """Exact limits of proportions (Clopper and Pearson), each of which fails in error / 2 at most.

    Sizes need not be whole numbers: the effective sizes of weighted rows are not.

    Parameters
    ----------
    shares, sizes, error : floats or arrays that broadcast
        Observed proportions, numbers of rows, and the probability of error.

    Examples
    --------
    >>> [limit.round(3).tolist() for limit in share_limits([0.0, 0.5], [5, 20], 0.05)]
    [[0.0, 0.272], [0.522, 0.728]]
    """
    shares, sizes, error = np.broadcast_arrays(
        np.asarray(shares, float), np.asarray(sizes, float), np.asarray(error, float)
    )
    counts = np.clip(shares, 0.0, 1.0) * sizes
    return _lower_limit(counts, sizes, error / 2), 1 - _lower_limit(sizes - counts, sizes, error / 2)


def _lower_limit(counts: FloatArray, sizes: FloatArray, error: FloatArray) -> FloatArray:
    """The proportion at which so large a count has this probability; 0 for a count of 0."""
    some = counts > 1e-9
    found = special.betaincinv(np.where(some, counts, 1.0), sizes - counts + 1, error)
    return np.asarray(np.where(some, found, 0.0))
