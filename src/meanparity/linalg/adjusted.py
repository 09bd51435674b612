"""A symmetric matrix that is centred, scaled and deflated without being changed.

``diag(root) H K Hᵀ diag(root) − V diag(signs) Vᵀ`` with ``H = I − 1 sharesᵀ``: products with it
are products with K, and blocks of it are blocks of K that are adjusted one by one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from meanparity._typing import FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Adjustment:
    """What is done to a symmetric matrix K, (n, n), in this order.

    Parameters
    ----------
    shares : (n,) array or None
        Weights of the means that are taken off, which sum to one, if it is centred.
    means : (n,) array or None
        m, with ``H K Hᵀ = K − m 1ᵀ − 1 mᵀ``.
    root : (n,) array or None
        What rows and columns are multiplied by.
    V, signs : (n, q) and (q,) arrays, or None
        ``V diag(signs) Vᵀ`` is taken off at last.
    """

    shares: FloatArray | None = None
    means: FloatArray | None = None
    root: FloatArray | None = None
    V: FloatArray | None = None
    signs: FloatArray | None = None

    def diagonal(self, diagonal: FloatArray) -> FloatArray:
        """The diagonal of the adjusted matrix, (n,), from that of K."""
        if self.means is not None:
            diagonal = diagonal - 2 * self.means
        if self.root is not None:
            diagonal = diagonal * self.root**2
        if self.V is not None and self.signs is not None:
            diagonal = diagonal - (self.V**2) @ self.signs
        return diagonal

    def apply(self, block: FloatArray, rows: slice, columns: slice) -> FloatArray:
        """A block of the adjusted matrix from the same block of K, which is not changed."""
        if self.means is not None:
            block = block - self.means[rows, None] - self.means[columns]
        if self.root is not None:
            block = block * self.root[rows, None] * self.root[columns]
        if self.V is not None and self.signs is not None:
            block = block - (self.V[rows] * self.signs) @ self.V[columns].T
        return block


NOTHING = Adjustment()


@dataclass(frozen=True, eq=False, kw_only=True)
class AdjustedMatrix(ABC):
    """An adjusted symmetric matrix, (n, n); a subclass multiplies K with vectors.

    It does what `SymmetricMatrix` does, but for factorisations.

    Parameters
    ----------
    diagonal : (n,) array
        Its diagonal.
    adjustment : Adjustment
        What is done to K.
    """

    diagonal: FloatArray
    adjustment: Adjustment = NOTHING

    def __len__(self) -> int:
        return len(self.diagonal)

    @abstractmethod
    def plain_times(self, Z: FloatArray) -> FloatArray:
        """The product of K itself with Z, (n, r)."""

    def times(self, Z: FloatArray) -> FloatArray:
        """The product with Z, (n, r)."""
        done = self.adjustment
        inner = Z if done.root is None else done.root[:, None] * Z
        if done.shares is not None:
            inner = inner - np.outer(done.shares, inner.sum(axis=0))
        product = self.plain_times(np.ascontiguousarray(inner))
        if done.shares is not None:
            product -= done.shares @ product
        if done.root is not None:
            product *= done.root[:, None]
        if done.V is not None and done.signs is not None:
            product -= done.V @ (done.signs[:, None] * (done.V.T @ Z))
        return product

    def centre(self, shares: FloatArray) -> tuple[Self, FloatArray]:
        """``H K Hᵀ`` with ``H = I − 1 sharesᵀ``, and the row means of K, (n,)."""
        row_means = self.plain_times(shares[:, None])[:, 0]
        means = row_means - shares @ row_means / 2
        return self._with(self.diagonal - 2 * means, shares=shares, means=means), row_means

    def scale(self, root: FloatArray) -> Self:
        """``diag(root) K diag(root)`` for root of shape (n,)."""
        done = self.adjustment
        V = None if done.V is None else root[:, None] * done.V
        before = 1.0 if done.root is None else done.root
        return self._with(self.diagonal * root**2, root=before * root, V=V)

    def deflate(self, V: FloatArray, signs: FloatArray) -> Self:
        """``K − V diag(signs) Vᵀ`` for V of shape (n, q)."""
        return self._with(self.diagonal - (V**2) @ signs, V=V, signs=signs)

    def _with(self, diagonal: FloatArray, **changes: Any) -> Self:
        return replace(self, diagonal=diagonal, adjustment=replace(self.adjustment, **changes))
