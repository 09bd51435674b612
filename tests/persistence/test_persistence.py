"""Model files: the same bits back, and nothing else in."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import ElasticNet, LassoCV, Ridge, SGDRegressor, TweedieRegressor
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.fixes import parse_version

import meanparity
from meanparity import (
    MeanParity,
    ParityAdjusted,
    ParityKernelRidge,
    ParityRidge,
    ParityRidgeCV,
)
from meanparity.audit import audit
from meanparity.baselines import BarycenterRegressor
from meanparity.displays import TradeoffDisplay
from meanparity.files import FORMAT, pack, unpack
from meanparity.metrics import mean_parity_gap
from meanparity.persistence import Saved, load, read, save, stored
from meanparity.persistence.foreign import write_foreign
from meanparity.state import FITS_WITH, KINDS, Writer
from tests.persistence.models import MODELS, NEED_GROUPS, OF_SKLEARN, N, S, X, Y, fit, predict

FILES = Path(__file__).with_name("files")


def written(model):
    """Everything that a file says about a model."""
    writer = Writer(write_foreign)
    return writer.write(model), writer.arrays


@pytest.mark.parametrize("name", MODELS)
def test_every_model_comes_back_bit_for_bit(name, tmp_path):
    model = fit(name)
    save(model, tmp_path / "m.meanparity")
    back = load(tmp_path / "m.meanparity")
    assert type(back) is type(model)
    np.testing.assert_array_equal(predict(name, back), predict(name, model))
    if hasattr(model, "tradeoff_"):
        np.testing.assert_array_equal(
            back.tradeoff_.at(0.3).predict(X), model.tradeoff_.at(0.3).predict(X)
        )
        np.testing.assert_array_equal(
            back.tradeoff_.training_curve().mse, model.tradeoff_.training_curve().mse
        )
    (first, arrays), (second, same) = written(model), written(back)
    assert second == first
    assert arrays.keys() == same.keys()
    for key, array in arrays.items():
        if "skops" not in json.dumps(first):  # which numbers its objects anew
            np.testing.assert_array_equal(same[key], array)
            assert same[key].dtype == array.dtype


@pytest.mark.parametrize("name", sorted(set(MODELS) - NEED_GROUPS))
def test_minimal_files_predict_the_same_and_say_nothing_about_groups(name, tmp_path):
    model = fit(name)
    save(model, tmp_path / "m.meanparity", minimal=True)
    found = read(tmp_path / "m.meanparity")
    assert found.minimal
    np.testing.assert_array_equal(predict(name, found.model), predict(name, model))
    header, arrays = unpack((tmp_path / "m.meanparity").read_bytes(), "m", "model file")
    assert "female" not in json.dumps(header)
    ours = [found.model]
    if name in OF_SKLEARN:
        ours = [found.model.steps[-1][1] if name == "pipeline" else found.model.regressor_]
    for part in ours:
        assert not {"tradeoff_", "gaps_", "group_means_", "group_counts_"} & set(vars(part))
    targets = [Y.to_numpy(), np.exp(0.2 * Y.to_numpy())]
    for array in arrays.values():  # neither targets nor the groups of training rows
        assert not any(array.shape[:1] == (N,) and np.isin(y, array).all() for y in targets)
        assert array.shape[:1] != (N,) or array.dtype.kind == "f"


def ours(model):
    """The estimator of ours in a pipeline or another container."""
    if hasattr(model, "steps"):
        return model.steps[-1][1]
    return getattr(model, "regressor_", model)


@pytest.mark.parametrize("name", MODELS)
def test_minimal_files_have_only_what_predicting_needs(name, tmp_path):
    model = fit(name)
    save(model, tmp_path / "m.meanparity", minimal=True)
    back = load(tmp_path / "m.meanparity")
    np.testing.assert_array_equal(predict(name, back), predict(name, model))
    whole, part = ours(model), ours(back)
    kind = next(kind for kind in KINDS.values() if kind.cls is type(part))
    parameters = part.get_params(deep=False)
    assert set(vars(part)) - set(parameters) <= set(kind.predicts_with)
    assert set(vars(part)) < set(vars(whole)) or "Penalty" in type(part).__name__
    default = type(part)().get_params(deep=False)
    for parameter in FITS_WITH:
        assert parameters.get(parameter) == default.get(parameter)


def test_a_minimal_file_of_a_bounded_regression_says_nothing_about_its_parts(tmp_path):
    save(fit("correlation bound"), tmp_path / "m.meanparity", minimal=True)
    back = load(tmp_path / "m.meanparity")
    assert np.isnan([back._of_s.size, back._of_u.size]).all()


def test_what_only_fit_needs_does_not_keep_a_minimal_file_from_being_written(tmp_path):
    model = ParityRidgeCV(cv=OwnFolds(), constraint=Own(), alphas=[0.1, 1.0])
    model.fit(X, Y, sensitive_features=S)
    with pytest.raises(ValueError, match="not on the list"):
        save(model, tmp_path / "m.meanparity")
    save(model, tmp_path / "m.meanparity", minimal=True)
    np.testing.assert_array_equal(load(tmp_path / "m.meanparity").predict(X), model.predict(X))
    model = ParityRidgeCV(cv=list(KFold(3).split(X))).fit(X, Y, sensitive_features=S)
    save(model, tmp_path / "m.meanparity", minimal=True)
    _, arrays = unpack((tmp_path / "m.meanparity").read_bytes(), "m", "model file")
    assert max(array.size for array in arrays.values()) <= 4


def test_estimators_that_predict_declare_with_what():
    with pytest.raises(TypeError, match=r"predicts\. Pass predicts_with"):
        stored("mine/Regressor")(type("Regressor", (Ridge,), {}))


def test_a_model_from_a_minimal_file_has_no_dial_to_draw_or_report(tmp_path):
    for name in ("ridge", "ridge cv", "huber"):
        save(fit(name), tmp_path / "m.meanparity", minimal=True)
        back = load(tmp_path / "m.meanparity")
        with pytest.raises(ValueError, match="comes from a minimal file"):
            TradeoffDisplay.from_estimator(back, X, Y, sensitive_features=S)
        if name != "huber":
            with pytest.raises(ValueError, match="comes from a minimal file"):
                back.report(X, Y, sensitive_features=S)


# what docs/model-files.md says can be computed from a file


def test_a_file_of_an_exact_kernel_model_gives_targets_and_groups(tmp_path):
    model = ParityKernelRidge(kernel="rbf", gamma=0.5, alpha=0.5, fit_intercept=True)
    save(model.fit(X, Y, sensitive_features=S), tmp_path / "m.meanparity")
    ends = load(tmp_path / "m.meanparity").tradeoff_.solution
    regularised = rbf_kernel(X, gamma=0.5) + 0.5 * np.eye(N)
    shifts = (regularised @ (ends.free.coef - ends.fair.coef))[:, 0].round(9)
    assert len(set(shifts)) == len(set(zip(shifts, S, strict=True))) == 2
    targets = (regularised @ ends.free.coef + ends.free.intercept)[:, 0]
    assert targets == pytest.approx(Y.to_numpy(), abs=1e-9)


def test_a_minimal_file_of_an_exact_kernel_model_gives_few_targets_and_their_groups(tmp_path):
    few = (Y > 0).astype(float)
    model = ParityKernelRidge(kernel="rbf", gamma=0.5, alpha=0.5, fit_intercept=True)
    save(model.fit(X, few, sensitive_features=S), tmp_path / "m.meanparity", minimal=True)
    back = load(tmp_path / "m.meanparity")
    regularised = rbf_kernel(X, gamma=0.5) + 0.5 * np.eye(N)
    found = (regularised @ back.dual_coef_).round(9)
    assert len(set(found)) == len(set(zip(found, few, S, strict=True))) == 4


@pytest.mark.parametrize("name", ["rbf", "huber"])
def test_a_minimal_file_of_an_exact_kernel_model_gives_the_groups_of_the_pool(name, tmp_path):
    pool = X[:20] + 0.1, S[:20]
    model = clone(MODELS[name]).fit(X, Y, sensitive_features=S, pool=pool)
    save(model, tmp_path / "m.meanparity", minimal=True)
    found = load(tmp_path / "m.meanparity").dual_coef_[N:].round(7)
    assert len(set(found)) == len(set(zip(found, S[:20], strict=True))) == 2


def test_minimal_files_of_linear_models_have_no_rows(tmp_path):
    save(fit("ridge"), tmp_path / "m.meanparity", minimal=True)
    _, arrays = unpack((tmp_path / "m.meanparity").read_bytes(), "m", "model file")
    assert max(array.size for array in arrays.values()) <= 4
    save(fit("ridge"), tmp_path / "whole.meanparity")
    _, arrays = unpack((tmp_path / "whole.meanparity").read_bytes(), "m", "model file")
    assert max(array.size for array in arrays.values()) < 10  # nor do whole ones


def test_ridge_files_have_neither_targets_nor_groups_of_rows(tmp_path):
    save(fit("rbf"), tmp_path / "m.meanparity")
    _, arrays = unpack((tmp_path / "m.meanparity").read_bytes(), "m", "model file")
    per_row = [array for array in arrays.values() if N in array.shape]
    assert all(array.dtype.kind == "f" for array in per_row)
    assert not any(np.isin(Y, array).any() for array in per_row)


def test_notes_come_back(tmp_path):
    save(fit("ridge"), tmp_path / "m.meanparity", about={"target": "salary", "rows": [1, None]})
    found = read(tmp_path / "m.meanparity")
    assert found.about == {"target": "salary", "rows": [1, None]}
    assert not found.minimal
    assert {"meanparity", "scikit-learn"} <= set(found.versions)


def test_notes_are_plain(tmp_path):
    path = tmp_path / "m.meanparity"
    model = fit("ridge")
    save(model, path, about={"n": np.int64(3), "a": [np.float32(0.5), np.bool_(True)]})
    assert read(path).about == {"n": 3, "a": [0.5, True]}
    for about, error, message in (
        ({"a": {"n": float("nan")}}, ValueError, r"about\['a'\]\['n'\] is nan"),
        ({"a": [1, np.inf]}, ValueError, r"about\['a'\]\[1\] is inf"),
        ({"a": {3: "x"}}, TypeError, r"about\['a'\] has the key 3\. Pass keys that are text"),
        ({"a": np.zeros(2)}, TypeError, r"about\['a'\] is of type ndarray"),
        ([1], TypeError, "is not a dict"),
    ):
        with pytest.raises(error, match=message):
            save(model, tmp_path / "no.meanparity", about=about)
    assert not (tmp_path / "no.meanparity").exists()


def test_only_models_are_saved_and_loaded(tmp_path):
    for value in (3, [fit("ridge")], {"a": 1}):
        with pytest.raises(TypeError, match="is not a model"):
            save(value, tmp_path / "m.meanparity")
    forged(tmp_path / "m.meanparity", [1, 2])
    with pytest.raises(ValueError, match="it contains a list instead of a model"):
        load(tmp_path / "m.meanparity")


def test_parts_that_are_shared_stay_shared(tmp_path):
    save(fit("rbf"), tmp_path / "m.meanparity")
    back = load(tmp_path / "m.meanparity")
    assert back.X_fit_ is back.tradeoff_.basis.functions.points
    assert back.tradeoff_.solution.basis is back.tradeoff_.basis.functions


def test_any_changed_byte_is_refused(tmp_path):
    path = tmp_path / "model.meanparity"
    save(fit("ridge"), path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    ends = [0, 1, len(data) - 1, len(data) - 50, len(data) - 100]
    for position in [*ends, *rng.integers(0, len(data), 60)]:
        changed = bytearray(data)
        changed[position] ^= 1 << int(rng.integers(0, 8))
        path.write_bytes(bytes(changed))
        with pytest.raises(ValueError, match=r"was changed after it was written|is not a model"):
            load(path)
    for part in (data[:-1], data[1:], b"", b"PK", data[:500]):
        path.write_bytes(part)
        with pytest.raises(ValueError, match=r"was changed after|is not a model file"):
            load(path)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "m.meanparity"
    with pytest.raises(FileNotFoundError):
        load(path)
    good = {"what": "model file", "format": 1, "versions": {}, "about": {}, "model": 1}
    for header in (
        {},
        {"what": "model file"},
        {"what": "something", "format": 1},
        [],
        *(good | {"format": number} for number in (True, 0, -3, 1.0)),
        *(good | {name: wrong} for name in ("versions", "about") for wrong in ([], None, "x")),
    ):
        path.write_bytes(pack(header, {}))
        with pytest.raises(ValueError, match=r"m\.meanparity is not a model file"):
            load(path)
    fit("ridge, batches").statistics_.save(path)
    with pytest.raises(ValueError, match=r"m\.meanparity is not a model file"):
        load(path)


def test_a_later_format_asks_for_a_later_version(tmp_path):
    path = tmp_path / "m.meanparity"
    path.write_bytes(pack({"what": "model file", "format": FORMAT + 1}, {}))
    version = meanparity.__version__
    expected = rf"has format {FORMAT + 1}, but meanparity {version} reads .* Install a newer"
    with pytest.raises(ValueError, match=expected):
        load(path)


def forged(path, model, arrays=None):
    header = {"what": "model file", "format": FORMAT, "minimal": False, "about": {}}
    header |= {"versions": {"meanparity": "9"}, "model": model}
    path.write_bytes(pack(header, arrays or {}))


def test_what_models_do_not_have_is_refused(tmp_path):
    path = tmp_path / "m.meanparity"
    cases = [
        ({"kind": "Nothing", "state": {}}, "a 'Nothing' is not known"),
        ({"kind": "ParityRidge", "state": {"parameters": {"dict": [["x", 1]]}}}, "x"),
        ({"kind": "mine/Nothing", "state": {}}, "not known: import the module that defines it"),
        ({"array": "7"}, "its part '7' is missing"),
        ({"same": 3}, "its part 3 is missing"),
        ({"odd": 1}, "odd"),
        ({"foreign": {"container": "os.system", "state": {}}}, "not trusted: os.system"),
        ({"foreign": {"container": "sklearn.utils.os", "state": {}}}, "not trusted"),
    ]
    for node, message in cases:
        forged(path, node)
        with pytest.raises(ValueError, match=f"was not loaded: .*{message}.*meanparity 9"):
            load(path)
    part = np.frombuffer(skops.io.dumps(zipfile.ZipFile), dtype=np.uint8)
    forged(path, {"foreign": {"skops": "0"}}, {"0": part})
    with pytest.raises(ValueError, match=r"not trusted: zipfile\.ZipFile"):
        load(path)


def test_a_sparse_matrix_that_leads_outside_itself_is_refused(tmp_path):
    rows = sparse.csr_matrix(np.where(X > 0, X, 0.0))
    save(MODELS["rbf"].fit(rows, Y, sensitive_features=S), tmp_path / "m.meanparity")
    header, arrays = unpack((tmp_path / "m.meanparity").read_bytes(), "m", "model file")
    assert "sparse" in json.dumps(header)
    indptr = next(name for name, array in arrays.items() if array.shape == (N + 1,))
    arrays[indptr] = arrays[indptr].copy()
    arrays[indptr][1:-1] = 10**6
    (tmp_path / "m.meanparity").write_bytes(pack(header, arrays))
    with pytest.raises(ValueError, match="was not loaded: ind"):
        load(tmp_path / "m.meanparity")


REGRESSORS = [
    AdaBoostRegressor(n_estimators=3),
    BaggingRegressor(n_estimators=3, max_features=2),
    DecisionTreeRegressor(max_depth=3),
    ElasticNet(),
    ExtraTreesRegressor(n_estimators=3),
    GaussianProcessRegressor(),
    GradientBoostingRegressor(n_estimators=3),
    GradientBoostingRegressor(n_estimators=3, loss="huber"),
    HistGradientBoostingRegressor(max_iter=3),
    KernelRidge(),
    KNeighborsRegressor(),
    KNeighborsRegressor(algorithm="ball_tree", metric="manhattan"),
    KNeighborsRegressor(algorithm="brute"),
    LassoCV(cv=KFold(3)),
    MLPRegressor(max_iter=5),
    RandomForestRegressor(n_estimators=3),
    SGDRegressor(),
    StackingRegressor([("a", Ridge()), ("b", DecisionTreeRegressor(max_depth=2))]),
    SVR(),
    TweedieRegressor(),
    VotingRegressor([("a", Ridge()), ("b", RandomForestRegressor(n_estimators=2))]),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("base", REGRESSORS, ids=lambda base: type(base).__name__)
def test_regressors_of_scikit_learn_come_back(base, tmp_path):
    rows = X.assign(d=np.arange(N) % 3)
    model = ParityAdjusted(base).fit(rows, Y, sensitive_features=S)
    save(model, tmp_path / "m.meanparity")
    back = load(tmp_path / "m.meanparity")
    assert back.predict(rows) == pytest.approx(model.predict(rows), abs=1e-12)


def wild(base):
    """A fitted regressor with a position that leads outside an array."""
    base.fit(X, Y)
    if isinstance(base, HistGradientBoostingRegressor):
        base._predictors[0][0].nodes["left"][0] = 10**6
    elif isinstance(base, KNeighborsRegressor):
        state = list(base._tree.__getstate__())
        state[1] = state[1] + 10**9
        base._tree.__setstate__(tuple(state))
    else:
        tree = np.ravel(getattr(base, "estimators_", [base]))[0].tree_
        state = tree.__getstate__()
        column = "feature" if isinstance(base, RandomForestRegressor) else "left_child"
        state["nodes"][column][0] = 10**6
        tree.__setstate__(state)
    return base


@pytest.mark.parametrize(
    "base",
    [
        DecisionTreeRegressor(),
        GradientBoostingRegressor(n_estimators=2),
        HistGradientBoostingRegressor(max_iter=2),
        KNeighborsRegressor(algorithm="ball_tree"),
        KNeighborsRegressor(algorithm="kd_tree"),
        RandomForestRegressor(n_estimators=2),
    ],
    ids=lambda base: type(base).__name__,
)
def test_trees_that_lead_outside_themselves_are_refused(base, tmp_path):
    model = fit("adjusted")
    model.estimator = model.estimator_ = wild(clone(base))
    save(model, tmp_path / "m.meanparity")
    with pytest.raises(ValueError, match="a tree whose nodes lead outside it"):
        load(tmp_path / "m.meanparity")


def test_the_refusal_of_a_part_of_scikit_learn_does_not_speak_of_own_classes(tmp_path):
    base = KNeighborsRegressor(metric="minkowski", p=3, algorithm="kd_tree")
    model = ParityAdjusted(base).fit(X, Y, sensitive_features=S)
    with pytest.raises(ValueError, match=r"not on the list .*MinkowskiDistance64\.$"):
        save(model, tmp_path / "m.meanparity")


class Own(MeanParity):
    """A class of the user's."""


