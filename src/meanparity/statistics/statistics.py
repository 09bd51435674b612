"""Sums over rows that merge: everything that a fit to linear combinations of features needs.

See `meanparity.solvers.sums` for the sums themselves. Here they carry the columns that they are
about and the values of their cells, so that sums from different machines can be added.
"""

from __future__ import annotations

import math
import os
from collections.abc import Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from meanparity._typing import FloatArray
from meanparity.data.features import FeatureLayout
from meanparity.data.groups import Cells
from meanparity.data.rows import Rows, Schema
from meanparity.exceptions import warn
from meanparity.files import FORMAT, check_format, pack, read_packed, write_atomically
from meanparity.solvers.features import FeatureMap, LinearFeatures
from meanparity.solvers.sums import CellSums, LossSums, sum_cells
from meanparity.state import Reader, Writer, stored
from meanparity.statistics.checks import check_statistics

_WHAT = "file of statistics"
_LEAST_LEFT = 1e-7  # share of a sum of squares below which the rest has lost half of its digits
_CELLS = ("counts", "mass", "features", "targets", "squares")


@stored("KeyedCells", any_number=("values",))
@dataclass(frozen=True, eq=False, repr=False)
class KeyedCells:
    """Sums in cells, with the values that the cells have.

    Parameters
    ----------
    values : tuple of k tuples
        The sensitive and then the control values of each cell; None if missing.
    sums : CellSums
        The sums, each over at least one row.
    """

    values: tuple[tuple[Hashable, ...], ...]
    sums: CellSums

    @classmethod
    def from_rows(
        cls, features: FeatureMap, X: Any, rows: Rows, weights: FloatArray | None
    ) -> KeyedCells:
        """Sums over rows whose y is not known, such as those of a pool."""
        cells = Cells(rows.codes, len(rows.cells), weights)
        return cls(cell_values(rows), sum_cells(features, X, cells))

    def add(self, other: KeyedCells, sign: int = 1) -> KeyedCells:
        """The sums over the rows of both; with sign −1, without the rows of the other."""
        values = tuple(dict.fromkeys(self.values + other.values))
        at = {value: position for position, value in enumerate(values)}
        mine, theirs = ([at[value] for value in part.values] for part in (self, other))
        totals = {}
        for name in _CELLS:
            first, second = getattr(self.sums, name), getattr(other.sums, name)
            total = np.zeros((len(values), *first.shape[1:]), first.dtype)
            total[mine] += first
            total[theirs] += sign * second
            totals[name] = total
        if (totals["counts"] < 0).any():
            cell = values[int(totals["counts"].argmin())]
            raise ValueError(
                f"More rows with the values {cell!r} would be removed than there are. Subtract "
                "only statistics that were added."
            )
        keep = np.flatnonzero(totals["counts"])
        sums = CellSums(*(totals[name][keep] for name in _CELLS))
        return KeyedCells(tuple(values[i] for i in keep), sums)

    def __add__(self, other: KeyedCells) -> KeyedCells:
        return self.add(other)

    def as_rows(self, schema: Schema, y_origin: FloatArray) -> Rows:
        """One row for each cell, with its weight and its mean target."""
        means = self.sums.mean(self.sums.targets) + y_origin
        return Rows.from_cells(schema, self.values, self.sums.mass, self.sums.counts, means)


def cell_values(rows: Rows) -> tuple[tuple[Hashable, ...], ...]:
    """The sensitive and then the control values of each cell."""
    return tuple(rows.cell_values(cell) for cell in range(len(rows.cells)))


