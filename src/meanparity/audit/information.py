"""Separation and sufficiency with intervals: what predictions and outcomes tell about groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from meanparity.audit.checks import check_probability
from meanparity.metrics.outcomes import information_scores


@dataclass(frozen=True)
class InformationGap:
    """A share of information about the group, with its uncertainty.

    Parameters
    ----------
    notion : {"separation", "sufficiency"}
        Which gap this is.
    gap : float
        The estimate, between 0 and 1: `meanparity.metrics.separation_gap` or `sufficiency_gap`.
    low, high : float
        Confidence interval of the share that logistic regressions like these can find in the
        population, an approximation for many rows.
    confidence : float
        Confidence of the interval.
    n_rows : int
        Number of rows.
    """

    notion: str
    gap: float
    low: float
    high: float
    confidence: float
    n_rows: int

    def __str__(self) -> str:
        more, known = ("predictions", "outcomes")
        if self.notion == "sufficiency":
            more, known = known, more
        return (
            f"{self.notion.capitalize()} gap {self.gap:.3f} ({100 * self.confidence:g} % interval "
            f"{self.low:.3f} to {self.high:.3f}, {self.n_rows:,} rows): the share of what {known} "
            f"leave unknown about the group that {more} reveal."
        )


def audit_separation(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    confidence: float = 0.95,
) -> InformationGap:
    """The separation gap, ``I(ŷ; group | y) / H(group | y)``, with an interval.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Outcomes and predictions.
    sensitive_features : array-like of shape (n,) or (n, r), or data frame
        Sensitive columns.
    sample_weight : array-like of shape (n,), optional
        Sampling weights of the rows.
    confidence : float, default=0.95
        Confidence of the interval.

    Returns
    -------
    InformationGap

    Notes
    -----
    Both terms are means of scores of rows by regressions on other rows, and the interval is that of
    the ratio of two means.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, s = rng.normal(size=2000), rng.integers(0, 2, 2000)
    >>> found = audit_separation(y, y + s + rng.normal(size=2000), sensitive_features=s)
    >>> 0.1 < found.low < found.gap < found.high < 0.25
    True
    """
    return _audit(
        "separation", y_true, y_pred, sensitive_features, sample_weight, confidence, given=0
    )


def audit_sufficiency(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    confidence: float = 0.95,
) -> InformationGap:
    """The sufficiency gap, ``I(y; group | ŷ) / H(group | ŷ)``, with an interval.

    See `audit_separation` for parameters and notes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> g, s = rng.normal(size=2000), rng.integers(0, 2, 2000)
    >>> print(audit_sufficiency(g + rng.normal(size=2000), g, sensitive_features=s).low)
    0.0
    """
    return _audit(
        "sufficiency", y_true, y_pred, sensitive_features, sample_weight, confidence, given=1
    )


def _audit(
    notion: str,
    y_true: Any,
    y_pred: Any,
    sensitive_features: Any,
    sample_weight: Any,
    confidence: float,
    *,
    given: int,
) -> InformationGap:
    confidence = check_probability(confidence, "confidence")
    gained, unknown, weight = information_scores(
        y_true, y_pred, sensitive_features, sample_weight, given=given
    )
    total = float(weight @ unknown)
    share = float(weight @ gained) / total
    influence = weight * (gained - share * unknown)
    margin = float(-special.ndtri((1 - confidence) / 2) * np.sqrt(influence @ influence) / total)
    gap, low, high = np.clip([share, share - margin, share + margin], 0.0, 1.0).tolist()
    return InformationGap(notion, gap, low, high, confidence, int((weight > 0).sum()))
