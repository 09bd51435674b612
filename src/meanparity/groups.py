"""Sensitive columns to groups: who is in which group."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from meanparity._typing import FloatArray, IntArray

MISSING = ("error", "group", "ignore")


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """Who is in which group.

    Every combination of values that occurs in the sensitive columns is a group; combinations that
    do not occur are absent. Groups are ordered by their labels.

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
            What a missing value is: an error, a group of its own, or a row that is in no group.

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
    ) -> Groups:
        """Groups from the positions of values, (n, r), in the levels of r columns; −1 is missing.

        Unless missing values are ignored, they have the label None and come last.
        """
        inside = (codes >= 0).all(axis=1) if missing == "ignore" else np.ones(len(codes), bool)
        combination, members = combine(codes[inside], [len(values) for values in levels])
        labels = tuple(
            tuple(
                None if code < 0 else values[code]
                for code, values in zip(combined, levels, strict=True)
            )
            for combined in combination.tolist()
        )
        group = np.full(len(codes), -1, dtype=np.intp)
        group[inside] = members
        return cls(group, labels, columns, np.bincount(members, minlength=len(labels)))

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

    @property
    def keys(self) -> tuple[Hashable, ...]:
        """The label of each group: the value itself for one column, else the tuple of values."""
        return tuple(label[0] if len(label) == 1 else label for label in self.labels)

    @property
    def names(self) -> tuple[str, ...]:
        """The label of each group for a person, such as ``"sex=F, race=Black"``."""
        return tuple(label_name(self.columns, label) for label in self.labels)

    def sums(self, values: FloatArray) -> FloatArray:
        """Sum of (n,) or (n, m) values in each group: (k,) or (k, m)."""
        return group_sums(self.codes, values, self.n_groups)

    def means(self, values: FloatArray, sample_weight: FloatArray | None = None) -> FloatArray:
        """Mean of (n,) or (n, m) values in each group, weighted if asked: (k,) or (k, m)."""
        if sample_weight is None:
            weight, total = values, self.counts.astype(float)
        else:
            weight = (values.T * sample_weight).T
            total = self.sums(sample_weight)
        means: FloatArray = (self.sums(weight).T / total).T
        return means


def label_name(columns: Sequence[str], label: Sequence[Hashable]) -> str:
    """A combination of values for a person.

    Examples
    --------
    >>> label_name(["sex"], ["F"]), label_name(["sex", "race"], ["F", None])
    ('F', 'sex=F, race=missing')
    """
    values = ["missing" if value is None else str(value) for value in label]
    if len(columns) == 1:
        return values[0]
    return ", ".join(f"{column}={value}" for column, value in zip(columns, values, strict=True))


def group_sums(codes: IntArray, values: Any, k: int) -> FloatArray:
    """Sum of (n,) or (n, m) values over equal codes: (k,) or (k, m). Rows of code −1 are left out.

    Examples
    --------
    >>> group_sums(np.array([0, 1, 0, -1]), np.array([1.0, 2.0, 3.0, 4.0]), 2)
    array([4., 2.])
    """
    n, inside = len(codes), codes >= 0
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
    distinct, which = np.zeros((1, 0), dtype=np.intp), np.zeros(len(codes), dtype=np.intp)
    for column, size in zip(codes.T, sizes, strict=True):
        # the pairs (combination so far, level) that occur, in order
        level = np.where(column < 0, size, column)
        pairs, which = np.unique(which * (size + 1) + level, return_inverse=True)
        first, second = np.divmod(pairs, size + 1)
        second = np.where(second == size, -1, second)
        distinct = np.column_stack([distinct[first], second])
    return distinct.astype(np.intp), which.astype(np.intp)


def read_levels(
    columns: Mapping[str, NDArray[Any]], missing: str
) -> tuple[list[list[Hashable]], IntArray]:
    """The distinct values of each column, in order, and the positions of the values: (n, r).

    Missing values have position −1; with ``missing="error"`` they are refused.
    """
    if missing not in MISSING:
        raise ValueError(f"missing={missing!r} is not known. Pass one of {', '.join(MISSING)}.")
    levels, codes = [], []
    for name, values in columns.items():
        column_levels, column_codes = _factorise(values, name)
        if missing == "error":
            _refuse_missing(column_codes < 0, name)
        levels.append(column_levels)
        codes.append(column_codes)
    return levels, np.stack(codes, axis=1)


def read_columns(
    source: Any, *, n_rows: int | None = None, role: str = "sensitive"
) -> dict[str, NDArray[Any]]:
    """Named one-dimensional columns out of whatever was passed, missing values as None.

    Parameters
    ----------
    source : array-like of shape (n,) or (n, r), data frame, series, or mapping
        The columns.
    n_rows : int, optional
        Number of rows that they must have.
    role : {"sensitive", "control"}
        What they are, for errors and for columns without a name.
    """
    columns = _named_columns(source, role)
    shapes = {name: values.shape for name, values in columns.items()}
    if len(set(shapes.values())) > 1 or any(len(shape) != 1 for shape in shapes.values()):
        raise ValueError(
            f"{role}_features has columns of different shapes, {shapes}. "
            "Pass columns that have one value for each row."
        )
    rows = next((len(values) for values in columns.values()), 0)
    if not rows:
        raise ValueError(
            f"{role}_features is empty. Pass at least one column with one value for each row."
        )
    if n_rows is not None and rows != n_rows:
        turned = " Is it transposed?" if len(columns) == n_rows else ""
        raise ValueError(
            f"{role}_features has {rows} rows, but the data have {n_rows}.{turned} "
            f"Pass one {role} value (or one row of them) for each row."
        )
    return columns


