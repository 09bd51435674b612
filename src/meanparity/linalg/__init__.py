"""Factorisations that survive: blocked, in place, checked against free memory before they start."""

from meanparity.linalg.blas import multiply, multiply_upper
from meanparity.linalg.memory import require_memory
from meanparity.linalg.parallel import ordered_map
from meanparity.linalg.small import dense_features, pivoted_cholesky, symmetric_basis
from meanparity.linalg.symmetric import (
    Eigen,
    SymmetricFactor,
    SymmetricMatrix,
    row_blocks,
)

__all__ = [
    "Eigen",
    "SymmetricFactor",
    "SymmetricMatrix",
    "dense_features",
    "multiply",
    "multiply_upper",
    "ordered_map",
    "pivoted_cholesky",
    "require_memory",
    "row_blocks",
    "symmetric_basis",
]
