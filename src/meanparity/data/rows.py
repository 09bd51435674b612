"""Rows as a constraint sees them: sensitive and control values, weights and targets.

Rows with the same sensitive and control values form a cell. Everything that a constraint computes
is computed on cells: as many as there are groups for categories, at most as many as rows for
numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanparity._typing import FloatArray, IntArray
from meanparity.data.columns import (
    Columns,
    are_numbers,
    continuous_names,
    is_continuous,
    match_columns,
    read_columns,
    read_levels,
    require_numbers,
)
from meanparity.data.groups import Cells, Groups, combine, group_sums
from meanparity.exceptions import warn
from meanparity.state import stored

_FEW_LABELS = 20  # different texts that are no sign of an identifier


@stored("Schema")
@dataclass(frozen=True)
class Schema:
    """How sensitive and control columns are read: settled in fit, and the same for all other rows.

    Parameters
    ----------
    sensitive, control : tuples of str
        Names of the columns, in order.
    continuous : tuple of str
        The sensitive columns that are numbers rather than categories.
    intersectional : bool
        Whether groups are combinations of all categories, or each column is compared separately.
    missing : {"error", "group", "ignore"}
        How missing values are treated.
    """

    sensitive: tuple[str, ...]
    control: tuple[str, ...] = ()
    continuous: tuple[str, ...] = ()
    intersectional: bool = True
    missing: str = "error"

    @property
    def columns(self) -> tuple[str, ...]:
        """The sensitive columns, and then the control columns."""
        return self.sensitive + self.control

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The sensitive columns that are categories."""
        return tuple(name for name in self.sensitive if name not in self.continuous)

    def read_groups(self, sensitive_features: Any) -> Groups | None:
        """The groups of other rows; None if all sensitive columns are numbers."""
        return replace(self, control=()).read_rows(sensitive_features).groups

    def read_rows(
        self,
        sensitive_features: Any,
        *,
        control_features: Any = None,
        sample_weight: FloatArray | None = None,
        y: FloatArray | None = None,
        n_rows: int | None = None,
    ) -> Rows:
        """Read other rows; columns are found by name, or by position where they have no names."""
        columns = read_columns(sensitive_features, n_rows=n_rows)
        columns = match_columns(columns, self.sensitive, "sensitive")
        if self.control:
            if control_features is None:
                raise ValueError(
                    f"The constraint holds at equal {', '.join(self.control)}, which is not known "
                    "for these rows. Pass their control_features, as in fit; those of a pool with "
                    "meanparity.Pool(X, sensitive_features, control_features)."
                )
            control = read_columns(control_features, n_rows=n_rows, role="control")
            columns |= match_columns(control, self.control, "control")
        elif control_features is not None:
            raise ValueError("control_features are given here, but fit had none. Leave them out.")
        return Rows._from_levels(self, *read_levels(columns, self.missing), sample_weight, y)