class OwnFolds(KFold):
    """Another."""


@stored("tests/Saved")
@dataclass(eq=False, repr=False)
class OwnSaved(MeanParity):
    """One that can be saved."""

    factor: float = 1.0


def test_a_class_of_the_user_can_be_saved_under_a_name_with_a_slash(tmp_path):
    model = ParityRidge(constraint=OwnSaved(factor=2.0)).fit(X, Y, sensitive_features=S)
    save(model, tmp_path / "m.meanparity")
    back = load(tmp_path / "m.meanparity")
    assert type(back.constraint) is OwnSaved
    assert back.constraint.factor == 2.0
    assert stored("tests/Saved")(OwnSaved) is OwnSaved  # as when a cell of a notebook runs again
    with pytest.raises(ValueError, match=r"no slash, and such names belong to meanparity"):
        stored("Saved")(OwnSaved)
    with pytest.raises(ValueError, match=r"'tests/Saved' is that of"):
        stored("tests/Saved")(Saved)


@pytest.mark.parametrize(
    "model",
    [
        ParityKernelRidge(kernel=lambda a, b: float(a @ b)),
        ParityRidge(constraint=Own()),
        make_pipeline(Own(), ParityRidge()),
    ],
)
def test_classes_and_functions_of_users_are_refused(model, tmp_path):
    with pytest.raises(ValueError, match=r"on the list .*: tests\.persistence\..*Functions cannot"):
        save(model, tmp_path / "m.meanparity")
    assert not list(tmp_path.iterdir())


