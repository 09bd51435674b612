"""What a constraint may look at: rows with their sensitive and control values, weights and targets.

Rows with the same values form a cell, and everything that a constraint computes is computed on
cells: as many as there are groups for categories, at most as many as rows for numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanparity._typing import FloatArray, IntArray
from meanparity.columns import (
    are_numbers,
    chosen,
    is_continuous,
    require_numbers,
    same_columns,
)
from meanparity.groups import (
    Groups,
    combine,
    group_sums,
    read_columns,
    read_levels,
)


@dataclass(frozen=True, eq=False)
class Grouping:
    """Which group each of k cells is in.

    Parameters
    ----------
    columns : tuple of str
        The columns whose combinations are the groups.
    names : tuple of str
        What the groups are called.
    codes : (k,) array of int
        The group of each cell; −1 for none.
    """

    columns: tuple[str, ...]
    names: tuple[str, ...]
    codes: IntArray

    def of(self, cells: IntArray) -> Grouping:
        """The same for some of the cells."""
        return replace(self, codes=self.codes[cells])


@dataclass(frozen=True)
class Reading:
    """How columns are read: settled on the training rows, and the same for all others.

    Parameters
    ----------
    sensitive, control : tuples of str
        Names of the columns, in order.
    continuous : tuple of str
        The sensitive columns that are numbers instead of categories.
    intersectional : bool
        Whether groups are combinations of all categories, or those of each column apart.
    missing : {"error", "group", "ignore"}
        What becomes of missing values.
    """

    sensitive: tuple[str, ...]
    control: tuple[str, ...] = ()
    continuous: tuple[str, ...] = ()
    intersectional: bool = True
    missing: str = "error"

    @property
    def categories(self) -> tuple[str, ...]:
        """The sensitive columns that are categories."""
        return tuple(name for name in self.sensitive if name not in self.continuous)

    def groups(self, sensitive_features: Any) -> Groups | None:
        """Who of other rows is in which group of categories; None if there are only numbers."""
        return replace(self, control=()).rows(sensitive_features).groups

    def rows(
        self,
        sensitive_features: Any,
        *,
        control_features: Any = None,
        sample_weight: FloatArray | None = None,
        y: FloatArray | None = None,
        n_rows: int | None = None,
    ) -> Rows:
        """Other rows, whose columns are found by name, or by position where they have none."""
        columns = read_columns(sensitive_features, n_rows=n_rows)
        columns = same_columns(columns, self.sensitive, "sensitive")
        if self.control:
            if control_features is None:
                raise ValueError(
                    f"The constraint holds at equal {', '.join(self.control)}, which is not known "
                    "of these rows. Pass their control_features, as in fit; those of a pool with "
                    "meanparity.Pool(X, sensitive_features, control_features)."
                )
            control = read_columns(control_features, n_rows=n_rows, role="control")
            columns |= same_columns(control, self.control, "control")
        elif control_features is not None:
            raise ValueError("control_features are given here, but fit had none. Leave them out.")
        return Rows._of(self, columns, sample_weight, y)


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """n rows in k cells, as a constraint sees them.

    Parameters
    ----------
    reading : Reading
        How the columns are read.
    levels : tuple of tuples
        The values that each of the r sensitive and control columns takes.
    cells : (k, r) array of int
        Positions of each cell's values in `levels`; −1 is missing.
    codes : (n,) array of int
        Cell of each row.
    weights : (n,) array or None
        How much each row counts in the constraint, scaled to a mean of one; None if all alike.
    y : (n, m) array or None
        Targets, where they are known.
    sizes : (n,) array of int or None
        How many rows of a larger table each row stands for; None if for itself.

    Examples
    --------
    >>> rows = Rows.of({"sex": ["F", "M", "F"], "age": [31, 45, 28]}, continuous=["age"])
    >>> rows.groups
    Groups(3 rows; F: 2; M: 1)
    >>> rows.column("age")
    array([31., 45., 28.])
    """

    reading: Reading
    levels: tuple[tuple[Hashable, ...], ...]
    cells: IntArray
    codes: IntArray
    weights: FloatArray | None
    y: FloatArray | None
    sizes: IntArray | None = None

    @classmethod
    def of(
        cls,
        sensitive_features: Any,
        *,
        control_features: Any = None,
        sample_weight: FloatArray | None = None,
        y: FloatArray | None = None,
        n_rows: int | None = None,
        continuous: Any = "auto",
        intersectional: bool = True,
        missing: str = "error",
    ) -> Rows:
        """Read training rows, and settle how columns are read.

        Parameters
        ----------
        sensitive_features, control_features : columns
            As in `Groups.from_columns`; control columns are optional.
        sample_weight : (n,) array, optional
            Weights, at least one of them positive.
        y : (n, m) array, optional
            Targets.
        n_rows : int, optional
            Number of rows that the columns must have.
        continuous : "auto", or list of names or positions
            Sensitive columns that are numbers. "auto" takes columns of numbers with more than 20
            values, or with fractions and a value of its own in most rows.
        intersectional, missing
            See `Reading`.
        """
        columns = read_columns(sensitive_features, n_rows=n_rows)
        sensitive = tuple(columns)
        control: dict[str, NDArray[Any]] = {}
        if control_features is not None:
            control = read_columns(control_features, n_rows=n_rows, role="control")
        both = set(columns) & set(control)
        if both:
            raise ValueError(
                f"Column {sorted(both)[0]!r} is sensitive and a control: inside a stratum "
                "everybody has the same value of it. Pass it as one of them."
            )
        columns |= control
        levels, codes = read_levels(columns, missing)
        if isinstance(continuous, str) and continuous == "auto":
            many = tuple(
                name
                for name, values, found in zip(sensitive, levels, codes.T, strict=False)
                if is_continuous(values, int((found >= 0).sum()))
            )
        else:
            many = chosen(continuous, sensitive)
        reading = Reading(sensitive, tuple(control), many, intersectional, missing)
        return cls._of(reading, columns, sample_weight, y, (levels, codes))

    @classmethod
    def of_cells(
        cls,
        reading: Reading,
        values: Sequence[tuple[Hashable, ...]],
        mass: FloatArray,
        counts: IntArray,
        y: FloatArray,
    ) -> Rows:
        """One row for each of k cells, which stands for all of that cell.

        Parameters
        ----------
        reading : Reading
            How the columns are read.
        values : k tuples
            Sensitive and control values; None if missing.
        mass, counts : (k,) arrays
            Weights and numbers of rows.
        y : (k, m) array
            Mean targets.
        """
        names = reading.sensitive + reading.control
        columns = {name: np.empty(len(values), object) for name in names}
        for j, name in enumerate(names):
            columns[name][:] = [value[j] for value in values]
        return replace(cls._of(reading, columns, mass, y), sizes=counts)

    @classmethod
    def _of(
        cls,
        reading: Reading,
        columns: Mapping[str, NDArray[Any]],
        sample_weight: FloatArray | None,
        y: FloatArray | None,
        read: tuple[list[list[Hashable]], IntArray] | None = None,
    ) -> Rows:
        levels, codes = read_levels(columns, reading.missing) if read is None else read
        for name, values in zip(reading.sensitive, levels, strict=False):
            if name in reading.continuous:
                require_numbers(name, values)
        cells, which = combine(codes, [len(values) for values in levels])
        weights = sample_weight
        if weights is not None:
            weights = weights * (len(weights) / weights.sum())
        frozen = tuple(tuple(values) for values in levels)
        return cls(reading, frozen, cells, which, weights, None if y is None else y.view())

    def __post_init__(self) -> None:
        for array in (self.cells, self.codes, self.weights, self.y):
            if array is not None:
                array.setflags(write=False)

    def __repr__(self) -> str:
        return f"Rows({self.n_rows} rows in {len(self.cells)} cells; {self.reading})"

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""
        return len(self.codes)

    @cached_property
    def mass(self) -> FloatArray:
        """Weight of each cell: (k,)."""
        weights = np.ones(self.n_rows) if self.weights is None else self.weights
        return group_sums(self.codes, weights, len(self.cells))

    @cached_property
    def counts(self) -> IntArray:
        """Rows in each cell: (k,)."""
        counts = np.bincount(self.codes, weights=self.sizes, minlength=len(self.cells))
        return counts.astype(np.intp)

    @cached_property
    def groups(self) -> Groups | None:
        """Who is in which group of categories; None if all sensitive columns are numbers."""
        names = self.reading.categories
        if not names:
            return None
        at = [self._columns.index(name) for name in names]
        codes, levels = self.cells[:, at][self.codes], [self.levels[i] for i in at]
        return Groups.from_levels(names, levels, codes, self.reading.missing)

    def some(self, keep: NDArray[np.bool_]) -> Rows:
        """Those rows that are marked, (n,), as if there were no others."""
        used, codes = np.unique(self.codes[keep], return_inverse=True)
        cells, levels = self.cells[used].copy(), []
        for j, values in enumerate(self.levels):
            there, back = np.unique(cells[:, j], return_inverse=True)
            known = there[there >= 0]
            cells[:, j] = back - (len(there) - len(known))  # −1 if missing, which is first
            levels.append(tuple(values[i] for i in known))
        weights = None if self.weights is None else self.weights[keep]
        return replace(
            self,
            levels=tuple(levels),
            cells=cells,
            codes=codes,
            weights=None if weights is None else weights * (len(weights) / weights.sum()),
            y=None if self.y is None else self.y[keep],
            sizes=None if self.sizes is None else self.sizes[keep],
        )

    def column(self, name: str) -> NDArray[Any]:
        """The values of a column, (n,): numbers (NaN if missing), or objects (None if missing)."""
        if name not in self._columns:
            raise KeyError(
                f"There is no column {name!r}. The sensitive and control columns are "
                f"{list(self._columns)}."
            )
        position = self._columns.index(name)
        levels = self.levels[position]
        numeric = are_numbers(levels)
        values = np.array(
            [*levels, np.nan if numeric else None], dtype=float if numeric else object
        )
        result: NDArray[Any] = values[self.cells[self.codes, position]]
        return result

    @cached_property
    def numbers(self) -> dict[str, FloatArray]:
        """The values of the columns that are numbers in each cell, NaN if missing: (k,)."""
        found = {}
        for name in self.reading.continuous:
            position = self._columns.index(name)
            values = np.array([*self.levels[position], np.nan], dtype=float)
            found[name] = values[self.cells[:, position]]
        return found

    @cached_property
    def groupings(self) -> list[Grouping]:
        """Sets of groups: all combinations if the reading is intersectional, else each column."""
        names = self.reading.categories
        sets = [names] if self.reading.intersectional else [(name,) for name in names]
        return [self.combined(columns, named=len(names) > 1) for columns in sets if columns]

    @cached_property
    def strata(self) -> list[tuple[str, IntArray]]:
        """Name and cells of each combination of control values; cells of no weight are left out."""
        heavy = self.mass > 0
        if not self.reading.control:
            return [("", np.flatnonzero(heavy))]
        grouping = self.combined(self.reading.control, named=True)
        names, codes = grouping.names, np.where(heavy, grouping.codes, -1)
        order = np.argsort(codes, kind="stable")
        cells = np.split(order, np.searchsorted(codes[order], np.arange(len(names))))[1:]
        return [(name, which) for name, which in zip(names, cells, strict=True) if len(which)]

    def within_strata(self, values: FloatArray) -> FloatArray:
        """Values, (n, m), less the mean of their stratum."""
        if not self.reading.control:
            return np.asarray(values - values.mean(axis=0))
        codes = self.combined(self.reading.control).codes[self.codes]
        inside = codes >= 0
        count = np.bincount(codes[inside])
        means = group_sums(codes, values, len(count)) / count[:, None]
        return np.where(inside[:, None], values - means[np.where(inside, codes, 0)], 0.0)

    def label(self, cell: int) -> tuple[Hashable, ...]:
        """The sensitive values of a cell, None if missing."""
        return self.values(cell)[: len(self.reading.sensitive)]

    def values(self, cell: int) -> tuple[Hashable, ...]:
        """The sensitive and control values of a cell, None if missing."""
        codes = self.cells[cell].tolist()
        return tuple(None if c < 0 else self.levels[j][c] for j, c in enumerate(codes))

    def is_known(self, columns: Sequence[str]) -> NDArray[np.bool_]:
        """Whether a cell has values in all of these columns: (k,)."""
        at = [self._columns.index(name) for name in columns]
        return np.array(np.all(self.cells[:, at] >= 0, axis=1))

    def combined(self, columns: tuple[str, ...], *, named: bool = False) -> Grouping:
        """The combinations of some columns that occur; `named` puts the column into their names."""
        at = [self._columns.index(name) for name in columns]
        levels = [self.levels[i] for i in at]
        groups = Groups.from_levels(columns, levels, self.cells[:, at], self.reading.missing)
        names = groups.names
        if named and len(columns) == 1:
            names = tuple(f"{columns[0]}={name}" for name in names)
        return Grouping(columns, names, groups.codes)

    @property
    def _columns(self) -> tuple[str, ...]:
        return self.reading.sensitive + self.reading.control
