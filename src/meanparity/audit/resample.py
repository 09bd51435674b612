"""Intervals by the bootstrap and p-values by permutation, through `scipy.stats`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from meanparity._typing import FloatArray
from meanparity.data.groups import Groups

_BATCH_BYTES = 256 * 2**20  # memory for the resampled rows of one batch


def bootstrap_intervals(
    values: FloatArray, groups: Groups, n_resamples: int, random: Any, *, confidence: float
) -> FloatArray:
    """Percentile bootstrap intervals of the gaps: (k, 2).

    Rows are resampled within each group, so group sizes stay as they are.
    """
    samples = [values[groups.codes == group] for group in range(groups.n_groups)]
    shares = groups.counts / groups.counts.sum()
    intervals = np.empty((groups.n_groups, 2))
    for j in range(groups.n_groups):

        def gap(*parts: FloatArray, axis: int, j: int = j) -> FloatArray:
            means = [np.mean(part, axis=axis) for part in parts]
            gaps: FloatArray = means[j] - np.tensordot(shares, np.stack(means), 1)
            return gaps

        result = stats.bootstrap(
            samples,
            gap,
            n_resamples=n_resamples,
            batch=_batch_size(values, n_resamples),
            vectorized=True,
            confidence_level=confidence,
            method="percentile",
            rng=random,
        )
        intervals[j] = result.confidence_interval
    return intervals


def permutation_p_values(
    values: FloatArray, groups: Groups, n_resamples: int, random: Any
) -> FloatArray:
    """Permutation p-values of no difference between a group and all other rows: (k,).

    The test statistic is Welch's t, so that groups may have different variances.
    """
    p_values = [
        stats.permutation_test(
            (values[groups.codes == j], values[groups.codes != j]),
            _welch,
            n_resamples=n_resamples,
            batch=_batch_size(values, n_resamples),
            vectorized=True,
            alternative="greater",
            rng=random,
        ).pvalue
        for j in range(groups.n_groups)
    ]
    return np.array(p_values)


def _batch_size(values: FloatArray, n_resamples: int) -> int:
    return max(1, min(n_resamples, _BATCH_BYTES // (8 * len(values))))


def _welch(a: FloatArray, b: FloatArray, axis: int) -> FloatArray:
    """Absolute value of Welch's t, and 0 where the means are equal up to rounding."""
    parts = [(np.mean(x, axis), np.var(x, axis, ddof=1) / x.shape[axis]) for x in (a, b)]
    difference, error = np.abs(parts[0][0] - parts[1][0]), np.sqrt(parts[0][1] + parts[1][1])
    size = np.maximum(np.abs(a).max(axis), np.abs(b).max(axis))
    same = difference <= 1e-13 * size
    with np.errstate(divide="ignore", invalid="ignore"):
        t: FloatArray = np.where(same, 0.0, difference / error)
    return t
