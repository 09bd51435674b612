"""Statistics as a header and arrays, and back; nothing that runs is stored."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from meanparity.kernels import Kernel
from meanparity.rows import Reading
from meanparity.solvers.features import FeatureSpace, FourierSpace, KernelSpace, LinearSpace
from meanparity.sources import Table

VERSION = 1
_PLAIN = (str, bool, int, float, type(None))

Header = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


def describe(table: Table, reading: Reading, values: tuple[tuple[Any, ...], ...]) -> Header:
    """What is not an array, as JSON knows it."""
    for cell in values:
        for value in cell:
            if type(value) not in _PLAIN:
                raise ValueError(
                    f"The sensitive or control value {value!r} is of type {type(value).__name__}, "
                    "which a file of statistics cannot hold. Pass text, numbers or booleans."
                )
    return {
        "version": VERSION,
        "table": asdict(table),
        "reading": asdict(reading),
        "values": [list(cell) for cell in values],
    }


def read_table(header: Header) -> Table:
    """The columns of X."""
    found = header["table"]
    names = found["names"]
    return Table(
        int(found["n_columns"]),
        None if names is None else tuple(names),
        tuple(found["sensitive"]),
        bool(found["drop_sensitive"]),
    )


def read_reading(header: Header) -> Reading:
    """How sensitive and control columns are read."""
    found = header["reading"]
    values: dict[str, Any] = {}
    for field in fields(Reading):
        value = found[field.name]
        values[field.name] = tuple(value) if isinstance(value, list) else value
    return Reading(**values)


def store_space(space: FeatureSpace) -> tuple[Header, Arrays]:
    """The features: named kernels, and numbers."""
    if isinstance(space, LinearSpace):
        return {"space": "linear"}, {"middle": space.middle}
    if isinstance(space, FourierSpace):
        arrays = {"frequencies": space.frequencies, "phases": space.phases}
        return {"space": "fourier", "gamma": space.gamma}, arrays
    assert isinstance(space, KernelSpace)
    spec = space.spec
    if not isinstance(spec, Kernel) or not isinstance(spec.kernel, str) or spec.params:
        raise ValueError(
            f"The kernel {spec!r} has no name that a file could hold. Use one of scikit-learn's "
            "kernels by name, with gamma, degree and coef0."
        )
    landmarks = space.landmarks
    dense = landmarks.toarray() if sparse.issparse(landmarks) else landmarks
    columns = None if spec.columns is None else list(spec.columns)
    kernel: Header = {"kernel": spec.kernel}
    for name in ("gamma", "degree", "coef0"):
        value = getattr(spec, name)
        kernel[name] = None if value is None else float(value)
    kernel["columns"] = columns
    header = {"space": "kernel", "kernel": kernel, "names": space.names, "single": space.single}
    return header, {"landmarks": dense, "whitening": space.whitening}


def read_space(header: Header, arrays: Arrays) -> FeatureSpace:
    """The features that `store_space` stored."""
    kind = header["space"]
    if kind == "linear":
        return LinearSpace(arrays["middle"])
    if kind == "fourier":
        return FourierSpace(arrays["frequencies"], arrays["phases"], float(header["gamma"]))
    found = dict(header["kernel"])
    columns = found.pop("columns")
    kernel = Kernel(**found, columns=None if columns is None else tuple(columns))
    names = None if header["names"] is None else tuple(header["names"])
    landmarks, whitening = np.asarray(arrays["landmarks"]), arrays["whitening"]
    return KernelSpace.at(kernel, names, landmarks, whitening, bool(header["single"]))
