"""Steps of descent, one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from meanparity.constraints import Functionals
from meanparity.kernels import Kernel
from meanparity.losses import Logistic, Quantile, Squared
from meanparity.solvers import Dense, Newton
from meanparity.solvers.descent import Bend, Descent, DescentSettings, _line_search, minimise
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


@pytest.mark.parametrize("shift", [0.0, -3.0])
def test_newton_steps_solve_the_system_whatever_the_sign_of_the_curvature(shift):
    """Some curvatures of either sign, and H indefinite for the second."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 2)), np.zeros(30)
    w, g, c, alpha = rng.uniform(0.1, 1.0, 30), rng.standard_normal(30), np.ones(2), 0.3
    w[abs(X[:, 0]) > abs(X[:, 1])] += shift
    H = X.T @ (w[:, None] * X) + alpha * np.eye(2)
    assert (np.linalg.eigvalsh(H).min() < 0) == (shift < 0)
    step, _ = descent(X, y, Squared()).space.newton(c, 0.0, g, w, alpha)
    assert np.allclose(step, np.linalg.solve(H, -X.T @ g - alpha * c), rtol=1e-12)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_weights_of_a_linear_programme_are_repeated_rows(fit_intercept):
    rng = np.random.default_rng(0)
    X, y, u = rng.standard_normal((20, 2)), rng.standard_normal(20), rng.integers(1, 4, 20)
    n, loss = int(u.sum()), Quantile(0.3)
    stated = ConstrainedProblem(
        np.repeat(X, u, axis=0),
        np.repeat(y, u)[:, None],
        np.zeros(1),
        Functionals.none(n),
        fit_intercept,
        loss=loss,
    )
    weighted = replace(
        stated, X=X, Y=y[:, None], functionals=Functionals.none(20), weights=u.astype(float)
    )
    repeated, once = (Newton().solve(problem).free for problem in (stated, weighted))
    assert np.allclose(once.coef, repeated.coef, atol=1e-9)
    assert np.allclose(once.objective, repeated.objective, atol=1e-9)
    assert once.fitted.shape == (20, 1)
    assert once.pool.shape == (0, 1)


@pytest.mark.parametrize("solver", [Dense(), Newton()])
@pytest.mark.parametrize("p", [0, 3])
def test_values_on_a_pool_have_its_rows(solver, p):
    rng = np.random.default_rng(0)
    X, Z, y = rng.standard_normal((8, 2)), rng.standard_normal((p, 2)), rng.standard_normal((8, 1))
    stated = ConstrainedProblem(X, y, np.ones(1), Functionals.none(8), False, Kernel("rbf"))
    if p:
        stated = replace(stated, pool_X=Z, pool=Functionals.none(p))
    solution = solver.solve(stated)
    assert solution.free.pool.shape == (p, 1)
    expected = solution.basis.evaluate(Z, solution.free.coef) + solution.free.intercept
    assert np.allclose(solution.free.pool, expected, atol=1e-12)


@pytest.mark.parametrize("bent", [True, False])
def test_pulls_and_weights_are_derivatives_of_the_objective(bent):
    """By central differences of the scores, with the curvature of a constraint and without."""
    rng = np.random.default_rng(0)
    n, alpha = 7, 0.3
    y, u, scores = rng.integers(0, 2, n) * 1.0, rng.uniform(0.5, 2, n), rng.standard_normal(n)
    bend = Bend(rng.standard_normal(n), rng.standard_normal(n)) if bent else None
    stated = replace(descent(np.eye(n), y, Logistic(), alpha), weights=u, bend=bend)

    def objective(scores):
        value = u @ np.logaddexp(0.0, scores) - u @ (y * scores) + alpha * scores @ scores
        if bend is not None:
            value += sum(bend.kappa * (scores - bend.around) ** 2) / 2
        return value

    assert stated.objective(scores, scores, 0.0) == pytest.approx(objective(scores), rel=1e-12)
    for i, step in enumerate(1e-4 * np.eye(n)):
        up, here, down = (objective(scores + k * step) for k in (1, 0, -1))
        slope = 2 * stated.pull(scores, 0.0)[i] + 2 * alpha * scores[i]
        assert slope == pytest.approx((up - down) / 2e-4, abs=1e-6)
        curvature = 2 * stated.weight(scores, 0.0)[i] + 2 * alpha
        assert curvature == pytest.approx((up - 2 * here + down) / 1e-8, abs=1e-5)


@pytest.mark.parametrize("share", [0.92, 1.0, 1.08])
def test_a_first_step_that_is_good_enough_is_taken(share):
    """The slope at its end is less than a tenth of that at the start."""
    stated = descent(np.ones((1, 1)), np.ones(1), Squared())
    step = np.array([share])
    assert _line_search(stated, (np.zeros(1), np.zeros(1), 0.0), (step, step, 0.0)) == 1.0


def test_six_steps_that_gain_next_to_nothing_are_the_end():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 3)), rng.integers(0, 2, 50).astype(float)
    settings = DescentSettings("lbfgs", 5000, 10.0)  # any decrease is next to nothing
    assert minimise(descent(X, y, Logistic(), 1.0), settings, np.zeros(3), 0.0).n_iter == 6
