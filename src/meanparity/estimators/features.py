"""Rows in the features of a Nyström approximation, and functions back from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from meanparity._typing import Features, FloatArray
from meanparity.kernels import Kernel
from meanparity.linalg import require_memory, row_blocks
from meanparity.solvers import Fit, Task
from meanparity.solvers.features import FeatureSpace
from meanparity.solvers.nystrom import feature_space
from meanparity.sources import stack

_BLOCK = 2**20  # features computed at a time (8 MiB)


def space_of(model: Any, task: Task, names: tuple[str, ...] | None) -> FeatureSpace | None:
    """The features of a kernel model whose solver is "nystrom"; None if it is another one."""
    if getattr(model, "solver", None) != "nystrom":
        return None
    kernel = model._kernel()
    if isinstance(kernel, Kernel) and kernel.is_linear:
        return None
    settings = model.landmarks, model.n_components, model.random_state
    return feature_space(task.X, kernel, names, *settings)


def in_features(task: Task, space: FeatureSpace) -> Task:
    """The task on whitened features, of which linear functions are those of the space."""
    rows = task.X.shape[0] + (0 if task.points is None else task.points.shape[0])
    require_memory(
        2 * 8 * rows * space.width,
        what=f"{space.width:,} features of {rows:,} rows",
        advice="Pass a smaller n_components.",
    )
    points = None if task.points is None else _whitened(task.points, space)
    return replace(task, X=_whitened(task.X, space), points=points, origin=None)


def from_features(
    fit: Fit, task: Task, inside: Task, space: FeatureSpace, origin: FloatArray
) -> Fit:
    """A fit to features, less an origin or with a coefficient for each row, as one of the space.

    Parameters
    ----------
    fit : Fit
        What was found.
    task, inside : Task
        The task, and the one on features.
    space : FeatureSpace
        The features.
    origin : (r,) array
        What was taken off the features, if anything.
    """
    theta = fit.coef
    if len(theta) != space.width or not inside.suits_columns:
        theta = stack(inside.X, inside.points).T @ fit.coef
    coef, intercept = space.spread(theta), fit.intercept - origin @ theta
    pool = fit.pool
    if task.points is not None:
        pool = space.evaluate(task.points, coef) + intercept
    return replace(
        fit,
        coef=coef,
        intercept=intercept,
        fitted=space.evaluate(task.X, coef) + intercept,
        pool=pool,
    )


def _whitened(X: Features, space: FeatureSpace) -> FloatArray:
    values = np.empty((X.shape[0], space.width))
    for part in row_blocks(X.shape[0], max(_BLOCK // space.width, 256)):
        values[part] = space.raw(X[part])
        space.whiten(values[part])
    return values
