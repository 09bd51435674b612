"""Folds in one pass, beside a fit to every fold."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import KFold, PredefinedSplit

from meanparity import (
    CovarianceParity,
    MeanParity,
    Nystrom,
    ParityKernelRidge,
    ParityKernelRidgeCV,
    ParityRidge,
    ParityRidgeCV,
    Pool,
    Primal,
    ResidualParity,
)
from meanparity.constraints import Functionals
from meanparity.data.fit_input import read_fit_input
from meanparity.estimators import selection
from meanparity.kernels import Kernel
from meanparity.kernels.bound import gram
from meanparity.solvers.held_out import kernel_scale
from meanparity.solvers.problem import ConstrainedProblem

ALPHAS = np.array([0.0, 1e-3, 1.0, 100.0])
SMALL = MeanParity(min_group_size=0)


def one_by_one(model, X, y, splits, alphas=ALPHAS, pool=None, **people):
    """Held-out predictions, from a fit for every fold and penalty."""
    found = []
    for alpha in alphas:
        predicted = np.empty_like(y)
        for train, test in splits:
            some = {name: value[train] for name, value in people.items()}
            fitted = clone(model).set_params(alpha=alpha).fit(X[train], y[train], pool=pool, **some)
            predicted[test] = fitted.predict(X[test])
        found.append(predicted)
    return np.array(found)


def never(*args, **kwargs):
    raise AssertionError("a fold was fitted")


def held_out(search, X, y, people, folds=selection.folds):
    """Held-out predictions of all penalties, of a search."""
    seen = []

    def keep(constraint, data, predictions, scoring):
        tried = list(predictions)
        seen.extend(predicted for _, predicted, _ in tried)
        return selection.select(constraint, data, iter(tried), scoring)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("meanparity.estimators._cv.folds", folds)
        patch.setattr("meanparity.estimators._cv.select", keep)
        search.fit(X, y, **people)
    return np.array(seen)


def in_one_pass(search, X, y, people):
    """The same, of a search that fits no fold."""
    return held_out(search, X, y, people, never)


@pytest.mark.filterwarnings("ignore")
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from([MeanParity, CovarianceParity, ResidualParity]),
    intercept=st.booleans(),
    weighted=st.booleans(),
    control=st.booleans(),
    outputs=st.sampled_from([None, 2]),
    far=st.sampled_from([0.0, 1e4]),
    deficient=st.booleans(),
    unfairness=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_folds_equal_fits(
    seed, kind, intercept, weighted, control, outputs, far, deficient, unfairness
):
    rng = np.random.default_rng(seed)
    n, d = 60, 7
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-1, 2, d) + far
    if deficient:
        X[:, 1] = X[:, 0]
    s = np.concatenate([np.repeat(["a", "b", "c"], 10), rng.choice(["a", "b", "c"], n - 30)])
    y = rng.standard_normal((n, outputs) if outputs else n) + (s == "b").reshape(
        (n, 1) if outputs else n
    )
    people = {"sensitive_features": s}
    if weighted:
        people["sample_weight"] = rng.uniform(0.5, 2.0, n)
    if control:
        people["control_features"] = rng.choice(["u", "v"], n)
    settings = {
        "constraint": kind(continuous=[], min_group_size=0),
        "fit_intercept": intercept,
        "unfairness": unfairness,
    }
    cv = KFold(4, shuffle=True, random_state=seed)
    search = ParityRidgeCV(alphas=ALPHAS, cv=cv, **settings)
    got = in_one_pass(search, X, y, people)
    expected = one_by_one(ParityRidge(**settings), X, y, list(cv.split(X)), **people)
    digits = 1e-9 if far else 1e-11
    scale = np.abs(expected).max()
    assert np.abs(got.reshape(expected.shape) - expected).max() <= digits * scale


def test_a_group_of_one_fold_only():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    s = np.array(["a", "b"] * 20)
    s[:4] = "c"
    cv = PredefinedSplit(np.repeat([0, 1, 2, 3, 4], [4, 9, 9, 9, 9]))
    search = ParityRidgeCV(alphas=ALPHAS, cv=cv, constraint=SMALL)
    got = in_one_pass(search, X, y, {"sensitive_features": s})
    model = ParityRidge(constraint=SMALL)
    expected = one_by_one(model, X, y, list(cv.split()), sensitive_features=s)
    assert np.allclose(got[..., 0], expected, rtol=0, atol=1e-12)


def test_folds_of_no_weight():
    rng = np.random.default_rng(0)
    X, y, s = rng.standard_normal((40, 3)), rng.standard_normal(40), np.array(["a", "b"] * 20)
    weights = np.repeat([0.0, 1.0], [10, 30])
    search = ParityRidgeCV(alphas=ALPHAS, cv=4, constraint=SMALL)
    got = in_one_pass(search, X, y, {"sensitive_features": s, "sample_weight": weights})
    inside = weights > 0
    fitted = ParityRidge(alpha=1.0).fit(X[inside], y[inside], sensitive_features=s[inside])
    assert np.allclose(got[2, :10, 0], fitted.predict(X[:10]), rtol=0, atol=1e-12)


def test_a_linear_kernel_is_linear():
    rng = np.random.default_rng(0)
    X, y, s = rng.standard_normal((40, 3)), rng.standard_normal(40), np.array(["a", "b"] * 20)
    people = {"sensitive_features": s}
    kernel = in_one_pass(ParityKernelRidgeCV(alphas=ALPHAS, cv=5), X, y, people)
    columns = ParityRidgeCV(alphas=ALPHAS, cv=5, fit_intercept=False)
    assert np.allclose(kernel, in_one_pass(columns, X, y, people), rtol=0, atol=1e-12)


def test_sparse_rows_scopes_and_missing_values():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), rng.standard_normal(60)
    X[rng.uniform(size=X.shape) < 0.5] = 0.0
    s = np.array(["a", "b", None] * 20, dtype=object)
    weights, cv = rng.uniform(0.5, 2.0, 60), KFold(4)
    for scope in ("loss", "constraint", "both"):
        for missing in ("group", "ignore"):
            constraint = MeanParity(weight_scope=scope, missing=missing, min_group_size=0)
            settings = {"constraint": constraint}
            people = {"sensitive_features": s, "sample_weight": weights}
            search = ParityRidgeCV(alphas=ALPHAS, cv=cv, **settings)
            got = in_one_pass(search, csr_matrix(X), y, people)[..., 0]
            expected = one_by_one(ParityRidge(**settings), X, y, list(cv.split(X)), **people)
            assert np.allclose(got, expected, rtol=0, atol=1e-12)


def test_what_needs_fits_is_fitted():
    rng = np.random.default_rng(0)
    X, y, s = rng.standard_normal((40, 3)), rng.standard_normal(40), np.array(["a", "b"] * 20)
    others = {"pool": (X[:10], s[:10])}, {"max_gap": 0.02}, {"wide": True}
    for other in others:
        rows = rng.standard_normal((40, 50)) if other.pop("wide", False) else X
        people = {"sensitive_features": s, "pool": other.pop("pool", None)}
        search = ParityRidgeCV(alphas=[0.1, 1.0], cv=4, **other)
        with pytest.raises(AssertionError, match="a fold was fitted"):
            in_one_pass(search, rows, y, people)
        search.fit(rows, y, **people)
        assert np.isfinite(search.cv_results_["mean_squared_error"]).all()


def test_folds_that_say_nothing_are_refused():
    rng = np.random.default_rng(0)
    X, y, s = rng.standard_normal((40, 3)), rng.standard_normal(40), np.array(["a", "b"] * 20)
    weights = np.repeat([1.0, 0.0], [8, 32])
    for scope in ("loss", "constraint", "both"):
        constraint = MeanParity(weight_scope=scope, min_group_size=0)
        search = ParityRidgeCV(cv=5, constraint=constraint)
        with pytest.raises(ValueError, match="sample_weight of all 32 training rows"):
            search.fit(X, y, sensitive_features=s, sample_weight=weights)
    empty = [(np.arange(40), np.array([], int)), (np.arange(20), np.arange(40))]
    with pytest.raises(ValueError, match="has a fold without rows"):
        ParityRidgeCV(cv=empty).fit(X, y, sensitive_features=s)


class Hasty(Primal):
    """A solver that does not say that it is exact."""

    name = "hasty"
    exact = False


def test_a_solver_that_is_not_exact_is_used_in_every_fold():
    rng = np.random.default_rng(0)
    X, y, s = rng.standard_normal((40, 3)), rng.standard_normal(40), np.array(["a", "b"] * 20)
    with mock.patch.object(Hasty, "solve", autospec=True, side_effect=Primal.solve) as solve:
        search = ParityRidgeCV(alphas=[0.1, 1.0], cv=4, solver=Hasty())
        search.fit(X, y, sensitive_features=s)
    assert solve.call_count == 4 + 1  # penalties are outputs of one problem
    with pytest.raises(ValueError, match=r"no closed form with Hasty, which does not say that it"):
        search.set_params(cv=None).fit(X, y, sensitive_features=s)


def test_every_exact_solver_has_folds_in_one_pass():
    """They are those of fits by that solver."""
    rng = np.random.default_rng(0)
    X, y, s = rng.standard_normal((40, 3)), rng.standard_normal(40), np.array(["a", "b"] * 20)
    cv = KFold(4)
    for solver in ("primal", "spectral"):
        search = ParityRidgeCV(alphas=ALPHAS, cv=cv, solver=solver)
        got = in_one_pass(search, X, y, {"sensitive_features": s})[..., 0]
        model = ParityRidge(solver=solver)
        expected = one_by_one(model, X, y, list(cv.split(X)), sensitive_features=s)
        assert np.allclose(got, expected, rtol=0, atol=1e-10)


@pytest.mark.filterwarnings("ignore:.*is treated as a number")
def test_numbers_are_settled_on_all_rows(monkeypatch):
    """22 ages in all and fewer in a fold are a number in every fold, whichever way it is fitted."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((66, 3)), rng.standard_normal(66)
    age = np.repeat(np.arange(22), 3)
    search = ParityRidgeCV(alphas=[1.0], cv=6, constraint=SMALL)
    in_one = search.fit(X, y + age / 10, sensitive_features=age).best_score_
    fitted = []
    monkeypatch.setattr("meanparity.estimators._cv.has_closed_folds", lambda *_: fitted.append(1))
    by_fits = search.fit(X, y + age / 10, sensitive_features=age).best_score_
    assert fitted
    assert in_one == pytest.approx(by_fits)


