"""Exports to plain arrays and to ONNX predict what the model predicts."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from meanparity import ParityKernelRidge
from meanparity.persistence import export_arrays, export_onnx, load, save
from tests.persistence.models import MODELS, S, X, Y, fit


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
    model = clone(MODELS[name])
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
        export_onnx(fit("laplacian"), tmp_path / "m.onnx")
    with pytest.raises(TypeError, match="ParityKernelRegressor has no export"):
        export_arrays(fit("huber"), tmp_path / "m.npz")
    assert not list(tmp_path.iterdir())


def test_a_minimal_model_has_no_export(tmp_path):
    save(fit("rbf"), tmp_path / "m.meanparity", minimal=True)
    with pytest.raises(ValueError, match="comes from a minimal file"):
        export_arrays(load(tmp_path / "m.meanparity"), tmp_path / "m.npz")
