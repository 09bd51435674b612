"""Metrics of decisions: how often each group is selected. Predicted numbers are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanparity._typing import FloatArray
from meanparity.data.columns import is_missing, plain_column
from meanparity.data.groups import Groups
from meanparity.data.refusals import refuse_other_order
from meanparity.metrics.by_group import ByGroup
from meanparity.metrics.gaps import check_predictions

_THRESHOLD = (
    "Turn predicted numbers into labels with a threshold, y_pred >= t, or compare their means with "
    "mean_parity_gap."
)


def selection_rates(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> ByGroup[float]:
    """Share of each group that receives the positive label.

    Parameters
    ----------
    y_true : ignored
        Present because all metrics share one signature.
    y_pred : array-like of shape (n,)
        Labels with at most two different values. Turn predicted numbers into labels with a
        threshold first.
    sensitive_features : array-like of shape (n,) or (n, r), or data frame
        Sensitive columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    pos_label : label, optional
        The positive label. It is required unless the labels are 0 and 1, −1 and 1, or False and
        True. If all rows have the same other label, nobody is selected.

    Returns
    -------
    ByGroup
        A dict with the share for each group, with the keys of `group_means`.

    See Also
    --------
    group_means : Means of predicted numbers.

    Examples
    --------
    >>> selection_rates(None, [1, 0, 1, 1], sensitive_features=["a", "a", "b", "b"])
    {'a': 0.5, 'b': 1.0}
    """
    rates, groups = _rates(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return ByGroup(groups, rates.tolist(), "rate")


def selection_rate_difference(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    """Largest difference between the selection rates of two groups.

    It is zero under demographic parity of the decisions. Mean parity of scores does not make it
    small, because equal mean scores do not determine how many scores of a group exceed a
    threshold.

    Parameters
    ----------
    y_true, y_pred, sensitive_features, sample_weight, pos_label
        As in `selection_rates`.

    Returns
    -------
    float

    See Also
    --------
    selection_rate_ratio : The ratio instead of the difference.
    selection_rates : The rates themselves.

    Examples
    --------
    >>> selection_rate_difference(None, [1, 0, 1, 1], sensitive_features=["a", "a", "b", "b"])
    0.5
    """
    rates, _ = _rates(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return float(rates.max() - rates.min())


def selection_rate_ratio(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    """Ratio of the smallest to the largest selection rate; 1 if nobody is selected.

    The "four-fifths rule" in the employment guidelines of the United States asks whether this
    ratio is at least 0.8.

    Parameters
    ----------
    y_true, y_pred, sensitive_features, sample_weight, pos_label
        As in `selection_rates`.

    Returns
    -------
    float

    See Also
    --------
    selection_rate_difference : The difference instead of the ratio.

    Examples
    --------
    >>> selection_rate_ratio(None, [1, 0, 1, 1], sensitive_features=["a", "a", "b", "b"])
    0.5
    """
    rates, _ = _rates(y_true, y_pred, sensitive_features, sample_weight, pos_label)
    return float(rates.min() / rates.max()) if rates.max() > 0 else 1.0


def _rates(
    y_true: Any, y_pred: Any, sensitive_features: Any, sample_weight: Any, pos_label: Any
) -> tuple[FloatArray, Groups]:
    """Selection rates, (k,), and the groups."""
    selected = _selected(plain_column(y_pred, "y_pred"), pos_label)
    refuse_other_order(
        y_pred=y_pred, sensitive_features=sensitive_features, sample_weight=sample_weight
    )
    chosen, groups, weight = check_predictions(y_true, selected, sensitive_features, sample_weight)
    return groups.means(chosen, weight), groups


def _selected(labels: NDArray[Any], pos_label: Any) -> FloatArray:
    """1.0 for the positive label and 0.0 for the other: (n,)."""
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or not labels.size:
        raise ValueError(f"y_pred has shape {labels.shape}. Pass one label for each row.")
    try:
        found = list(dict.fromkeys(labels.tolist()))
    except TypeError as error:
        raise ValueError(
            f"y_pred contains {labels[0]!r}, which is not a label. Pass one label for each row."
        ) from error
    missing = [value for value in found if is_missing(value)]
    if missing:
        raise ValueError(
            f"y_pred has missing labels ({missing[0]!r}). Leave these rows out, or fill the labels."
        )
    if len(found) > 2:
        examples = ", ".join(repr(value) for value in found[:3])
        raise ValueError(
            f"y_pred has {len(found)} different values ({examples}, ...), but selection rates need "
            f"two labels. {_THRESHOLD}"
        )
    if any(isinstance(value, float) and not value.is_integer() for value in found):
        raise ValueError(
            f"y_pred contains {found[0]!r}, which is a predicted number and not a label. "
            f"{_THRESHOLD}"
        )
    if pos_label is None:
        if not any(set(found) <= pair for pair in ({0, 1}, {-1, 1})):
            raise ValueError(
                f"y_pred has the labels {', '.join(map(repr, found))}. Pass pos_label, the label "
                "that means being selected."
            )
        pos_label = 1
    elif np.ndim(pos_label) or (pos_label not in found and len(found) == 2):
        raise ValueError(
            f"pos_label={pos_label!r} is not among the labels {', '.join(map(repr, found))}. Pass "
            "one of them."
        )
    return np.array([value == pos_label for value in labels.tolist()], dtype=float)
