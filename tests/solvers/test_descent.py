"""Steps of descent, one by one."""

from __future__ import annotations

import numpy as np
import pytest

from meanparity.constraints import Functionals
from meanparity.losses import Logistic, Squared
from meanparity.solvers.descent import Descent, DescentSettings, _line_search, minimise
from meanparity.solvers.problem import ConstrainedProblem
from meanparity.solvers.spaces import ColumnFunctions


def descent(X, y, loss, alpha=0.0):
    n = len(y)
    problem = ConstrainedProblem(X, y[:, None], np.array([alpha]), Functionals.none(n), False)
    space = ColumnFunctions.prepare(problem)
    return Descent(space, loss, y, np.ones(n), alpha, lambda scores: 0.0, "free")


@pytest.mark.parametrize("share", [0.01, 0.5, 0.85, 0.95, 3.0, 50.0])
def test_a_line_search_finds_where_the_slope_is_a_tenth(share):
    """A step of this share of the way to the minimum of a parabola, which is at 1 / share."""
    stated = descent(np.ones((1, 1)), np.ones(1), Squared())
    step = np.array([share])
    t = _line_search(stated, (np.zeros(1), np.zeros(1), 0.0), (step, step, 0.0))
    assert abs(1 - t * share) <= 0.1


@pytest.mark.parametrize("optimizer", ["newton", "lbfgs"])
def test_a_descent_that_starts_at_the_minimum_stays_there(optimizer):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 3)), rng.integers(0, 2, 50).astype(float)
    stated = descent(X, y, Logistic(), 1.0)
    settings = DescentSettings(optimizer, 5000, 1e-14)
    first = minimise(stated, settings, np.zeros(3), 0.0)
    again = minimise(stated, settings, first.c, first.b)
    assert first.converged
    assert again.converged
    assert again.n_iter <= 7
    assert np.abs(again.c - first.c).max() < 1e-7
    assert again.loss[-1] <= again.loss[0]
