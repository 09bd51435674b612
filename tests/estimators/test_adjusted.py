"""Corrections of other regressors: exact, least, and within scikit-learn."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator

from meanparity import (
    CovarianceParity,
    LinearParity,
    MeanParity,
    ParityAdjusted,
    ParityKernelRidge,
    ParityRidge,
    ParityWarning,
    Pool,
    ResidualParity,
)
from meanparity.estimators._price import warn_about_range
from meanparity.metrics import max_mean_gap
from meanparity.persistence import load, save
from meanparity.solvers import Solver

FOREST = RandomForestRegressor(10, min_samples_leaf=3, random_state=0)
RBF = ParityKernelRidge(kernel="rbf", gamma=0.2, alpha=0.1, fit_intercept=True)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    s = rng.choice(["a", "b", "c"], 200, p=[0.5, 0.3, 0.2])
    X = rng.standard_normal((200, 5)) + 0.7 * (s == "b")[:, None]
    return X, X[:, 0] ** 2 + X[:, 1] + (s == "c") + 0.2 * rng.standard_normal(200), s


@pytest.fixture(scope="module")
def pool():
    rng = np.random.default_rng(1)
    s = rng.choice(["a", "b", "c"], 80)
    return rng.standard_normal((80, 5)) + 0.7 * (s == "b")[:, None], s


@pytest.mark.parametrize("correction", [None, ParityRidge(alpha=5.0), RBF], ids=str)
def test_parity_without_the_groups(correction, data, pool):
    X, y, s = data
    model = ParityAdjusted(FOREST, correction=correction)
    model.fit(X, y, sensitive_features=s, pool=pool)
    base = model.estimator_.predict(X)
    assert max_mean_gap(None, base, sensitive_features=s) > 0.1
    for rows, groups in ((X, s), pool):
        gap = max_mean_gap(None, model.predict(rows), sensitive_features=groups)
        assert gap <= 1e-10 * y.std()
    assert model.parity_residual_ <= 1e-10 * y.std()
    assert np.mean(model.predict(X)) == pytest.approx(np.mean(base), abs=1e-10)
    moved = model.predict(X) - base
    assert model.shift_ == pytest.approx(np.sqrt(np.mean(moved**2)))
    assert max(model.base_gaps_.values()) == pytest.approx(
        max(base[s == g].mean() - base.mean() for g in "abc")
    )


def test_parity_with_the_groups(data):
    X, y, s = data
    model = ParityAdjusted(FOREST, correction="groups").fit(X, y, sensitive_features=s)
    base, predicted = model.estimator_.predict(X), model.predict(X, sensitive_features=s)
    assert max_mean_gap(None, predicted, sensitive_features=s) <= 1e-12
    for group in "abc":
        shift = base.mean() - base[s == group].mean()
        assert predicted[s == group] == pytest.approx(base[s == group] + shift)
    # nothing that gives parity moves the rows of fit less
    assert model.shift_ < ParityAdjusted(FOREST).fit(X, y, sensitive_features=s).shift_


@given(seed=st.integers(0, 10**6), weighted=st.booleans(), control=st.booleans())
def test_shifts_of_groups_are_the_least(seed, weighted, control):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((40, 2)), rng.standard_normal(40)
    s, c = np.array(["a", "b", "c", "a"] * 10), np.repeat([0, 1], 20) * control
    weights = rng.uniform(0.1, 3.0, 40) if weighted else np.ones(40)
    people = {"sensitive_features": s, "control_features": c if control else None}
    model = ParityAdjusted(correction="groups").fit(X, y, sample_weight=weights, **people)
    base, moved = model.estimator_.predict(X), model.predict(X, **people)
    for stratum in np.unique(c):
        inside = c == stratum
        w = weights[inside] / weights[inside].sum()
        means = [
            np.average(moved[inside & (s == g)], weights=weights[inside & (s == g)]) for g in "abc"
        ]
        # of all vectors with equal group means, the nearest has the mean of the stratum in each
        assert means == pytest.approx([w @ base[inside]] * 3, abs=1e-10)
        for g in "abc":
            assert np.ptp((moved - base)[inside & (s == g)]) <= 1e-12


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "constraint",
    [
        MeanParity(intersectional=False),
        MeanParity(missing="group"),
        MeanParity(missing="ignore"),
        ResidualParity(),
        CovarianceParity("linear"),
    ],
    ids=str,
)
def test_groups_are_shifted_for_other_notions(constraint, weighted, data):
    X, y, s = data
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"s": s, "sex": rng.choice(["f", "m"], 200)})
    if constraint.missing != "error":
        people = people[["s"]].astype(object)
        people.loc[:19, "s"] = None
    w = rng.uniform(0.5, 2.0, 200) if weighted else np.ones(200)
    model = ParityAdjusted(FOREST, correction=constraint)
    model.fit(X, y, sensitive_features=people, sample_weight=w)
    base, moved = model.estimator_.predict(X), model.predict(X, sensitive_features=people)
    columns = [people[name].fillna("?").to_numpy() for name in people]
    if "sex" in people and isinstance(constraint, ResidualParity):
        columns = [columns[0] + columns[1]]
    counted = people["s"].notna().to_numpy() | (constraint.missing != "ignore")
    v = w * counted / (w @ counted)
    members = [c == value for c in columns for value in np.unique(c[counted])]
    A = np.stack([v * member / (v @ member) - v for member in members])
    off = y - base if isinstance(constraint, ResidualParity) else -base
    least = np.linalg.lstsq(A / np.sqrt(w), A @ off, rcond=1e-10)[0] / np.sqrt(w)
    assert moved - base == pytest.approx(least, abs=1e-10)
    assert model.shift_ == pytest.approx(np.sqrt(w @ least**2 / w.sum()))
    assert model.parity_residual_ < 1e-12
    if not isinstance(constraint, CovarianceParity):  # whose gaps are those of combinations
        assert max(map(abs, model.gaps_.values())) < 1e-12
    assert model.comparison_.constraint.get_params() == constraint.get_params()


@pytest.mark.parametrize("alpha", [0.0, 3.0])
def test_a_linear_correction_is_the_least(alpha, data):
    X, y, s = data
    model = ParityAdjusted(FOREST, correction=ParityRidge(alpha=alpha))
    model.fit(X, y, sensitive_features=s)
    base = model.estimator_.predict(X)
    C = np.stack([(s == g) / np.sum(s == g) - 1 / len(s) for g in "bc"], axis=1)
    columns = np.column_stack([X, np.ones(len(X))])
    found = minimize(
        lambda t: np.sum((columns @ t) ** 2) + alpha * np.sum(t[:-1] ** 2),
        np.zeros(6),
        jac=lambda t: 2 * columns.T @ (columns @ t) + 2 * alpha * np.append(t[:-1], 0.0),
        constraints={"type": "eq", "fun": lambda t: C.T @ (base + columns @ t)},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert model.predict(X) - base == pytest.approx(columns @ found.x, abs=1e-5)


@pytest.mark.parametrize("correction", [None, "groups"])
def test_the_dial_goes_back_to_the_regressor(correction, data):
    X, y, s = data
    people = {"sensitive_features": s} if correction else {}
    ends = [
        ParityAdjusted(FOREST, correction=correction, unfairness=u).fit(X, y, sensitive_features=s)
        for u in (0.0, 0.25, 1.0)
    ]
    fair, between, free = (model.predict(X, **people) for model in ends)
    assert free == pytest.approx(ends[0].estimator_.predict(X))
    assert between == pytest.approx(0.75 * fair + 0.25 * free)
    assert ends[1].gaps_ == pytest.approx({k: v / 4 for k, v in ends[2].gaps_.items()}, abs=1e-10)
    assert ends[1].shift_ == pytest.approx(0.75 * ends[0].shift_)


def test_a_fitted_regressor_needs_no_y(data, pool):
    X, y, s = data
    frozen = FrozenEstimator(FOREST.fit(X, y))
    new, groups = pool
    model = ParityAdjusted(frozen).fit(new, sensitive_features=groups)
    assert max_mean_gap(None, model.predict(new), sensitive_features=groups) <= 1e-12
    assert model.predict(new) != pytest.approx(FOREST.predict(new))
    with pytest.raises(ValueError, match="requires y to be passed"):
        ParityAdjusted(FOREST).fit(X, sensitive_features=s)
    with pytest.raises(ValueError, match=r"ResidualParity .*needs y"):
        ParityAdjusted(frozen, correction=ParityRidge(constraint="residual_parity")).fit(
            new, sensitive_features=groups
        )


def test_other_notions(data):
    X, y, s = data
    errors = ParityAdjusted(
        Ridge(100.0), correction=ParityRidge(alpha=0.0, constraint="residual_parity")
    )
    errors.fit(X, y, sensitive_features=s)
    assert max_mean_gap(None, y - errors.predict(X), sensitive_features=s) <= 1e-12
    age = np.linspace(20, 60, 200)
    number = ParityAdjusted(
        FOREST, correction=ParityRidge(constraint=CovarianceParity("linear"), alpha=1.0)
    ).fit(X, y, sensitive_features=age)
    assert abs(np.cov(number.predict(X), age)[0, 1]) <= 1e-10


def test_weights_are_those_of_repeated_rows(data):
    X, y, s = data
    count = np.random.default_rng(2).integers(1, 4, 200)
    for correction in (None, "groups"):
        weighted, repeated = (ParityAdjusted(Ridge(), correction=correction) for _ in range(2))
        weighted.fit(X, y, sensitive_features=s, sample_weight=count)
        again = np.repeat(np.arange(200), count)
        repeated.fit(X[again], y[again], sensitive_features=s[again])
        people = {"sensitive_features": s} if correction else {}
        assert weighted.predict(X, **people) == pytest.approx(repeated.predict(X, **people))
        assert weighted.shift_ == pytest.approx(repeated.shift_)


def test_data_frames_and_text(data):
    X, y, s = data
    frame = pd.DataFrame(X, columns=list("vwxyz"))
    model = ParityAdjusted(HistGradientBoostingRegressor()).fit(frame, y, sensitive_features=s)
    assert list(model.feature_names_in_) == list("vwxyz")
    frame["job"] = pd.Categorical(np.where(X[:, 0] > 0, "x", "y"))
    boosted = HistGradientBoostingRegressor(categorical_features="from_dtype")
    shifted = ParityAdjusted(boosted, correction="groups").fit(frame, y, sensitive_features=s)
    predicted = shifted.predict(frame, sensitive_features=s)
    assert max_mean_gap(None, predicted, sensitive_features=s) <= 1e-12
    with pytest.raises(ValueError, match="X holds text"):
        ParityAdjusted(boosted).fit(frame, y, sensitive_features=s)


@pytest.mark.parametrize("estimator", [None, Ridge()])
def test_scikit_learns_checks(estimator):
    correction = ParityRidge(constraint=CovarianceParity("linear"))
    model = ParityAdjusted(estimator, correction=correction, sensitive_columns=0)
    assert len(check_estimator(model, on_fail="raise", on_skip=None)) > 40


def test_score_knows_the_groups(data):
    X, y, s = data
    shifted = ParityAdjusted(FOREST, correction="groups").fit(X, y, sensitive_features=s)
    expected = r2_score(y, shifted.predict(X, sensitive_features=s))
    assert shifted.score(X, y, sensitive_features=s) == pytest.approx(expected)
    model = ParityAdjusted(FOREST).fit(X, y, sensitive_features=s)
    assert model.score(X, y) == pytest.approx(r2_score(y, model.predict(X)))


BAD = {
    "not a regressor": (ParityAdjusted("forest"), {}, "is not a regressor"),
    "a class": (ParityAdjusted(Ridge, correction=None), {}, "is not a regressor"),
    "correction": (ParityAdjusted(correction="group"), {}, "correction='group' is not known"),
    "another model": (ParityAdjusted(correction=Ridge()), {}, "is not known. Pass 'groups'"),
    "two dials": (
        ParityAdjusted(correction=ParityRidge(unfairness=0.5)),
        {},
        r"The dial is ParityAdjusted\(unfairness",
    ),
    "precomputed": (
        ParityAdjusted(correction=ParityKernelRidge(kernel="precomputed")),
        {},
        "kernel='precomputed'",
    ),
    "columns": (
        ParityAdjusted(correction=ParityRidge(sensitive_columns=0)),
        {},
        "sensitive_columns=0. Pass them to ParityAdjusted",
    ),
    "nothing to drop": (ParityAdjusted(drop_sensitive=True), {}, "sensitive_columns is None"),
    "a classifier": (ParityAdjusted(LogisticRegression()), {}, "is a classifier"),
    "a frozen one": (
        ParityAdjusted(FrozenEstimator(LogisticRegression().fit([[0.0], [1.0]], [0, 1]))),
        {},
        "is a classifier",
    ),
    "missing groups": (
        ParityAdjusted(correction="groups"),
        {"sensitive_features": [None, *(["a", "b"] * 100)][:200]},
        "'sensitive' has missing values, but a shift of each group has to know",
    ),
    "shifts for given weights": (
        ParityAdjusted(correction=LinearParity(np.repeat([1.0, -1.0], 100))),
        {},
        "Groups cannot be shifted for LinearParity, whose functionals are about rows",
    ),
    "shifts without y": (
        ParityAdjusted(
            FrozenEstimator(LinearRegression().fit(np.eye(5), np.ones(5))),
            correction=ResidualParity(),
        ),
        {"y": None},
        "ResidualParity needs y",
    ),
    "shifts for the pool": (
        ParityAdjusted(correction=MeanParity(parity_on="pool")),
        {},
        "parity_on='pool' needs the people to be scored",
    ),
    "shifts with pooling": (
        ParityAdjusted(correction=MeanParity(pooling="auto")),
        {},
        "pooling='auto' is not supported in a correction",
    ),
    "shifts with a wrong setting": (
        ParityAdjusted(correction=MeanParity(missing="group", scale="log")),
        {},
        "scale='log' is not known",
    ),
    "groups twice": (
        ParityAdjusted(sensitive_columns=0),
        {"sensitive_features": None, "pool": (np.zeros((2, 5)), ["a", "b"])},
        "In the pool: Both sensitive_features and sensitive_columns=0",
    ),
    "nothing left": (
        ParityAdjusted(sensitive_columns=[0, 1, 2, 3, 4], drop_sensitive=True),
        {"sensitive_features": None},
        "drop_sensitive=True leaves no features",
    ),
    "unfairness": (ParityAdjusted(unfairness=2.0), {}, "unfairness=2.0"),
    "no groups": (
        ParityAdjusted(),
        {"sensitive_features": None},
        "which group each row belongs to",
    ),
    "one group": (
        ParityAdjusted(correction="groups"),
        {"sensitive_features": ["a"] * 200},
        "one group only",
    ),
    "numbers": (
        ParityAdjusted(correction="groups"),
        {"sensitive_features": np.linspace(0, 1, 200)},
        "has many distinct numbers",
    ),
    "a pool": (
        ParityAdjusted(correction="groups"),
        {"pool": (np.zeros((2, 5)), ["a", "b"])},
        "at once. Fit to the pool itself",
    ),
}


@pytest.mark.parametrize(("model", "given_", "message"), BAD.values(), ids=BAD)
def test_wrong_use_speaks(model, given_, message, data):
    X, y, s = data
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, **{"y": y, "sensitive_features": s, **given_})


def test_wrong_predictions_speak(data):
    X, y, s = data
    shifted = ParityAdjusted(correction="groups").fit(X, y, sensitive_features=s)
    with pytest.raises(ValueError, match="needs the sensitive features of the rows it predicts"):
        shifted.predict(X)
    with pytest.raises(ValueError, match="fit saw no rows with sensitive = 'd'"):
        shifted.predict(X[:2], sensitive_features=["a", "d"])
    with pytest.raises(ValueError, match="does not look at groups"):
        ParityAdjusted().fit(X, y, sensitive_features=s).predict(X, sensitive_features=s)
    with pytest.raises(ValueError, match="y has 2 outputs"):
        ParityAdjusted(LinearRegression()).fit(X, np.stack([y, y], 1), sensitive_features=s)


def test_more_conditions_than_columns_are_told(data):
    X, y, s = data
    many = np.char.add(s, np.where(np.arange(200) % 2, "1", "2"))  # six groups
    with pytest.warns(ParityWarning, match="No function of this space meets all 5 conditions"):
        ParityAdjusted(FOREST).fit(X[:, :2], y, sensitive_features=many)


def test_a_pool_with_weights_and_a_pipeline(data, pool):
    X, y, s = data
    model = make_pipeline(StandardScaler(), ParityAdjusted(FOREST))
    scaled = StandardScaler().fit(X)
    people = Pool(scaled.transform(pool[0]), pool[1], sample_weight=np.linspace(1, 2, 80))
    model.fit(X, y, parityadjusted__sensitive_features=s, parityadjusted__pool=people)
    gap = max_mean_gap(
        None,
        model.predict(pool[0]),
        sensitive_features=pool[1],
        sample_weight=np.linspace(1, 2, 80),
    )
    assert gap <= 1e-12


@pytest.mark.parametrize("correction", [None, "groups"])
@pytest.mark.parametrize("drop", [False, True])
def test_groups_in_columns(correction, drop, data, pool):
    X, y, s = data
    frame = pd.DataFrame(X, columns=list("vwxyz")).assign(group=s if drop else s == "b")
    there = pd.DataFrame(pool[0], columns=list("vwxyz"))
    there["group"] = pool[1] if drop else pool[1] == "b"
    model = ParityAdjusted(
        FOREST, correction=correction, sensitive_columns="group", drop_sensitive=drop
    )
    model.fit(frame, y, pool=None if correction else Pool(there))
    for rows in (frame,) if correction else (frame, there):
        gap = max_mean_gap(None, model.predict(rows), sensitive_features=rows["group"])
        assert gap <= 1e-12
    assert model.n_features_in_ == 6
    assert model.estimator_.n_features_in_ == 6 - drop
    if drop and not correction:  # the groups of new rows need not be known
        assert np.array_equal(model.predict(frame[list("vwxyz")]), model.predict(frame))


class Counted(LinearRegression):
    """Counts its fits."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Counted.fits += 1
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("name", [name for name, case in BAD.items() if case[0].estimator is None])
def test_what_is_wrong_is_said_before_anything_is_fitted(name, data):
    X, y, s = data
    model, given_, message = BAD[name]
    with pytest.raises((ValueError, TypeError), match=message):
        clone(model).set_params(estimator=Counted()).fit(
            X, y, **{"sensitive_features": s, **given_}
        )
    assert Counted.fits == 0


