"""The products and factorisations of `in_place`, by the wrappers of SciPy, which copy blocks.

They are used where the C functions behind SciPy cannot be called, such as in Python compiled to
WebAssembly, and are otherwise the plain formulas that the tests compare with. Arrays are as there:
two-dimensional, with unit stride along the last axis, and of one precision. SciPy expects columns,
so a row-major matrix is passed as its transpose, and a lower triangle as an upper one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsymm, dtrsm, strsm
from scipy.linalg.lapack import dpotrf, spotrf

from meanparity._typing import FloatArray

_POTRF = {np.dtype(np.float64): dpotrf, np.dtype(np.float32): spotrf}
_TRSM = {np.dtype(np.float64): dtrsm, np.dtype(np.float32): strsm}


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """A matrix that should be positive definite is not, or not in floating point."""


def _require_rows(array: NDArray[Any]) -> None:
    """Raise `TypeError` for an array that the routines of `in_place` could not work on."""
    known, step = array.dtype in _POTRF, array.strides[1]
    if not known or (array.shape[1] > 1 and step != array.itemsize):
        raise TypeError(
            f"need row-major float64 or float32, got {array.dtype} with strides {array.strides}"
        )


def subtract_gram(C: NDArray[Any], A: NDArray[Any]) -> None:
    """Lower triangle of ``C -= A @ A.T``; C is (m, m), A is (m, k), of either precision."""
    _require_rows(C)
    np.subtract(C, A @ A.T, out=C, where=np.tri(len(C), dtype=bool))


def multiply(
    A: NDArray[Any],
    B: NDArray[Any],
    out: NDArray[Any],
    *,
    scale: float = 1.0,
    add: bool = False,
) -> NDArray[Any]:
    """``out = scale · A @ B``, or ``out += scale · A @ B``; A and B may be transposed views.

    A is (m, k), B is (k, n), out is (m, n) and row-major, of either precision.
    """
    if B.shape[0] != A.shape[1] or out.shape != (len(A), B.shape[1]) or not out.flags.writeable:
        raise ValueError(f"cannot write {A.shape} @ {B.shape} to {out.shape}, {out.flags}")
    product = A @ B
    product *= scale
    out[...] = out + product if add else product
    return out


def multiply_symmetric(A: FloatArray, B: FloatArray) -> FloatArray:
    """``A @ B`` for a symmetric A, (n, n), of which the upper triangle is read; B is (n, r)."""
    _require_rows(A)
    if not B.size:
        return np.empty_like(B)
    return np.ascontiguousarray(dsymm(1.0, A.T, B, lower=True), dtype=np.float64)


def cholesky_lower(A: NDArray[Any]) -> None:
    """Replace the lower triangle of A, (m, m), by its Cholesky factor; the strict upper stays.

    A is of either precision.
    """
    _require_rows(A)
    factor, info = _POTRF[A.dtype](A.T, lower=False, clean=False)
    if info:
        raise NotPositiveDefiniteError(f"pivot {info} is not positive")
    A[...] = factor.T


def divide_right(B: NDArray[Any], L: NDArray[Any]) -> None:
    """``B = B @ inv(L).T`` for a lower-triangular L, (m, m); B is (n, m), of either precision."""
    if B.size:
        B[...] = _TRSM[B.dtype](1.0, L.T, B.T, lower=False, trans_a=True).T


def divide_left(L: NDArray[Any], B: NDArray[Any], *, transposed: bool) -> None:
    """``B = inv(L) @ B``, or ``inv(L).T @ B``, for a lower-triangular L, (m, m); B is (m, r).

    Both are of either precision.
    """
    if B.size:
        B[...] = _TRSM[B.dtype](1.0, L.T, B, lower=False, trans_a=not transposed)


def multiply_upper(A: NDArray[Any], W: NDArray[Any]) -> None:
    """``A = A @ W`` for an upper-triangular W, (m, m); A is (n, m).

    Both are row-major and contiguous, of the same precision, which may be single.
    """
    m = A.shape[1]
    if W.shape != (m, m) or W.dtype != A.dtype:
        raise ValueError(f"cannot multiply {A.shape} {A.dtype} by {W.shape} {W.dtype}")
    if not (A.flags.c_contiguous and W.flags.c_contiguous and A.flags.writeable):
        raise ValueError("need contiguous arrays, the first of which can be written to")
    A[...] = A @ np.triu(W)
