"""Kernels bound to points: blocks ``κ(rows, points)``, written to memory that the caller owns.

The usual kernels are one matrix product per block and elementwise functions in place; the others
go through scikit-learn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from meanparity._typing import Features, FloatArray
from meanparity.linalg.blas import multiply
from meanparity.linalg.symmetric import SymmetricMatrix, row_blocks
from meanparity.state import stored

if TYPE_CHECKING:
    from meanparity.kernels.spec import AbstractKernel

_GRAM_ROWS = 256  # rows of a Gram block: wide blocks of few rows stay in cache between operations
BLOCK_NUMBERS = 2**22  # kernel values held at a time when they are not stored (32 MiB)


class BoundKernel(ABC):
    """A kernel and the n points its functions are centred on."""

    @abstractmethod
    def block(
        self, rows: Features, points: slice = slice(None), out: FloatArray | None = None
    ) -> FloatArray:
        """``κ(rows, points)``, (len(rows), len(points)), written to `out` if given."""

    def diagonal(self, rows: Features) -> FloatArray:
        """``κ(x, x)`` of the points themselves, whose features are `rows`: (n,)."""
        parts = row_blocks(rows.shape[0], 64)
        return np.concatenate([self.block(rows[part], part).diagonal() for part in parts])

    def evaluate(self, rows: Features, coef: FloatArray, points: slice = slice(None)) -> FloatArray:
        """``κ(rows, points) @ coef`` for coef of shape (n, m), a few rows at a time."""
        values = np.empty((rows.shape[0], coef.shape[1]))
        if rows.shape[0] * len(coef) <= BLOCK_NUMBERS:
            return multiply(self.block(rows, points), coef, values)
        for part in row_blocks(rows.shape[0], max(BLOCK_NUMBERS // len(coef), 1)):
            multiply(self.block(rows[part], points), coef, values[part])
        return values


@stored("KernelExpansion")
@dataclass(frozen=True, eq=False, repr=False)
class KernelExpansion:
    """Functions ``Σ_i c_i κ(·, z_i)`` of n points z.

    Parameters
    ----------
    kernel : AbstractKernel
        κ.
    points : (n, d) array or sparse matrix, or None
        z; None for a precomputed kernel, whose rows are kernel values with the points.
    names : tuple of str or None
        Names of the columns, for kernels of named columns.
    origin : (d,) array or None
        What a linear kernel subtracts from all rows.
    """

    kernel: AbstractKernel
    points: Features | None
    names: tuple[str, ...] | None = None
    origin: FloatArray | None = None

    @cached_property
    def bound(self) -> BoundKernel:
        """The kernel, bound to the points."""
        if self.points is None:
            return PrecomputedKernel()
        if self.origin is not None:
            return linear(self.points, self.origin)
        return self.kernel.bind(self.points, self.names)

    def evaluate(self, X: Features, coef: FloatArray) -> FloatArray:
        """Values at the rows of X of the functions with coefficients coef, (n, m)."""
        return self.bound.evaluate(X, coef)


def gram(kernel: BoundKernel, X: Features, *, advice: str) -> SymmetricMatrix:
    """The Gram matrix of the kernel's own points X, upper triangle only, in one array.

    Raises
    ------
    MemoryError
        Before anything is allocated, when it does not fit; `advice` says what to do.
    """
    n = X.shape[0]
    array = SymmetricMatrix.allocate(n, advice=advice)
    with np.errstate(over="ignore", invalid="ignore"):  # the factorisation refuses such a matrix
        for rows in row_blocks(n, _GRAM_ROWS):
            kernel.block(X[rows], slice(rows.start, n), out=array[rows, rows.start :])
    return SymmetricMatrix.from_upper(array)


@dataclass(frozen=True, eq=False)
class ProductKernel(BoundKernel):
    """``κ(x, z) = finish(left(x)ᵀ right(z))``: one matrix product, then in-place functions."""

    left: Callable[[Features], Features]
    right: Features  # (n, p)
    finish: Callable[[FloatArray], None]

    def block(
        self, rows: Features, points: slice = slice(None), out: FloatArray | None = None
    ) -> FloatArray:
        """``finish(left(rows) @ right(points).T)``, written to `out` if given."""
        left, right = self.left(rows), self.right[points]
        if sparse.issparse(right) or sparse.issparse(left):
            product = left @ right.T
            product = product.toarray() if sparse.issparse(product) else product
            out = product if out is None else _copy(product, out)
        else:
            out = np.empty((len(left), len(right))) if out is None else out
            multiply(left, right.T, out)
        self.finish(out)
        return out


@dataclass(frozen=True, eq=False)
class PairwiseKernel(BoundKernel):
    """A kernel that scikit-learn evaluates."""

    metric: Any
    params: Mapping[str, Any]
    points: Features

    def block(
        self, rows: Features, points: slice = slice(None), out: FloatArray | None = None
    ) -> FloatArray:
        """What scikit-learn gives."""
        values = pairwise_kernels(rows, self.points[points], metric=self.metric, **self.params)
        return np.asarray(values, dtype=float) if out is None else _copy(values, out)


@dataclass(frozen=True, eq=False)
class PrecomputedKernel(BoundKernel):
    """Rows are kernel values with the points already."""

    def block(
        self, rows: Features, points: slice = slice(None), out: FloatArray | None = None
    ) -> FloatArray:
        """The columns of the points."""
        values = rows[:, points]
        values = values.toarray() if sparse.issparse(values) else values
        return values.copy() if out is None else _copy(values, out)


@dataclass(frozen=True, eq=False)
class ColumnsKernel(BoundKernel):
    """A kernel that looks at some columns."""

    inner: BoundKernel
    positions: list[int]

    def block(
        self, rows: Features, points: slice = slice(None), out: FloatArray | None = None
    ) -> FloatArray:
        """The inner kernel of some columns."""
        return self.inner.block(rows[:, self.positions], points, out)


@dataclass(frozen=True, eq=False)
class CombinedKernel(BoundKernel):
    """Kernels combined entry by entry."""

    parts: tuple[BoundKernel, ...]
    combine: np.ufunc

    def block(
        self, rows: Features, points: slice = slice(None), out: FloatArray | None = None
    ) -> FloatArray:
        """The blocks of the parts, combined."""
        result = self.parts[0].block(rows, points, out)
        for part in self.parts[1:]:
            self.combine(result, part.block(rows, points), out=result)
        return result


def linear(X: Features, origin: FloatArray | None = None) -> ProductKernel:
    """``xᵀz``, or ``(x − origin)ᵀ(z − origin)``."""
    if origin is None:
        return ProductKernel(_same, X, _keep)
    return ProductKernel(_Shift(origin), _shift(X, origin), _keep)


def polynomial(X: Features, gamma: float, coef0: float, degree: float) -> ProductKernel:
    """``(γ xᵀz + coef0)^degree``."""
    return ProductKernel(_Affine(gamma, coef0), _with_ones(X), _Power(degree))


def sigmoid(X: Features, gamma: float, coef0: float) -> ProductKernel:
    """``tanh(γ xᵀz + coef0)``."""
    return ProductKernel(_Affine(gamma, coef0), _with_ones(X), _tanh)


def rbf(X: Features, gamma: float) -> ProductKernel:
    """``exp(−γ‖x − z‖²)``, with ``−γ‖x − z‖²`` as one product of rows with two more entries.

    Distances do not depend on the origin, so dense rows are centred first: their norms then cost
    no digits when the data lie far from zero.
    """
    origin = None if sparse.issparse(X) else X.mean(axis=0)
    left = _RbfLeft(gamma, origin)
    right = X if origin is None else X - origin
    norms = -gamma * _squared_norms(right)
    return ProductKernel(left, _columns(right, np.ones_like(norms), norms), _exp)


@dataclass(frozen=True, eq=False)
class _Shift:
    """Rows minus an origin, (d,)."""

    origin: FloatArray

    def __call__(self, X: Features) -> Features:
        return _shift(X, self.origin)


@dataclass(frozen=True, eq=False)
class _RbfLeft:
    gamma: float
    origin: FloatArray | None

    def __call__(self, X: Features) -> Features:
        X = X if self.origin is None else _shift(X, self.origin)
        norms = -self.gamma * _squared_norms(X)
        return _columns(2 * self.gamma * X, norms, np.ones_like(norms))


@dataclass(frozen=True)
class _Affine:
    """Rows whose product with ``[z, 1]`` is ``γ xᵀz + coef0``."""

    gamma: float
    coef0: float

    def __call__(self, X: Features) -> Features:
        return _columns(self.gamma * X, np.full(X.shape[0], float(self.coef0)))


@dataclass(frozen=True)
class _Power:
    """The elementwise power in place; a whole degree by repeated squaring, which is faster."""

    degree: float

    def __call__(self, values: FloatArray) -> None:
        if self.degree != int(self.degree) or self.degree < 1:
            np.power(values, self.degree, out=values)
            return
        for row in values:
            base, result = row.copy(), None
            for bit in bin(int(self.degree))[:1:-1]:
                if bit == "1":
                    result = (
                        base.copy() if result is None else np.multiply(result, base, out=result)
                    )
                np.square(base, out=base)
            row[:] = result


def _shift(X: Features, origin: FloatArray) -> FloatArray:
    """Rows less an origin; sparse rows become dense, a few at a time."""
    shifted: FloatArray = (X.toarray() if sparse.issparse(X) else X) - origin
    return shifted


def check_gram(K: Features) -> None:
    """Refuse a precomputed kernel matrix that cannot be one."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"kernel='precomputed' needs the square kernel matrix of the training rows in fit, but "
            f"X has shape {K.shape}. Pass κ(X, X), and κ(X_new, X) to predict."
        )
    for rows in row_blocks(K.shape[0], _GRAM_ROWS):  # few at a time: K may fill half the memory
        difference = abs(K[rows] - K[:, rows].T).max()
        if difference > 1e-10 * abs(K[rows]).max():
            raise ValueError(
                f"kernel='precomputed' needs a symmetric matrix, but entries differ from their "
                f"mirror image by up to {difference:.3g}. Pass (K + K.T) / 2 if that is rounding."
            )


