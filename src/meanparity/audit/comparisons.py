"""How each group's mean compares with the mean of all others: tests and limits.

Two kinds of values, two kinds of comparison with the same methods: numbers by drawn samples
(`draws`), 0/1 values by exact limits of proportions (`proportions`). The unit in which both speak
is the *strength* of a difference: 1 if it is just significant by itself, larger if it is more so.
The largest strength of all groups in drawn samples without gaps then gives the correction for the
number of groups, whatever the groups are like and however they depend on each other. Two groups
are one comparison, and have one strength and one p-value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from meanparity._typing import FloatArray
from meanparity.audit.draws import draw_statistics
from meanparity.audit.moments import NEGLIGIBLE, Moments, difference_variances
from meanparity.audit.proportions import detectable_above, difference_limits
from meanparity.data.groups import Groups

FEWEST_ROWS = 5  # rows that a group, and all other groups together, need if values are numbers
_FEWEST_OF_TWO = 10  # from this many rows on, two distinct values count as the only two

Limits = tuple[FloatArray, FloatArray]


class Comparison(Protocol):
    """Differences between each group's mean and the mean of all others, with their uncertainty."""

    @property
    def told(self) -> NDArray[np.bool_]:
        """Whether there are enough rows to tell: (k,)."""

    @property
    def strengths(self) -> FloatArray:
        """Strength of each difference: (k,)."""

    @property
    def drawn(self) -> FloatArray:
        """Strengths in drawn samples without gaps, negative below zero: (B, k)."""

    @property
    def errors(self) -> FloatArray:
        """Standard errors of the differences that the draws are about: (k,)."""

    def p_values(self) -> FloatArray:
        """p-values of no difference: (k,)."""

    def limits(self, error: float) -> Limits:
        """Limits of each difference, one fails with probability `error`: (k,) each."""

    def limits_at(self, strength: float | FloatArray) -> Limits:
        """Limits between which a difference would have at most this strength: (k,) each."""

    def detectable(self, power: float) -> FloatArray:
        """Differences that would have been significant with this probability: (k,)."""


def is_two_valued(values: FloatArray) -> bool:
    """Whether values are 0 and 1, or any two numbers in at least ten rows.

    Examples
    --------
    >>> [is_two_valued(np.array(v)) for v in ([0, 1, 1], [0.0, 0.0], [2, 3, 3], [2, 3, 3] * 4)]
    [True, True, False, True]
    """
    low, high = values.min(), values.max()
    if not np.all((values == low) | (values == high)):
        return False
    return bool(
        (low in (0, 1) and high in (0, 1)) or (low < high and len(values) >= _FEWEST_OF_TWO)
    )


