"""Statistics: they add up, go to disk and back, and lose no digits that matter."""

from __future__ import annotations

import functools
import pickle
import warnings
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from meanparity import (
    MeanParity,
    Nystrom,
    ParityKernelRidge,
    ParityRidge,
    ParityWarning,
    Statistics,
)
from meanparity.files import pack, unpack
from meanparity.kernels import Kernel
from meanparity.metrics import max_mean_gap
from meanparity.solvers.features import KernelFeatures
from tests.statistics.streams import NYSTROM, table


@given(seed=st.integers(0, 10**6), kernel=st.booleans())
def test_any_tree_of_sums_is_one_pass(seed, kernel):
    X, y, s = table(seed)
    model = clone(NYSTROM).set_params(solver__landmarks=X[:30]) if kernel else ParityRidge()
    parts = [
        model.statistics(X[rows], y[rows], sensitive_features=s[rows])
        for rows in np.array_split(np.random.default_rng(seed).permutation(len(s)), 6)
    ]
    rng = np.random.default_rng(seed)
    tree = list(parts)
    while len(tree) > 1:
        i, j = sorted(rng.choice(len(tree), 2, replace=False))
        second, first = tree.pop(j), tree.pop(i)
        tree.append(first + second)
    whole = clone(model).fit(X, y, sensitive_features=s)
    assert sum(tree).loss.n_rows == len(X)
    merged = clone(model).fit_statistics(tree[0])
    assert merged.predict(X) == pytest.approx(whole.predict(X), abs=1e-9)
    # what was added can be taken back
    without = clone(model).fit_statistics(tree[0] - parts[2] - parts[4])
    rest = functools.reduce(lambda a, b: a + b, [parts[i] for i in (0, 1, 3, 5)])
    assert without.predict(X) == pytest.approx(
        clone(model).fit_statistics(rest).predict(X), abs=1e-9
    )
    assert set((tree[0] - parts[2]).cells.values) <= set(tree[0].cells.values)


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_statistics_on_disk(kind, tmp_path):
    X, y, s = table(12, wide=5)
    frame = pd.DataFrame(X, columns=list("abcdefghijklmnopqrst"))
    people = {
        "sensitive_features": pd.DataFrame({"sex": s, "old": np.arange(120) % 2 == 0}),
        "control_features": np.arange(120) % 3,
        "sample_weight": np.linspace(1, 2, 120),
    }
    model = ParityRidge() if kind == "linear" else clone(NYSTROM)
    model.set_params(constraint=MeanParity(min_group_size=0))
    found = model.statistics(frame, np.stack([y, -y], axis=1), **people)
    path = tmp_path / "site.npz"
    found.save(path)
    again = Statistics.load(path)
    first, second = (clone(model).fit_statistics(part) for part in (found, again))
    assert np.array_equal(first.predict(frame), second.predict(frame))
    assert clone(model).fit_statistics(again + found).statistics_.loss.n_rows == 240
    assert again.cells.values == found.cells.values
    assert list(second.feature_names_in_) == list("abcdefghijklmnopqrst")
    assert [p.name for p in tmp_path.iterdir()] == ["site.npz"]


def test_files_that_are_not_what_they_were(tmp_path):
    X, y, s = table(13)
    path = tmp_path / "site.npz"
    found = ParityRidge().statistics(X, y, sensitive_features=s)
    found.save(path)
    whole = path.read_bytes()
    for place in np.random.default_rng(0).integers(0, len(whole), 40):
        content = bytearray(whole)
        content[place] ^= 1
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"is not a file|was changed after it was written"):
            Statistics.load(path)
    header, arrays = unpack(whole, "x", "file of statistics")
    path.write_bytes(pack(header | {"format": 99}, arrays))
    with pytest.raises(ValueError, match=r"has format 99, but meanparity .* reads formats up to 1"):
        Statistics.load(path)
    wrong = [{"what": "model file"}, {"statistics": 3}, {"statistics": {"kind": "Statistics"}}]
    for change in wrong:
        path.write_bytes(pack(header | change, arrays))
        with pytest.raises(ValueError, match="is not a file of statistics"):
            Statistics.load(path)
    for junk in (b"", b"PK", pickle.dumps({"format": 2})):
        path.write_bytes(junk)
        with pytest.raises(ValueError, match="is not a file of statistics"):
            Statistics.load(path)
    np.savez(path, header=np.array([object()]), allow_pickle=True)
    with pytest.raises(ValueError, match="is not a file of statistics"):
        Statistics.load(path)
    with pytest.raises(FileNotFoundError):
        Statistics.load(tmp_path / "nowhere.npz")
    decimals = np.array([Decimal(1), Decimal(2)] * 60, dtype=object)
    ParityRidge().statistics(X, y, sensitive_features=decimals).save(path)
    assert Statistics.load(path).cells.values == ((1.0,), (2.0,))
    own = clone(NYSTROM).set_params(kernel=lambda a, b: float(np.exp(-((a - b) ** 2).sum())))
    own.set_params(gamma=None, solver=Nystrom(5))
    with pytest.raises(ValueError, match="of type function, which a file cannot hold"):
        own.statistics(X, y, sensitive_features=s).save(path)


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("power", [2, 4, 6])
def test_columns_of_unlike_sizes(alpha, power):
    X, y, s = table(15, n=400)
    Z = X * 10.0 ** np.array([-power, 0, 0, power])
    like = X if alpha == 0 else Z  # without a penalty, units do not matter
    whole = ParityRidge(alpha=alpha).fit(like, y, sensitive_features=s)
    sums = ParityRidge(alpha=alpha)
    sums.fit_statistics(sums.statistics(Z, y, sensitive_features=s))
    assert sums.predict(Z) == pytest.approx(whole.predict(like), abs=1e-7 * y.std())


