"""Limits on gaps that look at people who were not seen: pooling and confidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from sklearn.metrics.pairwise import rbf_kernel

from meanparity import (
    Dense,
    MeanParity,
    Nystrom,
    ParityAdjusted,
    ParityKernelRegressor,
    ParityKernelRidge,
    ParityRidge,
    ParityRidgeCV,
    ResidualParity,
)
from meanparity.datasets import load_adult, make_synthetic
from meanparity.estimators._unseen import UnseenGaps, _deal, _rounded_up, promised_function
from meanparity.tradeoff.tradeoff import WeightedGaps
from tests.constraints.test_own_constraints import MeansInRows

RNG = np.random.default_rng(0)
N = 240
S = np.array(["a", "b", "c", "d"])[RNG.choice(4, N, p=[0.55, 0.3, 0.1, 0.05])]
X = RNG.standard_normal((N, 12)) + 0.7 * (S == "b")[:, None] - 0.5 * (S == "d")[:, None]
Y = X[:, :5] @ [0.5, -0.4, 0.8, 0.0, 0.7] + (S == "c") + 0.5 * RNG.standard_normal(N)
Z, T = X[:90] + 0.2, S[:90]
MODELS = {
    "linear": ParityRidge(alpha=2.0),
    "rbf": ParityKernelRidge(kernel="rbf", gamma=0.1, alpha=0.5, fit_intercept=True),
    "nystrom": ParityKernelRidge(
        kernel="rbf", gamma=0.1, fit_intercept=True, solver=Nystrom(n_components=30)
    ),
}


def oracle(model, X, Y, s, ends):
    """Standard errors of the gaps and their degrees of freedom, fold by fold and row by row."""
    names, n = sorted(set(s)), len(Y)
    codes = np.searchsorted(names, s)
    model = model.__class__(**model.get_params(deep=False))
    model.set_params(constraint=MeanParity(min_group_size=0))
    folds = _deal(_Codes(codes))
    squares = np.zeros((2, len(names)))
    for fold in range(5):
        keep, out = folds != fold, np.flatnonzero(folds == fold)
        fitted = model.fit(X[keep], Y[keep], sensitive_features=s[keep])
        for end in (0, 1):
            f = fitted.tradeoff_.at(float(end))
            seen = f.predict(X[keep])
            for i in out:
                mine = codes[keep] == codes[i]
                centre = seen[mine].mean() if mine.any() else seen.mean()
                square = (f.predict(X[i : i + 1])[0] - centre) ** 2
                m = mine.sum()
                squares[end, codes[i]] += square * (m / (m + 1) if m else 1)
    counts = np.bincount(codes)
    typical = np.exp(np.log(squares / counts) @ np.sqrt(counts) / np.sqrt(counts).sum())
    variance = ((squares + 2 * typical[:, None]) / (counts + 2))[:ends].max(axis=0)
    errors, freedom = [], []
    for j in range(len(names)):
        weight = (codes == j) / counts[j] - 1 / n
        of_rows = weight**2 * variance[codes]
        errors.append(np.sqrt(np.sum(of_rows)))
        of_cells = np.bincount(codes, of_rows)
        freedom.append(of_cells.sum() ** 2 / np.sum(of_cells**2 / (counts + 1)))
    return np.array(errors), np.array(freedom)


def drift(model, constraint, X, Y, s, weights=None, pool=None):
    """How far gaps on left-out rows are from those on rows of fit: of X, or of a pool."""
    Y = Y.reshape(N, -1)
    model = model.__class__(**model.get_params(deep=False)).set_params(constraint=constraint)
    folds, people = _deal(_Codes(np.unique(s, return_inverse=True)[1])), {}
    points, groups, mass = X, s, np.ones(N) if weights is None else weights
    if pool is not None:
        points, groups = pool
        mass, of_pool = (
            np.ones(len(groups)),
            _deal(_Codes(np.unique(groups, return_inverse=True)[1])),
        )
    seen, unseen = (np.zeros((2, len(points), Y.shape[1])) for _ in range(2))
    for fold in range(5):
        keep, left = folds != fold, folds == fold
        if pool is not None:
            left = of_pool == fold
            people = {"pool": (points[~left], groups[~left])}
        if weights is not None:
            people = {"sample_weight": weights[keep]}
        fitted = model.fit(X[keep], Y[keep], sensitive_features=s[keep], **people)
        for end in (0, 1):
            f = fitted.tradeoff_.at(float(end)).predict(points).reshape(len(points), -1)
            unseen[end][left] = f[left]
            seen[end][~left] += f[~left] / 4
    found = []
    for g in np.unique(groups):
        gap = (groups == g) * mass / mass[groups == g].sum() - mass / mass.sum()
        found.append(np.abs(np.einsum("i,eim->em", gap, unseen - seen)).max(axis=0))
    return np.array(found)


class _Codes:
    def __init__(self, codes):
        self.codes = codes


@pytest.mark.parametrize("name", ["linear", "rbf"])
def test_standard_errors_are_those_of_fits_without_a_fifth_of_the_rows(name):
    model = MODELS[name]
    fitted = type(model)(**model.get_params(deep=False)).set_params(
        constraint=MeanParity(pooling="auto")
    )
    fitted.fit(X, Y, sensitive_features=S)
    limits = fitted.gap_limits_
    expected, _ = oracle(model, X, Y, S, ends=1)
    np.testing.assert_allclose(limits.standard_errors[:, 0], expected, rtol=1e-8)
    gaps = fitted.tradeoff_.solution.gaps[1][:, 0]
    tau = np.mean(gaps**2 - expected**2)
    assert tau > 0
    allowed = 0.3**2 * np.sum(expected**3 / (expected**2 + tau))  # Σ q²/s of q = s²/√(s² + τ²)
    np.testing.assert_allclose(limits.limits[:, 0], np.sqrt(allowed * expected), rtol=1e-8)
    found = np.array(list(fitted.gaps_.values()))
    assert np.sum(found**2 / expected) == pytest.approx(allowed, rel=1e-8)
    best = penalised(name, expected, allowed)
    np.testing.assert_allclose(fitted.predict(X), best, atol=1e-6)


def penalised(name, errors, allowed):
    """The fit with a penalty μ Σ gap²/s, whose μ leaves just so much: values on all rows."""
    P = np.stack([np.equal(S, g) / np.sum(np.equal(S, g)) for g in np.unique(S)]) - 1 / N
    centre = np.eye(N) - 1 / N
    if name == "linear":
        F, ridge = centre @ X, 2.0 * np.eye(X.shape[1])
    else:
        K = rbf_kernel(X, gamma=0.1)
        F, ridge = np.column_stack([K, np.ones(N)]), np.pad(0.5 * K, (0, 1))
    y = Y - Y.mean() if name == "linear" else Y

    def values(log):
        G = P @ F
        hessian = F.T @ F + ridge + np.exp(log) * G.T @ (G / errors[:, None])
        return F @ np.linalg.lstsq(hessian, F.T @ y, rcond=1e-15)[0]

    def beyond(log):
        return np.sum((P @ values(log)) ** 2 / errors) - allowed

    found = values(brentq(beyond, -10, 20, xtol=1e-12))
    return found + Y.mean() if name == "linear" else found


def test_rows_of_a_cell_are_dealt_evenly():
    codes = np.repeat([0, 1, 2], [100, 7, 1])
    folds = _deal(_Codes(codes))
    for cell, least in ((0, 20), (1, 1), (2, 0)):
        counts = np.bincount(folds[codes == cell], minlength=5)
        assert counts.min() == least
        assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("how", ["plain", "pool", "strata", "weights", "outputs", "residuals"])
def test_pooled_gaps_stay_within_their_limits(name, how):
    kind = ResidualParity if how == "residuals" else MeanParity
    constraint = kind(pooling=1.0, min_group_size=0)
    model = type(MODELS[name])(**MODELS[name].get_params(deep=False))
    y, people = Y, {"sensitive_features": S}
    if how == "pool":
        people["pool"] = Z, T
    elif how == "strata":
        people["control_features"] = (X[:, 1] > 0).astype(int)
    elif how == "weights":
        people["sample_weight"] = RNG.uniform(0.2, 3, N)
    elif how == "outputs":
        y = np.column_stack([Y, np.exp(Y / 3)])
    model.set_params(constraint=constraint).fit(X, y, **people)
    limits = model.gap_limits_
    assert limits.limits.shape == (len(limits.labels), 2 if how == "outputs" else 1)
    found = [np.ravel(v) for v in (*model.gaps_.values(), *(model.pool_gaps_ or {}).values())]
    assert (np.abs(np.array(found)) <= limits.limits * (1 + 1e-7) + 1e-12).all()
    assert (limits.limits > 0).all()
    exact = type(model)(**model.get_params(deep=False))
    exact.set_params(constraint=kind(min_group_size=0)).fit(X, y, **people)
    errors = [np.mean((y - m.predict(X)) ** 2) for m in (exact, model)]
    assert errors[1] < errors[0]
    assert not hasattr(exact, "gap_limits_")
    assert len(limits.to_frame()) == limits.limits.size
    assert "s² / √(s² + τ²)" in str(limits)


def test_a_stronger_setting_leaves_larger_gaps():
    gaps = []
    for pooling in (1e-6, 0.2, 2.0, 1e6):
        model = ParityRidge(constraint=MeanParity(pooling=pooling))
        gaps.append(max(map(abs, model.fit(X, Y, sensitive_features=S).gaps_.values())))
    assert gaps[0] < 1e-6 < gaps[1] < gaps[2] < gaps[3]
    free = model.tradeoff_.at(1.0).predict(X)
    np.testing.assert_allclose(model.predict(X), free)


def test_combinations_keep_the_gaps_of_each_column_small():
    rng = np.random.default_rng(1)
    n = 400
    first, second = rng.choice(["f", "m"], n), rng.choice(list("rstuvwxy"), n)
    X = rng.standard_normal((n, 30))
    X[:, 0] += first == "f"
    y = X[:, 0] + rng.standard_normal(n)
    columns = np.column_stack([first, second])
    model = ParityRidge(constraint=MeanParity(pooling=3.0, min_group_size=0))
    predicted = model.fit(X, y, sensitive_features=columns).predict(X)
    apart = abs(predicted[first == "f"].mean() - predicted.mean())
    limits, groups = model.gap_limits_, len(model.gaps_)
    assert limits.labels[groups : groups + 2] == ("sensitive0=f", "sensitive0=m")
    assert apart <= limits.limits[groups, 0]
    errors = limits.standard_errors[:groups, 0]
    gaps = np.array(list(model.gaps_.values()))
    size = np.sqrt(np.sum(gaps**2 / errors))  # as much, without the columns
    budget = WeightedGaps(np.diag(1 / np.sqrt(errors))[None], np.array([size]))
    within = model.tradeoff_.within_weighted(budget).predict(X)
    without = abs(within[first == "f"].mean() - within.mean())
    assert apart < 0.99 * without, "gaps of the columns alone"
    # gaps of a column are weighted means of those of its combinations
    column = predicted[second == "r"].mean() - predicted.mean()
    mine = np.array([label.endswith("=r") for label in model.gaps_])
    counts = [np.sum((second == "r") & (first == v)) for v in ("f", "m")]
    assert np.average(gaps[mine], weights=counts) == pytest.approx(column)
    assert abs(column) <= limits.limits[limits.labels.index("sensitive1=r"), 0]


def test_other_losses_pool_too():
    y = np.random.default_rng(3).poisson(np.exp(0.4 * Y)).astype(float)
    for scale in ("score", "response"):
        constraint = MeanParity(pooling="auto", scale=scale, min_group_size=0)
        model = ParityKernelRegressor(loss="poisson", alpha=0.5, constraint=constraint)
        model.fit(X, y, sensitive_features=S)
        found = np.array(list(model.gaps_.values()))
        limits = model.gap_limits_
        errors = limits.standard_errors[:, 0]
        assert (np.abs(found) <= limits.limits[:, 0] * (1 + 1e-6)).all()
        assert np.sum(found**2 / errors) == pytest.approx(
            limits.limits[0, 0] ** 2 / errors[0], rel=1e-6
        )


# confidence


def test_limits_in_fit_are_smaller_by_the_margin():
    model = ParityRidge(alpha=2.0, max_gap=1.6, confidence=0.9).fit(X, Y, sensitive_features=S)
    errors, freedom = oracle(MODELS["linear"], X, Y, S, ends=2)
    limits = model.gap_limits_
    np.testing.assert_allclose(limits.standard_errors[:, 0], errors, rtol=1e-8)
    p = np.unique(S, return_counts=True)[1] / N
    odds = p / (1 - p)  # what random shares of the groups add
    shares = 1.6**2 * np.minimum(odds, 1 / odds) / N
    margins = drift(MODELS["linear"], MeanParity(min_group_size=0), X, Y, S)[:, 0]
    margins = margins + stats.t.ppf(1 - 0.1 / 8, freedom) * np.sqrt(errors**2 + shares)
    np.testing.assert_allclose(limits.limits[:, 0], 1.6 - margins, rtol=1e-8)
    assert np.abs(list(model.gaps_.values())).max() <= limits.limits.max()
    assert "90% confidence" in str(limits)
    fewer = ParityRidge(alpha=2.0, max_gap=1.6, confidence=0.8).fit(X, Y, sensitive_features=S)
    assert (fewer.gap_limits_.limits > limits.limits).all()


@pytest.mark.parametrize("name", ["linear", "rbf"])
@pytest.mark.parametrize("how", ["plain", "weights", "outputs", "rows", "pool"])
@pytest.mark.filterwarnings("ignore:The unconstrained fit meets max_gap already")
def test_drift_is_what_gaps_of_left_out_rows_are_off_those_of_the_fits(name, how, monkeypatch):
    constraint = MeansInRows() if how == "rows" else MeanParity(min_group_size=0)
    people, pool, y = {}, None, Y
    if how in ("weights", "rows"):
        people["sample_weight"] = RNG.uniform(0.2, 3, N)
    elif how == "outputs":
        y = np.column_stack([Y, np.exp(Y / 3)])
    elif how == "pool":
        constraint, pool = MeanParity(min_group_size=0, parity_on="pool"), (Z, T)
        people["pool"] = pool
    found = []

    def promised(max_gap, confidence, parts, tradeoff, unseen):
        found.append(unseen.gaps(*parts, any_function=True))
        return promised_function(max_gap, confidence, parts, tradeoff, unseen)

    monkeypatch.setattr("meanparity.estimators._base.promised_function", promised)
    model = type(MODELS[name])(**MODELS[name].get_params(deep=False))
    model.set_params(constraint=constraint, max_gap=30.0, confidence=0.1)
    model.fit(X, y, sensitive_features=S, **people)
    expected = drift(MODELS[name], constraint, X, y, S, people.get("sample_weight"), pool)
    assert expected.min() > 1e-4
    np.testing.assert_allclose(found[0].drift, expected, rtol=1e-6)


@pytest.mark.parametrize("chance", [0.0, 0.4])
def test_the_least_promise_is_just_as_large_as_its_margin(chance):
    table = np.array([[0.3], [0.0], [2.0]]), np.array([[0.2], [0.5], [0.0]])
    gaps = UnseenGaps(*table, np.full((3, 1), 9.0), chance * np.array([0.01, 0.02, 0.0]))
    least = gaps.least_promise(0.9)
    margins = gaps.margins(0.9, np.full(3, least))
    assert margins.max() == pytest.approx(least, rel=1e-12)
    unknown = replace(gaps, share=np.full(3, 10.0))
    assert unknown.least_promise(0.9) == np.inf


def test_a_promise_that_cannot_be_kept_says_what_could_be():
    model = ParityRidge(max_gap=0.05, confidence=0.95)
    with pytest.raises(ValueError, match=r"cannot be promised .* merge small groups") as error:
        model.fit(X, Y, sensitive_features=S)
    least = float(str(error.value).split("at least ")[1].split(",")[0])
    with pytest.raises(ValueError, match="cannot be promised"):
        model.set_params(max_gap=least * 0.97).fit(X, Y, sensitive_features=S)
    model.set_params(max_gap=least).fit(X, Y, sensitive_features=S)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e7])
def test_advice_is_rounded_up(size):
    for number in size * np.random.default_rng(0).uniform(1, 10, 200):
        shown = float(_rounded_up(number))
        assert number <= shown <= 1.01 * number
        assert float(f"{shown:.3g}") == shown


def test_a_pool_promises_as_well():
    here = np.where(S == "a", "a", "other")
    pool = X[:150] + 0.1, here[:150]
    model = ParityRidge(max_gap=0.4, confidence=0.9, constraint=MeanParity(parity_on="pool"))
    model.fit(X, Y, sensitive_features=here, pool=pool)
    assert len(model.gap_limits_.labels) == 2
    both = ParityRidge(max_gap=0.4, confidence=0.9)
    both.fit(X, Y, sensitive_features=here, pool=pool)
    assert len(both.gap_limits_.labels) == 4
    found = np.array([*both.gaps_.values(), *both.pool_gaps_.values()])
    assert (np.abs(found) <= both.gap_limits_.limits[:, 0] + 1e-9).all()


def population(rng, k, n, skewed):
    """Features and groups, of which the smallest has 3% of the people."""
    shares = np.append(0.03, rng.dirichlet(np.full(k - 1, 5.0)) * 0.97)
    shares = np.maximum(shares, 0.03)
    s = rng.choice(k, n, p=shares / shares.sum())
    X = rng.standard_normal((n, 14))
    if skewed:
        X = (np.exp(X) - np.exp(0.5)) / 2.16
    X[:, :8] += rng.normal(0, 0.5, (k, 8))[s]
    return X, X @ rng.normal(0, 0.4, 14) + rng.standard_normal(n), s


def pair(rng, n):
    """Five features of two groups of one size, of which a kernel sees most."""
    s = rng.integers(0, 2, n)
    X = rng.standard_normal((n, 5))
    X[:, :2] += rng.normal(0, 0.5, (2, 2))[s]
    return X, X @ rng.normal(0, 0.4, 5) + rng.standard_normal(n), s


def is_kept(model, X, y, s, here, there):
    """Whether the smallest limit that can be promised, and 2% more, holds for other people."""
    model.set_params(max_gap=1e-9, confidence=0.95)
    with pytest.raises(ValueError, match="cannot be promised") as error:
        model.fit(X[here], y[here], sensitive_features=s[here])
    limit = 1.02 * float(str(error.value).split("at least ")[1].split(",")[0])
    model.set_params(max_gap=limit).fit(X[here], y[here], sensitive_features=s[here])
    f = model.predict(X[there])
    return max(abs(f[s[there] == g].mean() - f.mean()) for g in np.unique(s)) <= limit


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::meanparity.exceptions.ParityWarning")
@pytest.mark.parametrize("skewed", [True, False])
def test_promises_are_kept_in_simulated_populations(skewed):
    """1,000 populations, each with the smallest limit that can be promised there."""
    kept = []
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        k, n = int(rng.integers(2, 11)), int(rng.choice([300, 800]))
        X, y, s = population(rng, k, n + 20_000, skewed)
        if len(np.unique(s[:n])) == k:
            model = ParityRidge(constraint=MeanParity(min_group_size=0))
            kept.append(is_kept(model, X, y, s, slice(0, n), slice(n, None)))
    assert len(kept) > 950
    assert np.mean(kept) >= 0.95


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::meanparity.exceptions.ParityWarning")
@pytest.mark.parametrize("groups", ["two of one size", "small", "small, skewed"])
def test_kernels_keep_promises_too(groups):
    """200 populations for each: gaps that a kernel closes on its own rows reopen on others."""
    kept = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        if groups == "two of one size":
            k, n, gamma, alpha = 2, 300, 0.5, 0.1
            X, y, s = pair(rng, n + 5_000)
        else:
            k, n, gamma = int(rng.integers(2, 11)), 400, rng.choice([0.02, 0.1, 0.5])
            alpha = rng.choice([0.1, 1.0])
            X, y, s = population(rng, k, n + 5_000, skewed="skewed" in groups)
        if len(np.unique(s[:n])) == k:
            model = ParityKernelRidge(
                kernel="rbf",
                gamma=gamma,
                alpha=alpha,
                fit_intercept=True,
                constraint=MeanParity(min_group_size=0),
            )
            kept.append(is_kept(model, X, y, s, slice(0, n), slice(n, None)))
    assert len(kept) > 190
    assert np.mean(kept) >= 0.95


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::meanparity.exceptions.ParityWarning")
def test_kernels_keep_promises_on_adult():
    """40 draws of 1,000 rows, women and men, against 12,000 others."""
    adult = load_adult()
    features, sex = standardised(adult.data), adult.sensitive[:, 0]
    kept = []
    for seed in range(40):
        order = np.random.default_rng(seed).permutation(len(sex))
        model = ParityKernelRidge(kernel="rbf", gamma=0.02, fit_intercept=True)
        people = features, adult.target, sex
        kept.append(is_kept(model, *people, order[:1000], order[1000:13_000]))
    assert np.mean(kept) >= 0.95


def standardised(X):
    X = X.astype(float)
    large = np.abs(X).max(axis=0) > 50
    X[:, large] = np.log1p(X[:, large])
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::meanparity.exceptions.ParityWarning")
def test_pooling_costs_less_and_leaves_gaps_no_larger_on_people_not_seen():
    """Adult, sex × race, 1,000 rows, against everybody else: means over 20 draws."""
    adult = load_adult()
    sex, race = adult.sensitive.T
    features = np.column_stack([adult.data, sex == "Female", *(race == r for r in set(race))])
    features = standardised(features)
    groups = np.char.add(sex.astype(str), race.astype(str))
    sizes = {None: [], "auto": [], "price": []}
    for seed in range(20):
        order = np.random.default_rng(100 + seed).permutation(len(groups))
        here, there = order[:1000], order[1000:]
        errors = {}
        for pooling in (None, "auto"):
            model = ParityRidge(alpha=10.0, constraint=MeanParity(pooling=pooling))
            model.fit(features[here], adult.target[here], sensitive_features=adult.sensitive[here])
            f = model.predict(features[there])
            present = set(groups[here])
            gaps = [f[groups[there] == g].mean() - f.mean() for g in present]
            sizes[pooling].append(np.sqrt(np.mean(np.square(gaps))))
            errors[pooling] = np.mean((adult.target[there] - f) ** 2)
        free = model.tradeoff_.at(1.0).predict(features[there])
        errors["free"] = np.mean((adult.target[there] - free) ** 2)
        sizes["price"].append([errors["auto"] - errors["free"], errors[None] - errors["free"]])
    assert np.mean(sizes["auto"]) <= 1.02 * np.mean(sizes[None])
    pooled, exact = np.mean(sizes["price"], axis=0)
    assert pooled < 0.97 * exact


# what is refused


def test_settings_that_contradict_each_other():
    pooled = MeanParity(pooling="auto")
    with pytest.raises(ValueError, match=r"Both pooling='auto' of the constraint and max_gap=1"):
        ParityRidge(constraint=pooled, max_gap=1).fit(X, Y, sensitive_features=S)
    with pytest.raises(ValueError, match=r"and unfairness=0\.5 say how far"):
        ParityRidge(constraint=pooled, unfairness=0.5).fit(X, Y, sensitive_features=S)
    with pytest.raises(ValueError, match=r"confidence=0\.9 is about max_gap"):
        ParityRidge(confidence=0.9).fit(X, Y, sensitive_features=S)
    for wrong in (0, 1, 95, True, "high"):
        with pytest.raises(ValueError, match="is not between 0 and 1"):
            ParityRidge(max_gap=1, confidence=wrong).fit(X, Y, sensitive_features=S)
    for wrong in (0, -1, "some", True, float("inf")):
        with pytest.raises(ValueError, match="Pass None, 'auto' or a positive number"):
            ParityRidge(constraint=MeanParity(pooling=wrong)).fit(X, Y, sensitive_features=S)


def test_fits_that_have_no_rows_to_leave_out():
    pooled = MeanParity(pooling="auto")
    with pytest.raises(ValueError, match="pooling needs rows that are left out"):
        ParityRidge(constraint=pooled).partial_fit(X, Y, sensitive_features=S)
    with pytest.raises(ValueError, match="confidence needs rows that are left out"):
        ParityRidge(max_gap=1, confidence=0.9).partial_fit(X, Y, sensitive_features=S)
    with pytest.raises(ValueError, match="no closed form with pooling"):
        ParityRidgeCV(constraint=pooled).fit(X, Y, sensitive_features=S)
    with pytest.raises(ValueError, match="precomputed"):
        ParityKernelRidge(kernel="precomputed", constraint=pooled).fit(
            X @ X.T, Y, sensitive_features=S
        )
    with pytest.raises(ValueError, match="is not supported in a correction"):
        ParityAdjusted(ParityRidge(), correction=ParityRidge(constraint=pooled)).fit(
            X, Y, sensitive_features=S
        )
    alone = np.where(np.arange(N) == 7, "x", "y")
    with pytest.raises(ValueError, match="a fifth of the rows out at a time, and then: sens"):
        ParityRidge(constraint=MeanParity(pooling="auto", min_group_size=0)).fit(
            X, Y, sensitive_features=alone
        )


def test_folds_choose_with_pooling():
    pooled = MeanParity(pooling="auto", min_group_size=0)
    search = ParityRidgeCV(alphas=[0.1, 10.0], cv=3, constraint=pooled)
    search.fit(X, Y, sensitive_features=S)
    assert search.gap_limits_.limits.shape == (4, 1)


def test_an_earlier_fit_leaves_no_limits():
    model = ParityRidge(constraint=MeanParity(pooling="auto")).fit(X, Y, sensitive_features=S)
    model.set_params(constraint="mean_parity", solver=Dense()).fit(X, Y, sensitive_features=S)
    assert not hasattr(model, "gap_limits_")
    assert max(map(abs, model.gaps_.values())) < 1e-10


@pytest.mark.parametrize("scale", [1e80, 1e100])
@pytest.mark.parametrize(
    "asked",
    [{"max_gap": 0.3, "confidence": 0.9}, {"constraint": MeanParity(pooling="auto")}],
    ids=["promise", "pooling"],
)
def test_standard_errors_that_overflow_are_refused(scale, asked):
    """Limits that are not numbers were left out, and SciPy ended the process."""
    X, y, s = make_synthetic(60, random_state=0)
    with pytest.raises(ValueError, match=r"(errors of gaps|The fit) overflow"):
        ParityRidge(**asked).fit(X, scale * y, sensitive_features=s)


def test_no_limit_at_all_is_the_free_fit():
    X, y, s = make_synthetic(60, random_state=0)
    tradeoff = ParityRidge().fit(X, y, sensitive_features=s).tradeoff_
    step = tradeoff._budgets[0].within_limits(np.full(2, np.inf))
    np.testing.assert_array_equal(step, np.zeros_like(step))
