"""Metrics that compare predictions with outcomes: errors, calibration, separation, sufficiency."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from meanparity._typing import FloatArray
from meanparity.data.groups import Groups
from meanparity.data.refusals import refuse_other_order
from meanparity.metrics.gaps import check_predictions

ERRORS = ("squared", "absolute", "signed")
_FOLDS = 5
_FEWEST_ROWS = 2 * _FOLDS


def prediction_errors(y_true: Any, y_pred: Any, error: str | float = "squared") -> FloatArray:
    """The error of each prediction, (n,).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Outcomes and predictions.
    error : {"squared", "absolute", "signed"} or float, default="squared"
        ``(ŷ − y)²``, ``|ŷ − y|``, ``ŷ − y``, or for a number q between 0 and 1 the quantile loss
        ``(y − ŷ)(q − 1[y < ŷ])``.

    Returns
    -------
    (n,) array
        The errors.

    See Also
    --------
    max_error_gap : Compares their means.

    Examples
    --------
    >>> prediction_errors([1.0, 2.0], [3.0, 1.0]).tolist()
    [4.0, 1.0]
    >>> prediction_errors([1.0, 2.0], [3.0, 1.0], 0.75).tolist()
    [0.5, 0.75]
    """
    refuse_other_order(y_true=y_true, y_pred=y_pred)
    columns = []
    for name, values in (("y_true", y_true), ("y_pred", y_pred)):
        column = check_array(values, ensure_2d=False, dtype=np.float64, input_name=name)
        if column.size != len(column):
            raise ValueError(f"{name} has {column.shape[1]} outputs. Pass one column at a time.")
        columns.append(column.reshape(-1))
    check_consistent_length(*columns)
    difference = columns[1] - columns[0]
    if isinstance(error, str) and error in ERRORS:
        found = {"squared": difference**2, "absolute": np.abs(difference), "signed": difference}
        return np.asarray(found[error])
    if isinstance(error, str) or not 0 < float(error) < 1:
        raise ValueError(
            f"error={error!r} is not known. Pass 'squared', 'absolute', 'signed', or a quantile "
            "between 0 and 1."
        )
    return np.asarray(np.where(difference > 0, 1 - float(error), float(error)) * np.abs(difference))


def max_error_gap(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    error: str | float = "squared",
) -> float:
    """Largest absolute gap between the mean error of a group and that of all rows.

    `meanparity.audit.audit_errors` gives the gaps of all groups, with intervals.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes.
    y_pred, sensitive_features, sample_weight
        As in `group_means`.
    error : {"squared", "absolute", "signed"} or float, default="squared"
        The error; a number is the quantile of a quantile loss. See `prediction_errors`.

    Returns
    -------
    float

    See Also
    --------
    meanparity.audit.audit_errors : The same with intervals.

    Examples
    --------
    >>> max_error_gap([0, 0, 0, 0], [1, 1, 3, 3], sensitive_features=list("aabb"), error="absolute")
    1.0
    """
    errors = prediction_errors(y_true, y_pred, error)
    refuse_other_order(
        y_pred=y_pred, sensitive_features=sensitive_features, sample_weight=sample_weight
    )
    values, groups, weight = check_predictions(y_true, errors, sensitive_features, sample_weight)
    gaps = groups.means(values, weight) - np.average(values, weights=weight)
    return float(np.abs(gaps).max())


@dataclass(frozen=True)
class GroupCalibration:
    """How the outcomes of a group depend on its predictions.

    Parameters
    ----------
    group : hashable
        The group.
    size : int
        Number of rows.
    bias : float
        Mean outcome minus mean prediction; 0 if predictions are right on average.
    slope : float
        Slope of the linear regression of outcomes on predictions in the group; 1 if a prediction
        that is higher by one goes with an outcome that is higher by one. NaN if all predictions of
        the group are equal.
    bins : tuple of (float, float, int)
        Mean prediction, mean outcome and number of rows in bins of the predictions of all rows
        that have about equally many rows, without those in which the group has none.

    See Also
    --------
    calibration_by_group : Makes them.

    Examples
    --------
    >>> import numpy as np
    >>> from meanparity.metrics import calibration_by_group
    >>> y = np.arange(40.0)
    >>> found = calibration_by_group(y, y - 1, sensitive_features=np.arange(40) % 2)
    >>> [float(group.bias) for group in found]
    [1.0, 1.0]
    """

    group: Hashable
    size: int
    bias: float
    slope: float
    bins: tuple[tuple[float, float, int], ...]


def calibration_by_group(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    n_bins: int = 10,
) -> tuple[GroupCalibration, ...]:
    """Compare predictions with outcomes in each group: on average, by a line, and in bins.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes.
    y_pred, sensitive_features, sample_weight
        As in `group_means`.
    n_bins : int, default=10
        Number of bins of the predictions.

    Returns
    -------
    tuple of GroupCalibration

    See Also
    --------
    meanparity.audit.audit_calibration : The same with intervals.

    Examples
    --------
    >>> found = calibration_by_group([1, 3, 2, 6], [1, 2, 1, 2], sensitive_features=list("aabb"))
    >>> [(part.group, part.bias, part.slope) for part in found]
    [('a', 0.5, 2.0), ('b', 2.5, 4.0)]
    """
    y = -prediction_errors(y_true, y_pred, "signed")  # checks both
    values, groups, weight = check_predictions(y_true, y_pred, sensitive_features, sample_weight)
    values = values.reshape(-1)
    y = y + values
    edges = np.unique(np.quantile(values, np.arange(1, n_bins) / n_bins))
    bins = np.searchsorted(edges, values, side="right")
    found = []
    for j, key in enumerate(groups.keys):
        rows = groups.codes == j
        g, outcome, w, bin_of_row = values[rows], y[rows], weight[rows], bins[rows]
        centred = g - np.average(g, weights=w)
        spread = float(w @ centred**2)
        slope = float(w @ (centred * outcome)) / spread if np.ptp(g) > 0 else float("nan")
        parts = []
        for b in np.unique(bin_of_row[w > 0]):
            inside = bin_of_row == b
            parts.append(
                (
                    float(np.average(g[inside], weights=w[inside])),
                    float(np.average(outcome[inside], weights=w[inside])),
                    int(inside.sum()),
                )
            )
        bias = float(np.average(outcome - g, weights=w))
        found.append(GroupCalibration(key, int(rows.sum()), bias, slope, tuple(parts)))
    return tuple(found)


def separation_information(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None
) -> float:
    """How much predictions tell about the group of a person whose outcome is known.

    ``I(ŷ; group | y) / H(group | y)``: the conditional mutual information as a share of what is
    unknown about the group when y is known. It is 0 if people with equal outcomes get predictions
    with the same distribution in all groups ("separation", "equalised odds" for numbers), and 1 if
    predictions and outcomes together reveal the group.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes.
    y_pred, sensitive_features, sample_weight
        As in `group_means`.

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    sufficiency_information : Outcomes given predictions.
    mean_parity_gap : Predictions alone.

    Notes
    -----
    Probabilities of groups are estimated by multinomial logistic regression on y and ŷ, their
    squares and their product, each row by a fit to other rows (five folds). An estimate of the
    information that is negative, which chance makes it without any, counts as 0.

    References
    ----------
    Steinberg, D., Reid, A., O'Callaghan, S., Lattimore, F., McCalman, L. and Caetano, T. (2020).
    Fast fair regression via efficient approximations of mutual information. arXiv:2002.06200.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, s = rng.normal(size=2000), rng.integers(0, 2, 2000)
    >>> same = separation_information(y, y + rng.normal(size=2000), sensitive_features=s)
    >>> apart = separation_information(y, y + s + rng.normal(size=2000), sensitive_features=s)
    >>> bool(same < 0.01), bool(0.1 < apart < 0.25)
    (True, True)
    """
    return _information(y_true, y_pred, sensitive_features, sample_weight, given=0)


def sufficiency_information(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None
) -> float:
    """How much outcomes tell about the group of a person whose prediction is known.

    ``I(y; group | ŷ) / H(group | ŷ)``. It is 0 if people with equal predictions have outcomes with
    the same distribution in all groups ("sufficiency": predictions mean the same in all groups).
    See `separation_information` for its parameters, how it is estimated, and where it comes from.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Outcomes and predictions.
    sensitive_features : array-like of shape (n,) or (n, r), or data frame
        Groups.
    sample_weight : array-like of shape (n,), optional
        Weights.

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    separation_information : Predictions given outcomes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> g, s = rng.normal(size=2000), rng.integers(0, 2, 2000)
    >>> same = sufficiency_information(g + rng.normal(size=2000), g, sensitive_features=s)
    >>> apart = sufficiency_information(g + s + rng.normal(size=2000), g, sensitive_features=s)
    >>> bool(same < 0.01), bool(0.1 < apart < 0.25)
    (True, True)
    """
    return _information(y_true, y_pred, sensitive_features, sample_weight, given=1)


def _information(
    y_true: Any, y_pred: Any, sensitive_features: Any, sample_weight: Any, *, given: int
) -> float:
    """Information of (y, ŷ) about the group beyond that of one of them, as a share."""
    errors = prediction_errors(y_true, y_pred, "signed")  # checks both
    values, groups, weight = check_predictions(y_true, y_pred, sensitive_features, sample_weight)
    values = values.reshape(-1)
    if groups.n_groups < 2:
        raise ValueError(
            f"All rows are in one group ({groups.names[0]}). Pass rows of at least two groups."
        )
    few = int(groups.counts.argmin())
    if groups.counts[few] < _FEWEST_ROWS:
        raise ValueError(
            f"Group {groups.names[few]!r} has {groups.counts[few]} rows, too few to estimate its "
            f"probability from {_FOLDS} folds. Leave out or join groups of fewer than "
            f"{_FEWEST_ROWS} rows."
        )
    both = np.column_stack([values - errors, values])
    spread = both.std(axis=0)
    both = (both - both.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    one = both[:, [given]]
    known = _log_probabilities(np.hstack([one, one**2]), groups, weight)
    products = np.hstack([both, both**2, both[:, :1] * both[:, 1:]])
    more = _log_probabilities(products, groups, weight)
    gained, unknown = (np.average(part, weights=weight) for part in (more - known, -known))
    return float(np.clip(gained / unknown, 0.0, 1.0)) if unknown > 0 else 0.0


def _log_probabilities(X: FloatArray, groups: Groups, weight: FloatArray) -> FloatArray:
    """Log probability of each row's own group, by a fit to rows of other folds: (n,)."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold

    found = np.empty(len(X))
    for train, test in StratifiedKFold(_FOLDS, shuffle=True, random_state=0).split(X, groups.codes):
        model = LogisticRegression(max_iter=1000)
        model.fit(X[train], groups.codes[train], sample_weight=weight[train])
        probabilities = model.predict_log_proba(X[test])
        found[test] = probabilities[np.arange(len(test)), groups.codes[test]]
    return found
