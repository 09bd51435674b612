"""Other losses under parity: generic solvers, scikit-learn's estimators, every constraint."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import (
    HuberRegressor,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
)
from sklearn.metrics.pairwise import rbf_kernel

from meanparity import (
    LBFGS,
    CovarianceParity,
    MeanParity,
    Newton,
    ParityKernelClassifier,
    ParityKernelRegressor,
    ParityKernelRidge,
    Pool,
    ResidualParity,
)
from meanparity.losses import (
    EpsilonInsensitive,
    Gamma,
    Hinge,
    Huber,
    Logistic,
    Poisson,
    Quantile,
    SmoothL1,
    Squared,
)
from meanparity.metrics import mean_parity_gap
from tests.oracles.losses import constrained_minimum, group_contrasts, kernel_features

REGRESSION = [
    Squared(),
    Huber(1.0),
    SmoothL1(0.1),
    SmoothL1(1.0),
    Quantile(0.7, smoothing=0.1),
    EpsilonInsensitive(0.2, smoothing=0.1),
    Poisson(),
    Gamma(),
]
CLASSIFICATION = [Logistic(), Hinge(0.5)]
ALL = REGRESSION + CLASSIFICATION
LINKED = [Poisson(), Gamma(), Logistic()]


def problem(loss, n=150, d=8, seed=0):
    """Features, targets, groups."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 3, n)
    X = rng.standard_normal((n, d))
    X[:, 0] += 0.8 * s
    f = X[:, 0] - 0.5 * X[:, 1] + 0.2 * s
    if isinstance(loss, Poisson):
        y = rng.poisson(np.exp(0.4 * f)).astype(float)
    elif isinstance(loss, Gamma):
        y = rng.gamma(2.0, np.exp(0.4 * f) / 2)
    elif loss.is_binary:
        y = (f + rng.logistic(size=n) > 0.5).astype(float)
    else:
        y = f + rng.standard_t(3, n)
    return X, y, np.array(["a", "b", "c"])[s]


def estimator(loss, **parameters):
    kind = ParityKernelClassifier if loss.is_binary else ParityKernelRegressor
    return kind(loss=loss, **parameters)


SETTINGS = {
    "linear": {"kernel": "linear", "alpha": 0.3},
    "rbf": {"kernel": "rbf", "gamma": 0.2, "alpha": 0.3},
}


def features(X, setting, others=None):
    """Features of the rows, and of others, whose products are the kernel."""
    Z = X if others is None else np.vstack([X, others])
    return Z if setting == "linear" else kernel_features(rbf_kernel(Z, gamma=0.2))


def spread(loss, model, X):
    scores = model.predict_score(X)
    return np.std(scores), np.std(loss.response(scores))


@pytest.mark.parametrize("loss", ALL, ids=str)
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("intercept", [True, False])
def test_equals_trust_constr(loss, setting, solver, intercept):
    X, y, s = problem(loss, n=120)
    u = np.random.default_rng(1).uniform(0.5, 2, len(y))
    C = group_contrasts(s, u)
    model = estimator(loss, solver=solver, fit_intercept=intercept, **SETTINGS[setting])
    model.fit(X, y, sensitive_features=s, sample_weight=u)
    F = features(X, setting)
    for dial, contrasts in ((0.0, C), (1.0, C[:, :0])):
        zero = np.zeros(contrasts.shape[1])
        value, scores = constrained_minimum(
            F, y, u, loss, 0.3, contrasts, zero, intercept=intercept
        )
        ours = model.tradeoff_.objective(dial)
        assert ours <= value * (1 + 1e-7)
        assert ours == pytest.approx(value, rel=1e-5)
        found = model.tradeoff_.at(dial).predict(X)
        if loss.curvature(y, scores).min() > 0.1:  # elsewhere the minimum is flat
            assert np.allclose(found, scores, rtol=0, atol=1e-3 * np.std(scores))
    assert np.abs(C.T @ model.predict_score(X)).max() <= 1e-10 * spread(loss, model, X)[0]
    assert model.converged_


@pytest.mark.parametrize("loss", LINKED, ids=str)
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("with_pool", [True, False])
def test_parity_of_responses_equals_trust_constr(loss, setting, intercept, with_pool):
    X, y, s = problem(loss, n=100)
    Z, _, t = problem(loss, n=40, seed=1)
    C, points = group_contrasts(s), None
    if with_pool:
        pool = group_contrasts(t)
        C = np.block([[C, np.zeros((100, 2))], [np.zeros((40, 2)), pool]])
        points = Z
    model = estimator(
        loss, fit_intercept=intercept, constraint=MeanParity(scale="response"), **SETTINGS[setting]
    )
    model.fit(X, y, sensitive_features=s, pool=(Z, t) if with_pool else None)
    F = features(X, setting, points)
    value, _ = constrained_minimum(
        F,
        y,
        np.ones(100),
        loss,
        0.3,
        C,
        np.zeros(C.shape[1]),
        intercept=intercept,
        on_response=True,
    )
    assert model.tradeoff_.objective(0.0) == pytest.approx(value, rel=1e-5)
    rows = X if points is None else np.vstack([X, Z])
    responses = loss.response(model.predict_score(rows))
    assert np.abs(C.T @ responses).max() <= 1e-8 * np.std(responses)
    assert model.converged_
    assert model.parity_residual_ <= 1e-8
    means = list(model.group_means_.values())
    assert np.ptp(means) <= 1e-8