KERNEL_FOLDS = {
    "plain": {},
    "dial": {"unfairness": 0.3},
    "max_gap": {"max_gap": 0.002},
    "errors": {"constraint": ResidualParity(min_group_size=0)},
    "errors, max_gap": {"constraint": ResidualParity(min_group_size=0), "max_gap": 0.002},
    "pooling": {"constraint": MeanParity(pooling=2.0, min_group_size=0)},
    "splines": {"constraint": MeanParity(n_knots=3, continuous=[0], min_group_size=0)},
    "precomputed": {"kernel": "precomputed"},
    "landmarks, max_gap": {"solver": Nystrom(15), "max_gap": 0.002},
    "pool": {"fit_intercept": True},
    "singular": {"kernel": "linear", "solver": "spectral", "max_gap": 0.002},
}


@pytest.mark.filterwarnings("ignore:The unconstrained fit meets max_gap")  # with a large penalty
@pytest.mark.filterwarnings("ignore:Parity on the pool moves")
@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("name", KERNEL_FOLDS)
def test_a_fold_is_fitted_once_for_all_penalties(name, outputs, monkeypatch):
    """One kernel matrix for each fold, and the predictions of a fit for each penalty."""
    rng = np.random.default_rng(0)
    X, alphas, cv, matrices = rng.standard_normal((40, 3)), ALPHAS[1:], KFold(4), []
    s = np.array(["a", "b", "c", "a"] * 10)
    y = rng.standard_normal((40, outputs) if outputs else 40)
    y += (s == "b").reshape(y.shape[0], *(1,) * (y.ndim - 1))
    if name == "splines":
        s = rng.uniform(20, 60, 40)
    people = {"sensitive_features": s, "sample_weight": rng.uniform(0.5, 2.0, 40)}
    settings = {"kernel": "rbf", "constraint": SMALL, **KERNEL_FOLDS[name]}
    pool = None
    if name == "pool":
        pool = Pool(rng.standard_normal((9, 3)), ["a", "b", "c"] * 3, sample_weight=np.ones(9))

    def counted(*args, **kwargs):
        matrices.append(args)
        return gram(*args, **kwargs)

    monkeypatch.setattr("meanparity.solvers.dual.gram", counted)
    search = ParityKernelRidgeCV(alphas=alphas, cv=cv, **settings)
    rows = X @ X.T if name == "precomputed" else X
    got = held_out(search, rows, y, people | {"pool": pool})
    fits_of_a_fold = 6 if name == "pooling" else 1  # five more say how well gaps are known
    assert len(matrices) == (0 if "landmarks" in name else 5 * fits_of_a_fold)
    if name == "precomputed":
        settings["kernel"] = "linear"
    expected = one_by_one(
        ParityKernelRidge(**settings), X, y, list(cv.split(X)), alphas, pool, **people
    )
    digits = 1e-8 if name == "pooling" else 1e-10
    assert np.abs(got.reshape(expected.shape) - expected).max() <= digits


