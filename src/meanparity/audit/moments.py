"""Group means and the sampling error of their gaps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats

from meanparity._typing import FloatArray
from meanparity.data.groups import Groups


@dataclass(frozen=True, eq=False)
class Moments:
    """Means of k groups, their sampling variances, and the gaps to the overall mean.

    The gap of group j is ``m_j − Σ_l s_l m_l`` with s_l the share of the weight in group l. Group
    sizes are treated as fixed, so the variance of the gap is
    ``(1−s_j)² v_j + Σ_{l≠j} s_l² v_l`` with ``v_l = σ_l² Σu² / (Σu)²``, and its degrees of freedom
    follow Welch and Satterthwaite. A group of one row has no variance estimate of its own and uses
    the pooled variance of the other groups.

    Parameters
    ----------
    counts : (k,) array
        Number of rows in each group.
    shares : (k,) array
        Share of the weight in each group.
    means, variances : (k,) arrays
        Mean of each group, and the sampling variance of that mean. The variances are infinite if
        no group has two rows.
    """

    counts: FloatArray
    shares: FloatArray
    means: FloatArray
    variances: FloatArray

    @classmethod
    def from_values(cls, values: FloatArray, groups: Groups, weight: FloatArray | None) -> Moments:
        """Compute the moments of n values, in one pass over them for each sum."""
        w = np.ones(len(values)) if weight is None else weight
        counts = groups.sums((w > 0).astype(float))
        total = groups.sums(w)
        # centre first: differences of large means would lose digits
        centre = np.average(values, weights=w)
        means = groups.sums(w * (values - centre)) / total
        residuals = values - centre - means[groups.codes]
        squares = groups.sums((w * residuals) ** 2)
        freedom = counts.sum() - len(counts)
        pooled = float((residuals[w > 0] ** 2).sum()) / freedom if freedom else np.inf
        with np.errstate(divide="ignore", invalid="ignore"):
            variances = squares / total**2 * (counts / (counts - 1))
        variances = np.where(counts > 1, variances, pooled)
        return cls(counts, total / total.sum(), means + centre, variances)

    @cached_property
    def gaps(self) -> FloatArray:
        """Group means minus the overall mean: (k,)."""
        return self.means - float(self.shares @ self.means)

    @cached_property
    def _variance_parts(self) -> FloatArray:
        """Contribution of each group's variance to the variance of each gap: (k, k)."""
        weights = (np.eye(len(self.means)) - self.shares) ** 2
        with np.errstate(invalid="ignore"):  # an infinite variance of weight zero adds nothing
            parts: FloatArray = np.where(weights > 0, weights * self.variances, 0.0)
        return parts

    @cached_property
    def standard_errors(self) -> FloatArray:
        """Standard errors of the gaps: (k,)."""
        return np.asarray(np.sqrt(self._variance_parts.sum(axis=1)))

    @cached_property
    def degrees_of_freedom(self) -> FloatArray:
        """Degrees of freedom of the gaps by Welch and Satterthwaite: (k,)."""
        parts, pooled = self._variance_parts, max(self.counts.sum() - len(self.counts), 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            below = (parts**2 / np.where(self.counts > 1, self.counts - 1, pooled)).sum(axis=1)
            freedom: FloatArray = parts.sum(axis=1) ** 2 / below
        return np.where(np.isfinite(freedom), freedom, pooled)

    def p_values(self) -> FloatArray:
        """Two-sided p-values of the hypothesis of no gap: (k,).

        Values without any spread give 0 if there is a gap and 1 if there is none.
        """
        return 2 * self._upper_tail(np.abs(self.gaps))

    def p_outside(self, delta: float) -> FloatArray:
        """p-values of the hypothesis that the gap is at least `delta` in size: (k,).

        This is the larger p-value of two one-sided tests.
        """
        return self._upper_tail(delta - np.abs(self.gaps))

    def margins(self, confidence: float) -> FloatArray:
        """Half widths of the confidence intervals: (k,)."""
        quantile = stats.t.ppf((1 + confidence) / 2, self.degrees_of_freedom)
        return np.asarray(self.standard_errors * quantile)

    def detectable(self, confidence: float, power: float) -> FloatArray:
        """Gaps that would be significant with probability `power`: (k,)."""
        quantile = stats.t.ppf(power, self.degrees_of_freedom)
        return np.asarray(self.margins(confidence) + self.standard_errors * quantile)

    def _upper_tail(self, distance: FloatArray) -> FloatArray:
        negligible = 1e-13 * np.abs(self.means).max(initial=0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            tails = stats.t.sf(distance / self.standard_errors, self.degrees_of_freedom)
        certain = np.where(distance > negligible, 0.0, np.where(distance < -negligible, 1.0, 0.5))
        return np.where(self.standard_errors > negligible, tails, certain)