@pytest.mark.parametrize("loss", ALL, ids=str)
@pytest.mark.parametrize("setting", SETTINGS)
def test_parity_of_scores_on_rows_and_pool_at_every_constraint(loss, setting):
    X, y, s = problem(loss, n=200)
    Z, _, t = problem(loss, n=80, seed=1)
    rng = np.random.default_rng(0)
    u, grade = rng.uniform(0.5, 2, 200), np.where(X[:, 2] > 0, "low", "high")
    grade_z = np.where(Z[:, 2] > 0, "low", "high")
    pool = Pool(Z, t, control_features=grade_z, sample_weight=np.ones(80))
    model = estimator(loss, **SETTINGS[setting])
    people = {"sensitive_features": s, "sample_weight": u, "control_features": grade}
    if setting == "linear":  # eight columns are not enough for eight conditions
        people.pop("control_features")
        pool = Pool(Z, t, sample_weight=np.ones(80))
    model.fit(X, y, pool=pool, **people)
    scores, there = model.predict_score(X), model.predict_score(Z)
    scale = np.std(scores)
    assert model.parity_residual_ <= 1e-10 * scale
    for values, groups, grades, weights in (
        (scores, s, grade, u),
        (there, t, grade_z, np.ones(80)),
    ):
        strata = grades if setting == "rbf" else np.full(len(groups), "all")
        for stratum in np.unique(strata):
            inside = strata == stratum
            gap = mean_parity_gap(
                None,
                values[inside],
                sensitive_features=groups[inside],
                sample_weight=weights[inside],
            )
            assert gap <= 1e-9 * scale


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("solver", [Newton(tol=1e-14), LBFGS(tol=1e-14)], ids=str)
@pytest.mark.parametrize("constraint", ["mean_parity", "covariance_parity", "residual_parity"])
def test_the_squared_loss_is_the_closed_form(setting, solver, constraint):
    X, y, s = problem(Squared())
    Z, _, t = problem(Squared(), n=50, seed=1)
    shared = SETTINGS[setting] | {"constraint": constraint}
    pool = None if constraint == "residual_parity" else (Z, t)
    exact = ParityKernelRidge(fit_intercept=True, **shared)
    exact.fit(X, y, sensitive_features=s, pool=pool)
    model = ParityKernelRegressor(solver=solver, **shared)
    model.fit(X, y, sensitive_features=s, pool=pool)
    for u in (0.0, 0.3, 1.0):
        found, expected = (m.tradeoff_.at(u).predict(X) for m in (model, exact))
        assert np.allclose(found, expected, rtol=0, atol=1e-6 * np.std(y))
        assert model.tradeoff_.objective(u) == pytest.approx(exact.tradeoff_.objective(u), rel=1e-9)
    largest = np.abs(exact.tradeoff_.solution.gaps[1]).max()
    for find, value in (
        ("for_loss_increase", 0.02),
        ("for_loss_increase", 10.0),
        ("for_gap", 0.3 * largest),
        ("for_smd", 0.5 * largest),
        ("for_norm", 0.4 * largest),
    ):
        found, expected = (getattr(m.tradeoff_, find)(value).predict(X) for m in (model, exact))
        assert np.allclose(found, expected, rtol=0, atol=1e-5 * np.std(y)), find
    curve, expected = (m.tradeoff_.training_curve() for m in (model, exact))
    for name in ("mse", "r2", "smd", "max_gap"):
        assert np.allclose(getattr(curve, name), getattr(expected, name), rtol=0, atol=1e-6)
    assert np.allclose(curve.loss, curve.mse)


def test_logistic_regression_is_scikit_learns():
    X, y, s = problem(Logistic())
    for C in (0.1, 1.0, 10.0):
        model = ParityKernelClassifier(alpha=1 / (2 * C), unfairness=1.0)
        model.fit(X, y, sensitive_features=s)
        theirs = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, y)
        assert np.allclose(model.coef_, theirs.coef_[0], rtol=0, atol=1e-5)
        assert model.intercept_ == pytest.approx(theirs.intercept_[0], abs=1e-5)
        assert np.allclose(model.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-6)
        assert np.array_equal(model.predict(X), theirs.predict(X))
        assert np.allclose(model.decision_function(X), theirs.decision_function(X), atol=1e-4)


def test_poisson_regression_is_scikit_learns():
    X, y, s = problem(Poisson())
    theirs = PoissonRegressor(alpha=0.01, tol=1e-10, max_iter=10_000).fit(X, y)
    model = ParityKernelRegressor(loss="poisson", alpha=0.01 * len(y) / 2, unfairness=1.0)
    model.fit(X, y, sensitive_features=s)
    assert np.allclose(model.coef_, theirs.coef_, rtol=0, atol=1e-5)
    assert np.allclose(model.predict(X), theirs.predict(X), rtol=1e-5)


