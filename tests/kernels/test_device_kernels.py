"""Kernels on a device have the values of those on the CPU."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF

from meanparity.kernels import Kernel
from meanparity.kernels import device as module
from meanparity.kernels.device import DeviceKernel, device_values
from meanparity.kernels.spec import KERNEL_NAMES
from meanparity.linalg.device import Device, download, resolve_device

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def device():
    return resolve_device("auto") or Device("torch:cpu")


def dot(x, z):
    return float(x @ z) + 1.0


KERNELS = {
    **{name: Kernel(name, coef0=0.5) for name in KERNEL_NAMES if name != "precomputed"},
    "gamma": Kernel("rbf", gamma=0.3),
    "laplacian gamma": Kernel("laplacian", gamma=0.3),
    "chi2 gamma": Kernel("chi2", gamma=0.3),
    "degree": Kernel("poly", gamma=0.3, degree=2.5, coef0=1),
    "degree 0": Kernel("poly", gamma=0.3, degree=0, coef0=1),
    "function": Kernel(dot),
    "object": Kernel(RBF(0.5)),
    "columns": Kernel("rbf", columns=[2, 0]),
    "sum": Kernel("rbf", columns=[0, 1]) + Kernel("linear", columns=[2]) + Kernel("laplacian"),
    "product": Kernel("rbf") * Kernel("poly", columns=[1]),
}


def rows(n=37, seed=0):
    X = np.random.default_rng(seed).random((n, 3))
    X[:3] = X[3:6]
    X[5, 1] = X[7, 1] = 0.0
    return X


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("kind", ["dense", "sparse", "sparse rows"])
def test_values_are_those_of_the_cpu(device, name, kind, monkeypatch):
    if kind != "dense" and name in ("chi2", "additive_chi2", "chi2 gamma", "object", "function"):
        return  # which do not take sparse rows on the CPU either
    X, points = rows(), rows(23, 1)
    X = X if kind == "dense" else sparse.csr_matrix(X)
    points = sparse.csr_matrix(points) if kind == "sparse" else points
    host = KERNELS[name].bind(points)
    values = device_values(host, device)
    prepared, part, some = values.prepare(X), slice(5, 30), slice(3, 20)
    block = download(values.block(prepared, part, some))
    assert np.allclose(block, host.block(X[part], some), rtol=1e-13, atol=1e-14)
    kernel, rng = DeviceKernel(host, device), np.random.default_rng(2)
    coef, left = rng.standard_normal((23, 4)), rng.standard_normal((37, 2))
    monkeypatch.setattr(Device, "block_numbers", lambda self: 23 * 10)  # four blocks of rows
    assert np.allclose(kernel.evaluate(X, coef), host.evaluate(X, coef), rtol=0, atol=1e-11)
    few = coef[:17]
    assert np.allclose(
        kernel.evaluate(X, few, some), host.evaluate(X, few, some), rtol=0, atol=1e-11
    )
    whole = host.block(X)
    for either in (kernel, host):
        values, across = either.evaluate_both(X, coef, left, np.ones((11, 2)))
        assert np.allclose(values, whole @ coef, rtol=0, atol=1e-11)
        assert np.allclose(across, 1.0 + whole[:, :11].T @ left, rtol=0, atol=1e-11)
    own = points[:20]
    ours = download(kernel.own_values(own)(slice(2, 9), some))
    assert np.allclose(ours, host.own_values(own)(slice(2, 9), some), rtol=1e-13, atol=1e-14)
    monkeypatch.setattr(module, "_DIAGONAL_ROWS", 8)
    for first, these in ((0, points), (4, points[4:])):
        assert np.allclose(kernel.diagonal(these, first), host.diagonal(these, first), atol=1e-13)
    assert np.allclose(
        kernel.evaluate_own(own, coef[:20]), host.evaluate_own(own, coef[:20]), rtol=0, atol=1e-11
    )


def test_precomputed_values_are_uploaded(device):
    K = rows() @ rows().T
    values = device_values(Kernel("precomputed").bind(K), device)
    block = values.block(values.prepare(K), slice(2, 9), slice(3, 8))
    assert np.array_equal(download(block), K[2:9, 3:8])


@pytest.mark.parametrize("name", ["chi2", "additive_chi2"])
def test_negative_values_are_refused_as_on_the_cpu(device, name):
    values = device_values(Kernel(name).bind(rows()), device)
    with pytest.raises(ValueError, match="negative values"):
        values.prepare(-rows())


def test_pickles_hold_no_memory_of_a_device(device):
    host = Kernel("rbf").bind(rows())
    kernel = DeviceKernel(host, device)
    before, size = kernel.evaluate(rows(), np.ones((37, 1))), len(pickle.dumps(host))
    text = pickle.dumps(kernel)
    assert len(text) < size + 500
    assert np.array_equal(pickle.loads(text).evaluate(rows(), np.ones((37, 1))), before)
