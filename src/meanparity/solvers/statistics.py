"""Sums over rows that merge: all that a fit to linear combinations of features needs to know.

For features ψ(x), (p,), and whitened ones ``φ = Wᵀψ``, (r,), of rows with weights u in the loss
and w in the constraint, the sums are ``Σu``, ``Σuψ``, ``Σuφφᵀ``, ``Σuψyᵀ``, ``Σuy``, ``Σuy²``, and
in each cell of equal sensitive and control values the number of rows, ``Σw``, ``Σwψ``, ``Σwy`` and
``Σwy²``. They are computed a block of rows at a time, in any order and on any machine, and added
up; the sizes of groups are divided out at the end.
"""

from __future__ import annotations

import os
from collections.abc import Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from meanparity._typing import FloatArray, IntArray
from meanparity.files import pack, unpack, write_atomically
from meanparity.rows import Reading, Rows
from meanparity.solvers.features import FeatureSpace, LinearSpace
from meanparity.solvers.statistics_file import (
    VERSION,
    describe,
    read_reading,
    read_space,
    read_table,
    store_space,
)
from meanparity.sources import Table


@dataclass(frozen=True, eq=False, repr=False)
class CellSums:
    """Sums over the rows of each of k cells of equal sensitive and control values.

    Parameters
    ----------
    values : tuple of k tuples
        The sensitive and then the control values of each cell; None if missing.
    counts : (k,) array of int
        Rows, all positive.
    mass : (k,) array
        Sums of weights.
    features : (k, p) array
        Weighted sums of the features.
    targets, squares : (k, m) arrays
        Weighted sums of y less its origin, and of their squares; m is 0 where y is not known.
    """

    values: tuple[tuple[Hashable, ...], ...]
    counts: IntArray
    mass: FloatArray
    features: FloatArray
    targets: FloatArray
    squares: FloatArray

    def __add__(self, other: CellSums) -> CellSums:
        return self._combined(other, 1)

    def __sub__(self, other: CellSums) -> CellSums:
        return self._combined(other, -1)

    def _combined(self, other: CellSums, sign: int) -> CellSums:
        values = tuple(dict.fromkeys(self.values + other.values))
        at = {value: position for position, value in enumerate(values)}
        mine, theirs = ([at[value] for value in part.values] for part in (self, other))

        def sums(name: str) -> Any:
            first, second = getattr(self, name), getattr(other, name)
            total = np.zeros((len(values), *first.shape[1:]), first.dtype)
            total[mine] += first
            total[theirs] += sign * second
            return total

        names = ("counts", "mass", "features", "targets", "squares")
        found = {name: sums(name) for name in names}
        if (found["counts"] < 0).any():
            cell = values[int(found["counts"].argmin())]
            raise ValueError(
                f"More rows with the values {cell!r} would be taken out than are there. Subtract "
                "only statistics that were added."
            )
        keep = np.flatnonzero(found["counts"])
        return CellSums(tuple(values[i] for i in keep), *(found[name][keep] for name in names))

    def moved(self, features: FloatArray, targets: FloatArray) -> CellSums:
        """The same sums about origins that lie further by these shifts, (p,) and (m,)."""
        mass = self.mass[:, None]
        return replace(
            self,
            features=self.features - mass * features,
            targets=self.targets - mass * targets,
            squares=self.squares - 2 * self.targets * targets + mass * targets**2,
        )

    def rows(self, reading: Reading, y_origin: FloatArray) -> Rows:
        """The cells as rows: one of each, with its weight and its mean target."""
        means = self._mean(self.targets) + y_origin
        return Rows.of_cells(reading, self.values, self.mass, self.counts, means)

    @property
    def means(self) -> FloatArray:
        """Mean features of each cell, zero where there is no weight: (k, p)."""
        return self._mean(self.features)

    def _mean(self, sums: FloatArray) -> FloatArray:
        mass = np.where(self.mass > 0, self.mass, 1.0)
        return np.asarray(sums / mass[:, None])


