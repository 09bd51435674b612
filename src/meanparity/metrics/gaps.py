"""Differences between groups in predicted numbers, as defined in the paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from meanparity._typing import FloatArray, FloatOrArray
from meanparity.constraints import CovarianceParity
from meanparity.data.columns import read_columns
from meanparity.data.fit_input import check_weights
from meanparity.data.groups import Groups
from meanparity.data.refusals import refuse_other_order
from meanparity.metrics.by_group import ByGroup


def group_means(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None
) -> ByGroup[FloatOrArray]:
    """Mean prediction of each group.

    Parameters
    ----------
    y_true : ignored
        Present because all metrics share one signature.
    y_pred : array-like of shape (n,) or (n, m)
        Predictions.
    sensitive_features : array-like of shape (n,) or (n, r), or data frame
        Sensitive columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    ByGroup
        A dict with the mean of each group, a float or an (m,) array. The keys are the sensitive
        values, or tuples of values if there are several sensitive columns.

    See Also
    --------
    mean_parity_gap : The sum of their distances from the overall mean.

    Examples
    --------
    >>> group_means(None, [1.0, 2.0, 6.0], sensitive_features=["a", "a", "b"])
    {'a': 1.5, 'b': 6.0}
    """
    values, groups, weight = check_predictions(y_true, y_pred, sensitive_features, sample_weight)
    return ByGroup(groups, map(_output, groups.means(values, weight)), "mean")


def mean_parity_gap(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    control_features: Any = None,
) -> FloatOrArray:
    """Sum of the absolute gaps between group means and the overall mean.

    ``Σ_j |mean_j(g) − mean(g)|`` over the groups j. For two groups this is the absolute difference
    between the two group means. The paper calls it SMD; it is not a standardised mean difference.

    Parameters
    ----------
    y_true, y_pred, sensitive_features, sample_weight
        As in `group_means`.
    control_features : array-like of shape (n,) or (n, c), or data frame, optional
        Control columns. If they are given, each group's mean is compared with the mean of its
        stratum, and there is one gap for each group in each stratum.

    Returns
    -------
    float, or (m,) array for several outputs

    See Also
    --------
    max_mean_gap : The largest gap instead of their sum.
    wasserstein_gap : Whole distributions instead of means.
    meanparity.audit.audit : Gaps with intervals.

    Examples
    --------
    >>> mean_parity_gap(None, [1.0, 2.0, 6.0], sensitive_features=["a", "a", "b"])
    4.5
    """
    gaps = _mean_gaps(y_true, y_pred, sensitive_features, sample_weight, control_features)
    return _output(np.abs(gaps).sum(axis=0))


def max_mean_gap(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    control_features: Any = None,
) -> FloatOrArray:
    """Largest absolute gap between a group mean and the overall mean.

    ``max_j |mean_j(g) − mean(g)|`` over the groups j.

    Parameters
    ----------
    y_true, y_pred, sensitive_features, sample_weight
        As in `group_means`.
    control_features : array-like of shape (n,) or (n, c), or data frame, optional
        Control columns. If they are given, each group's mean is compared with the mean of its
        stratum, and there is one gap for each group in each stratum.

    Returns
    -------
    float, or (m,) array for several outputs

    See Also
    --------
    mean_parity_gap : The sum of all gaps instead of the largest.

    Examples
    --------
    >>> max_mean_gap(None, [1.0, 2.0, 6.0], sensitive_features=["a", "a", "b"])
    3.0
    """
    gaps = _mean_gaps(y_true, y_pred, sensitive_features, sample_weight, control_features)
    return _output(np.abs(gaps).max(axis=0))


def wasserstein_gap(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None
) -> FloatOrArray:
    """Sum of the Wasserstein distances between the groups' distributions and the overall one.

    ``Σ_j W₁(g | group j, g)`` with the 1-Wasserstein distance (the paper's DPD). It is never
    smaller than `mean_parity_gap` (Proposition 1 of the paper), and it is zero only if the
    predictions have the same distribution in all groups.

    Parameters
    ----------
    y_true, y_pred, sensitive_features, sample_weight
        As in `group_means`.

    Returns
    -------
    float, or (m,) array for several outputs

    See Also
    --------
    mean_parity_gap : Means alone.

    Examples
    --------
    >>> wasserstein_gap(None, [0.0, 1.0, 0.5, 0.5], sensitive_features=["a", "a", "b", "b"])
    0.5
    """
    values, groups, weight = check_predictions(y_true, y_pred, sensitive_features, sample_weight)
    if values.ndim == 1:
        return _areas_between(values, groups, weight)
    return np.array([_areas_between(column, groups, weight) for column in values.T])


def covariance_norm(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    kernel: str | Callable[..., Any] = "linear",
    gamma: float | None = None,
    degree: int = 3,
    coef0: float = 1.0,
) -> FloatOrArray:
    """Norm of the covariance between the predictions and features of the sensitive columns.

    ``‖Cov(φ_S(S), g)‖`` in the feature space of a sensitive kernel (the paper's Norm of Cov).

    Parameters
    ----------
    y_true, y_pred, sensitive_features, sample_weight
        As in `group_means`.
    kernel, gamma, degree, coef0
        Sensitive kernel and its parameters, as in `CovarianceParity`.

    Returns
    -------
    float, or (m,) array for several outputs

    See Also
    --------
    mean_parity_gap : Gaps of means.

    Examples
    --------
    >>> covariance_norm(None, [1.0, 2.0, 6.0, 7.0], sensitive_features=[0, 0, 1, 1])
    1.25
    """
    values, groups, weight = check_predictions(y_true, y_pred, sensitive_features, sample_weight)
    centred = values - np.average(values, axis=0, weights=weight)
    features = CovarianceParity(kernel, gamma=gamma, degree=degree, coef0=coef0).features(groups)
    covariance = features.T @ groups.sums((centred.T * weight).T) / weight.sum()
    return _output(np.sqrt((covariance**2).sum(axis=0)))


def _areas_between(column: FloatArray, groups: Groups, weight: FloatArray) -> float:
    """Sum over groups of the area between the group's distribution function and the overall F.

    One sort is enough: between two neighbouring values of a group its distribution function is a
    constant c while F grows, so their difference changes sign at most once, and the areas before
    and after that point follow from the integral of F.
    """
    order = np.argsort(column, kind="stable")
    x, codes, mass = column[order] - column[order[0]], groups.codes[order], weight[order]
    F = np.cumsum(mass) / mass.sum()
    integral = np.concatenate([[0.0], np.cumsum(F[:-1] * np.diff(x))])
    # rows ordered by group; c is the group's distribution function at each of them
    rows = np.argsort(codes, kind="stable")
    group, sizes = codes[rows], np.bincount(codes, minlength=groups.n_groups)
    ends = np.cumsum(sizes)
    reached = np.cumsum(mass[rows])
    before = np.concatenate([[0.0], reached[ends[:-1] - 1]])
    c = (reached - before[group]) / (reached[ends - 1] - before)[group]
    after = np.append(rows[1:], 0)
    after[ends - 1] = len(x) - 1
    firsts = rows[ends - sizes]  # before its first row, a group's function is zero
    turn = np.clip(np.searchsorted(F, c), rows, after)
    areas = c * (2 * x[turn] - x[rows] - x[after])
    areas += integral[rows] + integral[after] - 2 * integral[turn]
    # rounding can make an area of zero slightly negative
    return float(np.maximum(areas, 0.0).sum() + integral[firsts].sum())


def _mean_gaps(
    y_true: Any, y_pred: Any, sensitive_features: Any, sample_weight: Any, control_features: Any
) -> FloatArray:
    """Group means minus the overall mean, or minus the mean of their stratum: (r,) or (r, m)."""
    values, groups, weight = check_predictions(
        y_true, y_pred, sensitive_features, sample_weight, control_features
    )
    if control_features is None:
        return groups.means(values, weight) - np.average(values, axis=0, weights=weight)
    strata = Groups.from_columns(read_columns(control_features, n_rows=len(values), role="control"))
    pairs = np.stack([strata.codes, groups.codes], axis=1)
    cells = Groups.from_levels(
        ("stratum", "group"), [range(strata.n_groups), range(groups.n_groups)], pairs, "error"
    )
    with np.errstate(invalid="ignore"):  # cells without weight, which are dropped below
        cell_means, stratum_means = cells.means(values, weight), strata.means(values, weight)
    stratum = np.array([label[0] for label in cells.labels], dtype=int)
    return np.asarray((cell_means - stratum_means[stratum])[cells.sums(weight) > 0])


def check_predictions(
    y_true: Any,
    y_pred: Any,
    sensitive_features: Any,
    sample_weight: Any,
    control_features: Any = None,
) -> tuple[FloatArray, Groups, FloatArray]:
    """Check predictions, groups and weights; every group must have positive weight.

    Of the outcomes and the control columns, only the order of their rows is checked.
    """
    refuse_other_order(
        y_pred=y_pred,
        y_true=y_true,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
    )
    values = check_array(y_pred, ensure_2d=False, dtype=np.float64, input_name="y_pred")
    groups = Groups.from_columns(sensitive_features)
    check_consistent_length(values, groups.codes)
    if sample_weight is None:
        return values, groups, np.ones(len(values))
    weight = check_weights(sample_weight, len(values))
    empty = groups.sums(weight) <= 0
    if empty.any():
        raise ValueError(
            f"sample_weight is zero in all rows of group {groups.names[int(empty.argmax())]!r}, "
            "so the group has no mean. Leave its rows out, or give them weight."
        )
    return values, groups, weight


def _output(value: Any) -> FloatOrArray:
    """Return a float for one output, and the array for several."""
    if np.ndim(value) == 0:
        return float(value)
    values: FloatArray = value
    return values
