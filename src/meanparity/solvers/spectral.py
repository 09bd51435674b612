"""Kernel solution by an eigendecomposition: for λ = 0, singular and indefinite Gram matrices."""

from __future__ import annotations

from meanparity._typing import FloatArray
from meanparity.constraints import Functionals
from meanparity.linalg import SymmetricMatrix
from meanparity.solvers.dual import solve_dual
from meanparity.solvers.solution import Pieces


def solve_spectral(
    K: SymmetricMatrix,
    Y: FloatArray,
    functionals: Functionals,
    alpha: float,
    row_means: FloatArray | None,
) -> Pieces:
    """The solution of least norm, with the pseudo-inverse of ``K + λI``; see `solve_dual`."""
    factor = K.eigen(alpha)
    return solve_dual(K, factor, Y, functionals, alpha, row_means)
