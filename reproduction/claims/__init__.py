"""What the paper proves and reports about its experiments, as checks of our numbers."""

from reproduction.claims.demographic import DEMOGRAPHIC, DISTRIBUTIONS
from reproduction.claims.methods import (
    CHOSEN,
    COVARIANCE_KERNEL,
    COVARIANCE_LINEAR,
    KERNEL,
    LINEAR,
    MANY_GROUPS,
    METHODS,
    POOL,
)
from reproduction.claims.proofs import DESCENT, PROOFS
from reproduction.claims.tables import CONSTANT, CONSTANT_LINEAR, WITHOUT_S
from reproduction.claims.tradeoff import TRADEOFF

__all__ = [
    "CHOSEN",
    "CONSTANT",
    "CONSTANT_LINEAR",
    "COVARIANCE_KERNEL",
    "COVARIANCE_LINEAR",
    "DEMOGRAPHIC",
    "DESCENT",
    "DISTRIBUTIONS",
    "KERNEL",
    "LINEAR",
    "MANY_GROUPS",
    "METHODS",
    "POOL",
    "PROOFS",
    "TRADEOFF",
    "WITHOUT_S",
]
