"""The paper's formulas, naive and readable: the truth that fast code is compared with."""

from tests.oracles.constrained import conditions, kkt, quadratic_conditions
from tests.oracles.metrics import dpd, norm_of_cov, smd
from tests.oracles.paper import (
    kkt_kernel,
    kkt_linear,
    paper_kernel,
    projection,
    sensitive_contrasts,
)

__all__ = [
    "conditions",
    "dpd",
    "kkt",
    "kkt_kernel",
    "kkt_linear",
    "norm_of_cov",
    "paper_kernel",
    "projection",
    "quadratic_conditions",
    "sensitive_contrasts",
    "smd",
]
