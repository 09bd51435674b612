"""Comparing groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from scipy.stats import false_discovery_control
from sklearn.utils import check_array, check_consistent_length, check_random_state

from meanparity._typing import FloatArray
from meanparity.audit.distribution import quantile_gap
from meanparity.audit.moments import Moments
from meanparity.audit.resample import bootstrap_intervals, permutation_p_values
from meanparity.audit.result import Audit, GroupFinding
from meanparity.groups import Groups, read_columns
from meanparity.metrics import wasserstein_gap
from meanparity.sources import check_weights


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
    r"""Compare the mean prediction of every group with that of all, and say how sure that is.

    The gap of group j is ``m_j − m``, the mean of its predictions less that of all. Its interval
    and p-value are those of Welch: rows are independent, groups may differ in spread, and their
    sizes count as given.

    Parameters
    ----------
    y_pred : array-like of shape (n,)
        Predictions, or outcomes: any numbers.
    sensitive_features : array-like of shape (n,) or (n, r), or data frame
        Sensitive columns; every combination of values that occurs is a group.
    y_true : array-like of shape (n,), optional
        Outcomes: then the mean error (prediction less outcome) of every group is told too.
    control_features : array-like of shape (n,) or (n, c), or data frame, optional
        Then groups are compared inside each stratum, such as at the same grade.
    sample_weight : array-like of shape (n,), optional
        Weights of rows.
    confidence : float, default=0.95
        Of the intervals, and of the answer to `within`.
    within : float, optional
        A gap in the units of y_pred that would be harmless. For each group two one-sided tests
        tell whether its gap is within ± that, with the given confidence.
    power : float, default=0.8
        For the smallest gap that would have been detected: how probable finding it should be.
    method : {"analytic", "resampling"}, default="analytic"
        "resampling": intervals by the bootstrap inside each group (percentiles), p-values by
        permutations of Welch's t. It takes no weights, and two rows or more of each group.
    n_resamples : int, default=9999
        For "resampling".
    random_state : int, RandomState or None
        For "resampling".

    Returns
    -------
    Audit
        Prints as a table; `to_pandas`, `to_dict`, `to_json`.

    Notes
    -----
    A p-value above 0.05 does not say that there is no gap: look at the interval, and at
    `detectable`. To show that a gap is small, ask with `within`.

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
    confidence, power = check_share(confidence, "confidence"), check_share(power, "power")
    if method not in ("analytic", "resampling"):
        raise ValueError(f"method={method!r} is unknown. Pass 'analytic' or 'resampling'.")
    if within is not None and not (_is_number(within) and 0 < within < np.inf):
        raise ValueError(f"within={within!r} is not a positive number, in units of y_pred.")
    people = _People.read(y_pred, sensitive_features, y_true, control_features, sample_weight)
    if method == "resampling" and people.weight is not None:
        raise ValueError("Resampling takes no sample_weight. Pass method='analytic'.")
    random = check_random_state(random_state)

    findings: list[dict[str, Any]] = []
    left_out = []
    for stratum, part in people.strata():
        if part.groups.n_groups == 1:
            left_out.append(stratum)
            continue
        moments = Moments.of(part.values, part.groups, part.weight)
        margins = moments.margins(confidence)
        intervals = np.stack([moments.gaps - margins, moments.gaps + margins], axis=1)
        p_values = moments.p_values()
        if method == "resampling":
            _require_two_rows(part.groups)
            intervals = bootstrap_intervals(
                part.values, part.groups, confidence, n_resamples, random
            )
            p_values = permutation_p_values(part.values, part.groups, n_resamples, random)
        outside = None if within is None else moments.p_outside(float(within))
        detectable = moments.detectable(confidence, power)
        errors = None if part.errors is None else part.groups.means(part.errors, part.weight)
        for j, key in enumerate(part.groups.keys):
            findings.append(
                {
                    "group": key,
                    "stratum": stratum,
                    "size": int(moments.counts[j]),
                    "mean": float(moments.means[j]),
                    "gap": float(moments.gaps[j]),
                    "standard_error": float(moments.errors[j]),
                    "low": float(intervals[j, 0]),
                    "high": float(intervals[j, 1]),
                    "p_value": float(p_values[j]),
                    "detectable": float(detectable[j]),
                    "p_outside": None if outside is None else float(outside[j]),
                    "equivalent": None if outside is None else bool(outside[j] <= 1 - confidence),
                    "mean_error": None if errors is None else float(errors[j]),
                }
            )
    if not findings:
        raise ValueError(_only_one(people))
    p = np.array([finding["p_value"] for finding in findings])
    adjusted = zip(findings, _holm(p), false_discovery_control(p), strict=True)
    rows = tuple(GroupFinding(**f, p_holm=float(a), p_bh=float(b)) for f, a, b in adjusted)
    gaps = np.array([finding.gap for finding in rows])
    apart, level = quantile_gap(people.values, people.groups, people.weight)
    return Audit(
        findings=rows,
        columns=people.groups.columns,
        control=people.control_names,
        n_rows=len(people.values),
        mean=float(np.average(people.values, weights=people.weight)),
        smd=float(np.abs(gaps).sum()),
        max_gap=float(np.abs(gaps).max()),
        wasserstein=_distance(people),
        quantile_gap=apart,
        quantile=level,
        r_squared=_r_squared(people),
        confidence=confidence,
        power=power,
        within=None if within is None else float(within),
        method=method,
        left_out=tuple(left_out),
    )


