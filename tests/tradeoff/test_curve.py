"""Frontiers: what they contain and print."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from meanparity.tradeoff.curve import Frontier, StepSums


def test_a_frontier_shows_both_ends_with_four_digits():
    names = [name for name in inspect.signature(Frontier).parameters if name != "budget"]
    values = {name: np.array([1.23456, 0.5, 987654.0]) for name in names}
    ends = "; ".join(f"{name} 1.235 to 9.877e+05" for name in names)
    assert repr(Frontier(budget="smd", **values)) == f"Frontier('smd', 3 points; {ends})"


@pytest.mark.parametrize(("variance", "r2"), [(4.0, 0.25), (0.0, np.nan)])
def test_a_frontier_of_constant_targets_has_no_r2(variance, r2):
    errors = np.array([[[3.0, 1.0], [1.0, 2.0]]])  # products of the errors and of one step
    free, steps = np.array([[1.0], [-4.0]]), np.array([[[2.0], [1.0]]])
    sums = StepSums(errors, np.array([variance]), free, steps)
    found = sums.frontier("smd", np.array([0.3]), np.array([[[-1.0]]]))
    assert found.mse == pytest.approx([3 - 2 + 2])
    assert found.r2 == pytest.approx([r2], nan_ok=True)
    assert (found.smd, found.max_gap) == (pytest.approx([6.0]), pytest.approx([3.0]))
