"""An upper bound on the gaps in a population, from rows that were not used in fit."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from meanparity._typing import FloatArray
from meanparity.audit.betting import difference_bounds
from meanparity.audit.checks import check_probability, format_number, require_several_groups
from meanparity.audit.moments import Moments
from meanparity.audit.proportions import share_limits
from meanparity.audit.rows import AuditRows
from meanparity.audit.seen import refuse_training_rows
from meanparity.audit.subjects import group_subject, make_family
from meanparity.data.groups import Groups
from meanparity.data.refusals import refuse_other_order
from meanparity.data.rows import Rows

# Shares are within their 86 % limits in 86 % of samples; in the others, a bound of the difference
# may fail more often. With a tenth of the error for shares beyond wider limits, the parts
# 0.86 · 0.8 + 0.14 · 1.5 + 0.1 are less than 1 together.
_SHARE_ERRORS = (0.14, 0.1)  # that of the wider limits is a part of the error
_DIFFERENCE_ERRORS = (0.8, 1.5)  # parts of the error


@dataclass(frozen=True)
class Certificate:
    """Bounds on the distance between each group's mean prediction and the overall mean.

    Parameters
    ----------
    bound : float
        Upper bound on ``max_j |E(g | group j) − E(g)|`` in the population from which the rows were
        drawn, over the groups that occur in them. Infinite if a group has too few rows to tell.
    bounds : tuple of (group, float)
        The upper bound for each group. All of them hold simultaneously. The largest can be larger
        than `bound`, which is about the largest gap alone and needs no correction for the number
        of groups.
    observed : float
        Largest gap on the rows themselves.
    confidence : float
        Probability, at least, that `bound` holds, and that all of `bounds` hold.
    kind : {"distribution-free", "asymptotic"}
        Whether the bounds hold for any distribution and any number of rows, or only
        approximately, for many rows.
    n_rows : int
        Number of rows.
    absent : tuple
        Known groups without rows, about which nothing is said.

    See Also
    --------
    parity_certificate : Makes one.

    Examples
    --------
    >>> from meanparity import ParityRidge
    >>> from meanparity.audit import parity_certificate
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(400, random_state=0)
    >>> model = ParityRidge().fit(X[:200], y[:200], sensitive_features=s[:200])
    >>> parity_certificate(model, X[200:], s[200:], X_train=X[:200]).n_rows
    200
    """

    bound: float
    bounds: tuple[tuple[Hashable, float], ...]
    observed: float
    confidence: float
    kind: str
    n_rows: int
    absent: tuple[Hashable, ...] = ()

    @property
    def too_few_rows(self) -> tuple[Hashable, ...]:
        """The groups with too few rows for a bound."""
        return tuple(group for group, bound in self.bounds if np.isinf(bound))

    def __str__(self) -> str:
        validity = (
            "valid for any distribution"
            if self.kind == "distribution-free"
            else "an approximation for many rows"
        )
        rows = f"these {self.n_rows:,} rows"
        if np.isinf(self.bound):
            names = ", ".join(map(str, self.too_few_rows))
            text = (
                f"There are too few rows to bound the gaps in the population from which {rows} "
                f"were drawn: in {names}. With bounds=(low, high) on the predictions there is a "
                "bound for any number of rows."
            )
        else:
            text = (
                f"With {100 * self.confidence:g} % confidence, no group's mean prediction differs "
                f"from the overall mean by more than {format_number(self.bound)} in the population "
                f"from which {rows} were drawn ({validity})."
            )
        text += f" The largest gap on these rows is {format_number(self.observed)}."
        if self.absent:
            names = ", ".join(map(str, self.absent))
            text += f" Nothing is said about groups without rows: {names}."
        return text


def parity_certificate(
    model: Any,
    X: Any,
    sensitive_features: Any,
    *,
    confidence: float = 0.95,
    bounds: tuple[float, float] | None = None,
    X_train: Any = None,
    unseen: bool = False,
    groups: Iterable[Hashable] | None = None,
    random_state: Any = 0,
) -> Certificate:
    r"""Bound the gaps between group means in a population.

    On the rows used in fit, parity is exact by construction and says nothing about other rows. The
    gap of group j is ``(1 − p_j)(m_j − m_rest)``, with the share p_j of the group and the mean
    m_rest of all other groups. For rows that were drawn independently of the fit and of each other,
    its bound is

    * with `bounds` on the predictions, an exact limit of ``1 − p_j`` times a limit of
      ``m_j − m_rest`` by betting: rows of the group are paired with equal parts of the other rows,
      and a difference is refuted if bets against it on the pairs multiply a stake by more than one
      over the probability of error. Of two such products, the wider limit of the one factor times
      the narrower of the other, it is the larger one. This holds for any distribution and any
      number of rows;
    * without `bounds`, the larger end of the simultaneous interval of `audit`. This holds for many
      rows; where there are too few to tell, the bound is infinite.

    Parameters
    ----------
    model : fitted estimator with `predict`
    X : array-like of shape (n, d)
        Rows that were used neither for training nor as a pool.
    sensitive_features : array-like of shape (n,) or (n, r), or data frame
        Sensitive columns of these rows.
    confidence : float, default=0.95
        Confidence that all bounds hold simultaneously.
    bounds : (low, high), optional
        Interval that contains every possible prediction, known in advance, such as (0, 1).
    X_train : array-like, optional
        The rows used in fit, a pool included. Rows of X that are among them, in single or double
        precision, are refused. Tables with text, such as a pipeline reads, are compared cell by
        cell. Required unless `unseen` is True.
    unseen : bool, default=False
        Confirm that no row of X was used in fit. Rows that only look like training rows, because
        the features take few values, are then accepted.
    groups : iterable, optional
        All groups of the population; those without rows are named. By default the groups that the
        model knows, if it has ``group_counts_``.
    random_state : int, RandomState or None, default=0
        Random seed of the drawn samples, and of the pairs.

    Returns
    -------
    Certificate

    See Also
    --------
    audit : Gaps of given predictions, with intervals.

    References
    ----------
    Waudby-Smith, I. and Ramdas, A. (2024). Estimating means of bounded random variables by betting.
    JRSS B 86. Voráček, V. and Orabona, F. (2025). STaR-Bets: Sequential target-recalculating bets
    for tighter confidence intervals. arXiv.

    Examples
    --------
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(2000, random_state=0)
    >>> train, test = slice(0, 1000), slice(1000, None)
    >>> model = ParityRidge().fit(X[train], y[train], sensitive_features=s[train])
    >>> certificate = parity_certificate(model, X[test], s[test], X_train=X[train])
    >>> certificate.observed < certificate.bound
    True
    >>> parity_certificate(model, X, s, X_train=X[train])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: 1000 of 2000 rows of X were used in fit, where parity says nothing about ...
    """
    confidence = check_probability(confidence, "confidence")
    refuse_other_order(X=X, sensitive_features=sensitive_features)
    if not unseen:
        refuse_training_rows(X, X_train)
    values = np.asarray(model.predict(X), dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(
            f"predict returns values of shape {values.shape}. Certify a model of one output."
        )
    found = Groups.from_columns(sensitive_features, n_rows=len(values))
    _refuse_numbers(sensitive_features)
    require_several_groups(found)
    error, rows = 1 - confidence, AuditRows(values, found, {}, found.columns, None, None, None)
    moments = Moments.from_values(values, found)
    if bounds is None:
        upper = asymptotic_bounds(rows, error, random_state)
        largest = float(upper.max())
    else:
        span = _check_bounds(bounds, values)
        k = found.n_groups
        upper = betting_bounds(rows, moments, span, error / (k if k > 2 else 1), random_state)
        alone = upper if k == 2 else betting_bounds(rows, moments, span, error, random_state)
        largest = float(alone.max())
    return Certificate(
        bound=largest,
        bounds=tuple((key, float(value)) for key, value in zip(found.keys, upper, strict=True)),
        observed=float(np.abs(moments.gaps).max()),
        confidence=confidence,
        kind="asymptotic" if bounds is None else "distribution-free",
        n_rows=len(values),
        absent=_absent(groups, model, found),
    )


def asymptotic_bounds(
    rows: AuditRows, error: float, random_state: Any, n_draws: int | None = None
) -> FloatArray:
    """The larger ends of simultaneous intervals, infinite where rows are too few: (k,)."""
    family = make_family(rows, error, random_state, n_draws)
    subject = group_subject(rows, family, None, sampled=True)
    low, high = subject.simultaneous(family)
    return np.asarray(np.maximum(np.abs(low), np.abs(high)))


def betting_bounds(
    rows: AuditRows, moments: Moments, span: float, error: float, random_state: Any
) -> FloatArray:
    """Bounds of gaps, each of which fails with probability `error` at most: (k,).

    A gap has one sign, so only the bet against that sign can fail, and no error is spent on the
    other. Two groups are one bet, and their shares are one share with limits on both sides. Bets
    hold whatever the groups of the rows are, so their error may depend on where the share is.
    """
    assert rows.groups is not None
    likely, beyond = _SHARE_ERRORS
    limits = [
        share_limits(moments.others, len(rows.values), share_error, exact=True)[1]
        for share_error in (likely, beyond * error)
    ]
    errors = [min(part * error, 1.0) for part in _DIFFERENCE_ERRORS]
    bounds = []
    for j in range(rows.groups.n_groups):
        inside = rows.groups.codes == j
        differences = difference_bounds(
            rows.values[inside], rows.values[~inside], span, errors, random_state
        )
        products = [most[j] * apart for most, apart in zip(limits, differences, strict=True)]
        bounds.append(min(max(products), span))
    return np.maximum(bounds, np.abs(moments.gaps))


def _absent(groups: Iterable[Hashable] | None, model: Any, found: Groups) -> tuple[Hashable, ...]:
    """Known groups that have no row."""
    if groups is None:
        known = list(getattr(model, "group_counts_", None) or {})
        if not set(found.keys) <= set(known):  # other sensitive columns than in fit
            return ()
        return tuple(key for key in known if key not in set(found.keys))
    known = list(groups)
    unknown = [key for key in found.keys if key not in set(known)]
    if unknown:
        raise ValueError(
            f"sensitive_features has the group {unknown[0]!r}, which is not among groups={known}. "
            "Pass all groups of the population."
        )
    return tuple(key for key in known if key not in set(found.keys))


def _refuse_numbers(sensitive_features: Any) -> None:
    numbers = Rows.from_columns(sensitive_features).schema.continuous
    if numbers:
        raise ValueError(
            f"Sensitive column {numbers[0]!r} is a number, and a certificate is about groups. Pass "
            "bands of the number, such as age groups."
        )


def _check_bounds(bounds: Any, values: FloatArray) -> float:
    """Return the width of an interval that contains all predictions."""
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError):
        low = high = np.nan
    if not -np.inf < low < high < np.inf:
        raise ValueError(f"bounds={bounds!r}. Pass two finite numbers, the smaller one first.")
    if values.min() < low or values.max() > high:
        raise ValueError(
            f"Predictions lie between {values.min():.4g} and {values.max():.4g}, outside "
            f"bounds={bounds!r}. Pass an interval that contains every possible prediction, or "
            "leave bounds out."
        )
    return high - low