def test_groups_may_have_any_plain_label(tmp_path):
    labels = np.array([None, 3, 2.5, "x", True, np.int64(7)], dtype=object)[np.arange(N) % 6]
    constraint = MeanParity(missing="group", continuous=[])
    model = ParityKernelRidge(kernel="rbf", constraint=constraint)
    model.fit(X, Y, sensitive_features=labels)
    save(model, tmp_path / "m.meanparity")
    back = load(tmp_path / "m.meanparity")
    assert back.group_means_ == model.group_means_
    assert [type(key) for key in back.group_means_] == [type(key) for key in model.group_means_]


def labels_of_every_kind():
    days = pd.Series(pd.to_datetime(["2021-01-01", "2020-01-01"]))
    first = [
        list(pd.cut([5, 15], [0, 9, 100])),
        days.dt.date.tolist(),
        days.tolist(),
        days.dt.tz_localize("UTC").tolist(),
        [Decimal("0.1"), Decimal("0.2")],
        [Fraction(1, 3), Fraction(2, 3)],
        list(pd.period_range("2020", periods=2, freq="Y")),
        [pd.Timedelta("2D"), pd.Timedelta("10D")],
    ]
    return [pd.Series([pair[i % 3 > 0] for i in range(N)]) for pair in first]


@pytest.mark.parametrize("labels", labels_of_every_kind(), ids=lambda s: type(s[0]).__name__)
def test_labels_of_other_types_are_saved_and_known_again(labels, tmp_path):
    objects = labels.to_numpy(dtype=object)
    model = BarycenterRegressor().fit(X, Y, sensitive_features=labels)
    save(model, tmp_path / "m.meanparity")
    back = load(tmp_path / "m.meanparity")
    expected = model.predict(X, sensitive_features=labels)
    for sensitive in (labels, objects):
        found = back.predict(X, sensitive_features=sensitive)
        np.testing.assert_array_equal(found, expected)
    for sensitive in (labels, objects):
        model = ParityRidge().fit(X, Y, sensitive_features=sensitive)
        assert list(model.group_means_) == list(back.group_shares_)
        assert {type(key) for key in model.group_means_} <= {str, float}
        smaller = objects == objects.min()
        first = model.group_counts_[next(iter(model.group_counts_))]
        assert first == smaller.sum() != N / 2
        model.statistics(X, Y, sensitive_features=sensitive).save(tmp_path / "s")
        found = audit(model.predict(X), sensitive_features=sensitive)
        assert len(found.findings) == 2
        gap = mean_parity_gap(Y, model.predict(X), sensitive_features=sensitive)
        assert gap == pytest.approx(0, abs=1e-12)


