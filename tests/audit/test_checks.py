"""Numbers as people read them, and probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meanparity.audit.checks import check_probability, format_interval, format_number


def test_numbers_have_four_significant_digits():
    assert format_number(0.0123456) == "0.01235"
    assert format_number(-3.14159) == "-3.142"
    assert format_number(9999.4) == "9999"
    for value in (9999.5, 9999.6, 10_000):
        assert format_number(value) == "10,000"
    assert format_number(-10_000.4) == "-10,000"
    assert format_number(1_234_567.8) == "1,234,568"
    assert format_number(0.0) == "0"


def test_sizes_up_to_rounding_are_zero():
    for value in (1e-9, -1e-9, 9e-10):
        assert format_number(value, zero=1e-9) == "0"
    for value in (2e-9, -2e-9):
        assert format_number(value, zero=1e-9) == f"{value:.4g}"
    assert format_number(2e-9) == "2e-09"


def test_both_ends_of_an_interval_have_the_same_decimals():
    assert format_interval(-0.0006827, 0.06467) == ("-0.0007", "0.0647")
    assert format_interval(-1, 2.5) == ("-1.00", "2.50")
    assert format_interval(0.0, 0.3) == ("0.000", "0.300")
    assert format_interval(-683.4, 64_650.1) == ("-683", "64,650")
    assert format_interval(1200.04, 1200.16) == ("1200.040", "1200.160")
    assert format_interval(-0.00002, 0.06467) == ("-0.00002", "0.06467")
    assert format_interval(-1e-12, 0.5) == ("0.000000", "0.500000")  # no sign without a digit
    assert format_interval(2e-12, 3e-12) == ("2.00e-12", "3.00e-12")
    assert format_interval(-6.827e-06, 6.465e-05) == ("-0.68e-05", "6.46e-05")
    assert format_interval(0.25, 0.25) == ("0.25", "0.25")
    assert format_interval(1e-12, 0.5, zero=1e-9) == ("0.000", "0.500")
    assert format_interval(-1e-12, 1e-12, zero=1e-9) == ("0", "0")


ENDS = st.floats(-1e9, 1e9)


@given(ENDS, ENDS)
def test_an_interval_is_as_precise_as_its_width(one, other):
    low, high = sorted((one, other))
    width = high - low
    shown = format_interval(low, high)
    if width <= max(1e-300, 1e-12 * max(abs(low), abs(high))):
        assert shown == (format_number(low), format_number(high))
        return
    parts = [text.replace(",", "").partition("e") for text in shown]
    assert parts[0][2] == parts[1][2]
    decimals = {len(digits.partition(".")[2]) for digits, _, _ in parts}
    assert len(decimals) == 1
    unit = 10.0 ** (int(parts[0][2] or 0) - decimals.pop())
    for end, (digits, _, power) in zip((low, high), parts, strict=True):
        assert abs(float(f"{digits}e{power or 0}") - end) <= unit * (0.5 + 1e-6) + 1e-15 * abs(end)
    assert unit <= width / 99 or unit == 1  # three digits of the width, or whole numbers
    assert width <= 1.001e6 * unit or unit == 1


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, -0.5, 2, np.nan, True, np.True_, "0.5", None])
def test_only_numbers_between_zero_and_one_are_probabilities(value):
    with pytest.raises(ValueError, match=r"power=.* is not between 0 and 1"):
        check_probability(value, "power")


@pytest.mark.parametrize("value", [0.5, 1e-12, 1 - 1e-12, np.float32(0.25)])
def test_probabilities_are_returned_as_python_numbers(value):
    found = check_probability(value, "power")
    assert type(found) is float
    assert found == value
