"""Model files: the same bits back, and nothing else in."""

from __future__ import annotations

import json
import zipfile
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import sklearn
import skops.io
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import meanparity
from meanparity import MeanParity, ParityKernelRidge, ParityRidge
from meanparity.files import FORMAT, pack, unpack
from meanparity.persistence import load, read, save
from meanparity.persistence.foreign import write_foreign
from meanparity.state import KINDS, Writer
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
    for header in ({}, {"what": "model file"}, {"what": "something", "format": 1}, []):
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
        ({"array": "7"}, "7"),
        ({"same": 3}, "3"),
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


class Own(MeanParity):
    """A class of the user's."""


@pytest.mark.parametrize(
    "model",
    [
        ParityKernelRidge(kernel=lambda a, b: float(a @ b)),
        ParityRidge(constraint=Own()),
        make_pipeline(Own(), ParityRidge()),
    ],
)
def test_classes_and_functions_of_users_are_refused(model, tmp_path):
    with pytest.raises(ValueError, match=r"parts that files cannot hold: .*of your own cannot be"):
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
        if issubclass(kind.cls, BaseEstimator):
            found[name] = sorted(kind.cls._get_param_names())
        else:
            found[name] = [field.name for field in fields(kind.cls) if field.init]
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


@pytest.mark.parametrize("name", MODELS)
def test_a_stored_file_of_every_kind_predicts_what_it_did(name):
    path = FILES / f"{name.replace(', ', '-').replace(' ', '-')}.meanparity"
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
