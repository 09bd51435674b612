"""Exact kernel solution by one Cholesky factorisation of ``K + λI``: n³/3 operations."""

from __future__ import annotations

from meanparity.linalg import SymmetricMatrix
from meanparity.solvers.dual import Dual
from meanparity.solvers.solution import Pieces
from meanparity.solvers.task import Task


def solve_dense(dual: Dual, task: Task, alpha: float) -> Pieces:
    """Solve for outputs that share a penalty; see `Dual.solve`.

    Raises
    ------
    NotPositiveDefiniteError
        When the matrix has no Cholesky factorisation in floating point.
    """
    assert isinstance(dual.K, SymmetricMatrix)
    return dual.solve(task, alpha, dual.K.cholesky(alpha), None)
