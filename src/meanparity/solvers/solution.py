"""What a solver returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from meanparity._typing import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """One function of the space, for each of m outputs.

    Parameters
    ----------
    coef : (p, m) array
        Coefficients: one for each training row (kernel expansion) or for each feature.
    intercept : (m,) array
        The constant.
    fitted : (n, m) array
        Values on the training rows, computed as real predictions.
    objective : (m,) array
        ``‖y − g‖² + λ‖g‖²`` (the intercept is not penalised).
    """

    coef: FloatArray
    intercept: FloatArray
    fitted: FloatArray
    objective: FloatArray


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
        Largest gap that the constrained solution leaves on the training rows.
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
    multipliers : (q, m) array
        Lagrange multipliers ν: moving the targets by dt changes the objective by ``−2 νᵀdt``.
    info : Info
        How it was computed.
    """

    fair: Fit
    free: Fit
    multipliers: FloatArray
    info: Info


Pieces = tuple[Fit, Fit, FloatArray]


def solve_each(
    alpha: FloatArray, Y: FloatArray, solve: Callable[[float, FloatArray], Pieces]
) -> Pieces:
    """Solve once for each distinct penalty and put the outputs back in order.

    Parameters
    ----------
    alpha : (m,) array
        Penalty of each output.
    Y : (n, m) array
        Targets.
    solve : callable
        ``solve(penalty, Y)`` for outputs that share a penalty.
    """
    penalties, which = np.unique(alpha, return_inverse=True)
    if len(penalties) == 1:
        return solve(float(penalties[0]), Y)
    parts = [solve(float(penalty), Y[:, which == i]) for i, penalty in enumerate(penalties)]
    order = np.argsort(np.concatenate([np.flatnonzero(which == i) for i in range(len(penalties))]))

    def join(arrays: list[FloatArray]) -> FloatArray:
        return np.concatenate(arrays, axis=-1)[..., order]

    def join_fits(fits: list[Fit]) -> Fit:
        return Fit(
            join([fit.coef for fit in fits]),
            join([fit.intercept for fit in fits]),
            join([fit.fitted for fit in fits]),
            join([fit.objective for fit in fits]),
        )

    fair, free, multipliers = zip(*parts, strict=True)
    return join_fits(list(fair)), join_fits(list(free)), join(list(multipliers))
