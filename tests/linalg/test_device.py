"""Names of devices, and what happens without torch."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from meanparity import ParityKernelRidge
from meanparity.linalg import device as module
from meanparity.linalg.device import Device, name_of, resolve_device
from meanparity.solvers import ConjugateGradient, Dense, Nystrom


@pytest.mark.parametrize("name", ["gpu", "CUDA", "cuda:", "cuda:x", "mps", "torch", 1, None])
def test_unknown_devices_are_refused(name):
    with pytest.raises(ValueError, match=r"device=.* is not known\. Pass 'cpu', 'cuda', 'cuda:1'"):
        resolve_device(name)


def test_the_cpu_needs_no_device():
    assert resolve_device("cpu") is None
    assert name_of(None) == "cpu"
    assert name_of(Device("cuda:1")) == "cuda:1"
    there = Device("torch:cpu", limit=5)
    assert resolve_device(there) is there
    assert there.place == "cpu"
    assert Device("cuda:1").place == "cuda:1"


@pytest.mark.parametrize("solver", [Dense, Nystrom, ConjugateGradient])
def test_without_torch_a_device_says_what_to_install(monkeypatch, solver):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert resolve_device("auto") is None
    X = np.arange(20.0)[:, None]
    model = ParityKernelRidge(kernel="rbf", solver=solver(device="cuda"))
    with pytest.raises(ImportError, match=r"device='cuda' needs PyTorch.*pip install 'mean"):
        model.fit(X, X[:, 0], sensitive_features=np.arange(20) % 2)


def test_fits_on_the_cpu_do_not_import_torch():
    code = (
        "import sys, numpy as np\n"
        "from meanparity import ParityKernelRidge\n"
        "from meanparity.solvers import Dense\n"
        "X = np.arange(20.0)[:, None]\n"
        "model = ParityKernelRidge(kernel='rbf', solver=Dense(precision='mixed'))\n"
        "model.fit(X, X[:, 0], sensitive_features=np.arange(20) % 2).predict(X)\n"
        "print('torch' in sys.modules, 'meanparity.kernels.device' in sys.modules)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False"]


@pytest.mark.torch
def test_devices_that_torch_does_not_see():
    import torch

    count = torch.cuda.device_count()
    with pytest.raises(ValueError, match=rf"torch sees {count} CUDA devices on this machine\."):
        resolve_device(f"cuda:{count}")


@pytest.mark.torch
@pytest.mark.parametrize("fails", [False, True])
def test_precision_of_products_is_restored(monkeypatch, fails):
    """The flag of the process is what it was, also after errors."""
    import torch

    monkeypatch.setattr(Device, "is_cuda", True)  # the flag exists without a GPU, too
    flag = torch.backends.cuda.matmul
    before = flag.fp32_precision
    there = Device("torch:cpu")
    try:
        with there.products("tf32"):
            assert flag.fp32_precision == "tf32"
            with there.products("ieee"):
                assert flag.fp32_precision == "ieee"
            assert flag.fp32_precision == "tf32"
            if fails:
                raise ArithmeticError
    except ArithmeticError:
        assert fails
    assert flag.fp32_precision == before