def test_columns_of_unlike_sizes(data):
    X, y, s = data
    scaled, units = X / X.std(axis=0), 10.0 ** np.array([-9, -4, 0, 5, 9])
    frozen = [
        FrozenEstimator(make_pipeline(StandardScaler(), Ridge(1e-6)).fit(Z, y))
        for Z in (scaled, X * units)
    ]
    like = ParityAdjusted(frozen[0]).fit(scaled, sensitive_features=s)
    unlike = ParityAdjusted(frozen[1]).fit(X * units, sensitive_features=s)
    assert unlike.parity_residual_ <= 1e-10
    assert unlike.shift_ == pytest.approx(like.shift_)
    assert unlike.predict(X * units) == pytest.approx(like.predict(scaled))
    sparse_rows = csr_matrix(X * units)
    again = ParityAdjusted(frozen[1].estimator[-1]).fit(sparse_rows, y, sensitive_features=s)
    assert again.parity_residual_ <= 1e-8


def test_a_small_penalty_beside_columns_of_unlike_sizes(data):
    X, y, s = data
    units, alpha = 10.0 ** np.array([-9, -4, 0, 5, 9]), 1e-12
    frozen = FrozenEstimator(make_pipeline(StandardScaler(), Ridge(1e-6)).fit(X * units, y))
    model = ParityAdjusted(frozen, correction=ParityRidge(alpha=alpha))
    model.fit(X * units, sensitive_features=s)
    assert model.parity_residual_ <= 1e-12
    # the same problem in columns of equal size, whose penalties are not equal
    Z, base = X - X.mean(axis=0), frozen.predict(X * units)
    C = np.stack([(s == g) / np.sum(s == g) - 1 / len(s) for g in "bc"], axis=1)
    inverse = np.linalg.inv(Z.T @ Z + np.diag(alpha / units**2))
    M = Z.T @ C
    coef = inverse @ M @ np.linalg.solve(M.T @ inverse @ M, -C.T @ base)
    assert model.predict(X * units) - base == pytest.approx(Z @ coef, abs=1e-10)


