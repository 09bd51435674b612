"""Checks of input, and formatting of numbers, that the functions of an audit share."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from meanparity.data.groups import Groups


def check_probability(value: Any, name: str) -> float:
    """Return a number strictly between 0 and 1, or raise an error that names the parameter.

    Examples
    --------
    >>> check_probability(0.95, "confidence")
    0.95
    """
    if not (is_number(value) and 0 < value < 1):
        raise ValueError(f"{name}={value!r} is not between 0 and 1. Pass a number such as 0.95.")
    return float(value)


def is_number(value: Any) -> bool:
    """Whether a value is a real number; bool does not count as one."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def require_several_groups(groups: Groups) -> None:
    """Raise an error if all rows are in one group."""
    if groups.n_groups == 1:
        raise ValueError(
            f"All {groups.n_rows} rows are in one group ({groups.names[0]}), so there is nothing "
            "to compare it with. Pass rows of at least two groups."
        )


def format_number(value: float, zero: float = 0.0) -> str:
    """Format a number with four significant digits; sizes up to `zero` are shown as 0.

    Examples
    --------
    >>> format_number(12345.6), format_number(0.012345), format_number(1e-16, zero=1e-9)
    ('12,346', '0.01235', '0')
    """
    if abs(value) <= zero:
        return "0"
    # From 9999.5 on, four significant digits would be written as 1e+04.
    return f"{value:,.0f}" if abs(value) >= 9999.5 else f"{value:.4g}"
