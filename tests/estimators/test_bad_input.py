"""Bad input on purpose: one clear error each, or a documented answer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import train_test_split

from meanparity import (
    MeanParity,
    ParityAdjusted,
    ParityKernelRegressor,
    ParityKernelRidge,
    ParityKernelRidgeCV,
    ParityRidge,
    ParityWarning,
)
from meanparity.data.refusals import refuse_other_order
from meanparity.kernels import Kernel
from meanparity.linalg import memory

ESTIMATORS = [ParityRidge, ParityKernelRidge]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((30, 3)), np.tile(["a", "b", "c"], 10)
    return X, X[:, 0] + rng.standard_normal(30), s


def put(array, value):
    array = np.array(array, dtype=object if isinstance(value, str) else None)
    array.flat[0] = value
    return array


BAD = {
    "NaN in X": (lambda X, y, s: (put(X, np.nan), y, s), "Input X contains NaN"),
    "infinity in X": (lambda X, y, s: (put(X, np.inf), y, s), "contains infinity"),
    "NaN in y": (lambda X, y, s: (X, put(y, np.nan), s), "Input y contains NaN"),
    "infinity in y": (lambda X, y, s: (X, put(y, -np.inf), s), "Input y contains infinity"),
    "text in X": (lambda X, y, s: (put(X, "tall"), y, s), r"X holds text .*'tall'.*OneHotEncoder"),
    "text in y": (
        lambda X, y, s: (X, put(y, "tall"), s),
        r"y holds text .*'tall'.*ParityKernelClassifier",
    ),
    "complex X": (lambda X, y, s: (X + 1j, y, s), "Complex data not supported"),
    "complex y": (lambda X, y, s: (X, y + 1j, s), "Complex data not supported"),
    "1-D X": (lambda X, y, s: (X[:, 0], y, s), "Expected 2D array, got 1D array"),
    "3-D X": (lambda X, y, s: (X[:, :, None], y, s), "dim 3"),
    "3-D y": (lambda X, y, s: (X, np.zeros((30, 2, 2)), s), "dim 3"),
    "empty X": (lambda X, y, s: (X[:0], y[:0], s[:0]), r"0 sample\(s\)"),
    "no columns": (lambda X, y, s: (X[:, :0], y, s), r"0 feature\(s\)"),
    "one row": (lambda X, y, s: (X[:1], y[:1], s[:1]), r"1 sample\(s\)"),
    "no y": (lambda X, y, s: (X, None, s), "requires y to be passed"),
    "short y": (lambda X, y, s: (X, y[1:], s), "inconsistent numbers of samples"),
    "short s": (lambda X, y, s: (X, y, s[1:]), "has 29 rows, but the data have 30"),
    "missing s": (
        lambda X, y, s: (X, y, put(s.astype(object), None)),
        r"1 missing value \(row 0\)",
    ),
    "no s": (lambda X, y, s: (X, y, None), r"sensitive_features=.*sensitive_columns="),
    "one group": (
        lambda X, y, s: (X, y, np.full(30, "a")),
        r"one group only \('a' in all 30 rows\)",
    ),
    "as many groups as rows": (
        lambda X, y, s: (X, y, [f"id {i}" for i in range(30)]),
        "every row is its own group",
    ),
}


@pytest.mark.parametrize(("spoil", "message"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_bad_data(estimator, spoil, message, data):
    X, y, s = spoil(*data)
    with pytest.raises(ValueError, match=message):
        estimator().fit(X, y, sensitive_features=s)


PARAMETERS = [
    ({"alpha": -1.0}, r"alpha=-1.0 is negative\. Pass 0"),
    ({"alpha": np.nan}, "alpha=nan is not a finite number"),
    ({"alpha": "big"}, "alpha='big' is not a finite number"),
    ({"alpha": True}, "alpha=True is not a finite number"),
    ({"alpha": [1.0, 2.0]}, r"alpha has shape \(2,\), but y has 1 output"),
    ({"unfairness": -0.1}, "unfairness=-0.1 is not a number between 0 and 1"),
    ({"unfairness": 1.5}, "unfairness=1.5 is not a number between 0 and 1"),
    ({"unfairness": None}, "unfairness=None is not a number between 0 and 1"),
    (
        {"solver": "magic"},
        "solver='magic' is not known here. Pass 'auto', one of 'primal', .*'nystrom'",
    ),
    ({"constraint": "fairness"}, "constraint='fairness' is not known"),
    ({"sensitive_columns": [0]}, "Both sensitive_features and sensitive_columns"),
]


@pytest.mark.parametrize(("parameters", "message"), PARAMETERS, ids=str)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_bad_parameters(estimator, parameters, message, data):
    X, y, s = data
    with pytest.raises(ValueError, match=message):
        estimator(**parameters).fit(X, y, sensitive_features=s)


KERNEL_PARAMETERS = [
    ({"kernel": "gaussian"}, "kernel='gaussian' is not known"),
    ({"kernel": 3}, "kernel=3 is neither a name nor callable"),
    ({"kernel": "precomputed"}, r"needs the square kernel matrix .* shape \(30, 3\)"),
    ({"kernel": "rbf", "solver": "primal"}, "only the kernel 'linear' has"),
    ({"kernel": "chi2"}, "negative"),
]


@pytest.mark.parametrize(("parameters", "message"), KERNEL_PARAMETERS, ids=str)
def test_bad_kernels(parameters, message, data):
    X, y, s = data
    with pytest.raises((ValueError, TypeError), match=message):
        ParityKernelRidge(**parameters).fit(X, y, sensitive_features=s)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": "1.0"}, "alpha='1.0' is not a finite number"),
        ({"alpha": 10**400}, "is not a finite number"),
        ({"fit_intercept": "no"}, "fit_intercept='no'. Pass True or False"),
        ({"drop_sensitive": True}, "sensitive_columns is None. Name the columns"),
        ({"gamma": -1.0, "kernel": "rbf"}, "gamma=-1.0 is not a finite number of 0 or more"),
        ({"gamma": 0.1, "kernel": Kernel("rbf")}, "Pass gamma to the kernel itself"),
        ({"kernel": Kernel("precomputed")}, "needs the square kernel matrix"),
        ({"kernel": lambda a, b: float(a[0])}, "not symmetric"),
        ({"kernel": lambda a, b: np.nan}, "not finite"),
    ],
)
def test_more_bad_parameters(parameters, message, data):
    X, y, s = data
    with pytest.raises(ValueError, match=message):
        ParityKernelRidge(**parameters).fit(X, y, sensitive_features=s)


@pytest.mark.parametrize("solver", ["auto", "dense", "spectral"])
def test_kernels_that_are_not_numbers_somewhere(solver, data):
    X, y, s = data

    def kernel(a, b):
        late = {float(a[0]), float(b[0])} == {float(X[20, 0]), float(X[25, 0])}
        return np.nan if late else float(a @ b)

    for settings in ({"kernel": kernel}, {"kernel": "poly", "degree": 2.5}):
        with pytest.raises(ValueError, match="infinite or undefined"):
            ParityKernelRidge(solver=solver, **settings).fit(X, y, sensitive_features=s)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_overflowing_squares(estimator, data):
    X, y, s = data
    for spoiled in ((X * 1e200, y), (X, y * 1e200)):
        with pytest.raises(ValueError, match="Scale the features"):
            estimator().fit(*spoiled, sensitive_features=s)


def test_a_list_of_labels_may_look_like_column_names(data):
    X, y, s = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = ParityRidge().fit(frame, y, sensitive_features=list(s))
    assert set(model.group_means_) == {"a", "b", "c"}


def test_a_failed_fit_leaves_the_model_as_it_was(data):
    X, y, s = data
    model = ParityKernelRidge(kernel="rbf").fit(X, y, sensitive_features=s)
    before = model.predict(X)
    with pytest.raises(ValueError, match="one group only"):
        model.fit(X, y, sensitive_features=np.zeros(30))
    assert np.array_equal(model.predict(X), before)
    assert model.dual_coef_.shape == (30,)


def test_precomputed_kernels_are_symmetric(data):
    X, y, s = data
    K = X @ X.T
    K[0, 1] += 1.0
    with pytest.raises(ValueError, match="differ from their mirror image by up to 1"):
        ParityKernelRidge(kernel="precomputed").fit(K, y, sensitive_features=s)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("sex", "no column names"),
        (3, "holds 3, but X has 3 columns"),
        ([0.5], "holds 0.5"),
    ],
    ids=str,
)
def test_bad_sensitive_columns(columns, message, data):
    X, y, _ = data
    with pytest.raises(ValueError, match=message):
        ParityRidge(sensitive_columns=columns).fit(X, y)
    frame = pd.DataFrame(X, columns=["x", "y", "z"])
    with pytest.raises(ValueError, match=r"names 'sex', but X has columns \['x', 'y', 'z'\]"):
        ParityRidge(sensitive_columns="sex").fit(frame, y)


def test_names_where_columns_belong(data):
    X, y, s = data
    frame = pd.DataFrame(X, columns=["x", "y", "z"])
    with pytest.raises(ValueError, match=r"\['x', 'y'\] names columns of X.*sensitive_columns="):
        ParityRidge().fit(frame, y, sensitive_features=["x", "y"])
    with pytest.raises(ValueError, match=r"has 2 rows, but the data have 30\. Is it transposed"):
        ParityRidge().fit(frame, y, sensitive_features=[s, s])


def test_text_that_is_not_dropped(data):
    X, y, s = data
    frame = pd.DataFrame(X, columns=["x", "y", "z"]).assign(sex=s)
    with pytest.raises(ValueError, match="drop_sensitive=True"):
        ParityRidge(sensitive_columns="sex").fit(frame, y)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_other_columns_at_predict(estimator, data):
    X, y, s = data
    model = estimator().fit(X, y, sensitive_features=s)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="X has 2 features"):
        model.tradeoff_.at(0.5).predict(X[:, :2])
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.predict(X[0])
    with pytest.raises(ValueError, match="contains NaN"):
        model.predict(put(X, np.nan))
    frame = pd.DataFrame(X, columns=["x", "y", "z"])
    model.fit(frame, y, sensitive_features=s)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"z": "w"}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    with pytest.raises(ValueError, match=r"X has the columns \['x', 'z', 'y'\], but fit saw"):
        model.tradeoff_.at(0.5).predict(frame[["x", "z", "y"]])


@pytest.mark.filterwarnings("ignore:Only a constant")
def test_a_group_with_one_row_gets_the_overall_mean(data):
    """Documented: the mean of one row is its prediction."""
    X, y, s = data
    s = put(s, "d")
    for model in (ParityRidge(), ParityKernelRidge(kernel="rbf")):
        predicted = model.fit(X, y, sensitive_features=s).predict(X)
        assert predicted[0] == pytest.approx(predicted.mean(), abs=1e-12)


def test_more_groups_than_the_space_has_functions(data):
    """Documented: what is left is what every group can share, here the constant alone."""
    X, y, _ = data
    s = np.arange(30) // 2
    with pytest.warns(ParityWarning, match=r"Only a constant meets all 14 conditions \(15 gaps\)"):
        model = ParityRidge().fit(X, y, sensitive_features=s)
    assert np.allclose(model.coef_, 0, atol=1e-12)
    assert np.allclose(model.predict(X), y.mean())


def test_constant_targets_and_features(data):
    X, _, s = data
    for model in (ParityRidge(), ParityKernelRidge(kernel="rbf", fit_intercept=True)):
        assert np.allclose(model.fit(X, np.full(30, 3.0), sensitive_features=s).predict(X), 3.0)
        model.fit(np.ones((30, 2)), np.arange(30.0), sensitive_features=s)
        assert np.allclose(model.predict(np.ones((2, 2))), 14.5)
    zero = ParityKernelRidge(kernel="linear").fit(
        np.zeros((30, 2)), np.arange(30.0), sensitive_features=s
    )
    assert np.allclose(zero.predict(X[:, :2]), 0)
    zero = ParityKernelRidge(solver="dense").fit(
        np.zeros((30, 2)), np.arange(30.0), sensitive_features=s
    )
    assert np.allclose(zero.predict(X[:, :2]), 0)


def test_sparse_text_and_types(data):
    X, y, s = data
    model = ParityRidge().fit(X.astype(np.float32), y.astype(np.float32), sensitive_features=s)
    assert model.predict(X.astype(np.float32)).dtype == np.float64
    model.fit((X * 10).astype(int).tolist(), y.tolist(), sensitive_features=s.tolist())
    assert model.parity_residual_ <= 1e-12
    with pytest.raises(ValueError, match="contains NaN"):
        ParityRidge().fit(sparse.csr_matrix(put(X, np.nan)), y, sensitive_features=s)


def test_dense_solver_says_what_to_do_with_a_singular_matrix(data):
    X, y, s = data
    model = ParityKernelRidge(alpha=0.0, solver="dense", kernel="poly", degree=1)
    with pytest.raises(np.linalg.LinAlgError, match="larger alpha, or solver='spectral'"):
        model.fit(np.vstack([X, X]), np.tile(y, 2), sensitive_features=np.tile(s, 2))


def test_overflowing_kernels(data):
    X, y, s = data
    with pytest.raises(ValueError, match=r"infinite or undefined values\. Scale the features"):
        ParityKernelRidge(kernel="poly", degree=9).fit(X * 1e40, y, sensitive_features=s)


def test_too_little_memory_is_said_before_it_is_needed(data, monkeypatch):
    X, y, s = (np.tile(part.T, 50).T for part in data)
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    needed = r"kernel matrix of 1,500 rows needs 17\.17 MiB, but only 1000 bytes.*ParityRidge"
    with pytest.raises(MemoryError, match=needed):
        ParityKernelRidge(kernel="rbf", solver="dense").fit(X, y, sensitive_features=s)
    with pytest.raises(MemoryError, match=r"Solving for 900 columns needs 18\.54 MiB"):
        ParityRidge().fit(np.hstack([X] * 300), y, sensitive_features=s)


def test_rounding_that_shows_is_said():
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((300, 1)), rng.integers(0, 2, 300)
    model = ParityKernelRidge(kernel="rbf", gamma=0.1, alpha=1e-11)
    with pytest.warns(ParityWarning, match=r"A gap of .* standard deviations .* Raise alpha"):
        model.fit(X, rng.standard_normal(300), sensitive_features=s)


def test_constructor_parameters_are_left_alone(data):
    X, y, s = data
    constraint, alpha = MeanParity(), np.array([1.0])
    model = ParityKernelRidge(constraint=constraint, alpha=alpha).fit(X, y, sensitive_features=s)
    assert model.constraint is constraint
    assert model.alpha is alpha


@pytest.mark.filterwarnings("ignore:No function of this space meets")
def test_a_limit_that_cannot_be_met_leaves_the_earlier_model_as_it_was():
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((60, 3)), np.arange(60) % 9
    y = X[:, 0] + s
    model = ParityRidge(constraint="residual_parity").fit(X, y, sensitive_features=s)
    tradeoff, before = model.tradeoff_, model.predict(X)
    with pytest.raises(ValueError, match="No function of this space has gaps as small as that"):
        model.set_params(max_gap=0.0).fit(2 * X, -y, sensitive_features=s)
    assert model.tradeoff_ is tradeoff
    assert np.array_equal(model.predict(X), before)


@pytest.mark.filterwarnings("ignore:No function of this space meets", "ignore:.* groups of fewer")
@pytest.mark.parametrize("refused_by", ["max_gap", "statistics"])
def test_a_refused_fit_leaves_the_earlier_model(data, refused_by):
    """Also the number and the names of its columns."""
    X, y, _ = data
    first = pd.DataFrame(X, columns=["a", "b", "c"])
    other = pd.DataFrame(X[:, :2], columns=["d", "e"])
    grade = np.arange(30) % 3
    model = ParityRidge(max_gap=1e-6).fit(first, y, sensitive_features=grade)
    before, expected = dict(vars(model)), model.predict(first)
    if refused_by == "max_gap":
        model.set_params(constraint="residual_parity")
        with pytest.raises(ValueError, match="No function of this space has gaps as small as that"):
            model.fit(other, y, sensitive_features=np.arange(30) % 8)
        model.set_params(constraint=before["constraint"])
    else:
        sums = ParityRidge().statistics(other, y, sensitive_features=np.zeros(30))
        with pytest.raises(ValueError, match="one group only"):
            model.fit_statistics(sums)
    assert list(vars(model)) == list(before)
    assert all(vars(model)[name] is value for name, value in before.items())
    assert np.array_equal(model.predict(first), expected)


# --- values that would be read as something else


@pytest.mark.parametrize("make", ESTIMATORS)
def test_dates_are_not_numbers(make, data):
    X, y, s = data
    days = pd.date_range("2020-01-01", periods=30)
    for dates in (days, days.to_series(), days.to_numpy(), days.to_frame()):
        with pytest.raises(ValueError, match="y holds dates or times"):
            make().fit(X, dates, sensitive_features=s)
    frame = pd.DataFrame(X, columns=list("abc"))
    for table in (frame.assign(day=days), pd.DataFrame({"day": days})):
        with pytest.raises(ValueError, match=r"X holds dates or times \('day'\)"):
            make().fit(table, y, sensitive_features=s)
    with pytest.raises(ValueError, match=r"X holds dates or times \(all columns\)"):
        make().fit(days.to_numpy()[:, None], y, sensitive_features=s)


@pytest.mark.parametrize("make", ESTIMATORS)
def test_masked_values_are_refused_and_masks_without_any_are_not(make, data):
    X, y, s = data
    first = np.arange(30) < 2
    hidden = {"y": np.ma.masked_array(y, first), "X": np.ma.masked_array(X, X > 1)}
    with pytest.raises(ValueError, match="y has 2 masked values"):
        make().fit(X, hidden["y"], sensitive_features=s)
    with pytest.raises(ValueError, match=f"X has {np.sum(X > 1)} masked values"):
        make().fit(hidden["X"], y, sensitive_features=s)
    weights = np.ma.masked_array(np.ones(30), first)
    with pytest.raises(ValueError, match="sample_weight has 2 masked values"):
        make().fit(X, y, sensitive_features=s, sample_weight=weights)
    plain = make().fit(X, y, sensitive_features=s).predict(X)
    bare = [np.ma.masked_array(values) for values in (X, y)]
    assert np.array_equal(make().fit(*bare, sensitive_features=s).predict(X), plain)


def test_a_group_without_weight_is_named(data):
    X, y, s = data
    with pytest.raises(ValueError, match=r"one group only \('c' in all 10 rows that have"):
        ParityRidge().fit(X, y, sensitive_features=s, sample_weight=(s == "c") * 1.0)
    with pytest.raises(ValueError, match=r"All rows of 'a' and 'b' have weight 0\."):
        ParityRidge().fit(X, y, sensitive_features=s, sample_weight=(s == "c") * 1.0)


def test_predict_says_that_it_does_not_take_groups(data):
    X, y, s = data
    for make in (*ESTIMATORS, ParityKernelRidgeCV, ParityKernelRegressor):
        model = make().fit(X, y, sensitive_features=s)
        with pytest.raises(TypeError, match=f"{make.__name__}.predict takes no sensitive_feature"):
            model.predict(X, sensitive_features=s)


# --- the order of rows


def shuffled(values):
    return values.sample(frac=1, random_state=1)


def test_columns_in_another_order_than_features_are_refused(data):
    X, y, s = data
    frame, column = pd.DataFrame(X), pd.Series(s, name="s")
    for wrong in (shuffled(column), shuffled(column.to_frame()), {"s": shuffled(column)}):
        with pytest.raises(ValueError, match=r"sensitive_features.* has another index than X"):
            ParityRidge().fit(frame, y, sensitive_features=wrong)
    with pytest.raises(ValueError, match="y has another index than X: row 0 is labelled "):
        ParityRidge().fit(frame, shuffled(pd.Series(y)), sensitive_features=s)
    weights = shuffled(pd.Series(np.ones(30)))
    with pytest.raises(ValueError, match="sample_weight has another index"):
        ParityRidge().fit(frame, y, sensitive_features=s, sample_weight=weights)
    grade = shuffled(pd.Series(np.arange(30) % 2, name="grade"))
    with pytest.raises(ValueError, match="control_features has another index"):
        ParityRidge().fit(frame, y, sensitive_features=s, control_features=grade)
    with pytest.raises(ValueError, match="In the pool: sensitive_features has another index"):
        ParityRidge().fit(frame, y, sensitive_features=s, pool=(frame, shuffled(column)))
    model = ParityRidge().fit(frame, y, sensitive_features=column)
    with pytest.raises(ValueError, match="sensitive_features has another index than X"):
        model.report(frame, y, sensitive_features=shuffled(column))
    adjusted = ParityAdjusted(correction="groups").fit(frame, y, sensitive_features=column)
    with pytest.raises(ValueError, match="sensitive_features has another index than X"):
        adjusted.predict(frame, sensitive_features=shuffled(column))


def test_an_index_is_compared_and_not_only_the_order(data):
    X, y, s = data
    frame, column = pd.DataFrame(X), pd.Series(s, name="s")
    # in the frame's own memory layout: another one may round differently
    plain = ParityRidge().fit(frame.to_numpy(), y, sensitive_features=s).predict(X)
    names = [f"p{i}" for i in range(30)]
    same = frame.set_axis(names), column.set_axis(names)
    default = frame, column.set_axis(names)  # a default index says nothing about the rows
    kept = frame.set_axis(range(0, 60, 2)), column  # as after df[keep] and reset_index
    without = frame.set_axis(names), s
    for rows, groups in (same, default, kept, without):
        assert np.array_equal(
            ParityRidge().fit(rows, y, sensitive_features=groups).predict(X), plain
        )
    others = column.set_axis([f"q{i}" for i in range(30)])
    with pytest.raises(ValueError, match="labelled 'q0' there and 'p0' in X"):
        ParityRidge().fit(same[0], y, sensitive_features=others)
    picked = np.r_[np.arange(15), np.arange(15)]  # a bootstrap sample has labels twice
    ParityRidge().fit(frame.iloc[picked], y[picked], sensitive_features=column.iloc[picked])


# --- values that fit did not see


def test_unseen_values_of_sensitive_features_are_noted(data):
    X, y, s = data
    frame = pd.DataFrame(X, columns=list("xyz")).assign(s=np.unique(s, return_inverse=True)[1])
    model = ParityRidge(sensitive_columns=["s"]).fit(frame, y)
    model.predict(frame)
    other = frame.assign(s=np.where(np.arange(30) < 2, 7, frame["s"]))
    with pytest.warns(ParityWarning, match=r"2 rows of X have s=7 that fit did not see"):
        model.predict(other)


def test_blank_and_unseen_groups_have_no_shift(data):
    X, y, s = data
    model = ParityAdjusted(correction="groups").fit(X, y, sensitive_features=s)
    for value, shown in ((None, "missing"), ("z", "'z'")):
        with pytest.raises(ValueError, match=f"fit saw no rows with sensitive = {shown}"):
            model.predict(X, sensitive_features=put(s.astype(object), value))


def test_gamma_is_the_number_that_the_kernel_used(data):
    X, y, s = data
    found = {
        kernel: ParityKernelRidgeCV(kernel=kernel).fit(X, y, sensitive_features=s)
        for kernel in ("rbf", "laplacian", "linear")
    }
    assert [model.gamma_ for model in found.values()] == [1 / 3, 1 / 3, None]
    for kernel in ("rbf", "laplacian"):
        named = ParityKernelRidge(
            kernel=kernel, gamma=found[kernel].gamma_, alpha=found[kernel].alpha_
        ).fit(X, y, sensitive_features=s)
        assert np.allclose(named.predict(X), found[kernel].predict(X), rtol=0, atol=1e-12)
    two = Kernel("rbf", columns=[0, 1])
    assert ParityKernelRidgeCV(kernel=two).fit(X, y, sensitive_features=s).gamma_ == 0.5


def test_rows_that_are_shifted_against_each_other_are_refused(data):
    """A run of numbers beside the default index; pieces that were reset are not refused."""
    X, y, s = data
    frame, outcome, column = pd.DataFrame(X), pd.Series(y), pd.Series(s, name="s")
    model = ParityRidge()
    for first in (1, 5, 14):  # rows that remain overlap
        late, early = slice(first, None), slice(None, -first)
        wrong, right = column.iloc[early], column.iloc[late]
        with pytest.raises(ValueError, match=f"labelled 0 there and {first} in X"):
            model.fit(frame.iloc[late], outcome.iloc[late], sensitive_features=wrong)
        model.fit(frame.iloc[late], outcome.iloc[late], sensitive_features=right)
        with pytest.raises(ValueError, match="y has another index than X"):
            model.fit(frame.iloc[early], outcome.iloc[late], sensitive_features=s[early])
        reset = column.iloc[late].reset_index(drop=True)
        with pytest.raises(ValueError, match="sensitive_features has another index than X"):
            model.fit(frame.iloc[late], outcome.iloc[late], sensitive_features=reset)
        model.fit(frame.iloc[late], outcome.iloc[late], sensitive_features=reset.to_numpy())
    later = frame.iloc[15:]  # shares no label with the default index of 15 rows
    model.fit(later, outcome.iloc[15:], sensitive_features=column.iloc[15:].reset_index(drop=True))
    for seed in range(3):
        for piece in train_test_split(frame, random_state=seed, test_size=0.3):
            groups = column.loc[piece.index].reset_index(drop=True)
            model.fit(piece, outcome.loc[piece.index], sensitive_features=groups)
    holes = frame[np.arange(30) % 5 > 0]
    model.fit(holes, outcome[holes.index], sensitive_features=column[:24])
    refuse_other_order(X=pd.Series(dtype=float), y=pd.Series(0.0, pd.Index([], dtype=object)))


@pytest.mark.parametrize(
    ("own", "other", "at"),
    [
        (pd.CategoricalIndex(list("abc")), pd.CategoricalIndex(list("abd")), "row 2 .* 'd' .* 'c'"),
        (pd.Index([1.0, np.nan, 3.0]), pd.Index([1.0, np.nan, 4.0]), "row 2 .* 4.0 .* 3.0"),
        (pd.RangeIndex(3), pd.Index([0.0, 2.0, 1.0]), "row 1 .* 2.0 .* 1"),
    ],
)
def test_indices_of_all_kinds_are_compared(own, other, at):
    with pytest.raises(ValueError, match=at):
        refuse_other_order(X=pd.Series(0.0, own), y=pd.Series(0.0, other))
    refuse_other_order(X=pd.Series(0.0, own), y=pd.Series(0.0, own))