@dataclass(frozen=True, eq=False)
class NumberComparison:
    """Numbers, by samples drawn from the residuals of all groups.

    Parameters
    ----------
    moments : Moments
        Means and variances of the groups.
    statistics : (B, k) array
        Studentised differences in drawn samples.
    widening : (k,) array
        Factors by which the drawn quantiles are too small.
    error : float
        Probability of error at which a strength is 1.
    """

    moments: Moments
    statistics: FloatArray
    widening: FloatArray
    error: float

    @classmethod
    def from_values(
        cls,
        values: FloatArray,
        groups: Groups,
        weight: FloatArray | None,
        moments: Moments,
        error: float,
        n_draws: int,
        rng: np.random.Generator,
    ) -> NumberComparison:
        """Draw samples and compute the statistic on each."""
        enough = moments.own_spread.any()
        if not enough:
            k = len(moments.means)
            return cls(moments, np.full((n_draws, k), np.inf), np.ones(k), error)
        drawn = draw_statistics(values, groups, weight, moments, n_draws, rng)
        return cls(moments, *drawn, error)

    @cached_property
    def _ends(self) -> Limits:
        """Quantiles of the drawn statistics, and how often limits beyond them fail: (k,) each."""
        return self._quantiles(self.error)

    def _quantiles(self, error: float) -> Limits:
        ends = np.quantile(self.statistics, [error / 2, 1 - error / 2], axis=0, method="nearest")
        return np.maximum(-ends[0], 1e-9), np.maximum(ends[1], 1e-9)

    @cached_property
    def told(self) -> NDArray[np.bool_]:
        """Enough rows in the group and outside it, a spread, and finite limits."""
        moments, own = self.moments, self.moments.own_spread
        outside = own.sum() - own > 0
        rows = np.minimum(moments.counts, moments.rest_counts) >= FEWEST_ROWS
        low, high = self._ends
        finite = np.isfinite(low) & np.isfinite(high)
        return np.asarray(np.logical_and.reduce([rows, own, outside, finite]))

    @cached_property
    def strengths(self) -> FloatArray:
        """Strength of each difference, 0 where there are too few rows: (k,)."""
        moments = self.moments
        with np.errstate(invalid="ignore", divide="ignore"):
            t = moments.differences / moments.difference_errors
        return np.abs(self._strength(np.where(self.told, t, 0.0))) / self.widening

    @cached_property
    def drawn(self) -> FloatArray:
        """Strengths in drawn samples, 0 where there are too few rows: (B, k)."""
        return self._strength(np.where(self.told, self.statistics, 0.0))

    def _strength(self, statistics: FloatArray) -> FloatArray:
        low, high = (np.where(self.told, end, 1.0) for end in self._ends)
        return np.asarray(np.where(statistics > 0, statistics / high, statistics / low))

    @property
    def errors(self) -> FloatArray:
        """Standard errors of the differences, 0 where there are too few rows: (k,)."""
        return np.where(self.told, self.moments.difference_errors, 0.0)

    def p_values(self) -> FloatArray:
        """The share of drawn samples with a strength at least as large: (k,)."""
        return share_of_draws(self.drawn, self.strengths)

    def limits(self, error: float) -> Limits:
        """Limits at the quantiles of the drawn statistics."""
        return self._between(*self._quantiles(error))

    def limits_at(self, strength: float | FloatArray) -> Limits:
        """Limits at a multiple of these quantiles."""
        low, high = (np.where(self.told, end, np.inf) for end in self._ends)
        with np.errstate(invalid="ignore"):  # 0·∞ where an interval is infinite
            return self._between(strength * low, strength * high)

    def _between(self, low: FloatArray, high: FloatArray) -> Limits:
        moments = self.moments
        with np.errstate(invalid="ignore"):
            below, above = (moments.difference_errors * self.widening * end for end in (high, low))
        return (
            np.where(self.told, moments.differences - below, -np.inf),
            np.where(self.told, moments.differences + above, np.inf),
        )

    def detectable(self, power: float) -> FloatArray:
        """The larger of the detectable differences above and below zero."""
        low, high = self._ends
        ends = np.quantile(self.statistics, [1 - power, power], axis=0, method="nearest")
        with np.errstate(invalid="ignore"):
            needed = np.maximum(self.widening * high - ends[0], self.widening * low + ends[1])
            return np.where(self.told, needed * self.moments.difference_errors, np.inf)


