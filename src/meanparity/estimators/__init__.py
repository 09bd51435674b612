"""Estimators with scikit-learn's interface."""

from meanparity.estimators.adjusted import ParityAdjusted
from meanparity.estimators.kernel_classifier import ParityKernelClassifier
from meanparity.estimators.kernel_regressor import ParityKernelRegressor
from meanparity.estimators.kernel_ridge import ParityKernelRidge
from meanparity.estimators.kernel_ridge_cv import ParityKernelRidgeCV
from meanparity.estimators.ridge import ParityRidge
from meanparity.estimators.ridge_cv import ParityRidgeCV
from meanparity.estimators.selection import SmallestLoss

__all__ = [
    "ParityAdjusted",
    "ParityKernelClassifier",
    "ParityKernelRegressor",
    "ParityKernelRidge",
    "ParityKernelRidgeCV",
    "ParityRidge",
    "ParityRidgeCV",
    "SmallestLoss",
]
