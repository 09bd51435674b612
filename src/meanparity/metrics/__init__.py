"""Metrics of the differences between groups, and scorers made from them.

Every metric has the signature of the metrics in scikit-learn and Fairlearn, ``metric(y_true,
y_pred, *, sensitive_features, sample_weight=None)``. Parity depends on the predictions alone, so
`y_true` is ignored and may be None.
"""

from meanparity.metrics.gaps import (
    covariance_norm,
    group_means,
    max_mean_gap,
    mean_parity_gap,
    wasserstein_gap,
)
from meanparity.metrics.labels import selection_rate_gap, selection_rate_ratio, selection_rates
from meanparity.metrics.scorers import parity_scorer

__all__ = [
    "covariance_norm",
    "group_means",
    "max_mean_gap",
    "mean_parity_gap",
    "parity_scorer",
    "selection_rate_gap",
    "selection_rate_ratio",
    "selection_rates",
    "wasserstein_gap",
]
