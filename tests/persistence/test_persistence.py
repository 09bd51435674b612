"""Models on disk: the same numbers back, and nothing else in."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import skops.io
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from meanparity import (
    LinearParity,
    ParityAdjusted,
    ParityKernelClassifier,
    ParityKernelRegressor,
    ParityKernelRidge,
    ParityKernelRidgeCV,
    ParityRidge,
    ParityRidgeCV,
    SmallestLoss,
)
from meanparity.kernels import Kernel
from meanparity.persistence import export_arrays, export_onnx, load, read, save
from meanparity.persistence.model_files import _sealed

RNG = np.random.default_rng(0)
N = 150
X = pd.DataFrame(RNG.standard_normal((N, 4)), columns=list("abcd"))
S = RNG.choice(["F", "M"], N)
Y = X["a"] + (S == "F") + RNG.standard_normal(N)
NYSTROM = {"solver": "nystrom", "n_components": 20}

MODELS = {
    "ridge": ParityRidge(),
    "ridge, residuals": ParityRidge(constraint="residual_parity"),
    "ridge, covariance": ParityRidge(constraint="covariance_parity"),
    "ridge cv": ParityRidgeCV(cv=3, scoring=SmallestLoss(max_gap=5.0)),
    "rbf": ParityKernelRidge(kernel="rbf"),
    "poly": ParityKernelRidge(kernel="poly"),
    "sigmoid": ParityKernelRidge(kernel="sigmoid", gamma=0.01),
    "laplacian": ParityKernelRidge(kernel="laplacian"),
    "linear, dense": ParityKernelRidge(kernel="linear", solver="dense", fit_intercept=True),
    "sum of kernels": ParityKernelRidge(
        kernel=Kernel("rbf", columns=["a", "b"]) + Kernel("linear") * Kernel("rbf")
    ),
    "sklearn kernels": ParityKernelRidge(kernel=RBF() + 2.0 * Matern()),
    "landmarks": ParityKernelRidge(kernel="rbf", **NYSTROM),
    "fourier": ParityKernelRidge(kernel="rbf", **NYSTROM, landmarks="fourier"),
    "kernel cv": ParityKernelRidgeCV(kernel="rbf", gammas=[0.1, 1.0]),
    "kernel cv, landmarks": ParityKernelRidgeCV(kernel="rbf", **NYSTROM),
    **{
        loss: ParityKernelRegressor(kernel="rbf", loss=loss)
        for loss in ("squared", "huber", "smooth_l1", "quantile", "epsilon_insensitive")
    },
    "poisson": ParityKernelRegressor(kernel="rbf", loss="poisson"),
    "gamma": ParityKernelRegressor(kernel="rbf", loss="gamma"),
    "classifier": ParityKernelClassifier(kernel="rbf"),
    "hinge": ParityKernelClassifier(kernel="linear", loss="hinge"),
    "adjusted": ParityAdjusted(Ridge()),
}


def fitted(name):
    model, y = MODELS[name], Y
    if isinstance(model, ParityKernelClassifier):
        y = np.where(Y > 0, "yes", "no")
    elif name in ("poisson", "gamma"):
        y = np.exp(0.2 * Y)
    return model.fit(X, y, sensitive_features=S)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_comes_back(name, tmp_path):
    model = fitted(name)
    save(model, tmp_path / "model.skops")
    back = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    if hasattr(model, "tradeoff_"):
        np.testing.assert_array_equal(
            back.tradeoff_.at(0.3).predict(X), model.tradeoff_.at(0.3).predict(X)
        )


def test_what_was_said_of_a_model_comes_back(tmp_path):
    save(fitted("ridge"), tmp_path / "m.skops", about={"target": "salary", "rows": [1, None]})
    found = read(tmp_path / "m.skops")
    assert found.about == {"target": "salary", "rows": [1, None]}
    assert {"meanparity", "scikit-learn"} <= set(found.versions)


def test_any_changed_byte_is_refused(tmp_path):
    path = tmp_path / "model.skops"
    save(fitted("ridge"), path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    ends = [0, 1, len(data) - 1, len(data) - 50, len(data) - 100]
    for position in [*ends, *rng.integers(0, len(data), 60)]:
        changed = bytearray(data)
        changed[position] ^= 1 << int(rng.integers(0, 8))
        path.write_bytes(bytes(changed))
        with pytest.raises(ValueError, match=r"was changed after it was written|is no model file"):
            load(path)
    for part in (data[:-1], data[1:], b"", b"PK", data[:500]):
        path.write_bytes(part)
        with pytest.raises(ValueError, match=r"was changed after|is no model file"):
            load(path)


def test_other_types_are_refused(tmp_path):
    path = tmp_path / "model.skops"
    with pytest.raises(ValueError, match=r"types that files may not hold: .*LinearParity"):
        save(ParityRidge(constraint=LinearParity(lambda rows: np.zeros((N, 1)))), path)
    assert not path.exists()
    bad = ParityRidge(alpha=zipfile.ZipFile)  # a class that no model has
    path.write_bytes(_sealed(skops.io.dumps({"model": bad, "about": {}, "versions": {}})))
    with pytest.raises(ValueError, match=r"are not trusted: zipfile\.ZipFile.*not loaded"):
        load(path)


def test_a_zip_without_a_model_is_refused(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("schema.json", "{}")
    (tmp_path / "m.skops").write_bytes(_sealed(buffer.getvalue()))
    with pytest.raises(ValueError, match=r"m\.skops"):
        load(tmp_path / "m.skops")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.skops")


# this is the predictor of docs/model-files.md
def predict(path, X, unfairness=None):
    import json

    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(arrays["header"].tobytes())
    u = header["unfairness"] if unfairness is None else unfairness
    X = np.where(np.isnan(X), arrays["fill"], X)
    Z = (X - arrays["shift"]) / arrays["scale"]
    P = arrays["points"]
    if header["kernel"] == "rbf":
        squares = ((Z[:, None, :] - P[None, :, :]) ** 2).sum(axis=2)
        K = np.exp(-header["gamma"] * squares)
    elif header["kernel"] == "polynomial":
        K = (header["gamma"] * Z @ P.T + header["coef0"]) ** header["degree"]
    else:
        K = Z @ P.T
    coef = (1 - u) * arrays["fair"] + u * arrays["free"]
    values = K @ coef + (1 - u) * arrays["fair_intercept"] + u * arrays["free_intercept"]
    return values[:, 0] if header["single_output"] else values


EXPORTED = ("ridge", "ridge cv", "rbf", "poly", "linear, dense", "landmarks", "kernel cv")


@pytest.mark.parametrize("scaled", [False, True], ids=["alone", "pipeline"])
@pytest.mark.parametrize("name", EXPORTED)
def test_exports_predict_the_same(name, scaled, tmp_path):
    rows = 5 + 3 * X.to_numpy()
    model = MODELS[name]
    if scaled:
        rows[::7, 1] = np.nan
        before = make_pipeline(SimpleImputer(), StandardScaler())
        model.fit(before.fit_transform(rows), Y, sensitive_features=S)
        pipeline = make_pipeline(*[step for _, step in before.steps], model)
    else:
        pipeline = model.fit(rows, Y, sensitive_features=S)
    expected = pipeline.predict(rows)
    scale = np.abs(expected).max()
    export_arrays(pipeline, tmp_path / "model.npz")
    assert predict(tmp_path / "model.npz", rows) == pytest.approx(expected, abs=1e-9 * scale)
    inside = before.transform(rows) if scaled else rows
    free = model.tradeoff_.at(0.7).predict(inside)
    assert predict(tmp_path / "model.npz", rows, 0.7) == pytest.approx(free, abs=1e-9 * scale)
    for u, wanted in ((None, expected), (0.7, free)):
        export_onnx(pipeline, tmp_path / "model.onnx", unfairness=u)
        session = onnxruntime.InferenceSession(
            tmp_path / "model.onnx", providers=["CPUExecutionProvider"]
        )
        (found,) = session.run(None, {"X": rows})
        assert found[:, 0] == pytest.approx(wanted, abs=1e-9 * scale)


def test_several_outputs_and_names_are_exported(tmp_path):
    model = ParityKernelRidge(kernel="rbf").fit(X, np.column_stack([Y, -Y]), sensitive_features=S)
    export_arrays(model, tmp_path / "model.npz")
    assert predict(tmp_path / "model.npz", X.to_numpy()) == pytest.approx(
        model.predict(X), abs=1e-9
    )
    export_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(
        tmp_path / "model.onnx", providers=["CPUExecutionProvider"]
    )
    assert session.get_modelmeta().custom_metadata_map["columns"] == "a\nb\nc\nd"
    assert session.run(None, {"X": X.to_numpy()})[0] == pytest.approx(model.predict(X), abs=1e-9)


def test_what_has_no_export_says_so(tmp_path):
    with pytest.raises(ValueError, match=r"kernel='laplacian' has no export. Those with one are"):
        export_onnx(fitted("laplacian"), tmp_path / "m.onnx")
    with pytest.raises(TypeError, match="ParityKernelRegressor has no export"):
        export_arrays(fitted("huber"), tmp_path / "m.npz")
    assert not list(tmp_path.iterdir())
