"""The distribution-free certificate, from the theorems as they are printed, with 50 digits."""

from __future__ import annotations

import itertools

import mpmath


def hoeffding(n, probability):
    """The t with ``exp(−2 n t²) = probability``.

    Hoeffding (1963), Theorem 2: the mean of n independent values from [0, 1] exceeds its
    expectation by t or more with at most that probability.
    """
    low, high = mpmath.mpf(0), mpmath.mpf(10)
    for _ in range(170):
        middle = (low + high) / 2
        if mpmath.exp(-2 * n * middle**2) > probability:
            low = middle
        else:
            high = middle
    return low


def maurer_pontil(values, probability):
    """The right-hand side of Maurer and Pontil (2009), Theorem 4, for values from [0, 1].

    The sample variance is their ``V_n = Σ_{i<j} (x_i − x_j)² / (n (n − 1))``.
    """
    n = len(values)
    total = mpmath.fsum(values)
    # Σ_{i<j} (x_i − x_j)² = n Σ x_i² − (Σ x_i)², which is quicker for many rows
    if n > 100:
        pairs = n * mpmath.fsum(x * x for x in map(mpmath.mpf, values)) - total**2
    else:
        pairs = mpmath.fsum(
            (mpmath.mpf(a) - mpmath.mpf(b)) ** 2 for a, b in itertools.combinations(values, 2)
        )
    variance = pairs / (n * (n - 1))
    log = mpmath.log(2 / mpmath.mpf(probability))
    return mpmath.sqrt(2 * variance * log / n) + 7 * log / (3 * (n - 1))


def bounds(values, groups, low, high, confidence):
    """An upper bound on the gap of each group, all of which hold with the given confidence.

    The mean of each of k groups and the mean of all have to be near their expectations, on both
    sides, by both theorems: 4 (k + 1) events share the probability of an error equally.
    """
    with mpmath.workdps(50):
        names = sorted(set(groups))
        probability = (1 - mpmath.mpf(confidence)) / (4 * (len(names) + 1))
        unit = [(mpmath.mpf(x) - mpmath.mpf(low)) / (mpmath.mpf(high) - low) for x in values]
        everybody, all_mean = _radius(unit, probability), mpmath.fsum(unit) / len(unit)
        found = {}
        for name in names:
            inside = [x for x, group in zip(unit, groups, strict=True) if group == name]
            gap = abs(mpmath.fsum(inside) / len(inside) - all_mean)
            radius = _radius(inside, probability)
            found[name] = float((gap + radius + everybody) * (mpmath.mpf(high) - low))
        return found


def _radius(values, probability):
    radius = hoeffding(len(values), probability)
    if len(values) < 2:  # there is no sample variance
        return radius
    return min(radius, maurer_pontil(values, probability))
