"""Constraints by name."""

from __future__ import annotations

from meanparity.constraints.base import Constraint
from meanparity.constraints.covariance import CovarianceParity
from meanparity.constraints.mean import MeanParity, ResidualParity


def resolve_constraint(constraint: str | Constraint) -> Constraint:
    """A constraint object from a name or an object.

    Examples
    --------
    >>> resolve_constraint("mean_parity")
    MeanParity(degree=1, n_knots=None)
    """
    named: dict[str, Constraint] = {
        "mean_parity": MeanParity(),
        "covariance_parity": CovarianceParity(),
        "residual_parity": ResidualParity(),
    }
    if isinstance(constraint, Constraint):
        return constraint
    if isinstance(constraint, str) and constraint in named:
        return named[constraint]
    raise ValueError(
        f"constraint={constraint!r} is not known. Pass one of {', '.join(map(repr, named))}, "
        "or an object (not a class) such as MeanParity() or CovarianceParity(kernel='rbf')."
    )