def test_a_correction_that_does_harm_is_refused(data):
    X, y, s = data
    units = 10.0 ** np.array([-9, -4, 0, 5, 9])
    frozen = FrozenEstimator(make_pipeline(StandardScaler(), Ridge(1e-6)).fit(X * units, y))
    model = ParityAdjusted(frozen, correction=ParityRidge(alpha=1e-6))
    with pytest.raises(ValueError, match=r"would make the largest gap .* Scale the features"):
        model.fit(X * units, sensitive_features=s)


def test_small_groups_and_rounding_are_told(data):
    X, y, s = data
    few = np.where(np.arange(200) < 2, "zz", s)
    for correction in (None, "groups"):
        with pytest.warns(ParityWarning, match="1 group of fewer than 10 rows: zz"):
            ParityAdjusted(correction=correction).fit(X, y, sensitive_features=few)
        with pytest.warns(ParityWarning, match="because of rounding"):
            ParityAdjusted(correction=correction).fit(X, y + 1e9, sensitive_features=s)


def test_missing_features(data):
    X, y, s = data
    holes = np.where(np.random.default_rng(0).uniform(size=X.shape) < 0.1, np.nan, X)
    boosted = HistGradientBoostingRegressor(max_iter=10)
    with pytest.raises(ValueError, match="the correction, not the regressor, reads numbers"):
        ParityAdjusted(boosted).fit(holes, y, sensitive_features=s)
    shifted = ParityAdjusted(boosted, correction="groups").fit(holes, y, sensitive_features=s)
    predicted = shifted.predict(holes, sensitive_features=s)
    assert max_mean_gap(None, predicted, sensitive_features=s) <= 1e-12


