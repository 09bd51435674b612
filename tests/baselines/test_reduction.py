"""The reduction against a loop over rows and thresholds, its constraint, and its oracles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from meanparity.baselines import ReductionRegressor
from meanparity.baselines.game import Costs, Grid, _Answers, play
from meanparity.baselines.reduction import LeastSquares
from meanparity.datasets import make_synthetic
from meanparity.metrics import wasserstein_gap
from tests.oracles.reduction import LoopedReduction


def problem(seed, n=40, k=2):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % k)
    X = rng.standard_normal((n, 2)) + codes[:, None]
    y = 1 / (1 + np.exp(-X[:, 0] - 0.7 * codes - rng.standard_normal(n)))
    return X, y, codes


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@settings(deadline=None, max_examples=12)
@given(
    seed=st.integers(0, 10_000),
    k=st.integers(2, 3),
    slack=st.sampled_from([0.02, 0.1, 0.3, 1.0]),
    m=st.sampled_from([3, 9, 15]),
)
def test_equals_the_loop(seed, k, slack, m):
    X, y, codes = problem(seed, k=k)
    theta = np.linspace(0, 1, m)
    loop = LoopedReduction(X, y, codes, slack, theta)
    expected = loop.predict(X, loop.run())
    model = ReductionRegressor(slack=slack, thresholds=theta)
    model.fit(X, y, sensitive_features=codes)
    assert np.abs(model.predict(X) - expected).max() <= 1e-8
    assert model.n_oracle_calls_ == loop.calls


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    codes = np.arange(400) % 3
    X = np.column_stack([rng.standard_normal((400, 4)) + 0.6 * codes[:, None], codes])
    y = X[:, 0] + X[:, 1] ** 2 / 3 + codes + rng.standard_normal(400)
    return X, y, np.array(["a", "b", "c"])[codes]


def mixture_gap(model, X, s):
    """W1 gap of the random predictor: its distribution in each group, all draws at once."""
    values = model.mixture_values(X)
    weights = np.tile(model.mixture_weights_, len(values))
    spread = np.repeat(np.asarray(s), values.shape[1])
    return wasserstein_gap(
        None, values.ravel(), sensitive_features=spread, sample_weight=np.maximum(weights, 1e-300)
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_smaller_slack_never_raises_the_gap(seed):
    rng = np.random.default_rng(seed)
    s = np.arange(400) % 2
    X = np.column_stack([rng.standard_normal((400, 4)) + 0.6 * s[:, None], s])
    y = X[:, 0] + X[:, 1] ** 2 / 3 + s + rng.standard_normal(400)
    gaps = []
    for slack in (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 1.0):
        model = ReductionRegressor(slack=slack).fit(X, y, sensitive_features=s)
        assert model.excess_cost_ <= model.tolerance_
        # the cost is one in all, and a violation costs 1/slack
        assert model.disparity_ <= slack * (1 + 2 * model.tolerance_) + 1e-9
        gaps.append(mixture_gap(model, X, s))
        # both groups are within slack at every threshold
        assert gaps[-1] <= 2 * slack * (np.ptp(model.thresholds_) + 1e-9)
    assert np.all(np.diff(gaps) >= -1e-3 * gaps[-1]), gaps
    assert gaps[0] < 0.05 * gaps[-1]


def test_an_oracle_that_cannot_meet_the_slack_is_reported(data):
    X, y, s = data
    with pytest.warns(ConvergenceWarning, match=r"0\.08 .* above slack=0\.01.*Raise slack"):
        ReductionRegressor(slack=0.01).fit(X, y, sensitive_features=s)


def test_much_slack_is_least_squares_on_the_grid(data):
    X, y, s = data
    model = ReductionRegressor(slack=1.0).fit(X, y, sensitive_features=s)
    step = np.ptp(y) / 40
    middles = y.min() + step / 2 + step * np.arange(41)
    nearest = middles[np.abs(y[:, None] - middles).argmin(axis=1)]
    expected = np.clip(LinearRegression().fit(X, nearest).predict(X), middles[0], middles[-1])
    assert np.abs(model.predict(X) - expected).max() <= step / 2 + 1e-9
    assert len(model.estimators_) == 1


def test_random_predictions_have_the_mean_and_the_distribution(data):
    X, y, s = data
    model = ReductionRegressor(slack=0.1).fit(X, y, sensitive_features=s)
    assert len(model.mixture_weights_) > 1
    assert model.mixture_weights_.sum() == pytest.approx(1)
    draws = np.stack([model.sample_predictions(X, random_state=i) for i in range(600)])
    spread = draws.std(axis=0)
    off = np.abs(draws.mean(axis=0) - model.predict(X))
    assert np.all(off <= 5 * spread / np.sqrt(600) + 1e-9)
    assert np.array_equal(draws[0], model.sample_predictions(X, random_state=0))
    values = model.mixture_values(X)
    used = np.abs(values - draws[0][:, None]).argmin(axis=1)
    assert len(set(used.tolist())) > 1, "each row has its own draw"
    assert np.isin(
        draws.round(9), (model.thresholds_ + np.diff(model.thresholds_)[0] / 2).round(9)
    ).all()
    for theta in model.thresholds_[5::5]:
        overall = np.mean(draws >= theta)
        for group in "abc":
            assert abs(np.mean(draws[:, s == group] >= theta) - overall) <= 0.1 + 0.01


def test_a_long_game_equals_the_loop():
    """Long enough for the learning rate to shrink."""
    X, y, codes = problem(3, n=30, k=3)
    theta = np.linspace(0, 1, 5)
    loop = LoopedReduction(X, y, codes, 0.02, theta, max_iter=30)
    loop.programme = lambda: ([1.0], dict.fromkeys(loop.gammas[0], 0.0))
    expected = loop.predict(X, loop.run())
    costs = Costs.from_targets(Grid(theta), y, codes, None)
    oracle = LeastSquares.factorise(X, None)

    def no_programme(self):
        return np.ones(1), np.zeros((3, 5))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Answers, "programme", no_programme)
        mixture = play(costs, oracle, slack=0.02, max_iter=30)
    assert mixture.n_iter > 13
    columns = [Grid(theta).snap(model.predict(X)) for model in mixture.hypotheses]
    assert np.abs(np.stack(columns, axis=1) @ mixture.weights - expected).max() <= 1e-8
    assert mixture.n_oracle_calls == loop.calls


def test_batches_do_not_matter(data):
    X, y, s = data
    model = ReductionRegressor(slack=0.1).fit(X, y, sensitive_features=s)
    assert np.array_equal(model.predict(X)[:10], model.predict(X[:10]))


@pytest.mark.parametrize(
    "oracle",
    [
        DecisionTreeRegressor(max_depth=4, random_state=0),
        RandomForestRegressor(20, max_depth=4, random_state=0),
        make_pipeline(StandardScaler(), LinearRegression()),
    ],
    ids=lambda oracle: type(oracle).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_regressor_is_an_oracle(oracle, data):
    X, y, s = data
    model = ReductionRegressor(oracle, slack=0.1, max_iter=15).fit(X, y, sensitive_features=s)
    assert model.disparity_ <= 0.13
    assert np.mean((y - model.predict(X)) ** 2) < y.var()
    assert not hasattr(oracle, "n_features_in_"), "the user's object is not fitted"


def test_a_linear_oracle_equals_the_default(data):
    X, y, s = data
    default = ReductionRegressor(slack=0.2).fit(X, y, sensitive_features=s)
    same = ReductionRegressor(LinearRegression(), slack=0.2).fit(X, y, sensitive_features=s)
    assert np.allclose(default.predict(X), same.predict(X), rtol=0, atol=1e-8)


def test_whole_weights_are_repeated_rows(data):
    X, y, s = data
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    grid = np.linspace(y.min(), y.max(), 21)
    # the tolerance counts rows, so the game is played to the same end
    model = ReductionRegressor(slack=0.1, thresholds=grid, max_iter=1)
    with pytest.warns(ConvergenceWarning):
        weighted = model.fit(X, y, sensitive_features=s, sample_weight=weights).predict(X)
    repeated = [np.repeat(part, weights, axis=0) for part in (X, y, s)]
    with pytest.warns(ConvergenceWarning):
        expected = model.fit(*repeated[:2], sensitive_features=repeated[2]).predict(X)
    assert np.allclose(weighted, expected, rtol=0, atol=1e-8)


def test_the_default_grid(data):
    X, y, s = data
    own = ReductionRegressor(slack=0.5).fit(X, y, sensitive_features=s).thresholds_
    assert np.array_equal(own, np.linspace(y.min(), y.max(), 41))
    share = (y - y.min()) / np.ptp(y) * 0.5 + 0.3
    unit = ReductionRegressor(slack=0.5).fit(X, share, sensitive_features=s).thresholds_
    assert np.array_equal(unit, np.linspace(0, 1, 41))
    few = ReductionRegressor(slack=0.5, thresholds=11).fit(X, y, sensitive_features=s).thresholds_
    assert len(few) == 11


def test_too_few_rounds_warn(data):
    X, y, s = data
    with pytest.warns(ConvergenceWarning, match=r"After 1 rounds .* Raise max_iter, or slack"):
        ReductionRegressor(slack=0.02, max_iter=1).fit(X, y, sensitive_features=s)


def test_the_papers_synthetic_data():
    X, y, s = make_synthetic(500, random_state=0)
    model = ReductionRegressor(slack=0.02).fit(X, y, sensitive_features=s)
    assert model.disparity_ <= 0.0201
