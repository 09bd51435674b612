"""XGBoost, LightGBM and CatBoost below a correction, with text columns, and SHAP above models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from meanparity import ParityAdjusted, ParityKernelRidge, ParityRidge
from meanparity.metrics import max_mean_gap

pytestmark = [
    pytest.mark.neighbours,
    # of the libraries themselves
    pytest.mark.filterwarnings(
        "default::DeprecationWarning",
        "default::PendingDeprecationWarning",
        "default::FutureWarning",
    ),
]
N = 400


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    s = rng.choice(["a", "b"], N)
    city = rng.choice(["Bonn", "Kiel", "Ulm"], N)
    X = pd.DataFrame({"age": rng.normal(size=N) + (s == "a"), "city": city})
    X["hours"] = rng.normal(size=N)
    y = X["age"].to_numpy() + 2.0 * (city == "Ulm") + 0.1 * rng.normal(size=N)
    return X, y, s


def regressors():
    from catboost import CatBoostRegressor
    from lightgbm import LGBMRegressor
    from xgboost import XGBRegressor

    quiet = {"iterations": 20, "verbose": 0, "allow_writing_files": False, "random_seed": 0}
    return {
        "xgboost": (XGBRegressor(n_estimators=20, enable_categorical=True), "category"),
        "lightgbm": (LGBMRegressor(n_estimators=20, verbose=-1), "category"),
        "catboost": (CatBoostRegressor(cat_features=["city"], **quiet), "str"),
        "catboost, a tuple": (CatBoostRegressor(cat_features=("city",), **quiet), "str"),
    }


NAMES = ["xgboost", "lightgbm", "catboost", "catboost, a tuple"]


def one_hot():
    encoder = OneHotEncoder(sparse_output=False)
    return make_column_transformer((encoder, ["city"]), remainder="passthrough")


@pytest.mark.parametrize("name", NAMES)
def test_a_function_of_encoded_columns_corrects_a_regressor_of_text(name, people):
    X, y, s = people
    regressor, kind = regressors()[name]
    X = X.astype({"city": kind})
    here, new = slice(0, 300), slice(300, None)
    model = ParityAdjusted(regressor, correction=make_pipeline(one_hot(), ParityRidge(alpha=0)))
    model.fit(X[here], y[here], sensitive_features=s[here], pool=(X[new], s[new]))
    for rows in (here, new):
        found = model.predict(X[rows])
        assert max_mean_gap(None, found, sensitive_features=s[rows]) < 1e-12
        uncorrected = model.estimator_.predict(X[rows])
        assert max_mean_gap(None, uncorrected, sensitive_features=s[rows]) > 0.1
    # the regressor reads text: f depends on the city as y does
    by_city = pd.Series(model.estimator_.predict(X)).groupby(X["city"].astype(str)).mean()
    assert by_city["Ulm"] - by_city["Bonn"] == pytest.approx(2.0, abs=0.5)


@pytest.mark.parametrize("name", NAMES)
def test_shifts_of_groups_correct_a_regressor_of_text(name, people):
    X, y, s = people
    regressor, kind = regressors()[name]
    X = X.astype({"city": kind})
    model = ParityAdjusted(regressor, correction="groups").fit(X, y, sensitive_features=s)
    found = model.predict(X, sensitive_features=s)
    assert max_mean_gap(None, found, sensitive_features=s) < 1e-12


def test_catboost_can_be_cloned_with_a_tuple_of_columns(people):
    """As scikit-learn's searches have to; with a list, scikit-learn refuses."""
    regressor, _ = regressors()["catboost, a tuple"]
    assert clone(ParityAdjusted(regressor)).estimator.get_params() == regressor.get_params()


def test_shapley_values_of_linear_models_are_the_terms_of_the_sum(people):
    import shap

    X, y, s = people
    numbers = X[["age", "hours"]]
    model = ParityRidge().fit(numbers, y, sensitive_features=s)
    background = shap.maskers.Independent(numbers.to_numpy(), max_samples=N)
    explained = shap.LinearExplainer(model, background)(numbers.to_numpy())
    centred = (numbers - numbers.mean()).to_numpy()
    assert np.allclose(explained.values, centred * model.coef_, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kind", ["kernel", "adjusted"])
def test_shapley_values_of_any_model_add_up_to_its_predictions(kind, people):
    import shap
    from xgboost import XGBRegressor

    X, y, s = people
    numbers = X[["age", "hours"]].to_numpy()
    model = {
        "kernel": ParityKernelRidge(kernel="rbf", fit_intercept=True),
        "adjusted": ParityAdjusted(XGBRegressor(n_estimators=20)),
    }[kind].fit(numbers, y, sensitive_features=s)
    explainer = shap.Explainer(model.predict, numbers[:50], algorithm="exact")
    explained = explainer(numbers[:20])
    sums = explained.base_values + explained.values.sum(axis=1)
    assert np.allclose(sums, model.predict(numbers[:20]), rtol=0, atol=1e-5)
