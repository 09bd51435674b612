"""What an audit has findings about: the groups of a stratum, or a sensitive number in it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special
from sklearn.utils import check_random_state

from meanparity._typing import FloatArray
from meanparity.audit.comparisons import (
    Comparison,
    Limits,
    NumberComparison,
    ShareComparison,
    is_two_valued,
)
from meanparity.audit.covariance import CovarianceComparison
from meanparity.audit.draws import number_of_draws
from meanparity.audit.limits import gap_limits
from meanparity.audit.moments import Moments, joined
from meanparity.audit.rows import AuditRows


@dataclass(frozen=True, eq=False)
class Subject:
    """The groups of a stratum, or one sensitive number, with their gaps and their uncertainty.

    Parameters
    ----------
    keys : k hashables
        The groups, or the name of the number.
    counts, means, gaps, standard_errors, factors : (k,) arrays
        Rows, means, gaps and their standard errors; a gap is its factor times the difference that
        `comparison` is about.
    comparison : Comparison
        Tests and limits of the differences.
    to_gaps : callable
        Limits of gaps from limits of differences and their probability of error.
    is_number : bool
        Whether this is a number, whose gap is a covariance.
    """

    keys: tuple[Hashable, ...]
    counts: FloatArray
    means: FloatArray
    gaps: FloatArray
    standard_errors: FloatArray
    factors: FloatArray
    comparison: Comparison
    to_gaps: Callable[[Limits, float], Limits]
    is_number: bool = False

    def simultaneous(self, family: Family) -> Limits:
        """Limits that hold together with all others of the family: (k,) each.

        The error of a share matters in proportion to the gap. So the limit nearer to zero is as far
        out as its own size asks for, and excludes zero where the adjusted p-value says that it may.
        """
        alone, most = family.strengths
        observed = self.comparison.strengths
        nearer = most / (1 + (most - alone) / np.maximum(observed, alone))
        near, far = self.comparison.limits_at(nearer), self.comparison.limits_at(most)
        differences = (
            np.where(self.gaps > 0, near[0], far[0]),
            np.where(self.gaps > 0, far[1], near[1]),
        )
        quantile = -most * float(special.ndtri(family.error / 2))
        return self.to_gaps(differences, 2 * float(special.ndtr(-quantile)))


@dataclass(eq=False)
class Family:
    """Draws for one audit, and the largest strength in each over all findings.

    `maxima` are those of the differences, for p-values. `widths` are those of the gaps, for
    simultaneous intervals: where shares are sampled, two gaps that are one difference still differ
    by the error of the shares.

    Parameters
    ----------
    error : float
        Probability of error, one minus the confidence.
    two_valued : bool
        Whether all values of the audit are 0 or 1, or two other numbers.
    low, span : float
        What stands for 0, and the distance from it to what stands for 1.
    n_draws : int
        Number of draws.
    rng : numpy Generator
        Random numbers.
    """

    error: float
    two_valued: bool
    low: float
    span: float
    n_draws: int
    rng: np.random.Generator
    maxima: FloatArray = field(init=False)
    widths: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.maxima, self.widths = np.zeros((2, self.n_draws))

    def include(self, comparison: Comparison, moments: Moments | None = None) -> None:
        """Count the findings of a comparison among those that are corrected for."""
        largest = np.abs(comparison.drawn).max(axis=1)
        self.maxima = np.maximum(self.maxima, largest)
        if moments is not None and moments.sampled:
            largest = np.abs(self._with_shares(comparison, moments)).max(axis=1)
        self.widths = np.maximum(self.widths, largest)

    @property
    def strengths(self) -> tuple[float, float]:
        """Strengths that no difference, and no gap, of the family exceeds by chance.

        They are never below 1, so that simultaneous intervals contain those of single groups.
        """
        alone, most = (
            float(np.quantile(drawn, 1 - self.error, method="higher"))
            for drawn in (self.maxima, self.widths)
        )
        return max(alone, 1.0), max(alone, most, 1.0)

    def _with_shares(self, comparison: Comparison, moments: Moments) -> FloatArray:
        """Strengths of gaps whose shares are drawn as well: (B, k)."""
        rows = max(round(float(moments.sizes.sum())), 1)
        shares = self.rng.multinomial(rows, moments.shares, size=self.n_draws) / rows
        noise = np.sqrt(moments.shares * moments.others / rows)
        share_strengths = (moments.shares - shares) / noise / -special.ndtri(self.error / 2)
        r, a = moments.correlations, moments.others * comparison.errors
        b = moments.differences * moments.share_errors
        found = (a + b * r) * comparison.drawn + b * np.sqrt(1 - r**2) * share_strengths
        found = found / np.maximum(joined(a, b, r), 1e-300)
        return np.where(comparison.told, found, 0.0)


def make_family(
    rows: AuditRows, error: float, random_state: Any, n_draws: int | None = None
) -> Family:
    """The draws that all findings about these rows share."""
    seed = check_random_state(random_state).randint(2**31)
    k = len(rows.numbers) + (0 if rows.groups is None else rows.groups.n_groups)
    low, high = float(rows.values.min()), float(rows.values.max())
    two_valued = is_two_valued(rows.values)
    if two_valued and low == high:  # all 0 or all 1
        low, high = 0.0, 1.0
    rng = np.random.default_rng(seed)
    return Family(error, two_valued, low, high - low, n_draws or number_of_draws(k), rng)


def group_subject(
    rows: AuditRows, family: Family, shares: FloatArray | None, *, sampled: bool
) -> Subject:
    """Compare the groups of these rows."""
    groups = rows.groups
    assert groups is not None
    values, scale, low = rows.values, 1.0, 0.0
    if family.two_valued:
        scale, low = family.span, family.low
        values = (values - low) / scale
    moments = Moments.from_values(values, groups, rows.weight, shares, sampled=sampled)
    comparison: Comparison
    if family.two_valued:
        normal = family.rng.standard_normal((family.n_draws, groups.n_groups))
        comparison = ShareComparison(moments, family.error, normal)
    else:
        comparison = NumberComparison.from_values(
            values, groups, rows.weight, moments, family.error, family.n_draws, family.rng
        )
    family.include(comparison, moments)

    def to_gaps(differences: Limits, error: float) -> Limits:
        ends = gap_limits(moments, differences, error)
        return scale * ends[0], scale * ends[1]

    return Subject(
        groups.keys,
        moments.counts,
        low + scale * moments.means,
        scale * moments.gaps,
        scale * moments.standard_errors,
        scale * moments.others,
        comparison,
        to_gaps,
    )


def number_subject(rows: AuditRows, name: str, family: Family) -> Subject:
    """Compare the values of these rows with a sensitive number."""
    comparison = CovarianceComparison.from_values(
        rows.values, rows.numbers[name], rows.weight, family.error, family.n_draws, family.rng
    )
    family.include(comparison)
    mean = float(np.average(rows.values, weights=rows.weight))
    return Subject(
        (name,),
        np.array([float(len(rows.values))]),
        np.array([mean]),
        np.array([comparison.gap]),
        np.array([comparison.standard_error]),
        np.ones(1),
        comparison,
        lambda ends, _: ends,
        is_number=True,
    )
