"""Metrics of the differences between groups, and scorers made from them.

Every metric has the signature of the metrics in scikit-learn and Fairlearn, ``metric(y_true,
y_pred, *, sensitive_features, sample_weight=None)``. Parity depends on the predictions alone, so
its metrics ignore `y_true`, which may be None.
"""

from meanparity.metrics.by_group import ByGroup
from meanparity.metrics.gaps import (
    covariance_norm,
    group_means,
    max_mean_gap,
    mean_parity_gap,
    wasserstein_gap,
)
from meanparity.metrics.labels import (
    selection_rate_difference,
    selection_rate_ratio,
    selection_rates,
)
from meanparity.metrics.outcomes import (
    GroupCalibration,
    calibration_by_group,
    max_error_gap,
    prediction_errors,
    separation_information,
    sufficiency_information,
)
from meanparity.metrics.scorers import parity_scorer

__all__ = [
    "ByGroup",
    "GroupCalibration",
    "calibration_by_group",
    "covariance_norm",
    "group_means",
    "max_error_gap",
    "max_mean_gap",
    "mean_parity_gap",
    "parity_scorer",
    "prediction_errors",
    "selection_rate_difference",
    "selection_rate_ratio",
    "selection_rates",
    "separation_information",
    "sufficiency_information",
    "wasserstein_gap",
]
