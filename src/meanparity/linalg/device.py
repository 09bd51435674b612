"""Devices: where arrays of size n × n and n × m are, and how much memory there is.

torch is imported when a device is asked for, and not before. NumPy arrays go in and come out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanparity._typing import FloatArray
from meanparity.linalg import memory

Tensor = Any  # of torch, which is not imported here
CPU = "cpu"
_NAMES = r"cuda(:\d+)?|torch:cpu"
_MOST = 2**26  # numbers of a block of rows: enough for any device
_CHOICES = "Pass 'cpu', 'cuda', 'cuda:1' for the second one, or 'auto'."


@dataclass(frozen=True)
class Device:
    """A device of torch.

    Parameters
    ----------
    name : str
        "cuda", "cuda:1", ...; or "torch:cpu", the same code on torch's arrays in main memory.
    limit : int or None
        Bytes that may be used; what is free if None.
    """

    name: str
    limit: int | None = None

    @property
    def torch(self) -> Any:
        """The module."""
        import torch

        return torch

    @property
    def place(self) -> str:
        """What torch calls it."""
        return self.name.removeprefix("torch:")

    @property
    def is_cuda(self) -> bool:
        """Whether it is a GPU."""
        return self.place != CPU

    @property
    def has_tf32(self) -> bool:
        """Whether it multiplies in TF32: 10 bits after the point instead of 23."""
        return self.is_cuda and bool(self.torch.cuda.get_device_capability(self.place)[0] >= 8)

    def free_bytes(self) -> int:
        """Bytes that can be allocated now."""
        if not self.is_cuda:
            free = memory.available_bytes()
        else:
            cuda = self.torch.cuda
            free = int(cuda.mem_get_info(self.place)[0])
            free += int(cuda.memory_reserved(self.place) - cuda.memory_allocated(self.place))
        return free if self.limit is None else min(free, self.limit)

    def block_numbers(self) -> int:
        """Numbers of a block of rows that is not kept; a few of them fit into memory."""
        return max(min(_MOST, self.free_bytes() // 64), 2**14)

    def upload(self, array: NDArray[Any]) -> Tensor:
        """An array on the device, in double precision."""
        values = np.ascontiguousarray(array, dtype=np.float64)
        if not values.flags.writeable:
            values = values.copy()  # torch has no arrays that cannot be written to
        return self.torch.from_numpy(values).to(self.place, copy=True)

    def empty(self, *shape: int, single: bool = False) -> Tensor:
        """Memory for an array in double or single precision."""
        dtype = self.torch.float32 if single else self.torch.float64
        return self.torch.empty(shape, dtype=dtype, device=self.place)

    @contextmanager
    def products(self, precision: str) -> Iterator[None]:
        """Multiply in "tf32" or "ieee" single precision, and leave torch as it was."""
        if not self.is_cuda:
            yield
            return
        setting = self.torch.backends.cuda.matmul
        before = setting.fp32_precision
        setting.fp32_precision = precision
        try:
            yield
        finally:
            setting.fp32_precision = before


def download(tensor: Tensor) -> FloatArray:
    """An array of the device as one of NumPy, in double precision."""
    values: FloatArray = tensor.detach().to("cpu").numpy().astype(np.float64, copy=False)
    return values


def name_of(device: Device | None) -> str:
    """Its name, that of the CPU without one."""
    return CPU if device is None else device.name


def resolve_device(device: Any) -> Device | None:
    """The device of this name; None for NumPy on the CPU.

    "auto" is a GPU if torch is installed and sees one, and the CPU otherwise.

    Examples
    --------
    >>> resolve_device("cpu") is None
    True
    """
    if isinstance(device, Device):
        return device
    if device == CPU:
        return None
    if device == "auto":
        return (
            Device("cuda") if find_spec("torch") and Device("").torch.cuda.is_available() else None
        )
    if not isinstance(device, str) or not re.fullmatch(_NAMES, device):
        raise ValueError(f"device={device!r} is not known. {_CHOICES}")
    if not find_spec("torch"):
        raise ImportError(
            f"device={device!r} needs PyTorch, which is not installed. Run "
            "`pip install 'meanparity[gpu]'`, or pass device='cpu'."
        )
    found = Device(device)
    if found.is_cuda:
        count = found.torch.cuda.device_count() if found.torch.cuda.is_available() else 0
        number = int(device.partition(":")[2] or 0)
        if number >= count:
            raise ValueError(
                f"device={device!r}, but torch sees {count} CUDA devices on this machine. Pass "
                "device='cpu', or 'auto' for a GPU only where there is one."
            )
    return found
