"""Estimators with scikit-learn's interface."""

from meanparity.estimators.kernel_ridge import ParityKernelRidge
from meanparity.estimators.ridge import ParityRidge

__all__ = ["ParityKernelRidge", "ParityRidge"]
