"""Parity on the people who get scored."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from meanparity import (
    CovarianceParity,
    LinearParity,
    MeanParity,
    ParityKernelRidge,
    ParityRidge,
    ParityWarning,
    Pool,
    ResidualParity,
)
from meanparity.kernels import Kernel
from meanparity.metrics import max_mean_gap, mean_parity_gap
from meanparity.solvers import Nystrom
from tests.problems import cases

MODELS = {
    "primal": ParityRidge(),
    "wide": ParityRidge(solver="dense"),
    "unpenalised": ParityRidge(alpha=0.0),
    "linear": ParityKernelRidge(solver="dense"),
    "rbf": ParityKernelRidge(kernel="rbf", gamma=0.3),
    "intercept": ParityKernelRidge(kernel="rbf", gamma=0.3, fit_intercept=True),
    "spectral": ParityKernelRidge(kernel="rbf", gamma=0.3, solver="spectral"),
    "interpolation": ParityKernelRidge(kernel="rbf", gamma=0.3, alpha=0.0),
    "sum": ParityKernelRidge(kernel=Kernel("rbf", columns=[0, 1]) + Kernel("linear", columns=[2])),
    "laplacian": ParityKernelRidge(kernel="laplacian"),
}


def gap(values, s):
    return mean_parity_gap(None, values, sensitive_features=s)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((90, 6)), rng.integers(0, 3, 90)
    X[:, 0] += s
    return X, X[:, 0] + np.sin(X[:, 1]) + 0.1 * rng.standard_normal(90), s


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("parity_on", ["train", "pool", "both"])
def test_parity_is_exact_where_it_is_asked_for(model, parity_on, data):
    X, y, s = data
    train, pool = slice(0, 60), slice(60, 90)
    model.set_params(constraint=MeanParity(parity_on=parity_on))
    model.fit(X[train], y[train], sensitive_features=s[train], pool=(X[pool], s[pool]))
    there, here = gap(model.predict(X[train]), s[train]), gap(model.predict(X[pool]), s[pool])
    assert (there <= 1e-10 * y.std()) == (parity_on != "pool")
    assert (here <= 1e-10 * y.std()) == (parity_on != "train")
    assert model.parity_residual_ <= 1e-10 * y.std()
    if parity_on != "train":
        means = [model.predict(X[pool])[s[pool] == g].mean() for g in range(3)]
        assert list(model.pool_group_means_) == [0, 1, 2]
        assert np.allclose(list(model.pool_group_means_.values()), means, rtol=0, atol=1e-12)
    else:
        assert model.pool_group_means_ is None
    free = model.tradeoff_.at(1.0).predict(X[train])
    plain = sklearn.clone(model).set_params(constraint=MeanParity(parity_on="both"))
    plain.fit(X[train], y[train], sensitive_features=s[train])
    tolerance = 1e-6 if model.alpha == 0 else 1e-10
    assert np.allclose(free, plain.tradeoff_.at(1.0).predict(X[train]), atol=tolerance)


@pytest.mark.filterwarnings(
    "ignore:Only a constant", "ignore:Parity on the pool moves", "ignore:A gap of"
)
@given(case=cases(), seed=st.integers(0, 99), alpha=st.sampled_from([1e-3, 1.0, 1e4]))
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_hostile_pools(kernel, case, seed, alpha):
    """Pools that share rows with the training set, of few rows, of dependent columns."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, len(case.y), rng.integers(4, 2 * len(case.y)))
    s = case.codes[rows]
    s[:2] = [0, 1]
    Z = case.X[rows] + rng.integers(0, 2) * 0.1 * np.std(case.X) * rng.standard_normal(
        (len(rows), case.X.shape[1])
    )
    size = np.mean(np.sum((case.X - case.X.mean(axis=0)) ** 2, axis=1))
    scale = size if kernel == "linear" else 1.0
    gamma = 1 / size if kernel == "rbf" else 1 / np.mean(np.sum(case.X**2, axis=1))
    model = ParityKernelRidge(kernel=kernel, gamma=gamma, alpha=alpha * scale, fit_intercept=True)
    model.fit(case.X, case.y, sensitive_features=case.codes, pool=(Z, s))
    for X, codes in ((case.X, case.codes), (Z, s)):  # exact, or the rounding that is reported
        largest = max_mean_gap(None, model.predict(X), sensitive_features=codes)
        assert largest <= max(2e-10 * case.y.std(), 3 * model.parity_residual_)
    assert model.parity_residual_ <= 1e-6 * case.y.std()