@stored("Statistics")
@dataclass(frozen=True, eq=False, repr=False)
class Statistics:
    """Everything that a fit needs to know about a set of rows.

    Statistics of the same features can be added (``+``), and those of rows that were added can be
    subtracted (``-``). What they reveal: for each combination of sensitive and control values the
    number of rows, the sum of weights and the means of y, of y² and of every feature; for all rows
    together the covariances of all features and of y. A cell with a single row reveals that row.

    Parameters
    ----------
    layout : FeatureLayout
        The columns of X.
    features : FeatureMap
        The features.
    schema : Schema
        How sensitive and control columns are read.
    single_output : bool
        Whether y has one dimension.
    y_origin : (m,) array
        Subtracted from y, to save digits.
    loss : LossSums
        Sums over all rows.
    cells : KeyedCells
        Sums in each cell.
    weight_scope : str
        What the weights counted in, empty if there were none.

    See Also
    --------
    ParityRidge : `fit_statistics` fits to them.

    Examples
    --------
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> model = ParityRidge()
    >>> first = model.statistics(X[:100], y[:100], sensitive_features=s[:100])
    >>> rest = model.statistics(X[100:], y[100:], sensitive_features=s[100:])
    >>> model.fit_statistics(first + rest).statistics_.n_rows
    200
    """

    layout: FeatureLayout
    features: FeatureMap
    schema: Schema
    single_output: bool
    y_origin: FloatArray
    loss: LossSums
    cells: KeyedCells
    weight_scope: str = ""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.loss.n_rows

    def __add__(self, other: Statistics) -> Statistics:
        other = self._like(other)
        return replace(other, loss=self.loss.add(other.loss), cells=self.cells.add(other.cells))

    def __radd__(self, other: Any) -> Statistics:
        """Lets `sum` start with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __sub__(self, other: Statistics) -> Statistics:
        other = self._like(other)
        if other.n_rows >= self.n_rows:
            raise ValueError(
                f"{other.n_rows:,} of {self.n_rows:,} rows would be removed. Leave at least one."
            )
        loss, cells = self.loss.add(other.loss, -1), self.cells.add(other.cells, -1)
        _warn_about_lost_digits(self.loss, loss)
        return replace(self, loss=loss, cells=cells)

    def __repr__(self) -> str:
        cells = len(self.cells.values)
        return f"Statistics({self.n_rows:,} rows in {cells} cells; {self.features})"

    def _like(self, other: Any) -> Statistics:
        """Other statistics with the origins of these."""
        if not isinstance(other, Statistics):
            raise TypeError(
                f"{type(other).__name__} is not a Statistics. Add what statistics() returned."
            )
        if self.layout != other.layout:
            raise ValueError(
                f"These statistics are of {self.layout}, the others of {other.layout}. Pass the "
                "same columns."
            )
        outputs = [(len(part.y_origin), part.single_output) for part in (self, other)]
        if outputs[0] != outputs[1]:
            raise ValueError(
                f"These statistics are of y with {outputs[0][0]} outputs, the others of one with "
                f"{outputs[1][0]}, or of another dimension. Pass the same columns."
            )
        if self.schema != other.schema:
            raise ValueError(
                f"These statistics read columns as {self.schema}, the others as {other.schema}. "
                "Pass the same columns, and name the numbers among them with "
                "MeanParity(continuous=[...])."
            )
        scopes = {part.weight_scope for part in (self, other) if part.weight_scope}
        if len(scopes) > 1:
            raise ValueError(
                f"Weights count in {self.weight_scope!r} here and in {other.weight_scope!r} there. "
                "Pass the same weight_scope."
            )
        change = self.features.change_from(other.features)
        loss, cells = other.loss, other.cells
        if change.order is not None:
            order = change.order
            loss = replace(loss, features=loss.features[order], cross=loss.cross[order])
            sums = replace(cells.sums, features=cells.sums.features[:, order])
            cells = replace(cells, sums=sums)
        if change.turn is not None:
            gram, whitened = change.turn @ loss.gram @ change.turn.T, change.turn @ loss.whitened
            loss = replace(loss, gram=gram, whitened=whitened)
        targets = self.y_origin - other.y_origin
        if change.shift.any() or targets.any():
            loss = loss.shift(change.shift, targets)
            cells = replace(cells, sums=cells.sums.shift(change.shift, targets))
        return replace(self, loss=loss, cells=cells, weight_scope="".join(scopes))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file of arrays and JSON, which cannot run code.

        Parameters
        ----------
        path : str or path
            Where to write; an existing file is replaced atomically.
        """
        writer = Writer()
        header = {"what": _WHAT, "format": FORMAT, "statistics": writer.write(self)}
        write_atomically(Path(path), pack(header, writer.arrays))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Statistics:
        """Read a file that `save` wrote.

        A file that was changed since is refused, and so is one whose numbers are not sums over
        rows: of wrong shapes, not finite, or in contradiction to each other.

        Parameters
        ----------
        path : str or path
            The file.
        """
        header, arrays = read_packed(path, _WHAT)
        check_format(header, str(path), _WHAT)
        try:
            found = Reader(arrays).read(header["statistics"])
        except Exception as error:
            raise ValueError(f"{path} is not a {_WHAT} of meanparity: {error!r}.") from error
        if not isinstance(found, Statistics) or not isinstance(found.cells, KeyedCells):
            raise ValueError(f"{path} is not a {_WHAT} of meanparity.")
        try:
            check_statistics(found)
        except Exception as error:
            raise ValueError(f"{path} is not a {_WHAT} of meanparity: {error}.") from error
        return found


def _warn_about_lost_digits(before: LossSums, after: LossSums) -> None:
    """Warn if the sums that are left are small beside those that were subtracted."""
    for what, squares in (
        ("a feature", (before.gram.diagonal(), after.gram.diagonal())),
        ("y", (before.squares, after.squares)),
    ):
        first, rest = squares
        whole = (first == np.rint(first)) & (first < 2.0**53)  # as of indicators, without rounding
        lost = (np.abs(rest) < _LEAST_LEFT * first) & ~(whole & (rest == 0))
        if lost.any():
            worst = int(np.argmin(np.where(lost, np.abs(rest) / np.maximum(first, 1e-300), np.inf)))
            digits = max(15 + math.log10(max(float(abs(rest[worst]) / first[worst]), 1e-15)), 0.0)
            warn(
                f"The sum of squares of {what} falls from {first[worst]:.3g} to "
                f"{rest[worst]:.3g}, because the rows that were subtracted are much larger than "
                f"the others. About {digits:.0f} digits of what is left are right. Collect the "
                "statistics of the other rows again."
            )


def uncentred(statistics: Statistics) -> Statistics:
    """The same sums about an origin of zero, for a fit without an intercept."""
    features, none = statistics.features, np.zeros(len(statistics.y_origin))
    if not isinstance(features, LinearFeatures) or not features.origin.any():
        return statistics
    return replace(
        statistics,
        features=LinearFeatures(np.zeros(features.width)),
        loss=statistics.loss.shift(-features.origin, none),
        cells=replace(statistics.cells, sums=statistics.cells.sums.shift(-features.origin, none)),
    )
