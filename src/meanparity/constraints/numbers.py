"""Functions of a sensitive number with which the predictions have zero covariance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from meanparity._typing import FloatArray
from meanparity.data.columns import is_position
from meanparity.data.rows import Rows


@dataclass(frozen=True)
class NumberFunctions:
    """Powers of numbers up to a degree, or splines of that degree.

    Parameters
    ----------
    degree : int
        The highest power.
    n_knots : int or None
        Number of knots of splines; None for powers.
    knots : tuple of (str, tuple of float)
        Their positions, for each column; settled on the training rows.
    """

    degree: int = 1
    n_knots: int | None = None
    knots: tuple[tuple[str, tuple[float, ...]], ...] = ()

    def __post_init__(self) -> None:
        for name, value, least in (("degree", self.degree, 1), ("n_knots", self.n_knots, 2)):
            if name == "n_knots" and value is None:
                continue
            if not is_position(value) or value is None or value < least:
                raise ValueError(f"{name}={value!r} is not an integer of {least} or more.")

    def settle(self, rows: Rows) -> NumberFunctions:
        """The same functions with knots at quantiles of these rows, unless knots are settled."""
        if self.n_knots is None or self.knots:
            return self
        knots = []
        for name in rows.schema.continuous:
            values = rows.column(name)
            weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
            counted = ~np.isnan(values) & (weights > 0)
            at = _quantiles(values[counted], weights[counted], int(self.n_knots))
            knots.append((name, tuple(np.unique(at).tolist())))
        return replace(self, knots=tuple(knots))

    def evaluate(self, name: str, values: FloatArray) -> tuple[FloatArray, tuple[str, ...]]:
        """The functions at n numbers, (n, p), and their names."""
        if self.n_knots is None:
            scaled = values / np.abs(values).max()
            low, high = scaled.min(), scaled.max()
            powers = orthogonal_powers((2 * scaled - low - high) / (high - low), int(self.degree))
            found = powers[:, 1:]
            return found, tuple(f"{name}^{j + 1}" if j else name for j in range(found.shape[1]))
        from sklearn.preprocessing import SplineTransformer

        knots = np.array(dict(self.knots)[name])
        if len(knots) < 2:
            return values[:, None], (name,)
        splines = SplineTransformer(
            degree=int(self.degree),
            knots=knots[:, None],
            include_bias=False,
            extrapolation="linear",
        )
        found = splines.fit(knots[:, None]).transform(values[:, None])
        return found, tuple(f"{name}, spline {j}" for j in range(found.shape[1]))


def orthogonal_powers(values: FloatArray, degree: int) -> FloatArray:
    """An orthonormal basis of the polynomials up to a degree on n values: (n, ≤ degree + 1).

    Each power is the last one times the values, made orthogonal to all before it: high powers
    themselves would be numerically dependent.
    """
    columns = [np.full(len(values), 1 / np.sqrt(len(values)))]
    while len(columns) <= min(degree, len(np.unique(values)) - 1):
        power = values * columns[-1]
        for _ in range(2):
            for column in columns:
                power = power - (column @ power) * column
        columns.append(power / np.linalg.norm(power))
    return np.stack(columns, axis=1)


def _quantiles(values: FloatArray, weights: FloatArray, count: int) -> FloatArray:
    """Values at `count` equally spaced shares of the weight, from the smallest to the largest."""
    order = np.argsort(values)
    share = np.cumsum(weights[order])
    at = np.searchsorted(share / share[-1], np.linspace(0, 1, count) - 1e-12)
    return values[order][np.minimum(at, len(values) - 1)]
