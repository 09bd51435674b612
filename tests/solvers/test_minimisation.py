"""Quantile regression without a penalty: a linear programme, against one written row by row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from meanparity import MeanParity, ParityKernelRegressor, Pool
from meanparity.losses import Quantile
from tests.oracles import conditions


def best(X, y, u, quantile, C, points, *, intercept):
    """min Σ u ℓ(y, Xθ + b) subject to Cᵀ(points θ + b) = 0, as one dense linear programme."""
    n = len(y)
    one = np.ones if intercept else np.zeros
    Z, P = (np.column_stack([F, one(len(F))]) for F in (X, points))
    A = np.block(
        [
            [Z, np.eye(n), -np.eye(n)],
            [C.T @ P, np.zeros((C.shape[1], 2 * n))],
        ]
    )
    cost = np.concatenate([np.zeros(Z.shape[1]), quantile * u, (1 - quantile) * u])
    bounds = [(None, None)] * Z.shape[1] + [(0, None)] * (2 * n)
    found = linprog(cost, A_eq=A, b_eq=np.append(y, np.zeros(C.shape[1])), bounds=bounds)
    return found.fun


@pytest.mark.parametrize("quantile", [0.2, 0.7])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("with_pool", [True, False])
def test_quantile_regression_without_a_penalty(quantile, intercept, weighted, with_pool):
    rng = np.random.default_rng(0)
    n, p = 61, 23
    X, s = rng.standard_normal((n, 6)), rng.choice(["a", "b", "c"], n)
    X[:, 0] += s == "a"
    y = X[:, 0] + 0.3 * (s == "b") + rng.standard_t(3, n) + 2.0
    u = rng.uniform(0.1, 4.0, n) if weighted else np.ones(n)
    pool_X, pool_s = rng.standard_normal((p, 6)) + 0.2, rng.choice(["a", "b", "c"], p)
    C, points = conditions({"s": s.tolist()}, weights=u), X
    given = {}
    if with_pool:
        heavy = rng.uniform(0.5, 2.0, p) if weighted else None
        there = conditions({"s": pool_s.tolist()}, weights=heavy)
        C = np.block([[C, np.zeros((n, there.shape[1]))], [np.zeros((p, C.shape[1])), there]])
        points = np.vstack([X, pool_X])
        given["pool"] = Pool(pool_X, pool_s, sample_weight=heavy)
    model = ParityKernelRegressor(
        loss=Quantile(quantile), alpha=0.0, fit_intercept=intercept, constraint=MeanParity()
    ).fit(X, y, sensitive_features=s, sample_weight=u if weighted else None, **given)
    losses = [u @ model.loss.value(y, model.tradeoff_.at(end).predict(X)) for end in (0.0, 1.0)]
    expected = [
        best(X, y, u, quantile, part, points, intercept=intercept) for part in (C, C[:, :0])
    ]
    assert losses == pytest.approx(expected, rel=1e-9)
    ends = [model.tradeoff_.objective(end) for end in (0.0, 1.0)]
    assert ends == pytest.approx(expected, rel=1e-9)
    values = model.tradeoff_.at(0.0).predict(points)
    assert np.abs(C.T @ values).max() < 1e-10
    if not intercept:
        assert model.intercept_ == 0.0
