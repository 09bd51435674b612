"""Kernels: specifications, and what they become when bound to points."""

from meanparity.kernels.bound import BLOCK_NUMBERS, BoundKernel, ShiftedKernel, gram
from meanparity.kernels.spec import (
    KERNEL_NAMES,
    AbstractKernel,
    Kernel,
    KernelProduct,
    KernelSum,
    resolve_kernel,
)

__all__ = [
    "BLOCK_NUMBERS",
    "KERNEL_NAMES",
    "AbstractKernel",
    "BoundKernel",
    "Kernel",
    "KernelProduct",
    "KernelSum",
    "ShiftedKernel",
    "gram",
    "resolve_kernel",
]