def test_a_narrow_kernel_does_nothing_for_others(data, pool):
    """What docs/scikit-learn.md says of a flexible g."""
    X, y, s = data
    frozen = FrozenEstimator(FOREST.fit(X, y))
    narrow = ParityKernelRidge(kernel="rbf", gamma=100.0, alpha=0.1, fit_intercept=True)
    model = ParityAdjusted(frozen, correction=narrow).fit(X, sensitive_features=s)
    gaps = [
        max_mean_gap(None, m.predict(pool[0]), sensitive_features=pool[1]) for m in (frozen, model)
    ]
    assert model.parity_residual_ <= 1e-10
    assert gaps[1] == pytest.approx(gaps[0], rel=0.05)


@pytest.mark.parametrize("correction", [None, "groups"])
def test_a_refused_fit_leaves_the_earlier_model_as_it_was(correction, data):
    X, y, s = data
    frame = pd.DataFrame(X).add_prefix("x")
    model = ParityAdjusted(correction=correction).fit(frame, y, sensitive_features=s)
    groups = {} if correction is None else {"sensitive_features": s}
    before, state = model.predict(frame, **groups), dict(vars(model))
    model.set_params(unfairness=1.0, estimator=Ridge(1e9))
    with pytest.raises(ValueError, match="one group"):
        model.fit(frame.add_prefix("z"), y, sensitive_features=np.zeros(len(y)))
    with pytest.raises(ValueError, match="swamp"):
        _refused_late(model, frame, y, s)
    assert np.array_equal(model.predict(frame, **groups), before)
    fitted = {name for name in state if name not in model.get_params()}
    assert all(vars(model)[name] is state[name] for name in fitted)


