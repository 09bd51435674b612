"""Gaps between the mean of each group and the overall mean, with their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from meanparity._typing import FloatArray
from meanparity.audit.checks import check_probability, is_number, require_several_groups
from meanparity.audit.comparisons import FEWEST_ROWS, Limits, share_of_draws
from meanparity.audit.distribution import quantile_gap
from meanparity.audit.moments import NEGLIGIBLE
from meanparity.audit.result import Audit, GroupFinding
from meanparity.audit.rows import AuditRows
from meanparity.audit.subjects import (
    Family,
    Subject,
    group_subject,
    make_family,
    number_subject,
)
from meanparity.data.groups import Groups, display_label, full_label
from meanparity.metrics import wasserstein_gap


def audit(
    y_pred: Any,
    *,
    sensitive_features: Any,
    y_true: Any = None,
    control_features: Any = None,
    sample_weight: Any = None,
    weight_kind: Literal["sampling", "counts"] = "sampling",
    shares: Literal["sampled", "fixed"] | Mapping[Any, float] = "sampled",
    continuous: Any = "auto",
    confidence: float = 0.95,
    within: float | None = None,
    power: float = 0.8,
    random_state: Any = 0,
) -> Audit:
    r"""Compare the mean prediction of every group with the overall mean, with uncertainty.

    The gap of group j is ``m_j − m = (1 − p_j)(m_j − m_rest)``: the mean prediction in the group
    minus the mean over all rows, where p_j is the group's share and m_rest the mean of all other
    groups. Intervals and p-values are those of a bootstrap-t for numbers, with residuals of all
    groups together, and of exact limits of proportions for 0/1 values. p-values and simultaneous
    intervals are corrected for the number of groups by the distribution of the largest statistic.
    Rows are assumed to be independent.

    Parameters
    ----------
    y_pred : array-like of shape (n,)
        Predictions, outcomes, or any other numbers.
    sensitive_features : array-like of shape (n,) or (n, r), or data frame
        Sensitive columns. Every combination of values that occurs is a group. Columns that `fit`
        would treat as numbers, such as an age, are audited as numbers: the gap of a number is the
        covariance of the predictions with it, scaled to unit variance.
    y_true : array-like of shape (n,), optional
        Outcomes. If they are given, the audit also reports the mean error (prediction minus
        outcome) of every group.
    control_features : array-like of shape (n,) or (n, c), or data frame, optional
        Control columns. If they are given, groups are compared within each stratum, for example
        among employees of the same grade.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    weight_kind : {"sampling", "counts"}, default="sampling"
        What weights mean. "sampling": each row is one person, and stands for others who were not
        sampled. "counts": a row of weight 3 stands for three people who were all observed.
    shares : {"sampled", "fixed"} or mapping, default="sampled"
        What the overall mean is a mean over. "sampled": the rows are a random sample of people,
        and the shares of the groups in the population are only estimated by it. "fixed": the
        shares in these rows are those of interest, as when each group was sampled by itself. A
        mapping from groups to shares, such as those of a census, replaces the shares in the rows.
    continuous : "auto" or list, default="auto"
        Sensitive columns that are numbers, as in `MeanParity`. ``[]`` makes every value a group.
    confidence : float, default=0.95
        Confidence level of the intervals and of the equivalence tests.
    within : float, optional
        Largest gap that would be considered negligible, in the units of y_pred. Two one-sided
        tests per group decide whether its gap is shown to lie within ± this value.
    power : float, default=0.8
        Power at which the smallest detectable gap is computed.
    random_state : int, RandomState or None, default=0
        Random seed of the drawn samples.

    Returns
    -------
    Audit
        The findings, which can be printed or converted with `to_frame`, `to_dict` and `to_json`.

    See Also
    --------
    audit_errors : Compares errors.
    parity_certificate : Bounds the gaps of a model in the population.
    AuditStream : May be looked at again and again.

    Notes
    -----
    A p-value above 0.05 does not show that there is no gap. Look at the interval and at the
    smallest detectable gap, or use `within` to test whether a gap is negligible.

    Of numbers, a group has an interval if it and all other groups together have at least five
    rows each, if its values differ, and if at most one in forty drawn samples of its size has no
    spread (at a confidence of 95 %). Otherwise there are too few rows to tell, or no spread, and
    the finding says which. See docs/audit.md for simulations.

    References
    ----------
    Hall, P. (1988). Theoretical comparison of bootstrap confidence intervals. Annals of Statistics
    16. Newcombe, R. G. (1998). Interval estimation for the difference between independent
    proportions. Statistics in Medicine 17. Westfall, P. H. and Young, S. S. (1993).
    Resampling-based multiple testing. Wiley.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat(["a", "b"], [300, 100])
    >>> found = audit(rng.normal(size=400) + (group == "b"), sensitive_features=group, within=0.2)
    >>> [(f.group, round(f.gap, 2), f.p_value < 0.001, f.equivalent) for f in found.findings]
    [('a', -0.25, True, False), ('b', 0.75, True, False)]
    >>> print(found)  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
                                                              within
    sensitive    n      mean      gap       95 % interval       ±0.2 ...
    """
    confidence = check_probability(confidence, "confidence")
    power = check_probability(power, "power")
    if within is not None and not (is_number(within) and 0 < within < np.inf):
        raise ValueError(
            f"within={within!r} is not a positive number. Pass a gap in the units of y_pred."
        )
    if weight_kind not in ("sampling", "counts"):
        raise ValueError(f"weight_kind={weight_kind!r} is not known. Pass 'sampling' or 'counts'.")
    rows = AuditRows.read(
        y_pred,
        sensitive_features,
        y_true,
        control_features,
        sample_weight,
        weight_kind,
        continuous,
    )
    given = _check_shares(shares, rows)
    family = make_family(rows, 1 - confidence, random_state)
    left_out, subjects = [], []
    for stratum, part in rows.strata():
        found = _subjects(part, family, given, sampled=given is None and shares == "sampled")
        subjects += [(stratum, part, subject) for subject in found]
        if not found:
            left_out.append(stratum)
    if not subjects:
        if rows.groups is not None and not rows.numbers:
            require_several_groups(rows.groups)
        raise ValueError(
            "No stratum has more than one group, so there is nothing to compare. Use fewer or "
            "coarser control_features."
        )
    results = tuple(
        finding
        for stratum, part, subject in subjects
        for finding in describe_findings(stratum, part, subject, family, within, power)
    )
    gaps = np.abs([finding.gap for finding in results])
    of_groups = np.array([not finding.is_number for finding in results])
    return Audit(
        findings=results,
        columns=rows.columns,
        control=() if rows.control is None else rows.control.columns,
        n_rows=len(rows.values),
        mean=_overall_mean(rows, given),
        smd=float(gaps[of_groups].sum()),
        max_gap=float(gaps.max()),
        **_distributions(rows),
        confidence=confidence,
        power=power,
        within=None if within is None else float(within),
        shares=shares if isinstance(shares, str) else "given",
        weight_kind=None if sample_weight is None else weight_kind,
        left_out=tuple(left_out),
        left_out_labels=tuple(_stratum_label(rows.control, key) for key in left_out),
    )


def _subjects(
    part: AuditRows, family: Family, shares: FloatArray | None, *, sampled: bool
) -> list[Subject]:
    """What can be compared in a stratum."""
    found = []
    if part.groups is not None and part.groups.n_groups > 1:
        found.append(group_subject(part, family, shares, sampled=sampled))
    for name, number in part.numbers.items():
        if np.ptp(number) > 0:
            found.append(number_subject(part, name, family))
    return found


def describe_findings(
    stratum: Any,
    part: AuditRows,
    subject: Subject,
    family: Family,
    within: float | None,
    power: float,
) -> list[GroupFinding]:
    """The findings about one subject, one for each of its groups."""
    comparison, error = subject.comparison, family.error

    def ends(differences: Limits, error: float) -> dict[str, FloatArray]:
        return dict(zip(("low", "high"), subject.to_gaps(differences, error), strict=True))

    told, p_values = comparison.told, comparison.p_values()
    adjusted = np.maximum(p_values, share_of_draws(family.maxima, comparison.strengths))
    together = subject.simultaneous(family)
    columns: dict[str, Any] = {
        "size": subject.counts.astype(int),
        "mean": subject.means,
        "gap": subject.gaps,
        "standard_error": subject.standard_errors,
        **ends(comparison.limits(error), error),
        "low_all": together[0],
        "high_all": together[1],
        "p_value": np.where(told, p_values, np.nan),
        "p_adjusted": np.where(told, adjusted, np.nan),
        "detectable": subject.factors * comparison.detectable(power),
        "too_few_rows": ~told,
        "no_spread": ~told & _without_spread(part, subject),
    }
    if within is not None:
        one_sided = ends(comparison.limits(2 * error), 2 * error)
        columns["equivalent"] = (one_sided["low"] > -within) & (one_sided["high"] < within)
    if part.errors is not None and not subject.is_number and part.groups is not None:
        columns["mean_error"] = part.groups.means(part.errors, part.weight)
    return [
        GroupFinding(
            group=key,
            stratum=stratum,
            is_number=subject.is_number,
            label="" if subject.is_number or part.groups is None else _label(part.groups, key),
            stratum_label=_stratum_label(part.control, stratum),
            **{name: values[j].item() for name, values in columns.items()},
        )
        for j, key in enumerate(subject.keys)
    ]


def _without_spread(part: AuditRows, subject: Subject) -> NDArray[np.bool_]:
    """Whether enough rows of a group, or all other rows, have one value: (k,)."""
    values, rounding = part.values, NEGLIGIBLE * np.abs(part.values).max()
    if values.std() <= rounding:
        return np.ones(len(subject.counts), dtype=bool)
    if subject.is_number or part.groups is None:
        return np.zeros(len(subject.counts), dtype=bool)
    groups = part.groups
    flat = np.array([values[groups.codes == j].std() <= rounding for j in range(groups.n_groups)])
    of_others = flat.sum() - flat == groups.n_groups - 1
    rest = subject.counts.sum() - subject.counts
    enough = np.minimum(subject.counts, rest) >= FEWEST_ROWS
    return np.asarray((flat | of_others) & enough)


def _label(groups: Groups, key: Any) -> str:
    return display_label(groups.columns, key if len(groups.columns) > 1 else (key,))


def _stratum_label(control: Groups | None, key: Any) -> str:
    if control is None:
        return ""
    return full_label(control.columns, key if len(control.columns) > 1 else (key,))


def _check_shares(shares: Any, rows: AuditRows) -> FloatArray | None:
    """Shares that replace those in the rows, (k,); None if these are used."""
    if isinstance(shares, str) and shares in ("sampled", "fixed"):
        return None
    if not isinstance(shares, Mapping):
        raise ValueError(
            f"shares={shares!r} is not known. Pass 'sampled', 'fixed', or a mapping from each "
            "group to its share."
        )
    if rows.groups is None or rows.control is not None:
        raise ValueError(
            "shares are those of groups among all rows. Pass sensitive categories, and no "
            "control_features, or shares='sampled'."
        )
    known = set(rows.groups.keys)
    if known != set(shares):
        wrong = sorted(map(str, known ^ set(shares)))
        raise ValueError(
            f"shares and sensitive_features name different groups ({', '.join(wrong[:5])}). Pass "
            f"a share for each of {', '.join(rows.groups.names[:10])}, and for no other group."
        )
    found = np.array([shares[key] for key in rows.groups.keys], dtype=np.float64)
    if not ((found > 0).all() and (found < 1).all() and abs(found.sum() - 1) < 1e-6):
        raise ValueError(
            f"shares are {dict(shares)}. Pass positive numbers whose sum is 1; their sum is "
            f"{found.sum():g}."
        )
    return np.asarray(found / found.sum())


def _overall_mean(rows: AuditRows, shares: FloatArray | None) -> float:
    if shares is None or rows.groups is None:
        return float(np.average(rows.values, weights=rows.weight))
    return float(shares @ rows.groups.means(rows.values, rows.weight))


def _distributions(rows: AuditRows) -> dict[str, float | None]:
    """Differences between the distributions of the groups; None if there are no groups."""
    names = ("wasserstein", "quantile_gap", "quantile", "r_squared")
    if rows.groups is None:
        return dict.fromkeys(names)
    distance = wasserstein_gap(
        None, rows.values, sensitive_features=rows.groups.codes, sample_weight=rows.weight
    )
    largest, level = quantile_gap(rows.values, rows.groups, rows.weight)
    return dict(zip(names, (float(distance), largest, level, _r_squared(rows)), strict=True))


def _r_squared(rows: AuditRows) -> float:
    """Share of the variance that lies between groups; 0 for constant values."""
    assert rows.groups is not None
    weight = np.ones(len(rows.values)) if rows.weight is None else rows.weight
    centred = rows.values - np.average(rows.values, weights=weight)
    total = float(weight @ centred**2)
    between = float(rows.groups.sums(weight) @ rows.groups.means(centred, weight) ** 2)
    negligible = (1e-13 * np.abs(rows.values).max(initial=0.0)) ** 2 * float(weight.sum())
    return between / total if total > negligible else 0.0