def test_models_of_ours_need_no_other_library(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "skops", None)
    monkeypatch.setitem(__import__("sys").modules, "skops.io", None)
    model = fit("rbf")
    save(model, tmp_path / "m.meanparity")
    np.testing.assert_array_equal(load(tmp_path / "m.meanparity").predict(X), model.predict(X))
    with pytest.raises(ImportError, match=r"need skops: pip install 'meanparity\[cli\]'"):
        save(fit("adjusted"), tmp_path / "m.meanparity")


def test_a_search_is_saved_by_its_best_estimator(tmp_path):
    search = GridSearchCV(ParityRidge(), {"alpha": [0.1, 1.0]}, cv=2)
    search.fit(X, Y, sensitive_features=S)
    with pytest.raises(ValueError, match=r"cannot be saved\. Save its best_estimator_"):
        save(search, tmp_path / "m.meanparity")
    save(search.best_estimator_, tmp_path / "m.meanparity")
    np.testing.assert_array_equal(load(tmp_path / "m.meanparity").predict(X), search.predict(X))


# the format: files that were written once must be readable for ever


def format_1():
    """The names of all kinds, and what each consists of."""
    found = {}
    for name, kind in sorted(KINDS.items()):
        if "/" in name:
            continue
        if issubclass(kind.cls, BaseEstimator):
            found[name] = sorted(kind.cls._get_param_names())
        else:
            found[name] = list(kind.fields)
    return found


