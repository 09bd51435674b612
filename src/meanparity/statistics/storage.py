"""Statistics as a JSON header and arrays."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from meanparity.data.features import FeatureLayout
from meanparity.data.rows import Schema
from meanparity.kernels.spec import Kernel
from meanparity.solvers.features import FeatureMap, KernelFeatures, LinearFeatures

FORMAT = 2
_PLAIN = (str, bool, int, float, type(None))

Header = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


def describe(layout: FeatureLayout, schema: Schema, values: tuple[tuple[Any, ...], ...]) -> Header:
    """What is not an array, for JSON."""
    for cell in values:
        for value in cell:
            if type(value) not in _PLAIN:
                raise ValueError(
                    f"The sensitive or control value {value!r} is of type {type(value).__name__}, "
                    "which a file of statistics cannot hold. Pass text, numbers or booleans."
                )
    return {
        "format": FORMAT,
        "layout": asdict(layout),
        "schema": asdict(schema),
        "values": [list(cell) for cell in values],
    }


def read_layout(header: Header) -> FeatureLayout:
    """The columns of X."""
    found = header["layout"]
    names = found["names"]
    return FeatureLayout(
        int(found["n_columns"]),
        None if names is None else tuple(names),
        tuple(found["sensitive"]),
        bool(found["drop_sensitive"]),
    )


def read_schema(header: Header) -> Schema:
    """How sensitive and control columns are read."""
    found = header["schema"]
    values: dict[str, Any] = {}
    for field in fields(Schema):
        value = found[field.name]
        values[field.name] = tuple(value) if isinstance(value, list) else value
    return Schema(**values)


def store_features(features: FeatureMap) -> tuple[Header, Arrays]:
    """The features: named kernels, and numbers."""
    if isinstance(features, LinearFeatures):
        return {"features": "linear"}, {"origin": features.origin}
    assert isinstance(features, KernelFeatures)
    spec = features.spec
    if not isinstance(spec, Kernel) or not isinstance(spec.kernel, str) or spec.params:
        raise ValueError(
            f"The kernel {spec!r} cannot be stored by name. Use one of scikit-learn's "
            "kernels by name, with gamma, degree and coef0."
        )
    landmarks = features.landmarks
    dense = landmarks.toarray() if sparse.issparse(landmarks) else landmarks
    columns = None if spec.columns is None else list(spec.columns)
    kernel: Header = {"kernel": spec.kernel}
    for name in ("gamma", "degree", "coef0"):
        value = getattr(spec, name)
        kernel[name] = None if value is None else float(value)
    kernel["columns"] = columns
    header = {
        "features": "kernel",
        "kernel": kernel,
        "names": features.names,
        "single": features.single,
    }
    return header, {"landmarks": dense, "whitening": features.whitening}


def read_features(header: Header, arrays: Arrays) -> FeatureMap:
    """The features that `store_features` stored."""
    kind = header["features"]
    if kind == "linear":
        return LinearFeatures(arrays["origin"])
    found = dict(header["kernel"])
    columns = found.pop("columns")
    kernel = Kernel(**found, columns=None if columns is None else tuple(columns))
    names = None if header["names"] is None else tuple(header["names"])
    landmarks, whitening = np.asarray(arrays["landmarks"]), arrays["whitening"]
    return KernelFeatures.with_whitening(
        kernel, names, landmarks, whitening, bool(header["single"])
    )
