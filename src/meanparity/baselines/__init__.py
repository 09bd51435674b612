"""The other methods in the paper's comparison, with the interface of scikit-learn."""

from meanparity.baselines.barycenter import BarycenterRegressor
from meanparity.baselines.correlation_bound import CorrelationBoundedRegression
from meanparity.baselines.covariance_penalty import CovariancePenaltyRidge
from meanparity.baselines.mean_penalty import MeanPenaltyRidge
from meanparity.baselines.reduction import ReductionRegressor
from meanparity.baselines.registry import METHODS, Method
from meanparity.baselines.unfairness_penalty import UnfairnessPenaltyRidge

__all__ = [
    "METHODS",
    "BarycenterRegressor",
    "CorrelationBoundedRegression",
    "CovariancePenaltyRidge",
    "MeanPenaltyRidge",
    "Method",
    "ReductionRegressor",
    "UnfairnessPenaltyRidge",
]
