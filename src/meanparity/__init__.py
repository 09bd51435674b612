"""Regression whose predictions have the same mean in every sensitive group, in closed form."""

from meanparity.constraints import CovarianceParity, MeanParity
from meanparity.estimators import ParityKernelRidge, ParityRidge
from meanparity.exceptions import ParityWarning

__all__ = ["CovarianceParity", "MeanParity", "ParityKernelRidge", "ParityRidge", "ParityWarning"]
__version__ = "0.1.0"
