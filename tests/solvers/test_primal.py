"""Linear functions about other origins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from meanparity.solvers import primal
from meanparity.solvers.features import LinearFeatures
from meanparity.solvers.primal import Primal, _about
from tests.solvers.conformance import SCENARIOS, state


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_functions_are_the_same_about_another_origin(sign):
    problem = state("linear", SCENARIOS["weights"]).problem
    problem = replace(problem, Y=sign * problem.Y)
    solution = Primal().solve(problem)
    shift = np.array([1e3, -2.0, 0.0, 5.0])
    moved = _about(solution, LinearFeatures(solution.basis.origin + shift))
    for end in ("fair", "free"):
        here, there = getattr(solution, end), getattr(moved, end)
        expected = solution.basis.evaluate(problem.X, here.coef) + here.intercept
        found = moved.basis.evaluate(problem.X, there.coef) + there.intercept
        assert found == pytest.approx(expected, abs=1e-9)
    first, then = solution.directions, moved.directions
    values = [
        part.basis.evaluate(problem.X, part.directions.coef[0]) + part.directions.intercept[0]
        for part in (solution, moved)
    ]
    assert values[1] == pytest.approx(values[0], abs=1e-9)
    assert then.coef is first.coef
    lost = np.max(np.abs(shift) @ np.abs(solution.fair.coef))
    rounding = solution.rounding + np.finfo(float).eps * lost
    assert moved.rounding == pytest.approx(rounding, rel=1e-12, abs=0.0)


def test_one_output_without_a_penalty_is_enough_to_need_orthogonal_steps(monkeypatch):
    calls, from_sums = [], primal._from_sums

    def watched(*args):
        calls.append(args)
        return from_sums(*args)

    monkeypatch.setattr(primal, "_from_sums", watched)
    for alpha, n_calls in (([0.5, 0.0], 0), ([0.0, 0.0], 0), ([0.5, 0.1], 1)):
        calls.clear()
        Primal().solve(state("linear", outputs=2, alpha=alpha).problem)
        assert len(calls) == n_calls
