"""What the columns of a table hold, and that other tables hold the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_FEW = 40  # values up to which a text column is one of categories
_CELLS = (list, dict, set, tuple, bytes, np.ndarray)


def kinds_of(frame: Any, columns: Sequence[str]) -> dict[str, str]:
    """For each column "number", "date" or "text"."""
    found = {}
    for name in columns:
        column = frame[name]
        odd = None
        if column.dtype.kind == "O":
            odd = next((value for value in column if isinstance(value, _CELLS)), None)
        if odd is not None:
            raise ValueError(
                f"The column {name!r} holds cells of type {type(odd).__name__}. Leave it out, or "
                "turn it into text or numbers."
            )
        kind = column.dtype.kind
        found[name] = "number" if kind in "biuf" else "date" if kind in "mM" else "text"
    return found


def conformed(frame: Any, kinds: Mapping[str, str], name: str) -> Any:
    """The columns that a model needs, as it knows them.

    Parameters
    ----------
    frame : data frame
        A table that has them.
    kinds : mapping
        What each has to hold.
    name : str
        What the table is called.
    """
    import pandas as pd

    found = {}
    for column, kind in kinds.items():
        values = frame[column]
        if kind == "text" and values.dtype.kind in "biuf":
            values = values.map(_as_text).astype("str")
        elif kind != "text" and values.dtype.kind not in "biufmM":
            turn = pd.to_numeric if kind == "number" else pd.to_datetime
            turned = turn(values, errors="coerce")
            bad = values[turned.isna() & values.notna()]
            if len(bad):
                raise ValueError(
                    f"{name} has {bad.iloc[0]!r} in the column {column!r}, which holds {kind}s "
                    "where the model was fitted."
                )
            values = turned
        if kind == "number":
            refuse_infinite(values, column, name)
        found[column] = values
    return pd.DataFrame(found, index=frame.index)


def refuse_infinite(values: Any, column: str, name: str) -> None:
    """Refuse numbers that are none."""
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    with np.errstate(over="ignore"):
        infinite = np.isinf(numbers.astype(np.float32))
    if infinite.any():
        row = int(np.flatnonzero(infinite)[0])
        raise ValueError(
            f"{name} has {float(numbers[row])!r} in the column {column!r}, row {row + 1}. Correct "
            "it, or empty the cell."
        )


def categories_of(frame: Any, kinds: Mapping[str, str]) -> dict[str, list[str]]:
    """The values of text columns that have few of them."""
    found = {}
    for column, kind in kinds.items():
        if kind == "text" and frame[column].nunique() <= _FEW:
            found[column] = sorted(str(value) for value in frame[column].dropna().unique())
    return found


def new_values(frame: Any, categories: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Values of text columns that are not among the known ones."""
    found = {}
    for column, known in categories.items():
        new = {str(value) for value in frame[column].dropna().unique()} - set(known)
        if new:
            found[column] = sorted(new)
    return found


def _as_text(value: Any) -> Any:
    """A number that stands for a category: 1.0, in a column with empty cells, is 1."""
    if value is None or value != value:
        return None
    return str(int(value)) if float(value).is_integer() else str(value)
