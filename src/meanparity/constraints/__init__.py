"""What must be equal: rows to linear functionals of the predictions.

A notion of parity says that q linear functionals of the predictor take given values,
``Cᵀ g = t``, on stated rows. The columns of C sum to zero, so a constant never violates anything.
Notions are frozen specifications; applied to `Rows` they give `Functionals`.
"""

from meanparity.constraints.base import Constraint, LinearParity
from meanparity.constraints.contrasts import mean_contrasts
from meanparity.constraints.covariance import CovarianceParity, cell_numbers, numeric_labels
from meanparity.constraints.functionals import Functionals
from meanparity.constraints.mean import MeanParity, ResidualParity
from meanparity.constraints.resolve import resolve_constraint

__all__ = [
    "Constraint",
    "CovarianceParity",
    "Functionals",
    "LinearParity",
    "MeanParity",
    "ResidualParity",
    "cell_numbers",
    "mean_contrasts",
    "numeric_labels",
    "resolve_constraint",
]
