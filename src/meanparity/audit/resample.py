"""Intervals and p-values by resampling, through `scipy.stats`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from meanparity._typing import FloatArray
from meanparity.groups import Groups

_BYTES = 256 * 2**20  # of resampled rows at a time


def bootstrap_intervals(
    values: FloatArray, groups: Groups, confidence: float, n_resamples: int, random: Any
) -> FloatArray:
    """Confidence intervals (k, 2) of the gaps: the bootstrap draws inside each group.

    The percentile method, with group sizes as they are.
    """
    samples = [values[groups.codes == group] for group in range(groups.n_groups)]
    shares = groups.counts / groups.counts.sum()
    batch = max(1, min(n_resamples, _BYTES // (8 * len(values))))
    intervals = np.empty((groups.n_groups, 2))
    for j in range(groups.n_groups):

        def gap(*parts: FloatArray, axis: int, j: int = j) -> FloatArray:
            means = [np.mean(part, axis=axis) for part in parts]
            gaps: FloatArray = means[j] - np.tensordot(shares, np.stack(means), 1)
            return gaps

        found = stats.bootstrap(
            samples,
            gap,
            n_resamples=n_resamples,
            batch=batch,
            vectorized=True,
            confidence_level=confidence,
            method="percentile",
            rng=random,
        )
        intervals[j] = found.confidence_interval
    return intervals


def permutation_p_values(
    values: FloatArray, groups: Groups, n_resamples: int, random: Any
) -> FloatArray:
    """p-values (k,) of no difference between a group and all others, by exchanging rows.

    What is compared is Welch's t, so that groups may differ in spread.
    """
    batch = max(1, min(n_resamples, _BYTES // (8 * len(values))))
    p_values = [
        stats.permutation_test(
            (values[groups.codes == j], values[groups.codes != j]),
            _welch,
            n_resamples=n_resamples,
            batch=batch,
            vectorized=True,
            alternative="greater",
            rng=random,
        ).pvalue
        for j in range(groups.n_groups)
    ]
    return np.array(p_values)


def _welch(a: FloatArray, b: FloatArray, axis: int) -> FloatArray:
    """|t|, and zero where there is neither a difference nor a spread."""
    parts = [(np.mean(x, axis), np.var(x, axis, ddof=1) / x.shape[axis]) for x in (a, b)]
    difference, error = np.abs(parts[0][0] - parts[1][0]), np.sqrt(parts[0][1] + parts[1][1])
    size = np.maximum(np.abs(a).max(axis), np.abs(b).max(axis))
    same = difference <= 1e-13 * size
    with np.errstate(divide="ignore", invalid="ignore"):
        t: FloatArray = np.where(same, 0.0, difference / error)
    return t
