"""Kernel solution by an eigendecomposition: for λ = 0, singular and indefinite Gram matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from meanparity.exceptions import warn
from meanparity.linalg import Eigen
from meanparity.solvers.dual import Dual
from meanparity.solvers.solution import Pieces
from meanparity.solvers.task import Task

_UNPENALISED_CUT = 1e-6


def solve_spectral(dual: Dual, eigen: Eigen, task: Task, alpha: float) -> Pieces:
    """The solution of least norm, with the pseudo-inverse of ``K + λI``; see `Dual.solve`.

    `eigen` decomposes the matrix of `dual`.
    """
    factor = pseudo_inverse(eigen, alpha)
    whole = None if dual.whole is None else replace(dual.whole.shifted(alpha), cut=factor.cut)
    return dual.solve(task, alpha, factor, whole)


def pseudo_inverse(eigen: Eigen, alpha: float) -> Eigen:
    """The decomposed matrix plus ``λI``, with a cut below which eigenvalues are taken for zero.

    Without a penalty, small eigenvalues are divided by, and every digit that costs is a digit of
    parity: those below `_UNPENALISED_CUT` of the largest count as zero.
    """
    factor = eigen.shifted(alpha)
    low, high = factor.values.min(), np.abs(factor.values).max()
    if low < -1e-8 * high:
        warn(
            f"The kernel matrix is indefinite: K + alpha·I has an eigenvalue of {low:.3g}. What "
            "is constrained holds, but the solution is a stationary point and no minimum, and may "
            "be far off. "
            "Raise alpha, or choose another kernel."
        )
    elif 0 < alpha < factor.cut * high:
        warn(
            f"alpha={alpha:g} is nothing beside kernel values whose largest eigenvalue is "
            f"{high:.3g}: rounding decides the solution. Raise alpha, or scale the features."
        )
    return factor if alpha > 0 else replace(factor, cut=_UNPENALISED_CUT)
