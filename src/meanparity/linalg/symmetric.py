"""One n × n array that holds a symmetric matrix and, once factorised, its Cholesky factor too.

The matrix is in the upper triangle and the factor in the lower one, so that a fit needs the memory
of one array, and products with the matrix remain possible after the factorisation.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from meanparity._typing import FloatArray
from meanparity.linalg import blas
from meanparity.linalg.adjusted import Adjustment
from meanparity.linalg.blas import NotPositiveDefiniteError
from meanparity.linalg.memory import SMALL, require_memory

_LOG = logging.getLogger(__name__)
_TILE = 256  # square that stays in cache while it is transposed
_BELOW = np.tri(_TILE, k=-1, dtype=bool)  # where it is below its diagonal


def _block_size(n: int) -> int:
    """Rows factored at a time: enough for full speed, and few enough for any BLAS.

    OpenBLAS's own threaded Cholesky crashes the process on 16,000 rows and more.
    """
    return min(max(n // 4, 256), 1024)


def row_blocks(stop: int, size: int, start: int = 0) -> list[slice]:
    """Consecutive slices of at most `size` rows that cover ``range(start, stop)``.

    Examples
    --------
    >>> row_blocks(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(first, min(first + size, stop)) for first in range(start, stop, size)]


def require_finite(values: FloatArray) -> None:
    """Raise `ValueError` when a value of a kernel is infinite or not a number."""
    if not np.isfinite(values).all():
        raise ValueError(
            "The kernel matrix has infinite or undefined values. Scale the features, for "
            "instance with StandardScaler, or choose another kernel."
        )


class SymmetricFactor(Protocol):
    """What a solver needs of a factorised ``K + shift·I``."""

    def solve(self, rhs: FloatArray) -> FloatArray:
        """``(K + shift·I)⁻¹ rhs``; rhs is (n, r)."""
        ...