@dataclass(frozen=True, eq=False)
class ShareComparison:
    """0/1 values, by exact limits of the two proportions (Newcombe's way of joining them).

    Parameters
    ----------
    moments : Moments
        Means of the groups, which are proportions.
    error : float
        Probability of error at which a strength is 1.
    normal : (B, k) array
        Standard normal numbers, one for the mean of each group, for the joint distribution.
    """

    moments: Moments
    error: float
    normal: FloatArray

    @property
    def told(self) -> NDArray[np.bool_]:
        """Always true: exact limits need no minimum number of rows."""
        return np.ones(len(self.moments.means), dtype=bool)

    @cached_property
    def _sizes(self) -> FloatArray:
        """Upper bound on the effective sample size of each proportion: (k,).

        It is smaller than for other values if the rows of one value have larger weights.
        """
        moments = self.moments
        means = np.clip(moments.means, 0.0, 1.0)
        observed = moments.variances * (moments.counts - 1) / moments.counts
        with np.errstate(divide="ignore", invalid="ignore"):
            known = np.minimum(means * (1 - means) / observed, 1.0)
        return np.asarray(np.where(moments.own_spread, known, 1.0) * moments.sizes)

    @cached_property
    def _rest(self) -> Limits:
        """Proportion of all other groups, and the number of rows that know it as well: (k,)."""
        moments = self.moments
        means = np.clip(moments.means - moments.differences, 0.0, 1.0)
        weighted = moments.shares**2 / self._sizes
        return means, moments.others**2 / (weighted.sum() - weighted)

    def limits(self, error: float) -> Limits:
        """Limits of the differences, from those of both proportions."""
        moments, (rest, rest_sizes) = self.moments, self._rest
        own = np.clip(moments.means, 0.0, 1.0)
        return difference_limits(own, self._sizes, rest, rest_sizes, error)

    def limits_at(self, strength: float | FloatArray) -> Limits:
        """Limits at another probability of error."""
        return self.limits(self._error_at(strength))

    @property
    def _quantile(self) -> float:
        return float(-special.ndtri(self.error / 2))

    def _error_at(self, strength: Any) -> Any:
        return 2 * special.ndtr(-strength * self._quantile)

    @cached_property
    def strengths(self) -> FloatArray:
        """The strength at which a limit is zero, by bisection: (k,)."""
        moments = self.moments
        low, high = np.zeros(len(moments.means)), np.full(len(moments.means), 37 / self._quantile)
        negligible = np.abs(moments.differences) <= NEGLIGIBLE
        for _ in range(50):
            middle = (low + high) / 2
            ends = self.limits(self._error_at(middle))
            outside = (ends[0] > 0) | (ends[1] < 0)
            low, high = np.where(outside, middle, low), np.where(outside, high, middle)
        return np.where(negligible, 0.0, low)

    @cached_property
    def _parts(self) -> FloatArray:
        """Variance of each group's proportion, never zero: (k,)."""
        counts = self._sizes * np.clip(self.moments.means, 0.0, 1.0)
        smooth = (counts + 1) / (self._sizes + 2)
        return np.asarray(smooth * (1 - smooth) / self._sizes)

    @cached_property
    def errors(self) -> FloatArray:
        """Standard errors of the differences, never zero: (k,)."""
        centred, shares = np.zeros((1, len(self._parts))), self.moments.shares[None]
        variances = difference_variances(centred, self._parts[None], shares, np.inf)
        return np.asarray(np.sqrt(variances[0]))

    @cached_property
    def drawn(self) -> FloatArray:
        """Strengths of normal numbers that are correlated as the differences are: (B, k)."""
        moments = self.moments
        means = self.normal * np.sqrt(self._parts)
        weighted = moments.shares * means
        rest = (weighted.sum(axis=1, keepdims=True) - weighted) / moments.others
        return np.asarray((means - rest) / self.errors / self._quantile)

    def p_values(self) -> FloatArray:
        """The probability of error at which a limit is zero: (k,)."""
        return np.asarray(self._error_at(self.strengths))

    def detectable(self, power: float) -> FloatArray:
        """Differences from the proportion of the others: (k,).

        What the others have shown, with half an event more and half a row without one, is taken for
        their proportion: events that were not seen may occur. Two groups are one comparison, in
        which either proportion may be the one that differs.
        """
        rest, rest_sizes = self._rest
        rest = (rest * rest_sizes + 0.5) / (rest_sizes + 1)
        found = [
            detectable_above(proportion, rest_sizes, self._sizes, self.error, power)
            for proportion in (rest, 1 - rest)
        ]
        largest = np.where(np.isnan(found).all(axis=0), np.inf, np.fmax(*found))
        return np.full(2, largest.max()) if len(largest) == 2 else largest


def share_of_draws(drawn: FloatArray, observed: FloatArray) -> FloatArray:
    """The share of B draws, (B,) or (B, k), whose size reaches each of k; the data count as one.

    Examples
    --------
    >>> share_of_draws(np.array([0.1, 0.5, 0.9]), np.array([0.0, 0.6, 2.0]))
    array([1.  , 0.5 , 0.25])
    """
    if drawn.ndim == 1:
        reached = len(drawn) - np.searchsorted(np.sort(drawn), observed)
    else:
        reached = (np.abs(drawn) >= observed).sum(axis=0)
    return np.asarray((1 + reached) / (1 + len(drawn)))
