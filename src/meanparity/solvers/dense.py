"""Exact kernel solution by one Cholesky factorisation of ``K + λI``: n³/3 operations."""

from __future__ import annotations

from meanparity._typing import FloatArray
from meanparity.constraints import Functionals
from meanparity.linalg import SymmetricMatrix
from meanparity.solvers.dual import solve_dual
from meanparity.solvers.solution import Pieces


def solve_dense(
    K: SymmetricMatrix,
    Y: FloatArray,
    functionals: Functionals,
    alpha: float,
    row_means: FloatArray | None,
) -> Pieces:
    """Minimise ``‖y − g‖² + λ‖g‖²`` subject to the functionals; see `solve_dual`.

    Raises
    ------
    NotPositiveDefiniteError
        When ``K + λI`` has no Cholesky factorisation in floating point.
    """
    factor = K.cholesky(alpha)
    return solve_dual(K, factor, Y, functionals, alpha, row_means)