def test_the_format_is_the_one_that_files_have():
    stored = json.loads((FILES / "format_1.json").read_text("utf-8"))
    found = format_1()
    new = sorted(found.keys() - stored.keys())
    assert not new, (
        f"{new} can be stored, but no stored file has them. Add a model to tests/persistence/"
        "models.py, and run python -m tests.persistence.test_persistence."
    )
    assert found == stored, (
        "A kind of object, a field or a parameter has another name than in files of format 1. Keep "
        "the old name, or raise FORMAT, convert older states, and add files of the new format."
    )


def kinds_in(node):
    """The names of all kinds in what a file says about a model."""
    if isinstance(node, list):
        return set().union(*map(kinds_in, node))
    if not isinstance(node, dict):
        return set()
    own = {node["kind"]} if {"kind", "state"} <= node.keys() else set()
    return own.union(*map(kinds_in, node.values()))


def test_every_kind_is_in_a_stored_file():
    headers = [unpack(path.read_bytes(), "m", "model file")[0] for path in FILES.glob("*.mean*")]
    assert {name for name in KINDS if "/" not in name} == kinds_in(headers)


# the files hold parts of the scikit-learn that wrote them, which warns if it is newer
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_stored_file_of_every_kind_predicts_what_it_did(name):
    path = FILES / f"{name.replace(', ', '-').replace(' ', '-')}.meanparity"
    if name == "adjusted boosting" and parse_version(sklearn.__version__) < parse_version("1.9"):
        # it holds parts that this scikit-learn does not have, and says which one wrote it
        with pytest.raises(ValueError, match=r"was not loaded.*scikit-learn 1\.9"):
            read(path)
        return
    saved = read(path)
    expected = np.array(saved.about["predictions"])
    predicted = predict(name, saved.model)
    if predicted.dtype.kind == "f":
        assert predicted == pytest.approx(expected, abs=1e-11)
    else:
        assert predicted.tolist() == expected.tolist()


def write_files():
    """Write the stored files that do not exist yet, and list the kinds that are new.

    Existing files and the kinds that are listed stay as they are. Run it with
    `python -m tests.persistence.test_persistence`.
    """
    import warnings

    warnings.simplefilter("ignore")
    sklearn.set_config(enable_metadata_routing=False)
    FILES.mkdir(exist_ok=True)
    for name in MODELS:
        path = FILES / f"{name.replace(', ', '-').replace(' ', '-')}.meanparity"
        if not path.exists():
            model = fit(name)
            save(model, path, about={"predictions": predict(name, model).tolist()})
    listing = FILES / "format_1.json"
    known = json.loads(listing.read_text("utf-8")) if listing.exists() else {}
    listing.write_text(json.dumps(format_1() | known, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    write_files()
