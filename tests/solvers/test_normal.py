"""Normal equations from sums over rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from meanparity import ParityRidge
from meanparity.data.groups import Cells
from meanparity.solvers import normal
from meanparity.solvers.features import LinearFeatures
from meanparity.solvers.normal import Moments
from meanparity.solvers.sums import sum_rows


@pytest.fixture
def loss():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((50, 3)), 10 + 0.1 * rng.standard_normal((50, 2))
    cells = Cells(np.zeros(50, np.intp), 1, None)
    return sum_rows(LinearFeatures(np.zeros(3)), X, Y, cells, rng.uniform(0.5, 2.0, 50))[0]


def moments(loss):
    return Moments.from_sums(loss, LinearFeatures(np.zeros(3)), np.zeros(2), True)


def test_a_variance_of_targets_below_zero_is_refused_unless_it_is_rounding(loss):
    square = loss.targets**2 / loss.mass  # what the squares are without any variance
    for share, ends in ((1e-5, True), (1e-7, False)):
        taken = replace(loss, squares=square * (1 - share * np.array([0.0, 1.0])))
        if ends:
            with pytest.raises(ValueError, match="negative variance: rows were subtracted"):
                moments(taken)
        else:
            assert moments(taken).variance == pytest.approx([0.0, 0.0], abs=1e-9)
            assert moments(taken).variance.min() >= 0


def test_squares_of_features_below_zero_are_refused_unless_they_are_rounding(loss):
    largest = loss.gram.diagonal().max()
    for share, ends in ((1e-5, True), (1e-7, False)):
        gram = loss.gram.copy()
        gram[1, 1] = -share * largest
        taken = replace(loss, gram=gram)
        if ends:
            with pytest.raises(ValueError, match="negative variance: rows were subtracted"):
                moments(taken)
        else:
            assert np.isfinite(moments(taken).units).all()


def test_products_are_covariances_of_errors():
    rng = np.random.default_rng(1)
    X, Y, u = (
        rng.standard_normal((50, 3)) + 1,
        rng.standard_normal((50, 2)),
        rng.uniform(0.5, 2, 50),
    )
    cells = Cells(np.zeros(50, np.intp), 1, None)
    features = LinearFeatures(np.zeros(3))
    first, second = rng.standard_normal((2, 3, 2))
    for intercept in (True, False):
        sums = sum_rows(features, X, Y - 0.5, cells, u)[0]
        found = Moments.from_sums(sums, features, np.full(2, 0.5), intercept)
        errors = [Y - X @ theta for theta in (first, second)]
        a, b = (error - u @ error / u.sum() for error in errors)
        assert found.products(first, second) == pytest.approx(u @ (a * b) / u.sum())
        assert found.mean == pytest.approx(u @ X / u.sum())
        assert found.y_mean == pytest.approx(u @ Y / u.sum())
        centre = (u @ X / u.sum(), u @ Y / u.sum()) if intercept else (0.0, 0.0)
        Z, T = X - centre[0], Y - centre[1]
        assert found.gram == pytest.approx(Z.T @ (u[:, None] * Z))
        assert found.cross == pytest.approx(Z.T @ (u[:, None] * T))
        assert found.units[:, 0] == pytest.approx(np.sqrt(u @ Z**2))


def test_memory_for_four_matrices_of_all_features_is_asked_for(monkeypatch):
    rng, asked = np.random.default_rng(2), []
    X, y, s = rng.standard_normal((80, 30)), rng.standard_normal(80), ["a", "b"] * 40
    sums = ParityRidge().statistics(X, y, sensitive_features=s)
    monkeypatch.setattr(normal, "require_memory", lambda size, **words: asked.append((size, words)))
    ParityRidge().fit_statistics(sums)
    assert [size for size, _ in asked] == [4 * 8 * 30**2]
    assert asked[0][1]["what"] == "Solving for 30 features"


@pytest.mark.parametrize(("share", "used"), [(1.5e-6, True), (0.7e-6, False)])
def test_directions_of_more_than_a_millionth_remove_what_is_left(share, used):
    first, second = np.ones(4) / 2, np.array([1.0, -1.0, 1.0, -1.0]) / 2
    seen = np.stack([first, share * second], axis=1)  # singular values 1 and `share`
    removal = normal._Removal.from_conditions(seen, [slice(None)])
    step = removal.step((3 * first + 2 * share * second)[:, None])
    assert step[:, 0] == pytest.approx([3.0, 2.0 if used else 0.0], abs=1e-8)


def test_what_the_training_rows_need_is_not_undone_for_the_pool():
    """Of two conditions along one direction, that of the first part is met."""
    seen = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    removal = normal._Removal.from_conditions(seen, [slice(0, 1), slice(1, None)])
    left = np.array([[3.0], [5.0], [4.0]])
    assert removal.step(left)[:, 0] == pytest.approx([3.0, 2.0])
    together = normal._Removal.from_conditions(seen, [slice(None)])
    assert together.step(left)[:, 0] == pytest.approx([4.0, 2.0])  # a compromise
