"""Gaps as scores, for scikit-learn's searches and cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
import sklearn
from sklearn.metrics import make_scorer

from meanparity.metrics import gaps, labels
from meanparity.sources import Table

METRICS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        gaps.max_mean_gap,
        gaps.mean_parity_gap,
        gaps.wasserstein_gap,
        gaps.covariance_norm,
        labels.selection_rate_gap,
        labels.selection_rate_ratio,
    )
}


def parity_scorer(
    metric: str | Callable[..., Any] = "max_mean_gap",
    *,
    sensitive_columns: Any = None,
    greater_is_better: bool | None = None,
    response_method: str = "predict",
    **parameters: Any,
) -> Callable[..., float]:
    """A scorer for `GridSearchCV`, `cross_validate` and the like: minus the gap.

    Parameters
    ----------
    metric : str or callable, default="max_mean_gap"
        One of `meanparity.metrics` that gives a number, by its name, or a function
        ``metric(y_true, y_pred, *, sensitive_features, ...)``, such as Fairlearn's.
    sensitive_columns : int, str or list of them, optional
        Columns of X that say who is in which group. Without, the groups travel as metadata:
        the scorer asks for ``sensitive_features`` (and ``control_features``, if the metric knows
        them), which needs ``sklearn.set_config(enable_metadata_routing=True)``. To route
        weights as well, ``scorer.set_score_request(sensitive_features=True, sample_weight=True)``.
    greater_is_better : bool, optional
        By default a gap is better small, and `selection_rate_ratio` large.
    response_method : str, default="predict"
        What is compared: "predict", "predict_proba" or "decision_function".
    **parameters
        Go to the metric.

    Returns
    -------
    scorer
        Called with an estimator, X and y; greater is better, so gaps come back negative.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> X, y = [[0.0, 1.0], [0.0, 2.0], [1.0, 3.0], [1.0, 4.0]], [1.0, 2.0, 3.0, 4.0]
    >>> scorer = parity_scorer("mean_parity_gap", sensitive_columns=0)
    >>> round(scorer(Ridge(alpha=1e-9).fit(X, y), X, y), 6)
    -2.0
    """
    if isinstance(metric, str):
        if metric not in METRICS:
            raise ValueError(
                f"metric={metric!r} is not known. Pass one of {', '.join(METRICS)}, or a function."
            )
        metric = METRICS[metric]
    if not callable(metric):
        raise TypeError(f"metric={metric!r} is not a function. Pass one, or a name.")
    if greater_is_better is None:
        greater_is_better = metric is labels.selection_rate_ratio
    scorer = make_scorer(
        GroupMetric(metric),
        greater_is_better=greater_is_better,
        response_method=response_method,
        **parameters,
    )
    asked = {"sensitive_features": True}
    if _takes_control(metric):
        asked["control_features"] = True
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = scorer.set_score_request(**asked)
    return scorer if sensitive_columns is None else ColumnScorer(scorer, sensitive_columns)


def _takes_control(metric: Callable[..., Any]) -> bool:
    try:
        return "control_features" in signature(metric).parameters
    except ValueError:  # a function that does not tell
        return False


@dataclass(frozen=True)
class GroupMetric:
    """A metric that says what is missing.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_pred, *, sensitive_features, ...)``.
    """

    metric: Callable[..., Any]

    @property
    def __name__(self) -> str:
        return str(getattr(self.metric, "__name__", self.metric))

    def __call__(
        self, y_true: Any, y_pred: Any, *, sensitive_features: Any = None, **more: Any
    ) -> float:
        """The metric, one number."""
        if sensitive_features is None:
            raise ValueError(
                "The scorer was not told who is in which group. Turn routing on, "
                "sklearn.set_config(enable_metadata_routing=True), and pass sensitive_features to "
                "fit, or as params={'sensitive_features': ...}; or pass parity_scorer("
                "sensitive_columns=...)."
            )
        value = self.metric(y_true, y_pred, sensitive_features=sensitive_features, **more)
        if np.ndim(value) > 0:
            raise ValueError(
                f"{self.__name__} gives {np.size(value)} numbers for predictions of shape "
                f"{np.shape(y_pred)}. Score each output apart."
            )
        return float(value)


@dataclass(frozen=True)
class ColumnScorer:
    """A scorer that finds the groups in columns of X.

    Parameters
    ----------
    scorer : scorer
        Takes ``sensitive_features``.
    sensitive_columns : int, str or list of them
        Positions or names of the columns.
    """

    scorer: Any
    sensitive_columns: Any

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """The score of a fitted estimator on these rows."""
        groups = Table.like(X, self.sensitive_columns, False).sensitive_values(X)
        with sklearn.config_context(enable_metadata_routing=True):
            return float(self.scorer(estimator, X, y, sensitive_features=groups))
