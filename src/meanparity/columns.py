"""Which sensitive columns are numbers, and which column of other rows is which."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FEW = 20  # a column of numbers with more values than this is a number and no category


def are_numbers(values: Sequence[Hashable]) -> bool:
    """Whether all values are numbers; True and False are none."""
    types = set(map(type, values))
    return all(issubclass(t, Real | Decimal) and not issubclass(t, bool | np.bool_) for t in types)


def require_numbers(name: str, values: Sequence[Any]) -> None:
    """Refuse a column whose values are no finite numbers."""
    if are_numbers(values) and np.isfinite(np.array(values, dtype=float)).all():
        return
    odd = [v for v in values if not are_numbers([v]) or not np.isfinite(float(v))]
    raise ValueError(
        f"Sensitive column {name!r} is read as a number, but holds {odd[0]!r}. Pass finite "
        "numbers, or leave it out of continuous."
    )


def is_continuous(values: Sequence[Hashable], n_known: int) -> bool:
    """Whether a column with these values is a number rather than a category."""
    if not values or not are_numbers(values):
        return False
    fractions = any(not float(value).is_integer() for value in values)  # type: ignore[arg-type]
    return len(values) > _FEW or (fractions and 2 * len(values) > n_known)


def chosen(continuous: Any, sensitive: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the columns that a list of names and positions means."""
    wanted: list[Any] = [continuous] if np.ndim(continuous) == 0 else list(continuous)
    names = []
    for column in wanted:
        if isinstance(column, str) and column in sensitive:
            names.append(column)
        elif _is_position(column) and -len(sensitive) <= column < len(sensitive):
            names.append(sensitive[column])
        else:
            raise ValueError(
                f"continuous holds {column!r}, but the sensitive columns are {list(sensitive)}. "
                "Pass names or positions of these, 'auto', or [] if all are categories."
            )
    return tuple(dict.fromkeys(names))


def _is_position(column: Any) -> bool:
    """Whether this is a whole number; True is none."""
    return isinstance(column, Integral) and not isinstance(column, bool | np.bool_)


def same_columns(
    columns: dict[str, NDArray[Any]], names: tuple[str, ...], role: str
) -> dict[str, NDArray[Any]]:
    """Columns under the names and in the order they had in fit."""
    if set(columns) == set(names):
        return {name: columns[name] for name in names}
    numbered = _have_no_names(columns, role) or _have_no_names(names, role)
    if numbered and len(columns) == len(names):
        return dict(zip(names, columns.values(), strict=True))
    raise ValueError(
        f"{role}_features has the columns {list(columns)}, but fit saw {list(names)}. Pass these."
    )


def _have_no_names(columns: Any, role: str) -> bool:
    """Whether columns came without names and were numbered."""
    return all(
        name == role or (name.startswith(role) and name[len(role) :].isdigit()) for name in columns
    )
