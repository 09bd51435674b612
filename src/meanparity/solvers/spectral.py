"""Kernel solution by an eigendecomposition: for λ = 0, singular and indefinite Gram matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

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
    """The solution of least norm, with the pseudo-inverse of ``K + λI``; see `solve_dual`.

    Without a penalty, small eigenvalues are divided by, and every digit that costs is a digit of
    parity. Those below ``√eps`` of the largest are therefore taken for zero, and more of them
    while rounding still shows in the gaps.
    """
    factor = K.eigen(alpha)
    if alpha > K.rounding:
        return solve_dual(K, factor, Y, functionals, alpha, row_means)
    cut = float(np.sqrt(np.finfo(float).eps))
    while True:
        pieces = solve_dual(K, replace(factor, cut=cut), Y, functionals, alpha, row_means)
        gap = np.abs(functionals.gaps(pieces[0].fitted)).max()
        if gap <= _ENOUGH * Y.std(axis=0).max() or cut > _LAST_CUT:
            return pieces
        cut *= 10


_ENOUGH = 8e-11  # gap in standard deviations of y
_LAST_CUT = 1e-4
