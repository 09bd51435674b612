"""Without the constraint the estimators are scikit-learn's; with it, the claims hold exactly."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge

from meanparity import CovarianceParity, MeanParity, ParityKernelRidge, ParityRidge, ParityWarning
from meanparity.metrics import mean_parity_gap
from tests.problems import cases


def intersection(a, b):
    """A kernel of two rows as a function."""
    return float(np.minimum(np.abs(a), np.abs(b)).sum())


KERNELS = {
    "linear": {"kernel": "linear"},
    "rbf": {"kernel": "rbf", "gamma": 0.3},
    "poly": {"kernel": "poly", "degree": 3, "gamma": 0.2, "coef0": 0.5},
    "polynomial": {"kernel": "polynomial", "degree": 2},
    "fractional power": {"kernel": "poly", "degree": 1.5, "coef0": 50.0},
    "laplacian": {"kernel": "laplacian", "gamma": 0.3},
    "cosine": {"kernel": "cosine"},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.1},
    "chi2": {"kernel": "chi2", "gamma": 0.2},
    "additive_chi2": {"kernel": "additive_chi2"},
    "function": {"kernel": intersection},
    "object": {"kernel": ConstantKernel(2.0) * RBF(1.5) + WhiteKernel(0.1)},
}


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((90, 4)))  # chi2 needs positive features
    s = rng.integers(0, 3, 90)
    Y = np.stack([X[:, 0] + s + rng.standard_normal(90), np.sin(X[:, 1]) - s], axis=1)
    return X, Y, s


@pytest.mark.filterwarnings("ignore:The kernel matrix is indefinite")
@pytest.mark.parametrize("settings", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("outputs", [1, 2])
def test_kernel_ridge_without_the_constraint(settings, outputs, data):
    X, Y, s = data
    Y = Y[:, 0] if outputs == 1 else Y
    model = ParityKernelRidge(alpha=0.7, unfairness=1.0, **settings)
    model.fit(X[:60], Y[:60], sensitive_features=s[:60])
    if settings["kernel"] == "additive_chi2":  # not positive definite: KernelRidge warns
        K = -np.sum((X[:, None] - X) ** 2 / (X[:, None] + X), axis=2)
        expected = K[:, :60] @ np.linalg.solve(K[:60, :60] + 0.7 * np.eye(60), Y[:60])
        assert model.solver_ == "spectral"
    else:
        expected = KernelRidge(alpha=0.7, **settings).fit(X[:60], Y[:60]).predict(X)
    assert model.predict(X).shape == Y.shape
    assert np.allclose(model.predict(X), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore:The kernel matrix is indefinite")
@pytest.mark.parametrize("settings", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_parity_with_every_kernel(settings, fit_intercept, data):
    X, Y, s = data
    model = ParityKernelRidge(alpha=0.7, fit_intercept=fit_intercept, **settings)
    model.fit(X, Y, sensitive_features=s)
    assert model.parity_residual_ <= 1e-10 * Y.std()
    gap = mean_parity_gap(None, model.predict(X), sensitive_features=s)
    assert np.all(gap <= 1e-10 * Y.std())


@pytest.mark.parametrize("shape", [(60, 4), (20, 30)])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("solver", ["auto", "primal", "dense", "spectral"])
@pytest.mark.parametrize("alpha", [0.5, np.array([0.5, 20.0])])
def test_ridge_without_the_constraint(shape, fit_intercept, solver, alpha):
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal(shape) + 3, rng.standard_normal((shape[0], 2))
    s = rng.integers(0, 2, shape[0])
    settings = {"alpha": alpha, "fit_intercept": fit_intercept}
    model = ParityRidge(unfairness=1.0, solver=solver, **settings).fit(X, Y, sensitive_features=s)
    twin = Ridge(**settings).fit(X, Y)
    assert np.allclose(model.coef_, twin.coef_, rtol=1e-8, atol=1e-10)
    assert np.allclose(model.intercept_, twin.intercept_, rtol=1e-8, atol=1e-10)
    single = ParityRidge(alpha=0.5, unfairness=1.0, solver=solver, fit_intercept=fit_intercept)
    single.fit(X, Y[:, 0], sensitive_features=s)
    assert single.coef_.shape == (shape[1],)
    assert isinstance(single.intercept_, float)
    assert np.allclose(single.coef_, model.coef_[0], rtol=1e-8, atol=1e-10)


def test_ordinary_least_squares_of_least_norm():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 6)) + 100
    y, s = rng.standard_normal(30), rng.integers(0, 2, 30)
    model = ParityRidge(alpha=0.0, unfairness=1.0).fit(X, y, sensitive_features=s)
    assert np.allclose(model.coef_, LinearRegression().fit(X, y).coef_, atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid", "cosine", "laplacian"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix])
def test_sparse_rows_give_what_dense_rows_give(kernel, fit_intercept, container, data):
    X, Y, s = data
    X = np.where(X > 1, X, 0.0)
    settings = {"kernel": kernel, "alpha": 0.5, "fit_intercept": fit_intercept, "gamma": 0.1}
    dense = ParityKernelRidge(**settings).fit(X, Y, sensitive_features=s)
    thin = ParityKernelRidge(**settings).fit(container(X), Y, sensitive_features=s)
    assert np.allclose(thin.predict(container(X)), dense.predict(X), atol=1e-9)
    assert thin.parity_residual_ <= 1e-10 * Y.std()


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("shape", [(80, 5), (20, 40)])
def test_sparse_ridge(alpha, shape):
    rng = np.random.default_rng(3)
    X = sparse.random_array(shape, density=0.3, rng=rng, format="csr")
    y, s = rng.standard_normal(shape[0]), rng.integers(0, 2, shape[0])
    thin = ParityRidge(alpha=alpha).fit(X, y, sensitive_features=s)
    dense = ParityRidge(alpha=alpha).fit(X.toarray(), y, sensitive_features=s)
    assert np.allclose(thin.coef_, dense.coef_, atol=1e-9)
    inside = ParityRidge(alpha=alpha, sensitive_columns=0, constraint=CovarianceParity())
    assert inside.fit(X, y).parity_residual_ <= 1e-10


def test_precomputed_kernel(data):
    X, Y, s = data
    K = X @ X.T + 1
    model = ParityKernelRidge(kernel="precomputed").fit(
        K[:60, :60], Y[:60], sensitive_features=s[:60]
    )
    before = K.copy()
    expected = ParityKernelRidge(kernel="poly", degree=1, gamma=1.0, coef0=1.0)
    expected.fit(X[:60], Y[:60], sensitive_features=s[:60])
    assert np.allclose(model.predict(K[60:, :60]), expected.predict(X[60:]), atol=1e-9)
    assert np.array_equal(K, before), "the user's matrix is not touched"
    thin = ParityKernelRidge(kernel="precomputed")
    thin.fit(sparse.csr_matrix(K[:60, :60]), Y[:60], sensitive_features=s[:60])
    assert np.allclose(thin.predict(sparse.csr_matrix(K[60:, :60])), model.predict(K[60:, :60]))


@pytest.mark.filterwarnings("ignore:Only a constant")
@given(case=cases(), unfairness=st.floats(0, 1), alpha=st.sampled_from([0.01, 1.0, 100.0]))
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_every_gap_is_the_dials_share_of_the_free_one(
    case, unfairness, alpha, kernel, fit_intercept
):
    settings = {"kernel": kernel, "alpha": alpha, "fit_intercept": fit_intercept}
    model = ParityKernelRidge(unfairness=unfairness, **settings)
    model.fit(case.X, case.y, sensitive_features=case.codes)
    free = ParityKernelRidge(unfairness=1.0, **settings)
    free.fit(case.X, case.y, sensitive_features=case.codes)
    gaps = MeanParity().functionals(case.rows).gaps
    here, there = gaps(model.predict(case.X)[:, None]), gaps(free.predict(case.X)[:, None])
    assert np.abs(here - unfairness * there).max() <= 1e-10 * case.scale
    assert model.parity_residual_ <= 1e-10 * case.scale
    means = case.rows.groups.means(model.predict(case.X))
    assert np.allclose(
        list(model.group_means_.values()), means, rtol=1e-10, atol=1e-10 * case.scale
    )


@pytest.mark.filterwarnings("ignore:Only a constant")
@given(case=cases(), alpha=st.sampled_from([0.0, 0.01, 1.0, 100.0]))
def test_moving_the_target_moves_the_predictions(case, alpha):
    model = ParityRidge(alpha=alpha).fit(case.X, case.y, sensitive_features=case.codes)
    moved = ParityRidge(alpha=alpha).fit(
        case.X, 3 * case.y + case.scale, sensitive_features=case.codes
    )
    expected = 3 * model.predict(case.X_new) + case.scale
    assert np.abs(moved.predict(case.X_new) - expected).max() <= 1e-7 * np.abs(expected).max()


@pytest.mark.filterwarnings("ignore:Only a constant")
@given(case=cases(), seed=st.integers(0, 100))
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_order_of_rows_and_names_of_groups_do_not_matter(case, seed, kernel):
    order = np.random.default_rng(seed).permutation(len(case.y))
    names = np.array(["z", "y", "x", "w", "v"])[case.codes]
    model = ParityKernelRidge(kernel=kernel, fit_intercept=True)
    expected = model.fit(case.X, case.y, sensitive_features=case.codes).predict(case.X_new)
    model.fit(case.X[order], case.y[order], sensitive_features=names[order])
    assert np.abs(model.predict(case.X_new) - expected).max() <= 1e-8 * case.scale


def test_the_same_row_gets_the_same_prediction_in_any_batch(data):
    X, Y, s = data
    model = ParityKernelRidge(kernel="rbf").fit(X, Y, sensitive_features=s)
    alone = np.concatenate([model.predict(X[i : i + 1]) for i in range(len(X))])
    assert np.allclose(alone, model.predict(X), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_in(make, data):
    X, Y, s = data
    names = np.array(["a", "b", "c"])[s]
    frame = make({f"x{i}": X[:, i] for i in range(4)})
    sensitive = make({"group": names, "high": X[:, 0] > 1})
    model = ParityKernelRidge(kernel="rbf").fit(frame, Y[:, 0], sensitive_features=sensitive)
    expected = ParityKernelRidge(kernel="rbf").fit(
        X, Y[:, 0], sensitive_features=np.stack([names, (X[:, 0] > 1).astype(str)], axis=1)
    )
    assert np.allclose(model.predict(frame), expected.predict(X), atol=1e-12)
    assert next(iter(model.gaps_)) == "group=a, high=False"
    assert sum(model.group_counts_.values()) == len(Y)
    assert next(iter(model.group_means_)) == ("a", False)


def test_far_from_zero_costs_no_digits():
    """Year columns, timestamps: distances and centred products do not depend on the origin."""
    rng = np.random.default_rng(4)
    X, s = rng.standard_normal((150, 3)), rng.integers(0, 2, 150)
    X = np.round(X * 2**20) / 2**20  # so that shifting by a power of two is exact
    y = X[:, 0] + s
    for model in (
        ParityKernelRidge(kernel="rbf", gamma=0.5),
        ParityKernelRidge(fit_intercept=True, solver="dense"),
        ParityKernelRidge(fit_intercept=True),
        ParityRidge(),
        ParityRidge(solver="dense"),
        ParityRidge(alpha=0),
    ):
        near = model.fit(X, y, sensitive_features=s).predict(X)
        far = model.fit(X + 2.0**26, y, sensitive_features=s).predict(X + 2.0**26)
        assert np.allclose(near, far, atol=1e-8)
        gap = mean_parity_gap(None, far, sensitive_features=s)
        assert gap <= 1e-10 * y.std(), "the gap of real predictions"


def test_large_kernel_values_are_not_hidden():
    """Centring a kernel matrix forgets its size; predictions and the reported gap do not."""
    rng = np.random.default_rng(4)
    X, s = rng.standard_normal((60, 3)) + 300, rng.integers(0, 2, 60)
    model = ParityKernelRidge(kernel="poly", degree=2, gamma=1.0, fit_intercept=True)
    with pytest.warns(ParityWarning, match="A gap of"):
        model.fit(X, X[:, 0] + s, sensitive_features=s)
    gap = mean_parity_gap(None, model.predict(X), sensitive_features=s)
    assert 1e-3 * gap <= model.parity_residual_ <= 1e3 * gap


def test_a_huge_row_does_not_switch_the_penalty_off():
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((100, 4)), rng.integers(0, 2, 100)
    y = X[:, 0] + s
    X[5] *= 1e4
    settings = {"kernel": "poly", "degree": 2}
    model = ParityKernelRidge(unfairness=1.0, **settings).fit(X, y, sensitive_features=s)
    assert model.solver_ == "dense"
    K = (X @ X.T / 4 + 1) ** 2
    D = np.sqrt(np.diag(K))  # KernelRidge warns of the unscaled system
    c = np.linalg.solve((K + np.eye(100)) / np.outer(D, D), y / D) / D
    assert np.allclose(model.predict(X), K @ c, atol=1e-4)


def test_dropped_columns_need_not_be_there_to_predict(data):
    X, Y, s = data
    frame = pd.DataFrame(X, columns=list("abcd")).assign(sex=np.array(["F", "M", "D"])[s])
    model = ParityRidge(sensitive_columns="sex", drop_sensitive=True).fit(frame, Y)
    assert np.array_equal(model.predict(frame), model.predict(frame[list("abcd")]))
    model = ParityRidge(sensitive_columns=0, drop_sensitive=True)
    model.fit(np.column_stack([s, X]), Y)
    assert np.array_equal(model.predict(np.column_stack([s, X])), model.predict(X))
    with pytest.raises(ValueError, match="X has 3 features"):
        model.predict(X[:, :3])


def test_sparse_rows_for_a_model_of_dense_rows(data):
    X, Y, s = data
    for model in (
        ParityRidge(),
        ParityKernelRidge(kernel="rbf"),
        ParityKernelRidge(fit_intercept=True, solver="dense"),
    ):
        model.fit(X, Y, sensitive_features=s)
        assert np.allclose(model.predict(sparse.csr_array(X)), model.predict(X), atol=1e-12)


def test_covariance_parity_is_mean_parity_under_assumption_1(data):
    X, Y, s = data
    mean = ParityKernelRidge(kernel="rbf").fit(X, Y, sensitive_features=s)
    rich = ParityKernelRidge(kernel="rbf", constraint=CovarianceParity("polynomial", degree=2))
    rich.fit(X, Y, sensitive_features=s)
    poor = ParityKernelRidge(kernel="rbf", constraint=CovarianceParity("linear"))
    poor.fit(X, Y, sensitive_features=s)
    assert rich.implies_mean_parity_
    assert not poor.implies_mean_parity_
    assert np.allclose(rich.predict(X), mean.predict(X), atol=1e-10)
    gap = np.cov(s, poor.predict(X)[:, 0])[0, 1]
    assert abs(gap) <= 1e-12
    assert mean_parity_gap(None, poor.predict(X), sensitive_features=s).max() > 1e-3


@pytest.mark.parametrize("pool", [False, True])
@pytest.mark.parametrize("outputs", [1, 2])
def test_attributes_say_what_predict_does(pool, outputs):
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((60, 4)) + 3, rng.choice(["a", "b"], 60)
    y = X[:, 0] + rng.standard_normal(60) + 50
    y = y if outputs == 1 else np.stack([y, -y], axis=1)
    more = {"pool": (X[:30] + 0.1, s[:30])} if pool else {}
    intercepts = []
    for solver in ("primal", "dense", "spectral"):
        model = ParityKernelRidge(kernel="linear", fit_intercept=True, solver=solver)
        model.fit(X, y, sensitive_features=s, **more)
        coef = model.coef_.T if solver == "primal" else model.X_fit_.T @ model.dual_coef_
        assert np.allclose(X @ coef + model.intercept_, model.predict(X), atol=1e-9)
        intercepts.append(model.intercept_)
    assert np.allclose(intercepts, intercepts[0], atol=1e-8)