@pytest.mark.filterwarnings("ignore:A gap of")
@pytest.mark.parametrize("exponent", range(1, 13))
def test_a_pool_that_nearly_repeats_the_training_rows(exponent, data):
    """The difference of two conditions that are nearly the same is no condition of its own."""
    X, y, s = data
    rng = np.random.default_rng(exponent)
    Z = X + 10.0**-exponent * rng.standard_normal(X.shape)
    fit = {"sensitive_features": s, "pool": (Z, s)}
    primal = ParityRidge(solver="primal").fit(X, y, **fit)
    dense = ParityRidge(solver="dense").fit(X, y, **fit)
    # the inner products of nearly equal functions are known to rounding over their distance²
    apart = 10.0**-exponent / np.sqrt(len(X))
    tolerance = max(1e-9, 1e-14 / apart**2) if apart > 1e-6 else 1e-8
    assert np.allclose(primal.coef_, dense.coef_, rtol=0, atol=tolerance)
    for model in (primal, dense):
        # coefficients grow like one over the distance, and rounding with them
        assert gap(model.predict(X), s) <= max(1e-10, 1e-14 / max(apart, 1e-6)) * y.std()
        assert gap(model.predict(Z), s) <= (1e-9 if apart > 3e-6 else 1e-5) * y.std()
    if apart < 1e-7:
        alone = ParityRidge().fit(X, y, sensitive_features=s)
        assert np.allclose(alone.coef_, primal.coef_, rtol=0, atol=1e-6)


@pytest.mark.filterwarnings("ignore:A gap of")
@pytest.mark.parametrize("exponent", range(3, 13))
def test_a_pool_that_nearly_repeats_the_training_rows_costs_them_nothing(exponent, data):
    """Solvers of sums meet the conditions on the training rows first, to the last digits."""
    X, y, s = data
    rng = np.random.default_rng(exponent)
    Z = X + 10.0**-exponent * rng.standard_normal(X.shape)
    kernel = {"kernel": "rbf", "gamma": 0.1, "fit_intercept": True}
    for model in (
        ParityRidge(solver="nystrom"),
        ParityRidge(solver="primal"),
        ParityKernelRidge(solver=Nystrom(landmarks=X[:40]), **kernel),
    ):
        model.fit(X, y, sensitive_features=s, pool=(Z, s))
        assert gap(model.predict(X), s) <= 1e-14
        # the conditions on the pool lie 10^-exponent away, and are left out below 1e-6
        assert gap(model.predict(Z), s) <= (1e-13 if exponent <= 4 else min(1e-6, 10.0**-exponent))
        predicted = model.predict(Z)
        rounding = 8 * np.finfo(float).eps * np.abs(predicted).max()
        assert gap(predicted, s) <= max(3 * model.parity_residual_, rounding)


