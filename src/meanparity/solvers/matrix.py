"""What a kernel matrix has to do, whether it is stored or not."""

from __future__ import annotations

from typing import Protocol, Self

from meanparity._typing import FloatArray


class KernelMatrix(Protocol):
    """What is asked of a kernel matrix besides its factors."""

    @property
    def diagonal(self) -> FloatArray:
        """Its diagonal: (n,)."""
        ...

    def __len__(self) -> int: ...

    def times(self, Z: FloatArray) -> FloatArray:
        """The product with Z, (n, r)."""
        ...

    def centre(self, shares: FloatArray) -> tuple[Self, FloatArray]:
        """``H K Hᵀ`` with ``H = I − 1 sharesᵀ``, and the row means of K, (n,)."""
        ...

    def scale(self, root: FloatArray) -> Self:
        """``diag(root) K diag(root)`` for root of shape (n,)."""
        ...

    def deflate(self, V: FloatArray, signs: FloatArray) -> Self:
        """``K − V diag(signs) Vᵀ`` for V of shape (n, q)."""
        ...

    def require_finite(self) -> None:
        """Refuse values that are not finite."""
        ...
