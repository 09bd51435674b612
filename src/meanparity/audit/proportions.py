"""Limits for means of 0/1 values, by the binomial distribution itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from meanparity._typing import FloatArray

_RARE, _COMMON = 5.0, 15.0  # counts up to which limits are exact, and from which they are Jeffreys'


def share_limits(
    shares: Any, sizes: Any, error: Any, *, exact: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Limits of proportions, each of which fails with a probability of about `error` / 2.

    Up to five events, or five rows without one, they are the exact limits of Clopper and Pearson,
    which fail less often. From fifteen on they are those of Jeffreys, which hold as often as they
    say on average; in between, they are in between. Sizes need not be whole numbers: the effective
    sizes of weighted rows are not.

    Parameters
    ----------
    shares, sizes, error : floats or arrays that broadcast
        Observed proportions, numbers of rows, and the probability of error.
    exact : bool, default=False
        Whether limits are those of Clopper and Pearson for any number of events.

    References
    ----------
    Brown, L. D., Cai, T. T. and DasGupta, A. (2001). Interval estimation for a binomial
    proportion. Statistical Science 16.

    Examples
    --------
    >>> [limit.round(3).tolist() for limit in share_limits([0.0, 0.5], [5, 40], 0.05)]
    [[0.0, 0.35], [0.522, 0.65]]
    """
    shares, sizes, error = np.broadcast_arrays(
        np.asarray(shares, float), np.asarray(sizes, float), np.asarray(error, float)
    )
    counts = np.clip(shares, 0.0, 1.0) * sizes
    fewer = np.minimum(counts, sizes - counts)
    shift = np.clip((fewer - _RARE) / (_COMMON - _RARE), 0.0, 0.0 if exact else 1.0) / 2
    low = _lower_limit(counts, sizes, shift, error / 2)
    return low, 1 - _lower_limit(sizes - counts, sizes, shift, error / 2)


def difference_limits(
    one: Any, one_sizes: Any, other: Any, other_sizes: Any, error: Any
) -> tuple[FloatArray, FloatArray]:
    """Limits of differences between two proportions, from the limits of each.

    References
    ----------
    Newcombe, R. G. (1998). Interval estimation for the difference between independent proportions.
    Statistics in Medicine 17.

    Examples
    --------
    >>> [round(float(end), 2) for end in difference_limits(0.0, 5, 0.5, 40, 0.05)]
    [-0.65, 0.04]
    """
    low, high = share_limits(one, one_sizes, error)
    other_low, other_high = share_limits(other, other_sizes, error)
    difference = np.asarray(one) - np.asarray(other)
    return (
        difference - np.hypot(one - low, other_high - other),
        difference + np.hypot(high - one, other - other_low),
    )


def detectable_above(
    rest: FloatArray, rest_sizes: FloatArray, sizes: FloatArray, error: float, power: float
) -> FloatArray:
    """How far a proportion has to be above that of the rest to be found with this probability.

    The smallest number of events that is significant beside `rest` has to be reached with
    probability `power`. That follows from the binomial distribution, and a normal term is added for
    the error of `rest`. NaN where no number of events is enough.

    Parameters
    ----------
    rest : (k,) array
        Expected proportions of the rest, above zero.
    rest_sizes, sizes : (k,) arrays
        Numbers of rows.
    error, power : float
        Probability of error of the limits, and probability of a difference to be found.

    Examples
    --------
    >>> rest, rest_sizes, sizes = np.array([0.02, 0.5]), np.array([500, 500]), np.array([30, 5])
    >>> detectable_above(rest, rest_sizes, sizes, 0.05, 0.8).round(3)
    array([0.156,   nan])
    """
    margin = share_limits(rest, rest_sizes, error)[1] - rest

    def is_significant(own: FloatArray) -> FloatArray:
        return np.asarray(own - rest > np.hypot(own - share_limits(own, sizes, error)[0], margin))

    low, high = rest, np.ones(len(rest))
    for _ in range(50):
        middle = (low + high) / 2
        enough = is_significant(middle)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    events = np.minimum(np.ceil(high * sizes - 1e-9), sizes)
    half, own = (special.betaincinv(events, sizes - events + 1, p) for p in (0.5, power))
    noise = special.ndtri(power) * np.sqrt(rest * (1 - rest) / rest_sizes)
    size = half - rest + np.sign(noise) * np.hypot(own - half, noise)
    return np.where(is_significant(events / sizes) & (rest + size <= 1), size, np.nan)


def _lower_limit(
    counts: FloatArray, sizes: FloatArray, shift: FloatArray, error: FloatArray
) -> FloatArray:
    """Quantile of a beta distribution, Clopper and Pearson's without a shift; 0 without events."""
    some = counts > 1e-9
    first = np.where(some, counts, 1.0) + shift
    found = special.betaincinv(first, sizes - counts + 1 - shift, error)
    return np.asarray(np.where(some, found, 0.0))
