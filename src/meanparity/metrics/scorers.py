"""Scorers for scikit-learn's searches and cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
import sklearn
from sklearn.metrics import make_scorer

from meanparity.data.features import FeatureLayout
from meanparity.metrics import gaps, labels, outcomes

_METRICS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        gaps.max_mean_gap,
        gaps.mean_parity_gap,
        gaps.wasserstein_gap,
        gaps.covariance_norm,
        outcomes.max_error_gap,
        outcomes.separation_information,
        outcomes.sufficiency_information,
        labels.selection_rate_difference,
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
    """Make a scorer for `GridSearchCV`, `cross_validate` and similar functions from a metric.

    Parameters
    ----------
    metric : str or callable, default="max_mean_gap"
        Name of a metric in `meanparity.metrics` that returns one number, or a function
        ``metric(y_true, y_pred, *, sensitive_features, ...)`` such as those of Fairlearn.
    sensitive_columns : int, str or list of them, optional
        Columns of X that contain the groups. Without them, the groups are routed as metadata: the
        scorer requests ``sensitive_features`` (and ``control_features`` if the metric has that
        parameter), which requires ``sklearn.set_config(enable_metadata_routing=True)``. To route
        weights as well, call
        ``scorer.set_score_request(sensitive_features=True, sample_weight=True)``.
    greater_is_better : bool, optional
        Whether a larger value of the metric is better. By default this is True for
        `selection_rate_ratio` and False for all others.
    response_method : str, default="predict"
        Method of the estimator whose output is compared: "predict", "predict_proba" or
        "decision_function".
    **parameters
        Further parameters of the metric.

    Returns
    -------
    scorer
        A function of an estimator, X and y. Greater scores are better, so the sign of a gap is
        reversed.

    See Also
    --------
    meanparity.SmallestLoss : Chooses by a loss among candidates with small gaps.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> X, y = [[0.0, 1.0], [0.0, 2.0], [1.0, 3.0], [1.0, 4.0]], [1.0, 2.0, 3.0, 4.0]
    >>> scorer = parity_scorer("mean_parity_gap", sensitive_columns=0)
    >>> round(scorer(Ridge(alpha=1e-9).fit(X, y), X, y), 6)
    -2.0
    """
    choices = f"Pass one of {', '.join(_METRICS)}, or a function."
    if isinstance(metric, str):
        if metric not in _METRICS:
            raise ValueError(f"metric={metric!r} is not known. {choices}")
        metric = _METRICS[metric]
    if not callable(metric):
        raise TypeError(f"metric={metric!r} is neither a name nor a function. {choices}")
    if greater_is_better is None:
        greater_is_better = metric is labels.selection_rate_ratio
    scorer = make_scorer(
        _GroupMetric(metric),
        greater_is_better=greater_is_better,
        response_method=response_method,
        **parameters,
    )
    requested = {"sensitive_features": True}
    if _takes_control(metric):
        requested["control_features"] = True
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = scorer.set_score_request(**requested)
    return scorer if sensitive_columns is None else _ColumnScorer(scorer, sensitive_columns)


def _takes_control(metric: Callable[..., Any]) -> bool:
    try:
        return "control_features" in signature(metric).parameters
    except ValueError:  # a function without a readable signature
        return False


@dataclass(frozen=True)
class _GroupMetric:
    """A metric that explains how to pass the groups if they are missing.

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
        """Compute the metric, which must be one number."""
        if sensitive_features is None:
            raise ValueError(
                "The scorer received no sensitive_features. Either enable metadata routing with "
                "sklearn.set_config(enable_metadata_routing=True) and pass sensitive_features to "
                "fit, or as params={'sensitive_features': ...}; or name columns of X with "
                "parity_scorer(sensitive_columns=...). Functions of scikit-learn that pass no "
                "metadata, such as permutation_importance, need one of columns, or a function "
                "score(model, X, y) of your own."
            )
        value = self.metric(y_true, y_pred, sensitive_features=sensitive_features, **more)
        if np.ndim(value) > 0:
            raise ValueError(
                f"{self.__name__} returns {np.size(value)} numbers for predictions of shape "
                f"{np.shape(y_pred)}. Score each output separately."
            )
        return float(value)


@dataclass(frozen=True)
class _ColumnScorer:
    """A scorer that reads the groups from columns of X.

    Parameters
    ----------
    scorer : scorer
        A scorer with the parameter ``sensitive_features``.
    sensitive_columns : int, str or list of them
        Positions or names of the columns.
    """

    scorer: Any
    sensitive_columns: Any

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """Score a fitted estimator on the rows of X."""
        groups = FeatureLayout.from_table(X, self.sensitive_columns).sensitive_values(X)
        with sklearn.config_context(enable_metadata_routing=True):
            return float(self.scorer(estimator, X, y, sensitive_features=groups))
