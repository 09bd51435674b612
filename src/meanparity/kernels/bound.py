"""Kernels bound to points: blocks ``κ(rows, points)``, written to memory that the caller owns.

The usual kernels are one matrix product per block and elementwise functions in place; the others
go through scikit-learn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.extmath import row_norms

from meanparity._typing import Features, FloatArray
from meanparity.linalg.blas import multiply
from meanparity.linalg.symmetric import SymmetricMatrix, row_blocks
from meanparity.state import stored

if TYPE_CHECKING:
    from meanparity.kernels.spec import AbstractKernel
    from meanparity.linalg.device import Device

_GRAM_ROWS = 256  # rows of a Gram block: wide blocks of few rows stay in cache between operations
BLOCK_NUMBERS = 2**22  # kernel values held at a time when they are not stored (32 MiB)
ALL = slice(None)

Out = FloatArray | None


class BoundKernel(ABC):
    """A kernel and the n points its functions are centred on."""

    has_device: ClassVar[bool] = False  # whether sums over the points are computed on a device

    @abstractmethod
    def block(self, rows: Features, points: slice = ALL, out: Out = None) -> FloatArray:
        """``κ(rows, points)``, (len(rows), len(points)), written to `out` if given."""

    def diagonal(self, rows: Features, first: int = 0) -> FloatArray:
        """``κ(x, x)`` of the points from `first` on, whose features are `rows`: (n,)."""
        parts = row_blocks(rows.shape[0], 64)
        here = (slice(first + part.start, first + part.stop) for part in parts)
        blocks = (self.block(rows[part], own) for part, own in zip(parts, here, strict=True))
        return np.concatenate([block.diagonal() for block in blocks])

    def evaluate(self, rows: Features, coef: FloatArray, points: slice = ALL) -> FloatArray:
        """``κ(rows, points) @ coef`` for coef of shape (n, m), a few rows at a time."""
        values = np.empty((rows.shape[0], coef.shape[1]))
        if rows.shape[0] * len(coef) <= BLOCK_NUMBERS:
            return multiply(self.block(rows, points), coef, values)
        for part in row_blocks(rows.shape[0], max(BLOCK_NUMBERS // len(coef), 1)):
            multiply(self.block(rows[part], points), coef, values[part])
        return values

    def own_values(self, rows: Features) -> Callable[[slice, slice], Any]:
        """A function of rows and columns: these kernel values of the first points.

        `rows` are the features of these points.
        """
        return lambda some, columns: self.block(rows[some], columns)

    def evaluate_both(
        self, rows: Features, coef: FloatArray, left: FloatArray, own: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """``κ @ coef`` for κ of p rows with all points; `own` plus ``κᵀ @ left`` for the first n.

        `coef` is (points, s), `left` is (p, t), and `own`, (n, t), is overwritten. The results are
        (p, s) and (n, t).
        """
        values = np.empty((rows.shape[0], coef.shape[1]))
        for part in row_blocks(len(values), max(BLOCK_NUMBERS // len(coef), 1)):
            block = self.block(rows[part])
            multiply(block, coef, values[part])
            multiply(block[:, : len(own)].T, left[part], own, add=True)
        return values, own

    def evaluate_own(self, rows: Features, coef: FloatArray) -> FloatArray:
        """The same for the first of the points themselves, from half of the kernel values."""
        n = rows.shape[0]
        values = np.zeros(coef.shape)
        for part in row_blocks(n, _GRAM_ROWS):
            after = slice(part.stop, n)
            block = self.block(rows[part], slice(part.start, n))
            multiply(block, coef[part.start :], values[part], add=True)
            multiply(block[:, part.stop - part.start :].T, coef[part], values[after], add=True)
        return values


def on_device(kernel: BoundKernel, device: Device) -> BoundKernel:
    """The kernel, whose sums over points are computed on a device."""
    from meanparity.kernels.device import DeviceKernel  # which is for those who have a device

    return DeviceKernel(kernel, device)


@stored("KernelExpansion", left_out=("device",))
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
    device : Device or None
        Where sums over the points are computed; None for the CPU. Files do not hold it.
    """

    kernel: AbstractKernel
    points: Features | None
    names: tuple[str, ...] | None = None
    origin: FloatArray | None = None
    device: Device | None = None

    @cached_property
    def bound(self) -> BoundKernel:
        """The kernel, bound to the points."""
        if self.points is None:
            kernel: BoundKernel = PrecomputedKernel()
        elif self.origin is not None:
            kernel = linear(self.points, self.origin)
        else:
            kernel = self.kernel.bind(self.points, self.names)
        return kernel if self.device is None else on_device(kernel, self.device)

    def evaluate(self, X: Features, coef: FloatArray) -> FloatArray:
        """Values at the rows of X of the functions with coefficients coef, (n, m)."""
        return self.bound.evaluate(X, coef)

    def as_columns(self, coef: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """θ, (d, m), and an origin, (d,), of the same functions ``(x − origin)ᵀθ`` if linear."""
        if self.points is None or not self.kernel.is_linear:
            return None
        right = _shift(self.points, self.origin)
        origin = np.zeros(right.shape[1]) if self.origin is None else self.origin
        return np.asarray(right.T @ coef), origin


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
    return SymmetricMatrix(array, array.diagonal().copy())


@dataclass(frozen=True, eq=False)
class ProductKernel(BoundKernel):
    """``κ(x, z) = finish(left(x)ᵀ right(z))``: one matrix product, then functions in place.

    Closures cannot be pickled, so the functions are those of this module, or `partial` of them.
    """

    left: Callable[[Features], Features]
    right: Features  # (n, p)
    finish: Callable[[FloatArray], Any] | None = None

    def block(self, rows: Features, points: slice = ALL, out: Out = None) -> FloatArray:
        """``finish(left(rows) @ right(points).T)``, written to `out` if given."""
        left, right = self.left(rows), self.right[points]
        if sparse.issparse(right) or sparse.issparse(left):
            out = _written(left @ right.T, out)
        else:
            out = np.empty((len(left), len(right))) if out is None else out
            multiply(left, right.T, out)
        if self.finish is not None:
            self.finish(out)
        return out


@dataclass(frozen=True, eq=False)
class PairwiseKernel(BoundKernel):
    """A kernel that scikit-learn evaluates."""

    metric: Any
    params: Mapping[str, Any]
    points: Features

    def block(self, rows: Features, points: slice = ALL, out: Out = None) -> FloatArray:
        """The values of scikit-learn's `pairwise_kernels`."""
        values = pairwise_kernels(rows, self.points[points], metric=self.metric, **self.params)
        return _written(values, out)


@dataclass(frozen=True, eq=False)
class PrecomputedKernel(BoundKernel):
    """A kernel whose rows are kernel values with the points already."""

    def block(self, rows: Features, points: slice = ALL, out: Out = None) -> FloatArray:
        """The columns of the points."""
        return _written(rows[:, points], out)


@dataclass(frozen=True, eq=False)
class ColumnsKernel(BoundKernel):
    """A kernel of some of the columns."""

    inner: BoundKernel
    positions: list[int]

    def block(self, rows: Features, points: slice = ALL, out: Out = None) -> FloatArray:
        """The inner kernel of these columns."""
        return self.inner.block(rows[:, self.positions], points, out)


@dataclass(frozen=True, eq=False)
class CombinedKernel(BoundKernel):
    """Kernels combined entry by entry."""

    parts: tuple[BoundKernel, ...]
    combine: np.ufunc

    def block(self, rows: Features, points: slice = ALL, out: Out = None) -> FloatArray:
        """The blocks of the parts, combined."""
        result = self.parts[0].block(rows, points, out)
        for part in self.parts[1:]:
            self.combine(result, part.block(rows, points), out=result)
        return result


def linear(X: Features, origin: FloatArray | None = None) -> ProductKernel:
    """``xᵀz``, or ``(x − origin)ᵀ(z − origin)``."""
    shift = partial(_shift, origin=origin)
    return ProductKernel(shift, shift(X))


def polynomial(X: Features, gamma: float, coef0: float, degree: float) -> ProductKernel:
    """``(γ xᵀz + coef0)^degree``."""
    return _affine(X, gamma, coef0, partial(_power, degree=degree))


def sigmoid(X: Features, gamma: float, coef0: float) -> ProductKernel:
    """``tanh(γ xᵀz + coef0)``."""
    return _affine(X, gamma, coef0, _tanh)


def rbf(X: Features, gamma: float) -> ProductKernel:
    """``exp(−γ‖x − z‖²)``, with ``−γ‖x − z‖²`` as one product of rows with two more entries.

    Distances do not depend on the origin, so dense rows are centred first. Otherwise the norms of
    rows far from zero would cost digits.
    """
    origin = None if sparse.issparse(X) else X.mean(axis=0)
    right = _shift(X, origin)
    norms = -gamma * row_norms(right, squared=True)
    left = partial(_rbf_left, gamma=gamma, origin=origin)
    return ProductKernel(left, _columns(right, np.ones_like(norms), norms), _exp)


def _affine(
    X: Features, gamma: float, coef0: float, finish: Callable[[FloatArray], Any]
) -> ProductKernel:
    """A function of ``γ xᵀz + coef0``, which is the product of ``[γx, coef0]`` and ``[z, 1]``."""
    left = partial(_affine_left, gamma=gamma, coef0=coef0)
    return ProductKernel(left, _columns(X, np.ones(X.shape[0])), finish)


def _affine_left(X: Features, gamma: float, coef0: float) -> Features:
    return _columns(gamma * X, np.full(X.shape[0], float(coef0)))


def _rbf_left(X: Features, gamma: float, origin: FloatArray | None) -> Features:
    X = _shift(X, origin)
    norms = -gamma * row_norms(X, squared=True)
    return _columns(2 * gamma * X, norms, np.ones_like(norms))


def _power(values: FloatArray, degree: float) -> None:
    """The elementwise power in place; a whole degree by repeated squaring, which is faster."""
    if degree != int(degree) or degree < 1:
        np.power(values, degree, out=values)
        return
    for row in values:
        base, result = row.copy(), np.ones_like(row)
        for bit in bin(int(degree))[:1:-1]:
            if bit == "1":
                result *= base
            base *= base
        row[:] = result


def _exp(values: FloatArray) -> None:
    np.minimum(values, 0.0, out=values)  # rounding can make the distance of equal rows negative
    np.exp(values, out=values)


def _tanh(values: FloatArray) -> None:
    np.tanh(values, out=values)


def _shift(X: Features, origin: FloatArray | None) -> Features:
    """Rows minus an origin, if there is one; sparse rows become dense, a few at a time."""
    return X if origin is None else (X.toarray() if sparse.issparse(X) else X) - origin


def _columns(X: Features, *more: FloatArray) -> Features:
    """X with more columns, sparse if X is."""
    if sparse.issparse(X):
        return sparse.hstack([X, *(column[:, None] for column in more)], format="csr")
    return np.column_stack([X, *more])


def _written(values: Any, out: Out) -> FloatArray:
    """Values as a new array of float64, or in `out`."""
    values = values.toarray() if sparse.issparse(values) else values
    if out is None:
        return np.array(values, dtype=float)
    out[...] = values
    return out


def check_gram(K: Features) -> None:
    """Refuse a precomputed kernel matrix that is not square or not symmetric."""
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
    """Refuse a function that is not a kernel, judging by its values on a few rows."""
    if not np.isfinite(block).all() or abs(block - block.T).max() > 1e-10 * abs(block).max():
        raise ValueError(
            f"kernel={kernel!r} is not finite or not symmetric on the first rows. A kernel of two "
            "rows has the same finite value whichever comes first."
        )