@stored("Rows", any_number=("levels",))
@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """n rows in k cells, as a constraint sees them.

    Parameters
    ----------
    schema : Schema
        How the columns are read.
    levels : tuple of tuples
        The distinct values of each of the r sensitive and control columns.
    cells : (k, r) array of int
        Positions of each cell's values in `levels`; −1 if missing.
    codes : (n,) array of int
        The cell of each row.
    weights : (n,) array or None
        Weight of each row in the constraint, scaled to a mean of one; None if all are equal.
    y : (n, m) array or None
        Targets, where they are known.
    sizes : (n,) array of int or None
        How many rows of a larger table each row stands for; None if each stands for itself.

    See Also
    --------
    Groups : The groups of one column.

    Examples
    --------
    >>> rows = Rows.from_columns({"sex": ["F", "M", "F"], "age": [31, 45, 28]}, continuous=["age"])
    >>> rows.groups
    Groups(3 rows; F: 2; M: 1)
    >>> rows.column("age")
    array([31., 45., 28.])
    """

    schema: Schema
    levels: tuple[tuple[Hashable, ...], ...]
    cells: IntArray
    codes: IntArray
    weights: FloatArray | None
    y: FloatArray | None
    sizes: IntArray | None = None

    @classmethod
    def from_columns(
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
            Sensitive columns that are numbers. "auto" selects numeric columns with more than 20
            distinct values, and those with fractions where most rows have a value of their own.
        intersectional, missing
            See `Schema`.
        """
        columns = read_columns(sensitive_features, n_rows=n_rows)
        sensitive = tuple(columns)
        control: Columns = {}
        if control_features is not None:
            control = read_columns(control_features, n_rows=n_rows, role="control")
        both = set(columns) & set(control)
        if both:
            raise ValueError(
                f"Column {sorted(both)[0]!r} is both sensitive and a control, but inside a stratum "
                "every row has the same value of it. Pass it as one or the other."
            )
        levels, codes = read_levels(columns | control, missing)
        if isinstance(continuous, str) and continuous == "auto":
            numbers = tuple(
                name
                for name, values, found in zip(sensitive, levels, codes.T, strict=False)
                if is_continuous(values, int((found >= 0).sum()))
            )
        else:
            numbers = continuous_names(continuous, sensitive)
        schema = Schema(sensitive, tuple(control), numbers, bool(intersectional), missing)
        return cls._from_levels(schema, levels, codes, sample_weight, y)

    @classmethod
    def from_cells(
        cls,
        schema: Schema,
        values: Sequence[tuple[Hashable, ...]],
        mass: FloatArray,
        counts: IntArray,
        y: FloatArray,
    ) -> Rows:
        """One row for each of k cells, which stands for all rows of that cell.

        Parameters
        ----------
        schema : Schema
            How the columns are read.
        values : k tuples
            Sensitive and control values; None if missing.
        mass, counts : (k,) arrays
            Sums of weights, and numbers of rows.
        y : (k, m) array
            Mean targets.
        """
        table = np.array(values, dtype=object).reshape(len(values), len(schema.columns))
        columns = dict(zip(schema.columns, table.T, strict=True))
        rows = cls._from_levels(schema, *read_levels(columns, schema.missing), mass, y)
        return replace(rows, sizes=counts)

    @classmethod
    def _from_levels(
        cls,
        schema: Schema,
        levels: list[list[Hashable]],
        positions: IntArray,
        sample_weight: FloatArray | None,
        y: FloatArray | None,
    ) -> Rows:
        for name in schema.continuous:
            require_numbers(name, levels[schema.sensitive.index(name)])
        cells, codes = combine(positions, [len(values) for values in levels])
        weights = None if sample_weight is None else sample_weight / sample_weight.mean()
        y = None if y is None else y.view()
        return cls(schema, tuple(map(tuple, levels)), cells, codes, weights, y)

    def __post_init__(self) -> None:
        for array in (self.cells, self.codes, self.weights, self.y):
            if array is not None:
                array.setflags(write=False)

    def __repr__(self) -> str:
        return f"Rows({len(self.codes)} rows in {len(self.cells)} cells; {self.schema})"

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""
        return len(self.codes)

    @cached_property
    def mass(self) -> FloatArray:
        """Sum of the weights in each cell: (k,)."""
        if self.weights is None and self.sizes is None:
            return self.counts.astype(float)
        k = len(self.cells)
        return np.bincount(self.codes, weights=self.weights, minlength=k).astype(float)

    @cached_property
    def counts(self) -> IntArray:
        """Number of rows in each cell: (k,)."""
        counts = np.bincount(self.codes, weights=self.sizes, minlength=len(self.cells))
        return counts.astype(np.intp)

    @cached_property
    def groups(self) -> Groups | None:
        """The groups of categories; None if all sensitive columns are numbers."""
        of_cells = self.cell_groups
        if of_cells is None:
            return None
        codes = of_cells.codes[self.codes]
        counts = np.bincount(codes + 1, self.sizes, len(of_cells.labels) + 1)[1:]
        return replace(of_cells, codes=codes, counts=counts.astype(np.intp))

    @cached_property
    def cell_groups(self) -> Groups | None:
        """The groups of categories, with the group of each cell."""
        names = self.schema.categories
        return self.combinations(names) if names else None

    def combinations(self, columns: tuple[str, ...], *, with_column: bool = False) -> Groups:
        """The combinations of columns that occur, with the combination of each cell."""
        at = [self.schema.columns.index(name) for name in columns]
        levels, missing = [self.levels[i] for i in at], self.schema.missing
        return Groups.from_levels(
            columns, levels, self.cells[:, at], missing, with_column=with_column
        )

    def cell_means(self, values: FloatArray) -> FloatArray:
        """Weighted mean of values, (n, m), in each cell, zero in cells without weight: (k, m)."""
        return Cells(self.codes, len(self.cells), self.weights).means(values)

    def group_means(self, cell_means: FloatArray) -> dict[Hashable, FloatArray]:
        """The mean in each group that has weight, from means in cells, (k, m)."""
        groups = self.cell_groups
        if groups is None:
            return {}
        mass = self.mass[:, None]
        sums = group_sums(groups.codes, np.hstack([mass, mass * cell_means]), len(groups.labels))
        found = zip(groups.keys, sums[:, 1:], sums[:, 0], strict=True)
        return {key: total / mass for key, total, mass in found if mass > 0}

    @property
    def group_counts(self) -> dict[Hashable, int]:
        """The number of rows in each group, those of a larger table that rows stand for included.

        Examples
        --------
        >>> rows = Rows.from_columns(["F", "M", "F"])
        >>> rows.group_counts == {"F": 2, "M": 1}
        True
        """
        groups = self.cell_groups
        if groups is None:
            return {}
        counts = np.bincount(groups.codes + 1, self.counts, len(groups.labels) + 1)[1:]
        return dict(zip(groups.keys, counts.astype(int).tolist(), strict=True))

    def subset(self, keep: NDArray[Any]) -> Rows:
        """Rows that are marked, (n,), or whose positions are given, as if there were no others."""
        used, codes = np.unique(self.codes[keep], return_inverse=True)
        cells, levels = self.cells[used].copy(), []
        for j, values in enumerate(self.levels):
            there, back = np.unique(cells[:, j], return_inverse=True)
            known = there[there >= 0]
            cells[:, j] = back - (len(there) - len(known))  # −1 if missing, which sorts first
            levels.append(tuple(values[i] for i in known))
        weights = None if self.weights is None else self.weights[keep]
        return replace(
            self,
            levels=tuple(levels),
            cells=cells,
            codes=codes,
            weights=None if weights is None else weights / weights.mean(),
            y=None if self.y is None else self.y[keep],
            sizes=None if self.sizes is None else self.sizes[keep],
        )

    def column(self, name: str) -> NDArray[Any]:
        """The values of a column, (n,): numbers (NaN if missing), or objects (None if missing)."""
        if name not in self.schema.columns:
            raise KeyError(
                f"There is no column {name!r}. The sensitive and control columns are "
                f"{list(self.schema.columns)}."
            )
        return self._cell_column(name)[self.codes]

    def _cell_column(self, name: str) -> NDArray[Any]:
        position = self.schema.columns.index(name)
        levels = self.levels[position]
        missing, kind = (np.nan, float) if are_numbers(levels) else (None, object)
        values: NDArray[Any] = np.array([*levels, missing], dtype=kind)
        return np.asarray(values[self.cells[:, position]])

    @cached_property
    def numbers(self) -> dict[str, FloatArray]:
        """The value of each continuous column in each cell, NaN if missing: (k,)."""
        return {name: self._cell_column(name) for name in self.schema.continuous}

    @cached_property
    def groupings(self) -> list[Groups]:
        """Sets of groups of the cells: all combinations if intersectional, else one per column."""
        names = self.schema.categories
        if len(names) > 1 and not self.schema.intersectional:
            return [self.combinations((name,), with_column=True) for name in names]
        return [] if self.cell_groups is None else [self.cell_groups]

    @cached_property
    def strata(self) -> list[tuple[str, IntArray]]:
        """Name and cells of each combination of control values, without cells of zero weight."""
        heavy = self.mass > 0
        if not self.schema.control:
            return [("", np.flatnonzero(heavy))]
        strata = self.combinations(self.schema.control, with_column=True)
        codes = np.where(heavy, strata.codes, -1)
        order = np.argsort(codes, kind="stable")
        cells = np.split(order, np.searchsorted(codes[order], np.arange(len(strata.labels))))[1:]
        named = zip(strata.names, cells, strict=True)
        return [(name, members) for name, members in named if len(members)]

    def sensitive_values(self, cell: int) -> tuple[Hashable, ...]:
        """The sensitive values of a cell, None if missing."""
        return self.cell_values(cell)[: len(self.schema.sensitive)]

    def cell_values(self, cell: int) -> tuple[Hashable, ...]:
        """The sensitive and control values of a cell, None if missing."""
        codes = self.cells[cell].tolist()
        return tuple(None if c < 0 else self.levels[j][c] for j, c in enumerate(codes))

    def is_known(self, columns: Sequence[str]) -> NDArray[np.bool_]:
        """Whether a cell has values in all of these columns: (k,)."""
        at = [self.schema.columns.index(name) for name in columns]
        return np.array(np.all(self.cells[:, at] >= 0, axis=1))


def warn_about_labels(rows: Rows) -> None:
    """Labels that differ by spaces or case alone, and columns in which most labels occur once."""
    names = (*rows.schema.sensitive, *rows.schema.control)
    for name, levels in zip(names, rows.levels, strict=True):
        alike: dict[str, list[str]] = {}
        for level in levels:
            if isinstance(level, str):
                alike.setdefault(" ".join(level.split()).casefold(), []).append(level)
        same = next((found for found in alike.values() if len(found) > 1), None)
        if same is not None:
            warn(
                f"Column {name!r} has the values {', '.join(map(repr, same[:3]))}, which differ by "
                "spaces or case alone and are different groups. Write them in one way if they are "
                "one group."
            )
        text = [level for level in levels if isinstance(level, str)]
        if len(text) > max(rows.counts.sum() / 2, _FEW_LABELS):
            warn(
                f"Column {name!r} has {len(text):,} different texts in "
                f"{int(rows.counts.sum()):,} rows, so most groups have one row. It may be an "
                "identifier: name another column, or merge its values."
            )


def refuse_identifier(rows: Rows, if_number: str | None = None) -> None:
    """Refuse groups of one row each; `if_number` says what to do if the column is a number."""
    groups, schema = rows.cell_groups, rows.schema
    n = len(rows.codes)
    alone = groups is not None and schema.intersectional and len(groups.labels) == n
    if alone and not schema.control and not schema.continuous and rows.weights is None:
        advice = if_number or "name it in the constraint, MeanParity(continuous=[...]), or bin it"
        raise ValueError(
            f"sensitive_features has {n} different values in {n} rows: every "
            "row is its own group, and equal group means would make every prediction the same. If "
            f"the column is a number such as age, {advice}; if it is an identifier, pass "
            "another column."
        )
