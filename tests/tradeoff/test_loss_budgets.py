"""Budgets of other losses, against a general solver over all coefficients."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics.pairwise import rbf_kernel

from meanparity import (
    MeanParity,
    ParityKernelClassifier,
    ParityKernelRegressor,
    ResidualParity,
)
from meanparity.losses import Quantile, resolve_loss
from meanparity.persistence import load, save
from meanparity.solvers import LBFGS, Nystrom
from meanparity.solvers.minimisation import Minimisation
from meanparity.solvers.spaces import ColumnFunctions
from meanparity.tradeoff.budgets import SIZES, UnreachableError

KINDS = ("gap", "smd", "norm")


def sizes(gaps):
    """What each budget limits."""
    return {"gap": np.abs(gaps).max(), "smd": np.abs(gaps).sum(), "norm": np.linalg.norm(gaps)}


def contrasts(s):
    """Group means minus the overall mean, as a matrix."""
    P = np.stack([(s == g) / (s == g).sum() for g in np.unique(s)])
    return P - 1 / len(s)


def make_problem(loss, seed, d=6):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 13))
    n = int(rng.integers(6 * k, 8 * k + 30))
    s = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    X = rng.standard_normal((n, max(d, k + 3)))
    X[:, 0] += rng.standard_normal(k)[s]
    score = 0.4 * X[:, 0] - 0.3 * X[:, 1] + 0.3 * rng.standard_normal(k)[s]
    if loss == "poisson":
        y = rng.poisson(np.exp(score)).astype(float)
    elif loss == "gamma":
        y = rng.gamma(2.0, np.exp(score) / 2) + 1e-3
    elif loss == "logistic":
        y = (rng.random(n) < 1 / (1 + np.exp(-2 * score))).astype(float)
    else:
        y = score + rng.standard_normal(n)
    return X, y, s


def fitted(loss, X, y, s, **options):
    if loss == "logistic":
        model = ParityKernelClassifier(loss=loss, **options)
    else:
        model = ParityKernelRegressor(loss=loss, **options)
    return model.fit(X, y, sensitive_features=s)


def features_of(X, kernel):
    """Columns Z with ``K = ZZᵀ``, so that functions are ``Zθ + b`` with the norm of θ."""
    if kernel == "linear":
        return X
    values, vectors = np.linalg.eigh(rbf_kernel(X, gamma=0.1))
    keep = values > 1e-12 * values[-1]
    return vectors[:, keep] * np.sqrt(values[keep])


class Oracle:
    """The objective and the gaps of ``Zθ + b`` as functions of (θ, b), for SLSQP."""

    def __init__(self, loss, Z, y, s, alpha, on_response, P=None, weights=None, errors=False):
        binary = loss == "logistic"
        self.loss, self.y, self.alpha = resolve_loss(loss, binary=binary), y, alpha
        self.Z = np.column_stack([Z, np.ones(len(y))])
        self.P, self.on_response = contrasts(s) if P is None else P, on_response
        self.weights = np.ones(len(y)) if weights is None else weights
        self.offset = -self.P @ y if errors else 0.0

    def objective(self, v):
        losses = self.weights @ self.loss.value(self.y, self.Z @ v)
        return losses + self.alpha * v[:-1] @ v[:-1]

    def slope(self, v):
        found = self.Z.T @ (self.weights * self.loss.gradient(self.y, self.Z @ v))
        found[:-1] += 2 * self.alpha * v[:-1]
        return found

    def gaps(self, v):
        scores = self.Z @ v
        return self.P @ (self.loss.response(scores) if self.on_response else scores) + self.offset

    def gap_slopes(self, v):
        scores = self.Z @ v
        weight = self.loss.slope(scores) if self.on_response else np.ones_like(scores)
        return self.P @ (weight[:, None] * self.Z)

    def least(self, kind, limit, start):
        """The smallest objective within a limit, by SLSQP with the signs of a sum as unknowns."""
        p, k = len(start), len(self.P)

        if kind == "smd":

            def rule(v):
                gaps, t = self.gaps(v[:p]), v[p:]
                return np.concatenate([t - gaps, t + gaps, [limit - t.sum()]])

            def rule_slope(v):
                A = self.gap_slopes(v[:p])
                last = np.concatenate([np.zeros(p), -np.ones(k)])
                return np.vstack([np.hstack([-A, np.eye(k)]), np.hstack([A, np.eye(k)]), last])

        elif kind == "gap":

            def rule(v):
                gaps = self.gaps(v[:p])
                return np.concatenate([limit - gaps, limit + gaps])

            def rule_slope(v):
                A = self.gap_slopes(v[:p])
                A = np.hstack([A, np.zeros((k, len(v) - p))])
                return np.vstack([-A, A])

        else:

            def rule(v):
                return limit**2 - np.sum(self.gaps(v[:p]) ** 2)

            def rule_slope(v):
                slope = -2 * self.gaps(v[:p]) @ self.gap_slopes(v[:p])
                return np.concatenate([slope, np.zeros(len(v) - p)])[None]

        extra = np.full(k if kind == "smd" else 0, limit / k)
        found = minimize(
            lambda v: self.objective(v[:p]),
            np.concatenate([start, extra]),
            jac=lambda v: np.concatenate([self.slope(v[:p]), np.zeros(len(extra))]),
            constraints=[{"type": "ineq", "fun": rule, "jac": rule_slope}],
            method="SLSQP",
            options={"maxiter": 2000, "ftol": 1e-15},
        )
        violated = max(0.0, -np.min(rule(found.x)))
        return found.fun if violated <= 1e-7 * max(limit, 1e-3) else np.inf


def value_of(oracle, function, Z, X):
    """Objective and gaps of a fitted function, and (θ, b)."""
    if len(function.coef) == Z.shape[1] and Z is X:
        v = np.append(function.coef[:, 0], constant(function))
    else:
        v = np.append(Z.T @ function.coef[:, 0], function.intercept[0])
    np.testing.assert_allclose(oracle.Z @ v, function.predict(X), atol=1e-8)
    return oracle.objective(v), oracle.gaps(v), v


def check(loss, kernel, seed, on_response, kinds=KINDS):
    X, y, s = make_problem(loss, seed)
    rng = np.random.default_rng(seed + 1000)
    alpha = 10 ** rng.uniform(-1, 0.5)
    scale = "response" if on_response else "score"
    options = {"gamma": 0.1} if kernel == "rbf" else {}
    model = fitted(
        loss, X, y, s, alpha=alpha, kernel=kernel, constraint=MeanParity(scale=scale), **options
    )
    tradeoff, Z = model.tradeoff_, features_of(X, kernel)
    oracle = Oracle(loss, Z, y, s, alpha, on_response)
    free, free_gaps, at_free = value_of(oracle, tradeoff.at(1.0), Z, X)
    parity, _, at_parity = value_of(oracle, tradeoff.at(0.0), Z, X)
    finders = {"gap": tradeoff.for_gap, "smd": tradeoff.for_smd, "norm": tradeoff.for_norm}
    for kind in kinds:
        limit = rng.uniform(0.1, 0.9) * sizes(free_gaps)[kind]
        found, gaps, _ = value_of(oracle, finders[kind](limit), Z, X)
        assert sizes(gaps)[kind] <= limit * (1 + 1e-7)
        starts = [at_parity, (at_parity + at_free) / 2]
        if on_response:
            starts += [at_parity + 0.3 * rng.standard_normal(len(at_parity)) for _ in range(4)]
        with np.errstate(over="ignore", invalid="ignore"):  # some starts lead nowhere
            best = min(oracle.least(kind, limit, start) for start in starts)
        assert np.isfinite(best)
        assert found - free <= (best - free) * (1 + 1e-5) + 1e-9 * (parity - free), (kind, limit)


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 17))]
)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("loss", ["poisson", "logistic", "gamma"])
def test_budgets_of_scores_are_those_of_a_general_solver(loss, kernel, seed):
    check(loss, kernel, seed, on_response=False)


def few_columns(loss, how, seed):
    """A problem of two or four columns, with more conditions than that, and its gaps."""
    rng = np.random.default_rng(seed)
    k, d = (8, 4) if how == "plain" else (4, 2 + 2 * (seed % 2))
    n = 90
    s = np.concatenate([np.arange(k), np.arange(k), rng.integers(0, k, n - 2 * k)])
    strata = np.concatenate([np.zeros(k), np.ones(k), rng.integers(0, 2, n - 2 * k)])
    X = rng.standard_normal((n, d))
    X[:, 1] += rng.standard_normal(k)[s]
    score = 0.4 * (X[:, 0] + rng.standard_normal(k)[s] + rng.standard_normal(n))
    draw = {
        "poisson": lambda: rng.poisson(np.exp(score)).astype(float),
        "gamma": lambda: rng.gamma(2.0, np.exp(score) / 2) + 1e-3,
        "logistic": lambda: (score > 0).astype(float),
        "huber": lambda: score,
    }
    people, weights = {"sensitive_features": s}, np.ones(n)
    if "weights" in how:
        weights = people["sample_weight"] = rng.uniform(0.3, 3.0, n)
    if "strata" in how:
        people["control_features"] = strata
    P = []
    for level in np.unique(strata) if "strata" in how else [None]:
        whole = weights * (strata == level) if level is not None else weights
        for group in range(k):
            mine = whole * (s == group)
            P.append(mine / mine.sum() - whole / whole.sum())
    return X, draw[loss](), s, people, weights, np.array(P)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("how", ["plain", "weights, strata"])
@pytest.mark.parametrize("loss", ["poisson", "logistic", "gamma", "huber"])
def test_more_conditions_than_columns(loss, how, seed):
    """The gaps can then have some values only, and the function is the best among these."""
    X, y, s, people, weights, P = few_columns(loss, how, seed)
    make = ParityKernelClassifier if loss == "logistic" else ParityKernelRegressor
    constraint = MeanParity(min_group_size=0)
    options = {"loss": loss, "alpha": 0.5, "constraint": constraint}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # only a constant has parity
        model = make(**options).fit(X, y, **people)
    assert model.n_conditions_ > X.shape[1]
    tradeoff = model.tradeoff_
    oracle = Oracle(loss, X, y, s, 0.5, False, P, weights)
    free, free_gaps, at_free = value_of(oracle, tradeoff.at(1.0), X, X)
    at_parity = value_of(oracle, tradeoff.at(0.0), X, X)[2]
    finders = {"gap": tradeoff.for_gap, "smd": tradeoff.for_smd, "norm": tradeoff.for_norm}
    for kind in KINDS:
        for share in (0.1, 0.4, 0.9):
            limit = share * sizes(free_gaps)[kind]
            found, gaps, _ = value_of(oracle, finders[kind](limit), X, X)
            assert sizes(gaps)[kind] <= limit * (1 + 1e-9), (kind, share)
            starts = (at_parity, at_parity + share * (at_free - at_parity))
            best = min(oracle.least(kind, limit, start) for start in starts)
            assert found - free == pytest.approx(best - free, rel=1e-5), (kind, share)
    limit = 0.4 * sizes(free_gaps)["gap"]
    own = make(**options, max_gap=limit).fit(X, y, **people)
    assert max(map(abs, own.gaps_.values())) <= limit * (1 + 1e-9)
    allowed = 0.01 * abs(free)
    for kind in KINDS:
        function = tradeoff.for_loss_increase(0.01, kind)
        value, gaps, _ = value_of(oracle, function, X, X)
        assert value - free <= allowed * (1 + 1e-9)
        if function.unfairness is None:
            best = oracle.least(kind, sizes(gaps)[kind], at_parity)
            assert best - free == pytest.approx(allowed, rel=1e-5)


@pytest.mark.filterwarnings("ignore:No function of this space")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_targets_that_cannot_all_be_met(kind, seed):
    """Gaps of errors, of which two columns cannot close five."""
    rng = np.random.default_rng(seed)
    n, k = 150, 6
    s = rng.integers(0, k, n)
    X = rng.standard_normal((n, 2))
    X[:, 0] += s
    y = (s % 3) * 1.5 + X[:, 1] + rng.standard_normal(n)
    model = ParityKernelRegressor(loss="huber", alpha=5.0, constraint=ResidualParity())
    tradeoff = model.fit(X, y, sensitive_features=s).tradeoff_
    oracle = Oracle("huber", X, y, s, 5.0, False, errors=True)
    free, gaps, at_free = value_of(oracle, tradeoff.at(1.0), X, X)
    at_parity = value_of(oracle, tradeoff.at(0.0), X, X)[2]
    find = {"gap": tradeoff.for_gap, "smd": tradeoff.for_smd, "norm": tradeoff.for_norm}[kind]
    everything = tradeoff.for_loss_increase(1e3, kind)
    at_most, smallest, _ = value_of(oracle, everything, X, X)
    least, most = sizes(smallest)[kind], sizes(gaps)[kind]
    assert least < most
    frontier = tradeoff.training_frontier(kind)
    assert frontier.limit[[0, -1]] == pytest.approx([least, most], rel=1e-8)
    for share in (0.2, 0.7):
        limit = least + share * (most - least)
        found, left, _ = value_of(oracle, find(limit), X, X)
        assert sizes(left)[kind] <= limit * (1 + 1e-9)
        best = min(oracle.least(kind, limit, start) for start in (at_parity, at_free))
        assert found - free == pytest.approx(best - free, rel=1e-5)
        back = tradeoff.for_loss_increase((found - free) / free, kind)
        np.testing.assert_allclose(back.predict(X), find(limit).predict(X), atol=1e-5)
    for share in (1e-4, 0.01, 0.05):
        value, _, _ = value_of(oracle, tradeoff.for_loss_increase(share, kind), X, X)
        allowed = min(share * free, at_most - free)
        assert allowed * (1 - 1e-6) <= value - free <= allowed * (1 + 1e-9)
    with pytest.raises(UnreachableError, match=f"{SIZES[kind]} is {least:.4g}. Allow more"):
        find(0.9 * least)
    with pytest.raises(UnreachableError, match=f"{SIZES[kind]} is {least:.4g}. Allow more"):
        find(0.0)


def test_a_minimisation_that_misses_its_limit_is_refused(monkeypatch):
    X, y, s = make_problem("poisson", 3)
    tradeoff = fitted("poisson", X, y, s).tradeoff_
    place = ColumnFunctions.with_inner_products
    monkeypatch.setattr(
        ColumnFunctions, "with_inner_products", lambda self, tau: place(self, 1.1 * tau)
    )
    limit = 0.5 * np.abs(tradeoff.solution.gaps[1]).max()
    for find in (tradeoff.for_gap, tradeoff.for_norm):
        with pytest.raises(ValueError, match=f"The minimisation left gaps of .* is {limit:.6g}"):
            find(limit)


def test_a_pool_that_repeats_the_training_rows_changes_nothing():
    X, y, s = make_problem("poisson", 3)
    options = {"kernel": "rbf", "gamma": 0.1, "constraint": MeanParity(min_group_size=0)}
    model = ParityKernelRegressor(loss="poisson", **options)
    alone = model.fit(X, y, sensitive_features=s).tradeoff_
    limit = 0.4 * np.abs(alone.solution.gaps[1]).max()
    alone = alone.for_gap(limit).predict(X)
    twice = model.fit(X, y, sensitive_features=s, pool=(X, s)).tradeoff_.for_gap(limit)
    np.testing.assert_allclose(twice.predict(X), alone, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("loss", ["poisson", "logistic", "gamma"])
def test_budgets_of_responses_are_no_worse_than_a_general_solver_from_many_starts(loss, seed):
    check(loss, "linear", 50 + seed, on_response=True)


@pytest.mark.parametrize("loss", ["huber", "smooth_l1", "epsilon_insensitive", Quantile(0.8)])
@pytest.mark.parametrize("kind", KINDS)
def test_losses_without_curvature_are_within_their_budget_and_beat_the_dial(loss, kind):
    X, y, s = make_problem("squared", 3)
    tradeoff = fitted(loss, X, y, s, alpha=1.0).tradeoff_
    gaps, objective = contrasts(s), Oracle(loss, X, y, s, 1.0, False).objective
    find = {"gap": tradeoff.for_gap, "smd": tradeoff.for_smd, "norm": tradeoff.for_norm}[kind]
    largest = sizes(gaps @ tradeoff.at(1.0).predict(X))[kind]
    for share in (0.2, 0.7):
        function = find(share * largest)
        assert sizes(gaps @ function.predict(X))[kind] <= share * largest * (1 + 1e-6)
        on_dial, _ = (
            objective(np.append(f.coef[:, 0], f.intercept[0] - f.coef[:, 0] @ origin(f)))
            for f in (tradeoff.at(share), function)
        )
        mine = objective(np.append(function.coef[:, 0], constant(function)))
        assert mine <= on_dial * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_quantiles_are_within_half_a_percent_of_a_quadratic_programme(seed):
    rng = np.random.default_rng(seed)
    n, k, d = 60, 4, 4
    s = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    X = rng.standard_normal((n, d))
    X[:, 1] += rng.standard_normal(k)[s]
    y = X[:, 0] + rng.standard_normal(k)[s] + rng.standard_normal(n)
    tradeoff = fitted(Quantile(0.8), X, y, s, constraint=MeanParity(min_group_size=0)).tradeoff_
    oracle = Oracle(Quantile(0.8), X, y, s, 1.0, False)
    free, gaps, _ = value_of(oracle, tradeoff.at(1.0), X, X)
    limit = 0.4 * np.abs(gaps).max()
    found, gaps, v = value_of(oracle, tradeoff.for_gap(limit), X, X)
    assert np.abs(gaps).max() <= limit * (1 + 1e-9)
    F, A = oracle.Z, oracle.P @ oracle.Z  # the loss of each row as an unknown of its own
    rules = np.vstack(
        [
            np.hstack([0.8 * F, np.eye(n)]),
            np.hstack([-0.2 * F, np.eye(n)]),
            np.hstack([A, np.zeros((k, n))]),
            np.hstack([-A, np.zeros((k, n))]),
        ]
    )
    rest = np.concatenate([-0.8 * y, 0.2 * y, np.full(2 * k, limit)])
    best = minimize(
        lambda z: z[:d] @ z[:d] + z[d + 1 :].sum(),
        np.concatenate([v, Quantile(0.8).value(y, F @ v) + 1e-3]),
        jac=lambda z: np.concatenate([2 * z[:d], [0.0], np.ones(n)]),
        constraints=[{"type": "ineq", "fun": lambda z: rest + rules @ z, "jac": lambda z: rules}],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert best.success
    optimum = oracle.objective(best.x[: d + 1])
    assert found - free <= (optimum - free) * (1 + 5e-3)


def origin(function):
    """Where the columns of a linear function have their zero."""
    return function.basis.functions.origin


def constant(function):
    return function.intercept[0] - function.coef[:, 0] @ origin(function)


@pytest.mark.parametrize("solver", ["newton", LBFGS(), Nystrom(60)])
@pytest.mark.parametrize("how", ["plain", "weights", "pool", "strata"])
@pytest.mark.parametrize("scale", ["score", "response"])
def test_every_solver_and_notion_gives_the_same_answer(solver, how, scale):
    X, y, s = make_problem("poisson", 4)
    rng = np.random.default_rng(0)
    people = {"sensitive_features": s}
    if how == "weights":
        people["sample_weight"] = rng.uniform(0.5, 2, len(y))
    elif how == "pool":
        people["pool"] = X[::3] + 0.1, s[::3]
    elif how == "strata":
        s = s % 3
        people |= {"sensitive_features": s, "control_features": rng.integers(0, 2, len(y))}
    options = {"loss": "poisson", "kernel": "rbf", "gamma": 0.1, "alpha": 0.5}
    constraint = MeanParity(scale=scale, min_group_size=0)
    other = "newton"
    if solver == "newton":  # functions of pool rows are not among those of the training rows
        other = LBFGS() if how == "pool" else Nystrom(len(y))
    models = [
        ParityKernelRegressor(solver=which, constraint=constraint, **options).fit(X, y, **people)
        for which in (solver, other)
    ]
    limit = 0.5 * np.abs(models[0].tradeoff_.solution.gaps[1]).max()
    first, second = (model.tradeoff_.for_gap(limit).predict(X) for model in models)
    if isinstance(solver, Nystrom):  # 60 landmarks approximate: only the limit is exact
        value = np.exp(first) if scale == "response" else first
        if how == "plain":
            assert np.abs(contrasts(s) @ value).max() <= limit * (1 + 1e-7)
        assert np.corrcoef(first, second)[0, 1] > 0.9
    else:
        np.testing.assert_allclose(first, second, atol=2e-4 * np.ptp(first))


def test_a_limit_in_fit_reports_the_gaps_of_its_model():
    X, y, s = make_problem("poisson", 5)
    pool = X[:30] + 0.1, s[:30]
    for scale in ("score", "response"):
        constraint = MeanParity(scale=scale, min_group_size=0)
        model = ParityKernelRegressor(
            loss="poisson", kernel="rbf", gamma=0.1, max_gap=0.05, constraint=constraint
        )
        model.fit(X, y, sensitive_features=s, pool=pool)
        assert model.unfairness_ is None
        for rows, groups, gaps, means in (
            (X, s, model.gaps_, model.group_means_),
            (*pool, model.pool_gaps_, model.pool_group_means_),
        ):
            values = model.predict(rows) if scale == "response" else model.predict_score(rows)
            found = contrasts(groups) @ values
            assert np.abs(found).max() <= 0.05 * (1 + 1e-7)
            assert list(gaps.values()) == pytest.approx(found, abs=1e-9)
            mean = [values[groups == g].mean() for g in np.unique(groups)]
            assert list(means.values()) == pytest.approx(mean, abs=1e-9)


def test_a_limit_for_each_group_and_one_for_the_loss():
    X, y, s = make_problem("gamma", 6)
    tradeoff = fitted("gamma", X, y, s, alpha=0.5).tradeoff_
    gaps = contrasts(s) @ tradeoff.at(1.0).predict(X)
    names = list(tradeoff.labels[0])
    worst = int(np.abs(gaps).argmax())
    limits = {name: float("inf") for name in names} | {names[worst]: abs(gaps[worst]) / 2}
    found = contrasts(s) @ tradeoff.for_gap(limits).predict(X)
    assert abs(found[worst]) == pytest.approx(abs(gaps[worst]) / 2)
    oracle = Oracle("gamma", X, y, s, 0.5, False)
    free, _, _ = value_of(oracle, tradeoff.at(1.0), X, X)
    for kind in KINDS:
        function = tradeoff.for_loss_increase(0.001, budget=kind)
        value, left, _ = value_of(oracle, function, X, X)
        assert value == pytest.approx(free + 0.001 * abs(free), rel=1e-9)
        again = {"gap": tradeoff.for_gap, "smd": tradeoff.for_smd, "norm": tradeoff.for_norm}[kind]
        np.testing.assert_allclose(
            again(sizes(left)[kind]).predict(X), function.predict(X), atol=1e-5
        )


def test_ends_are_those_of_the_dial():
    X, y, s = make_problem("poisson", 7)
    tradeoff = fitted("poisson", X, y, s).tradeoff_
    for find in (tradeoff.for_gap, tradeoff.for_smd, tradeoff.for_norm):
        assert find(0.0).unfairness == 0.0
        assert find(1e6).unfairness == 1.0
    assert tradeoff.for_loss_increase(0.0).unfairness == 1.0
    assert tradeoff.for_loss_increase(1e6).unfairness == 0.0
    for wrong in (-1.0, float("nan"), "much"):
        with pytest.raises(ValueError, match="not a finite number of 0 or more"):
            tradeoff.for_gap(wrong)


@pytest.mark.filterwarnings("ignore:No function of this space")
@pytest.mark.parametrize("sign", [1, -1])
def test_targets_out_of_reach(sign):
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((60, 2)), np.repeat(np.arange(6), 10)
    y = X[:, 0] + 0.3 * rng.standard_normal(60) + sign * (s == 2)
    model = ParityKernelRegressor(loss="huber", constraint=ResidualParity())
    tradeoff = model.fit(X, y, sensitive_features=s).tradeoff_
    with pytest.raises(UnreachableError, match=r"smallest possible largest gap is 0\.\d+\. Allow"):
        tradeoff.for_gap(0.0)


def test_searches_begin_at_the_free_fit(monkeypatch):
    X, y, s = make_problem("poisson", 3)
    tradeoff, taken, free = fitted("poisson", X, y, s).tradeoff_, [], Minimisation.free
    assert tradeoff.solution.runs[1].n_iter > 1

    def noted(self, earlier):
        found = free(self, earlier)
        taken.append(found.run.n_iter)
        return found

    monkeypatch.setattr(Minimisation, "free", noted)
    tradeoff.for_gap(0.01)
    assert len(taken) == 1
    assert taken[0] <= 1


def test_a_model_file_has_the_dial_only(tmp_path):
    X, y, s = make_problem("poisson", 8)
    model = fitted("poisson", X, y, s)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(
        loaded.tradeoff_.at(0.5).predict(X), model.tradeoff_.at(0.5).predict(X)
    )
    with pytest.raises(ValueError, match="does not have the problem and the solver"):
        loaded.tradeoff_.for_gap(0.01)


def test_quantiles_without_a_penalty_have_the_dial_only():
    X, y, s = make_problem("squared", 9)
    tradeoff = fitted(Quantile(0.5), X, y, s, alpha=0.0).tradeoff_
    with pytest.raises(ValueError, match="Pass a positive alpha"):
        tradeoff.for_gap(0.01)


@pytest.mark.parametrize("scale", ["score", "response"])
def test_frontiers_are_the_functions_within_their_limits(scale):
    X, y, s = make_problem("logistic", 10)
    labels = np.where(y > 0, "yes", "no")
    tradeoff = fitted("logistic", X, labels, s, constraint=MeanParity(scale=scale)).tradeoff_
    here = tradeoff.training_frontier("smd")
    there = tradeoff.frontier(X, labels, s, "smd")
    for name in ("limit", "mse", "smd", "max_gap", "norm"):
        np.testing.assert_allclose(getattr(here, name), getattr(there, name), atol=1e-9)
    np.testing.assert_allclose(here.smd, here.limit, rtol=1e-6, atol=1e-10)
    chance = 1 / (1 + np.exp(-tradeoff.for_smd(here.limit[4]).predict(X)))
    assert here.mse[4] == pytest.approx(np.mean((y - chance) ** 2), rel=1e-6)
    with pytest.raises(ValueError, match=r"limits is empty\. Pass at least one number"):
        tradeoff.frontier(X, labels, s, "gap", [])
    few = tradeoff.training_frontier("gap", [0.01, 0.02])
    assert list(few.limit) == [0.01, 0.02]
