"""Bounds on means of bounded values by betting, valid for any distribution."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from meanparity._typing import FloatArray

_MOST_PAIRS = 4096
_STEP = 1 / 4000  # of the grid of means that are tried
_LARGEST_BET = 0.99  # share of the stake that the worst outcome can cost


def difference_bounds(
    own: FloatArray,
    others: FloatArray,
    span: float,
    errors: Iterable[float],
    random_state: Any = 0,
) -> list[float]:
    """Upper bounds on the size of the difference between the means of two samples.

    The samples are divided into the same number of parts, whose means are paired. The differences
    of the pairs are independent, lie within ± `span`, and have the mean in question.

    Parameters
    ----------
    own, others : (n,) and (m,) arrays
        The samples.
    span : float
        Length of an interval that contains all possible values.
    errors : iterable of float
        Probabilities, at most, with which each bound fails.
    random_state : int, RandomState or None
        Random seed of the pairs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bounds = difference_bounds(rng.random(200), rng.random(600), 1.0, (0.05, 0.3))
    >>> [round(bound, 2) for bound in bounds]
    [0.08, 0.06]
    """
    random = check_random_state(random_state)
    n_pairs = min(len(own), len(others), _MOST_PAIRS)
    means = [_part_means(random.permutation(sample), n_pairs) for sample in (own, others)]
    y = (means[0] - means[1]) / (2 * span) + 0.5
    return [
        2 * span * max(upper_bound(side, error, least=0.5) - 0.5 for side in (y, 1 - y))
        for error in errors
    ]


def upper_bound(values: FloatArray, error: float, step: float = _STEP, least: float = 0.0) -> float:
    """Upper bound on the common mean of n independent values between 0 and 1, in order.

    For each mean μ on a grid, a stake of 1 is multiplied by ``1 + λ_t (μ − y_t)`` for each value.
    The bet λ_t ≥ 0 depends on earlier values only, so that the stake is expected to shrink if the
    mean is μ or more, and exceeds ``1/error`` with probability `error` at most. The bound is the
    smallest μ of the grid, which starts at `least`, from which on all are refuted. Bets aim at the
    stake that is still needed with the values that are left:
    ``λ_t = sqrt(2 log(1 / (error · stake)) / ((n − t + 1) σ_t²))``.

    Examples
    --------
    >>> round(upper_bound(np.full(100, 0.5), 0.05), 3)
    0.515
    """
    n, log_target = len(values), np.log(1 / error)
    means = np.arange(least, 1 + step / 2, step)
    largest = _LARGEST_BET / np.maximum(1 - means, 1e-12)
    log_stake, best = np.zeros(len(means)), np.zeros(len(means))
    total, squares = 0.5, 0.125  # one value of 1/2, with the largest variance of such a difference
    for t, y in enumerate(values.tolist()):
        variance = squares / (t + 1)
        left = np.maximum(log_target - log_stake, 0.0)
        bets = np.minimum(np.sqrt(2 * left / ((n - t) * variance)), largest)
        log_stake += np.log1p(bets * (means - y))
        np.maximum(best, log_stake, out=best)
        total += y
        squares += (y - total / (t + 2)) ** 2
    kept = np.flatnonzero(best < log_target)  # not refuted
    return float(min(means[kept[-1]] + step, 1.0)) if len(kept) else least


def _part_means(sample: FloatArray, n_parts: int) -> FloatArray:
    """Means of equal parts of a sample, whose sizes differ by one at most: (n_parts,)."""
    starts = (np.arange(n_parts) * len(sample)) // n_parts
    sizes = np.diff(np.append(starts, len(sample)))
    return np.asarray(np.add.reduceat(sample, starts) / sizes)