def check_function(block: FloatArray, kernel: Callable[..., Any]) -> None:
    """Refuse a function that is no kernel, from its values on a few rows."""
    if not np.isfinite(block).all() or abs(block - block.T).max() > 1e-10 * abs(block).max():
        raise ValueError(
            f"kernel={kernel!r} is not finite or not symmetric on the first rows. A kernel of two "
            "rows has the same finite value whichever comes first."
        )


def _same(X: Features) -> Features:
    return X


def _with_ones(X: Features) -> Features:
    return _columns(X, np.ones(X.shape[0]))


def _keep(values: FloatArray) -> None:
    """Leave the products as they are."""


def _exp(values: FloatArray) -> None:
    np.minimum(values, 0.0, out=values)  # rounding can make the distance of equal rows negative
    np.exp(values, out=values)


def _tanh(values: FloatArray) -> None:
    np.tanh(values, out=values)


def _columns(X: Features, *more: FloatArray) -> Features:
    """X with more columns, sparse if X is."""
    if sparse.issparse(X):
        return sparse.hstack([X, *(column[:, None] for column in more)], format="csr")
    return np.column_stack([X, *more])


def _squared_norms(X: Features) -> FloatArray:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    norms: FloatArray = np.einsum("ij,ij->i", X, X)
    return norms


def _copy(values: FloatArray, out: FloatArray) -> FloatArray:
    out[...] = values
    return out
