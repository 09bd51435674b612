"""Checks of input, and formatting of numbers, that the functions of an audit share."""

from __future__ import annotations

import math
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


def format_interval(low: float, high: float, zero: float = 0.0) -> tuple[str, str]:
    """Format both ends with the same decimals, which show three digits of their distance.

    An end that is not zero has up to three decimals more rather than being shown as zero.

    Examples
    --------
    >>> format_interval(-0.0006827, 0.06467), format_interval(-0.00002, 0.06467)
    (('-0.0007', '0.0647'), ('-0.00002', '0.06467'))
    >>> format_interval(61_820.3, 68_004.9), format_interval(1e-16, 2e-16, zero=1e-9)
    (('61,820', '68,005'), ('0', '0'))
    """
    ends = [0.0 if abs(end) <= zero else float(end) for end in (low, high)]
    width, size = ends[1] - ends[0], max(map(abs, ends))
    if not max(1e-300, 1e-12 * size) < width < math.inf:
        return format_number(low, zero), format_number(high, zero)
    exponent = math.floor(math.log10(size)) if size < 1e-4 else 0
    ends = [end / 10.0**exponent for end in ends]
    least = 2 - math.floor(math.log10(width / 10.0**exponent))
    needed = max(-math.floor(math.log10(abs(end))) for end in ends if end)
    decimals = max(least, min(needed, least + 3), 0)
    comma, power = "," if size >= 9999.5 else "", f"e{exponent:03d}" if exponent else ""
    return f"{ends[0]:z{comma}.{decimals}f}{power}", f"{ends[1]:z{comma}.{decimals}f}{power}"
