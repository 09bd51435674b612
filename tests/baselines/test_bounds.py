"""The methods with a bound on R² against generic optimisers, and identities between them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from meanparity import ParityRidge
from meanparity.baselines import CorrelationBoundedRegression, UnfairnessPenaltyRidge
from meanparity.baselines.correlation_bound import bounded
from meanparity.baselines.two_stage import Spectrum
from meanparity.datasets import make_synthetic
from tests.oracles.baselines import bounded_kernels, bounded_linear, fair_ridge

METHODS = [CorrelationBoundedRegression, UnfairnessPenaltyRidge]


def problem(seed, kind, n=30, d=3, n_new=7):
    """Rows with one or two sensitive columns of groups, numbers or both; S as numbers as well."""
    rng = np.random.default_rng(seed)
    total = n + n_new
    codes, age = rng.permutation(np.arange(total) % 3), rng.uniform(20, 60, total)
    sex = rng.permutation(np.arange(total) % 2)
    columns = {
        "groups": (codes.astype(str)[:, None], np.eye(3)[codes, 1:]),
        "number": (age[:, None], age[:, None]),
        "both": (
            np.stack([age, sex], axis=1),
            np.stack([age, sex], axis=1),
        ),
    }
    S, numbers = columns[kind]
    X = rng.standard_normal((total, d)) + 0.5 * codes[:, None] + age[:, None] / 30
    y = X[:, 0] - X[:, -1] + codes + age / 20 + sex + rng.standard_normal(total)
    return X, y, S, numbers, slice(0, n), slice(n, total)


KINDS = st.sampled_from(["groups", "number", "both"])
BOUNDS = st.sampled_from([0.0, 1e-4, 0.01, 0.1, 0.3, 0.7, 1.0])


@settings(deadline=None)
@given(
    seed=st.integers(0, 10_000),
    kind=KINDS,
    bound=BOUNDS,
    alpha=st.sampled_from([0.0, 0.5, 20.0]),
)
def test_correlation_bound_equals_slsqp(seed, kind, bound, alpha):
    X, y, S, numbers, train, new = problem(seed, kind)
    expected = bounded_linear(
        X[train], numbers[train], y[train], X[new], numbers[new], alpha, bound
    )
    model = CorrelationBoundedRegression(unfairness=bound, alpha=alpha)
    model.fit(X[train], y[train], sensitive_features=S[train])
    found = model.predict(X[new], sensitive_features=S[new])
    assert np.abs(found - expected).max() <= 1e-8 * np.abs(y).max()
    assert model.r2_sensitive_ <= bound + 1e-10


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10_000), kind=KINDS, bound=BOUNDS, alpha=st.sampled_from([0.3, 1.0]))
def test_kernel_bound_equals_slsqp(seed, kind, bound, alpha):
    X, y, S, numbers, train, new = problem(seed, kind, n=16)
    expected = bounded_kernels(
        X[train], numbers[train], y[train], X[new], numbers[new], alpha, bound, 0.5
    )
    model = CorrelationBoundedRegression(unfairness=bound, alpha=alpha, kernel="rbf", gamma=0.5)
    model.fit(X[train], y[train], sensitive_features=S[train])
    found = model.predict(X[new], sensitive_features=S[new])
    assert np.abs(found - expected).max() <= 1e-8 * np.abs(y).max()
    assert model.r2_sensitive_ <= bound + 1e-10


@settings(deadline=None)
@given(
    seed=st.integers(0, 10_000),
    kind=KINDS,
    bound=BOUNDS,
    alpha=st.sampled_from([0.0, 0.5, 20.0]),
)
def test_fair_ridge_equals_bisection(seed, kind, bound, alpha):
    X, y, S, numbers, train, new = problem(seed, kind)
    expected = fair_ridge(X[train], numbers[train], y[train], X[new], numbers[new], alpha, bound)
    model = UnfairnessPenaltyRidge(unfairness=bound, alpha=alpha)
    model.fit(X[train], y[train], sensitive_features=S[train])
    found = model.predict(X[new], sensitive_features=S[new])
    assert np.abs(found - expected).max() <= 1e-8 * np.abs(y).max()
    assert model.r2_sensitive_ <= bound + 1e-10


@pytest.fixture
def data():
    return make_synthetic(300, random_state=0)


@pytest.mark.parametrize("method", METHODS)
def test_no_unfairness_is_mean_parity(method, data):
    X, y, s = data
    model = method(unfairness=0.0, alpha=0.0).fit(X, y, sensitive_features=s)
    parity = ParityRidge(alpha=0.0).fit(X, y, sensitive_features=s)
    assert np.allclose(model.predict(X), parity.predict(X), rtol=0, atol=1e-10)
    groups = np.digitize(X[:, 0], [-0.5, 0.5]).astype(str)
    X = np.column_stack([X, groups == "1", groups == "2"])
    model = method(unfairness=0.0, alpha=0.0).fit(X, y, sensitive_features=groups)
    parity = ParityRidge(alpha=0.0).fit(X, y, sensitive_features=groups)
    assert np.allclose(model.predict(X), parity.predict(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_all_unfairness_is_least_squares(method, data):
    X, y, s = data
    model = method(unfairness=1.0, alpha=0.0).fit(X, y, sensitive_features=s)
    assert np.allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), atol=1e-10)
    without = method(unfairness=1.0, alpha=0.0).fit(X[:, :4], y, sensitive_features=s)
    assert np.allclose(without.predict(X[:, :4], sensitive_features=s), model.predict(X))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bound", [0.0, 0.02, 0.1, 1.0])
def test_the_share_of_s_is_the_bound(method, bound, data):
    X, y, s = data
    for alpha in (0.0, 1.0):
        model = method(unfairness=bound, alpha=alpha).fit(X, y, sensitive_features=s)
        predicted = model.predict(X)
        share = np.corrcoef(predicted, s)[0, 1] ** 2
        assert share == pytest.approx(model.r2_sensitive_, abs=1e-10)
        free = method(unfairness=1.0, alpha=alpha).fit(X, y, sensitive_features=s).r2_sensitive_
        assert share == pytest.approx(min(bound, free), abs=1e-10)
        line = X @ model.coef_ + (s > 0)[:, None] @ model.coef_sensitive_ + model.intercept_
        assert np.allclose(line, predicted, rtol=0, atol=1e-9)


def test_the_closed_form_is_the_limit_of_the_root(data):
    X, y, s = data
    exact = CorrelationBoundedRegression(unfairness=0.01, alpha=0.0)
    near = CorrelationBoundedRegression(unfairness=0.01, alpha=1e-9)
    predictions = [m.fit(X, y, sensitive_features=s).predict(X) for m in (exact, near)]
    assert np.allclose(*predictions, rtol=0, atol=1e-8)


@pytest.mark.parametrize("hard", [0.0, 1e-13])
def test_a_largest_direction_that_explains_nothing(hard):
    """Trust-region's hard case: the bound is filled along the largest direction of U."""
    on_s = Spectrum(np.array([1.0]), np.eye(1), np.array([3.0]))
    on_u = Spectrum(np.array([0.5, 2.0]), np.eye(2), np.array([0.2, hard]))
    a, b = bounded(on_s, on_u, 0.1, 0.3)
    assert 0.7 * on_s.variance(a) == pytest.approx(0.3 * on_u.variance(b), rel=1e-9)

    def objective(a, b):
        value = (on_s.values + 0.1) @ a**2 - 2 * on_s.products @ a
        return value + (on_u.values + 0.1) @ b**2 - 2 * on_u.products @ b

    rng = np.random.default_rng(0)
    for _ in range(300):
        other = b + 0.3 * rng.standard_normal(2)
        reach = np.sqrt(0.3 * on_u.variance(other) / 0.7)
        other_a = np.minimum(a + 0.3 * rng.standard_normal(1), reach)
        other_a = np.maximum(other_a, -reach)
        assert objective(other_a, other) >= objective(a, b) - 1e-9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_whole_weights_are_repeated_rows(method, kernel, data):
    X, y, s = (part[:60] for part in data)
    weights = np.random.default_rng(0).integers(0, 4, 60)
    if kernel == "rbf" and method is UnfairnessPenaltyRidge:
        model = method(unfairness=0.02, alpha=3.0)
    else:
        model = method(unfairness=0.01, alpha=0.3).set_params(
            **({"kernel": "rbf"} if kernel == "rbf" else {})
        )
    weighted = model.fit(X, y, sensitive_features=s, sample_weight=weights).predict(X)
    repeated = [np.repeat(part, weights, axis=0) for part in (X, y, s)]
    expected = model.fit(*repeated[:2], sensitive_features=repeated[2]).predict(X)
    assert np.allclose(weighted, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_groups_are_recovered_from_columns_that_determine_them(method, data):
    X, y, s = data
    outside = method().fit(X, y, sensitive_features=s)
    named = method(sensitive_columns=4).fit(X, y)
    dropped = method(sensitive_columns=4, drop_sensitive=True).fit(X, y)
    expected = outside.predict(X, sensitive_features=s)
    for model in (outside, named, dropped):
        assert np.allclose(model.predict(X), expected, rtol=0, atol=1e-9)
    blind = method().fit(X[:, :4], y, sensitive_features=s)
    with pytest.raises(ValueError, match=r"needs the sensitive features of the rows it predicts"):
        blind.predict(X[:, :4])
    assert np.allclose(blind.predict(X[:, :4], sensitive_features=s), expected, atol=1e-9)


@pytest.mark.parametrize("coding", ["all", "all but the first", "all but the last"])
def test_groups_are_recovered_from_any_indicators(coding, data):
    X, y, _ = data
    groups = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    indicators = (groups[:, None] == ["a", "b", "c"]).astype(float)
    columns = {"all": [0, 1, 2], "all but the first": [1, 2], "all but the last": [0, 1]}
    X = np.column_stack([X, indicators[:, columns[coding]]])
    model = CorrelationBoundedRegression().fit(X, y, sensitive_features=groups)
    expected = model.predict(X, sensitive_features=groups)
    assert np.allclose(model.predict(X), expected, rtol=0, atol=1e-9)


def test_as_many_columns_as_rows_do_not_determine_the_groups():
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((20, 25)), np.arange(20) % 2
    model = CorrelationBoundedRegression().fit(X, X[:, 0], sensitive_features=s)
    with pytest.raises(ValueError, match="needs the sensitive features"):
        model.predict(X)


@pytest.mark.parametrize("method", METHODS)
def test_hostile_columns(method):
    """Constant, repeated, huge and tiny columns, S repeated, and far from zero."""
    rng = np.random.default_rng(0)
    n, s = 80, np.arange(80) % 2
    Z = rng.standard_normal((n, 3)) + s[:, None]
    y = Z[:, 0] + s + 0.1 * rng.standard_normal(n)
    X = np.column_stack([Z, Z[:, 0], np.ones(n), 1e8 * Z[:, 1] + 1e9, 1e-8 * Z[:, 2], s, 3 - s])
    model = method(unfairness=0.05, alpha=0.0).fit(X, y, sensitive_features=s)
    plain = method(unfairness=0.05, alpha=0.0).fit(Z, y, sensitive_features=s)
    expected = plain.predict(Z, sensitive_features=s)
    assert np.allclose(model.predict(X), expected, rtol=0, atol=1e-6)
    assert np.abs(model.predict(X, sensitive_features=s) - expected).max() <= 1e-6


def test_y_that_s_alone_explains(data):
    X, _, s = data
    y = (s > 0).astype(float)
    for method in METHODS:
        model = method(unfairness=0.0, alpha=0.0).fit(X, y, sensitive_features=s)
        assert np.ptp(model.predict(X)) <= 1e-10
        model = method(unfairness=1.0, alpha=0.0).fit(X, y, sensitive_features=s)
        assert np.allclose(model.predict(X), y, rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_without_an_intercept_the_mean_is_not_added(method, data):
    X, y, s = data
    with_mean = method().fit(X, y + 7, sensitive_features=s)
    without = method(fit_intercept=False).fit(X, y + 7, sensitive_features=s)
    difference = with_mean.predict(X) - without.predict(X)
    assert np.allclose(difference, (y + 7).mean(), rtol=0, atol=1e-9)


def test_values_that_fit_did_not_see(data):
    X, y, s = data
    text = np.where(s > 0, "F", "M")
    model = CorrelationBoundedRegression().fit(X, y, sensitive_features=text)
    with pytest.raises(ValueError, match=r"has the value 'X', which fit did not see.*'F', 'M'"):
        model.predict(X[:2], sensitive_features=["F", "X"])


def test_the_exact_bound_never_costs_more_than_the_penalty():
    for seed in range(30):
        X, y, S, _, train, _ = problem(seed, "both")
        X, y, S = X[train], y[train], S[train]
        for bound in (0.01, 0.1, 0.4):
            losses = [
                np.mean((y - method(unfairness=bound, alpha=0.0).fit(X, y, sensitive_features=S)
                         .predict(X, sensitive_features=S)) ** 2)
                for method in METHODS
            ]  # fmt: skip
            assert losses[0] <= losses[1] + 1e-12


def test_without_a_penalty_names_of_groups_do_not_matter(data):
    X, y, _ = data
    groups = np.digitize(X[:, 0], [-0.5, 0.5])
    model = CorrelationBoundedRegression(unfairness=0.01, alpha=0.0)
    found = []
    for names in (["a", "b", "c"], ["z", "y", "x"]):
        s = np.array(names)[groups]
        found.append(model.fit(X, y, sensitive_features=s).predict(X, sensitive_features=s))
    assert np.allclose(*found, rtol=0, atol=1e-9)
