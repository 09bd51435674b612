"""Named columns of arrays, frames, series and mappings, and the kind of each column."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import UTC, date, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from meanparity._typing import IntArray
from meanparity.data.streams import refuse_stream

MISSING = ("error", "group", "ignore")
_SORTED_ROWS, _FEW_LEVELS = 1000, 16  # text in more rows is searched for a few values first
_COMPARED_ROWS = 8192  # rows of text that are compared at a time, few enough for the cache
_MOST_CATEGORIES = 20  # a numeric column with more distinct values is treated as a number

Columns = dict[str, NDArray[Any]]


def read_columns(source: Any, *, n_rows: int | None = None, role: str = "sensitive") -> Columns:
    """Read named one-dimensional columns; missing values become None or NaN.

    Parameters
    ----------
    source : array-like of shape (n,) or (n, r), data frame, series, or mapping
        The columns.
    n_rows : int, optional
        Number of rows that the columns must have.
    role : {"sensitive", "control"}
        What the columns are used for. It names columns that have no name, and appears in errors.
    """
    columns = _named_columns(source, role)
    shapes = {name: values.shape for name, values in columns.items()}
    if len(set(shapes.values())) > 1 or any(values.ndim != 1 for values in columns.values()):
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
        hint = " Is it transposed?" if len(columns) == n_rows else ""
        raise ValueError(
            f"{role}_features has {rows} rows, but the data have {n_rows}.{hint} "
            f"Pass one {role} value (or one row of them) for each row."
        )
    return columns


def _named_columns(source: Any, role: str) -> Columns:
    if isinstance(source, Mapping):
        named = [(name, plain_column(v, f"{role}_features")) for name, v in source.items()]
        return _unique_names(named, role)
    native = source
    if not isinstance(source, np.ndarray):
        refuse_stream(source, f"{role}_features")
        native = nw.from_native(source, pass_through=True, allow_series=True)
    if isinstance(native, nw.Series):
        return {str(native.name or role): _series_values(native)}
    if isinstance(native, nw.DataFrame):
        found = [(name, _series_values(native[:, i])) for i, name in enumerate(native.columns)]
        return _unique_names(found, role)
    array = plain_column(source, f"{role}_features")
    if array.ndim == 1:
        return {role: array}
    if array.ndim == 2:
        return {f"{role}{i}": column for i, column in enumerate(array.T)}
    raise ValueError(
        f"{role}_features has shape {array.shape}. Pass one column, (n,), or several, (n, r)."
    )


def _unique_names(named: Sequence[tuple[Any, NDArray[Any]]], role: str) -> Columns:
    """Columns by name as text; two columns whose names read the same are refused."""
    names = [name for name, _ in named]
    columns: Columns = {}
    for name, values in named:
        text = str(name)
        if text in columns:
            first = names[list(columns).index(text)]
            raise ValueError(
                f"{role}_features has the columns {first!r} and {name!r}, which are both named "
                f"{text!r} as text. Rename one of them."
            )
        columns[text] = values
    return columns


def plain_column(values: Any, name: str) -> NDArray[Any]:
    """A column as an array that keeps mixed values: NumPy would turn ["F", 1] into text."""
    if isinstance(values, np.ma.MaskedArray):
        return np.array(values.tolist(), dtype=object)  # masked values become None
    if isinstance(values, np.ndarray):
        return values
    native = nw.from_native(values, pass_through=True, series_only=True)
    if isinstance(native, nw.Series):
        return _series_values(native)
    array = np.asarray(values, dtype=object) if isinstance(values, Iterable) else np.array(values)
    if array.ndim == 0:
        raise TypeError(f"{name} is {values!r}. Pass a column with one value for each row.")
    return array


def _series_values(series: nw.Series[Any]) -> NDArray[Any]:
    missing = series.is_null().to_numpy()
    if not missing.any():
        return np.asarray(series.to_numpy())
    values = np.empty(len(missing), dtype=object)
    values[:] = series.to_list()  # to_numpy would turn integers into floats
    values[missing] = None
    return values


def match_columns(columns: Columns, names: tuple[str, ...], role: str) -> Columns:
    """The columns under the names, and in the order, that they had in fit."""
    if set(columns) == set(names):
        return {name: columns[name] for name in names}
    unnamed = _are_numbered(columns, role) or _are_numbered(names, role)
    if unnamed and len(columns) == len(names):
        return dict(zip(names, columns.values(), strict=True))
    raise ValueError(
        f"{role}_features has the columns {list(columns)}, but fit saw {list(names)}. Pass these."
    )


def _are_numbered(names: Iterable[str], role: str) -> bool:
    """Whether the columns came without names."""
    return all(re.fullmatch(rf"{role}\d*", name) for name in names)


def read_levels(columns: Columns, missing: str) -> tuple[list[list[Hashable]], IntArray]:
    """The sorted distinct values of each column, and the position of every value: (n, r).

    Missing values have position −1; with ``missing="error"`` they are refused.
    """
    if missing not in MISSING:
        raise ValueError(f"missing={missing!r} is not known. Pass one of {', '.join(MISSING)}.")
    levels, codes = [], []
    for name, values in columns.items():
        found, positions = _factorize(values, name)
        if missing == "error" and values.dtype.kind not in "biuUS" and positions.min() < 0:
            _refuse_missing(np.flatnonzero(positions < 0), name)
        levels.append(found)
        codes.append(positions)
    return levels, codes[0][:, None] if len(codes) == 1 else np.stack(codes, axis=1)


def _factorize(values: NDArray[Any], name: str) -> tuple[list[Hashable], IntArray]:
    """The distinct values of a column, sorted, and the position of each row's value, or −1."""
    kind = values.dtype.kind
    if kind in "mM":
        found, codes = _factorize_present(values.astype(np.int64), np.isnat(values))
        return np.array(found, dtype=np.int64).astype(values.dtype).astype(str).tolist(), codes
    if kind in "biuUS":
        return _factorize_known(values)
    if kind == "f":
        return _factorize_present(values, np.isnan(values))
    if kind == "c":
        raise TypeError(f"Column {name!r} holds complex numbers. Pass real numbers or text.")
    return _factorize_objects(values.tolist(), name)


