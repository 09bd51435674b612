"""Statistics from files: the sums have to be sums over rows.

A digest shows that a file was not damaged. Whoever makes a file can also make its digest, so what
is in it is checked too: types, shapes, finite numbers, and what holds for all sums over rows. Sums
over other rows than those that are claimed cannot be told from others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from meanparity._typing import FloatArray
from meanparity.data.columns import MISSING, are_numbers
from meanparity.data.features import FeatureLayout
from meanparity.data.rows import Schema
from meanparity.kernels.spec import AbstractKernel
from meanparity.solvers.features import KernelFeatures, LinearFeatures
from meanparity.solvers.sums import CellSums, LossSums

_ROUNDING = 1e-7  # of sums, as a share of what they are made of
_LABELS = (str, int, float, bool, np.generic, tuple, type(None))


def check_statistics(found: Any) -> None:
    """Refuse statistics that are not sums over rows."""
    schema, features, layout = found.schema, found.features, found.layout
    _require(isinstance(layout, FeatureLayout), "it does not say which columns it is about")
    d = _check_layout(layout)
    _check_schema(schema)
    p, r = _check_features(features, d)
    _require(type(found.single_output) is bool, "single_output is not a boolean")
    origin = np.asarray(found.y_origin)
    m = len(origin) if origin.ndim == 1 else 0
    _require(m >= 1 and (m == 1 or not found.single_output), "the origin of y has a wrong shape")
    _check_numbers("the origin of y", found.y_origin, (m,))
    _require(
        found.weight_scope in ("", "both", "loss", "constraint"),
        f"weight_scope is {found.weight_scope!r}",
    )
    _check_loss(found.loss, p, r, m)
    k = _check_values(found.cells.values, schema)
    _check_cells(found.cells.sums, k, p, m)
    _check_totals(found, linear=isinstance(features, LinearFeatures))


def _check_layout(layout: FeatureLayout) -> int:
    """The number of features."""
    _require(type(layout.n_columns) is int and layout.n_columns >= 1, "it has no columns")
    columns = range(layout.n_columns)
    names = layout.names
    _require(
        names is None or (_are_texts(names) and len(names) == len(set(names)) == len(columns)),
        "the names of its columns are not those of its columns",
    )
    _require(
        isinstance(layout.sensitive, tuple)
        and all(type(i) is int and i in columns for i in layout.sensitive)
        and type(layout.drop_sensitive) is bool,
        "its sensitive columns are not among its columns",
    )
    return len(columns) - (len(set(layout.sensitive)) if layout.drop_sensitive else 0)


def _check_schema(schema: Any) -> None:
    _require(isinstance(schema, Schema), "it does not say how groups are read")
    _require(
        all(_are_texts(part) for part in (schema.sensitive, schema.control, schema.continuous))
        and len(schema.sensitive) >= 1
        and len(set(schema.columns)) == len(schema.columns)
        and set(schema.continuous) <= set(schema.sensitive)
        and type(schema.intersectional) is bool
        and schema.missing in MISSING,
        "its sensitive and control columns are not consistent",
    )


def _check_features(features: Any, d: int) -> tuple[int, int]:
    """The number of features, and of whitened ones."""
    if isinstance(features, LinearFeatures):
        _check_numbers("the origin", features.origin, (d,))
        return d, d
    _require(isinstance(features, KernelFeatures), "it has no features")
    landmarks = features.landmarks
    values = landmarks.data if sparse.issparse(landmarks) else landmarks
    _require(np.ndim(landmarks) == 2 or sparse.issparse(landmarks), "it has no landmarks")
    p = landmarks.shape[0]
    _require(landmarks.shape == (p, d) and p >= 1, "its landmarks have a wrong shape")
    _check_numbers("the landmarks", values, np.shape(values))
    with np.errstate(over="ignore"):
        squares = np.sum(np.square(values, dtype=float))
    _require(bool(np.isfinite(squares)), "the landmarks have numbers whose squares are not finite")
    _check_numbers("the whitening", features.whitening, (p, p))
    _require(not np.tril(features.whitening, -1).any(), "the whitening is not triangular")
    _require((features.whitening.diagonal() > 0).all(), "the whitening is singular")
    _require(
        isinstance(features.spec, AbstractKernel)
        and type(features.single) is bool
        and (features.names is None or (_are_texts(features.names) and len(features.names) == d)),
        "its kernel is not consistent",
    )
    return p, p


def _check_loss(loss: Any, p: int, r: int, m: int) -> None:
    _require(isinstance(loss, LossSums), "it has no sums over all rows")
    _require(type(loss.n_rows) is int and loss.n_rows >= 1, "it has no rows")
    _require(type(loss.mass) is float and 0 <= loss.mass < np.inf, "its weights are not positive")
    shapes = {"features": (p,), "whitened": (r,), "gram": (r, r), "cross": (p, m)}
    for name, shape in {**shapes, "targets": (m,), "squares": (m,)}.items():
        _check_numbers(f"the sum {name!r}", getattr(loss, name), shape)


def _check_values(values: Any, schema: Schema) -> int:
    """The number of cells."""
    width = len(schema.columns)
    _require(
        isinstance(values, tuple)
        and len(values) >= 1
        and all(isinstance(cell, tuple) and len(cell) == width for cell in values)
        and all(isinstance(value, _LABELS) for cell in values for value in cell)
        and len(set(values)) == len(values),
        "the values of its cells are not consistent",
    )
    known = [[v for v in column if v is not None] for column in zip(*values, strict=True)]
    _require(
        schema.missing != "error" or all(len(column) == len(values) for column in known),
        "it has missing values, which are refused",
    )
    for name in schema.continuous:
        numbers = known[schema.columns.index(name)]
        _require(
            are_numbers(numbers) and bool(np.isfinite(np.array(numbers, dtype=float)).all()),
            f"the values of {name!r} are not finite numbers",
        )
    return len(values)


def _check_cells(sums: Any, k: int, p: int, m: int) -> None:
    _require(isinstance(sums, CellSums), "it has no sums in cells")
    counts = np.asarray(sums.counts)
    _require(
        counts.shape == (k,) and counts.dtype.kind == "i" and bool((counts >= 1).all()),
        "the numbers of rows in its cells are not positive",
    )
    _check_numbers("the weights of cells", sums.mass, (k,))
    _require(bool((sums.mass >= 0).all()), "the weights of its cells are not positive")
    for name, shape in {"features": (k, p), "targets": (k, m), "squares": (k, m)}.items():
        _check_numbers(f"the sum {name!r} in cells", getattr(sums, name), shape)


def _check_totals(found: Any, *, linear: bool) -> None:
    """What holds for sums over any rows: products of sums are bounded by sums of squares."""
    loss, cells = found.loss, found.cells.sums
    _require(int(cells.counts.sum()) == loss.n_rows, "its cells do not have all of its rows")
    with np.errstate(over="ignore", invalid="ignore"):
        _check_squares(loss.targets, loss.mass, loss.squares)
        _check_squares(cells.targets, cells.mass[:, None], cells.squares)
        _check_moments(loss, linear=linear)
        if found.weight_scope in ("", "both"):  # the same weights in both
            one = found.weight_scope == ""
            _require(not one or loss.mass == loss.n_rows, "its weights are not the rows")
            pairs = [("mass", np.asarray(loss.n_rows if one else loss.mass))]
            pairs += [(name, getattr(loss, name)) for name in ("features", "targets", "squares")]
            for name, total in pairs:
                parts = getattr(cells, name)
                size = np.abs(parts).sum(axis=0) + np.abs(total)
                same = np.abs(parts.sum(axis=0) - total) <= _ROUNDING * size.max(initial=0.0)
                _require(bool(np.all(same)), f"the sums {name!r} of its cells are not the total")


def _check_squares(sums: FloatArray, mass: Any, squares: FloatArray) -> None:
    allowed = (1 + _ROUNDING) * mass * squares + _ROUNDING * np.abs(mass * squares).max(initial=0.0)
    _require(bool(np.all(sums**2 <= allowed)), "its sums of y are larger than those of y² allow")


def _check_moments(loss: LossSums, *, linear: bool) -> None:
    """The products of 1, φ and, for linear features, y are a positive semi-definite matrix."""
    _require(
        bool(np.allclose(loss.gram, loss.gram.T, rtol=_ROUNDING, atol=0.0)),
        "its matrix of products is not symmetric",
    )
    blocks = [np.array([[loss.mass]]), loss.whitened[:, None], loss.gram]
    moments = np.block([[blocks[0], blocks[1].T], [blocks[1], blocks[2]]])
    if linear:
        scale = np.abs(loss.features).max(initial=0.0)
        same = np.allclose(loss.features, loss.whitened, rtol=_ROUNDING, atol=_ROUNDING * scale)
        _require(bool(same), "its sums of features differ")
        for j in range(len(loss.targets)):
            last = np.concatenate([[loss.targets[j]], loss.cross[:, j]])[:, None]
            whole = np.block([[moments, last], [last.T, np.array([[loss.squares[j]]])]])
            _require_psd(whole)
    _require_psd(moments)


def _require_psd(matrix: FloatArray) -> None:
    scale = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    scaled = matrix / scale[:, None] / scale
    smallest = float(np.linalg.eigvalsh(scaled)[0]) if np.isfinite(scaled).all() else -np.inf
    _require(
        smallest >= -_ROUNDING * len(matrix),
        "its products are not those of any rows (a matrix that has to be positive is not)",
    )


def _check_numbers(what: str, values: Any, shape: tuple[int, ...]) -> None:
    _require(
        isinstance(values, np.ndarray) and values.dtype.kind == "f" and values.shape == shape,
        f"{what} is not an array of numbers of shape {shape}",
    )
    _require(bool(np.isfinite(values).all()), f"{what} has numbers that are not finite")


def _are_texts(names: Any) -> bool:
    return isinstance(names, tuple) and all(type(name) is str for name in names)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)