@pytest.mark.filterwarnings("ignore:Only a constant", "ignore:A gap of")
@pytest.mark.parametrize("size", [1.0, 100.0, 1e4])
def test_columns_of_unlike_size_and_more_conditions_than_columns(size):
    """Eight conditions on six columns leave a constant, also where inner products are rounded."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((180, 6)) * [size, 1, 1, 1, 1, 1]
    y = X[:100, 0] / size + X[:100, 1] + rng.standard_normal(100)
    s = rng.integers(0, 5, 180)
    for model in (
        ParityRidge(),
        ParityRidge(solver="spectral"),
        ParityKernelRidge(kernel=Kernel("linear", columns=range(6)), fit_intercept=True),
    ):
        model.fit(X[:100], y, sensitive_features=s[:100], pool=(X[100:], s[100:]))
        assert np.ptp(model.predict(X)) <= 1e-12 * size**2 * 100 * y.std()
        assert model.tradeoff_.objective(0.0) >= model.tradeoff_.objective(1.0)


def test_a_rounded_copy_of_the_training_rows(data):
    X, y, s = data
    alone = ParityRidge().fit(X, y, sensitive_features=s)
    for copied in (X.astype(np.float32), np.round(X, 10)):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A gap of", ParityWarning)
            both = ParityRidge().fit(X, y, sensitive_features=s, pool=(copied, s))
        assert np.allclose(both.coef_, alone.coef_, atol=1e-6)


@pytest.mark.filterwarnings("ignore:Parity on the pool moves")
def test_a_pool_far_away_is_pointed_out(data):
    """As one that did not go through the scaler that the training rows went through."""
    X, y, s = data
    with pytest.warns(ParityWarning, match="The pool is far from the training rows: column "):
        ParityRidge().fit(X, y, sensitive_features=s, pool=(X * 10 + 100, s))


def test_a_pool_of_two_people(data):
    X, y, s = data
    for model in (ParityRidge(), ParityKernelRidge(kernel="rbf", fit_intercept=True)):
        model.fit(X, y, sensitive_features=s, pool=(X[:2] + 0.5, ["a", "b"]))
        first, second = model.predict(X[:2] + 0.5)
        assert first == pytest.approx(second, abs=1e-10)
        assert np.ptp(model.predict(X)) > 0.1


@pytest.mark.filterwarnings("ignore:Only a constant in each stratum")  # of two rows each
def test_matched_pairs(data):
    X, y, _ = data
    model = ParityKernelRidge(kernel="rbf", constraint=MeanParity(min_group_size=0))
    model.fit(X, y, sensitive_features=["a", "b"] * 45, control_features=np.arange(90) // 2)
    pairs = model.predict(X).reshape(45, 2)
    assert np.abs(pairs[:, 0] - pairs[:, 1]).max() <= 1e-10


def test_a_pool_equal_to_the_training_rows_changes_nothing(data):
    X, y, s = data
    for model in MODELS.values():
        model.set_params(constraint=MeanParity(parity_on="both"))
        alone = model.fit(X, y, sensitive_features=s).predict(X)
        tolerance = 1e-4 if model.alpha == 0 else 1e-8
        for where in ("both", "pool"):
            model.set_params(constraint=MeanParity(parity_on=where))
            same = model.fit(X, y, sensitive_features=s, pool=(X, s)).predict(X)
            assert np.allclose(same, alone, rtol=0, atol=tolerance), (model, where)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_dial_turns_gaps_on_the_pool_too(kernel, data):
    X, y, s = data
    settings = {"kernel": kernel, "gamma": 0.3}
    model = ParityKernelRidge(unfairness=0.3, **settings)
    model.fit(X[:60], y[:60], sensitive_features=s[:60], pool=(X[60:], s[60:]))
    free = gap(model.tradeoff_.at(1.0).predict(X[60:]), s[60:])
    assert gap(model.predict(X[60:]), s[60:]) == pytest.approx(0.3 * free, abs=1e-10)
    limited = ParityKernelRidge(max_gap=0.05, **settings)
    limited.fit(X[:60], y[:60], sensitive_features=s[:60], pool=(X[60:], s[60:]))
    largest = [
        max_mean_gap(None, limited.predict(X[part]), sensitive_features=s[part])
        for part in (slice(0, 60), slice(60, 90))
    ]
    assert max(largest) == pytest.approx(0.05, abs=1e-10)
    assert limited.unfairness_ is None  # off the dial


def test_weights_and_controls_of_a_pool(data):
    X, y, s = data
    rng = np.random.default_rng(1)
    weights, grade = rng.integers(0, 4, 30), rng.integers(0, 2, 30)
    pool = Pool(X[60:], s[60:], grade, weights)
    model = ParityKernelRidge(kernel="rbf")
    model.fit(X[:60], y[:60], sensitive_features=s[:60], control_features=s[:60] * 0, pool=pool)
    values = model.predict(X[60:])
    for stratum in (0, 1):
        inside = (grade == stratum) & (weights > 0)
        by = {"sensitive_features": s[60:][inside], "sample_weight": weights[inside]}
        assert mean_parity_gap(None, values[inside], **by) <= 1e-12
    repeated = np.repeat(np.arange(60, 90), weights)
    twin = ParityKernelRidge(kernel="rbf")
    other = Pool(X[repeated], s[repeated], np.repeat(grade, weights))
    twin.fit(X[:60], y[:60], sensitive_features=s[:60], control_features=s[:60] * 0, pool=other)
    assert np.allclose(values, twin.predict(X[60:]), rtol=0, atol=1e-10)


def test_what_a_model_keeps(data):
    X, y, s = data
    linear = ParityRidge().fit(X[:60], y[:60], sensitive_features=s[:60], pool=(X[60:], s[60:]))
    marked = X[60:].copy()
    marked[0, 0] = 0.123456789
    linear = ParityRidge().fit(X[:60], y[:60], sensitive_features=s[:60], pool=(marked, s[60:]))
    whole = pickle.dumps(linear)
    assert np.float64(0.123456789).tobytes() not in whole, "no features of the pool stay"
    kernel = ParityKernelRidge(kernel="rbf")
    kernel.fit(X[:60], y[:60], sensitive_features=s[:60], pool=(marked, s[60:]))
    assert np.float64(0.123456789).tobytes() in pickle.dumps(kernel), "as the documents say"
    assert kernel.X_fit_.shape == (90, 6)
    assert kernel.dual_coef_.shape == (90,)
    for model in (linear, kernel):
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert np.array_equal(other.predict(X), model.predict(X))


def test_kinds_of_tables(data):
    X, y, s = data
    plain = ParityKernelRidge(kernel="rbf")
    plain.fit(X[:60], y[:60], sensitive_features=s[:60], pool=(X[60:], s[60:]))
    close = {"rtol": 0, "atol": 1e-10}
    for frame in (pd.DataFrame, pl.DataFrame):
        table = frame(dict(zip("abcdef", X.T, strict=True)) | {"sex": np.array(list("FMD"))[s]})
        model = ParityKernelRidge(kernel="rbf", sensitive_columns="sex", drop_sensitive=True)
        model.fit(table[:60], y[:60], pool=Pool(table[60:]))
        assert np.allclose(model.predict(table), plain.predict(X), **close)
    for rows, pool in ((sparse.csr_matrix, np.asarray), (np.asarray, sparse.csr_matrix)):
        model = ParityKernelRidge(kernel="rbf", solver="dense")
        model.fit(rows(X[:60]), y[:60], sensitive_features=s[:60], pool=(pool(X[60:]), s[60:]))
        assert np.allclose(model.predict(X), plain.predict(X), **close)
        ridge = ParityRidge().fit(
            rows(X[:60]), y[:60], sensitive_features=s[:60], pool=(pool(X[60:]), s[60:])
        )
        assert gap(ridge.predict(X[60:]), s[60:]) <= 1e-12


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_precomputed_kernels(fit_intercept, data):
    X, y, s = data
    K = rbf_kernel(X, gamma=0.3)
    plain = ParityKernelRidge(kernel="rbf", gamma=0.3, fit_intercept=fit_intercept)
    plain.fit(X[:60], y[:60], sensitive_features=s[:60], pool=(X[60:], s[60:]))
    model = ParityKernelRidge(kernel="precomputed", fit_intercept=fit_intercept)
    model.fit(K[:60, :60], y[:60], sensitive_features=s[:60], pool=(K[60:], s[60:]))
    assert np.allclose(model.predict(K), plain.predict(X), rtol=0, atol=1e-10)
    assert np.allclose(model.tradeoff_.at(0.3).predict(K), plain.tradeoff_.at(0.3).predict(X))
    assert model.n_features_in_ == 90
    with pytest.raises(ValueError, match=r"shape \(30, 60\), but kernel='precomputed' needs \(30"):
        model.fit(K[:60, :60], y[:60], sensitive_features=s[:60], pool=(K[60:, :60], s[60:]))


def test_precomputed_kernels_in_frames(data):
    X, y, s = data
    K = rbf_kernel(X, gamma=0.3)
    frame = pd.DataFrame(K[:60, :60]).rename(columns=str)
    model = ParityKernelRidge(kernel="precomputed")
    model.fit(frame, y[:60], sensitive_features=s[:60], pool=(K[60:], s[60:]))
    assert gap(model.predict(K[60:]), s[60:]) <= 1e-12


def test_several_outputs_with_penalties_of_their_own(data):
    X, y, s = data
    Y = np.stack([y, y**2, -y], axis=1)
    settings = {"kernel": "rbf", "gamma": 0.3}
    together = ParityKernelRidge(alpha=[1.0, 0.1, 1.0], **settings)
    together.fit(X[:60], Y[:60], sensitive_features=s[:60], pool=(X[60:], s[60:]))
    for j, alpha in enumerate((1.0, 0.1, 1.0)):
        alone = ParityKernelRidge(alpha=alpha, **settings)
        alone.fit(X[:60], Y[:60, j], sensitive_features=s[:60], pool=(X[60:], s[60:]))
        assert np.allclose(together.predict(X)[:, j], alone.predict(X), rtol=0, atol=1e-10)


def test_pools_are_routed(data):
    X, y, s = data
    scaler = StandardScaler().fit(X[:60])
    pool = scaler.transform(X[60:]), s[60:]
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), ParityRidge())
        pipeline.fit(X[:60], y[:60], sensitive_features=s[:60], pool=pool)
        assert gap(pipeline.predict(X[60:]), s[60:]) <= 1e-12
        search = GridSearchCV(ParityRidge(), {"alpha": [0.1, 1.0]}, cv=3)
        search.fit(X[:60], y[:60], sensitive_features=s[:60], pool=(X[60:], s[60:]))
        assert gap(search.predict(X[60:]), s[60:]) <= 1e-12


def test_rows_unlike_all_others_are_pointed_out(data):
    X, y, s = data
    pool = np.random.default_rng(1).standard_normal((600, 6))
    X, pool = np.column_stack([X, np.zeros(90)]), np.column_stack([pool, np.arange(600) == 7])
    groups = np.arange(600) % 3  # one of them has what no training row has
    with pytest.warns(
        ParityWarning, match=r"moves the prediction of some of its rows by .* Raise alpha"
    ):
        ParityRidge(alpha=0.0).fit(X, y, sensitive_features=s, pool=(pool, groups))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Parity costs much")  # a notice of its own
        ParityRidge(alpha=1.0).fit(X, y, sensitive_features=s, pool=(pool, groups))


def test_contradictions_are_met_as_well_as_can_be(data):
    """Two columns cannot meet four conditions with targets: least squares, and a warning."""
    X, y, s = data
    C = np.stack([(s == g) / np.sum(s == g) - 1 / 90 for g in range(3)], axis=1)
    C = np.hstack([C[:, :2], np.linalg.qr(np.random.default_rng(0).standard_normal((90, 3)))[0]])
    C -= C.mean(axis=0)
    C /= np.linalg.norm(C, axis=0)
    targets = np.array([1.0, 2.0, -1.0, 0.5, 3.0])
    constraint = LinearParity(C, targets)
    predictions = []
    for model in (ParityRidge(), ParityRidge(solver="dense"), ParityRidge(solver="spectral")):
        model.set_params(constraint=constraint)
        with pytest.warns(ParityWarning, match="No function of this space meets all 5 conditions"):
            model.fit(X[:, :2], y, sensitive_features=s)
        predictions.append(model.predict(X[:, :2]))
        assert model.parity_residual_ > 0.1
    assert np.allclose(predictions[0], predictions[1], atol=1e-8)
    assert np.allclose(predictions[0], predictions[2], atol=1e-8)
    left, sizes, right = np.linalg.svd(C, full_matrices=False)
    T = left  # the orthonormal conditions, of which least squares are taken
    wanted = (targets @ right.T) / sizes
    M = T.T @ (X[:, :2] - X[:, :2].mean(axis=0))
    best = np.linalg.lstsq(M, wanted, rcond=None)[1]
    assert np.sum((T.T @ predictions[0] - wanted) ** 2) == pytest.approx(float(best[0]), rel=1e-8)


BAD = {
    "no pool": (
        {"constraint": MeanParity(parity_on="pool")},
        None,
        ValueError,
        "needs the people to be scored",
    ),
    "where": (
        {"constraint": MeanParity(parity_on="test")},
        None,
        ValueError,
        "parity_on='test' is not known",
    ),
    "rows alone": ({}, np.ones((3, 6)), TypeError, "pool is a ndarray. Pass a pair"),
    "three": ({}, (1, 2, 3), TypeError, "pool is a tuple"),
    "columns": ({}, (np.ones((3, 5)), [0, 1, 2]), ValueError, "In the pool: X has 5 features"),
    "length": ({}, (np.ones((3, 6)), [0, 1]), ValueError, "has 2 rows, but the data have 3"),
    "one group": ({}, (np.ones((3, 6)), [0, 0, 0]), ValueError, "one group only"),
    "nan": ({}, (np.full((3, 6), np.nan), [0, 0, 1]), ValueError, "NaN"),
    "no groups": (
        {},
        Pool(np.ones((3, 6))),
        ValueError,
        "needs to know which group each row belongs to",
    ),
    "empty": ({}, (np.ones((0, 6)), []), ValueError, "0 sample"),
    "residuals": (
        {"constraint": ResidualParity()},
        (np.ones((3, 6)), [0, 0, 1]),
        ValueError,
        "cannot hold on a pool: it compares errors",
    ),
    "weights of rows": (
        {"constraint": LinearParity(np.ones((90, 1)) - 90 * np.eye(90)[:, :1])},
        (np.ones((90, 6)), [0, 1, 2] * 30),
        ValueError,
        "cannot hold on a pool: its weights belong to the training rows",
    ),
    "garbage beside train": (
        {"constraint": MeanParity(parity_on="train")},
        "garbage",
        TypeError,
        "pool is a str",
    ),
    "control": (
        {},
        Pool(np.ones((3, 6)), [0, 0, 1], control_features=[1, 1, 1]),
        ValueError,
        "fit had none",
    ),
    "weights": (
        {},
        Pool(np.ones((3, 6)), [0, 0, 1], sample_weight=[0, 0, 0]),
        ValueError,
        "all are zero",
    ),
}


@pytest.mark.parametrize(("settings", "pool", "error", "message"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("estimator", [ParityRidge, ParityKernelRidge])
def test_what_is_no_pool(estimator, settings, pool, error, message, data):
    X, y, s = data
    with pytest.raises(error, match=message):
        estimator(**settings).fit(X, y, sensitive_features=s, pool=pool)


def test_residual_parity_on_the_training_rows_beside_a_pool(data):
    X, y, s = data
    model = ParityKernelRidge(kernel="rbf", constraint=ResidualParity(parity_on="train"))
    model.fit(X[:60], y[:60], sensitive_features=s[:60], pool=(X[60:], s[60:]))
    assert gap(y[:60] - model.predict(X[:60]), s[:60]) <= 1e-12


def test_covariance_parity_on_a_pool(data):
    X, y, _ = data
    age = X[:, 1] * 10 + 40
    model = ParityKernelRidge(kernel="rbf", constraint=CovarianceParity("poly", degree=2))
    model.fit(X[:60], y[:60], sensitive_features=age[:60], pool=(X[60:], age[60:]))
    for part in (slice(0, 60), slice(60, 90)):
        for power in (1, 2):
            assert abs(np.cov(model.predict(X[part]), age[part] ** power)[0, 1]) <= 1e-8
