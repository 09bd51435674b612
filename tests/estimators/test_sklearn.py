"""scikit-learn's own conformance suite, and living inside its tools."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from meanparity import CovarianceParity, MeanParity, ParityKernelRidge, ParityRidge
from meanparity.datasets import make_synthetic
from meanparity.kernels import Kernel
from meanparity.metrics import mean_parity_gap

# The suite calls fit(X, y) with columns of real numbers, so the sensitive column has to travel in
# X and the constraint has to make sense for a number: zero covariance with it. Nothing is
# expected to fail.
UNCORRELATED = CovarianceParity(kernel="linear")
ESTIMATORS = [
    ParityRidge(sensitive_columns=0, constraint=UNCORRELATED),
    ParityRidge(sensitive_columns=-1, constraint=UNCORRELATED, solver="dense", alpha=0.1),
    ParityRidge(sensitive_columns=0, constraint=UNCORRELATED, alpha=0.0, unfairness=0.3),
    ParityKernelRidge(sensitive_columns=0, constraint=UNCORRELATED),
    ParityKernelRidge(
        sensitive_columns=0, constraint=UNCORRELATED, kernel="rbf", fit_intercept=True
    ),
    ParityKernelRidge(
        sensitive_columns=0, constraint=UNCORRELATED, kernel="rbf", solver="spectral"
    ),
]


@pytest.mark.filterwarnings("ignore:Only a constant")  # one column, and that sensitive
@pytest.mark.parametrize(
    "estimator", ESTIMATORS, ids=lambda e: f"{type(e).__name__}-{e.solver}-{e.alpha}"
)
def test_scikit_learns_checks(estimator):
    results = check_estimator(estimator, on_fail="raise", on_skip=None)
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    # off unless SCIPY_ARRAY_API is set, and for estimators that claim array API support
    assert skipped <= {"check_array_api_input", "check_array_api_input_and_values"}
    assert len(results) > 40


@pytest.fixture
def data():
    return make_synthetic(200, random_state=0)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_sensitive_features_are_routed_without_being_requested(data):
    X, y, s = data
    pipeline = make_pipeline(StandardScaler(), ParityRidge())
    pipeline.fit(X, y, sensitive_features=s)
    assert pipeline[-1].parity_residual_ <= 1e-10 * y.std()

    search = GridSearchCV(ParityRidge(), {"alpha": [0.1, 1.0, 10.0]}, cv=3)
    search.fit(X, y, sensitive_features=s)
    assert search.best_estimator_.parity_residual_ <= 1e-10 * y.std()
    assert search.best_params_["alpha"] in (0.1, 1.0, 10.0)

    scores = cross_val_score(
        ParityKernelRidge(kernel="rbf"), X, y, params={"sensitive_features": s}, cv=3
    )
    assert scores.shape == (3,)


def test_sensitive_columns_travel_in_x_without_routing(data):
    X, y, s = data
    inside = ParityRidge(sensitive_columns=4).fit(X, y)
    outside = ParityRidge().fit(X, y, sensitive_features=s)
    assert np.array_equal(inside.predict(X), outside.predict(X))
    search = GridSearchCV(ParityRidge(sensitive_columns=4), {"unfairness": [0.0, 1.0]}, cv=3)
    assert search.fit(X, y).best_params_ == {"unfairness": 1.0}
    target = TransformedTargetRegressor(
        ParityRidge(sensitive_columns=4), func=np.tanh, inverse_func=np.arctanh
    )
    assert target.fit(X, y / 20).regressor_.parity_residual_ <= 1e-12


def test_text_columns_travel_in_a_frame_and_stay_out_of_the_features(data):
    X, y, s = data
    frame = pd.DataFrame(X, columns=list("abcde")).assign(sex=np.where(s > 0, "F", "M"))
    model = ParityRidge(sensitive_columns="sex", drop_sensitive=True).fit(frame, y)
    expected = ParityRidge().fit(X, y, sensitive_features=s)
    assert np.allclose(model.predict(frame), expected.predict(X), rtol=0, atol=1e-12)
    assert set(model.group_means_) == {"F", "M"}
    assert list(model.feature_names_in_) == [*"abcde", "sex"]
    at = model.tradeoff_.at(0.5).predict(frame)
    assert np.allclose(at, expected.tradeoff_.at(0.5).predict(X), rtol=0, atol=1e-12)


def test_sensitive_columns_of_arrays_can_be_dropped(data):
    X, y, s = data
    model = ParityKernelRidge(kernel="rbf", sensitive_columns=[-1], drop_sensitive=True).fit(X, y)
    expected = ParityKernelRidge(kernel="rbf").fit(X[:, :4], y, sensitive_features=s)
    assert np.allclose(model.predict(X), expected.predict(X[:, :4]), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "estimator",
    [
        ParityRidge(constraint=MeanParity()),
        ParityKernelRidge(kernel=Kernel("rbf", columns=[0, 1]) + Kernel("linear", columns=[4])),
        ParityKernelRidge(kernel="rbf", constraint="covariance_parity"),
    ],
    ids=str,
)
def test_models_are_cloned_copied_and_pickled(estimator, data):
    X, y, s = data
    model = clone(estimator).fit(X, y, sensitive_features=s)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.predict(X), model.predict(X))
        assert np.array_equal(
            other.tradeoff_.at(0.2).predict(X), model.tradeoff_.at(0.2).predict(X)
        )
    again = clone(estimator).fit(X, y, sensitive_features=s)
    assert np.array_equal(again.predict(X), model.predict(X)), "fits are deterministic"


def test_precomputed_kernels_are_cut_by_rows_and_columns(data):
    X, y, s = data
    K = X @ X.T + 1
    for kernel in ("precomputed", Kernel("precomputed")):
        model = ParityKernelRidge(kernel=kernel)
        assert model.__sklearn_tags__().input_tags.pairwise
        with sklearn.config_context(enable_metadata_routing=True):
            scores = cross_val_score(model, K, y, params={"sensitive_features": s}, cv=3)
        assert scores.min() > 0.5


def test_refitting_leaves_nothing_of_the_first_fit(data):
    X, y, s = data
    model = ParityKernelRidge(kernel="rbf").fit(X, y, sensitive_features=s)
    old = model.tradeoff_
    before = old.at(0.0).predict(X)
    model.set_params(kernel="linear").fit(X, y, sensitive_features=s)
    assert model.solver_ == "primal"
    assert not hasattr(model, "dual_coef_")
    assert not hasattr(model, "X_fit_")
    assert np.array_equal(old.at(0.0).predict(X), before), "a tradeoff outlives its estimator"


@pytest.mark.usefixtures("routing")
def test_weights_in_a_search_as_the_readme_says(data):
    X, y, s = data
    weights = np.random.default_rng(0).uniform(0.1, 2, len(y))
    ridge = ParityRidge().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), ridge)
    search = GridSearchCV(pipeline, {"parityridge__alpha": [1e9, 1.0]}, error_score="raise")
    search.fit(X, y, sensitive_features=s, sample_weight=weights)
    assert search.best_params_ == {"parityridge__alpha": 1.0}
    weighted = {"sensitive_features": s, "sample_weight": weights}
    assert mean_parity_gap(None, search.predict(X), **weighted) <= 1e-10
