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
            means = np.stack([np.mean(part, axis=axis) for part in parts])
            return np.asarray(means[j] - np.tensordot(shares, means, 1))

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
    p_values = np.empty(groups.n_groups)
    for j in range(groups.n_groups):
        p_values[j] = stats.permutation_test(
            (values[groups.codes == j], values[groups.codes != j]),
            _welch,
            n_resamples=n_resamples,
            batch=_batch_size(values, n_resamples),
            vectorized=True,
            alternative="greater",
            rng=random,
        ).pvalue
    return p_values


def _batch_size(values: FloatArray, n_resamples: int) -> int:
    return max(1, min(n_resamples, _BATCH_BYTES // (8 * len(values))))


def _welch(a: FloatArray, b: FloatArray, axis: int) -> FloatArray:
    """Absolute value of Welch's t, and 0 where the means are equal up to rounding."""
    difference = np.abs(np.mean(a, axis) - np.mean(b, axis))
    error = np.sqrt(sum(np.var(x, axis, ddof=1) / x.shape[axis] for x in (a, b)))
    size = np.maximum(np.abs(a).max(axis), np.abs(b).max(axis))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(difference <= 1e-13 * size, 0.0, difference / error)
