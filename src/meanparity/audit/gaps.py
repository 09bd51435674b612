"""Gaps between the mean of each group and the overall mean, with their uncertainty."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.stats import false_discovery_control
from sklearn.utils import check_array, check_consistent_length, check_random_state

from meanparity._typing import FloatArray
from meanparity.audit.checks import check_probability, is_number, require_several_groups
from meanparity.audit.distribution import quantile_gap
from meanparity.audit.moments import Moments
from meanparity.audit.resample import bootstrap_intervals, permutation_p_values
from meanparity.audit.result import Audit, GroupFinding
from meanparity.data.columns import read_columns
from meanparity.data.fit_input import check_weights
from meanparity.data.groups import Groups
from meanparity.metrics import wasserstein_gap


def audit(
    y_pred: Any,
    *,
    sensitive_features: Any,
    y_true: Any = None,
    control_features: Any = None,
    sample_weight: Any = None,
    confidence: float = 0.95,
    within: float | None = None,
    power: float = 0.8,
    method: Literal["analytic", "resampling"] = "analytic",
    n_resamples: int = 9999,
    random_state: Any = None,
) -> Audit:
    r"""Compare the mean prediction of every group with the overall mean, with uncertainty.

    The gap of group j is ``m_j − m``, the mean prediction in the group minus the mean over all
    rows. Its confidence interval and p-value follow Welch's method: rows are independent, groups
    may have different variances, and group sizes are treated as fixed.

    Parameters
    ----------
    y_pred : array-like of shape (n,)
        Predictions, outcomes, or any other numbers.
    sensitive_features : array-like of shape (n,) or (n, r), or data frame
        Sensitive columns. Every combination of values that occurs is a group.
    y_true : array-like of shape (n,), optional
        Outcomes. If they are given, the audit also reports the mean error (prediction minus
        outcome) of every group.
    control_features : array-like of shape (n,) or (n, c), or data frame, optional
        Control columns. If they are given, groups are compared within each stratum, for example
        among employees of the same grade.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    confidence : float, default=0.95
        Confidence level of the intervals and of the equivalence tests.
    within : float, optional
        Largest gap that would be considered negligible, in the units of y_pred. Two one-sided
        tests per group decide whether its gap is shown to lie within ± this value.
    power : float, default=0.8
        Power at which the smallest detectable gap is computed.
    method : {"analytic", "resampling"}, default="analytic"
        "resampling" computes the intervals by the percentile bootstrap within each group, and the
        p-values by permutation of Welch's t statistic. Standard errors, equivalence tests and
        detectable gaps stay analytic. It does not support weights, and needs at least two rows in
        each group.
    n_resamples : int, default=9999
        Number of resamples for ``method="resampling"``.
    random_state : int, RandomState or None, default=None
        Random seed for ``method="resampling"``.

    Returns
    -------
    Audit
        The findings, which can be printed or converted with `to_pandas`, `to_dict` and `to_json`.

    Notes
    -----
    A p-value above 0.05 does not show that there is no gap. Look at the interval and at the
    smallest detectable gap, or use `within` to test whether a gap is negligible.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat(["a", "b"], [300, 100])
    >>> found = audit(rng.normal(size=400) + (group == "b"), sensitive_features=group, within=0.2)
    >>> [(f.group, round(f.gap, 2), f.p_value < 0.001, f.equivalent) for f in found.findings]
    [('a', -0.25, True, False), ('b', 0.75, True, False)]
    >>> print(found)  # doctest: +ELLIPSIS
    sensitive    n      mean      gap      95 % interval         p  p (Holm)  detectable  within...
    """
    confidence = check_probability(confidence, "confidence")
    power = check_probability(power, "power")
    if method not in ("analytic", "resampling"):
        raise ValueError(f"method={method!r} is not known. Pass 'analytic' or 'resampling'.")
    if within is not None and not (is_number(within) and 0 < within < np.inf):
        raise ValueError(
            f"within={within!r} is not a positive number. Pass a gap in the units of y_pred."
        )
    rows = _AuditRows.read(y_pred, sensitive_features, y_true, control_features, sample_weight)
    if method == "resampling" and rows.weight is not None:
        raise ValueError(
            "method='resampling' does not support sample_weight. Pass method='analytic'."
        )
    random = check_random_state(random_state)

    findings: list[dict[str, Any]] = []
    left_out = []
    for stratum, part in rows.strata():
        if part.groups.n_groups == 1:
            left_out.append(stratum)
            continue
        moments = Moments.from_values(part.values, part.groups, part.weight)
        if method == "analytic":
            margins = moments.margins(confidence)
            low, high, p_values = moments.gaps - margins, moments.gaps + margins, moments.p_values()
        else:
            _require_two_rows(part.groups)
            options = (part.values, part.groups, n_resamples, random)
            low, high = bootstrap_intervals(*options, confidence=confidence).T
            p_values = permutation_p_values(*options)
        columns = {
            "size": moments.counts.astype(int),
            "mean": moments.means,
            "gap": moments.gaps,
            "standard_error": moments.standard_errors,
            "low": low,
            "high": high,
            "p_value": p_values,
            "detectable": moments.detectable(confidence, power),
        }
        if within is not None:
            columns["p_outside"] = moments.p_outside(float(within))
            columns["equivalent"] = columns["p_outside"] <= 1 - confidence
        if part.errors is not None:
            columns["mean_error"] = part.groups.means(part.errors, part.weight)
        for j, key in enumerate(part.groups.keys):
            numbers = {name: values[j].item() for name, values in columns.items()}
            findings.append({"group": key, "stratum": stratum, **numbers})
    if not findings:
        require_several_groups(rows.groups)
        raise ValueError(
            "No stratum has more than one group, so there is nothing to compare. Use fewer or "
            "coarser control_features."
        )
    p = np.array([finding["p_value"] for finding in findings])
    adjusted = zip(findings, _holm(p), false_discovery_control(p), strict=True)
    results = tuple(GroupFinding(**f, p_holm=float(a), p_bh=float(b)) for f, a, b in adjusted)
    gaps = np.abs([finding.gap for finding in results])
    largest_quantile_gap, level = quantile_gap(rows.values, rows.groups, rows.weight)
    distance = wasserstein_gap(
        None, rows.values, sensitive_features=rows.groups.codes, sample_weight=rows.weight
    )
    return Audit(
        findings=results,
        columns=rows.groups.columns,
        control=() if rows.control is None else rows.control.columns,
        n_rows=len(rows.values),
        mean=float(np.average(rows.values, weights=rows.weight)),
        smd=float(gaps.sum()),
        max_gap=float(gaps.max()),
        wasserstein=float(distance),
        quantile_gap=largest_quantile_gap,
        quantile=level,
        r_squared=_r_squared(rows),
        confidence=confidence,
        power=power,
        within=None if within is None else float(within),
        method=method,
        left_out=tuple(left_out),
    )


@dataclass(frozen=True, eq=False)
class _AuditRows:
    """Checked input: values, groups and strata of the rows that have positive weight."""

    values: FloatArray
    groups: Groups
    weight: FloatArray | None
    errors: FloatArray | None
    control: Groups | None

    @classmethod
    def read(
        cls, y_pred: Any, sensitive: Any, y_true: Any, control: Any, sample_weight: Any
    ) -> _AuditRows:
        values = _single_column(y_pred, "y_pred")
        n, errors, strata = len(values), None, None
        if y_true is not None:
            truth = _single_column(y_true, "y_true")
            check_consistent_length(values, truth)
            errors = values - truth
        weight = None if sample_weight is None else check_weights(sample_weight, n)
        groups = Groups.from_columns(sensitive, n_rows=n)
        if control is not None:
            strata = Groups.from_columns(read_columns(control, n_rows=n, role="control"))
        rows = cls(values, groups, weight, errors, strata)
        return rows if weight is None else rows.subset(weight > 0)

    def subset(self, keep: Any) -> _AuditRows:
        """The marked rows; groups and strata that no longer occur are dropped."""
        weight, errors = (None if a is None else a[keep] for a in (self.weight, self.errors))
        control = None if self.control is None else _subset_groups(self.control, keep)
        groups = _subset_groups(self.groups, keep)
        return _AuditRows(self.values[keep], groups, weight, errors, control)

    def strata(self) -> Iterator[tuple[Any, _AuditRows]]:
        """The key and the rows of each stratum; one stratum without a key if there are none."""
        if self.control is None:
            yield None, self
            return
        for code, key in enumerate(self.control.keys):
            yield key, self.subset(self.control.codes == code)


def _subset_groups(groups: Groups, keep: Any) -> Groups:
    present, codes = np.unique(groups.codes[keep], return_inverse=True)
    labels = tuple(groups.labels[i] for i in present)
    return Groups(codes, labels, groups.columns, np.bincount(codes))


def _single_column(values: Any, name: str) -> FloatArray:
    column = check_array(values, ensure_2d=False, dtype=np.float64, input_name=name)
    if column.ndim == 2 and column.shape[1] > 1:
        raise ValueError(f"{name} has {column.shape[1]} outputs. Audit one column at a time.")
    return np.reshape(column, -1)


def _require_two_rows(groups: Groups) -> None:
    if groups.counts.min() < 2:
        name = groups.names[int(groups.counts.argmin())]
        raise ValueError(
            f"Group {name!r} has one row, which cannot be resampled. Leave it out, or pass "
            "method='analytic'."
        )


def _holm(p: FloatArray) -> FloatArray:
    """p-values adjusted by Holm's method, which controls the probability of any false positive.

    Examples
    --------
    >>> _holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _r_squared(rows: _AuditRows) -> float:
    """Share of the variance that lies between groups; 0 for constant values."""
    weight = np.ones(len(rows.values)) if rows.weight is None else rows.weight
    centred = rows.values - np.average(rows.values, weights=weight)
    total = float(weight @ centred**2)
    between = float(rows.groups.sums(weight) @ rows.groups.means(centred, weight) ** 2)
    negligible = (1e-13 * np.abs(rows.values).max(initial=0.0)) ** 2 * float(weight.sum())
    return between / total if total > negligible else 0.0
