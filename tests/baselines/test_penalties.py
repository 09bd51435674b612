"""The two penalty methods against their n × n formulas, and what they become at the ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics.pairwise import pairwise_kernels

from meanparity import CovarianceParity, ParityKernelRidge
from meanparity.baselines import CovariancePenaltyRidge, MeanPenaltyRidge
from meanparity.datasets import make_synthetic
from meanparity.kernels import Kernel
from meanparity.metrics import mean_parity_gap
from tests.oracles.baselines import (
    covariance_penalty_matrix,
    mean_penalty_matrix,
    penalised_kernel,
    penalised_linear,
)
from tests.oracles.paper import exact, plain
from tests.problems import cases, rounding_decides_the_rank

PENALTIES = st.sampled_from([0.0, 0.1, 10.0, 1e3, 1e6, 1e10])
KERNELS = {"linear": {}, "rbf": {"gamma": 0.3}, "polynomial": {"gamma": 0.1, "degree": 2}}


@settings(deadline=None)
@given(
    case=cases(max_rows=24),
    kernel=st.sampled_from(list(KERNELS)),
    penalty=PENALTIES,
    alpha=st.sampled_from([1e-3, 1.0, 30.0]),
    intercept=st.booleans(),
    method=st.sampled_from(["mean", "covariance"]),
)
def test_kernel_formulas(case, kernel, penalty, alpha, intercept, method):
    size = np.abs(case.X).max()  # without a scale the parameters of kernels mean something
    X, X_new, params = case.X / size, case.X_new / size, KERNELS[kernel]
    K = exact(pairwise_kernels(X, metric=kernel, filter_params=True, coef0=1, **params))
    K_new = pairwise_kernels(X_new, X, metric=kernel, filter_params=True, coef0=1, **params)
    if method == "mean":
        assume(not rounding_decides_the_rank(plain(K), case.codes))
        estimator, A = MeanPenaltyRidge, mean_penalty_matrix(K, case.codes)
    else:
        S = case.codes[:, None].astype(float)
        K_S = pairwise_kernels(S, metric=kernel, filter_params=True, coef0=1, **params)
        estimator, A = CovariancePenaltyRidge, covariance_penalty_matrix(exact(K_S))
    expected = penalised_kernel(K, K_new, A, case.y, alpha, penalty, intercept)
    model = estimator(
        kernel=kernel, alpha=alpha, penalty=penalty, fit_intercept=intercept, **params
    ).fit(X, case.y, sensitive_features=case.codes)
    assert np.abs(model.predict(X_new) - expected).max() <= 1e-8 * case.scale


@settings(deadline=None)
@given(case=cases(max_rows=24), penalty=PENALTIES, method=st.sampled_from(["mean", "covariance"]))
def test_least_squares_without_a_ridge_penalty(case, penalty, method):
    X = exact(case.X)
    K = X * X.T
    if method == "mean":
        estimator, A = MeanPenaltyRidge, mean_penalty_matrix(K, case.codes)
    else:
        s = exact(case.codes[:, None])
        estimator, A = CovariancePenaltyRidge, covariance_penalty_matrix(s * s.T)
    expected = penalised_linear(case.X, case.X, A, case.y, penalty)
    model = estimator(alpha=0.0, penalty=penalty).fit(case.X, case.y, sensitive_features=case.codes)
    assert np.abs(model.predict(case.X) - expected).max() <= 1e-8 * case.scale


@pytest.mark.parametrize("estimator", [MeanPenaltyRidge, CovariancePenaltyRidge])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.5, 1e-6])
def test_more_columns_than_rows(estimator, intercept, alpha):
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((12, 30)) + 5, np.tile([0.0, 1.0, 2.0], 4)
    y = X[:, 0] + s
    dual = estimator(alpha=alpha, fit_intercept=intercept).fit(X, y, sensitive_features=s)
    assert dual.dual_coef_.shape == (12,)
    assert np.array_equal(dual.X_fit_, X)
    line = dual.X_fit_.T @ dual.dual_coef_
    assert np.allclose(X @ line + dual.intercept_, dual.predict(X), rtol=0, atol=1e-9)
    K = exact(X) * exact(X).T
    if estimator is MeanPenaltyRidge:
        A = mean_penalty_matrix(K, s)
    else:
        A = covariance_penalty_matrix(exact(s[:, None]) * exact(s[None]))
    X_new = rng.standard_normal((5, 30)) + 5
    expected = penalised_kernel(K, X_new @ X.T, A, y, alpha, 10.0, intercept)
    assert np.allclose(dual.predict(X_new), expected, rtol=0, atol=1e-8 * np.abs(y).max())


@pytest.fixture
def data():
    return make_synthetic(300, random_state=0)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("intercept", [True, False])
def test_ends_of_the_mean_penalty(data, kernel, intercept):
    X, y, s = data
    shared = {"kernel": kernel, "gamma": 0.1, "alpha": 0.7, "fit_intercept": intercept}
    shared |= {} if kernel == "rbf" else {"gamma": None}
    free = MeanPenaltyRidge(penalty=0.0, **shared).fit(X, y, sensitive_features=s)
    parity = ParityKernelRidge(**shared).fit(X, y, sensitive_features=s)
    expected = parity.tradeoff_.at(1.0).predict(X)
    assert np.allclose(free.predict(X), expected, rtol=0, atol=1e-10)
    previous = np.inf
    for penalty in (1e2, 1e5, 1e8, 1e11):
        model = MeanPenaltyRidge(penalty=penalty, **shared).fit(X, y, sensitive_features=s)
        distance = np.abs(model.predict(X) - parity.predict(X)).max()
        assert distance < max(previous / 100, 1e-10)
        previous = distance


@pytest.mark.parametrize("estimator", [MeanPenaltyRidge, CovariancePenaltyRidge])
def test_no_penalty_is_scikit_learns_regression(estimator, data):
    X, y, s = data
    both = {"sensitive_features": s}
    kernel = estimator(kernel="rbf", gamma=0.2, penalty=0.0).fit(X, y, **both)
    assert np.allclose(kernel.predict(X), KernelRidge(kernel="rbf", gamma=0.2).fit(X, y).predict(X))
    ridge = estimator(alpha=2.0, penalty=0.0, fit_intercept=True).fit(X, y, **both)
    assert np.allclose(ridge.predict(X), Ridge(alpha=2.0).fit(X, y).predict(X))
    assert np.allclose(ridge.coef_, Ridge(alpha=2.0).fit(X, y).coef_)
    ols = estimator(alpha=0.0, penalty=0.0, fit_intercept=True).fit(X, y, **both)
    assert np.allclose(ols.predict(X), LinearRegression().fit(X, y).predict(X))


@pytest.mark.parametrize("estimator", [MeanPenaltyRidge, CovariancePenaltyRidge])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("intercept", [True, False])
def test_whole_weights_are_repeated_rows(estimator, kernel, intercept, data):
    X, y, s = (part[:60] for part in data)
    weights = np.random.default_rng(0).integers(0, 4, 60)
    model = estimator(kernel=kernel, alpha=0.3, fit_intercept=intercept)
    weighted = model.fit(X, y, sensitive_features=s, sample_weight=weights).predict(X)
    repeated = [np.repeat(part, weights, axis=0) for part in (X, y, s)]
    expected = model.fit(*repeated[:2], sensitive_features=repeated[2]).predict(X)
    assert np.allclose(weighted, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("estimator", [MeanPenaltyRidge, CovariancePenaltyRidge])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_outputs_are_fitted_one_by_one(estimator, kernel, data):
    X, y, s = data
    Y = np.column_stack([y, y**2])
    both = estimator(kernel=kernel).fit(X, Y, sensitive_features=s)
    for column, target in enumerate(Y.T):
        alone = estimator(kernel=kernel).fit(X, target, sensitive_features=s)
        assert np.allclose(both.predict(X)[:, column], alone.predict(X), rtol=0, atol=1e-10)
    assert both.intercept_.shape == (2,)


def test_precomputed_kernels(data):
    X, y, s = data
    K = pairwise_kernels(X, metric="rbf", gamma=0.1)
    for estimator in (
        MeanPenaltyRidge(kernel="precomputed"),
        CovariancePenaltyRidge(kernel="precomputed", sensitive_kernel=Kernel("rbf", gamma=0.1)),
    ):
        named = type(estimator)(kernel="rbf", gamma=0.1).fit(X, y, sensitive_features=s)
        given_ = estimator.fit(K, y, sensitive_features=s)
        assert given_.__sklearn_tags__().input_tags.pairwise
        assert np.allclose(given_.predict(K), named.predict(X), rtol=0, atol=1e-10)
    with pytest.raises(ValueError, match=r"kernel of their own.*Pass sensitive_kernel"):
        CovariancePenaltyRidge(kernel="precomputed").fit(K, y, sensitive_features=s)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian", lambda a, b: 1 + a @ b])
def test_numbers_and_any_sensitive_kernel(kernel):
    rng = np.random.default_rng(0)
    X, ages = rng.standard_normal((40, 3)), rng.uniform(20, 60, (40, 2))
    y = X[:, 0] + ages[:, 0] / 10
    S = ages / 10
    K = X @ X.T
    params = {"gamma": 0.5} if kernel in ("rbf", "laplacian") else {}
    A = covariance_penalty_matrix(exact(pairwise_kernels(S, metric=kernel, **params)))
    expected = penalised_kernel(exact(K), K, A, y, 1.0, 1e4, False)
    spec = Kernel(kernel, gamma=0.5)
    model = CovariancePenaltyRidge(penalty=1e4, sensitive_kernel=spec)
    model.fit(X, y, sensitive_features=S)
    assert np.abs(model.predict(X) - expected).max() <= 1e-8 * np.abs(y).max()


def test_text_has_an_indicator_for_each_value(data):
    X, y, s = data
    text = np.array(["low", "mid", "high"])[np.arange(len(s)) % 3]
    indicators = (text[:, None] == np.array(["high", "low", "mid"])).astype(float)
    model = CovariancePenaltyRidge(penalty=1e4)
    named = model.fit(X, y, sensitive_features=text).predict(X)
    assert np.allclose(named, model.fit(X, y, sensitive_features=indicators).predict(X), atol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_two_groups_make_both_penalties_one(data, kernel):
    """With two groups either penalty moves along the tradeoff of mean parity."""
    X, y, s = data
    shared = {"kernel": kernel, "alpha": 0.7}
    parity = ParityKernelRidge(**shared).fit(X, y, sensitive_features=s).tradeoff_
    ends = parity.at(0.0).predict(X), parity.at(1.0).predict(X)
    for model in (
        MeanPenaltyRidge(penalty=30.0, **shared),
        CovariancePenaltyRidge(penalty=1e5, sensitive_kernel=Kernel("linear"), **shared),
    ):
        predicted = model.fit(X, y, sensitive_features=s).predict(X)
        gaps = [mean_parity_gap(None, g, sensitive_features=s) for g in (predicted, ends[1])]
        u = gaps[0] / gaps[1]
        assert 0.01 < u < 0.99
        assert np.allclose(predicted, (1 - u) * ends[0] + u * ends[1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("number", [True, False])
def test_covariance_parity_is_the_end_of_the_covariance_penalty(data, kernel, number):
    X, y, _ = data
    s = X[:, 0] + X[:, 1] if number else np.digitize(X[:, 0], [-0.5, 0.5])
    parity = ParityKernelRidge(
        kernel=kernel, constraint=CovarianceParity("polynomial", gamma=1.0, degree=2)
    ).fit(X, y, sensitive_features=s)
    model = CovariancePenaltyRidge(
        kernel=kernel, penalty=1e14, sensitive_kernel=Kernel("polynomial", gamma=1.0, degree=2)
    ).fit(X, y, sensitive_features=s)
    assert np.allclose(model.predict(X), parity.predict(X), rtol=0, atol=1e-6)


def test_a_number_in_the_dual():
    rng = np.random.default_rng(0)
    X, age = rng.standard_normal((40, 3)), rng.uniform(20, 60, 40)
    y = X[:, 0] + age / 10
    K = pairwise_kernels(X, metric="rbf", gamma=0.3)
    K_S = pairwise_kernels(age[:, None], metric="rbf", gamma=0.3)
    A = covariance_penalty_matrix(exact(K_S))
    for penalty in (10.0, 1e5):
        expected = penalised_kernel(exact(K), K, A, y, 0.5, penalty, False)
        model = CovariancePenaltyRidge(kernel="rbf", gamma=0.3, alpha=0.5, penalty=penalty)
        predicted = model.fit(X, y, sensitive_features=age).predict(X)
        assert np.abs(predicted - expected).max() <= 1e-8 * np.abs(y).max()


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_more_sensitive_features_than_are_found_one_by_one(kernel):
    rng = np.random.default_rng(0)
    X, S = rng.standard_normal((400, 3)), rng.standard_normal((400, 2))
    y = X[:, 0] + S[:, 0]
    K, K_S = X @ X.T, pairwise_kernels(S, metric=kernel, gamma=20.0)
    H = np.eye(400) - 1 / 400
    system = K + np.eye(400) + 1e4 / 400**2 * H @ K_S @ H @ K
    expected = K @ np.linalg.solve(system, y)
    model = CovariancePenaltyRidge(penalty=1e4, sensitive_kernel=Kernel(kernel, gamma=20.0))
    predicted = model.fit(X, y, sensitive_features=S).predict(X)
    assert np.abs(predicted - expected).max() <= 1e-8 * np.abs(y).max()


@pytest.mark.parametrize("method", [MeanPenaltyRidge, CovariancePenaltyRidge])
def test_without_a_ridge_penalty_kernels_agree_with_ours_at_the_ends(method, data):
    X, y, s = data
    shared = {"kernel": "rbf", "gamma": 0.01, "alpha": 0.0}
    parity = ParityKernelRidge(**shared).fit(X, y, sensitive_features=s).tradeoff_
    for penalty, u in ((0.0, 1.0), (1e12, 0.0)):
        model = method(penalty=penalty, **shared).fit(X, y, sensitive_features=s)
        assert np.allclose(model.predict(X), parity.at(u).predict(X), rtol=0, atol=1e-5)


@pytest.mark.parametrize("method", [MeanPenaltyRidge, CovariancePenaltyRidge])
def test_names_of_groups_and_the_order_of_rows_do_not_matter(method, data):
    X, y, _ = data
    groups = np.digitize(X[:, 0], [-0.5, 0.5])
    order = np.random.default_rng(0).permutation(len(y))
    model = method(penalty=100.0)
    found = [
        model.fit(X[rows], y[rows], sensitive_features=np.array(names)[groups[rows]]).predict(X)
        for rows, names in ((slice(None), ["a", "b", "c"]), (order, ["z", "y", "x"]))
    ]
    assert np.allclose(*found, rtol=0, atol=1e-9)