def _factorize_present(
    values: NDArray[Any], missing: NDArray[np.bool_]
) -> tuple[list[Hashable], IntArray]:
    if not missing.any():
        return _factorize_known(values)
    levels, positions = _factorize_known(values[~missing])
    codes = np.full(len(values), -1, dtype=np.intp)
    codes[~missing] = positions
    return levels, codes


def _factorize_known(values: NDArray[Any]) -> tuple[list[Hashable], IntArray]:
    """The same without missing values; few distinct values are found without sorting all rows."""
    kind, n = values.dtype.kind, len(values)
    if kind in "biu" and n:
        whole = values.view(np.uint8) if kind == "b" else values
        low, high = whole.min(), whole.max()
        if int(high) - int(low) <= 4 * n + 1000:
            steps = (whole - low if low else whole).astype(np.intp, copy=False)
            counts = np.bincount(steps)
            found = np.flatnonzero(counts)
            distinct = (found.astype(whole.dtype) + low).astype(values.dtype).tolist()
            if len(found) == len(counts):
                return distinct, steps
            position = np.zeros(len(counts), dtype=np.intp)
            position[found] = np.arange(len(found))
            return distinct, position[steps]
    if kind in "US" and n > _SORTED_ROWS:
        few = _few_texts(np.ascontiguousarray(values))
        if few is not None:
            return few
    distinct, positions = np.unique(values, return_inverse=True)
    return distinct.tolist(), positions


