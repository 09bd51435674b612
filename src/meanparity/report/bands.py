"""Bands of sensitive numbers: the same on all rows of a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from meanparity._typing import FloatArray, IntArray
from meanparity.audit.checks import format_number
from meanparity.data.rows import Rows
from meanparity.report.slider import Slider

_BANDS = 5


@dataclass(frozen=True, eq=False)
class Bands:
    """The means of what is compared in bands of a sensitive number.

    Parameters
    ----------
    number : str
        The sensitive column.
    names : tuple of k str
        The bands, from the lowest to the highest.
    counts : (k,) array of int
        Numbers of rows.
    before, after : (k,) arrays
        Means without the constraint and with it.
    overall : (float, float)
        Means of all rows whose number is known, without the constraint and with it.
    spread : float
        Standard deviation of what is compared, without the constraint.
    """

    number: str
    names: tuple[str, ...]
    counts: IntArray
    before: FloatArray
    after: FloatArray
    overall: tuple[float, float]
    spread: float

    @property
    def gaps(self) -> tuple[FloatArray, FloatArray]:
        """Means of the bands minus the mean of all, without the constraint and with it."""
        return self.before - self.overall[0], self.after - self.overall[1]


def band_edges(rows: Rows) -> dict[str, FloatArray]:
    """Where the bands of each sensitive number begin and end: at quintiles of these rows."""
    return {
        name: _edges(np.asarray(of_cells)[rows.codes]) for name, of_cells in rows.numbers.items()
    }


def _edges(values: FloatArray) -> FloatArray:
    known = values[np.isfinite(values)]
    if not len(known):
        return np.zeros(1)
    edges = np.unique(np.quantile(known, np.linspace(0, 1, _BANDS + 1), method="higher"))
    if len(edges) == 2:  # most rows have the smallest value, or the largest: a band of its own
        low, high = edges
        above = known[known > low]
        edges = np.array([low, above.min() if 2 * len(above) < len(known) else high, high])
    return _rounded(np.asarray(edges))


def _rounded(edges: FloatArray) -> FloatArray:
    """The inner edges with three digits of the range, so that their names are exact."""
    low, high = edges[0], edges[-1]
    if not high > low:
        return edges
    step = 10.0 ** (np.floor(np.log10(high - low)) - 2)
    inner = np.unique(np.round(edges[1:-1] / step) * step)
    inner = inner[(inner > low) & (inner <= high)]
    return np.r_[low, inner, high] if len(inner) else edges


def band_names(number: str, edges: FloatArray, values: FloatArray) -> tuple[list[str], IntArray]:
    """Names of the bands, and the band of each value, −1 if it is missing.

    A band begins with its lower edge and ends before its upper one. The lowest and the highest band
    are open, for values of other rows.

    Examples
    --------
    >>> band_names("age", np.array([17.0, 30.0, 45.0, 90.0]), np.array([12.0, 30.0, 95.0]))
    (['age below 30', 'age 30 to below 45', 'age 45 or more'], array([0, 1, 2]))
    """
    inner = edges[1:-1]
    known = np.isfinite(values)
    codes = np.where(known, np.searchsorted(inner, values, side="right"), -1)
    if not len(inner):
        return [f"{number} {format_number(edges[0])}"], codes
    at = _written(inner)
    between = [f"{number} {low} to below {high}" for low, high in pairwise(at)]
    return [f"{number} below {at[0]}", *between, f"{number} {at[-1]} or more"], codes


def _written(edges: FloatArray) -> list[str]:
    """Edges with as many digits as tell them apart, four at least."""
    for digits in range(4, 18):
        texts = [np.format_float_positional(e, digits, fractional=False, trim="-") for e in edges]
        exact = [float(text) == edge for text, edge in zip(texts, edges, strict=True)]
        if len(set(texts)) == len(texts) and (all(exact) or digits >= 6):
            return texts
    return [repr(float(edge)) for edge in edges]


def bands_of(
    rows: Rows,
    edges: Mapping[str, FloatArray],
    compared: FloatArray,
    weights: FloatArray | None,
    slider: Slider,
    min_cell: int,
) -> tuple[Bands, ...]:
    """Bands of every sensitive number that has two or more of at least `min_cell` rows."""
    found = []
    ends = compared @ np.stack([slider.weights[-1], slider.model], axis=1)
    heavy = np.ones(len(ends)) if weights is None else weights
    for number, of_cells in rows.numbers.items():
        names, codes = band_names(number, edges[number], np.asarray(of_cells)[rows.codes])
        codes = np.where(heavy > 0, codes, -1)
        counts = np.bincount(codes[codes >= 0], minlength=len(names))
        shown = [i for i, n in enumerate(counts) if n >= max(min_cell, 1)]
        if len(shown) < 2:
            continue
        inside = codes >= 0
        means = np.array(
            [np.average(ends[codes == i], axis=0, weights=heavy[codes == i]) for i in shown]
        )
        overall = np.average(ends[inside], axis=0, weights=heavy[inside])
        spread = float(
            np.sqrt(np.average((ends[inside, 0] - overall[0]) ** 2, weights=heavy[inside]))
        )
        found.append(
            Bands(
                number,
                tuple(names[i] for i in shown),
                counts[shown],
                means[:, 0],
                means[:, 1],
                (float(overall[0]), float(overall[1])),
                spread,
            )
        )
    return tuple(found)
