"""The distribution of studentised gaps when all groups have the same mean, from drawn samples.

The distribution of a t statistic under skew is far from Student's: with 30 rows of a lognormal
variable, the mean is too low most of the time and so is its standard error. What a group of few
rows cannot show, the residuals of all groups together can: samples of each group's size are drawn
from them, and the statistic of the audit is computed on each (a bootstrap-t with pooled residuals).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanparity._typing import FloatArray
from meanparity.audit.moments import Moments, difference_variances
from meanparity.data.groups import Groups

_DRAWS = 4999
_FEWEST_DRAWS = 999
_MOST_NUMBERS = 2 * 10**7  # draws times groups
_MOST_ROWS = 20_000  # rows that are drawn one by one in each draw
_BATCH = 2**21  # rows drawn at a time
_SMALL_GROUPS, _MOST_SKEWED = 0.125, 4.0  # of the widening for skewness² in small groups
_SHRINKAGE = 50.0  # rows of normal values whose spread counts as much as that of all groups


@dataclass(frozen=True, eq=False)
class Pool:
    """Residuals of all groups together, from which samples are drawn.

    Parameters
    ----------
    residuals : (r,) array
        Values minus the mean of their group, ``√(n/(n−1))`` times as large, with mean zero.
    weight : (r,) array or None
        Their weights, relative to the mean weight of their group.
    spread, skewness, kurtosis : float
        Standard deviation and standardised moments of the residuals, or of what they contribute to
        a weighted mean.
    """

    residuals: FloatArray
    weight: FloatArray | None
    spread: float
    skewness: float
    kurtosis: float

    @classmethod
    def from_values(
        cls, values: FloatArray, groups: Groups, weight: FloatArray | None, moments: Moments
    ) -> Pool:
        """The residuals of the groups that have at least two rows."""
        counts = moments.counts
        scale = np.sqrt(counts / np.maximum(counts - 1, 1))
        found = (values - moments.means[groups.codes]) * scale[groups.codes]
        several = (counts > 1)[groups.codes]
        found, relative = found[several], None
        if weight is not None:
            relative = (weight / (groups.sums(weight) / counts)[groups.codes])[several]
        found = found - np.average(found, weights=relative) if len(found) else found
        parts = found if relative is None else found * relative / np.sqrt(np.mean(relative**2))
        spread = float(np.sqrt(np.mean(parts**2))) if len(found) else 0.0
        z = parts / (spread or 1.0)
        return cls(found, relative, spread, float(np.mean(z**3)), float(np.mean(z**4)))

    def widenings(self, moments: Moments) -> FloatArray:
        """Factors that widen intervals if there are few residuals, and if these are skewed: (k,).

        The skewness counts as far as that of the group's mean is not cancelled by that of the mean
        of all others: not at all for two groups that are alike.

        The error of a bootstrap-t for a skewed mean of n rows is of the order of skewness² / n.
        With more than two groups, a term of this order is added for the group or all others,
        whichever has fewer rows. Its constant and its cap are not derived: they are fitted to
        simulations of ten groups, the smallest of five rows. Two groups hold without it.
        """
        third = self.scales(moments) ** 3 / moments.sizes**2
        weighted = moments.shares**3 * third
        rest = (weighted.sum() - weighted) / moments.others**3
        asymmetry = (third - rest) / (third + rest)
        squares = (self.skewness * asymmetry) ** 2
        widening = 1 + 1.5 * (2 + squares) / len(self.residuals)
        if len(moments.sizes) > 2:
            fewer = np.minimum(moments.sizes, moments.sizes.sum() - moments.sizes)
            widening += _SMALL_GROUPS * np.minimum(squares, _MOST_SKEWED) / fewer
        return np.asarray(widening)

    def scales(self, moments: Moments) -> FloatArray:
        """Spread of each group in units of the pool's: its own as far as it is known, (k,)."""
        prior = _SHRINKAGE * max(self.kurtosis - 1, 0.1) / 2
        freedom = np.maximum(moments.counts - 1, 0.0)
        variances = freedom * moments.variances + prior * self.spread**2
        return np.asarray(np.sqrt(variances / (freedom + prior)) / self.spread)

    def sample_means(
        self, n: int, n_draws: int, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Means of drawn samples, and the estimated variances of these means: (B,) each."""
        mean, variance = np.empty(n_draws), np.empty(n_draws)
        source = self.residuals.astype(np.float32)
        weight = None if self.weight is None else self.weight.astype(np.float32)
        step = max(1, _BATCH // n)
        for start in range(0, n_draws, step):
            part = slice(start, min(start + step, n_draws))
            drawn = rng.integers(0, len(source), (part.stop - start, n), dtype=np.uint32)
            rows = source[drawn]
            if weight is None:
                m = rows.mean(axis=1)
                v = np.einsum("ij,ij->i", rows, rows) / n - m**2
            else:
                w = weight[drawn]
                total = w.sum(axis=1)
                m = np.einsum("ij,ij->i", w, rows) / total
                v = (((rows - m[:, None]) * w) ** 2).sum(axis=1) * n / total**2
            mean[part], variance[part] = m, v / (n - 1)
        return mean, np.where(variance > 1e-10 * self.spread**2 / n, variance, 0.0)

    def normal_means(
        self, size: float, n_draws: int, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """The same for many rows: normal up to the skewness, and without drawing the rows."""
        z, w = rng.standard_normal((2, n_draws))
        root = np.sqrt(size)
        mean = self.spread / root * (z + self.skewness / (6 * root) * (z**2 - 1))
        left = max(self.kurtosis - 1 - self.skewness**2, 0.0)
        relative = 1 + (self.skewness * z + np.sqrt(left) * w) / root
        return mean, np.maximum(relative, 0.05) * self.spread**2 / size


def number_of_draws(n_columns: int) -> int:
    """How many samples are drawn for this number of groups."""
    return int(np.clip(_MOST_NUMBERS // max(n_columns, 1), _FEWEST_DRAWS, _DRAWS))


def draw_statistics(
    values: FloatArray,
    groups: Groups,
    weight: FloatArray | None,
    moments: Moments,
    n_draws: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Studentised differences between each group and the others, (B, k), where no gap differs.

    The second value, (k,), has the factors by which intervals are widened because the pool is
    finite. A drawn group without spread gives an infinite statistic.
    """
    pool = Pool.from_values(values, groups, weight, moments)
    k = len(moments.means)
    means, parts = np.empty((n_draws, k)), np.empty((n_draws, k))
    direct = _drawn_row_by_row(pool, moments.counts)
    for j in range(k):
        if moments.counts[j] < 2:
            means[:, j] = pool.residuals[rng.integers(0, len(pool.residuals), n_draws)]
            parts[:, j] = pool.spread**2
        elif direct[j]:
            means[:, j], parts[:, j] = pool.sample_means(int(moments.counts[j]), n_draws, rng)
        else:
            means[:, j], parts[:, j] = pool.normal_means(moments.sizes[j], n_draws, rng)
    scales = pool.scales(moments)
    means *= scales
    parts *= scales**2
    return _studentise(means, parts, moments, rng), pool.widenings(moments)


def _studentise(
    means: FloatArray, parts: FloatArray, moments: Moments, rng: np.random.Generator
) -> FloatArray:
    """Differences of drawn means, divided by their drawn standard errors: (B, k)."""
    shares, centred = moments.shares[None], (moments.means - moments.mean)[None]
    total = np.inf
    if moments.sampled:
        total = float(moments.sizes.sum())
        rows = max(round(total), 1)
        shares = rng.multinomial(rows, moments.shares, size=len(means)) / rows
        shares = np.where(shares < 1, shares, 1 - 0.5 / rows)
    others = 1 - shares
    weighted = shares * (means + centred)
    rest = (weighted.sum(axis=1, keepdims=True) - weighted) / others
    before = -moments.shares * centred[0] / moments.others  # the mean of the others, as observed
    numerator = means - (rest - before)
    variances = difference_variances(centred, parts, shares, total)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = numerator / np.sqrt(variances)
    return np.where(parts > 0, found, np.where(numerator > 0, np.inf, -np.inf))


def _drawn_row_by_row(pool: Pool, counts: FloatArray) -> FloatArray:
    """Whether each group is small enough for its rows to be drawn: (k,)."""
    few = counts <= (min(200 + 20 * pool.skewness**2, 2000.0) if pool.weight is None else 2000.0)
    order = np.argsort(counts, kind="stable")
    affordable = np.empty(len(counts), dtype=bool)
    affordable[order] = np.cumsum(counts[order]) <= _MOST_ROWS
    return np.asarray(few & affordable)
