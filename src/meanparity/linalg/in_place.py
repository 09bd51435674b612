"""BLAS and LAPACK on blocks of a larger array, in place.

SciPy's Python wrappers copy every block whose rows are not contiguous, and NumPy cannot subtract
a product without a temporary array. The routines behind `scipy.linalg.cython_blas` take a leading
dimension, so they work on a block where it lies; this module calls them. All arrays are float64,
two-dimensional, with unit stride along the last axis ("row-major with a leading dimension").
Products are computed here too: NumPy and SciPy each bring a BLAS, and idle threads of one take time
from the threads of the other.

Fortran sees a row-major matrix as its transpose: a lower triangle is passed as an upper one, and
the factors of a product are passed in reverse order.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas, cython_lapack

from meanparity._typing import FloatArray
from meanparity.linalg.copies import NotPositiveDefiniteError


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
_SYMM, _ = _routine(cython_blas, "dsymm")
_SYMV, _ = _routine(cython_blas, "dsymv")
_SYRK, _ = _routine(cython_blas, "dsyrk")
_TRSM, _ = _routine(cython_blas, "dtrsm")
_TRMM = {
    np.dtype(np.float64): (_routine(cython_blas, "dtrmm")[0], ctypes.c_double),
    np.dtype(np.float32): (_routine(cython_blas, "strmm")[0], ctypes.c_float),
}
_POTRF, _ = _routine(cython_lapack, "dpotrf")

_FEW, _SMALL = 8, 256  # up to so many columns, products of a larger matrix are faster one by one

_ONE, _ZERO, _MINUS = (ctypes.byref(ctypes.c_double(value)) for value in (1.0, 0.0, -1.0))


def _block(array: FloatArray, *, factor: bool = False) -> tuple[Any, Any, bytes, FloatArray]:
    """Address and leading dimension of a row-major block of float64.

    A factor of a product may also be the transpose of such a block (b"T"), and anything else is
    copied. The last item is the array at the address, which must stay alive.
    """
    for trans, view in ((b"N", array), (b"T", array.T)) if factor else ((b"N", array),):
        (rows, columns), (down, right) = view.shape, view.strides
        leading = max(columns, 1) if rows < 2 else down // 8
        in_rows = (right == 8 or columns < 2) and down % 8 == 0 and leading >= columns
        if in_rows and view.dtype == np.float64 and view.flags.aligned:
            return ctypes.c_void_p(view.ctypes.data), ctypes.byref(_INT(leading)), trans, view
    if factor:
        return _block(np.ascontiguousarray(array, dtype=np.float64))
    raise TypeError(f"need row-major float64, got {array.dtype} with strides {array.strides}")


def subtract_gram(C: FloatArray, A: FloatArray) -> None:
    """Lower triangle of ``C -= A @ A.T``; C is (m, m), A is (m, k)."""
    (c, ldc, *_), (a, lda, *_) = _block(C), _block(A)
    m, k = ctypes.byref(_INT(len(C))), ctypes.byref(_INT(A.shape[1]))
    _SYRK(b"U", b"T", m, k, _MINUS, a, lda, _ONE, c, ldc)


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
    a, lda, trans_a, A = _block(A, factor=True)
    b, ldb, trans_b, B = _block(B, factor=True)
    c, ldc, *_ = _block(out)
    sizes = (ctypes.byref(_INT(size)) for size in (n, m, k))
    factor = ctypes.byref(ctypes.c_double(scale))
    _GEMM(trans_b, trans_a, *sizes, factor, b, ldb, a, lda, _ONE if add else _ZERO, c, ldc)
    return out


def multiply_symmetric(A: FloatArray, B: FloatArray) -> FloatArray:
    """``A @ B`` for a symmetric A, (n, n), of which the upper triangle is read; B is (n, r)."""
    out = np.empty_like(B)
    if not B.size:
        return out
    a, lda, *_ = _block(A)
    r, n = ctypes.byref(_INT(B.shape[1])), ctypes.byref(_INT(len(A)))
    if B.shape[1] > _FEW or len(A) < _SMALL:
        (b, ldb, *_), (c, ldc, *_) = _block(B), _block(out)
        _SYMM(b"R", b"L", r, n, _ONE, a, lda, b, ldb, _ZERO, c, ldc)
        return out
    step, product = ctypes.byref(_INT(1)), np.empty(len(A))
    y = ctypes.c_void_p(product.ctypes.data)
    for j, column in enumerate(np.ascontiguousarray(B.T)):
        x = ctypes.c_void_p(column.ctypes.data)
        _SYMV(b"L", n, _ONE, a, lda, x, step, _ZERO, y, step)
        out[:, j] = product
    return out


def cholesky_lower(A: FloatArray) -> None:
    """Replace the lower triangle of A, (m, m), by its Cholesky factor; the strict upper stays."""
    a, lda, *_ = _block(A)
    info = _INT(0)
    _POTRF(b"U", ctypes.byref(_INT(len(A))), a, lda, ctypes.byref(info))
    if info.value:
        raise NotPositiveDefiniteError(f"pivot {info.value} is not positive")


def divide_right(B: FloatArray, L: FloatArray) -> None:
    """``B = B @ inv(L).T`` for a lower-triangular L, (m, m); B is (n, m)."""
    (b, ldb, *_), (ell, ldl, *_) = _block(B), _block(L)
    n, m = (ctypes.byref(_INT(size)) for size in B.shape)
    _TRSM(b"L", b"U", b"T", b"N", m, n, _ONE, ell, ldl, b, ldb)


def divide_left(L: FloatArray, B: FloatArray, *, transposed: bool) -> None:
    """``B = inv(L) @ B``, or ``inv(L).T @ B``, for a lower-triangular L, (m, m); B is (m, r)."""
    (b, ldb, *_), (ell, ldl, *_) = _block(B), _block(L)
    m, r = (ctypes.byref(_INT(size)) for size in B.shape)
    trans = b"T" if transposed else b"N"
    _TRSM(b"R", b"U", trans, b"N", r, m, _ONE, ell, ldl, b, ldb)


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
    rows, columns = ctypes.byref(_INT(n)), ctypes.byref(_INT(m))
    routine(b"L", b"L", b"N", b"N", columns, rows, one, w, columns, a, columns)
