"""Estimators with scikit-learn's interface."""

from meanparity.estimators.kernel_classifier import ParityKernelClassifier
from meanparity.estimators.kernel_regressor import ParityKernelRegressor
from meanparity.estimators.kernel_ridge import ParityKernelRidge
from meanparity.estimators.ridge import ParityRidge

__all__ = ["ParityKernelClassifier", "ParityKernelRegressor", "ParityKernelRidge", "ParityRidge"]
