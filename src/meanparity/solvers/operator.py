"""A kernel matrix that is not stored: its values are recomputed for every product."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from meanparity._typing import Features, FloatArray
from meanparity.kernels.bound import BoundKernel
from meanparity.linalg.parallel import ordered_map
from meanparity.linalg.symmetric import require_finite, row_blocks

_BLOCK = 2**20  # kernel values held at a time by each core (8 MiB)


@dataclass(frozen=True, eq=False)
class KernelOperator:
    """The kernel matrix of rows with themselves, which is not stored.

    It does what `SymmetricMatrix` does, but for factorisations.

    Parameters
    ----------
    kernel : BoundKernel
        Bound to the rows, and others after them.
    X : (n, d) array or sparse matrix
        The rows.
    diagonal : (n,) array
        Its diagonal.
    shares : (n,) array or None
        Weights of the means that centring subtracts, None if it is not centred.
    root : (n,) array or None
        What rows and columns are multiplied by.
    V, signs : (n, q) and (q,) arrays
        ``V diag(signs) Vᵀ`` is subtracted last.
    """

    kernel: BoundKernel
    X: Features
    diagonal: FloatArray
    shares: FloatArray | None
    root: FloatArray | None
    V: FloatArray
    signs: FloatArray

    @classmethod
    def from_kernel(cls, kernel: BoundKernel, X: Features) -> KernelOperator:
        """The kernel matrix of rows X, neither centred nor scaled."""
        n = X.shape[0]
        with np.errstate(over="ignore", invalid="ignore"):
            diagonal = kernel.diagonal(X)
        require_finite(diagonal)
        return cls(kernel, X, diagonal, None, None, np.zeros((n, 0)), np.zeros(0))

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def times(self, Z: FloatArray) -> FloatArray:
        """The product with Z, (n, r)."""
        inner = Z if self.root is None else self.root[:, None] * Z
        if self.shares is not None:
            inner = inner - np.outer(self.shares, inner.sum(axis=0))
        product = self._kernel_times(np.ascontiguousarray(inner))
        if self.shares is not None:
            product -= self.shares @ product
        if self.root is not None:
            product *= self.root[:, None]
        if len(self.signs):
            product -= self.V @ (self.signs[:, None] * (self.V.T @ Z))
        return product

    def _kernel_times(self, Z: FloatArray) -> FloatArray:
        n = len(self)

        def rows(part: slice) -> FloatArray:
            values: FloatArray = self.kernel.block(self.X[part], slice(0, n)) @ Z
            return values

        return np.concatenate(list(ordered_map(rows, row_blocks(n, max(_BLOCK // n, 16)))))

    def centre(self, shares: FloatArray) -> tuple[KernelOperator, FloatArray]:
        """``H K Hᵀ`` with ``H = I − 1 sharesᵀ``, and the row means of K, (n,)."""
        row_means = self._kernel_times(shares[:, None])[:, 0]
        diagonal = self.diagonal - 2 * row_means + shares @ row_means
        return replace(self, shares=shares, diagonal=diagonal), row_means

    def scale(self, root: FloatArray) -> KernelOperator:
        """``diag(root) K diag(root)`` for root of shape (n,)."""
        return replace(self, root=root, diagonal=self.diagonal * root**2)

    def deflate(self, V: FloatArray, signs: FloatArray) -> KernelOperator:
        """``K − V diag(signs) Vᵀ`` for V of shape (n, q)."""
        return replace(self, V=V, signs=signs, diagonal=self.diagonal - (V**2) @ signs)