def _refused_late(model, X, y, s):
    """A fit that is refused after the regressor has been fitted."""
    with pytest.MonkeyPatch.context() as patch:

        def refuse(*_args, **_kwargs):
            raise ValueError("columns of very different size swamp it")

        patch.setattr("meanparity.estimators.adjusted.FunctionCorrection.fit", refuse)
        patch.setattr("meanparity.estimators.adjusted.GroupShifts.fit", refuse)
        model.fit(X, y, sensitive_features=s)


def test_a_correction_by_a_solver_that_returns_nothing_is_refused():
    class Nothing(Solver):
        def solve(self, problem):
            return None

    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((40, 3)), np.arange(40) % 2
    model = ParityAdjusted(Ridge(), correction=ParityRidge(solver=Nothing()))
    with pytest.raises(TypeError, match="Nothing"):
        model.fit(X, X[:, 0], sensitive_features=s)


def test_a_correction_in_a_pipeline_reads_what_its_steps_make_of_the_columns(data, pool, tmp_path):
    """The regressor reads categories, the correction one column for each of them."""
    X, y, s = data
    kinds = np.array(["x", "y", "z"])

    def frame(rows):
        table = pd.DataFrame(rows, columns=list("abcde"))
        return table.assign(kind=pd.Categorical(kinds[(3 * rows[:, 0]).astype(int) % 3]))

    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["kind"]), remainder=StandardScaler()
    )
    ordinal = make_column_transformer((OrdinalEncoder(), ["kind"]), remainder="passthrough")
    regressor = make_pipeline(ordinal, FOREST)
    ridge = ParityRidge(alpha=1.0)
    model = ParityAdjusted(regressor, correction=make_pipeline(encoder, ridge))
    model.fit(frame(X), y, sensitive_features=s, pool=(frame(pool[0]), pool[1]))
    # by hand: the encoded columns, and a regressor that is fitted already
    base = clone(regressor).fit(frame(X), y)
    numbers, numbers_pool = encoder.fit_transform(frame(X)), encoder.transform(frame(pool[0]))
    values = np.append(base.predict(frame(X)), base.predict(frame(pool[0])))
    by_row = {
        row.tobytes(): v for row, v in zip(np.vstack([numbers, numbers_pool]), values, strict=True)
    }

    class Looked(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            return self

        def predict(self, X):
            return np.array([by_row[row.tobytes()] for row in X])

    expected = ParityAdjusted(Looked(), correction=ridge)
    expected.fit(numbers, y, sensitive_features=s, pool=(numbers_pool, pool[1]))
    found = model.predict(frame(pool[0]))
    assert np.allclose(found, expected.predict(numbers_pool), rtol=0, atol=1e-12)
    assert max_mean_gap(None, found, sensitive_features=pool[1]) < 1e-12
    for minimal in (False, True):
        save(model, tmp_path / "model", minimal=minimal)
        assert np.array_equal(load(tmp_path / "model").predict(frame(pool[0])), found)
    assert clone(model).correction[-1].alpha == 1.0
    model.set_params(correction=None, estimator=Ridge())
    model.fit(X, y, sensitive_features=s)
    assert max_mean_gap(None, model.predict(X), sensitive_features=s) < 1e-10
    with pytest.raises(ValueError, match=r"correction=.* is not known.*pipeline that ends in one"):
        ParityAdjusted(correction=make_pipeline(StandardScaler(), Ridge())).fit(
            X, y, sensitive_features=s
        )


# --- the price


def scores_by_group(n=1500, seed=0):
    """Scores from 1 to 10 that follow a few counts, of which one differs between groups."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 2, n)
    X = pd.DataFrame({"priors": rng.poisson(1.5 + 1.2 * s), "age": rng.normal(35, 11, n)})
    y = np.clip(np.round(4 + 0.8 * X["priors"] - 0.08 * (X["age"] - 35)), 1, 10)
    y = np.clip(y + np.round(1.5 * rng.standard_normal(n)), 1, 10).to_numpy()
    return X.astype(float), y, np.array(["F", "M"])[s]


def shares_in(message):
    return [int(share) / 100 for share in re.findall(r"(\d+)%", message)]


@pytest.mark.filterwarnings("default:Parity costs much:meanparity.exceptions.ParityWarning")
def test_a_model_that_parity_wrecks_is_noted_with_its_price():
    X, y, s = scores_by_group()
    models = (ParityRidge(), ParityAdjusted(DecisionTreeRegressor(max_depth=4)))
    for model in models:
        with pytest.warns(ParityWarning, match="Parity costs much") as noted:
            model.fit(X, y, sensitive_features=s)
        (message,) = [str(w.message) for w in noted if "costs much" in str(w.message)]
        free = model.tradeoff_.at(1.0) if hasattr(model, "tradeoff_") else model.estimator_
        before = free.predict(X)
        shifted = before - pd.Series(before).groupby(s).transform("mean") + before.mean()
        found = [r2_score(y, values) for values in (model.predict(X), before, shifted)]
        assert shares_in(message) == pytest.approx(found, abs=0.0051)
        assert found[0] < 0.67 * found[1]
        for advice in ("sensitive columns to the features", "correction='groups'", "max_gap"):
            assert advice in message


def test_what_the_note_advises_is_not_noted(recwarn):
    X, y, s = scores_by_group()
    with_s = X.assign(male=(s == "M") * 1.0)
    warnings.simplefilter("always", ParityWarning)
    ParityRidge().fit(with_s, y, sensitive_features=s)
    ParityRidge(unfairness=0.8).fit(X, y, sensitive_features=s)
    ParityAdjusted(DecisionTreeRegressor(max_depth=4)).fit(with_s, y, sensitive_features=s)
    tree = DecisionTreeRegressor(max_depth=4)
    ParityAdjusted(tree, correction="groups").fit(X, y, sensitive_features=s)
    assert not [told for told in recwarn if "Parity costs much" in str(told.message)]
    ParityRidge().fit(X, y, sensitive_features=s)
    assert [told for told in recwarn if "Parity costs much" in str(told.message)]


@pytest.mark.filterwarnings("default:Parity costs much:meanparity.exceptions.ParityWarning")
def test_a_price_that_has_to_be_paid_is_noted_as_such():
    X, y, s = scores_by_group()
    with_s = X.assign(male=(s == "M") * 1.0)
    outcome = 3.0 * (s == "M") + 0.1 * y
    with pytest.warns(ParityWarning, match="Parity costs much") as noted:
        model = ParityRidge().fit(with_s, outcome, sensitive_features=s)
    (message,) = [str(w.message) for w in noted]
    before = model.tradeoff_.at(1.0).predict(with_s)
    shifted = before - pd.Series(before).groupby(s).transform("mean") + before.mean()
    found = [r2_score(outcome, values) for values in (model.predict(with_s), before, shifted)]
    assert shares_in(message) == pytest.approx(found, abs=0.0051)
    assert found[1] - found[2] >= 0.5 * (found[1] - found[0])
    assert "At least half of what is lost is the price of parity itself." in message
    assert "max_gap or unfairness" in message
    assert "No small change" not in message


@pytest.mark.filterwarnings("default:With parity:meanparity.exceptions.ParityWarning")
def test_predictions_out_of_the_range_of_y_are_noted():
    X, y, s = scores_by_group()
    X["rare"] = 0.0
    X.loc[np.flatnonzero(s == "M")[:3], "rare"] = 1.0  # the only way to tell groups apart
    X["priors"] -= pd.Series(X["priors"]).groupby(s).transform("mean")
    y = y + 3.0 * (s == "M")
    base = FrozenEstimator(Constant(y))
    with pytest.warns(ParityWarning, match="outside the range of y") as noted:
        ParityAdjusted(base, correction=ParityRidge(alpha=1e-6)).fit(
            X[["rare"]], y, sensitive_features=s
        )
    assert any("the furthest is -" in str(w.message) for w in noted)


def test_the_note_about_the_range_of_y_does_not_blame_parity_for_every_prediction():
    y, free, now = np.array([0.0, 1.0]), np.array([-0.1, 0.5]), np.array([-0.1, 3.0])
    with pytest.warns(ParityWarning, match="With parity, 2 predictions .* lie outside") as noted:
        warn_about_range(now, free, y)
    assert "the furthest is 3," in str(noted[0].message)


class Constant(RegressorMixin, BaseEstimator):
    """Predictions that are stored."""

    def __init__(self, values):
        self.values = values

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return np.asarray(self.values)


def test_the_default_takes_the_shift_only_if_groups_are_features():
    X, y, s = scores_by_group()
    four = np.where(X["age"] > 35, s, np.char.lower(s))
    frame = X.assign(group=np.unique(four, return_inverse=True)[1])
    tree = DecisionTreeRegressor(max_depth=4)
    own = ParityAdjusted(tree, sensitive_columns=["group"]).fit(frame, y)
    linear = ParityAdjusted(tree, correction=ParityRidge(alpha=0.0), sensitive_columns=["group"])
    linear.fit(frame, y)
    groups = ParityAdjusted(tree, correction="groups", sensitive_columns=["group"]).fit(frame, y)
    assert (own.correction_, linear.correction_) == ("groups", "function")
    assert np.array_equal(own.predict(frame), groups.predict(frame))
    assert own.shift_ < linear.shift_
    # without groups in X, predict needs X alone
    away = ParityAdjusted(tree).fit(X, y, sensitive_features=s)
    assert away.correction_ == "function"
    assert away.predict(X).shape == y.shape
    # a linear function of two groups is a shift of each, and knows what to do with others
    two = X.assign(group=(s == "M") * 1.0)
    same = ParityAdjusted(tree, sensitive_columns=["group"]).fit(two, y)
    assert same.correction_ == "function"
    assert np.abs(pd.Series(same.predict(two)).groupby(s).mean().diff().iloc[1]) < 1e-10
