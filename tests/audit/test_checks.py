"""Numbers as people read them, and probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from meanparity.audit.checks import check_probability, format_number


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


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, -0.5, 2, np.nan, True, np.True_, "0.5", None])
def test_only_numbers_between_zero_and_one_are_probabilities(value):
    with pytest.raises(ValueError, match=r"power=.* is not between 0 and 1"):
        check_probability(value, "power")


@pytest.mark.parametrize("value", [0.5, 1e-12, 1 - 1e-12, np.float32(0.25)])
def test_probabilities_are_returned_as_python_numbers(value):
    found = check_probability(value, "power")
    assert type(found) is float
    assert found == value