@dataclass(frozen=True, eq=False)
class _People:
    """Checked rows."""

    values: FloatArray
    groups: Groups
    weight: FloatArray | None
    errors: FloatArray | None
    control: Groups | None

    @classmethod
    def read(
        cls, y_pred: Any, sensitive: Any, y_true: Any, control: Any, sample_weight: Any
    ) -> _People:
        values = _column(y_pred, "y_pred")
        n = len(values)
        errors = None
        if y_true is not None:
            truth = _column(y_true, "y_true")
            check_consistent_length(values, truth)
            errors = values - truth
        weight = None if sample_weight is None else check_weights(sample_weight, n)
        groups = Groups.from_columns(sensitive, n_rows=n)
        strata = None
        if control is not None:
            strata = Groups.from_columns(read_columns(control, n_rows=n, role="control"))
        people = cls(values, groups, weight, errors, strata)
        return people if weight is None else people.some(weight > 0)

    def some(self, keep: Any) -> _People:
        """Some of the rows; groups and strata without rows are gone."""
        parts = (self.weight, self.errors)
        weight, errors = (None if part is None else part[keep] for part in parts)
        control = None if self.control is None else _regrouped(self.control, keep)
        return _People(self.values[keep], _regrouped(self.groups, keep), weight, errors, control)

    @property
    def control_names(self) -> tuple[str, ...]:
        return () if self.control is None else self.control.columns

    def strata(self) -> Iterator[tuple[Any, _People]]:
        if self.control is None:
            yield None, self
            return
        for code, key in enumerate(self.control.keys):
            yield key, self.some(self.control.codes == code)


def _regrouped(groups: Groups, keep: Any) -> Groups:
    codes = groups.codes[keep]
    present, codes = np.unique(codes, return_inverse=True)
    labels = tuple(groups.labels[i] for i in present)
    return Groups(codes, labels, groups.columns, np.bincount(codes))


def _column(values: Any, name: str) -> FloatArray:
    column = check_array(values, ensure_2d=False, dtype=np.float64, input_name=name)
    if column.ndim == 2 and column.shape[1] > 1:
        raise ValueError(f"{name} has {column.shape[1]} outputs. Audit one column at a time.")
    return np.reshape(column, -1)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def check_share(value: Any, name: str) -> float:
    """A number between 0 and 1, or an error that says so."""
    if not (_is_number(value) and 0 < value < 1):
        raise ValueError(f"{name}={value!r} is not between 0 and 1. Pass a number such as 0.95.")
    return float(value)


def _only_one(people: _People) -> str:
    if people.control is not None:
        return "No stratum has more than one group, so nothing can be compared. Use fewer controls."
    name = people.groups.names[0]
    return (
        f"All {len(people.values)} rows are in one group ({name}), so there is nothing to compare "
        "it with. Pass rows of at least two groups."
    )


def _require_two_rows(groups: Groups) -> None:
    if groups.counts.min() < 2:
        name = groups.names[int(groups.counts.argmin())]
        raise ValueError(
            f"Group {name!r} has one row, which cannot be resampled. Leave it out, or pass "
            "method='analytic'."
        )


def _holm(p: FloatArray) -> FloatArray:
    """p-values adjusted for the chance of any false alarm, by Holm's steps.

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


def _distance(people: _People) -> float:
    distance = wasserstein_gap(
        None, people.values, sensitive_features=people.groups.codes, sample_weight=people.weight
    )
    return float(distance)


def _r_squared(people: _People) -> float:
    """Share of the variance between groups; of constant values, none."""
    weight = np.ones(len(people.values)) if people.weight is None else people.weight
    centred = people.values - np.average(people.values, weights=weight)
    total = float(weight @ centred**2)
    between = float(people.groups.sums(weight) @ people.groups.means(centred, weight) ** 2)
    negligible = (1e-13 * np.abs(people.values).max(initial=0.0)) ** 2 * float(weight.sum())
    return between / total if total > negligible else 0.0
