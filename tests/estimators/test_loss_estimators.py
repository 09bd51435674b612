"""Estimators of other losses: optimizers, the dial, bad input, scikit-learn, old defects."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from meanparity import (
    LBFGS,
    CovarianceParity,
    MeanParity,
    Newton,
    ParityKernelClassifier,
    ParityKernelRegressor,
)
from meanparity.losses import (
    Huber,
    Logistic,
    Poisson,
    Quantile,
    Squared,
)
from meanparity.metrics import max_mean_gap, mean_parity_gap
from tests.estimators.test_kernel_losses import SETTINGS, estimator, problem


@pytest.mark.parametrize("solver", [Newton(warm_start=True), LBFGS(warm_start=True)], ids=str)
@pytest.mark.parametrize("setting", SETTINGS)
def test_warm_starts_end_at_once(solver, setting):
    X, y, s = problem(Logistic())
    model = ParityKernelClassifier(solver=solver, **SETTINGS[setting])
    cold = model.fit(X, y, sensitive_features=s).n_iter_
    before = model.predict_score(X)
    assert model.fit(X, y, sensitive_features=s).n_iter_ <= min(8, cold)
    assert np.allclose(model.predict_score(X), before, rtol=0, atol=1e-4)
    model.set_params(kernel="rbf", alpha=0.4).fit(X[:100], y[:100], sensitive_features=s[:100])
    assert model.parity_residual_ <= 1e-10


def test_too_few_steps_warn():
    X, y, s = problem(Logistic())
    with pytest.warns(ConvergenceWarning, match=r"did not converge in 1 steps of newton\. Raise"):
        model = ParityKernelClassifier(solver=Newton(max_iter=1)).fit(X, y, sensitive_features=s)
    assert not model.converged_
    assert model.parity_residual_ <= 1e-12, "whose iterates meet the constraint all the same"


def test_progress_is_printed(capsys):
    X, y, s = problem(Logistic())
    ParityKernelClassifier(solver=Newton(verbose=True)).fit(X, y, sensitive_features=s)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("free 0: objective")
    assert any(line.startswith("constrained 1: objective") for line in lines)


def test_the_dial():
    X, y, s = problem(Poisson())
    model = ParityKernelRegressor(loss="poisson", unfairness=0.4).fit(X, y, sensitive_features=s)
    ends = [model.tradeoff_.at(u).predict(X) for u in (0.0, 1.0)]
    assert np.allclose(model.predict_score(X), 0.6 * ends[0] + 0.4 * ends[1])
    assert np.allclose(model.predict(X), np.exp(model.predict_score(X)))
    gaps = [mean_parity_gap(None, scores, sensitive_features=s) for scores in ends]
    mixed = mean_parity_gap(None, model.predict_score(X), sensitive_features=s)
    assert mixed == pytest.approx(0.4 * gaps[1])
    values = [model.tradeoff_.objective(u) for u in np.linspace(0, 1, 11)]
    assert np.all(np.diff(values) < 0)
    assert np.all(np.diff(values, 2) > -1e-9)
    limited = ParityKernelRegressor(loss="poisson", max_gap=0.05).fit(X, y, sensitive_features=s)
    assert max(map(abs, limited.gaps_.values())) == pytest.approx(0.05)
    curve = model.tradeoff_.curve(X, y, s)
    assert np.allclose(curve.loss, model.tradeoff_.training_curve().loss)
    assert set(curve.to_frame()) == {"unfairness", "mse", "r2", "smd", "max_gap", "norm", "loss"}
    responses = MeanParity(scale="response")
    limited = ParityKernelRegressor(loss="poisson", max_gap=0.1, constraint=responses)
    limited.fit(X, y, sensitive_features=s)
    found = max_mean_gap(None, limited.predict(X), sensitive_features=s)
    assert found == pytest.approx(0.1)


def test_classes_of_all_kinds():
    X, y, s = problem(Logistic())
    expected = ParityKernelClassifier().fit(X, y, sensitive_features=s)
    for labels in (np.array(["no", "yes"]), np.array([False, True]), np.array([-1, 1])):
        named = labels[y.astype(int)]
        model = ParityKernelClassifier().fit(X, named, sensitive_features=s)
        assert np.array_equal(model.classes_, labels)
        assert np.array_equal(model.predict(X), labels[expected.predict(X).astype(int)])
        curve = model.tradeoff_.curve(X, named, s)
        assert np.allclose(curve.loss, expected.tradeoff_.curve(X, y, s).loss)
    with pytest.raises(ValueError, match="but the classes are"):
        model.tradeoff_.curve(X, np.full(len(y), 7), s)
    hinge = ParityKernelClassifier(loss="hinge").fit(X, y, sensitive_features=s)
    with pytest.raises(AttributeError, match="predict_proba"):
        hinge.predict_proba(X)


BAD = [
    (ParityKernelRegressor, {"loss": "hinge"}, "one of ParityKernelClassifier's"),
    (ParityKernelClassifier, {"loss": "huber"}, "one of ParityKernelRegressor's"),
    (
        ParityKernelClassifier,
        {"loss": "hinge", "constraint": MeanParity(scale="response")},
        "which the hinge loss does not have",
    ),
    (ParityKernelRegressor, {"constraint": MeanParity(scale="odds")}, r"scale='odds' is not known"),
    (ParityKernelRegressor, {"solver": "adam"}, r"solver='adam' is not known.*'newton', 'lbfgs'"),
    (ParityKernelRegressor, {"solver": Newton(max_iter=0)}, r"max_iter=0\. Pass an integer of 1"),
    (ParityKernelRegressor, {"solver": LBFGS(max_iter=2.5)}, r"max_iter=2\.5\. Pass"),
    (ParityKernelRegressor, {"solver": Newton(tol=0.0)}, r"tol=0\.0 is not a positive number"),
    (ParityKernelRegressor, {"solver": Newton(warm_start=1)}, r"warm_start=1\. Pass True or False"),
    (ParityKernelRegressor, {"solver": LBFGS(verbose="yes")}, r"verbose='yes'"),
    (ParityKernelRegressor, {"alpha": -1.0}, r"alpha=-1\.0 is negative"),
    (ParityKernelRegressor, {"alpha": [1.0, 2.0]}, r"alpha has shape \(2,\)"),
    (ParityKernelRegressor, {"alpha": 0.0, "kernel": "rbf"}, r"alpha=0.*Pass a positive alpha"),
    (ParityKernelRegressor, {"loss": "poisson"}, r"targets of 0 or more"),
    (ParityKernelRegressor, {"loss": "gamma"}, r"targets above 0"),
    (ParityKernelRegressor, {"kernel": "sigmoid", "gamma": 3.0}, r"indefinite"),
]


@pytest.mark.parametrize(("kind", "parameters", "message"), BAD)
def test_bad_parameters(kind, parameters, message):
    X, y, s = problem(Squared())
    y = y > 0 if kind is ParityKernelClassifier else y
    with pytest.raises(ValueError, match=message):
        kind(**parameters).fit(X, y, sensitive_features=s)


@pytest.mark.parametrize("kind", [ParityKernelRegressor, ParityKernelClassifier])
def test_bad_targets(kind):
    X, y, s = problem(Logistic())
    with pytest.raises(ValueError, match="requires y to be passed"):
        kind().fit(X, None, sensitive_features=s)
    with pytest.raises(ValueError, match=r"1d array|shape"):
        kind().fit(X, np.column_stack([y, y]), sensitive_features=s)
    if kind is ParityKernelClassifier:
        for bad in (np.zeros(len(y)), np.arange(len(y)) % 3):
            with pytest.raises(ValueError, match="Only binary classification is supported"):
                kind().fit(X, bad, sensitive_features=s)


@pytest.mark.parametrize("loss", [Huber(), Poisson(), Logistic()], ids=str)
def test_models_are_cloned_copied_and_pickled(loss):
    X, y, s = problem(loss)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(8)])
    model = clone(estimator(loss, **SETTINGS["rbf"])).fit(frame, y, sensitive_features=s)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.predict(frame), model.predict(frame))
    again = clone(model).fit(frame, y, sensitive_features=s)
    assert np.array_equal(again.predict_score(frame), model.predict_score(frame))


UNCORRELATED = CovarianceParity(kernel="linear")
CHECKED = [
    ParityKernelRegressor(sensitive_columns=0, constraint=UNCORRELATED),
    ParityKernelRegressor(loss="huber", sensitive_columns=0, constraint=UNCORRELATED, kernel="rbf"),
    ParityKernelRegressor(
        loss=Quantile(0.5, smoothing=0.1),
        sensitive_columns=0,
        constraint=UNCORRELATED,
        solver="lbfgs",
    ),
    ParityKernelClassifier(sensitive_columns=0, constraint=UNCORRELATED),
    ParityKernelClassifier(
        loss="hinge", sensitive_columns=0, constraint=UNCORRELATED, kernel="rbf"
    ),
]


@pytest.mark.filterwarnings("ignore:Only a constant")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", CHECKED, ids=lambda m: f"{type(m).__name__}-{m.loss}")
def test_scikit_learns_checks(model):
    results = check_estimator(model, on_fail="raise", on_skip=None)
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert skipped <= {"check_array_api_input", "check_array_api_input_and_values"}
    assert len(results) > 40


# --- what went wrong once


def hostile(n, d, k, seed=0):
    rng = np.random.default_rng(seed)
    s = rng.integers(0, k, n)
    X = rng.normal(size=(n, d)) + 0.7 * s[:, None] * np.arange(1, d + 1) / d
    return X, X @ np.linspace(1, -0.4, d) + 0.5 * s, rng.normal(size=n), s


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 0.5, 0.9, 1.0, 1.1])
def test_responses_do_not_slide_to_a_constant(alpha):
    """As many conditions as columns: a constant would do, and is not the answer."""
    X, eta, noise, s = hostile(100, 3, 4)
    y = (eta + noise > 0.5).astype(int)
    with pytest.raises(ValueError, match=r"mean responses was not reached.*more features"):
        ParityKernelClassifier(alpha=alpha, constraint=MeanParity(scale="response")).fit(
            X, y, sensitive_features=s
        )


def test_responses_that_cannot_be_reached_are_told():
    X, _, _, s = hostile(100, 3, 2)
    y = (X[:, 0] > 0.3).astype(int)
    with pytest.raises(ValueError, match=r"mean responses was not reached.*Raise alpha"):
        ParityKernelClassifier(alpha=1e-12, constraint=MeanParity(scale="response")).fit(
            X, y, sensitive_features=s
        )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("alpha", [1e-7, 1e-6, 1e-4])
def test_newton_never_climbs(alpha):
    X, eta, noise, s = hostile(60, 3, 2)
    y = (eta + noise > 0.5).astype(int)
    shared = {"loss": "hinge", "kernel": "rbf", "alpha": alpha}
    newton = ParityKernelClassifier(**shared).fit(X, y, sensitive_features=s)
    lbfgs = ParityKernelClassifier(solver="lbfgs", **shared).fit(X, y, sensitive_features=s)
    for u in (0.0, 1.0):
        values = [model.tradeoff_.objective(u) for model in (newton, lbfgs)]
        assert values[0] <= values[1] * 1.01


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_a_warm_start_that_is_worse_is_not_taken(loss):
    X, eta, _, s = hostile(60, 3, 2)
    y = np.random.default_rng(1).poisson(np.exp(np.clip(eta * 0.5, -3, 3))) + 0.5
    model = ParityKernelRegressor(loss=loss, alpha=1e-3, solver=Newton(warm_start=True))
    model.fit(X * 1e-3, y, sensitive_features=s).fit(X * 100, y, sensitive_features=s)
    cold = ParityKernelRegressor(loss=loss, alpha=1e-3).fit(X * 100, y, sensitive_features=s)
    assert model.tradeoff_.objective(0.0) == pytest.approx(cold.tradeoff_.objective(0.0), rel=1e-6)


def test_limits_on_responses_are_kept():
    X, eta, noise, s = hostile(60, 3, 2)
    y = (eta + noise > 0.5).astype(int)
    model = ParityKernelClassifier(alpha=1e-3, constraint=MeanParity(scale="response")).fit(
        X * 4, y, sensitive_features=s
    )
    tradeoff = model.tradeoff_
    whole, by = tradeoff.training_curve([1.0]), {"sensitive_features": s}
    for share in (0.2, 0.5, 0.9):
        for name, find, size in (
            ("smd", tradeoff.for_smd, mean_parity_gap),
            ("max_gap", tradeoff.for_gap, max_mean_gap),
        ):
            limit = share * getattr(whole, name)[0]
            chance = 1 / (1 + np.exp(-find(limit).predict(X * 4)))
            assert size(None, chance, **by) == pytest.approx(limit, rel=1e-6)
    assert tradeoff.for_smd(10.0).unfairness == 1.0


def test_lbfgs_tells_when_it_is_not_there():
    X, eta, _, s = hostile(80, 4, 2)
    y = np.random.default_rng(0).poisson(np.exp(np.clip(eta * 0.5, -3, 3))).astype(float)
    shared = {"loss": "poisson", "alpha": 1e-3, "fit_intercept": False}
    newton = ParityKernelRegressor(**shared).fit(X + 100, y, sensitive_features=s)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lbfgs = ParityKernelRegressor(solver="lbfgs", **shared)
        lbfgs.fit(X + 100, y, sensitive_features=s)
    value, best = (model.tradeoff_.objective(0.0) for model in (lbfgs, newton))
    assert value <= best * (1 + 1e-6) or (not lbfgs.converged_ and caught)


@pytest.mark.parametrize("scale", ["score", "response"])
def test_precomputed_kernels_with_a_pool(scale):
    X, y, s = problem(Logistic(), n=100)
    Z, _, t = problem(Logistic(), n=40, seed=1)
    named = ParityKernelClassifier(kernel="rbf", gamma=0.2, constraint=MeanParity(scale=scale))
    named.fit(X, y, sensitive_features=s, pool=(Z, t))
    both = np.vstack([X, Z])
    K = rbf_kernel(both, gamma=0.2)
    given = ParityKernelClassifier(kernel="precomputed", constraint=MeanParity(scale=scale))
    given.fit(K[:100, :100], y, sensitive_features=s, pool=(K[100:], t))
    found = given.predict_score(K)
    assert np.allclose(found, named.predict_score(both), rtol=0, atol=1e-6)
    values = Logistic().response(found) if scale == "response" else found
    assert mean_parity_gap(None, values[100:], sensitive_features=t) <= 1e-8


def test_inside_scikit_learn():
    X, y, s = problem(Poisson())
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), ParityKernelRegressor(loss="poisson"))
        search = GridSearchCV(pipeline, {"paritykernelregressor__alpha": [0.1, 10.0]}, cv=3)
        search.fit(X, y, sensitive_features=s)
    best = search.best_estimator_[-1]
    assert best.parity_residual_ <= 1e-10
    columns = ParityKernelRegressor(
        loss="poisson", sensitive_columns=0, constraint=MeanParity(continuous=[0])
    )
    assert columns.fit(X, y).predict(X).min() > 0


def test_sparse_features_say_the_same():
    X, y, s = problem(Logistic())
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    for kernel in ("linear", "rbf"):
        for scale in ("score", "response"):
            model = ParityKernelClassifier(kernel=kernel, constraint=MeanParity(scale=scale))
            dense = model.fit(X, y, sensitive_features=s).predict_proba(X)
            found = model.fit(sparse.csr_matrix(X), y, sensitive_features=s).predict_proba(X)
            assert np.allclose(found, dense, rtol=0, atol=1e-6)


def test_a_refused_fit_leaves_the_earlier_classifier_as_it_was():
    X, y, s = problem(Logistic())
    model = ParityKernelClassifier().fit(X, np.where(y > 0, "b", "a"), sensitive_features=s)
    before, probabilities = model.predict(X), model.predict_proba(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full_like(X, np.nan), np.where(y > 0, "d", "c"), sensitive_features=s)
    with pytest.raises(ValueError, match="one group"):
        model.fit(X, np.where(y > 0, "d", "c"), sensitive_features=np.zeros(len(X)))
    assert model.classes_.tolist() == ["a", "b"]
    assert (model.predict(X) == before).all()
    assert np.array_equal(model.predict_proba(X), probabilities)


def test_a_refused_fit_leaves_the_earlier_link_as_it_was():
    X, y, s = problem(Poisson())
    model = ParityKernelRegressor(loss="poisson").fit(X, y, sensitive_features=s)
    before = model.predict(X)
    with pytest.raises(ValueError, match="one group"):
        model.set_params(loss="squared").fit(X, y, sensitive_features=np.zeros(len(X)))
    assert np.array_equal(model.predict(X), before)
    assert (model.predict(X) > 0).all(), "means of counts, not scores"


def test_the_constraint_of_a_fit_is_checked_once(monkeypatch):
    X, y, s = problem(Logistic())
    calls, checked = [], ParityKernelClassifier._checked_constraint
    monkeypatch.setattr(
        ParityKernelClassifier,
        "_checked_constraint",
        lambda self: calls.append(self) or checked(self),
    )
    model = ParityKernelClassifier(constraint=MeanParity(scale="response"), unfairness=0.5)
    model.fit(X, y, sensitive_features=s)
    assert len(calls) == 1


def test_no_more_loss_is_the_free_fit_and_any_loss_is_parity():
    X, y, s = problem(Logistic())
    model = ParityKernelClassifier().fit(X, y, sensitive_features=s)
    assert model.tradeoff_.for_loss_increase(0.0).unfairness == 1.0
    assert model.tradeoff_.for_loss_increase(1e9).unfairness == 0.0
