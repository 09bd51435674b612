"""Fits from sums over rows: whatever the order and the batches, the fit to all rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from meanparity import (
    CovarianceParity,
    LinearParity,
    MeanParity,
    Nystrom,
    ParityKernelRidge,
    ParityRidge,
    ParityWarning,
    Pool,
    ResidualParity,
)
from meanparity.audit import parity_certificate
from meanparity.metrics import max_mean_gap
from tests.statistics.streams import NYSTROM, table


def batches(n, seed):
    """Rows in random batches, some of one row, in a random order."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(3, n), 6, replace=False))
    return np.split(np.concatenate([np.arange(3), 3 + rng.permutation(n - 3)]), cuts)


def some(people, rows):
    return {name: None if value is None else value[rows] for name, value in people.items()}


@pytest.mark.filterwarnings(
    "ignore:No function of this space",
    "ignore:Only a constant",
    "ignore:There are no groups to compare",
)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from([MeanParity, CovarianceParity, ResidualParity]),
    scope=st.sampled_from([None, "both", "loss", "constraint"]),
    control=st.booleans(),
    intercept=st.booleans(),
    outputs=st.sampled_from([None, 2]),
    far=st.sampled_from([0.0, 1e3]),
    alpha=st.sampled_from([0.0, 1e-3, 10.0]),
)
def test_any_batches_give_the_fit_to_all_rows(
    seed, kind, scope, control, intercept, outputs, far, alpha
):
    X, y, s = table(seed, far=far * intercept, outputs=outputs, wide=3)
    rng = np.random.default_rng(seed)
    people = {
        "sensitive_features": s,
        "sample_weight": None if scope is None else rng.uniform(0.2, 2.0, len(s)),
        "control_features": np.array(["u", "v"])[np.arange(len(s)) // 3 % 2] if control else None,
    }
    model = ParityRidge(
        alpha=alpha,
        constraint=kind(weight_scope=scope or "both", min_group_size=0),
        fit_intercept=intercept,
    )
    whole, streamed = clone(model).fit(X, y, **people), clone(model)
    for rows in batches(len(s), seed):
        streamed.partial_fit(X[rows], y[rows], **some(people, rows))
    expected = whole.predict(X)
    scale = np.abs(expected).max()
    assert streamed.predict(X) == pytest.approx(expected, abs=1e-9 * scale)
    assert streamed.parity_residual_ <= max(1e-10 * y.std(), 2 * whole.parity_residual_)
    for name in ("gaps_", "group_means_"):
        left, right = getattr(streamed, name), getattr(whole, name)
        assert left.keys() == right.keys()
        pairs = [(left[key], right[key]) for key in left]
        assert np.allclose(*map(np.array, zip(*pairs, strict=True)), atol=1e-8 * scale)
    curves = [m.tradeoff_.training_curve() for m in (streamed, whole)]
    assert curves[0].mse == pytest.approx(curves[1].mse, rel=1e-6)
    assert curves[0].smd == pytest.approx(curves[1].smd, abs=1e-8 * scale)
    assert streamed.statistics_.loss.n_rows == len(s)


def test_groups_appear_and_vanish():
    X, y, s = table(0)
    order = np.argsort(s, kind="stable")
    first, last = order[: (s != "c").sum()], order[(s != "c").sum() :]
    model = ParityRidge(constraint=MeanParity(min_group_size=0))
    model.partial_fit(X[first], y[first], sensitive_features=s[first])
    assert set(model.group_means_) == {"a", "b"}
    more = model.statistics_
    model.partial_fit(X[last], y[last], sensitive_features=s[last])
    assert set(model.group_means_) == {"a", "b", "c"}
    assert max_mean_gap(None, model.predict(X), sensitive_features=s) <= 1e-12
    back = model.statistics_ - (model.statistics_ - more)
    assert set(model.fit_statistics(back).group_means_) == {"a", "b"}


@given(
    seed=st.integers(0, 10**6),
    kernel=st.sampled_from(["rbf", "laplacian", "poly"]),
    intercept=st.booleans(),
    weighted=st.booleans(),
    outputs=st.sampled_from([None, 2]),
)
def test_all_rows_as_landmarks_are_the_exact_fit(seed, kernel, intercept, weighted, outputs):
    X, y, s = table(seed, n=60, outputs=outputs)
    weights = np.random.default_rng(seed).uniform(0.2, 2.0, 60) if weighted else None
    settings = {"kernel": kernel, "gamma": 0.2, "degree": 2, "fit_intercept": intercept}
    exact = ParityKernelRidge(constraint=MeanParity(min_group_size=0), **settings)
    model = clone(exact).set_params(solver=Nystrom(60))
    for one in (exact, model):
        one.fit(X, y, sensitive_features=s, sample_weight=weights)
    scale = np.abs(exact.predict(X)).max()
    assert model.predict(X) == pytest.approx(exact.predict(X), abs=1e-6 * scale)
    assert model.tradeoff_.at(0.4).predict(X) == pytest.approx(
        exact.tradeoff_.at(0.4).predict(X), abs=1e-6 * scale
    )
    left, right = (np.array(list(m.gaps_.values())) for m in (model, exact))
    assert left == pytest.approx(right, abs=1e-8 * scale)


@pytest.mark.parametrize("landmarks", ["rpcholesky", "uniform", "given"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("components", [3, 25])
def test_parity_is_exact_whatever_the_features(landmarks, dtype, components):
    X, y, s = table(3, n=300)
    X = X.astype(dtype)
    Z, _, groups = table(4, n=90)
    points = X[:components] if landmarks == "given" else landmarks
    model = clone(NYSTROM).set_params(
        gamma=0.1, alpha=1e-3, solver__n_components=components, solver__landmarks=points
    )
    model.fit(X, y, sensitive_features=s)
    assert max_mean_gap(None, model.predict(X), sensitive_features=s) <= 1e-10 * y.std()
    assert model.parity_residual_ <= 1e-10 * y.std()
    if components > 4:
        weights = np.linspace(1, 2, 90)
        model.fit(X, y, sensitive_features=s, pool=Pool(Z, groups, sample_weight=weights))
        for rows, who, w in ((X, s, None), (Z, groups, weights)):
            predicted = model.predict(rows)
            gap = max_mean_gap(None, predicted, sensitive_features=who, sample_weight=w)
            assert gap <= 1e-10 * y.std()
    assert model.solver_ == "nystrom"
    assert f"{len(s)} rows" in model.solver_info_.reason


def test_single_precision_is_close():
    X, y, s = table(5, n=400)
    X = X.astype(np.float32)
    models = [clone(NYSTROM).fit(rows, y, sensitive_features=s) for rows in (X, X.astype(float))]
    assert models[0].predict(X) == pytest.approx(models[1].predict(X), abs=1e-3)
    sums = clone(NYSTROM).statistics(X, y, sensitive_features=s)
    assert sums.loss.gram.dtype == np.float64


def test_columns_of_single_precision_far_from_zero():
    X, y, s = table(5, n=400)
    X = (X + 1e3).astype(np.float32)
    for intercept in (True, False):
        model = ParityRidge(fit_intercept=intercept)
        whole = clone(model).fit(X, y, sensitive_features=s)
        model.partial_fit(X, y, sensitive_features=s)
        assert model.predict(X) == pytest.approx(whole.predict(X), abs=1e-6)


def test_streams_of_kernels():
    X, y, s = table(6, n=300)
    whole = clone(NYSTROM).set_params(solver__landmarks=X[:50]).fit(X, y, sensitive_features=s)
    streamed = clone(NYSTROM).set_params(solver__landmarks=X[:50])
    for rows in batches(300, 1):
        streamed.partial_fit(X[rows], y[rows], sensitive_features=s[rows])
    assert streamed.predict(X) == pytest.approx(whole.predict(X), abs=1e-9)
    assert np.array_equal(np.unique(streamed.X_fit_, axis=0), np.unique(X[:50], axis=0))
    assert streamed.dual_coef_.shape == (50,)
    # without given ones, landmarks are rows of the first batch
    first = clone(NYSTROM).partial_fit(X[:100], y[:100], sensitive_features=s[:100])
    first.partial_fit(X[100:], y[100:], sensitive_features=s[100:])
    assert max_mean_gap(None, first.predict(X), sensitive_features=s) <= 1e-10
    linear = ParityKernelRidge(fit_intercept=True)
    linear.partial_fit(X, y, sensitive_features=s)
    columns = ParityRidge().fit(X, y, sensitive_features=s)
    assert linear.predict(X) == pytest.approx(columns.predict(X))
    assert linear.coef_ == pytest.approx(columns.coef_)


def test_other_kinds_of_rows():
    X, y, s = table(7)
    whole = ParityRidge().fit(X, y, sensitive_features=s)
    sparse = ParityRidge().partial_fit(csr_matrix(X), y, sensitive_features=s)
    assert sparse.predict(X) == pytest.approx(whole.predict(X))
    frame = pd.DataFrame(X, columns=list("wxyz")).assign(group=s)
    model = ParityRidge(sensitive_columns="group", drop_sensitive=True)
    model.partial_fit(frame[:50], y[:50]).partial_fit(frame[50:], y[50:])
    assert model.predict(frame) == pytest.approx(whole.predict(X))
    assert list(model.feature_names_in_) == ["w", "x", "y", "z", "group"]
    holes = np.where(np.arange(120) % 7 == 0, None, s)
    for missing in ("group", "ignore"):
        both = [
            ParityRidge(constraint=MeanParity(missing=missing, min_group_size=0)) for _ in range(2)
        ]
        both[0].fit(X, y, sensitive_features=holes)
        both[1].partial_fit(X[:60], y[:60], sensitive_features=holes[:60])
        both[1].partial_fit(X[60:], y[60:], sensitive_features=holes[60:])
        assert both[1].predict(X) == pytest.approx(both[0].predict(X))
    marginal = [
        ParityRidge(constraint=MeanParity(intersectional=False, min_group_size=0)) for _ in range(2)
    ]
    two = np.column_stack([s, np.arange(120) % 2])
    marginal[0].fit(X, y, sensitive_features=two)
    marginal[1].partial_fit(X, y, sensitive_features=two)
    assert marginal[1].predict(X) == pytest.approx(marginal[0].predict(X))
    age = np.arange(120) % 30
    numbers = [ParityRidge(constraint=MeanParity(continuous=[0])) for _ in range(2)]
    numbers[0].fit(X, y, sensitive_features=age)
    numbers[1].partial_fit(X, y, sensitive_features=age)
    assert numbers[1].predict(X) == pytest.approx(numbers[0].predict(X))


def test_the_dial_works_on_sums():
    X, y, s = table(8)
    whole, streamed = (ParityRidge(max_gap=0.05) for _ in range(2))
    whole.fit(X, y, sensitive_features=s)
    streamed.partial_fit(X, y, sensitive_features=s)
    assert streamed.unfairness_ == pytest.approx(whole.unfairness_)
    for u in (0.0, 0.5, 1.0):
        assert streamed.tradeoff_.objective(u) == pytest.approx(whole.tradeoff_.objective(u))


def test_a_fit_forgets_batches():
    X, y, s = table(9)
    model = ParityRidge().partial_fit(X, y, sensitive_features=s)
    model.fit(X[:60], y[:60], sensitive_features=s[:60])
    assert not hasattr(model, "statistics_")
    model.partial_fit(X[60:], y[60:], sensitive_features=s[60:])
    assert model.statistics_.loss.n_rows == 60


def test_sums_do_not_know_rows():
    X, y, s = table(10, n=300)
    model = ParityRidge().partial_fit(X[:100], y[:100], sensitive_features=s[:100])
    with pytest.raises(ValueError, match="used in fit is not known"):
        parity_certificate(model, X[100:], s[100:])
    found = parity_certificate(model, X[100:], s[100:], unseen=True)
    assert found.bound > 0


@pytest.mark.filterwarnings("ignore:Only a constant")  # one column, and that sensitive
@pytest.mark.parametrize("kernel", [False, True])
def test_scikit_learns_checks(kernel):
    own = {"sensitive_columns": 0, "constraint": CovarianceParity("linear")}
    model = clone(NYSTROM).set_params(gamma=0.01, **own) if kernel else ParityRidge(**own)
    assert len(check_estimator(model, on_fail="raise", on_skip=None)) > 40


def test_constants_are_told():
    X, y, s = table(11)
    with pytest.warns(ParityWarning, match="Only a constant"):
        ParityRidge().partial_fit(X[:, :2], y, sensitive_features=s)
    few = np.where(np.arange(120) < 2, "zz", s)
    with pytest.warns(ParityWarning, match=r"zz \(2 rows"):
        ParityRidge().partial_fit(X, y, sensitive_features=few)


class Own(MeanParity):
    """Conditions of somebody's own: nobody says that sums are enough for them."""

    def functionals(self, rows):
        return super().functionals(rows)


BAD = {
    "precomputed": (
        ParityKernelRidge(kernel="precomputed", solver="nystrom"),
        {},
        "which kernel='precomputed' does not allow",
    ),
    "landmarks": (
        clone(NYSTROM).set_params(solver__landmarks="best"),
        {},
        "landmarks='best' is not known",
    ),
    "points": (
        clone(NYSTROM).set_params(solver__landmarks=np.zeros((3, 2))),
        {},
        "landmarks have 2 columns, but there are 4",
    ),
    "components": (
        clone(NYSTROM).set_params(solver__n_components=0),
        {},
        "n_components=0. Pass an integer",
    ),
    "own": (
        ParityRidge(constraint=Own()),
        {},
        "Own cannot be fitted to sums over rows: its functionals may depend on individual rows",
    ),
    "weights": (
        ParityRidge(constraint=LinearParity(np.zeros((3, 1)))),
        {},
        "LinearParity cannot be fitted to sums over rows: its weights belong to the training",
    ),
    "splines": (
        ParityRidge(constraint=MeanParity(n_knots=4)),
        {},
        "MeanParity cannot be fitted to sums over rows: the knots of splines lie at quantiles",
    ),
    "groups": (ParityRidge(), {"sensitive_features": None}, "which group each row belongs to"),
}


@pytest.mark.parametrize(("model", "people", "message"), BAD.values(), ids=BAD)
def test_wrong_use_speaks(model, people, message):
    X, y, s = table(0)
    with pytest.raises(ValueError, match=message):
        clone(model).partial_fit(X, y, **{"sensitive_features": s, **people})


def test_batches_of_one_group_and_of_no_weight():
    X, y, s = table(17)
    order = np.argsort(s, kind="stable")
    model = ParityRidge(constraint=MeanParity(min_group_size=0))
    with pytest.warns(ParityWarning, match="All 1 rows so far have the same sensitive"):
        model.partial_fit(X[order[:1]], y[order[:1]], sensitive_features=s[order[:1]])
    assert not hasattr(model, "coef_")
    rest = order[1:]
    weights = np.ones(len(rest))
    model.partial_fit(X[rest], y[rest], sensitive_features=s[rest], sample_weight=weights)
    whole = ParityRidge(constraint=MeanParity(min_group_size=0)).fit(X, y, sensitive_features=s)
    assert model.predict(X) == pytest.approx(whole.predict(X))
    nothing = np.zeros(5)
    model.partial_fit(X[:5], 99 * y[:5], sensitive_features=s[:5], sample_weight=nothing)
    assert model.predict(X) == pytest.approx(whole.predict(X))


@pytest.mark.parametrize(
    "model", [ParityRidge(), clone(NYSTROM)], ids=lambda model: type(model).__name__
)
def test_a_batch_of_one_group_is_not_answered_by_an_earlier_fit(model):
    X, y, s = table(18)
    names = ["p", "q", "r", "t"]
    fitted = clone(model).fit(pd.DataFrame(X, columns=names), y, sensitive_features=s)
    alone = s == "a"
    with pytest.warns(ParityWarning, match="have the same sensitive, so there is nothing to equal"):
        fitted.partial_fit(X[alone], y[alone], sensitive_features=s[alone])
    left = {name for name in vars(fitted) if name.endswith("_") or name == "_function"}
    assert left == {"statistics_", "n_features_in_"}
    assert fitted.statistics_.n_rows == alone.sum()
    with pytest.raises(NotFittedError):
        fitted.predict(X)
    # the next group makes a model of the batches, and of nothing before them
    fitted.partial_fit(X[~alone], y[~alone], sensitive_features=s[~alone])
    fresh = clone(model).fit_statistics(fitted.statistics_)
    assert fitted.statistics_.n_rows == len(y)
    assert np.array_equal(fitted.predict(X), fresh.predict(X))
    assert set(vars(fitted)) == set(vars(fresh))


@pytest.mark.parametrize(
    ("model", "solver", "width"),
    [
        (ParityRidge(), "primal", 4),
        (ParityKernelRidge(), "primal", 4),
        (ParityRidge(solver="nystrom"), "primal", 4),
        (ParityKernelRidge(kernel="rbf", solver=Nystrom(30)), "nystrom", 30),
    ],
    ids=str,
)
def test_what_a_fit_to_sums_says_about_its_solver(model, solver, width):
    X, y, s = table(19)
    info = clone(model).partial_fit(X, y, sensitive_features=s).solver_info_
    assert info.solver == solver
    assert info.reason.startswith("sums over 120 rows of ")
    assert info.matrix_bytes == 8 * width**2


@pytest.mark.parametrize("intersectional", [True, False])
def test_groups_of_sums_are_counted_in_rows(intersectional):
    """Sums have a cell for each combination of values; a group may have many."""
    X, y, s = table(20, wide=5)
    people = {
        "sensitive_features": pd.DataFrame({"s": s, "odd": np.arange(120) % 2 == 1}),
        "control_features": np.arange(120) % 3,
    }
    model = ParityRidge(constraint=MeanParity(intersectional=intersectional, min_group_size=0))
    whole = clone(model).fit(X, y, **people)
    summed = clone(model).partial_fit(X, y, **people)
    expected = people["sensitive_features"].value_counts().to_dict()
    assert len(expected) == 6
    assert whole.group_counts_ == summed.group_counts_ == expected


def test_solvers_of_all_rows_have_no_batches():
    model = ParityKernelRidge(kernel="rbf", solver="dense")
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as error:
        model.statistics(*table(0)[:2], sensitive_features=table(0)[2])
    assert "solver='dense' needs all rows in memory" in str(error.value.__cause__)
