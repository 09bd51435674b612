"""What the paper proves and reports about its experiments, as questions to our numbers."""

from meanparity.experiments.claims.groups import (
    COVARIANCE_KERNEL,
    COVARIANCE_LINEAR,
    KERNEL,
    LINEAR,
    MANY_GROUPS,
)
from meanparity.experiments.claims.proofs import DESCENT, DISTRIBUTIONS, METHODS, POOL, PROOFS
from meanparity.experiments.claims.tables import CONSTANT, CONSTANT_LINEAR, DEMOGRAPHIC, WITHOUT_S
from meanparity.experiments.claims.tradeoff import TRADEOFF

__all__ = [
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
