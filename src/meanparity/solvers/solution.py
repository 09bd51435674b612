"""What a solver returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from meanparity._typing import FloatArray
from meanparity.solvers.task import Task


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """One function of the space, for each of m outputs.

    Parameters
    ----------
    coef : (p, m) array
        Coefficients: one for each training row, and each row of the pool (kernel expansion), or
        one for each feature.
    intercept : (m,) array
        The constant.
    fitted : (n, m) array
        Values on the training rows, computed as real predictions.
    objective : (m,) array
        ``Σ u (y − g)² + λ‖g‖²`` (the intercept is not penalised).
    pool : (p, m) array
        Values on the pool, computed as real predictions.
    """

    coef: FloatArray
    intercept: FloatArray
    fitted: FloatArray
    objective: FloatArray
    pool: FloatArray


@dataclass(frozen=True)
class Info:
    """Which solver ran, why, and what it took.

    Parameters
    ----------
    solver : str
        Its name.
    reason : str
        Why it was chosen.
    seconds : float
        Wall-clock time.
    matrix_bytes : int
        Size of the square matrix that it factored.
    residual : float
        Largest gap that the constrained solution leaves on the rows where it shall leave none.
    """

    solver: str
    reason: str
    seconds: float
    matrix_bytes: int
    residual: float


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """The constrained and the free minimiser, from one factorisation.

    Parameters
    ----------
    fair : Fit
        Minimiser among the functions on which every functional meets its target.
    free : Fit
        Minimiser without a constraint: ridge or kernel ridge regression.
    multipliers : (q, m) array or None
        Lagrange multipliers ν: moving the targets by dt changes the objective by ``−2 νᵀdt``. None
        where they are not computed.
    info : Info
        How it was computed.
    norms : (2, 2) array or None
        Inner products of both functions, where they are computed.
    """

    fair: Fit
    free: Fit
    multipliers: FloatArray | None
    info: Info
    norms: FloatArray | None = None


Pieces = tuple[Fit, Fit, FloatArray]


def solve_each(task: Task, solve: Callable[[Task, float], Pieces]) -> Pieces:
    """Solve once for each distinct penalty and put the outputs back in order.

    Parameters
    ----------
    task : Task
        What to solve.
    solve : callable
        ``solve(task, penalty)`` for outputs that share a penalty.
    """
    penalties, which = np.unique(task.alpha, return_inverse=True)
    if len(penalties) == 1:
        return solve(task, float(penalties[0]))
    parts = [solve(task.outputs(which == i), float(penalty)) for i, penalty in enumerate(penalties)]
    order = np.argsort(np.concatenate([np.flatnonzero(which == i) for i in range(len(penalties))]))

    def join(arrays: list[FloatArray]) -> FloatArray:
        return np.concatenate(arrays, axis=-1)[..., order]

    def join_fits(fits: list[Fit]) -> Fit:
        names = [field.name for field in fields(Fit)]
        return Fit(**{name: join([getattr(fit, name) for fit in fits]) for name in names})

    fair, free, multipliers = zip(*parts, strict=True)
    return join_fits(list(fair)), join_fits(list(free)), join(list(multipliers))