@dataclass(frozen=True, eq=False)
class SymmetricMatrix:
    """A symmetric matrix in the upper triangle of `array`; the lower one is working memory.

    Parameters
    ----------
    array : (n, n) float64 array, C-contiguous
        Its upper triangle is the matrix. It is overwritten.
    diagonal : (n,) array
        The diagonal of the matrix, stored separately because the factor overwrites it.
    """

    array: FloatArray
    diagonal: FloatArray

    @staticmethod
    def allocate(n: int, *, advice: str) -> FloatArray:
        """Memory for an n × n matrix; an error if it does not fit into free memory."""
        if 8 * n * n > SMALL:
            require_memory(8 * n * n, what=f"The kernel matrix of {n:,} rows", advice=advice)
        return np.empty((n, n))

    @classmethod
    def from_upper(cls, array: FloatArray) -> SymmetricMatrix:
        """The matrix in the upper triangle of an array, which is used as it is."""
        return cls(array, array.diagonal().copy())

    def __len__(self) -> int:
        return len(self.array)

    def times(self, Z: FloatArray) -> FloatArray:
        """The product of the matrix with Z, (n, r), before or after a factorisation."""
        on_diagonal = np.einsum("ii->i", self.array)
        of_factor = on_diagonal.copy()
        on_diagonal[:] = self.diagonal
        product = blas.multiply_symmetric(self.array, np.ascontiguousarray(Z))
        on_diagonal[:] = of_factor
        return product

    def centre(self, shares: FloatArray) -> tuple[SymmetricMatrix, FloatArray]:
        """``H K Hᵀ`` with ``H = I − 1 sharesᵀ``, in place, and the row means of K, (n,).

        `shares`, (n,), sum to one: the weight of each row in a mean.
        """
        row_means = self.times(shares[:, None])[:, 0]
        means = row_means - shares @ row_means / 2
        for rows in row_blocks(len(self), _TILE):
            self.array[rows, rows.start :] -= means[rows, None]
            self.array[rows, rows.start :] -= means[rows.start :]
        return SymmetricMatrix(self.array, self.diagonal - 2 * means), row_means

    def deflate(self, V: FloatArray, signs: FloatArray) -> SymmetricMatrix:
        """``K − V diag(signs) Vᵀ`` for V of shape (n, r), in place."""
        right, V = np.ascontiguousarray((V * signs).T), np.ascontiguousarray(V)
        for rows in row_blocks(len(self), _TILE):
            after = slice(rows.start, len(self))
            blas.multiply(V[rows], right[:, after], self.array[rows, after], scale=-1.0, add=True)
        return SymmetricMatrix(self.array, self.diagonal - (V**2) @ signs)

    def scale(self, root: FloatArray) -> SymmetricMatrix:
        """``diag(root) K diag(root)`` for root of shape (n,), in place."""
        for rows in row_blocks(len(self), _TILE):
            self.array[rows, rows.start :] *= root[rows, None]
            self.array[rows, rows.start :] *= root[rows.start :]
        return SymmetricMatrix(self.array, self.diagonal * root**2)

    def cholesky(
        self, shift: float, adjustment: Adjustment | None = None, *, single: bool = False
    ) -> Cholesky:
        """Factor ``K + shift·I = L Lᵀ`` into the lower triangle, left-looking, block by block.

        K is not changed.

        Parameters
        ----------
        shift : float
            What is added to the diagonal.
        adjustment : Adjustment, optional
            What is done to K first.
        single : bool
            Whether the factor is computed in single precision. Row i of a factor in single
            precision takes half of the bytes below the diagonal in row i of the array.

        Raises
        ------
        NotPositiveDefiniteError
            If the shifted matrix is not positive definite to working precision: a pivot is not
            positive, or no larger than the rounding error of the entry that it started from.
        """
        n, told = len(self.array), time.monotonic()
        A: NDArray[Any] = self.array.view(np.float32)[:, :n] if single else self.array
        least = np.finfo(np.float32).eps if single else n * np.finfo(float).eps
        diagonal = self.diagonal if adjustment is None else adjustment.diagonal(self.diagonal)
        for rows in row_blocks(n, _block_size(n)):
            below, done = slice(rows.stop, n), slice(0, rows.start)
            with np.errstate(over="ignore"):  # what is too large for single precision is refused
                self._mirror(A, rows, adjustment)
                np.einsum("ii->i", A[rows, rows])[:] = diagonal[rows] + shift
            if rows.start:
                blas.subtract_gram(A[rows, rows], A[rows, done])
                blas.multiply(A[below, done], A[rows, done].T, A[below, rows], scale=-1.0, add=True)
            blas.cholesky_lower(A[rows, rows])
            pivots = np.einsum("ii->i", A[rows, rows]) ** 2
            if not np.all(pivots > least * np.abs(diagonal[rows] + shift)):
                raise NotPositiveDefiniteError(f"a pivot in rows {rows} is nothing but rounding")
            if rows.stop < n:
                blas.divide_right(A[below, rows], A[rows, rows])
            if time.monotonic() - told > 5:
                told = time.monotonic()
                _LOG.info("factorisation: %.0f%% done", 100 * (1 - (1 - rows.stop / n) ** 3))
        return Cholesky(A)

    def eigen(self) -> Eigen:
        """Eigendecomposition of K, which is not changed."""
        n = len(self)
        require_memory(
            3 * 8 * n * n,  # the eigenvectors and what LAPACK's divide and conquer works in
            what=f"The eigendecomposition of {n:,} rows",
            advice="Pass alpha > 0: a positive definite matrix needs no eigendecomposition.",
        )
        self.require_finite()
        full = np.triu(self.array, 1)
        full += full.T
        np.einsum("ii->i", full)[:] = self.diagonal
        values, vectors = scipy.linalg.eigh(
            full, overwrite_a=True, check_finite=False, driver="evd"
        )
        return Eigen(values, vectors, cut=n * np.finfo(float).eps)

    def require_finite(self) -> None:
        """Raise `ValueError` when an entry is infinite or not a number."""
        for rows in row_blocks(len(self), _TILE):
            require_finite(np.triu(self.array[rows, rows.start :], 1))
        require_finite(self.diagonal)

    def _mirror(self, A: NDArray[Any], rows: slice, adjustment: Adjustment | None) -> None:
        """Copy rows of the matrix, right of its diagonal, to the columns of A below; adjusted."""
        for at in row_blocks(rows.stop, _TILE, rows.start):
            square = self.array[at, at].T
            if adjustment is not None:
                square = adjustment.apply(square, at, at)
            np.copyto(A[at, at], square, where=_BELOW[: len(square), : len(square)])
            for below in row_blocks(len(self.array), _TILE, at.stop):
                tile = self.array[at, below].T
                A[below, at] = tile if adjustment is None else adjustment.apply(tile, below, at)


