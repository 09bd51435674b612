"""Group means, their sampling variances, and how each group compares with all others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meanparity._typing import FloatArray
from meanparity.data.groups import Groups

NEGLIGIBLE = 1e-13  # spread below this share of the largest value is rounding


@dataclass(frozen=True, eq=False)
class Moments:
    """Means of k groups, their sampling variances, and the shares of the groups.

    Parameters
    ----------
    counts : (k,) array
        Number of rows in each group.
    sizes : (k,) array
        Number of equally weighted rows that would know as much, ``(Σw)² / Σw²``.
    shares : (k,) array
        Share of each group in the overall mean.
    means, variances : (k,) arrays
        Mean of each group, and the variance of the values inside it. A group of one row, and a
        group without spread, has the pooled variance.
    own_spread : (k,) array of bool
        Whether the values of a group differ.
    sampled : bool
        Whether the shares were estimated from the same rows.
    share_sizes : (k,) array
        Number of rows that would know the share of each group as well as these rows do.
    covariances : (k,) array
        Covariance of the errors of each difference and of the share of all other groups; zero
        without weights.
    """

    counts: FloatArray
    sizes: FloatArray
    shares: FloatArray
    means: FloatArray
    variances: FloatArray
    own_spread: FloatArray
    sampled: bool
    share_sizes: FloatArray
    covariances: FloatArray

    @classmethod
    def from_values(
        cls,
        values: FloatArray,
        groups: Groups,
        weight: FloatArray | None = None,
        shares: FloatArray | None = None,
        *,
        sampled: bool = True,
    ) -> Moments:
        """Compute the moments of n values; without `shares`, those of the weights are used.

        Examples
        --------
        >>> groups = Groups.from_columns(["a", "a", "a", "b"])
        >>> moments = Moments.from_values(np.array([1.0, 2.0, 3.0, 5.0]), groups)
        >>> moments.means, moments.variances, moments.gaps
        (array([2., 5.]), array([1., 1.]), array([-0.75,  2.25]))
        """
        w = np.ones(len(values)) if weight is None else weight
        counts = groups.sums((w > 0).astype(float))
        total, squared = groups.sums(w), groups.sums(w**2)
        centre = np.average(values, weights=w)  # differences of large means would lose digits
        means = groups.sums(w * (values - centre)) / total
        residuals = values - centre - means[groups.codes]
        # for equal weights, the usual sum of squares divided by n − 1
        spread = groups.sums(w * residuals**2) / total
        with np.errstate(divide="ignore", invalid="ignore"):
            if weight is not None:
                spread = groups.sums((w * residuals) ** 2) / squared
            variances = spread * counts / (counts - 1)
        own = spread > (NEGLIGIBLE * np.abs(values).max(initial=0.0)) ** 2
        freedom = float(np.maximum(counts - 1, 0).sum())
        inside = np.where(counts > 1, variances, 0.0) @ np.maximum(counts - 1, 0)
        pooled = inside / freedom if freedom else np.inf
        variances = np.where(own & (counts > 1), variances, pooled)
        own_shares = total / total.sum()
        every = w @ w
        noise = (squared * (1 - own_shares) ** 2 + own_shares**2 * (every - squared)) / w.sum() ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            share_sizes = own_shares * (1 - own_shares) / noise
        covariances = np.zeros(len(total))
        if weight is not None and len(total) > 1:
            odds = own_shares / (1 - own_shares)
            # sums of w²(f − m) in each group, and in all others, of which m is the mean
            moment = groups.sums(w**2 * (values - centre))
            inside = moment - means * squared
            outside = moment.sum() - moment + odds * means * (every - squared)
            covariances = -(inside / odds + outside * odds) / w.sum() ** 2
        return cls(
            counts,
            total**2 / squared,
            own_shares if shares is None else shares,
            means + centre,
            variances,
            own & (counts > 1),
            sampled and shares is None,
            share_sizes,
            covariances,
        )

    @cached_property
    def mean(self) -> float:
        """The overall mean."""
        return float(self.shares @ self.means)

    @cached_property
    def gaps(self) -> FloatArray:
        """Group means minus the overall mean: (k,)."""
        return self.means - self.mean

    @cached_property
    def others(self) -> FloatArray:
        """The share of all other groups: (k,)."""
        return np.asarray(1 - self.shares)

    @cached_property
    def differences(self) -> FloatArray:
        """Group means minus the mean of all other groups, gap / (1 − share): (k,)."""
        return np.asarray(self.gaps / self.others)

    @cached_property
    def difference_errors(self) -> FloatArray:
        """Standard errors of `differences`: (k,)."""
        if np.isinf(self.variances).any():  # every group has one row
            return np.full(len(self.means), np.inf)
        centred, total = (self.means - self.mean)[None], float(self.sizes.sum())
        parts = (self.variances / self.sizes)[None]
        between = difference_variances(
            centred, parts, self.shares[None], total if self.sampled else np.inf
        )
        return np.asarray(np.sqrt(between[0]))

    @cached_property
    def share_errors(self) -> FloatArray:
        """Standard errors of the shares: (k,); zero if the shares are given."""
        if not self.sampled:
            return np.zeros(len(self.shares))
        return np.asarray(np.sqrt(self.shares * self.others / self.share_sizes))

    @cached_property
    def correlations(self) -> FloatArray:
        """Correlations of the errors of each difference and of the share of all others: (k,)."""
        scale, none = self.difference_errors * self.share_errors, np.zeros(len(self.shares))
        return np.clip(np.divide(self.covariances, scale, out=none, where=scale > 0), -1.0, 1.0)

    @cached_property
    def standard_errors(self) -> FloatArray:
        """Standard errors of the gaps, ``(1 − p)(m_j − m_rest)``: (k,)."""
        return joined(
            self.others * self.difference_errors,
            self.differences * self.share_errors,
            self.correlations,
        )

    @cached_property
    def rest_counts(self) -> FloatArray:
        """Number of rows in all other groups: (k,)."""
        return np.asarray(self.counts.sum() - self.counts)


def joined(one: FloatArray, other: FloatArray, correlation: FloatArray) -> FloatArray:
    """Size of the sum of two errors with this correlation.

    Examples
    --------
    >>> float(joined(3.0, 4.0, 0.0)), float(joined(3.0, 4.0, 1.0)), float(joined(3.0, -4.0, 1.0))
    (5.0, 7.0, 1.0)
    """
    return np.hypot(one + correlation * other, np.sqrt(1 - correlation**2) * other)


def difference_variances(
    means: FloatArray, parts: FloatArray, shares: FloatArray, total: float
) -> FloatArray:
    """Variance of each group's mean minus the mean of all other groups: (B, k).

    The rows of the other groups are a sample of their mixture, so their mean also varies with the
    composition of the mixture, unless `total` is infinite.

    Parameters
    ----------
    means : (B or 1, k) array
        Group means, minus the overall mean.
    parts : (B, k) array
        Sampling variance of each group's mean.
    shares : (B or 1, k) array
        Share of each group.
    total : float
        Number of rows from which the shares come; infinite if they are given.
    """
    others = 1 - shares
    weighted = shares**2 * parts
    rest = (weighted.sum(axis=1, keepdims=True) - weighted) / others**2
    if np.isinf(total):
        return np.asarray(parts + rest)
    squares, sums = shares * means**2, shares * means
    other_mean = (sums.sum(axis=1, keepdims=True) - sums) / others
    other_squares = (squares.sum(axis=1, keepdims=True) - squares) / others
    between = np.maximum(other_squares - other_mean**2, 0.0) / (others * total)
    return np.asarray(parts + rest + between)
