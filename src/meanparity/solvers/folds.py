"""Linear fits to all folds but one, for every fold and penalty, without a fit for each of them.

Each fold is reduced once, to a triangle R with ``RᵀR = [X Y]ᵀ[X Y]`` of its centred rows. Triangles
of several folds merge by another orthogonal step, so that no condition number is squared, and the
singular values of a merged triangle give the fits of all penalties.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from meanparity._typing import FloatArray
from meanparity.constraints import Functionals
from meanparity.solvers.primal import CentredRows, RidgePath, directions
from meanparity.solvers.task import Task


@dataclass(frozen=True, eq=False)
class FoldSums:
    """What is kept of the rows of a fold.

    Parameters
    ----------
    mass : float
        Sum of the weights.
    mean : (d + m,) array
        Weighted mean of the columns of X and Y; zero without an intercept.
    triangle : (r, d + m) array
        R of the rows less that mean.
    """

    mass: float
    mean: FloatArray
    triangle: FloatArray

    @classmethod
    def of(cls, task: Task) -> Self:
        """Those of the rows of a task, not all of weight zero."""
        rows = CentredRows.of(task)
        mass = float(len(task.Y)) if task.weights is None else float(task.weights.sum())
        triangle = np.hstack(rows.triangle())
        return cls(mass, np.concatenate([rows.x_mean, rows.y_mean]), triangle)

    @classmethod
    def merged(cls, parts: Sequence[FoldSums]) -> Self:
        """Those of the rows of several folds together."""
        masses = np.array([part.mass for part in parts])
        means = np.stack([part.mean for part in parts])
        mean = masses @ means / masses.sum()
        between = np.sqrt(masses)[:, None] * (means - mean)
        stacked = np.vstack([*(part.triangle for part in parts), between])
        return cls(float(masses.sum()), mean, np.asarray(np.linalg.qr(stacked, mode="r")))


def predict_folds(
    task: Task,
    held_out: Sequence[NDArray[Any]],
    functionals: Callable[[NDArray[np.bool_]], Functionals],
    alphas: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Predict every fold by the constrained and the free fit to the others, for every penalty.

    Parameters
    ----------
    task : Task
        All rows, without a pool; its penalty and its functionals are not looked at.
    held_out : sequence of (n_f,) arrays of int
        The rows of each fold; every row is in one.
    functionals : callable
        Gives what has to hold on those rows that are marked, (n,).
    alphas : (p,) array
        Penalties.

    Returns
    -------
    fair, free : (p, n, m) arrays
    """
    n, d = task.X.shape
    shape = (len(alphas), *task.Y.shape)
    fair, free = np.empty(shape), np.empty(shape)
    none = Functionals.none(0)
    inside = [_some(task, rows, none) for rows in held_out]
    heavy = [part.weights is None or bool(part.weights.any()) for part in inside]
    sums = [FoldSums.of(part) if w else None for part, w in zip(inside, heavy, strict=True)]
    for f, rows in enumerate(held_out):
        keep = np.ones(n, bool)
        keep[rows] = False
        others = _some(task, np.flatnonzero(keep), functionals(keep))
        centred = CentredRows.of(others)
        Q, _, target = directions(centred, others)
        merged = FoldSums.merged([part for g, part in enumerate(sums) if g != f and part])
        R, RY = merged.triangle[:, :d], merged.triangle[:, d:]
        path = RidgePath.of(R, RY, Q, target, centred.rounding(R))
        X = inside[f].X
        for values, thetas in ((fair, path.fair(alphas)), (free, path.free(alphas))):
            for position, theta in enumerate(thetas):
                intercept = merged.mean[d:] - merged.mean[:d] @ theta
                values[position, rows] = X @ theta + intercept
    return fair, free


def _some(task: Task, rows: NDArray[Any], functionals: Functionals) -> Task:
    """The task on some of its rows."""
    weights = None if task.weights is None else task.weights[rows]
    return replace(task, X=task.X[rows], Y=task.Y[rows], weights=weights, functionals=functionals)
