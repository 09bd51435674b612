"""BLAS and LAPACK on blocks of a larger array, in place.

SciPy's Python wrappers copy every block whose rows are not contiguous, and NumPy cannot subtract
a product without a temporary array. The routines behind `scipy.linalg.cython_blas` take a leading
dimension, so they work on a block where it lies; this module calls them. All arrays are float64,
two-dimensional, with unit stride along the last axis ("row-major with a leading dimension").
Products go the same way: NumPy and SciPy bring a BLAS each, and threads of the one that wait
for work take time from those of the other.

A matrix that is row-major here is its own transpose to Fortran: a lower triangle is passed as an
upper one, and a product is written down backwards.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas, cython_lapack

from meanparity._typing import FloatArray
from meanparity.exceptions import NotPositiveDefiniteError


def _routine(module: Any, name: str) -> tuple[Any, Any]:
    """The C function behind a capsule of SciPy's Cython interface, and its integer type."""
    capsule = module.__pyx_capi__[name]
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    signature: bytes = get_name(capsule)  # such as b"void (char *, int *, ...)"
    arguments = signature.count(b",") + 1
    # a SciPy built for 64-bit BLAS integers says so in the signature
    integer = ctypes.c_int if b" int *" in signature else ctypes.c_int64
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)
    return prototype(get_pointer(capsule, signature)), integer


_GEMM, _INT = _routine(cython_blas, "dgemm")
_SYRK, _ = _routine(cython_blas, "dsyrk")
_TRSM, _ = _routine(cython_blas, "dtrsm")
_TRMM = {
    np.dtype(np.float64): (_routine(cython_blas, "dtrmm")[0], ctypes.c_double),
    np.dtype(np.float32): (_routine(cython_blas, "strmm")[0], ctypes.c_float),
}
_POTRF, _ = _routine(cython_lapack, "dpotrf")


def _int(value: int) -> Any:
    return ctypes.byref(_INT(value))


def _real(value: float) -> Any:
    return ctypes.byref(ctypes.c_double(value))


def _leading_dimension(array: FloatArray) -> int | None:
    """Numbers from one row to the next if the array is row-major, else None."""
    rows, columns = array.shape
    down, right = array.strides
    if array.dtype != np.float64 or not array.flags.aligned or (right != 8 and columns > 1):
        return None
    leading = max(columns, 1) if rows < 2 else int(down) // 8
    return leading if down % 8 == 0 and leading >= columns else None


def _block(array: FloatArray) -> tuple[Any, Any]:
    """Address and leading dimension of a row-major block."""
    leading = _leading_dimension(array)
    if leading is None:
        raise TypeError(f"need row-major float64, got {array.dtype} with strides {array.strides}")
    return ctypes.c_void_p(array.ctypes.data), _int(leading)


def subtract_gram(C: FloatArray, A: FloatArray) -> None:
    """Lower triangle of ``C -= A @ A.T``; C is (m, m), A is (m, k)."""
    (c, ldc), (a, lda) = _block(C), _block(A)
    _SYRK(b"U", b"T", _int(len(C)), _int(A.shape[1]), _real(-1.0), a, lda, _real(1.0), c, ldc)


def multiply(
    A: FloatArray, B: FloatArray, out: FloatArray, *, scale: float = 1.0, add: bool = False
) -> FloatArray:
    """``out = scale · A @ B``, or ``out += scale · A @ B``; A and B may be transposed views.

    A is (m, k), B is (k, n), out is (m, n) and row-major.
    """
    (m, k), n = A.shape, B.shape[1]
    if B.shape[0] != k or out.shape != (m, n) or not out.flags.writeable:
        raise ValueError(f"cannot write {A.shape} @ {B.shape} to {out.shape}, {out.flags}")
    if not (m and k and n):
        out[...] = out if add else 0.0
        return out
    (trans_a, A), (trans_b, B) = _operand(A), _operand(B)
    (a, lda), (b, ldb), (c, ldc) = _block(A), _block(B), _block(out)
    _GEMM(
        trans_b, trans_a, _int(n), _int(m), _int(k),
        _real(scale), b, ldb, a, lda, _real(float(add)), c, ldc,
    )  # fmt: skip
    return out


def _operand(array: FloatArray) -> tuple[bytes, FloatArray]:
    """The row-major matrix behind a factor, and whether the factor is its transpose."""
    if _leading_dimension(array) is not None:
        return b"N", array
    if _leading_dimension(array.T) is not None:
        return b"T", array.T
    return b"N", np.ascontiguousarray(array, dtype=np.float64)


def cholesky_lower(A: FloatArray) -> None:
    """Replace the lower triangle of A, (m, m), by its Cholesky factor; the strict upper stays."""
    a, lda = _block(A)
    info = _INT(0)
    _POTRF(b"U", _int(len(A)), a, lda, ctypes.byref(info))
    if info.value:
        raise NotPositiveDefiniteError(f"pivot {info.value} is not positive")


def divide_right(B: FloatArray, L: FloatArray) -> None:
    """``B = B @ inv(L).T`` for a lower-triangular L, (m, m); B is (n, m)."""
    (b, ldb), (ell, ldl) = _block(B), _block(L)
    n, m = B.shape
    _TRSM(b"L", b"U", b"T", b"N", _int(m), _int(n), _real(1.0), ell, ldl, b, ldb)


def divide_left(L: FloatArray, B: FloatArray, *, transposed: bool) -> None:
    """``B = inv(L) @ B``, or ``inv(L).T @ B``, for a lower-triangular L, (m, m); B is (m, r)."""
    (b, ldb), (ell, ldl) = _block(B), _block(L)
    m, r = B.shape
    trans = b"T" if transposed else b"N"
    _TRSM(b"R", b"U", trans, b"N", _int(r), _int(m), _real(1.0), ell, ldl, b, ldb)


def multiply_upper(A: NDArray[Any], W: NDArray[Any]) -> None:
    """``A = A @ W`` for an upper-triangular W, (m, m); A is (n, m).

    Both are row-major and contiguous, of the same precision, which may be single.
    """
    routine, real = _TRMM[A.dtype]
    n, m = A.shape
    if W.shape != (m, m) or W.dtype != A.dtype:
        raise ValueError(f"cannot multiply {A.shape} {A.dtype} by {W.shape} {W.dtype}")
    if not (A.flags.c_contiguous and W.flags.c_contiguous and A.flags.writeable):
        raise ValueError("need contiguous arrays, the first of which can be written to")
    a, w = (ctypes.c_void_p(array.ctypes.data) for array in (A, W))
    one = ctypes.byref(real(1.0))
    routine(b"L", b"L", b"N", b"N", _int(m), _int(n), one, w, _int(m), a, _int(m))
