"""Regression whose predictions have the same mean in every sensitive group, in closed form."""

from meanparity.constraints import CovarianceParity, LinearParity, MeanParity, ResidualParity
from meanparity.estimators import (
    ParityAdjusted,
    ParityKernelClassifier,
    ParityKernelRegressor,
    ParityKernelRidge,
    ParityKernelRidgeCV,
    ParityRidge,
    ParityRidgeCV,
    SmallestLoss,
)
from meanparity.exceptions import ParityWarning
from meanparity.solvers.statistics import Statistics
from meanparity.sources import Pool

__all__ = [
    "CovarianceParity",
    "LinearParity",
    "MeanParity",
    "ParityAdjusted",
    "ParityKernelClassifier",
    "ParityKernelRegressor",
    "ParityKernelRidge",
    "ParityKernelRidgeCV",
    "ParityRidge",
    "ParityRidgeCV",
    "ParityWarning",
    "Pool",
    "ResidualParity",
    "SmallestLoss",
    "Statistics",
]
__version__ = "0.1.0"
