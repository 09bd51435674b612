"""Sums over the features of rows on a device are those of the CPU."""

from __future__ import annotations

from unittest.mock import MagicMock

import numpy as np
import pandas as pd
import pytest

from meanparity import Nystrom, ParityKernelRidge
from meanparity.data.groups import Cells
from meanparity.kernels import Kernel
from meanparity.linalg.device import Device, resolve_device
from meanparity.solvers import device_sums, sums
from meanparity.solvers.features import KernelFeatures
from meanparity.solvers.sums import sum_cells, sum_rows

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def device():
    return resolve_device("auto") or Device("torch:cpu")


def close(found, expected, digits):
    for name, value in vars(expected).items():
        size = np.abs(value).max(initial=1.0)
        assert np.abs(getattr(found, name) - value).max(initial=0.0) <= digits * size, name


@pytest.mark.parametrize("precision", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cells", [3, 50])
def test_sums_of_all_rows_and_of_cells(device, monkeypatch, precision, weighted, cells):
    """A few rows at a time, in several large blocks, in few cells and in many."""
    rng, n = np.random.default_rng(0), 2000
    X, Y = rng.standard_normal((n, 3)).astype(precision), rng.standard_normal((n, 2))
    weights = rng.uniform(0, 2, n) if weighted else None
    of_cells = Cells(rng.integers(0, cells, n), cells, None if weights is None else weights**2)
    kernel, landmarks = Kernel("rbf", gamma=0.3), X[:20].astype(float)
    on_cpu, there = (
        KernelFeatures.from_landmarks(kernel, None, landmarks, precision, place)
        for place in (None, device)
    )
    monkeypatch.setattr(sums, "_DEVICE_ROWS", 900)
    monkeypatch.setattr(Device, "block_numbers", lambda self: 300 * 20)
    digits = 1e-11 if precision == np.float64 else 1e-4
    found = sum_rows(there, X, Y, of_cells, weights)
    expected = sum_rows(on_cpu, X, Y, of_cells, weights)
    for mine, other in zip(found, expected, strict=True):
        close(mine, other, digits)
    close(sum_cells(there, X, of_cells), sum_cells(on_cpu, X, of_cells), 1e-11)


@pytest.mark.parametrize("in_loss", [True, False])
def test_products_have_the_shapes_of_those_of_the_cpu(device, in_loss):
    rng = np.random.default_rng(3)
    X, left = rng.standard_normal((50, 3)), rng.standard_normal((2, 50))
    root = rng.uniform(0, 2, 50) if in_loss else None
    kernel, members = Kernel("rbf", gamma=0.3), (np.arange(50) % 4, np.ones(50), 4)
    on_cpu, there = (
        KernelFeatures.from_landmarks(kernel, None, X[:7], np.float64, place)
        for place in (None, device)
    )
    expected = sums._products(on_cpu, X, left, members, root)
    found = device_sums.device_products(there, X, left, members, root)
    for mine, other in zip(found, expected, strict=True):
        assert mine.shape == other.shape
        assert np.allclose(mine, other, rtol=0, atol=1e-11)


def test_batches_and_statistics_are_summed_there(device):
    rng, n = np.random.default_rng(1), 600
    X, s = rng.standard_normal((n, 3)), np.resize(["a", "b", "c"], n)
    y = np.sin(X[:, 0]) + (s == "a")
    predicted = []
    for place in ("cpu", device):
        solver = Nystrom(landmarks=X[:40], device=place)
        model = ParityKernelRidge(kernel="rbf", gamma=0.2, fit_intercept=True, solver=solver)
        for part in np.array_split(np.arange(n), 3):
            model.partial_fit(X[part], y[part], sensitive_features=s[part])
        assert model.parity_residual_ <= 1e-12
        predicted.append(model.predict(X))
        mine = model.statistics(X[:300], y[:300], sensitive_features=s[:300])
        theirs = model.statistics(X[300:], y[300:], sensitive_features=s[300:], like=mine)
        predicted.append(model.fit_statistics(mine + theirs).predict(X))
    for other in predicted[1:]:
        assert np.allclose(other, predicted[0], rtol=0, atol=1e-9)


def test_rows_of_a_file_are_summed_there(device, tmp_path, monkeypatch):
    rng, n = np.random.default_rng(2), 900
    frame = pd.DataFrame(rng.standard_normal((n, 3)), columns=list("uvw"))
    features = frame.copy()
    frame["s"], frame["y"] = np.resize(["a", "b", "c"], n), np.sin(frame["u"])
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=200)
    products = MagicMock(wraps=device_sums.device_products)
    monkeypatch.setattr(device_sums, "device_products", products)
    predicted = []
    for place in ("cpu", device):
        solver = Nystrom(landmarks=features.to_numpy()[:40], device=place)
        model = ParityKernelRidge(kernel="rbf", gamma=0.2, fit_intercept=True, solver=solver)
        model.fit(tmp_path / "rows.parquet", "y", sensitive_features="s")
        assert model.parity_residual_ <= 1e-12
        assert products.called == (place != "cpu")
        predicted.append(model.predict(features))
    assert np.allclose(*predicted, rtol=0, atol=1e-9)
