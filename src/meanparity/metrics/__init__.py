"""Gaps of predictions between groups, as the paper defines them, of labels, and scorers.

Every metric has the signature of scikit-learn's and Fairlearn's metrics, ``metric(y_true, y_pred,
*, sensitive_features, sample_weight=None)``. Parity is a property of the predictions alone, so
`y_true` is not looked at and may be None.
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
