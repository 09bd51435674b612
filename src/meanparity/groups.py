"""Sensitive columns to groups: who is in which group."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from meanparity._typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """Who is in which group.

    Every combination of values that occurs in the sensitive columns is a group; combinations that
    do not occur are absent. Groups are ordered by their labels.

    Parameters
    ----------
    codes : (n,) array of int
        Group of each row, 0 to k − 1.
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
    def from_columns(cls, sensitive_features: Any, *, n_rows: int | None = None) -> Groups:
        """Read one or several sensitive columns.

        Parameters
        ----------
        sensitive_features : array-like of shape (n,) or (n, r), data frame, series, or mapping
            NumPy array, list, pandas or polars object (anything narwhals reads), or a mapping from
            column names to columns. Values may be text, booleans, categories or numbers.
        n_rows : int, optional
            Number of rows that the columns must have.

        Raises
        ------
        ValueError
            When a value is missing or the number of rows is not `n_rows`.
        """
        groups = cls._combine(_read_columns(sensitive_features))
        if n_rows is not None and groups.n_rows != n_rows:
            turned = " Is it transposed?" if len(groups.columns) == n_rows else ""
            raise ValueError(
                f"sensitive_features has {groups.n_rows} rows, but the data have {n_rows}.{turned} "
                "Pass one sensitive value (or one row of them) for each row."
            )
        return groups

    @classmethod
    def _combine(cls, columns: Mapping[str, NDArray[Any]]) -> Groups:
        codes: IntArray | None = None
        labels: list[tuple[Hashable, ...]] = [()]
        for name, values in columns.items():
            levels, level_codes = _factorise(values, name)
            if codes is None:
                codes = np.zeros(len(values), dtype=np.intp)
            # the pairs (combination so far, level) that occur, in order
            pairs, codes = np.unique(codes * len(levels) + level_codes, return_inverse=True)
            labels = [(*labels[pair // len(levels)], levels[pair % len(levels)]) for pair in pairs]
        if codes is None or not len(codes):
            raise ValueError(
                "sensitive_features is empty. Pass at least one column with one value for each row."
            )
        codes = np.asarray(codes, dtype=np.intp)
        return cls(codes, tuple(labels), tuple(columns), np.bincount(codes, minlength=len(labels)))

    def __post_init__(self) -> None:
        for array in (self.codes, self.counts):
            array.setflags(write=False)

    def __repr__(self) -> str:
        sizes = [f"{name}: {count}" for name, count in zip(self.names, self.counts, strict=True)]
        shown = "; ".join(sizes[:8]) + ("; …" if len(sizes) > 8 else "")
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
        if len(self.columns) == 1:
            return tuple(str(label[0]) for label in self.labels)
        return tuple(
            ", ".join(
                f"{column}={value}" for column, value in zip(self.columns, label, strict=True)
            )
            for label in self.labels
        )

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


def group_sums(codes: IntArray, values: Any, k: int) -> FloatArray:
    """Sum of (n,) or (n, m) values over equal codes: (k,) or (k, m)."""
    n = len(codes)
    indicator = sparse.csr_matrix((np.ones(n), codes, np.arange(n + 1)), shape=(n, k))
    sums: FloatArray = indicator.T @ values
    return sums


def _read_columns(source: Any) -> dict[str, NDArray[Any]]:
    """Named one-dimensional columns out of whatever was passed, missing values as None."""
    if isinstance(source, Mapping):
        columns = {str(name): _plain(values) for name, values in source.items()}
        if len(columns) < len(source):
            raise ValueError(f"sensitive_features has columns of one name: {list(source)}.")
    else:
        native = nw.from_native(source, pass_through=True, allow_series=True)
        if isinstance(native, nw.Series):
            columns = {str(native.name or "sensitive"): _from_series(native)}
        elif isinstance(native, nw.LazyFrame):
            raise TypeError("sensitive_features is a lazy frame. Call .collect() on it first.")
        elif isinstance(native, nw.DataFrame):
            columns = {
                str(name): _from_series(native[:, i]) for i, name in enumerate(native.columns)
            }
        else:
            array = _plain(source)
            if array.ndim == 1:
                columns = {"sensitive": array}
            elif array.ndim == 2:
                columns = {f"sensitive{i}": column for i, column in enumerate(array.T)}
            else:
                raise ValueError(
                    f"sensitive_features has shape {array.shape}. Pass one column, (n,), or "
                    "several, (n, r)."
                )
    lengths = {name: values.shape for name, values in columns.items()}
    if len(set(lengths.values())) > 1 or any(len(shape) != 1 for shape in lengths.values()):
        raise ValueError(
            f"sensitive_features has columns of different shapes, {lengths}. "
            "Pass columns that have one value for each row."
        )
    return columns


def _plain(values: Any) -> NDArray[Any]:
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
        raise TypeError(
            f"sensitive_features is {values!r}. Pass a column with one value for each row."
        )
    return array


def _from_series(series: nw.Series[Any]) -> NDArray[Any]:
    missing = series.is_null().to_numpy()
    values = np.asarray(series.to_numpy())
    if missing.any():
        values = values.astype(object)
        values[missing] = None
    return values


def _factorise(values: NDArray[Any], name: str) -> tuple[list[Hashable], IntArray]:
    """The distinct values of a column, ordered, and the position of each row's value in them."""
    if values.dtype.kind in "biufUS":
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
        _refuse_missing(missing, name)
        levels, codes = np.unique(values, return_inverse=True)
        return levels.tolist(), codes
    if values.dtype.kind in "mM":  # tolist() would make numbers of them
        _refuse_missing(np.isnat(values), name)
        return _factorise(values.astype(str), name)
    if values.dtype.kind == "c":
        raise TypeError(f"Sensitive column {name!r} holds complex numbers. Pass real ones or text.")
    objects = values.tolist()
    _refuse_missing(np.array([_is_missing(value) for value in objects], dtype=bool), name)
    try:
        distinct = set(objects)
    except TypeError as error:
        raise TypeError(
            f"Sensitive column {name!r} holds values that cannot be compared ({error}). "
            "Pass text, numbers, booleans or categories."
        ) from error
    try:
        ordered = sorted(distinct)
    except TypeError:  # values of several types
        ordered = sorted(distinct, key=lambda value: (type(value).__name__, str(value)))
    position = {value: i for i, value in enumerate(ordered)}
    return ordered, np.array([position[value] for value in objects], dtype=np.intp)


def _is_missing(value: Any) -> bool:
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
            f"Sensitive column {name!r} has {len(rows)} missing value{'s'[: len(rows) > 1]} "
            f"(row{'s'[: len(rows) > 1]} {shown}). Drop these rows, or fill the values, "
            "for instance with a label of their own such as 'unknown'."
        )
