"""Whether a model predicts from the sensitive columns themselves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from meanparity._typing import FloatArray, IntArray
from meanparity.data.rows import Schema
from meanparity.report.statements import GroupUse

_FEW_ROWS = 2.0  # rows of each value of a sensitive column that tell whether a column encodes it


def as_numbers(X: Any) -> tuple[FloatArray, tuple[str, ...]]:
    """Features as numbers, (n, d), with a code for each text, and their names if they have any."""
    if sparse.issparse(X):
        return X.toarray(), ()
    if not hasattr(X, "columns"):
        values = np.asarray(X)
        return (values.astype(float) if values.dtype.kind in "biuf" else _codes(values.T)), ()
    names = tuple(map(str, X.columns))
    return _codes([np.asarray(X[name]) for name in X.columns]), names


def _codes(columns: Iterable[Any]) -> FloatArray:
    """Columns side by side, those that are not numbers as codes: (n, d)."""
    found = [
        column.astype(float)
        if column.dtype.kind in "biuf"
        else np.unique(column.astype(str), return_inverse=True)[1]
        for column in columns
    ]
    return np.column_stack(found)


def use_of(
    X: Any, names: Iterable[str], schema: Schema, sensitive_features: Any, rows: IntArray | None
) -> GroupUse:
    """Whether features, (n, d), contain the sensitive columns, by name or by value.

    A column contains a sensitive column in effect if it has one value in each of its groups, and
    not the same in all; a sensitive number if it is a linear function of it. `rows` are the
    positions of the rows of X among those of the sensitive features; None if all are there.
    """
    named = set(names)
    values = np.asarray(X, dtype=float)
    people = replace(schema, control=(), missing="group").read_rows(sensitive_features)
    at = slice(None) if rows is None else rows
    found: dict[str, list[str]] = {"features": [], "encoded": [], "left_out": []}
    for name in schema.sensitive:
        column = people.column(name)[at]
        if name in named:
            found["features"].append(name)
        elif name in schema.continuous:
            told = _is_linear(values, np.asarray(column, dtype=float))
            found["encoded" if told else "left_out"].append(name)
        else:
            codes = np.unique(column.astype(str), return_inverse=True)[1]
            found["encoded" if _encodes(values, codes) else "left_out"].append(name)
    features, encoded, left_out = map(tuple, found.values())
    return GroupUse(features, encoded, left_out)


def _encodes(X: FloatArray, codes: IntArray) -> bool:
    """Whether a column of X is constant in each group, and not the same in all."""
    counts = np.bincount(codes)
    if len(codes) < _FEW_ROWS * len(counts) or len(counts) < 2:
        return False
    order = np.argsort(codes, kind="stable")
    starts = np.r_[0, np.cumsum(counts)[:-1]]
    low = np.minimum.reduceat(X[order], starts, axis=0)
    high = np.maximum.reduceat(X[order], starts, axis=0)
    constant = (low == high).all(axis=0)
    return bool(np.any(constant & (low != low[0]).any(axis=0)))


def _is_linear(X: FloatArray, numbers: FloatArray) -> bool:
    """Whether a column of X is a linear function of a sensitive number."""
    known = np.isfinite(numbers)
    if known.sum() < 3 or not np.ptp(numbers[known]) > 0:
        return False
    centred = X[known] - X[known].mean(axis=0)
    other = numbers[known] - numbers[known].mean()
    size = np.linalg.norm(centred, axis=0) * np.linalg.norm(other)
    cosine = np.abs(other @ centred) / np.where(size > 0, size, np.inf)
    return bool(np.any(cosine > 1 - 1e-12))
