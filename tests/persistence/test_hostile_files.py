"""Files that were made to take memory, or to load as something that they are not."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.linear_model import Ridge

from meanparity import ParityKernelRegressor, files
from meanparity.baselines import CorrelationBoundedRegression
from meanparity.files import pack, seal, unpack
from meanparity.linalg import memory
from meanparity.persistence import load, save
from meanparity.state import Reader
from tests.persistence.models import fit

HEADER = {"what": "model file", "format": 1, "versions": {"meanparity": "9"}, "about": {}}


def archive(members, compression=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, content in members:
            file.writestr(name, content)
    return buffer.getvalue()


def npy(array, **changes):
    buffer = io.BytesIO()
    header = np.lib.format.header_data_from_array_1_0(array)
    np.lib.format.write_array_header_1_0(buffer, header | changes)
    return buffer.getvalue() + array.tobytes()


def text(header):
    content = json.dumps(header) if isinstance(header, dict) else header
    return "header.npy", npy(np.frombuffer(content.encode(), np.uint8))


def peak(path, message):
    """Memory that is taken until the file is refused."""
    tracemalloc.start()
    try:
        with pytest.raises((ValueError, MemoryError), match=message):
            load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_small_file_of_large_arrays_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    path = tmp_path / "m.meanparity"
    zeros = npy(np.zeros(2**22))
    members = [(f"{i}.npy", zeros) for i in range(4)]
    path.write_bytes(seal(archive([*members, text({**HEADER, "model": {"array": "0"}})])))
    assert path.stat().st_size < 200_000
    monkeypatch.setattr(memory, "available_bytes", lambda: 100 * 2**20)
    message = (
        r"m\.meanparity, unpacked, needs 128\.\d\d MiB, but only 100\.00 MiB are free\. Do not"
    )
    assert peak(path, message) < 2 * 2**20


def test_a_small_file_of_long_text_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "m.meanparity"
    path.write_bytes(seal(archive([text("[" + "[]," * 3_000_000 + "1]")])))
    assert path.stat().st_size < 100_000
    monkeypatch.setattr(memory, "available_bytes", lambda: 100 * 2**20)
    assert peak(path, r"needs 772\.\d\d MiB, but only") < 2 * 2**20


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([("0.npy", npy(np.zeros(2), shape=(10**12,)))], "has another size than it says"),
        ([("0.npy", npy(np.zeros(4), shape=(2,)))], "has another size than it says"),
        ([("0.npy", npy(np.zeros(0), shape=(10**12,), descr="<U0"))], "type without a size"),
        ([("0.npy", npy(np.zeros(4), shape=(-4,)))], "another size|negative|not a model"),
        ([("0.npy", npy(np.zeros(2))), ("0.npy", npy(np.zeros(2)))], "two parts with the name"),
        ([("0.npy", b"\x93NUMPY\x09\x00" + npy(np.zeros(2))[8:])], "unknown format"),
        ([("0.npy", b"anything")], "magic"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_arrays_that_are_not_what_they_say_are_refused(members, message, tmp_path):
    path = tmp_path / "m.meanparity"
    header = text({**HEADER, "minimal": False, "model": {"array": "0"}})
    path.write_bytes(seal(archive([*members, header])))
    assert peak(path, message) < 2**21
    path.write_bytes(seal(archive([*members[:1], header], zipfile.ZIP_BZIP2)))
    assert peak(path, "unknown compression") < 2**21


def test_numbers_that_json_does_not_have_are_refused(tmp_path):
    path = tmp_path / "m.meanparity"
    content = json.dumps({**HEADER, "minimal": False, "model": 1})
    path.write_bytes(seal(archive([text(content.replace('"model": 1', '"model": NaN'))])))
    assert peak(path, "NaN is not JSON") < 2**21
    path.write_bytes(seal(archive([text("[" * 100_000)])))
    assert peak(path, "is not a model file") < 2**24


def test_arrays_of_every_type_come_back():
    arrays = {
        "text": np.array(["a", "ü€"]),
        "dates": np.array(["2021-01-01", "NaT"], dtype="M8[D]"),
        "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "none": np.zeros((0, 3)),
        "one": np.array(2.5),
        "bits": np.array([True, False]),
        "single": np.arange(3, dtype=np.float32),
    }
    _, back = unpack(pack({"a": 1}, arrays), "here", "file")
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)
        assert back[name].dtype == array.dtype
        assert back[name].flags.f_contiguous == array.flags.f_contiguous
        assert back[name].flags.writeable


def skops_part(change):
    """A file of a model with a part by skops, whose archive was changed."""
    data = skops.io.dumps(Ridge().fit(np.eye(3), np.arange(3.0)), compression=zipfile.ZIP_STORED)
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    data = change(members)
    node = {"foreign": {"skops": "0"}}
    header = {**HEADER, "minimal": False, "model": node}
    return pack(header, {"0": np.frombuffer(data, np.uint8)})


def compressed(members):
    name = next(name for name in members if name.endswith(".npy"))
    return archive([*(members | {name: npy(np.zeros(2**20))}).items()])


def read_again(members):
    """One array that every parameter is."""
    schema = json.loads(members["schema.json"])
    node = next(n for n in walk(schema) if n.get("type") == "numpy" and "file" in n)
    attributes = next(n for n in walk(schema) if "coef_" in n)
    attributes |= {f"more{i}": node | {"__id__": 10**6 + i} for i in range(50)}
    members = members | {"schema.json": json.dumps(schema)}
    return archive([*members.items()], zipfile.ZIP_STORED)


def wrong_shape(members):
    name = next(name for name in members if name.endswith(".npy"))
    members = members | {name: npy(np.zeros(2), shape=(10**11,))}
    return archive([*members.items()], zipfile.ZIP_STORED)


def walk(node):
    if isinstance(node, dict):
        yield node
    for part in node.values() if isinstance(node, dict) else node:
        if isinstance(part, dict | list):
            yield from walk(part)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (compressed, "is compressed"),
        (read_again, "belongs to several objects"),
        (wrong_shape, "has another size than it says"),
    ],
)
def test_parts_of_other_libraries_take_no_more_memory_than_they_have_bytes(
    change, message, tmp_path
):
    path = tmp_path / "m.meanparity"
    path.write_bytes(skops_part(change))
    assert peak(path, message) < 2**23


@pytest.mark.parametrize("name", ["ridge", "adjusted", "pipeline"])
def test_only_fitted_models_are_loaded(name, tmp_path):
    path = tmp_path / "m.meanparity"
    save(fit(name), path)
    header, arrays = unpack(path.read_bytes(), "m", "model file")
    for model in (3, [1], {"dict": []}, {"tuple": []}, header["about"], {"array": "0"}):
        path.write_bytes(pack(header | {"model": model}, arrays))
        with pytest.raises(ValueError, match=r"was not loaded: (it contains|\[\] is not)"):
            load(path)


@pytest.mark.parametrize("sensitive", [["9"], [9], [-1], [0.5]])
def test_sensitive_columns_that_there_are_not_are_refused(sensitive, tmp_path):
    path = tmp_path / "m.meanparity"
    save(fit("ridge"), path)
    header, arrays = unpack(path.read_bytes(), "m", "model file")
    state = next(n for n in walk(header) if n.get("kind") == "FeatureLayout")["state"]
    state["sensitive"] = {"tuple": sensitive}
    path.write_bytes(pack(header, arrays))
    with pytest.raises(ValueError, match=r"are not positions of \d columns"):
        load(path)


@pytest.mark.parametrize("name", ["ridge", "rbf", "landmarks", "huber", "ridge, batches"])
@pytest.mark.parametrize("what", ["not finite", "shape"])
@pytest.mark.parametrize("minimal", [False, True])
def test_numbers_that_do_not_fit_together_are_refused(name, what, minimal, tmp_path):
    path = tmp_path / "m.meanparity"
    save(fit(name), path, minimal=minimal)
    header, arrays = unpack(path.read_bytes(), "m", "model file")
    state = next(n for n in walk(header) if n.get("kind") == "FittedFunction")["state"]
    coef = state["coef"]
    if "same" in coef:
        coef = next(n for n in walk(header) if n.get("id") == coef["same"] and "array" in n)
    number = coef["array"]
    if what == "not finite":
        arrays[number][0, 0] = np.nan
    else:
        arrays[number] = arrays[number].T.copy()
    path.write_bytes(pack(header, arrays))
    with pytest.raises(ValueError, match="was not loaded"):
        load(path)


ARRAYS = [
    ("ridge", "LinearFeatures", "origin"),
    ("ridge", "Fit", "coef"),
    ("ridge", "Directions", "coef"),
    ("rbf", "KernelExpansion", "points"),
    ("landmarks", "KernelFeatures", "whitening"),
    ("huber", "LossTradeoff", "scores"),
    ("huber", "LossTradeoff", "penalties"),
    ("adjusted", "FunctionCorrection", "coef"),
    ("covariance penalty", "CovariancePenaltyRidge", "_coef"),
    ("correlation bound", "FirstStage", "x_mean"),
    ("correlation bound", "FirstStage", "s_scale"),
    ("barycentre", "Distribution", "values"),
    ("reduction", "LinearModel", "coef"),
]


@pytest.mark.parametrize(("name", "kind", "part"), ARRAYS)
def test_no_array_of_a_model_may_hold_nan(name, kind, part, tmp_path):
    path = tmp_path / "m.meanparity"
    save(fit(name), path)
    header, arrays = unpack(path.read_bytes(), "m", "model file")
    state = next(n for n in walk(header) if n.get("kind") == kind)["state"]
    if part not in state:
        state = dict(state["fitted"]["dict"])
    node = state[part]
    if "same" in node:
        node = next(n for n in walk(header) if n.get("id") == node["same"] and "array" in n)
    arrays[node["array"]].flat[0] = np.nan
    path.write_bytes(pack(header, arrays))
    with pytest.raises(ValueError, match=r"not loaded: the (part|scale) .* not (finite|numbers)"):
        load(path)


@pytest.mark.parametrize(
    ("name", "kind", "part"),
    [
        ("adjusted groups", "GroupShifts", "shifts"),
        ("barycentre", "Barycentre", "shares"),
        ("correlation bound", "CorrelationBoundedRegression", "_unit"),
        ("rbf", "Kernel", "gamma"),
    ],
)
def test_no_number_of_a_model_may_be_infinite(name, kind, part, tmp_path):
    path = tmp_path / "m.meanparity"
    save(fit(name), path)
    header, arrays = unpack(path.read_bytes(), "m", "model file")
    for node in (n for n in walk(header) if n.get("kind") == kind):
        state = node["state"]
        if part in state:
            if isinstance(state[part], dict):
                state[part]["dict"][0][1] = {"float": "inf"}
            else:
                state[part] = {"float": "inf"}
        else:
            next(p for p in state["fitted"]["dict"] if p[0] == part)[1] = {"float": "inf"}
    path.write_bytes(pack(header, arrays))
    with pytest.raises(ValueError, match=r"was not loaded: .*(finite|gamma)"):
        load(path)


@pytest.mark.parametrize("name", ["ridge", "adjusted", "huber"])
def test_numbers_that_predict_infinity_are_refused(name, tmp_path):
    path = tmp_path / "m.meanparity"
    save(fit(name), path)
    header, arrays = unpack(path.read_bytes(), "m", "model file")
    kind = "FunctionCorrection" if name == "adjusted" else "Fit"
    state = next(n for n in walk(header) if n.get("kind") == kind)["state"]
    arrays[state["coef"]["array"]][:] = 1e308
    state["intercept"] = {"array": "huge"}
    arrays["huge"] = np.full(1, 1.7e308)
    origin = next((n for n in walk(header) if n.get("kind") == "LinearFeatures"), None)
    if origin is not None:
        arrays[origin["state"]["origin"]["array"]][:] = -1e3
    path.write_bytes(pack(header, arrays))
    with pytest.raises(ValueError, match="predicts numbers that are not finite"):
        load(path)


@pytest.mark.parametrize("part", ["scores", "y", "weights", "penalties"])
def test_rows_that_are_not_those_of_the_fit_are_refused(part, tmp_path):
    path = tmp_path / "m.meanparity"
    save(fit("huber"), path)
    header, arrays = unpack(path.read_bytes(), "m", "model file")
    state = next(n for n in walk(header) if n.get("kind") == "LossTradeoff")["state"]
    state[part] = {"array": "short"}
    arrays["short"] = np.ones(3)
    path.write_bytes(pack(header, arrays))
    with pytest.raises(ValueError, match=f"'{part}' of its LossTradeoff is not of shape"):
        load(path)


def test_infinite_numbers_that_fits_make_are_kept(tmp_path):
    path = tmp_path / "m.meanparity"
    sex, office = np.tile(["F", "M"], 30), np.full(60, "one")
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = CorrelationBoundedRegression().fit(
        X, X[:, 0], sensitive_features={"sex": sex, "age": np.full(60, 3.0), "office": office}
    )
    save(model, path)
    people = {"sex": sex, "age": np.full(60, 3.0), "office": office}
    again = load(path).predict(X, sensitive_features=people)
    np.testing.assert_array_equal(again, model.predict(X, sensitive_features=people))
    y = 1e200 * X[:, 0]  # the squares of which overflow
    model = ParityKernelRegressor(kernel="linear", loss="huber").fit(X, y, sensitive_features=sex)
    save(model, path)
    np.testing.assert_array_equal(load(path).predict(X), model.predict(X))


def test_a_tuple_cannot_be_referred_to(tmp_path):
    """Otherwise, tuples of tuples of 2^k items would be made into keys, without an end."""
    path = tmp_path / "m.meanparity"
    save(fit("ridge"), path)
    header, arrays = unpack(path.read_bytes(), "m", "model file")
    items = [{"tuple": [1, 1], "id": "t0"}]
    for i in range(1, 40):
        items.append({"tuple": [{"same": f"t{i - 1}"}] * 2, "id": f"t{i}"})
    items.append({"dict": [[{"same": "t39"}, 1]]})
    header["model"]["state"]["fitted"]["dict"].append(["more_", {"tuple": items}])
    path.write_bytes(pack(header, arrays))
    with pytest.raises(ValueError, match=r"was not loaded: \['id', 'tuple'\] has an id"):
        load(path)
    for node in ({"dict": [], "id": 1}, {"scalar": "0", "id": 1}, {"float": "1", "id": 1}):
        with pytest.raises(ValueError, match="has an id"):
            Reader({"0": np.array(1.0)}).read(node)


@pytest.mark.parametrize("item", ["[" * 10 + "]" * 10, "[" * 200 + "]" * 200, "[[1]]", '{"":[]}'])
def test_text_takes_no_more_memory_than_was_asked_for(item, tmp_path):
    path = tmp_path / "m.meanparity"
    content = json.dumps({**HEADER, "minimal": False, "model": 1})
    model = ",".join([item] * (400_000 // len(item)))
    content = content.replace('"model": 1', f'"model": [{model}]')
    path.write_bytes(seal(archive([text(content)])))
    assert peak(path, "was not loaded") < files._OBJECTS * len(content)


def test_text_of_any_length_is_not_read(tmp_path):
    path = tmp_path / "m.meanparity"
    path.write_bytes(seal(archive([("header.npy", bytes(2**26 + 2**11))])))
    assert path.stat().st_size < 2**17
    assert peak(path, "its text is too long") < 2**21
    with pytest.raises(ValueError, match=r"would have 67,108,8\d\d bytes of text, which is too"):
        pack({"a": "a" * 2**26}, {})


def test_an_array_belongs_to_one_object():
    arrays = {"d": np.ones(1), "i": np.zeros(1, np.int16), "p": np.array([0, 1], np.int16)}
    node = {"sparse": "csr_array", "data": "d", "indices": "i", "indptr": "p", "shape": [1, 1]}
    assert Reader(arrays).read(node).sum() == 1
    for nodes in ([node, node], [node, {"array": "d"}], [{"array": "d"}, {"scalar": "d"}]):
        with pytest.raises(ValueError, match="its part 'd' belongs to several objects"):
            Reader(arrays).read(nodes)