def test_what_is_passed_is_read_once(monkeypatch):
    """Folds are taken from the rows that were checked, whichever way they are predicted."""
    rng = np.random.default_rng(0)
    X, y, s = rng.standard_normal((40, 3)), rng.standard_normal(40), np.array(["a", "b"] * 20)
    reads = []

    def counted(*args, **kwargs):
        reads.append(args)
        return read_fit_input(*args, **kwargs)

    monkeypatch.setattr("meanparity.estimators._base.read_fit_input", counted)
    for search in (
        ParityRidgeCV(cv=4),
        ParityRidgeCV(cv=4, max_gap=0.001),
        ParityRidgeCV(),
        ParityKernelRidgeCV(kernel="rbf", gammas=[0.1, 1.0], cv=4),
    ):
        search.fit(X, y, sensitive_features=s)
        assert len(reads) == 1
        reads.clear()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_the_scale_of_penalties_needs_no_kernel_matrix(
    kernel, fit_intercept, weighted, monkeypatch
):
    rng = np.random.default_rng(0)
    X, n = rng.standard_normal((30, 3)) + 1, 30
    weights = rng.uniform(0.5, 2.0, n) if weighted else None
    stated = Kernel(kernel, gamma=0.5)
    problem = ConstrainedProblem(
        X, np.zeros((n, 1)), np.ones(1), Functionals.none(n), fit_intercept, stated, weights
    )
    K, u = stated.bind(X).block(X), np.ones(n) if weights is None else weights
    H = np.eye(n) - np.outer(np.ones(n), u / u.sum()) * fit_intercept
    monkeypatch.setattr("meanparity.solvers.held_out.gram", None)
    assert kernel_scale(problem) == pytest.approx(np.mean(u * (H @ K @ H.T).diagonal()))
