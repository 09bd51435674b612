"""Means of groups and how well they are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from meanparity._typing import FloatArray
from meanparity.groups import Groups


@dataclass(frozen=True, eq=False)
class Moments:
    """Means of k groups, their sampling variances, and the gaps of the means to that of all.

    The gap of group j is ``m_j − Σ_l s_l m_l`` with the groups' shares s of the weight. Group sizes
    count as given, so that its variance is ``(1−s_j)² v_j + Σ_{l≠j} s_l² v_l`` with
    ``v_l = σ_l² Σu² / (Σu)²``, and its degrees of freedom are those of Welch and Satterthwaite. A
    group of one row, which tells nothing of its own spread, is lent that of the others.

    Parameters
    ----------
    counts : (k,) array
        Rows of each group.
    shares : (k,) array
        Shares of the weight.
    means, variances : (k,) arrays
        Mean of each group, and the variance of that mean; infinite if no group has two rows.
    """

    counts: FloatArray
    shares: FloatArray
    means: FloatArray
    variances: FloatArray

    @classmethod
    def of(cls, values: FloatArray, groups: Groups, weight: FloatArray | None) -> Moments:
        """From n values, in one pass over them for each sum."""
        w = np.ones(len(values)) if weight is None else weight
        counts = groups.sums((w > 0).astype(float))
        total = groups.sums(w)
        middle = np.average(values, weights=w)  # taken off first: huge means would cancel
        means = groups.sums(w * (values - middle)) / total
        residuals = values - middle - means[groups.codes]
        spread = groups.sums((w * residuals) ** 2)
        left = counts.sum() - len(counts)
        pooled = float((residuals[w > 0] ** 2).sum()) / left if left else np.inf
        with np.errstate(divide="ignore", invalid="ignore"):
            variances = spread / total**2 * (counts / (counts - 1))
        variances = np.where(counts > 1, variances, pooled)
        return cls(counts, total / total.sum(), means + middle, variances)

    @property
    def overall(self) -> float:
        """The mean of all."""
        return float(self.shares @ self.means)

    @property
    def gaps(self) -> FloatArray:
        """Means less the mean of all: (k,)."""
        return self.means - self.overall

    def _parts(self) -> FloatArray:
        """How much the variance of each group's mean adds to that of each gap: (k, k)."""
        k = len(self.means)
        weights = (np.eye(k) - self.shares) ** 2
        with np.errstate(invalid="ignore"):  # no weight of what is not known
            parts: FloatArray = np.where(weights > 0, weights * self.variances, 0.0)
        return parts

    @property
    def errors(self) -> FloatArray:
        """Standard errors of the gaps: (k,)."""
        errors: FloatArray = np.sqrt(self._parts().sum(axis=1))
        return errors

    @property
    def freedom(self) -> FloatArray:
        """Degrees of freedom of the gaps: (k,)."""
        parts, left = self._parts(), max(self.counts.sum() - len(self.counts), 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            below = (parts**2 / np.where(self.counts > 1, self.counts - 1, left)).sum(axis=1)
            freedom: FloatArray = parts.sum(axis=1) ** 2 / below
        return np.where(np.isfinite(freedom), freedom, left)

    def p_values(self) -> FloatArray:
        """Two-sided, of no gap: (k,). Values without any spread differ surely or not at all."""
        return 2 * self._tail(np.abs(self.gaps))

    def p_outside(self, delta: float) -> FloatArray:
        """One-sided, of a gap of at least `delta` in size: (k,), the larger of both sides."""
        return self._tail(delta - np.abs(self.gaps))

    def margins(self, confidence: float) -> FloatArray:
        """Half widths of the confidence intervals: (k,)."""
        margins: FloatArray = self.errors * stats.t.ppf((1 + confidence) / 2, self.freedom)
        return margins

    def detectable(self, confidence: float, power: float) -> FloatArray:
        """Gaps that would have been found, as significant, with that probability: (k,)."""
        quantile = stats.t.ppf((1 + confidence) / 2, self.freedom)
        sizes: FloatArray = self.errors * (quantile + stats.t.ppf(power, self.freedom))
        return sizes

    def _tail(self, distance: FloatArray) -> FloatArray:
        scale = np.abs(self.means).max(initial=0.0)
        errors, tiny = self.errors, 1e-13 * scale
        with np.errstate(divide="ignore", invalid="ignore"):
            tails = stats.t.sf(distance / errors, self.freedom)
        sure = np.where(distance > tiny, 0.0, np.where(distance < -tiny, 1.0, 0.5))
        return np.where(errors > tiny, tails, sure)