def test_huber_regression_is_scikit_learns_at_its_scale():
    X, y, s = problem(Huber())
    theirs = HuberRegressor(epsilon=1.5, alpha=0.1, tol=1e-10, max_iter=10_000).fit(X, y)
    # Σ σ H(z/σ) + α‖w‖² with their σ: H(z/σ) is Huber's at ε = 1.5σ over σ²
    loss = Huber(1.5 * theirs.scale_)
    model = ParityKernelRegressor(loss=loss, alpha=0.1 * theirs.scale_, unfairness=1.0)
    model.fit(X, y, sensitive_features=s)
    assert np.allclose(model.coef_, theirs.coef_, rtol=0, atol=1e-4)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.8])
def test_quantile_regression_is_scikit_learns(quantile):
    X, y, s = problem(Quantile(), n=151)
    theirs = QuantileRegressor(quantile=quantile, alpha=0.0).fit(X, y)
    model = ParityKernelRegressor(loss=Quantile(quantile), alpha=0.0)
    model.fit(X, y, sensitive_features=s)
    free = model.tradeoff_.at(1.0).predict(X)
    loss = Quantile(quantile)
    zero = theirs.predict(X)
    assert loss.value(y, free).sum() == pytest.approx(loss.value(y, zero).sum(), rel=1e-9)
    assert np.allclose(free, zero, rtol=0, atol=1e-6)
    assert model.parity_residual_ <= 1e-10 * np.std(y)
    near = ParityKernelRegressor(loss=Quantile(quantile), alpha=1e-9)
    near.fit(X, y, sensitive_features=s)
    assert near.tradeoff_.objective(0.0) == pytest.approx(model.tradeoff_.objective(0.0), rel=1e-5)


@pytest.mark.parametrize("loss", [Quantile(0.8), EpsilonInsensitive(0.2, 0.0), Hinge(0.0)], ids=str)
@pytest.mark.parametrize("setting", SETTINGS)
def test_losses_with_kinks(loss, setting):
    """No smoothed loss has a lower objective, by more than its rounding."""
    X, y, s = problem(loss)
    exact = estimator(loss, **SETTINGS[setting]).fit(X, y, sensitive_features=s)
    fine = loss.rounded(1e-4)
    model = estimator(fine, **SETTINGS[setting]).fit(X, y, sensitive_features=s)
    for u in (0.0, 1.0):
        value = exact.tradeoff_.objective(u)
        assert value == pytest.approx(model.tradeoff_.objective(u), abs=1e-4 * len(y))
        # the other function, measured without smoothing, is no better
        penalty = model.tradeoff_.penalties[1 if u else 0, 1 if u else 0]
        other = loss.value(y, model.tradeoff_.at(u).predict(X)).sum() + penalty
        assert value <= other * (1 + 1e-6)
    assert exact.parity_residual_ <= 1e-10 * np.std(exact.predict_score(X))


def test_demographic_parity_of_drawn_decisions():
    """The paper's remark: for binary y and S, equal mean responses are demographic parity."""
    X, y, s = problem(Logistic(), n=300)
    s = np.where(s == "a", "a", "b")
    model = ParityKernelClassifier(constraint=MeanParity(scale="response")).fit(
        X, y, sensitive_features=s
    )
    p = model.predict_proba(X)[:, 1]
    rates = [p[s == group].mean() for group in "ab"]  # P(decision = 1 | group)
    assert rates[0] == pytest.approx(rates[1], abs=1e-8)
    rng = np.random.default_rng(0)
    drawn = rng.random((4000, len(p))) < p
    assert drawn[:, s == "a"].mean() == pytest.approx(drawn[:, s == "b"].mean(), abs=0.01)
    free = model.tradeoff_.at(1.0).predict(X)
    assert mean_parity_gap(None, Logistic().response(free), sensitive_features=s) > 0.1


@pytest.mark.parametrize("loss", LINKED, ids=str)
def test_residual_parity_of_responses(loss):
    X, y, s = problem(loss)
    model = estimator(loss, constraint=ResidualParity(scale="response"), **SETTINGS["rbf"])
    model.fit(X, y, sensitive_features=s)
    errors = y - loss.response(model.predict_score(X))
    assert mean_parity_gap(None, errors, sensitive_features=s) <= 1e-7
    with pytest.raises(ValueError, match=r"another scale.*scale='response'"):
        estimator(loss, constraint="residual_parity").fit(X, y, sensitive_features=s)


@pytest.mark.parametrize("loss", ALL, ids=str)
def test_sensitive_numbers(loss):
    X, y, _ = problem(loss)
    age = X[:, 0] + X[:, 1]
    model = estimator(loss, constraint=CovarianceParity("polynomial", degree=2), **SETTINGS["rbf"])
    model.fit(X, y, sensitive_features=age)
    scores = model.predict_score(X)
    for power in (1, 2):
        assert abs(np.cov(age**power, scores)[0, 1]) <= 1e-9 * np.std(scores) * np.std(age**power)
