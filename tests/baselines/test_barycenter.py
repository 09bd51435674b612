"""The barycentre against brute-force quantiles, its relaxation, and independence of the batch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from meanparity.baselines import BarycenterRegressor
from meanparity.metrics import wasserstein_gap
from tests.oracles.baselines import barycentre
from tests.problems import cases


@pytest.mark.filterwarnings("ignore:A Wasserstein gap")
@settings(deadline=None)
@given(case=cases(), base=st.sampled_from(["linear", "tree"]))
def test_equals_brute_force(case, base):
    estimator = None if base == "linear" else DecisionTreeRegressor(max_depth=2, random_state=0)
    model = BarycenterRegressor(estimator).fit(case.X, case.y, sensitive_features=case.codes)
    fitted = model.estimator_.predict(case.X)
    for X, groups in ((case.X, case.codes), (case.X_new, case.codes[:7])):
        values = model.estimator_.predict(X)
        expected = barycentre(fitted, case.codes, values, groups)
        found = model.predict(X, sensitive_features=groups)
        # a value between two that rounding tells apart may have any rank between theirs
        assert np.abs(found - expected).max() <= 1e-8 * np.abs(fitted).max()


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    codes = rng.choice(3, 600, p=[0.6, 0.3, 0.1])
    X = np.column_stack([rng.standard_normal((600, 3)) + 0.5 * codes[:, None], codes])
    y = X[:, 0] * (1 + codes) + codes + rng.standard_normal(600)
    return X, y, np.array(["a", "b", "c"])[codes]


def test_a_smaller_unfairness_never_raises_the_gap(data):
    X, y, s = data
    dials = np.linspace(0, 1, 21)
    gaps = []
    for dial in dials:
        model = BarycenterRegressor(unfairness=dial).fit(X, y, sensitive_features=s)
        gaps.append(
            wasserstein_gap(y, model.predict(X, sensitive_features=s), sensitive_features=s)
        )
    assert np.all(np.diff(gaps) > 0)
    ends = [
        BarycenterRegressor(unfairness=u)
        .fit(X, y, sensitive_features=s)
        .predict(X, sensitive_features=s)
        for u in (0.0, 0.3, 1.0)
    ]
    assert np.allclose(ends[1], 0.7 * ends[0] + 0.3 * ends[2], rtol=0, atol=1e-12)
    base = LinearRegression().fit(X, y).predict(X)
    assert np.array_equal(ends[2], base)
    assert gaps[-1] == pytest.approx(wasserstein_gap(y, base, sensitive_features=s))
    assert gaps[0] < 0.02 * gaps[-1]


def test_equal_groups_of_equal_size_get_equal_distributions():
    rng = np.random.default_rng(0)
    s = np.repeat(["a", "b"], 50)
    X = np.column_stack([rng.standard_normal((100, 2)), s == "a"])
    y = X[:, 0] * (1 + 2 * X[:, 2]) + X[:, 2]
    model = BarycenterRegressor(DecisionTreeRegressor(random_state=0)).fit(
        X, y, sensitive_features=s
    )
    predicted = model.predict(X, sensitive_features=s)
    assert np.allclose(np.sort(predicted[:50]), np.sort(predicted[50:]), rtol=0, atol=1e-12)
    assert wasserstein_gap(y, predicted, sensitive_features=s) <= 1e-12


def test_it_is_the_nearest_such_predictor():
    """No other map to one distribution moves the predictions less, in mean square."""
    rng = np.random.default_rng(0)
    s = np.repeat(["a", "b"], 40)
    f = np.concatenate([rng.normal(0, 1, 40), rng.normal(2, 3, 40)])
    X = np.column_stack([f, np.zeros(80)])
    model = BarycenterRegressor().fit(X, f, sensitive_features=s)
    moved = model.predict(X, sensitive_features=s)
    middle = (np.sort(f[:40]) + np.sort(f[40:])) / 2
    for group in (moved[:40], moved[40:]):
        assert np.allclose(np.sort(group), middle, rtol=0, atol=1e-9)
    cost = np.mean((moved - f) ** 2)
    target = np.sort(moved[:40])
    for _ in range(200):
        other = target + 0.3 * rng.standard_normal(40)
        shuffled = [other[np.argsort(np.argsort(f[s == g]))] for g in "ab"]
        assert np.mean((np.concatenate(shuffled) - f) ** 2) >= cost - 1e-12


def test_batches_do_not_matter(data):
    X, y, s = data
    model = BarycenterRegressor(RandomForestRegressor(10, random_state=0))
    model.fit(X, y, sensitive_features=s)
    whole = model.predict(X, sensitive_features=s)
    order = np.random.default_rng(0).permutation(len(y))[:50]
    assert np.array_equal(model.predict(X[order], sensitive_features=s[order]), whole[order])
    one = model.predict(X[:1], sensitive_features=s[:1])
    assert one.shape == (1,)
    assert one[0] == whole[0]


def test_values_beyond_the_training_rows_stay_inside(data):
    X, y, s = data
    model = BarycenterRegressor().fit(X, y, sensitive_features=s)
    far = np.vstack([X[:1] + 1e6, X[:1] - 1e6])
    high, low = model.predict(far, sensitive_features=s[[0, 0]])
    inside = model.predict(X, sensitive_features=s)
    assert high == pytest.approx(inside[s == s[0]].max())
    assert low == pytest.approx(inside[s == s[0]].min())


def test_whole_weights_are_repeated_rows(data):
    X, y, s = data
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    model = BarycenterRegressor()
    seen = weights > 0
    model.fit(X, y, sensitive_features=s, sample_weight=weights)
    weighted = model.predict(X[seen], sensitive_features=s[seen])
    repeated = [np.repeat(part, weights, axis=0) for part in (X, y, s)]
    model.fit(*repeated[:2], sensitive_features=repeated[2])
    expected = model.predict(X[seen], sensitive_features=s[seen])
    assert np.allclose(weighted, expected, rtol=0, atol=1e-9)


def test_a_regressor_without_weights_is_refused_only_if_there_are_some(data):
    X, y, s = data
    model = BarycenterRegressor(KNeighborsRegressor())
    model.fit(X, y, sensitive_features=s)
    with pytest.raises(ValueError, match=r"KNeighborsRegressor\.fit takes no sample_weight"):
        model.fit(X, y, sensitive_features=s, sample_weight=np.ones(len(y)))


def test_it_says_that_it_needs_groups_to_predict(data):
    X, y, s = data
    model = BarycenterRegressor().fit(X, y, sensitive_features=s)
    with pytest.raises(
        ValueError,
        match=r"BarycenterRegressor needs the sensitive features of the rows it predicts",
    ):
        model.predict(X)
    with pytest.raises(ValueError, match=r"group 'z' is not known.*3 groups"):
        model.predict(X[:2], sensitive_features=["a", "z"])
    inside = BarycenterRegressor(sensitive_columns=3).fit(X, y)
    outside = model.predict(X, sensitive_features=s)
    assert np.allclose(inside.predict(X), outside, rtol=0, atol=1e-12)
    assert inside.score(X, y) == pytest.approx(model.score(X, y, sensitive_features=s))
    assert model.group_shares_ == pytest.approx({g: np.mean(s == g) for g in "abc"})
