"""Differences between the quantiles of each group and the quantiles of all rows."""

from __future__ import annotations

import numpy as np

from meanparity._typing import FloatArray
from meanparity.data.groups import Groups

_LEVELS = np.arange(5, 96) / 100


def quantile_gap(
    values: FloatArray, groups: Groups, weight: FloatArray | None
) -> tuple[float, float]:
    """Largest difference between a quantile of a group and that of all rows, and its level.

    The levels are 0.05, 0.06, ..., 0.95. A quantile is the smallest value with at least that share
    of the weight at or below it.

    Examples
    --------
    >>> groups = Groups.from_columns(["a", "a", "b", "b"])
    >>> quantile_gap(np.array([0.0, 1.0, 0.0, 5.0]), groups, None)
    (4.0, 0.76)
    """
    weight = np.ones(len(values)) if weight is None else weight
    order = np.argsort(values)
    ordered, codes, mass = values[order], groups.codes[order], weight[order]
    overall = _quantiles(ordered, mass)
    largest, level = 0.0, 0.5
    for group in range(groups.n_groups):
        inside = codes == group
        distance = np.abs(_quantiles(ordered[inside], mass[inside]) - overall)
        if distance.max() > largest:
            largest, level = float(distance.max()), float(_LEVELS[distance.argmax()])
    return largest, level


def _quantiles(ordered: FloatArray, mass: FloatArray) -> FloatArray:
    cumulative = np.cumsum(mass)
    at = np.searchsorted(cumulative, _LEVELS * cumulative[-1] * (1 - 1e-12))
    quantiles: FloatArray = ordered[np.minimum(at, len(ordered) - 1)]
    return quantiles
