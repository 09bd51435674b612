"""Groups: which rows belong to which combination of sensitive values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from meanparity._typing import FloatArray, IntArray
from meanparity.data.columns import read_columns, read_levels

_FEW_COLUMNS = 8  # columns up to which one pass for each is faster than a sparse product


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """Which group each row belongs to.

    Every combination of sensitive values that occurs is a group. Groups are sorted by their labels.

    Parameters
    ----------
    codes : (n,) array of int
        Group of each row, 0 to k − 1; −1 for a row in no group, whose value is missing.
    labels : tuple of k tuples
        Value of every sensitive column in each group.
    columns : tuple of str
        Names of the sensitive columns.
    counts : (k,) array of int
        Rows in each group, all positive.
    with_column : bool
        Whether names state the column even if there is only one, as in ``"sex=F"``.

    See Also
    --------
    Rows : Groups of several columns together.

    Examples
    --------
    >>> groups = Groups.from_columns({"sex": ["F", "M", "F"], "union": [True, True, False]})
    >>> groups
    Groups(3 rows; sex=F, union=False: 1; sex=F, union=True: 1; sex=M, union=True: 1)
    >>> groups.codes
    array([1, 2, 0])
    """

    codes: IntArray
    labels: tuple[tuple[Hashable, ...], ...]
    columns: tuple[str, ...]
    counts: IntArray
    with_column: bool = False

    @classmethod
    def from_columns(
        cls, sensitive_features: Any, *, n_rows: int | None = None, missing: str = "error"
    ) -> Groups:
        """Read one or several sensitive columns.

        Parameters
        ----------
        sensitive_features : array-like of shape (n,) or (n, r), data frame, series, or mapping
            NumPy array, list, pandas or polars object (anything narwhals reads), or a mapping from
            column names to columns. Values may be text, booleans, categories or numbers.
        n_rows : int, optional
            Number of rows that the columns must have.
        missing : {"error", "group", "ignore"}, default="error"
            How missing values are treated: as an error, as a group of their own, or as rows without
            a group.

        Raises
        ------
        ValueError
            When a value is missing (and that is an error) or the number of rows is not `n_rows`.
        """
        columns = read_columns(sensitive_features, n_rows=n_rows)
        levels, codes = read_levels(columns, missing)
        return cls.from_levels(tuple(columns), levels, codes, missing)

    @classmethod
    def from_levels(
        cls,
        columns: tuple[str, ...],
        levels: Sequence[Sequence[Hashable]],
        codes: IntArray,
        missing: str,
        *,
        with_column: bool = False,
    ) -> Groups:
        """Groups from the positions of values, (n, r), in the levels of r columns; −1 is missing.

        Unless missing values are ignored, they have the label None and come last.
        """
        combinations, group = combine(codes, [len(values) for values in levels])
        if missing == "ignore":
            known = (combinations >= 0).all(axis=1)
            combinations = combinations[known]
            group = np.where(known, np.cumsum(known) - 1, -1)[group]
        named = [(*values, None) for values in levels]  # position −1 is the last one
        labels = tuple(
            tuple(values[code] for values, code in zip(named, combination, strict=True))
            for combination in combinations.tolist()
        )
        counts = np.bincount(group + 1, minlength=len(labels) + 1)[1:]
        return cls(group, labels, columns, counts, with_column)

    def __post_init__(self) -> None:
        for array in (self.codes, self.counts):
            array.setflags(write=False)

    def __repr__(self) -> str:
        sizes = [f"{name}: {count}" for name, count in zip(self.names, self.counts, strict=True)]
        shown = "; ".join(sizes[:8]) + ("; …" if len(sizes) > 8 else "")
        unknown = self.n_rows - int(self.counts.sum())
        shown += f"; in none: {unknown}" if unknown else ""
        return f"Groups({self.n_rows} rows; {shown})"

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""
        return len(self.codes)

    @property
    def n_groups(self) -> int:
        """Number of groups, k."""
        return len(self.labels)

    @cached_property
    def keys(self) -> tuple[Hashable, ...]:
        """The label of each group: the value itself for one column, else the tuple of values."""
        return tuple(label[0] if len(label) == 1 else label for label in self.labels)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The label of each group in words, such as ``"sex=F, race=Black"``."""
        names = tuple(label_name(self.columns, label) for label in self.labels)
        if self.with_column and len(self.columns) == 1:
            return tuple(f"{self.columns[0]}={name}" for name in names)
        return names

    def sums(self, values: FloatArray) -> FloatArray:
        """Sum of (n,) or (n, m) values in each group: (k,) or (k, m)."""
        return group_sums(self.codes, values, self.n_groups)

    def means(self, values: FloatArray, sample_weight: FloatArray | None = None) -> FloatArray:
        """Mean of (n,) or (n, m) values in each group, weighted if asked: (k,) or (k, m)."""
        weighted = values if sample_weight is None else (values.T * sample_weight).T
        total = self.counts if sample_weight is None else self.sums(sample_weight)
        means: FloatArray = (self.sums(weighted).T / total).T
        return means


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """The cells of n rows: rows of one cell have the same sensitive and control values.

    Parameters
    ----------
    codes : (n,) array of int
        The cell of each row.
    count : int
        Number of cells, k.
    weights : (n,) array or None
        Weights of the rows in means; all ones if None.
    """

    codes: IntArray
    count: int
    weights: FloatArray | None = None

    @cached_property
    def mass(self) -> FloatArray:
        """Sum of the weights in each cell: (k,)."""
        return np.bincount(self.codes, weights=self.weights, minlength=self.count).astype(float)

    def sums(self, values: FloatArray) -> FloatArray:
        """Weighted sum of values, (n, m), in each cell: (k, m)."""
        weighted = values if self.weights is None else self.weights[:, None] * values
        return group_sums(self.codes, weighted, self.count)

    def divide(self, sums: FloatArray) -> FloatArray:
        """Means from sums in each cell, (k, m), zero in cells without weight."""
        return np.asarray(sums / np.where(self.mass > 0, self.mass, 1.0)[:, None])

    def means(self, values: FloatArray) -> FloatArray:
        """Mean of values, (n, m), in each cell, zero in cells without weight: (k, m)."""
        return self.divide(self.sums(values))