@dataclass(frozen=True, eq=False, repr=False)
class LossSums:
    """Sums over all rows that the squared error needs.

    Parameters
    ----------
    n_rows : int
        Rows.
    mass : float
        Sum of weights.
    features : (p,) array
        Weighted sum of the features ψ.
    whitened : (r,) array
        Weighted sum of φ, with the rounding of `gram`.
    gram : (r, r) array
        Weighted sum of ``φφᵀ``.
    cross : (p, m) array
        Weighted sum of ``ψyᵀ``.
    targets, squares : (m,) arrays
        Weighted sums of y less its origin, and of its squares.
    """

    n_rows: int
    mass: float
    features: FloatArray
    whitened: FloatArray
    gram: FloatArray
    cross: FloatArray
    targets: FloatArray
    squares: FloatArray

    def __add__(self, other: LossSums) -> LossSums:
        return self._combined(other, 1)

    def __sub__(self, other: LossSums) -> LossSums:
        return self._combined(other, -1)

    def _combined(self, other: LossSums, sign: int) -> LossSums:
        return LossSums(*(mine + sign * vars(other)[name] for name, mine in vars(self).items()))

    def moved(self, features: FloatArray, targets: FloatArray) -> LossSums:
        """The same sums about origins that lie further by these shifts; ψ and φ are the same."""
        s, t, n = self.features, self.targets, self.mass
        cross = self.cross - np.outer(features, t) - np.outer(s, targets)
        return replace(
            self,
            features=s - n * features,
            whitened=self.whitened - n * features,
            gram=self.gram
            - np.outer(s, features)
            - np.outer(features, s)
            + n * np.outer(features, features),
            cross=cross + n * np.outer(features, targets),
            targets=t - n * targets,
            squares=self.squares - 2 * t * targets + n * targets**2,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Statistics:
    """All that a fit needs to know of some rows.

    Statistics of the same features add up (``+``), and those of rows that were added can be taken
    back (``-``). What they reveal: for each combination of sensitive and control values the number
    of rows, the sum of weights and the means of y, of y² and of every feature; of all rows together
    the covariances of all features and of y. A cell of one row is that row.

    Parameters
    ----------
    table : Table
        The columns of X.
    space : FeatureSpace
        The features.
    reading : Reading
        How sensitive and control columns are read.
    single_output : bool
        Whether y has one dimension.
    y_origin : (m,) array
        What was taken off y, to save digits.
    loss : LossSums
        Sums over all rows.
    cells : CellSums
        Sums in each cell.
    weight_scope : str
        What weights counted in, empty if there were none.
    """

    table: Table
    space: FeatureSpace
    reading: Reading
    single_output: bool
    y_origin: FloatArray
    loss: LossSums
    cells: CellSums
    weight_scope: str = ""

    def __add__(self, other: Statistics) -> Statistics:
        other = self._like(other)
        return replace(other, loss=self.loss + other.loss, cells=self.cells + other.cells)

    def __radd__(self, other: Any) -> Statistics:
        """So that `sum` works, which starts with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __sub__(self, other: Statistics) -> Statistics:
        other = self._like(other)
        if other.loss.n_rows >= self.loss.n_rows:
            raise ValueError(
                f"{other.loss.n_rows:,} of {self.loss.n_rows:,} rows would be taken out. Leave at "
                "least one."
            )
        return replace(self, loss=self.loss - other.loss, cells=self.cells - other.cells)

    def __repr__(self) -> str:
        return (
            f"Statistics({self.loss.n_rows:,} rows in {len(self.cells.values)} cells; {self.space})"
        )

    def _like(self, other: Any) -> Statistics:
        """Other statistics about the origins of these."""
        if not isinstance(other, Statistics):
            raise TypeError(f"{type(other).__name__} is no Statistics. Add what statistics() gave.")
        if self.table != other.table:
            raise ValueError(
                f"These statistics are of {self.table}, the others of {other.table}. Pass the same "
                "columns."
            )
        outputs = [(len(part.y_origin), part.single_output) for part in (self, other)]
        if outputs[0] != outputs[1]:
            raise ValueError(
                f"These statistics are of y with {outputs[0][0]} outputs, the others of one with "
                f"{outputs[1][0]}, or of another dimension. Pass the same columns."
            )
        if self.reading != other.reading:
            raise ValueError(
                f"These statistics read columns as {self.reading}, the others as {other.reading}. "
                "Pass the same columns, and name the numbers among them with continuous=[...]."
            )
        scopes = {part.weight_scope for part in (self, other) if part.weight_scope}
        if len(scopes) > 1:
            raise ValueError(
                f"Weights count in {self.weight_scope!r} here and in {other.weight_scope!r} there. "
                "Pass the same weight_scope."
            )
        change = self.space.change_from(other.space)
        loss, cells = other.loss, other.cells
        if change.order is not None:
            order = change.order
            loss = replace(loss, features=loss.features[order], cross=loss.cross[order])
            cells = replace(cells, features=cells.features[:, order])
        if change.turn is not None:
            gram, whitened = change.turn @ loss.gram @ change.turn.T, change.turn @ loss.whitened
            loss = replace(loss, gram=gram, whitened=whitened)
        targets = self.y_origin - other.y_origin
        if change.shift.any() or targets.any():
            loss, cells = loss.moved(change.shift, targets), cells.moved(change.shift, targets)
        return replace(self, loss=loss, cells=cells, weight_scope="".join(scopes))

    def uncentred(self) -> Statistics:
        """The same about zero, for a fit without an intercept."""
        if not isinstance(self.space, LinearSpace) or not self.space.middle.any():
            return self
        none = np.zeros(len(self.y_origin))
        back = -self.space.middle
        return replace(
            self,
            space=LinearSpace(np.zeros(self.space.width)),
            loss=self.loss.moved(back, none),
            cells=self.cells.moved(back, none),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file: arrays and JSON, nothing that runs.

        Parameters
        ----------
        path : str or path
            Where; another file there is replaced at once.
        """
        header, arrays = store_space(self.space)
        header |= describe(self.table, self.reading, self.cells.values)
        header |= {"single_output": self.single_output, "n_rows": self.loss.n_rows}
        header |= {"mass": self.loss.mass, "weight_scope": self.weight_scope}
        arrays |= {"y_origin": self.y_origin}
        for part, names in (("loss", _LOSS), ("cells", _CELLS)):
            arrays |= {f"{part}_{name}": getattr(getattr(self, part), name) for name in names}
        write_atomically(Path(path), pack(header, arrays))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Statistics:
        """Read what `save` wrote; a file that was changed is refused.

        Parameters
        ----------
        path : str or path
            The file.
        """
        header, arrays = unpack(Path(path).read_bytes(), str(path))
        if header.get("version") != VERSION:
            raise ValueError(
                f"{path} is of version {header.get('version')!r}, and this is version {VERSION}. "
                "Save it again with this version of meanparity."
            )
        try:
            return cls._unpacked(header, arrays)
        except (KeyError, TypeError, IndexError) as error:
            raise ValueError(f"{path} is no file of statistics: {error!r} is missing.") from error

    @classmethod
    def _unpacked(cls, header: dict[str, Any], arrays: dict[str, Any]) -> Statistics:
        loss = LossSums(
            header["n_rows"], header["mass"], *(arrays[f"loss_{name}"] for name in _LOSS)
        )
        values = tuple(tuple(cell) for cell in header["values"])
        cells = CellSums(values, *(arrays[f"cells_{name}"] for name in _CELLS))
        return cls(
            read_table(header),
            read_space(header, arrays),
            read_reading(header),
            header["single_output"],
            arrays["y_origin"],
            loss,
            cells,
            header["weight_scope"],
        )


_LOSS = ("features", "whitened", "gram", "cross", "targets", "squares")
_CELLS = ("counts", "mass", "features", "targets", "squares")
