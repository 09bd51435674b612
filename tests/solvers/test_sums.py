"""Sums over rows against sums spelled out row by row."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from meanparity.data.groups import Cells
from meanparity.kernels import Kernel
from meanparity.solvers import sums as module
from meanparity.solvers.features import KernelFeatures, LinearFeatures
from meanparity.solvers.sums import CellSums, sum_cells, sum_rows


def problem(cells, weighted, outputs=2, n=90):
    """Rows, targets, cells and weights in the loss; the weights in the constraint are others."""
    rng = np.random.default_rng(cells)
    X, Y = rng.standard_normal((n, 3)) + 0.5, rng.standard_normal((n, outputs)) + 1
    u, w = (rng.uniform(0.2, 3, n) for _ in "uw") if weighted else (None, None)
    return X, Y, Cells(rng.integers(0, cells, n), cells, w), u


def feature_map(kind, X):
    if kind == "columns":
        return LinearFeatures(np.array([0.3, -0.2, 4.0]))
    return KernelFeatures.from_landmarks(Kernel("rbf", gamma=0.5), None, X[:7], float)


def row_by_row(psi, phi, Y, cells, u):
    """Everything that `LossSums` and `CellSums` hold, one row at a time."""
    (n, p), m, k, r = psi.shape, Y.shape[1], cells.count, phi.shape[1]
    loss = [0, 0.0, np.zeros(p), np.zeros(r), np.zeros((r, r)), np.zeros((p, m)), *np.zeros((2, m))]
    inside = [np.zeros(k, int), np.zeros(k), np.zeros((k, p)), *np.zeros((2, k, m))]
    for i in range(n):
        a, f, z, y = 1.0 if u is None else u[i], psi[i], phi[i], Y[i]
        row = (1, a, a * f, a * z, a * np.outer(z, z), a * np.outer(f, y), a * y, a * y * y)
        loss = [total + part for total, part in zip(loss, row, strict=True)]
        b = 1.0 if cells.weights is None else cells.weights[i]
        for total, part in zip(inside, (1, b, b * f, b * y, b * y * y), strict=True):
            total[cells.codes[i]] += part
    return loss, inside


def check(found, expected):
    for field, value in zip(fields(found), expected, strict=True):
        assert getattr(found, field.name) == pytest.approx(value, rel=1e-9, abs=1e-9), field.name


@pytest.mark.parametrize("kind", ["columns", "kernel"])
@pytest.mark.parametrize("cells", [3, 40])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("blocks", [True, False])
def test_sums_are_those_of_the_rows(kind, cells, weighted, blocks, monkeypatch):
    X, Y, groups, u = problem(cells, weighted, n=600 if blocks else 90)
    features = feature_map(kind, X)
    if blocks:  # 256 rows at a time
        monkeypatch.setattr(module, "BLOCK", 1)
        monkeypatch.setattr(module, "COLUMN_BLOCK", 1)
        monkeypatch.setattr(module, "AT_ONCE", 1)
    psi = features.raw(X)
    phi = psi if features.whitening is None else psi @ features.whitening
    loss, in_cells = row_by_row(psi, phi, Y, groups, u)
    found = sum_rows(features, X, Y, groups, u)
    check(found[0], loss)
    check(found[1], in_cells)
    none = np.zeros((groups.count, 0))
    check(sum_cells(features, X, groups), [*in_cells[:3], none, none])


def test_rows_of_single_precision_have_sums_of_single_features_and_double_cells():
    X, Y, groups, u = problem(3, weighted=True)
    X = X.astype(np.float32)
    features = KernelFeatures.from_landmarks(Kernel("rbf", gamma=0.5), None, X[:7], np.float32)
    psi = features.raw(X)
    loss, in_cells = row_by_row(psi, psi @ features.whitening, Y, groups, u)
    found = sum_rows(features, X, Y, groups, u)
    check(found[1], in_cells)
    assert found[0].features == pytest.approx(loss[2], rel=1e-12)
    assert found[0].gram == pytest.approx(loss[4], abs=1e-3)
    assert found[0].gram.dtype == found[0].whitened.dtype == float


@pytest.mark.parametrize("weighted", [True, False])
def test_sums_about_another_origin(weighted):
    X, Y, groups, u = problem(3, weighted)
    a, b = np.array([1.0, -2.0, 0.3]), np.array([0.4, -5.0])
    origin = np.zeros(3)
    moved = sum_rows(LinearFeatures(origin), X - a, Y - b, groups, u)
    for first, then in zip(sum_rows(LinearFeatures(origin), X, Y, groups, u), moved, strict=True):
        check(first.shift(a, b), vars(then).values())


def test_sums_are_taken_off_as_they_were_added():
    X, Y, groups, u = problem(3, weighted=True)
    features = LinearFeatures(np.zeros(3))

    def loss(rows):
        there = Cells(groups.codes[rows], 3, groups.weights[rows])
        return sum_rows(features, X[rows], Y[rows], there, u[rows])[0]

    first, rest, whole = loss(slice(0, 40)), loss(slice(40, None)), loss(slice(None))
    check(first.add(rest), vars(whole).values())
    check(whole.add(rest, -1), vars(first).values())


def test_means_of_cells_are_zero_where_there_is_no_weight():
    cells = CellSums.zeros(3, 2, 1)
    assert not any(sums.any() for sums in vars(cells).values())
    cells.mass[:2] = 2.0, 0.5
    cells.features[:2] = [[4.0, 6.0], [1.0, 0.0]]
    assert cells.means.tolist() == [[2.0, 3.0], [2.0, 0.0], [0.0, 0.0]]
    assert cells.mean(np.ones((3, 1))).ravel().tolist() == [0.5, 2.0, 1.0]
