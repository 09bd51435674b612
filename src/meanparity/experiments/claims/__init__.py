"""What the paper proves and reports about its experiments, as questions to our numbers."""

from meanparity.experiments.claims.demographic import DEMOGRAPHIC, DISTRIBUTIONS
from meanparity.experiments.claims.methods import (
    CHOSEN,
    COVARIANCE_KERNEL,
    COVARIANCE_LINEAR,
    KERNEL,
    LINEAR,
    MANY_GROUPS,
    METHODS,
    POOL,
)
from meanparity.experiments.claims.proofs import DESCENT, PROOFS
from meanparity.experiments.claims.tables import CONSTANT, CONSTANT_LINEAR, WITHOUT_S
from meanparity.experiments.claims.tradeoff import TRADEOFF

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
