"""Kernels: specifications, and their bound form that evaluates blocks of the kernel matrix."""

from meanparity.kernels.spec import AbstractKernel, Kernel, KernelProduct, KernelSum

__all__ = ["AbstractKernel", "Kernel", "KernelProduct", "KernelSum"]
