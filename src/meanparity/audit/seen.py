"""Whether rows were already seen in fit, whatever their types and precision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import gen_batches

from meanparity._typing import FloatArray, IntArray
from meanparity.data.columns import are_numbers, is_missing, plain_column, read_levels
from meanparity.data.features import FeatureLayout, shape_of


def refuse_training_rows(X: Any, X_train: Any) -> None:
    """Raise an error if rows of X are among those of fit, or if these are not known."""
    if X_train is None:
        raise ValueError(
            "Whether rows of X were used in fit is not known. Pass the rows used in fit as "
            "X_train, or unseen=True if none of X is among them."
        )
    train, rows = _comparable(X_train, X)
    known = set(_row_bytes(train))
    repeated = [row in known for row in _row_bytes(rows)]
    if any(repeated):
        raise ValueError(
            f"{sum(repeated)} of {len(repeated)} rows of X were used in fit, where parity says "
            "nothing about other rows. Pass rows that were held out, or unseen=True if these are "
            "different people with the same features."
        )


def _comparable(X_train: Any, X: Any) -> tuple[Any, Any]:
    """Both tables as arrays or sparse matrices of numbers, in which equal rows are equal."""
    layout = FeatureLayout.from_table(X_train)
    try:
        train, rows = (layout.read(table) for table in (X_train, X))
    except (TypeError, ValueError) as error:  # TypeError: dates of polars
        told = ("X holds text", "X holds dates", "contains NaN")
        if isinstance(error, ValueError) and not any(text in str(error) for text in told):
            raise
        return _cell_codes(layout, X_train, layout.select(X))
    if not (issparse(train) or issparse(rows)):
        return _in_equal_precision(train, rows)
    train, rows = csr_array(train, dtype=np.float64), csr_array(rows, dtype=np.float64)
    entries = _in_equal_precision(train.data[:, None], rows.data[:, None])
    for matrix, values in zip((train, rows), entries, strict=True):
        matrix.data = values[:, 0]
    return train, rows


def _cell_codes(layout: FeatureLayout, X_train: Any, X: Any) -> tuple[IntArray, IntArray]:
    """A code for each cell of tables with text or missing values, equal for equal cells."""
    every = replace(layout, sensitive=tuple(range(layout.n_columns)))
    before, after = every.sensitive_values(X_train), every.sensitive_values(X)
    codes = []
    for (name, first), second in zip(before.items(), after.values(), strict=True):
        parts = tuple(_cells(plain_column(part, str(name))) for part in (first, second))
        kinds = {part.dtype.kind for part in parts}
        if kinds <= set("biuf"):
            numbers = _in_equal_precision(parts[0][:, None], parts[1][:, None])
            parts = numbers[0][:, 0], numbers[1][:, 0]
        elif len(kinds) > 1:
            parts = parts[0].astype(object), parts[1].astype(object)
        codes.append(read_levels({str(name): np.concatenate(parts)}, "group")[1])
    table = np.hstack(codes)
    n_train = len(table) - shape_of(X)[0]
    return table[:n_train], table[n_train:]


def _cells(values: NDArray[Any]) -> NDArray[Any]:
    """A column; numbers with missing values become an array of numbers with NaN."""
    if values.dtype.kind != "O":
        return values
    known = np.array([not is_missing(value) for value in values], dtype=bool)
    if not are_numbers(values[known].tolist(), booleans=True):
        return values
    numbers = np.full(len(values), np.nan)
    numbers[known] = values[known].astype(np.float64)
    return numbers


def _in_equal_precision(a: Any, b: Any) -> tuple[FloatArray, FloatArray]:
    """Columns of numbers, (n, d) and (m, d), in double precision.

    A column that is in single precision on one side is rounded to it on the other.
    """
    a, b = np.array(a, dtype=np.float64), np.array(b, dtype=np.float64)
    rounded = _in_single_precision(a), _in_single_precision(b)
    single = ((rounded[0] == a) | np.isnan(a)).all(axis=0)
    single |= ((rounded[1] == b) | np.isnan(b)).all(axis=0)
    return np.where(single, rounded[0], a), np.where(single, rounded[1], b)


def _in_single_precision(values: FloatArray) -> FloatArray:
    """Numbers rounded to the 24 bits of single precision, without its limits on size."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(mantissa * 2.0**24), exponent - 24))


def _row_bytes(X: Any) -> Iterator[bytes]:
    """The rows of X as bytes, which are equal for equal rows."""
    for batch in gen_batches(X.shape[0], 4096):
        rows = X[batch].toarray() if issparse(X) else X[batch]
        yield from map(bytes, np.ascontiguousarray(rows + 0.0))  # -0.0 becomes 0.0
