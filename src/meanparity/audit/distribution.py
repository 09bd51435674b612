"""How far the distributions of groups are from that of everybody."""

from __future__ import annotations

import numpy as np

from meanparity._typing import FloatArray
from meanparity.groups import Groups

LEVELS = np.arange(5, 96) / 100


def quantile_gap(
    values: FloatArray, groups: Groups, weight: FloatArray | None
) -> tuple[float, float]:
    """The largest difference between a quantile of a group and of all, and its level.

    Quantiles at 5 %, ..., 95 %: the smallest value with at least that share of the weight at or
    below it.

    Examples
    --------
    >>> groups = Groups.from_columns(["a", "a", "b", "b"])
    >>> quantile_gap(np.array([0.0, 1.0, 0.0, 5.0]), groups, None)
    (4.0, 0.76)
    """
    weight = np.ones(len(values)) if weight is None else weight
    order = np.argsort(values)
    ordered, codes, mass = values[order], groups.codes[order], weight[order]
    everybody = _quantiles(ordered, mass)
    largest, level = 0.0, 0.5
    for group in range(groups.n_groups):
        inside = codes == group
        apart = np.abs(_quantiles(ordered[inside], mass[inside]) - everybody)
        if apart.max() > largest:
            largest, level = float(apart.max()), float(LEVELS[apart.argmax()])
    return largest, level


def _quantiles(ordered: FloatArray, mass: FloatArray) -> FloatArray:
    below = np.cumsum(mass)
    at = np.searchsorted(below, LEVELS * below[-1] * (1 - 1e-12))
    quantiles: FloatArray = ordered[np.minimum(at, len(ordered) - 1)]
    return quantiles
