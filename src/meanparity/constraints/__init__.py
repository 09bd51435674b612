"""Constraints: which linear functionals of the predictions have to meet which targets.

A notion of parity says that q linear functionals of the predictor take given values,
``Cᵀ g = t``, on stated rows. The columns of C sum to zero, so a constant never violates anything.
"""

from meanparity.constraints.base import Constraint
from meanparity.constraints.covariance import CovarianceParity
from meanparity.constraints.functionals import Functionals
from meanparity.constraints.linear import LinearParity
from meanparity.constraints.mean import MeanParity, ResidualParity

__all__ = [
    "Constraint",
    "CovarianceParity",
    "Functionals",
    "LinearParity",
    "MeanParity",
    "ResidualParity",
]
