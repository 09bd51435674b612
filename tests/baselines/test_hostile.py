"""Cases that failed once: far and huge columns, ties, odd regressors, refits, zero weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import StackingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from meanparity import ParityWarning
from meanparity.baselines import (
    BarycenterRegressor,
    CorrelationBoundedRegression,
    CovariancePenaltyRidge,
    MeanPenaltyRidge,
    ReductionRegressor,
    UnfairnessPenaltyRidge,
)
from meanparity.baselines.barycenter import Distribution
from meanparity.datasets import make_synthetic
from meanparity.kernels import Kernel

BOUNDED = [UnfairnessPenaltyRidge, CorrelationBoundedRegression]


@pytest.fixture
def data():
    return make_synthetic(200, random_state=0)


@pytest.mark.parametrize("method", BOUNDED)
@pytest.mark.parametrize("offset", [1e3, 1e4, 1e6])
def test_more_columns_than_rows_far_from_zero(method, offset):
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((20, 50)), rng.standard_normal((200, 50))
    s, t, y = np.arange(20) % 2, np.arange(200) % 2, X[:, 0] + rng.standard_normal(20)
    model = method(alpha=0.0)
    near = model.fit(X, y, sensitive_features=s).predict(new, sensitive_features=t)
    far = model.fit(X + offset, y, sensitive_features=s)
    assert np.abs(far.predict(new + offset, sensitive_features=t) - near).max() <= 1e-8 * offset


@pytest.mark.parametrize(
    "model",
    [
        UnfairnessPenaltyRidge(),
        CorrelationBoundedRegression(alpha=0.0),
        CovariancePenaltyRidge(alpha=0.0, fit_intercept=True),
        MeanPenaltyRidge(alpha=0.0, fit_intercept=True),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_dependent_columns_far_from_zero(model, offset):
    rng = np.random.default_rng(0)
    a, b = offset + rng.standard_normal((2, 200))
    X, s = np.column_stack([a, b, a + b]), np.arange(200) % 2
    model.fit(X, a - offset + s, sensitive_features=s)
    assert np.abs(model.coef_).max() < 10


@pytest.mark.parametrize("method", BOUNDED)
def test_least_squares_of_few_rows_interpolates(method):
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X, y, s = rng.standard_normal((3, 3)), rng.standard_normal(3), [0, 0, 1]
        model = method(unfairness=1.0, alpha=0.0).fit(X, y, sensitive_features=s)
        assert np.allclose(model.predict(X, sensitive_features=s), y, rtol=0, atol=1e-6)


@pytest.mark.parametrize("method", BOUNDED)
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_bounds_at_the_share_that_is_free(method, alpha):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        s = np.arange(30) % 3
        X = rng.standard_normal((30, 3)) + s[:, None]
        y = X[:, 0] + s + rng.standard_normal(30)
        free = method(unfairness=1.0, alpha=alpha).fit(X, y, sensitive_features=s).r2_sensitive_
        for bound in (free, np.nextafter(free, 0), np.nextafter(free, 1), free * (1 - 1e-12)):
            model = method(unfairness=bound, alpha=alpha).fit(X, y, sensitive_features=s)
            assert model.r2_sensitive_ == pytest.approx(free, rel=1e-8)


@pytest.mark.parametrize("method", BOUNDED)
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_scales_of_y_and_tiny_bounds(method, alpha, data):
    X, y, s = data
    for bound in (1e-300, 1e-40, 1e-20, 1e-4):
        model = method(unfairness=bound, alpha=alpha)
        expected = model.fit(X, y, sensitive_features=s).predict(X)
        assert model.r2_sensitive_ <= bound * (1 + 1e-6)
        for scale in (1e160, 1e-165):
            found = model.fit(X, scale * y, sensitive_features=s).predict(X) / scale
            assert np.allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", BOUNDED)
def test_scales_of_the_columns_do_not_matter(method, data):
    X, y, s = data
    S = np.column_stack([X[:, 0], s])
    model = method(unfairness=0.01, continuous=[0])
    expected = model.fit(X, y, sensitive_features=S).predict(X, sensitive_features=S)
    for scale in (1e160, 1e-170):
        scaled = S * [scale, 1.0]
        found = model.fit(X, y, sensitive_features=scaled).predict(X, sensitive_features=scaled)
        assert np.allclose(found, expected, rtol=0, atol=1e-8)
        units = np.array([scale, 1, 1, 1, 1])
        model.fit(X * units, y, sensitive_features=S)
        found = model.predict(X * units, sensitive_features=S)
        assert np.allclose(found, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("alpha", [0.0, 1e-9, 1e-3])
def test_the_bound_where_u_explains_nothing(alpha):
    s = np.array([0, 0, 1, 1] * 5)
    x, y = np.tile([1.0, -1, 1, -1], 5)[:, None], s.astype(float)
    model = CorrelationBoundedRegression(unfairness=0.5, alpha=alpha)
    predicted = model.fit(x, y, sensitive_features=s).predict(x, sensitive_features=s)
    assert np.sum((y - predicted) ** 2) == pytest.approx(2.5, abs=1e-3)


def test_huge_features_are_refused(data):
    X, y, s = data
    for method in (MeanPenaltyRidge, CovariancePenaltyRidge):
        with pytest.raises(ValueError, match="Scale the features"):
            method().fit(X * 1e200, y, sensitive_features=s)


@pytest.mark.parametrize("penalty", [1e-320, 1e-310, 1e-100, 1e34, 1e300])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("method", [MeanPenaltyRidge, CovariancePenaltyRidge])
def test_penalties_of_all_sizes(method, kernel, penalty, data):
    X, y, s = data
    text = np.where(s > 0, "F", "M")
    near = method(kernel=kernel, penalty=0.0 if penalty < 1 else 1e20)
    model = method(kernel=kernel, penalty=penalty).fit(X, y, sensitive_features=text)
    expected = near.fit(X, y, sensitive_features=text).predict(X)
    assert np.allclose(model.predict(X), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("other", [1e8, 1e12])
def test_a_far_or_large_sensitive_column_does_not_hide_another(other):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    sex = (X[:, 0] + rng.standard_normal(200) > 0).astype(float)
    y = X.sum(axis=1) + sex
    for column in (other + rng.standard_normal(200), other * rng.standard_normal(200)):
        S = np.column_stack([column, sex])
        for kernel in ("linear", "rbf"):
            model = CovariancePenaltyRidge(
                penalty=1e6, kernel=kernel, sensitive_kernel=Kernel("linear")
            ).fit(X, y, sensitive_features=S)
            assert abs(np.cov(sex, model.predict(X))[0, 1]) < 0.01


@pytest.mark.parametrize(
    "kernel",
    [
        Kernel("sigmoid", gamma=1.0),
        Kernel("polynomial", degree=2, coef0=-2, gamma=1.0),
        Kernel("polynomial", degree=1e6),
    ],
    ids=str,
)
def test_sensitive_kernels_without_features_are_refused(kernel, data):
    X, y, _ = data
    s = np.arange(len(y)) % 6 - 2
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match=r"not positive semidefinite.*Choose another"),
    ):
        CovariancePenaltyRidge(sensitive_kernel=kernel).fit(X, y, sensitive_features=s)


def test_far_and_narrow_sensitive_values(data):
    X, y, _ = data
    s = 1e15 * (1 + np.arange(len(y)) % 2)
    model = CovariancePenaltyRidge(kernel="rbf", penalty=1e3).fit(X, y, sensitive_features=s)
    same = CovariancePenaltyRidge(
        kernel="rbf", sensitive_kernel=Kernel("rbf", gamma=1e9), penalty=1e3
    )
    same.fit(X, y, sensitive_features=np.arange(len(y)) % 2)
    assert np.allclose(model.predict(X), same.predict(X), rtol=0, atol=1e-9)


# --- regressors inside


class Odd(RegressorMixin, BaseEstimator):
    def __init__(self, kind="nan"):
        self.kind = kind

    def fit(self, X, y, sample_weight=None):
        self.mean_ = np.mean(y)
        y[:] = -1.0  # a regressor may overwrite its own copy
        return None if self.kind == "no self" else self

    def predict(self, X):
        shapes = {"two columns": (len(X), 2), "one column": (len(X), 1)}
        values = np.full(shapes.get(self.kind, len(X)), self.mean_)
        values[:1] = np.nan if self.kind == "nan" else values[:1]
        return values


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("wrapper", [BarycenterRegressor, ReductionRegressor])
def test_odd_regressors(wrapper, data):
    X, y, s = data
    before = y.copy()
    for kind, message in (("nan", "predicts nan for some rows"), ("two columns", "shape .200, 2.")):
        with pytest.raises(ValueError, match=message):
            wrapper(Odd(kind)).fit(X, y, sensitive_features=s)
    for kind in ("no self", "one column"):
        wrapper(Odd(kind)).fit(X, y, sensitive_features=s)
    assert np.array_equal(y, before)


@pytest.mark.parametrize("wrapper", [BarycenterRegressor, ReductionRegressor])
def test_regressors_that_overwrite_their_rows(wrapper, data):
    X, y, s = data
    found = []
    for copy in (True, False):
        base = make_pipeline(StandardScaler(copy=copy), LinearRegression(copy_X=copy))
        mine = X.copy() + 5
        model = wrapper(base).fit(mine, y, sensitive_features=s)
        assert np.array_equal(mine, X + 5)
        aware = {"sensitive_features": s} if wrapper is BarycenterRegressor else {}
        found.append(model.predict(X.copy() + 5, **aware))
    assert np.allclose(*found, rtol=0, atol=1e-9)


class AlwaysPredicts(RegressorMixin, BaseEstimator):
    """A stack of regressors that has `predict` before it is fitted."""

    def fit(self, X, y, sample_weight=None):
        self.stack_ = stack().fit(X, y)
        return self

    def predict(self, X):
        return self.stack_.predict(X)


def stack():
    return StackingRegressor([("a", Ridge())], cv=2)


@pytest.mark.parametrize("wrapper", [BarycenterRegressor, ReductionRegressor])
def test_regressors_whose_predict_appears_after_fit(wrapper, data):
    X, y, s = data
    assert not hasattr(stack(), "predict")
    aware = {"sensitive_features": s} if wrapper is BarycenterRegressor else {}
    found, expected = (
        wrapper(regressor).fit(X, y, sensitive_features=s).predict(X, **aware)
        for regressor in (stack(), AlwaysPredicts())
    )
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    "oracle",
    [
        TransformedTargetRegressor(KNeighborsRegressor()),
        GridSearchCV(KNeighborsRegressor(), {"n_neighbors": [3]}),
    ],
    ids=lambda oracle: type(oracle).__name__,
)
def test_oracles_around_one_that_ignores_weights(oracle, data):
    X, y, s = data
    with pytest.raises(ValueError, match="ignores weights"):
        ReductionRegressor(oracle).fit(X, y, sensitive_features=s)


def test_oracles_with_routing(data):
    X, y, s = data
    for oracle in (make_pipeline(StandardScaler(), Ridge()), GridSearchCV(Ridge(), {}, cv=2)):
        model = ReductionRegressor(oracle, slack=0.3)
        expected = model.fit(X, y, sensitive_features=s).predict(X)
        with sklearn.config_context(enable_metadata_routing=True):
            model.fit(X, y, sensitive_features=s)
        assert np.array_equal(model.predict(X), expected)
        assert model.disparity_ <= 1.1 * 0.3


def test_an_oracle_without_errors_ends_the_game(data):
    X, y, s = data
    oracle = DecisionTreeRegressor(random_state=0)
    model = ReductionRegressor(oracle, slack=1.0).fit(X, y, sensitive_features=s)
    assert model.n_iter_ < 5


@pytest.mark.parametrize("shift", [1e15, 1e16])
def test_thresholds_finer_than_floating_point(shift, data):
    X, y, s = data
    with pytest.raises(ValueError, match="too close for floating point"):
        ReductionRegressor().fit(X, shift + y, sensitive_features=s)


@pytest.mark.parametrize("scale", [1e160, 1e-170])
def test_scales_of_y_in_the_reduction(scale, data):
    X, y, s = data
    grid = np.linspace(y.min(), y.max(), 21)
    model = ReductionRegressor(slack=0.1, thresholds=grid)
    expected = model.fit(X, y, sensitive_features=s).predict(X)
    model.set_params(thresholds=scale * grid).fit(X, scale * y, sensitive_features=s)
    assert np.allclose(model.predict(X) / scale, expected, rtol=0, atol=1e-6)


def test_the_disparity_is_that_of_what_is_predicted():
    x = np.repeat([2.2, 4.3, 2.2, 3.5], [2, 5, 1, 19])
    g, y = np.repeat(["a", "a", "b", "b"], [2, 5, 1, 19]), (x == 2.2).astype(float)
    model = ReductionRegressor(slack=0.1, thresholds=4, max_iter=10)
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        model.fit(x[:, None], y, sensitive_features=g)
    values, weights = model.mixture_values(x[:, None]), model.mixture_weights_
    worst = 0.0
    for theta in model.thresholds_:
        above = (values >= theta) @ weights
        worst = max(worst, *(abs(above[g == group].mean() - above.mean()) for group in "ab"))
    assert model.disparity_ == pytest.approx(worst, abs=1e-12)


# --- distributions


def test_outliers_and_chains_are_not_ties():
    many = np.linspace(0, 1, 1000)
    assert len(Distribution.from_values(np.append(many, 1e10), np.ones(1001)).values) == 1001
    chain = 1e14 + np.arange(2000) / 64
    assert len(Distribution.from_values(chain, np.ones(2000)).values) == 2000
    ties = np.repeat(many, 2) * (1 + np.tile([0, 1e-16], 1000))
    assert len(Distribution.from_values(ties, np.ones(2000)).values) == 1000


def test_ties_that_cannot_be_moved_apart_are_reported():
    rng = np.random.default_rng(0)
    s = rng.integers(0, 2, 2000)
    x = rng.random(2000) < 0.3 + 0.4 * s
    y = x + s + rng.standard_normal(2000)
    with pytest.warns(ParityWarning, match="rows with equal predictions cannot be moved apart"):
        model = BarycenterRegressor().fit(np.column_stack([x, s]), y, sensitive_features=s)
    assert model.training_gap_ > 0.1


# --- state and tables


def test_a_failed_refit_leaves_the_first_fit(data):
    X, y, s = data
    model = CorrelationBoundedRegression().fit(X, y, sensitive_features=s)
    before = model.predict(X, sensitive_features=s)
    with pytest.raises(ValueError, match="Choose another kernel"):
        model.set_params(kernel="chi2").fit(X * 3 + 1, y + 50, sensitive_features=s)
    model.set_params(kernel="polynomial", degree=300, gamma=1e9)
    with pytest.raises(ValueError, match="infinite or undefined"):
        model.fit(X * 3 + 1, y + 50, sensitive_features=s)
    assert np.array_equal(model.predict(X, sensitive_features=s), before)


@pytest.mark.parametrize("wrapper", [BarycenterRegressor, ReductionRegressor])
def test_parameters_set_after_the_fit_change_nothing(wrapper, data):
    X, y, s = data
    frame = pd.DataFrame(X, columns=list("abcde"))
    loose = {"slack": 0.3} if wrapper is ReductionRegressor else {}
    model = wrapper(Ridge(), **loose).fit(frame, y, sensitive_features=s)
    aware = {"sensitive_features": s} if wrapper is BarycenterRegressor else {}
    before = model.predict(frame, **aware)
    assert np.array_equal(model.set_params(estimator=None).predict(frame, **aware), before)


@pytest.mark.parametrize("method", [BarycenterRegressor, *BOUNDED])
def test_sensitive_columns_with_and_without_names(method, data):
    X, y, s = data
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = method(sensitive_columns="e").fit(frame, y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert np.allclose(model.predict(X), model.predict(frame))
    with pytest.raises(ValueError, match="Leave them out"):
        model.predict(frame, sensitive_features=s)
    dropped = method(sensitive_columns="e", drop_sensitive=True).fit(frame, y)
    with_s = dropped.predict(frame[list("abcd")], sensitive_features=frame["e"])
    assert np.allclose(dropped.predict(frame), with_s)


@pytest.mark.parametrize("method", BOUNDED)
def test_sensitive_numbers_of_the_training_rows_are_not_kept(method, data):
    X, y, _ = data
    people = pd.DataFrame({"sex": np.tile(["F", "M"], 100), "age": 20 + np.arange(200) / 7})
    model = method().fit(X, y, sensitive_features=people)
    assert model._first.encoder.levels == (("F", "M"), ())


@pytest.mark.parametrize("method", BOUNDED)
def test_recovered_groups_that_fit_did_not_see_are_refused(method, data):
    X, y, s = data
    X = np.column_stack([X[:, :4], s > 0])
    model = method().fit(X, y, sensitive_features=s > 0)
    for value in (7.0, 0.5):
        odd = X[:3].copy()
        odd[1, 4] = value
        with pytest.raises(ValueError, match="in row 1 that fit did not see"):
            model.predict(odd)


def test_lists_with_text(data):
    X, y, s = data
    rows = [[*row[:3], "F" if group > 0 else "M"] for row, group in zip(X.tolist(), s, strict=True)]
    listed = BarycenterRegressor(Ridge(), sensitive_columns=3, drop_sensitive=True).fit(rows, y)
    plain = BarycenterRegressor(Ridge()).fit(X[:, :3], y, sensitive_features=s)
    assert np.allclose(listed.predict(rows), plain.predict(X[:, :3], sensitive_features=s))


@pytest.mark.parametrize(
    "model",
    [
        MeanPenaltyRidge(kernel="rbf"),
        CovariancePenaltyRidge(kernel="rbf"),
        CorrelationBoundedRegression(alpha=10.0),
        CorrelationBoundedRegression(kernel="rbf"),
        UnfairnessPenaltyRidge(),
        ReductionRegressor(slack=0.3),
        BarycenterRegressor(),
    ],
    ids=str,
)
def test_rows_and_groups_without_weight_are_ignored(model, data):
    X, y, _ = data
    groups = np.array(["a", "b", "c", "d"])[np.arange(len(y)) % 4]
    weights, y = np.where(groups == "a", 0.0, 1.0), np.where(groups == "a", 50.0, y)
    there = weights > 0
    aware = isinstance(
        model, BarycenterRegressor | CorrelationBoundedRegression | UnfairnessPenaltyRidge
    )
    people = {"sensitive_features": groups[there]} if aware else {}
    model.fit(X, y, sensitive_features=groups, sample_weight=weights)
    weighted = model.predict(X[there], **people)
    model.fit(X[there], y[there], sensitive_features=groups[there])
    assert np.allclose(weighted, model.predict(X[there], **people), rtol=0, atol=1e-9)
    if aware:
        model.fit(X, y, sensitive_features=groups, sample_weight=weights)
        with pytest.raises(ValueError, match="fit did not see"):
            model.predict(X[:1], sensitive_features=["a"])
