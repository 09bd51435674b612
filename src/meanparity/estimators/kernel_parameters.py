"""Constructor parameters that say which kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from meanparity.kernels import AbstractKernel, Kernel, resolve_kernel


class KernelParameters:
    """An estimator with the parameters kernel, gamma, degree, coef0 and kernel_params."""

    kernel: str | Callable[..., Any] | AbstractKernel
    gamma: float | None
    degree: float
    coef0: float
    kernel_params: Mapping[str, Any] | None

    def _kernel(self) -> AbstractKernel:
        if isinstance(self.kernel, AbstractKernel) and self.gamma is not None:
            raise ValueError(
                f"gamma={self.gamma!r} is for named kernels, but kernel is {self.kernel!r}. Pass "
                "gamma to the kernel itself."
            )
        return self._named(self.kernel)

    def _named(self, kernel: Any) -> AbstractKernel:
        """Another kernel with the same parameters, if it is a name."""
        return resolve_kernel(
            kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            params=self.kernel_params,
        )

    @property
    def _precomputed(self) -> bool:
        name = self.kernel.kernel if isinstance(self.kernel, Kernel) else self.kernel
        return isinstance(name, str) and name == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = self._precomputed
        return tags
