"""Other losses, and the choice of penalties, in the features of landmarks."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

from meanparity import (
    MeanParity,
    Nystrom,
    ParityKernelClassifier,
    ParityKernelRegressor,
    ParityKernelRidge,
    ParityKernelRidgeCV,
)
from meanparity.losses import Poisson, SmoothL1
from meanparity.metrics import max_mean_gap

RBF = {"kernel": "rbf", "gamma": 0.2}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    s = np.resize(["a", "b", "c"], 90)
    X = rng.standard_normal((90, 3)) + (s == "b")[:, None]
    return X, np.sin(X[:, 0]) + (s == "c") + 0.2 * rng.standard_normal(90), s


@pytest.mark.parametrize("loss", [SmoothL1(0.5), Poisson(), "quantile"], ids=str)
@pytest.mark.parametrize("scale", ["score", "response"])
def test_all_rows_as_landmarks_are_the_exact_fit(loss, scale, data):
    X, y, s = data
    counts = np.round(np.exp(y)) if isinstance(loss, Poisson) else y
    exact = ParityKernelRegressor(loss=loss, constraint=MeanParity(scale=scale), **RBF)
    model = clone(exact).set_params(solver=Nystrom(200))
    for one in (exact, model):
        one.fit(X, counts, sensitive_features=s)
    scores = exact.predict_score(X)
    tolerance = 1e-5 * np.abs(scores).max()
    assert model.predict_score(X) == pytest.approx(scores, abs=tolerance)
    assert model.tradeoff_.at(1.0).predict(X) == pytest.approx(
        exact.tradeoff_.at(1.0).predict(X), abs=tolerance
    )
    assert model.X_fit_.shape == X.shape


@pytest.mark.parametrize("landmarks", ["rpcholesky", "uniform"])
def test_parity_is_exact_at_few_landmarks(landmarks, data):
    X, y, s = data
    pool = X[::2] + 0.1, s[::2]
    features = {"solver": Nystrom(20, landmarks=landmarks), **RBF}
    robust = ParityKernelRegressor(loss="huber", **features)
    robust.fit(X, y, sensitive_features=s, pool=pool)
    for rows, groups in ((X, s), pool):
        gap = max_mean_gap(None, robust.predict(rows), sensitive_features=groups)
        assert gap <= 1e-10 * y.std()
    classes = ParityKernelClassifier(constraint=MeanParity(scale="response"), **features)
    classes.fit(X, y > 0.3, sensitive_features=s)
    probability = classes.predict_proba(X)[:, 1]
    assert max_mean_gap(None, probability, sensitive_features=s) <= 1e-8


def test_squared_loss_is_ridge(data):
    X, y, s = data
    features = {"solver": Nystrom(landmarks=X[:25]), **RBF}
    ridge = ParityKernelRidge(fit_intercept=True, **features).fit(X, y, sensitive_features=s)
    other = ParityKernelRegressor(loss="squared", **features).fit(X, y, sensitive_features=s)
    assert other.predict(X) == pytest.approx(ridge.predict(X), abs=1e-8)


@pytest.mark.parametrize("cv", [None, KFold(4, shuffle=True, random_state=0)])
@pytest.mark.parametrize("intercept", [False, True])
def test_choosing_in_features_is_brute_force(cv, intercept, data):
    X, y, s = data
    alphas = [0.01, 1.0, 30.0]
    features = {
        "kernel": "rbf",
        "solver": Nystrom(landmarks=X[:25]),
        "fit_intercept": intercept,
        "constraint": MeanParity(min_group_size=0),
    }
    search = ParityKernelRidgeCV(alphas=alphas, gammas=0.2, cv=cv, **features)
    search.fit(X, y, sensitive_features=s)
    splits = [(np.delete(np.arange(90), i), [i]) for i in range(90)]
    if cv is not None:
        splits = list(cv.split(X))
    losses = []
    for alpha in alphas:
        predicted = np.empty(90)
        for train, test in splits:
            model = ParityKernelRidge(alpha=alpha, gamma=0.2, **features)
            model.fit(X[train], y[train], sensitive_features=s[train])
            predicted[test] = model.predict(X[test])
        losses.append(np.mean((y - predicted) ** 2))
    assert search.cv_results_["mean_squared_error"] == pytest.approx(losses, rel=1e-8)
    assert search.best_estimator_.solver_ == "nystrom"
    gammas = clone(search).set_params(
        gammas=[0.1, 1.0], solver__n_components=20, solver__landmarks="uniform"
    )
    gammas.fit(X, y, sensitive_features=s)
    assert len(gammas.cv_results_["max_gap"]) == 6


def test_solvers_of_losses_are_named():
    X, y, s = np.zeros((4, 1)), np.zeros(4), ["a", "b"] * 2
    with pytest.raises(
        ValueError,
        match=r"solver='dense' minimises the squared error alone\. Pass 'auto', one of 'n",
    ):
        ParityKernelRegressor(solver="dense").fit(X, y, sensitive_features=s)
