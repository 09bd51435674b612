"""Pivots of the kernel matrix, and landmarks on the bundled data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.landmark_curves import NAMES, errors
from meanparity import Nystrom, ParityKernelRidge
from meanparity.kernels import Kernel
from meanparity.solvers.landmarks import choose_landmarks, pivots


def factored(X, m, kernel, seed=0):
    return pivots(kernel.bind(X, None), X, m, np.random.RandomState(seed))


@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([1e-4, 0.1, 10.0]))
def test_a_partial_factorisation_lies_below_the_matrix_and_is_exact_at_its_pivots(seed, m, gamma):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (30, 3)).astype(float)  # at most 27 different rows
    K = Kernel("rbf", gamma=gamma).bind(X, None).block(X, slice(0, 30))
    chosen, F = factored(X, m, Kernel("rbf", gamma=gamma), seed)
    assert len(set(chosen)) == len(chosen) <= min(m, len(np.unique(X, axis=0)))
    rest = K - F @ F.T
    assert np.linalg.eigvalsh(rest).min() > -1e-8
    np.testing.assert_allclose(rest[chosen], 0, atol=1e-8)


def test_all_pivots_give_the_whole_matrix():
    X = np.random.default_rng(0).standard_normal((50, 4))
    kernel = Kernel("rbf", gamma=0.5)
    chosen, F = factored(X, 50, kernel)
    assert sorted(chosen) == list(range(50))
    np.testing.assert_allclose(F @ F.T, kernel.bind(X, None).block(X, slice(0, 50)), atol=1e-10)


def test_pivots_leave_less_than_random_rows():
    rng = np.random.default_rng(0)
    X = np.concatenate([0.1 * rng.standard_normal((990, 3)), 5 + rng.standard_normal((10, 3))])
    kernel = Kernel("rbf", gamma=0.1)
    K = kernel.bind(X, None).block(X, slice(0, 1000))

    def left(chosen):
        F = np.linalg.solve(np.linalg.cholesky(K[np.ix_(chosen, chosen)]), K[chosen])
        return 1000 - (F**2).sum()

    pivoted = np.mean([left(factored(X, 8, kernel, seed)[0]) for seed in range(10)])
    uniform = np.mean([left(np.random.default_rng(s).permutation(1000)[:8]) for s in range(10)])
    assert pivoted < 0.2 * uniform


@pytest.mark.parametrize(
    ("d", "n", "gamma", "m"),
    [(2, 1000, 0.1, 300), (2, 600, 0.5, 500), (1, 600, 0.3, 500), (1, 2000, 1.0, 200)],
)
def test_smooth_kernels_end_where_rounding_begins(d, n, gamma, m):
    for seed in range(20):
        X = np.random.default_rng(seed).standard_normal((n, d))
        kernel = Kernel("rbf", gamma=gamma)
        chosen, F = factored(X, m, kernel, seed)
        assert len(set(chosen)) == len(chosen)
        rest = 1 - (F**2).sum(axis=1)
        assert rest.min() > -1e-9
        assert len(chosen) == m or rest.max() < 1e-9


def test_an_indefinite_kernel_ends():
    X = np.random.default_rng(0).standard_normal((60, 3))
    kernel = Kernel("sigmoid", gamma=2.0, coef0=-1.0)
    chosen, F = factored(X, 60, kernel)
    assert np.isfinite(F).all()
    assert len(set(chosen)) == len(chosen)


def test_zeros_have_no_landmarks():
    X = np.zeros((9, 2))
    with pytest.raises(ValueError, match="zero or negative on all rows"):
        choose_landmarks(X, 3, "rpcholesky", Kernel("linear"), None, 0)


@pytest.mark.slow
@pytest.mark.parametrize("m", [25, 100, 400])
@pytest.mark.parametrize("dataset", NAMES)
def test_pivoted_landmarks_are_no_worse_than_uniform_ones(dataset, m):
    assert errors(dataset, "rpcholesky", m).mean() <= errors(dataset, "uniform", m).mean()


@pytest.mark.parametrize("count", [0, -1, 2.0, True])
def test_a_number_of_landmarks_that_is_none(count):
    X, y, s = np.eye(6), np.arange(6.0), list("ababab")
    model = ParityKernelRidge(kernel="rbf", solver=Nystrom(n_components=count))
    with pytest.raises(ValueError, match=r"n_components=.*integer of 1 or more"):
        model.fit(X, y, sensitive_features=s)


def test_sums_of_features_at_landmarks_give_the_same_fit():
    rng = np.random.default_rng(0)
    X, y, s = rng.standard_normal((60, 2)), rng.standard_normal(60), np.array(["a", "b"] * 30)
    model = ParityKernelRidge(kernel="rbf", solver=Nystrom(landmarks=X[:10]))
    expected = model.fit(X, y, sensitive_features=s).predict(X)
    sums = model.statistics(X, y, sensitive_features=s)
    assert np.allclose(model.fit_statistics(sums).predict(X), expected, rtol=1e-10)
    assert model.solver_ == "nystrom"


def test_candidates_of_many_rows_are_eight_times_the_landmarks_at_least(monkeypatch):
    monkeypatch.setattr("meanparity.solvers.landmarks._MOST", 60)
    X, seen = np.random.default_rng(0).standard_normal((300, 3)), []

    def watch(kernel, rows, m, rng):
        seen.append(len(rows))
        return pivots(kernel, rows, m, rng)

    monkeypatch.setattr("meanparity.solvers.landmarks.pivots", watch)
    for m in (2, 10):  # 60 // 2 is more than 16, and 60 // 10 is less than 80
        chosen = choose_landmarks(X, m, "rpcholesky", Kernel("rbf", gamma=1.0), None, 0)
        assert len(chosen) == m
    assert seen == [30, 80]
