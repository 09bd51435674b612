"""Functions of sensitive numbers: knots and powers."""

from __future__ import annotations

import numpy as np
import pytest

from meanparity.constraints import MeanParity
from meanparity.constraints.numbers import orthogonal_powers
from meanparity.data.rows import Rows


def test_knots_are_quantiles_of_rows_that_have_weight():
    age = [1.0, 30.0, 40.0, 50.0, 99.0]
    weights = np.array([0.0, 1.0, 1.0, 1.0, 0.0])
    rows = Rows.from_columns({"age": age}, sample_weight=weights, continuous=["age"])
    settled = MeanParity(degree=1, n_knots=3, continuous=["age"]).settle(rows)
    assert settled.knots_ == (("age", (30.0, 40.0, 50.0)),)


@pytest.mark.parametrize(("values", "count"), [([3.0], 1), ([0.0, 2.0], 2), ([0.0, 1.0, 5.0], 3)])
@pytest.mark.parametrize("degree", [1, 2, 9])
def test_there_are_no_more_powers_than_values(values, count, degree):
    values = np.repeat(values, 4)
    powers = orthogonal_powers(values, degree)
    assert powers.shape == (len(values), min(count, degree + 1))
    assert powers.T @ powers == pytest.approx(np.eye(powers.shape[1]), abs=1e-12)
    raw = np.stack([values**j for j in range(powers.shape[1])], axis=1)
    assert powers @ (powers.T @ raw) == pytest.approx(raw)  # they span the same functions
