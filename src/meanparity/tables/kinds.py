"""What kind of values columns contain, and converting columns of other tables to these kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from meanparity._typing import FloatArray

_MOST_CATEGORIES = 100  # a text column with more values is not treated as categories
_LARGEST = 1e38  # squares of larger numbers are infinite, or nearly so
_CODE = r"\s*[+-]?0[0-9]"  # a number with leading zeros
_UNSUPPORTED = (list, dict, set, tuple, bytes, np.ndarray)


def column_kinds(frame: pd.DataFrame, columns: Sequence[str]) -> dict[str, str]:
    """Return "number", "date" or "text" for each column.

    Examples
    --------
    >>> column_kinds(pd.DataFrame({"pay": [1.5, None], "job": ["a", "b"]}), ["pay", "job"])
    {'pay': 'number', 'job': 'text'}
    """
    kinds = {}
    for name in columns:
        kind = frame[name].dtype.kind
        kinds[name] = "number" if kind in "biuf" else "date" if kind in "mM" else "text"
        if kind == "O":
            bad = next((cell for cell in frame[name] if isinstance(cell, _UNSUPPORTED)), None)
            if bad is not None:
                raise ValueError(
                    f"The column {name!r} contains cells of type {type(bad).__name__}. Leave the "
                    "column out, or convert it to text or numbers."
                )
    return kinds


def parse_cells(values: pd.Series, kind: str) -> tuple[pd.Series, pd.Series]:
    """Convert a column of text to numbers or dates; other columns stay as they are.

    Returns the converted column, and the cells of the given one that could not be converted.
    """
    if values.dtype.kind in "biufmM":
        return values, values[:0]
    parse = pd.to_numeric if kind == "number" else pd.to_datetime
    parsed = parse(values, errors="coerce")
    bad = parsed.isna() & values.notna()
    if kind == "number":  # codes such as 007, which are not 7
        bad |= values.astype(str).str.match(_CODE).to_numpy(dtype=bool)
    return parsed, values[bad]


def convert_columns(frame: pd.DataFrame, kinds: Mapping[str, str], name: str) -> pd.DataFrame:
    """Return the columns that a model needs, converted to the kinds that it was fitted with.

    Parameters
    ----------
    frame : data frame
        A table that contains these columns. Its index counts the rows of the table from 0, so that
        error messages can name a row.
    kinds : mapping of str to str
        Kind of each column, as returned by `column_kinds`.
    name : str
        Name of the table in error messages.
    """
    converted = {}
    for column, kind in kinds.items():
        values = frame[column]
        if kind != "text":
            values, bad = parse_cells(values, kind)
            if len(bad):
                raise ValueError(
                    f"{name} has {bad.iloc[0]!r} in the column {column!r}, row {bad.index[0] + 1}, "
                    f"but the model was fitted to {kind}s here. Correct or empty the cell."
                )
        elif values.dtype.kind in "biuf":
            values = values.map(_number_as_text).astype("str")
        if kind == "number":
            values = pd.Series(finite_numbers(values, column, name), values.index)
        elif kind == "text":
            values = values.astype(object).where(values.notna(), np.nan)
        converted[column] = values
    return pd.DataFrame(converted, index=frame.index)


def finite_numbers(values: pd.Series, column: str, name: str) -> FloatArray:
    """Return a numeric column as an array, with NaN where a cell is empty: (n,)."""
    numbers: FloatArray = values.to_numpy(dtype=np.float64, na_value=np.nan)
    infinite = np.abs(numbers) > _LARGEST
    if infinite.any():
        first = int(infinite.argmax())
        raise ValueError(
            f"{name} has {float(numbers[first])!r} in the column {column!r}, row "
            f"{values.index[first] + 1}, which is infinite or too large. Correct or empty the cell."
        )
    return numbers


def text_categories(frame: pd.DataFrame, kinds: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the values of the text columns that have few of them."""
    return {
        column: sorted(_distinct_texts(frame[column]))
        for column, kind in kinds.items()
        if kind == "text" and frame[column].nunique() <= _MOST_CATEGORIES
    }


def unknown_categories(
    frame: pd.DataFrame, categories: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Return the values of these text columns that are not among the known categories."""
    unknown = {
        column: sorted(_distinct_texts(frame[column]) - set(known))
        for column, known in categories.items()
    }
    return {column: values for column, values in unknown.items() if values}


def _distinct_texts(values: pd.Series) -> set[str]:
    return {str(value) for value in values.dropna().unique()}


def _number_as_text(value: Any) -> Any:
    """A number as the text of a category: 1.0, as read from a column with empty cells, is "1"."""
    if pd.isna(value):
        return None
    return str(int(value)) if float(value).is_integer() else str(value)


def with_columns(frame: pd.DataFrame, columns: Mapping[str, Any] | pd.DataFrame) -> pd.DataFrame:
    """A frame in which some columns are replaced, whatever they are called.

    Examples
    --------
    >>> frame = pd.DataFrame({"self": [1], "other": [2]})
    >>> with_columns(frame, {"self": [3]}).to_dict("list"), frame["self"].tolist()
    ({'self': [3], 'other': [2]}, [1])
    """
    replaced = frame.copy(deep=False)
    for name, values in columns.items():
        replaced[name] = values
    return replaced
