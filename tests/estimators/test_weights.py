"""Weights: whole numbers are repeated rows, zeros are absent ones, scikit-learn agrees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from meanparity import (
    CovarianceParity,
    MeanParity,
    ParityKernelRidge,
    ParityRidge,
    ResidualParity,
)
from meanparity.metrics import mean_parity_gap
from tests.problems import cases

# with more groups than columns there is a constant only, or a compromise: the same one
# (faint conditions that have values leave a gap of some 1e-10, which is said)
pytestmark = pytest.mark.filterwarnings(
    "ignore:Only a constant", "ignore:No function of this space", "ignore:A gap of"
)
MODELS = [
    ParityRidge(solver="primal"),
    ParityRidge(solver="primal", fit_intercept=False),
    ParityRidge(solver="dense"),
    ParityKernelRidge(kernel="rbf", fit_intercept=True),
    ParityKernelRidge(kernel="rbf"),
    ParityKernelRidge(kernel="rbf", solver="spectral", fit_intercept=True),
]


def name(model):
    return f"{type(model).__name__}-{model.solver}-{model.fit_intercept}"


def settled(model, case, **more):
    model = clone(model)
    gamma = 1 / max(case.X.var(), 1e-12) / case.X.shape[1]
    size = np.mean(np.sum((case.X - case.X.mean(axis=0)) ** 2, axis=1))
    model.set_params(alpha=0.1, **more)
    if isinstance(model, ParityKernelRidge):
        return model.set_params(gamma=gamma)
    return model.set_params(alpha=0.1 * size)


@given(case=cases(), seed=st.integers(0, 99))
@pytest.mark.parametrize(
    "constraint",
    [kind(continuous=[]) for kind in (MeanParity, CovarianceParity, ResidualParity)],
    ids=lambda constraint: type(constraint).__name__,
)
@pytest.mark.parametrize("model", MODELS, ids=name)
def test_whole_weights_are_repeated_rows(model, constraint, case, seed):
    weights = np.random.default_rng(seed).integers(0, 4, len(case.y))
    for group in np.unique(case.codes):  # two of each group at least
        weights[np.flatnonzero(case.codes == group)[:2]] += 1
    model = settled(model, case, constraint=constraint)
    rows = np.repeat(np.arange(len(case.y)), weights)
    weighted = model.fit(case.X, case.y, sensitive_features=case.codes, sample_weight=weights)
    ours, means = weighted.predict(case.X_new), weighted.group_means_
    # equal rows in groups of unlike y: only absurd functions have equal mean errors there
    assume(np.abs(ours).max() <= 10 * case.scale)
    ends = weighted.tradeoff_.objective(0.0), weighted.tradeoff_.objective(1.0)
    curve = weighted.tradeoff_.training_curve()
    repeated = model.fit(case.X[rows], case.y[rows], sensitive_features=case.codes[rows])
    close = {"rtol": 0, "atol": 1e-8 * case.scale}
    assert np.allclose(ours, repeated.predict(case.X_new), **close)
    assert np.allclose(list(means.values()), list(repeated.group_means_.values()), **close)
    assert np.allclose(
        ends, [repeated.tradeoff_.objective(u) for u in (0.0, 1.0)], rtol=1e-7, atol=0
    )
    other = repeated.tradeoff_.training_curve()
    assert np.allclose(curve.mse, other.mse, rtol=1e-7)
    assert np.allclose(curve.smd, other.smd, **close)


@given(case=cases(), seed=st.integers(0, 99))
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("solver", ["primal", "dense", "spectral"])
def test_without_the_constraint_it_is_scikit_learns_ridge(case, seed, fit_intercept, solver):
    weights = np.random.default_rng(seed).uniform(0, 3, len(case.y))
    weights[np.flatnonzero(case.codes == np.bincount(case.codes).argmax())[0]] = 0.0
    alpha = np.mean(np.sum(case.X**2, axis=1))
    shared = {"alpha": alpha, "fit_intercept": fit_intercept}
    ours = ParityRidge(unfairness=1.0, solver=solver, **shared)
    ours.fit(case.X, case.y, sensitive_features=case.codes, sample_weight=weights)
    theirs = Ridge(**shared, solver="svd").fit(case.X, case.y, sample_weight=weights)
    assert np.allclose(
        ours.predict(case.X_new), theirs.predict(case.X_new), rtol=0, atol=1e-8 * case.scale
    )


@given(case=cases(), seed=st.integers(0, 99))
def test_without_the_constraint_it_is_scikit_learns_kernel_ridge(case, seed):
    weights = np.random.default_rng(seed).uniform(0, 3, len(case.y))
    settings = {"kernel": "rbf", "gamma": 1 / max(case.X.var(), 1e-12), "alpha": 0.3}
    ours = ParityKernelRidge(unfairness=1.0, **settings)
    ours.fit(case.X, case.y, sensitive_features=case.codes, sample_weight=weights)
    theirs = KernelRidge(**settings).fit(case.X, case.y, sample_weight=weights)
    assert np.allclose(
        ours.predict(case.X_new), theirs.predict(case.X_new), rtol=0, atol=1e-8 * case.scale
    )


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((80, 3)), rng.integers(0, 2, 80)
    X[:, 0] += s
    return X, X[:, 0] + np.sin(X[:, 1]), s, rng.uniform(0, 2, 80)


@pytest.mark.parametrize("model", MODELS, ids=name)
def test_scopes(model, data):
    X, y, s, weights = data
    model = clone(model)
    weights[:20] = 0.0
    plain = {"sensitive_features": s}
    for scope, equal in (("both", weights), ("constraint", weights), ("loss", None)):
        model.set_params(unfairness=0.0, constraint=MeanParity(weight_scope=scope))
        model.fit(X, y, sample_weight=weights, **plain)
        gap = mean_parity_gap(None, model.predict(X), sample_weight=equal, **plain)
        assert gap <= 1e-12, scope
        assert model.parity_residual_ <= 1e-12
        unweighted = mean_parity_gap(None, model.predict(X), **plain)
        assert (unweighted > 1e-3) == (equal is not None)
        means = list(model.group_means_.values())
        assert means[0] == pytest.approx(means[1], abs=1e-12)
    free = model.set_params(unfairness=1.0, constraint=MeanParity(weight_scope="constraint"))
    free = free.fit(X, y, sample_weight=weights, **plain).predict(X)
    assert np.allclose(free, model.fit(X, y, **plain).predict(X), rtol=0, atol=1e-12)


def test_a_group_without_weight_is_not_there(data):
    X, y, s, weights = data
    s = np.where(np.arange(80) < 5, 2, s)
    weights[:5] = 0.0
    model = ParityRidge().fit(X, y, sensitive_features=s, sample_weight=weights)
    assert set(model.group_means_) == {0, 1}
    expected = ParityRidge().fit(X[5:], y[5:], sensitive_features=s[5:], sample_weight=weights[5:])
    assert np.allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0] * 79, r"has shape \(79,\), but there are 80 rows"),
        (np.ones((80, 1)), r"has shape \(80, 1\)"),
        ([0.0] * 80, "all are zero"),
        ([-1.0] + [1.0] * 79, "Negative"),
        ([np.nan] + [1.0] * 79, "NaN"),
        (["heavy"] * 80, "convert"),
        ([1e308] * 80, "too large"),
        ([1e-310] * 80, "too small"),
    ],
    ids=str,
)
def test_what_are_no_weights(weights, message, data):
    X, y, s, _ = data
    with pytest.raises(ValueError, match=message):
        ParityRidge().fit(X, y, sensitive_features=s, sample_weight=weights)


def test_weights_are_relative_in_the_constraint_and_absolute_in_the_loss(data):
    X, y, s, weights = data
    model = ParityRidge(alpha=1.0).fit(X, y, sensitive_features=s, sample_weight=weights)
    heavier = ParityRidge(alpha=1e6)
    heavier.fit(X, y, sensitive_features=s, sample_weight=1e6 * weights)
    assert np.allclose(model.coef_, heavier.coef_, rtol=1e-9)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(
    "settings", [{"kernel": "rbf", "alpha": 0.01}, {"kernel": "poly", "degree": 2, "alpha": 1.0}]
)
def test_large_and_unequal_weights_keep_parity(settings, fit_intercept, data):
    X, y, s, weights = data
    model = ParityKernelRidge(fit_intercept=fit_intercept, **settings)
    for heavy in (100 + 900 * weights, np.where(np.arange(80) == 7, 1e6, 1.0)):
        model.fit(X, y, sensitive_features=s, sample_weight=heavy)
        gap = mean_parity_gap(None, model.predict(X), sensitive_features=s, sample_weight=heavy)
        assert gap <= 1e-10 * y.std()


@pytest.mark.parametrize("seed", range(6))
def test_rows_of_weight_zero_are_absent_from_sensitive_kernels(seed):
    rng = np.random.default_rng(seed)
    X, age = rng.standard_normal((100, 12)), rng.integers(20, 60, 100)
    X[:, 1] += age / 20
    y, weights = X.sum(axis=1) + rng.standard_normal(100), rng.integers(0, 2, 100)
    model = ParityKernelRidge(
        kernel="rbf", gamma=0.1, fit_intercept=True, constraint=CovarianceParity("rbf", gamma=0.001)
    )
    weighted = model.fit(X, y, sensitive_features=age, sample_weight=weights).predict(X)
    there = weights > 0
    absent = model.fit(X[there], y[there], sensitive_features=age[there]).predict(X)
    assert np.allclose(weighted, absent, rtol=0, atol=1e-6 * y.std())