@pytest.mark.filterwarnings("ignore:A gap of")
@pytest.mark.parametrize("gamma", [1e-3, 1e-4])
@pytest.mark.parametrize("alpha", [1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize("components", [60, 300])
def test_smooth_kernels_and_tiny_penalties(gamma, alpha, components):
    """A constant is always allowed, so no fit under parity is worse than one."""
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((300, 5)), np.resize(["a", "b", "c"], 300)
    X[:, 0] += s == "b"
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(300) + (s == "b")
    model = ParityKernelRidge(
        kernel="rbf", gamma=gamma, alpha=alpha, fit_intercept=True, solver=Nystrom(components)
    )
    model.fit(X, y, sensitive_features=s)
    assert model.score(X, y) > 0.05
    gap = max_mean_gap(None, model.predict(X), sensitive_features=s)
    assert gap <= max(1e-10 * y.std(), 10 * model.parity_residual_)


def test_rounding_of_large_coefficients_is_told():
    rng = np.random.default_rng(2)
    X, s = rng.standard_normal((400, 5)), rng.integers(0, 3, 400)
    X[:, 0] += s == 1
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(400) + (s == 1)
    smooth = clone(NYSTROM).set_params(gamma=1e-6, alpha=0.0, solver__n_components=50)
    for landmarks in ("rpcholesky", "uniform"):
        model = clone(smooth).set_params(solver__landmarks=landmarks)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                model.fit(X, y, sensitive_features=s)
            except ValueError:  # refused: the constraint cannot be met in floating point
                continue
        gap = max_mean_gap(None, model.predict(X), sensitive_features=s)
        assert gap <= 10 * model.parity_residual_
        assert gap <= 1e-10 * y.std() or any("because of rounding" in str(w.message) for w in told)


def test_sums_of_other_settings_are_refused_or_fit():
    X, y, s = table(16, far=5.0)
    taken = ParityRidge().statistics(X, y, sensitive_features=s)
    through = ParityRidge(fit_intercept=False).fit_statistics(taken)
    whole = ParityRidge(fit_intercept=False).fit(X, y, sensitive_features=s)
    assert through.intercept_ == 0
    assert through.predict(X) == pytest.approx(whole.predict(X), abs=1e-8)
    for other in (MeanParity(missing="group"), MeanParity(intersectional=False)):
        with pytest.raises(ValueError, match="These statistics were collected with"):
            ParityRidge(constraint=other).fit_statistics(taken)
    landmarks = clone(NYSTROM).statistics(X, y, sensitive_features=s)
    for model, sums in (
        (ParityRidge(), landmarks),
        (clone(NYSTROM), taken),
        (clone(NYSTROM).set_params(gamma=5.0), landmarks),
        (ParityKernelRidge(), landmarks),
    ):
        with pytest.raises(ValueError, match=", not of the features of"):
            model.fit_statistics(sums)
    mine = ParityRidge().statistics(X[60:], y[60:], sensitive_features=s[60:])
    never = ParityRidge().statistics(5 * X[:50], 9 * y[:50], sensitive_features=s[:50])
    with pytest.raises(ValueError, match="rows were subtracted that had never been added"):
        ParityRidge().fit_statistics(mine - never)
    two = ParityRidge().statistics(X, np.stack([y, y], axis=1), sensitive_features=s)
    with pytest.raises(ValueError, match="y with 1 outputs, the others of one with 2"):
        taken + two


def test_wrong_batches_speak():
    X, y, s = table(0)
    model = ParityRidge().partial_fit(X, y, sensitive_features=s)
    with pytest.raises(ValueError, match="X has 3 features, but ParityRidge is expecting 4"):
        model.partial_fit(X[:, :3], y, sensitive_features=s)
    with pytest.raises(ValueError, match="before it had 1 outputs"):
        model.partial_fit(X, np.stack([y, y], axis=1), sensitive_features=s)
    with pytest.raises(ValueError, match="fit had none"):
        model.partial_fit(X, y, sensitive_features=s, control_features=s)
    total = model.statistics_
    with pytest.raises(TypeError, match="is not a Statistics"):
        total + 1
    with pytest.raises(TypeError, match="is not a Statistics"):
        model.fit_statistics(total.loss)
    with pytest.raises(ValueError, match="Leave at least one"):
        total - total
    few = ParityRidge().statistics(X[:9], y[:9], sensitive_features=["q", "a", "b"] * 3)
    with pytest.raises(ValueError, match=r"rows with the values \('q',\) would be removed"):
        total - few
    other = clone(NYSTROM).statistics(X, y, sensitive_features=s)
    for left, right in ((total, other), (other, total)):
        with pytest.raises(ValueError, match="statistics of the same"):
            left + right
    moved = (
        clone(NYSTROM).set_params(solver__landmarks=X[:7]).statistics(X, y, sensitive_features=s)
    )
    with pytest.raises(ValueError, match="same kernel and landmarks add up"):
        moved + other
    named = ParityRidge().statistics(pd.DataFrame(X, columns=list("abcd")), y, sensitive_features=s)
    with pytest.raises(ValueError, match="Pass the same columns"):
        total + named
    ages = ParityRidge(constraint=MeanParity(continuous=[0])).statistics(
        X, y, sensitive_features=np.arange(120)
    )
    with pytest.raises(
        ValueError, match=r"name the numbers among them with MeanParity\(continuous"
    ):
        total + ages
    assert repr(total) == "Statistics(120 rows in 3 cells; 4 columns)"


def test_the_last_digits_of_another_machine_do_not_matter():
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((400, 3)), rng.choice(["a", "b"], 400)
    y = X[:, 0] + (s == "a")
    model = ParityKernelRidge(
        kernel="rbf", gamma=0.5, fit_intercept=True, solver=Nystrom(landmarks=X[:60])
    )
    whole = clone(model).fit(X, y, sensitive_features=s)
    mine, theirs = (
        model.statistics(X[part], y[part], sensitive_features=s[part])
        for part in (slice(0, 250), slice(250, 400))
    )
    # as if their landmarks had come in another order, with a W of other rounding
    order = rng.permutation(theirs.features.width)
    K = (
        Kernel("rbf", gamma=0.5)
        .bind(theirs.features.landmarks[order])
        .block(theirs.features.landmarks[order])
    )
    W = np.linalg.inv(np.linalg.cholesky(K)).T
    features = KernelFeatures(
        theirs.features.landmarks[order], theirs.features.spec, None, np.ascontiguousarray(W), False
    )
    turn = np.linalg.solve(theirs.features.whitening, np.eye(len(W)))  # φ to ψ
    psi = turn.T @ theirs.loss.gram @ turn
    loss = replace(
        theirs.loss,
        features=theirs.loss.features[order],
        cross=theirs.loss.cross[order],
        gram=W.T @ psi[np.ix_(order, order)] @ W,
        whitened=W.T @ theirs.loss.features[order],
    )
    sums = replace(theirs.cells.sums, features=theirs.cells.sums.features[:, order])
    cells = replace(theirs.cells, sums=sums)
    elsewhere = replace(theirs, features=features, loss=loss, cells=cells)
    together = clone(model).fit_statistics(mine + elsewhere)
    assert together.predict(X) == pytest.approx(whole.predict(X), abs=1e-7)
    assert together.parity_residual_ < 1e-10


def test_settings_of_statistics_have_to_be_the_same():
    rng = np.random.default_rng(0)
    X, s, w = rng.standard_normal((90, 3)), rng.choice(["a", "b"], 90), rng.uniform(0.5, 2, 90)
    y = X[:, 0] + (s == "a")
    given = {"sensitive_features": s, "sample_weight": w}
    both = ParityRidge().statistics(X, y, **given)
    with pytest.raises(
        ValueError, match="collected with weight_scope='both', but the constraint has 'loss'"
    ):
        ParityRidge(constraint=MeanParity(weight_scope="loss")).fit_statistics(both)
    with pytest.raises(ValueError, match="Weights count in 'both' here and in 'loss' there"):
        both + ParityRidge(constraint=MeanParity(weight_scope="loss")).statistics(X, y, **given)
    plain = ParityRidge(constraint=MeanParity(weight_scope="loss")).statistics(
        X, y, sensitive_features=s
    )
    assert (plain + both).weight_scope == (both + plain).weight_scope == "both"
    drawn = ParityKernelRidge(kernel="rbf", gamma=0.1, solver=Nystrom(20))
    found = drawn.statistics(X, y, sensitive_features=s)
    for change in ({"gamma": 5.0}, {"kernel": "laplacian"}, {"solver__landmarks": X[:9]}):
        with pytest.raises(ValueError, match="not of the features of this ParityKernelRidge"):
            clone(drawn).set_params(**change).fit_statistics(found)
    points = ParityKernelRidge(kernel="rbf", solver=Nystrom(landmarks=X[:40]))
    found = points.statistics(X, y, sensitive_features=s)
    with pytest.raises(ValueError, match="not of the features of this ParityKernelRidge"):
        clone(points).set_params(solver__landmarks=X[50:60]).fit_statistics(found)


def test_double_landmarks_keep_double_precision():
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((600, 4)).astype(np.float32), rng.choice(["a", "b"], 600)
    y = np.sin(X[:, 0]) + (s == "a")
    model = ParityKernelRidge(kernel="rbf", gamma=1e-3, fit_intercept=True, solver=Nystrom(100))
    first, rest = slice(0, 300), slice(300, 600)
    double = X.astype(float)
    mixed = clone(model).partial_fit(double[first], y[first], sensitive_features=s[first])
    mixed.partial_fit(X[rest], y[rest], sensitive_features=s[rest])
    whole = clone(model).partial_fit(double[first], y[first], sensitive_features=s[first])
    whole.partial_fit(double[rest], y[rest], sensitive_features=s[rest])
    assert mixed.predict(double) == pytest.approx(whole.predict(double), abs=1e-9)


def forge(path, change):
    """A file whose digest is right, and whose numbers are not."""
    header, arrays = unpack(path.read_bytes(), "x", "file of statistics")
    change(arrays, header["statistics"]["state"])
    path.write_bytes(pack(header, arrays))


def nodes(state, *names):
    for name in names:
        state = state[name] if name in state else state["state"][name]
    return state["array"]


SUMS = [
    *(("loss", name) for name in ("whitened", "gram", "cross", "targets", "squares", "features")),
    *(("cells", name) for name in ("counts", "mass", "targets", "squares", "features")),
]


@pytest.mark.parametrize(("part", "name"), SUMS)
@pytest.mark.parametrize("how", ["nan", "shape", "type", "value", "negative"])
def test_statistics_that_are_not_sums_over_rows_are_refused(part, name, how, tmp_path):
    X, y, s = table(13)
    path = tmp_path / "site.npz"
    ParityRidge().statistics(X, y, sensitive_features=s).save(path)

    def change(arrays, state):
        key = nodes(state, *(("loss", name) if part == "loss" else ("cells", "sums", name)))
        array = arrays[key].copy()
        if how == "nan":
            array = array.astype(float)
            array.flat[0] = np.nan
        elif how == "shape":
            array = array[..., :-1] if array.shape[-1] > 1 else np.hstack([array, array])
        elif how == "type":
            array = array.astype(str)
        elif how == "value":  # not on the diagonal of a matrix, where it might be of other rows
            array.flat[-1 if name != "gram" else 1] = 1e6 * (1 + abs(array.flat[0]))
        else:
            array = -array
        arrays[key] = array

    if how == "negative" and name in ("targets", "cross"):
        how = "value"  # outcomes with the other sign are also outcomes
    forge(path, change)
    with pytest.raises(ValueError, match="is not a file of statistics of meanparity"):
        Statistics.load(path)


def test_sums_that_lose_their_digits_are_noted():
    X, y, s = table(14)
    rest = ParityRidge().statistics(X, y, sensitive_features=s)
    large = ParityRidge().statistics(1e7 * X, y, sensitive_features=s, like=rest)
    with pytest.warns(ParityWarning, match=r"a feature falls .* About \d digits .* are right"):
        left = (rest + large) - large
    assert left.n_rows == rest.n_rows
    outcomes = ParityRidge().statistics(X, 1e9 * y, sensitive_features=s, like=rest)
    with pytest.warns(ParityWarning, match=r"sum of squares of y falls from"):
        (rest + outcomes) - outcomes
    few = ParityRidge().statistics(X[:50], y[:50], sensitive_features=s[:50], like=rest)
    assert (rest - few).n_rows == 70  # without a warning


def test_landmarks_that_no_kernel_can_evaluate_are_refused(tmp_path):
    X, y, s = table(0)
    statistics = clone(NYSTROM).statistics(X, y, sensitive_features=s)
    landmarks = statistics.features.landmarks.copy()
    landmarks[0, 0] = 1e300
    forged = replace(statistics, features=replace(statistics.features, landmarks=landmarks))
    forged.save(tmp_path / "forged.npz")
    with pytest.raises(ValueError, match="whose squares are not finite"):
        Statistics.load(tmp_path / "forged.npz")