def _few_texts(values: NDArray[Any]) -> tuple[list[Hashable], IntArray] | None:
    """The distinct values of a column of text and the position of each row's, if they are few.

    The values of a sample of the rows differ in some of their letters. These letters say which
    value a row should have, and all letters are compared with that value.
    """
    unit = next(size for size in (8, 4, 1) if values.dtype.itemsize % size == 0)
    words = values.view(f"u{unit}").reshape(len(values), -1)
    levels = np.unique(values[:: len(values) // _SORTED_ROWS])
    while len(levels) <= _FEW_LEVELS:
        known = levels.view(words.dtype).reshape(len(levels), -1)
        codes, wrong = np.empty(len(values), dtype=np.intp), list[NDArray[Any]]()
        columns, keys = _telling_columns(known)
        if len(np.unique(keys)) < len(levels):
            return None
        for start in range(0, len(values), _COMPARED_ROWS):
            part = slice(start, start + _COMPARED_ROWS)
            row_keys, found = _keys(words[part], columns), codes[part]
            found[:] = 0
            for level, key in enumerate(keys[1:], start=1):  # faster than a search for a few
                found += level * (row_keys == key)
            same = words[part] == known.take(found, axis=0)
            if not same.all():
                wrong.append(values[part][~same.all(axis=1)])
        if not wrong:
            return levels.tolist(), codes
        levels = np.union1d(levels, np.concatenate(wrong)[:_SORTED_ROWS])
    return None


def _telling_columns(known: NDArray[Any]) -> tuple[IntArray, NDArray[np.uint64]]:
    """Columns in which k rows of words, (k, w), differ, and the key of each row in them.

    The keys differ as well, unless somebody has chosen the words so that they do not.
    """
    kinds = [len(np.unique(column)) for column in known.T]
    columns = np.zeros(0, dtype=np.intp)
    for column in np.argsort(kinds)[::-1]:
        columns = np.append(columns, column)
        keys = _keys(known, columns)
        if len(np.unique(keys)) == len(known):
            break
    return columns, keys


def _keys(words: NDArray[Any], columns: IntArray) -> NDArray[np.uint64]:
    """One number for the words in some columns; different words may have the same."""
    keys = words[:, columns[0]].astype(np.uint64)
    for column in columns[1:]:
        keys = keys * np.uint64(0x9E3779B97F4A7C15) + words[:, column].astype(np.uint64)
    return keys


def _factorize_objects(values: list[Any], name: str) -> tuple[list[Hashable], IntArray]:
    try:
        everything = set(values)
        distinct = {value for value in everything if not is_missing(value)}
    except TypeError as error:
        raise TypeError(
            f"Column {name!r} holds values that cannot be compared ({error}). "
            "Pass text, numbers, booleans or categories."
        ) from error
    try:
        ordered = sorted(distinct)
    except TypeError:  # values of several types
        ordered = sorted(distinct, key=lambda value: (type(value).__name__, str(value)))
    labels = [_plain_label(value) for value in ordered]
    levels = list(dict.fromkeys(labels))
    number = {level: i for i, level in enumerate(levels)}
    position = dict.fromkeys(everything - distinct, -1)
    position |= {value: number[label] for value, label in zip(ordered, labels, strict=True)}
    return levels, np.fromiter(map(position.__getitem__, values), np.intp, len(values))


def _plain_label(value: Any) -> Hashable:
    """A value as a number or text, which files can hold: intervals, dates and so on as text."""
    if type(value) in (str, int, float, bool, tuple):
        return value  # type: ignore[no-any-return]
    if isinstance(value, date | timedelta):
        value = _as_numpy(value)
    if isinstance(value, np.generic):
        return str(np.asarray(value).astype(str)) if value.dtype.kind in "mM" else value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real | Decimal):
        return float(value)
    return str(value)


def _as_numpy(value: Any) -> Any:
    """A date or duration as the scalar that a column of NumPy would have, in UTC."""
    if hasattr(value, "to_numpy"):  # of pandas, which knows finer units
        return value.to_numpy()
    if getattr(value, "tzinfo", None) is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return np.timedelta64(value) if isinstance(value, timedelta) else np.datetime64(value)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or a missing value of pandas."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _refuse_missing(rows: IntArray, name: str) -> None:
    shown = ", ".join(map(str, rows[:5])) + (", …" if len(rows) > 5 else "")
    raise ValueError(
        f"Column {name!r} has {len(rows)} missing value{'s'[: len(rows) > 1]} "
        f"(row{'s'[: len(rows) > 1]} {shown}). Drop these rows, or fill in the values. A "
        "constraint can also make them a group of their own (missing='group') or leave them out "
        "of the comparison (missing='ignore')."
    )


def are_numbers(values: Sequence[Hashable], *, booleans: bool = False) -> bool:
    """Whether all values are numbers; bool does not count as a number unless `booleans` is set."""
    kinds = set(map(type, values))
    if bool in kinds and not booleans:
        return False
    return all(issubclass(kind, Real | Decimal) for kind in kinds)


def require_numbers(name: str, values: Sequence[Any]) -> None:
    """Refuse a column whose values are not finite numbers."""
    if are_numbers(values) and np.isfinite(np.array(values, dtype=float)).all():
        return
    wrong = [v for v in values if not are_numbers([v]) or not np.isfinite(float(v))]
    raise ValueError(
        f"Sensitive column {name!r} is treated as a number, but holds {wrong[0]!r}. Pass finite "
        "numbers, or leave the column out of continuous."
    )


def is_continuous(values: Sequence[Hashable], n_known: int) -> bool:
    """Whether a column with these distinct values is a number rather than a category."""
    if not values or not are_numbers(values):
        return False
    if len(values) > _MOST_CATEGORIES:
        return True
    fractions = any(not float(value).is_integer() for value in values)  # type: ignore[arg-type]
    return fractions and 2 * len(values) > n_known


def continuous_names(continuous: Any, sensitive: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the columns that a list of names and positions selects."""
    names = []
    for column in [continuous] if np.ndim(continuous) == 0 else continuous:
        position = find_column(column, len(sensitive), sensitive)
        if position is None:
            raise ValueError(
                f"continuous holds {column!r}, but the sensitive columns are {list(sensitive)}. "
                "Pass names or positions of these, 'auto', or [] if all are categories."
            )
        names.append(sensitive[position])
    return tuple(dict.fromkeys(names))


def find_column(column: Any, n_columns: int, names: Sequence[str] | None) -> int | None:
    """The position of a column that is given by name or position; None if there is none."""
    if isinstance(column, str):
        return names.index(column) if names is not None and column in names else None
    if is_position(column) and -n_columns <= column < n_columns:
        return int(column) % n_columns
    return None


def is_position(column: Any) -> bool:
    """Whether this is an integer; bool does not count as one."""
    return isinstance(column, Integral) and not isinstance(column, bool)