@dataclass(frozen=True, eq=False)
class Cholesky:
    """``A = L Lᵀ``, L in the lower triangle of `array`, (n, n), in double or single precision."""

    array: NDArray[Any]

    def reciprocal_condition(self, norm: float) -> float:
        """An estimate of ``1 / (‖A‖ ‖A⁻¹‖)`` in the 1-norm, where `norm` is ‖A‖."""
        rcond, _ = scipy.linalg.lapack.dpocon(self.array.T, norm, uplo="U")
        return float(rcond)

    def solve(self, rhs: FloatArray) -> FloatArray:
        """``A⁻¹ rhs`` for rhs of shape (n, r), by forward and back substitution in blocks."""
        L, Z = self.array, np.array(rhs, order="C", dtype=self.array.dtype)
        blocks = row_blocks(len(L), _block_size(len(L)))
        for rows in blocks:
            if rows.start:
                blas.multiply(L[rows, : rows.start], Z[: rows.start], Z[rows], scale=-1.0, add=True)
            blas.divide_left(L[rows, rows], Z[rows], transposed=False)
        for rows in reversed(blocks):
            after = slice(rows.stop, len(L))
            if rows.stop < len(L):
                blas.multiply(L[after, rows].T, Z[after], Z[rows], scale=-1.0, add=True)
            blas.divide_left(L[rows, rows], Z[rows], transposed=True)
        return np.asarray(Z, dtype=float)


@dataclass(frozen=True, eq=False)
class Eigen:
    """``A = U diag(values) Uᵀ``, possibly singular or indefinite.

    Parameters
    ----------
    values, vectors : (n,) and (n, n) arrays
        Eigenvalues and eigenvectors.
    cut : float
        Eigenvalues below this share of the largest count as zero.
    """

    values: FloatArray
    vectors: FloatArray
    cut: float

    def shifted(self, shift: float) -> Eigen:
        """``A + shift·I``."""
        return replace(self, values=self.values + shift)

    def solve(self, rhs: FloatArray) -> FloatArray:
        """``A⁺ rhs`` for rhs of shape (n, r)."""
        size = np.abs(self.values)
        keep = size > self.cut * size.max()
        U = self.vectors[:, keep]
        solution: FloatArray = U @ ((U.T @ rhs) / self.values[keep, None])
        return solution


def symmetric_basis(E: FloatArray, cut: float) -> tuple[FloatArray, FloatArray]:
    """Coordinates W with ``W.T @ E @ W = diag(signs)`` on the eigenvectors of E above `cut`.

    Parameters
    ----------
    E : (q, q) array
        Symmetric. All signs are +1 where it is positive semidefinite.
    cut : float
        Eigenvalues of at most this size count as zero.

    Returns
    -------
    W : (q, r) array
        ``eigenvectors / sqrt(|eigenvalues|)`` for the r eigenvalues above `cut`.
    signs : (r,) array
        The signs of their eigenvalues.

    Examples
    --------
    >>> W, signs = symmetric_basis(np.array([[4.0, 0.0], [0.0, 0.0]]), 1e-12)
    >>> W.ravel(), signs
    (array([0.5, 0. ]), array([1.]))
    """
    values, vectors = np.linalg.eigh((E + E.T) / 2)
    keep = np.abs(values) > cut
    return vectors[:, keep] / np.sqrt(np.abs(values[keep])), np.sign(values[keep])
