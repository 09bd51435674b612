"""Solvers on a device pass the suite of tests/solvers/conformance.py.

The device is a GPU if torch sees one, and torch's arrays in main memory otherwise.
"""

from __future__ import annotations

import pytest

from meanparity.kernels import Kernel
from meanparity.linalg import device_matrix
from meanparity.linalg.blas import NotPositiveDefiniteError
from meanparity.linalg.device import Device, resolve_device
from meanparity.solvers import LBFGS, ConjugateGradient, Dense, Newton, Nystrom
from tests.solvers import test_conformance as on_cpu
from tests.solvers.conformance import RidgeConformance, plain_problem

pytestmark = pytest.mark.torch

DEVICE_MATRIX = "meanparity.linalg.device_matrix.DeviceMatrix.compute"
DEVICE_PRODUCTS = "meanparity.solvers.device_sums.device_products"
MEMORIES = ("meanparity.linalg.device.Device.free_bytes",)
EVALUATED = "meanparity.kernels.device.DeviceKernel.evaluate"


def device():
    return resolve_device("auto") or Device("torch:cpu")


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    """Blocks of 8 rows, so that even small problems have several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_matrix, "_BLOCK", 8)
        patch.setattr(device_matrix, "_SMALLEST", 4)
        yield


class TestDenseOnDevice(RidgeConformance):
    info_name = "dense"
    runs = (DEVICE_MATRIX, on_cpu.REFINED)
    never_runs = (on_cpu.ALLOCATE, on_cpu.CHOLESKY, on_cpu.EIGEN, on_cpu.STEPS, on_cpu.FROM_SUMS)
    memories = MEMORIES
    too_large = r"The kernel matrix of 1,500 rows needs .* MiB on the device, but only 1\.00 MiB"

    def solver(self, problem):
        return Dense(device=device())

    def test_the_device_is_said(self):
        solution = self.solve(plain_problem(40, 3, Kernel("rbf")))
        assert solution.info.device == device().name
        assert solution.info.system_residual <= 1e-12

    def test_singular_matrices_are_refused(self):
        with pytest.raises(NotPositiveDefiniteError, match=r"cannot factor K \+ alpha·I"):
            self.solve(plain_problem(40, 3, Kernel("linear"), 0.0))


class TestMixedDenseOnDevice(TestDenseOnDevice):
    too_large = r"in single precision of 1,500 rows needs .* MiB on the device, but only 1\.00 MiB"

    def solver(self, problem):
        return Dense(device=device(), precision="mixed")


class TestConjugateGradientOnDevice(on_cpu.TestConjugateGradient):
    runs = (on_cpu.STEPS, EVALUATED)

    def solver(self, problem):
        return ConjugateGradient(device=device())


class TestNystromOnDevice(on_cpu.TestNystrom):
    runs = (*on_cpu.TestNystrom.runs, DEVICE_PRODUCTS)

    def solver(self, problem):
        return Nystrom(landmarks=on_cpu.all_points(problem), device=device())


class TestNewtonOnDevice(on_cpu.TestNewton):
    runs = (DEVICE_MATRIX, on_cpu.REFINED, on_cpu.NEWTON)
    never_runs = (on_cpu.ALLOCATE, on_cpu.CHOLESKY, on_cpu.EIGEN, on_cpu.GRADIENTS)
    memories = MEMORIES
    too_large = TestDenseOnDevice.too_large

    def solver(self, problem):
        return Newton(tol=1e-15, device=device())

    def test_the_device_is_said(self):
        solution = self.solve(plain_problem(40, 3, Kernel("rbf")))
        assert solution.info.device == device().name


class TestLBFGSOnDevice(on_cpu.TestLBFGS):
    runs = (DEVICE_MATRIX, on_cpu.GRADIENTS)
    never_runs = (on_cpu.ALLOCATE, on_cpu.CHOLESKY, on_cpu.EIGEN, on_cpu.NEWTON)
    memories = MEMORIES
    too_large = TestDenseOnDevice.too_large

    def solver(self, problem):
        return LBFGS(tol=1e-15, device=device())
