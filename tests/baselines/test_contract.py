"""What all baselines have in common: scikit-learn's contract, clear errors, the registry."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from meanparity.baselines import (
    METHODS,
    BarycenterRegressor,
    CorrelationBoundedRegression,
    CovariancePenaltyRidge,
    MeanPenaltyRidge,
    ReductionRegressor,
    UnfairnessPenaltyRidge,
)
from meanparity.data.features import FeatureLayout
from meanparity.datasets import make_synthetic
from meanparity.metrics import mean_parity_gap
from tests.estimators.test_bad_input import BAD

ALL = [
    BarycenterRegressor,
    CorrelationBoundedRegression,
    CovariancePenaltyRidge,
    MeanPenaltyRidge,
    ReductionRegressor,
    UnfairnessPenaltyRidge,
]
NEED_GROUPS = [BarycenterRegressor, MeanPenaltyRidge, ReductionRegressor]
AWARE = [BarycenterRegressor, CorrelationBoundedRegression, UnfairnessPenaltyRidge]


NUMBERS = [
    CovariancePenaltyRidge(sensitive_columns=0),
    CovariancePenaltyRidge(sensitive_columns=0, kernel="rbf", fit_intercept=True),
    CorrelationBoundedRegression(sensitive_columns=0, continuous=[0]),
    CorrelationBoundedRegression(sensitive_columns=0, continuous=[0], kernel="rbf", alpha=0.1),
    UnfairnessPenaltyRidge(sensitive_columns=0, continuous=[0]),
]
GROUPS = [
    MeanPenaltyRidge(sensitive_columns=0),
    MeanPenaltyRidge(sensitive_columns=0, kernel="rbf", fit_intercept=True),
    ReductionRegressor(sensitive_columns=0, slack=0.3),
    ReductionRegressor(Ridge(), sensitive_columns=0, slack=0.3),
    BarycenterRegressor(sensitive_columns=0),
    BarycenterRegressor(Ridge(), sensitive_columns=0, unfairness=0.3),
]


def run_checks(estimator):
    results = check_estimator(estimator, on_fail="raise", on_skip=None)
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    # off unless SCIPY_ARRAY_API is set, and for estimators that claim array API support
    assert skipped <= {"check_array_api_input", "check_array_api_input_and_values"}
    assert len(results) > 40


@pytest.mark.parametrize("estimator", NUMBERS, ids=str)
def test_scikit_learns_checks_with_a_sensitive_number(estimator):
    run_checks(estimator)


@pytest.mark.filterwarnings("ignore:A Wasserstein gap")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", GROUPS, ids=str)
def test_scikit_learns_checks_with_two_groups(estimator, monkeypatch):
    """The suite calls fit(X, y) with real numbers; a group is drawn from each."""
    numbers = FeatureLayout.sensitive_values

    def groups(self, X):
        columns = {k: np.asarray(v, dtype=float) for k, v in numbers(self, X).items()}
        return {k: np.sin(1e4 * np.where(np.isfinite(v), v, 0.0)) > 0 for k, v in columns.items()}

    monkeypatch.setattr(FeatureLayout, "sensitive_values", groups)
    run_checks(estimator)


@pytest.fixture
def data():
    return make_synthetic(200, random_state=0)


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((30, 3)), np.tile(["a", "b", "c"], 10)
    return X, X[:, 0] + rng.standard_normal(30), s


@pytest.mark.parametrize(("spoil", "message"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("method", ALL)
def test_bad_data(method, spoil, message, small):
    X, y, s = spoil(*small)
    if "one group only" in message:
        message = "one group only.* in all 30 rows|sensitive features of all 30 rows are the same"
    with pytest.raises(ValueError, match=message):
        method().fit(X, y, sensitive_features=s)


PENALISED, BOUNDED = [MeanPenaltyRidge, CovariancePenaltyRidge], AWARE[1:]
PARAMETERS = [
    *((method, {"alpha": -1.0}, r"alpha=-1\.0 is (negative|out of range)\. Pass 0") for method in
      (*PENALISED, *BOUNDED)),
    *((method, {"alpha": np.nan}, r"alpha=nan is not a (finite )?number") for method in
      (*PENALISED, *BOUNDED)),
    *((method, {"alpha": [1.0, 2.0]}, r"alpha.* Pass (a single number|0)") for method in
      (*PENALISED, *BOUNDED)),
    *((method, {"penalty": -1.0}, r"penalty=-1\.0 is out of range") for method in PENALISED),
    *((method, {"penalty": np.inf}, r"penalty=inf is out of range") for method in PENALISED),
    *((method, {"penalty": "much"}, r"penalty='much' is not a number") for method in PENALISED),
    *((method, {"penalty": True}, r"penalty=True is not a number") for method in PENALISED),
    *((method, {"unfairness": -0.1}, r"unfairness=-0\.1 is out of range.*from 0 to 1")
      for method in AWARE),
    *((method, {"unfairness": 1.1}, r"unfairness=1\.1 is out of range") for method in AWARE),
    *((method, {"unfairness": None}, r"unfairness=None is not a number") for method in AWARE),
    *((method, {"fit_intercept": "yes"}, r"fit_intercept='yes'\. Pass True or False") for method in
      (*PENALISED, *BOUNDED)),
    *((method, {"drop_sensitive": True}, r"sensitive_columns is None") for method in ALL),
    *((method, {"continuous": ["age"]}, r"continuous holds 'age'") for method in BOUNDED),
    (MeanPenaltyRidge, {"kernel": "cubic"}, r"kernel='cubic' is not known"),
    (CorrelationBoundedRegression, {"kernel": "precomputed"}, r"cannot be evaluated on the"),
    (CovariancePenaltyRidge, {"sensitive_kernel": "cubic"}, r"kernel='cubic' is not known"),
    (CovariancePenaltyRidge, {"sensitive_kernel": "precomputed"}, r"Pass sensitive_kernel"),
    (ReductionRegressor, {"slack": 0}, r"slack=0 is out of range"),
    (ReductionRegressor, {"slack": -0.1}, r"slack=-0\.1 is out of range.*such as 0\.01"),
    (ReductionRegressor, {"slack": 1.5}, r"slack=1\.5 is out of range"),
    (ReductionRegressor, {"slack": "small"}, r"slack='small' is not a number"),
    (ReductionRegressor, {"max_iter": 0}, r"max_iter=0 is not a positive integer"),
    (ReductionRegressor, {"max_iter": 2.5}, r"max_iter=2\.5 is not a positive integer"),
    (ReductionRegressor, {"thresholds": 1}, r"thresholds=1 is neither a number from 2"),
    (ReductionRegressor, {"thresholds": "many"}, r"thresholds='many'"),
    (ReductionRegressor, {"thresholds": [1.0, 0.0]}, r"not increasing numbers"),
    (ReductionRegressor, {"thresholds": [0.0, 1.0, 3.0]}, r"steps from 1 to 2\. Pass equal steps"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "parameters", "message"), PARAMETERS)
def test_parameters_out_of_range(method, parameters, message, small):
    X, y, s = small
    with pytest.raises(ValueError, match=message):
        method(**parameters).fit(X, y, sensitive_features=s)


@pytest.mark.parametrize("method", NEED_GROUPS)
def test_numbers_where_groups_are_needed(method, small):
    X, y, _ = small
    with pytest.raises(
        ValueError, match=r"compares groups.*'age' has 30 different.*pandas\.cut"
    ) as e:
        method().fit(X, y, sensitive_features=pd.DataFrame({"age": np.linspace(20, 60, 30)}))
    for name in (
        "CovariancePenaltyRidge",
        "CorrelationBoundedRegression",
        "UnfairnessPenaltyRidge",
    ):
        assert name in str(e.value)


@pytest.mark.parametrize("method", [CovariancePenaltyRidge, *BOUNDED])
def test_numbers_are_accepted_by_the_others(method, small):
    X, y, _ = small
    age = np.linspace(20, 60, 30)
    model = method().fit(X, y, sensitive_features=age)
    aware = {"sensitive_features": age} if method in AWARE else {}
    assert model.predict(X, **aware).shape == (30,)


@pytest.mark.parametrize("method", [ReductionRegressor, BarycenterRegressor])
@pytest.mark.parametrize("estimator", ["forest", LinearRegression, StandardScaler(), 3])
def test_estimators_that_are_not_regressors(method, estimator, small):
    X, y, s = small
    with pytest.raises(TypeError, match="is not a regressor"):
        method(estimator).fit(X, y, sensitive_features=s)


@pytest.mark.parametrize(
    "oracle", [KNeighborsRegressor(), make_pipeline(StandardScaler(), KNeighborsRegressor())]
)
def test_an_oracle_that_ignores_weights(oracle, small):
    X, y, s = small
    with pytest.raises(ValueError, match=r"oracle \w+ ignores weights.*takes no sample_weight"):
        ReductionRegressor(oracle).fit(X, y, sensitive_features=s)


@pytest.mark.parametrize("method", [*AWARE, ReductionRegressor])
def test_several_outputs_are_refused_by_those_that_predict_one(method, small):
    X, y, s = small
    with pytest.raises(ValueError, match=r"y has 2 outputs.*MultiOutputRegressor"):
        method().fit(X, np.column_stack([y, y]), sensitive_features=s)


def predict(model, X, s):
    return model.predict(X, **({"sensitive_features": s} if type(model) in AWARE else {}))


LOOSE = {ReductionRegressor: {"slack": 0.3}}


@pytest.mark.parametrize("method", ALL)
def test_all_kinds_of_tables_give_the_same_predictions(method, data):
    X, y, s = data
    model = method(**LOOSE.get(method, {}))
    expected = predict(model.fit(X, y, sensitive_features=s), X, s)
    names = list("abcde")
    for table, sensitive in (
        (pd.DataFrame(X, columns=names), pd.Series(s, name="s")),
        (pl.DataFrame(X, schema=names), pl.Series("s", s)),
        (sparse.csr_matrix(X), s),
        (X.tolist(), s.tolist()),
    ):
        found = predict(model.fit(table, y, sensitive_features=sensitive), table, sensitive)
        assert np.allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", ALL)
def test_sensitive_text_in_a_frame_is_not_a_feature(method, data):
    X, y, s = data
    frame = pd.DataFrame(X, columns=list("abcde")).assign(sex=np.where(s > 0, "F", "M"))
    parameters = LOOSE.get(method, {})
    model = method(sensitive_columns="sex", drop_sensitive=True, **parameters).fit(frame, y)
    outside = method(**parameters).fit(X, y, sensitive_features=frame["sex"])
    expected = predict(outside, X, frame["sex"])
    assert np.allclose(model.predict(frame), expected, rtol=0, atol=1e-9)
    assert list(model.feature_names_in_) == [*"abcde", "sex"]


@pytest.mark.parametrize("method", ALL)
def test_models_are_cloned_copied_and_pickled(method, data):
    X, y, s = data
    model = clone(method(**LOOSE.get(method, {}))).fit(X, y, sensitive_features=s)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(predict(other, X, s), predict(model, X, s))
    again = clone(model).fit(X, y, sensitive_features=s)
    assert np.array_equal(predict(again, X, s), predict(model, X, s)), "fits are deterministic"


@pytest.mark.parametrize("method", ALL)
def test_sensitive_features_are_routed_without_being_requested(method, data):
    X, y, s = data
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), method(**LOOSE.get(method, {})))
        pipeline.fit(X, y, sensitive_features=s)
        aware = {"sensitive_features": s} if method in AWARE else {}
        assert pipeline.predict(X, **aware).shape == y.shape
        dials = {type(m.make(m.settings[0])): m.dial for m in METHODS.values()}
        values = {} if dials[method] is None else {dials[method]: [0.3, 0.9]}
        search = GridSearchCV(method(), values, cv=3, error_score="raise")
        search.fit(X, y, sensitive_features=s)
        found = cross_validate(
            method(**LOOSE.get(method, {})), X, y, params={"sensitive_features": s}, cv=3
        )
        assert np.isfinite(found["test_score"]).all()


def test_wrapped_regressors_see_the_table_as_it_is(data):
    X, y, s = data
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(
        city=np.where(X[:, 2] > 0, "Oslo", "Rome"), income=np.where(X[:, 3] > 1, np.nan, X[:, 3])
    )
    encoded = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    base = make_pipeline(encoded, HistGradientBoostingRegressor(max_iter=10, random_state=0))
    model = BarycenterRegressor(base).fit(frame, y, sensitive_features=s)
    assert model.predict(frame, sensitive_features=s).shape == (200,)
    reduced = ReductionRegressor(base, slack=0.3, max_iter=5).fit(frame, y, sensitive_features=s)
    assert reduced.predict(frame).shape == (200,)
    assert list(reduced.feature_names_in_) == ["a", "b", "city", "income"]
    with pytest.raises(ValueError, match="feature names"):
        reduced.predict(frame.rename(columns={"a": "z"}))


# --- the registry


def test_the_registry_names_all_methods():
    assert list(METHODS) == [  # in the order of tables and figures
        "Constant", "OLS", "KRR", "FPR-1", "FPR-3", "FKR-1", "FKR-3", "NRFC", "FRRM", "RBA",
        "Barycenter", "Ours",
    ]  # fmt: skip
    made = {
        type(method.make(setting)) for method in METHODS.values() for setting in method.settings
    }
    assert set(ALL) <= made
    assert all(method.name == name for name, method in METHODS.items())


DEFAULTS = {  # the authors', or the paper's
    MeanPenaltyRidge: {"alpha": 1.0, "penalty": 10.0, "kernel": "linear", "fit_intercept": False},
    CovariancePenaltyRidge: {"alpha": 1.0, "penalty": 10.0, "sensitive_kernel": None},
    CorrelationBoundedRegression: {"unfairness": 0.1, "alpha": 1.0, "gamma": 1.0},
    UnfairnessPenaltyRidge: {"unfairness": 0.05, "alpha": 0.0, "fit_intercept": True},
    ReductionRegressor: {"slack": 0.01, "max_iter": 50, "thresholds": None, "estimator": None},
    BarycenterRegressor: {"unfairness": 0.0, "estimator": None},
}


@pytest.mark.parametrize("method", ALL)
def test_defaults(method):
    assert method in DEFAULTS, f"Say in DEFAULTS what {method.__name__}'s defaults are."
    parameters = method().get_params()
    assert DEFAULTS[method].items() <= parameters.items()


LINEAR, RBF = {"kernel": "linear", "alpha": 0.0}, {"kernel": "rbf", "gamma": 0.1, "alpha": 1.0}
REGISTERED = {
    ("KRR", "kernel"): RBF,
    **{
        (f"{m}-{p}", "linear"): LINEAR | {"penalty": 10.0**p}
        for m in ("FPR", "FKR")
        for p in (1, 3)
    },
    **{(f"{m}-{p}", "kernel"): RBF | {"penalty": 10.0**p} for m in ("FPR", "FKR") for p in (1, 3)},
    ("NRFC", "linear"): LINEAR | {"unfairness": 0.0},
    ("NRFC", "kernel"): RBF | {"unfairness": 0.0},
    ("FRRM", "linear"): {"alpha": 0.0, "unfairness": 0.05},
    ("RBA", "linear"): {"slack": 0.01},
    ("Barycenter", "kernel"): {f"estimator__{name}": value for name, value in RBF.items()},
    ("Ours", "linear"): LINEAR | {"unfairness": 0.0},
    ("Ours", "kernel"): RBF | {"unfairness": 0.0},
}


@pytest.mark.parametrize(("name", "setting"), REGISTERED)
def test_the_registry_has_the_papers_settings(name, setting):
    parameters = METHODS[name].make(setting).get_params()
    assert REGISTERED[name, setting].items() <= parameters.items()


def test_the_registry_can_be_pickled():
    for name, method in METHODS.items():
        again = pickle.loads(pickle.dumps(method))
        assert again.name == name
        assert type(again.make(method.settings[0])) is type(method.make(method.settings[0]))


def test_mixtures_of_all_methods(data):
    X, y, s = data
    for method in METHODS.values():
        if "linear" not in method.settings:
            continue
        model = method.fit(
            X, y, sensitive_features=s, **({"slack": 0.3} if method.is_random else {})
        )
        values, weights = method.mixture(model, X, sensitive_features=s)
        assert weights.sum() == pytest.approx(1.0)
        mean = method.predict(model, X, sensitive_features=s)
        assert np.allclose(values @ weights, mean, rtol=0, atol=1e-12)


COMPARE_GROUPS = {"FPR-1", "FPR-3", "RBA", "Barycenter"}


@pytest.mark.filterwarnings("ignore:Sensitive column .* is treated as a number")
@pytest.mark.parametrize("name", METHODS)
def test_every_method_runs_the_same_way(name, data):
    X, y, s = data
    method = METHODS[name]
    for setting in method.settings:
        model = method.fit(X, y, sensitive_features=s, setting=setting)
        assert method.predict(model, X, sensitive_features=s).shape == y.shape
        if method.dial is not None:
            other = method.make(setting, **{method.dial: 0.5})
            assert getattr(other, method.dial) == 0.5
    for setting in {"linear", "kernel"} - set(method.settings):
        with pytest.raises(ValueError, match=f"{name} has no setting '{setting}'"):
            method.make(setting)
    numbers = np.linspace(0, 1, len(y))
    if name not in COMPARE_GROUPS:
        method.fit(X, y, sensitive_features=numbers, setting=method.settings[0])
    else:
        with pytest.raises(ValueError, match="compares groups"):
            method.fit(X, y, sensitive_features=numbers, setting=method.settings[0])


def test_parity_of_the_methods_that_promise_it(data):
    X, y, s = data
    for name in ("Constant", "NRFC", "Ours"):
        method = METHODS[name]
        model = method.fit(X, y, sensitive_features=s)
        predicted = method.predict(model, X, sensitive_features=s)
        assert mean_parity_gap(y, predicted, sensitive_features=s) <= 1e-10


def test_every_parameter_can_be_overridden():
    for method in METHODS.values():
        for setting in method.settings:
            for name, value in method.make(setting).get_params(deep=False).items():
                assert method.make(setting, **{name: value}).get_params()[name] is value