def one_cell(n_rows: int) -> Cells:
    """All rows in a single cell."""
    return Cells(np.zeros(n_rows, np.intp), 1)


def label_name(columns: Sequence[str], label: Sequence[Hashable]) -> str:
    """A combination of values in words.

    Examples
    --------
    >>> label_name(["sex"], ["F"]), label_name(["sex", "race"], ["F", None])
    ('F', 'sex=F, race=missing')
    """
    values = ["missing" if value is None else str(value) for value in label]
    if len(columns) == 1:
        return values[0]
    return ", ".join(f"{column}={value}" for column, value in zip(columns, values, strict=True))


def display_label(columns: Sequence[str], label: Sequence[Hashable]) -> str:
    """A combination of values as people read it: only text stands by itself.

    Examples
    --------
    >>> [display_label([column], [value]) for column, value in [("sex", "F"), ("male", 0.0)]]
    ['F', 'male=0']
    >>> display_label(["male", "race"], [1, "Black"])
    'male=1, race=Black'
    >>> display_label(["job"], ["other "])  # which is not the group "other"
    "'other '"
    """
    name = label_name(columns, _readable(label))
    alone = len(columns) == 1 and not (isinstance(label[0], str) and label[0].strip())
    return f"{columns[0]}={name}" if alone else name


def full_label(columns: Sequence[str], label: Sequence[Hashable]) -> str:
    """A combination of values, each with the name of its column.

    Examples
    --------
    >>> full_label(["union"], ["no"])
    'union=no'
    """
    named = (
        (c, "missing" if v is None else v) for c, v in zip(columns, _readable(label), strict=True)
    )
    return ", ".join(f"{column}={value}" for column, value in named)


def _readable(label: Sequence[Hashable]) -> list[Hashable]:
    """Values without the fraction of whole numbers, and with quotes around blanks at an end."""
    whole = [int(v) if isinstance(v, float) and v.is_integer() else v for v in label]
    return [f"'{v}'" if isinstance(v, str) and v != v.strip() else v for v in whole]


def group_sums(codes: IntArray, values: Any, k: int) -> FloatArray:
    """Sum of (n,) or (n, m) values over equal codes: (k,) or (k, m). Rows of code −1 are left out.

    Examples
    --------
    >>> group_sums(np.array([0, 1, 0, -1]), np.array([1.0, 2.0, 3.0, 4.0]), 2)
    array([4., 2.])
    """
    values, n = np.asarray(values), len(codes)
    if values.ndim == 1:
        return np.asarray(np.bincount(codes + 1, weights=values, minlength=k + 1)[1:], float)
    if 0 < values.shape[1] <= _FEW_COLUMNS:
        columns = [np.bincount(codes + 1, weights=v, minlength=k + 1)[1:] for v in values.T]
        return np.stack(columns, axis=1)
    inside = codes >= 0
    indicator = sparse.csr_matrix(
        (inside.astype(float), np.where(inside, codes, 0), np.arange(n + 1)), shape=(n, k)
    )
    sums: FloatArray = indicator.T @ values
    return sums


def combine(codes: IntArray, sizes: Sequence[int]) -> tuple[IntArray, IntArray]:
    """The distinct rows of codes, (n, r), in order, −1 last, and which of them each row is.

    Parameters
    ----------
    codes : (n, r) array of int
        Position of each value in the levels of its column, −1 if it is missing.
    sizes : r numbers
        How many levels each column has.

    Returns
    -------
    distinct : (k, r) array of int
    which : (n,) array of int
    """
    if codes.shape[1] == 1 and len(codes):
        column = codes[:, 0]
        if column.min() >= 0 and np.bincount(column, minlength=sizes[0]).all():
            return np.arange(sizes[0])[:, None], column
    distinct, which = np.zeros((1, 0), dtype=np.intp), np.zeros(len(codes), dtype=np.intp)
    for column, size in zip(codes.T, sizes, strict=True):
        # the pairs (combination so far, level) that occur, in order
        level = np.where(column < 0, size, column)
        pairs, which = _unique(which * (size + 1) + level, len(distinct) * (size + 1))
        first, second = np.divmod(pairs, size + 1)
        distinct = np.column_stack([distinct[first], np.where(second == size, -1, second)])
    return distinct, which


def _unique(codes: IntArray, stop: int) -> tuple[IntArray, IntArray]:
    """The distinct codes below `stop`, sorted, and the position of each row's code."""
    if stop > 4 * len(codes) + 1000:
        found, which = np.unique(codes, return_inverse=True)
        return found, which
    found = np.flatnonzero(np.bincount(codes, minlength=stop))
    position = np.zeros(stop, dtype=np.intp)
    position[found] = np.arange(len(found))
    return found, position[codes]
