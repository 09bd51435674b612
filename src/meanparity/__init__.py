"""Regression whose predictions have the same mean in every sensitive group, in closed form."""

from meanparity.constraints import CovarianceParity, LinearParity, MeanParity, ResidualParity
from meanparity.data import Pool
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
from meanparity.solvers import (
    LBFGS,
    ConjugateGradient,
    Dense,
    Newton,
    Nystrom,
    Primal,
    Spectral,
)
from meanparity.statistics import Statistics

__all__ = [
    "LBFGS",
    "ConjugateGradient",
    "CovarianceParity",
    "Dense",
    "LinearParity",
    "MeanParity",
    "Newton",
    "Nystrom",
    "ParityAdjusted",
    "ParityKernelClassifier",
    "ParityKernelRegressor",
    "ParityKernelRidge",
    "ParityKernelRidgeCV",
    "ParityRidge",
    "ParityRidgeCV",
    "ParityWarning",
    "Pool",
    "Primal",
    "ResidualParity",
    "SmallestLoss",
    "Spectral",
    "Statistics",
]
__version__ = "0.1.0"