def _named_columns(source: Any, role: str) -> dict[str, NDArray[Any]]:
    if isinstance(source, Mapping):
        what = f"{role}_features"
        columns = {str(name): plain_column(values, what) for name, values in source.items()}
        if len(columns) < len(source):
            raise ValueError(f"{role}_features has columns of one name: {list(source)}.")
        return columns
    native = nw.from_native(source, pass_through=True, allow_series=True)
    if isinstance(native, nw.Series):
        return {str(native.name or role): _from_series(native)}
    if isinstance(native, nw.LazyFrame):
        raise TypeError(f"{role}_features is a lazy frame. Call .collect() on it first.")
    if isinstance(native, nw.DataFrame):
        return {str(name): _from_series(native[:, i]) for i, name in enumerate(native.columns)}
    array = plain_column(source, f"{role}_features")
    if array.ndim == 1:
        return {role: array}
    if array.ndim == 2:
        return {f"{role}{i}": column for i, column in enumerate(array.T)}
    raise ValueError(
        f"{role}_features has shape {array.shape}. Pass one column, (n,), or several, (n, r)."
    )


def plain_column(values: Any, name: str) -> NDArray[Any]:
    """An array that keeps mixed values apart: NumPy would turn ["F", 1] into text."""
    native = nw.from_native(values, pass_through=True, series_only=True)
    if isinstance(native, nw.Series):
        return _from_series(native)
    if isinstance(values, np.ma.MaskedArray):
        return np.array(values.tolist(), dtype=object)  # masked values become None
    if isinstance(values, np.ndarray):
        return values
    array = np.asarray(values, dtype=object) if isinstance(values, Iterable) else np.array(values)
    if array.ndim == 0:
        raise TypeError(f"{name} is {values!r}. Pass a column with one value for each row.")
    return array


def _from_series(series: nw.Series[Any]) -> NDArray[Any]:
    missing = series.is_null().to_numpy()
    if not missing.any():
        return np.asarray(series.to_numpy())
    values = np.empty(len(missing), dtype=object)
    values[:] = series.to_list()  # to_numpy would make floats of whole numbers
    values[missing] = None
    return values


def _factorise(values: NDArray[Any], name: str) -> tuple[list[Hashable], IntArray]:
    """The distinct values of a column, ordered, and the position of each row's value, or −1."""
    kind = values.dtype.kind
    if kind in "biufUS":
        missing = np.isnan(values) if kind == "f" else np.zeros(len(values), bool)
        return _positions(values, missing)
    if kind in "mM":  # tolist() would make numbers of them
        return _positions(values.astype(str), np.isnat(values))
    if kind == "c":
        raise TypeError(f"Column {name!r} holds complex numbers. Pass real ones or text.")
    objects = values.tolist()
    known = [not is_missing(value) for value in objects]
    try:
        distinct = {value for value, there in zip(objects, known, strict=True) if there}
    except TypeError as error:
        raise TypeError(
            f"Column {name!r} holds values that cannot be compared ({error}). "
            "Pass text, numbers, booleans or categories."
        ) from error
    try:
        ordered = sorted(distinct)
    except TypeError:  # values of several types
        ordered = sorted(distinct, key=lambda value: (type(value).__name__, str(value)))
    position = {value: i for i, value in enumerate(ordered)}
    codes = [position[value] if there else -1 for value, there in zip(objects, known, strict=True)]
    return ordered, np.array(codes, dtype=np.intp)


def _positions(values: NDArray[Any], missing: NDArray[np.bool_]) -> tuple[list[Hashable], IntArray]:
    levels, found = np.unique(values[~missing], return_inverse=True)
    codes = np.full(len(values), -1, dtype=np.intp)
    codes[~missing] = found
    return levels.tolist(), codes


def is_missing(value: Any) -> bool:
    """None, NaN, and the missing values of pandas, which compare with nothing."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _refuse_missing(missing: NDArray[np.bool_], name: str) -> None:
    if missing.any():
        rows = np.flatnonzero(missing)
        shown = ", ".join(map(str, rows[:5])) + (", …" if len(rows) > 5 else "")
        raise ValueError(
            f"Column {name!r} has {len(rows)} missing value{'s'[: len(rows) > 1]} "
            f"(row{'s'[: len(rows) > 1]} {shown}). Drop these rows, or fill the values; an "
            "estimator can make them a group of their own (missing='group') or leave them out of "
            "the constraint (missing='ignore')."
        )
