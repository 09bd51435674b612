"""BLAS and LAPACK on blocks of a larger array, in place.

SciPy's Python wrappers copy every block whose rows are not contiguous, and NumPy cannot subtract
a product without a temporary array. The routines behind `scipy.linalg.cython_blas` take a leading
dimension, so they work on a block where it lies; this module calls them. All arrays are
two-dimensional, with unit stride along the last axis ("row-major with a leading dimension"), and
all arguments of a call have the same precision: float64, or float32 where a function says so.
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


_, _INT = _routine(cython_blas, "dgemm")
_SYMM, _ = _routine(cython_blas, "dsymm")
_SYMV, _ = _routine(cython_blas, "dsymv")


def _both(module: Any, name: str) -> dict[np.dtype[Any], Any]:
    """The routine of this name in double and in single precision."""
    kinds = (np.float64, "d"), (np.float32, "s")
    return {np.dtype(real): _routine(module, letter + name)[0] for real, letter in kinds}


_GEMM, _SYRK, _TRSM, _TRMM = (_both(cython_blas, name) for name in ("gemm", "syrk", "trsm", "trmm"))
_POTRF = _both(cython_lapack, "potrf")
_REAL = {np.dtype(np.float64): ctypes.c_double, np.dtype(np.float32): ctypes.c_float}

_FEW, _SMALL = 8, 256  # up to so many columns, products of a larger matrix are faster one by one

_DOUBLE = np.dtype(np.float64)
_ONES, _ZEROS, _MINUSES = (
    {dtype: ctypes.byref(real(value)) for dtype, real in _REAL.items()} for value in (1, 0, -1)
)
_ONE, _ZERO = _ONES[_DOUBLE], _ZEROS[_DOUBLE]


def _block(
    array: NDArray[Any], dtype: np.dtype[Any] = _DOUBLE, *, factor: bool = False
) -> tuple[Any, Any, bytes, NDArray[Any]]:
    """Address and leading dimension of a row-major block of this precision.

    A factor of a product may also be the transpose of such a block (b"T"), and anything else is
    copied. The last item is the array at the address, which must stay alive.
    """
    if dtype not in _REAL:
        raise TypeError(f"need row-major float64 or float32, got {dtype}")
    size = dtype.itemsize
    for trans, view in ((b"N", array), (b"T", array.T)) if factor else ((b"N", array),):
        (rows, columns), (down, right) = view.shape, view.strides
        leading = max(columns, 1) if rows < 2 else down // size
        in_rows = (right == size or columns < 2) and down % size == 0 and leading >= columns
        if in_rows and view.dtype == dtype and view.flags.aligned:
            return ctypes.c_void_p(view.ctypes.data), ctypes.byref(_INT(leading)), trans, view
    if factor:
        return _block(np.ascontiguousarray(array, dtype=dtype), dtype)
    raise TypeError(f"need row-major {dtype}, got {array.dtype} with strides {array.strides}")


def subtract_gram(C: NDArray[Any], A: NDArray[Any]) -> None:
    """Lower triangle of ``C -= A @ A.T``; C is (m, m), A is (m, k), of either precision."""
    real = C.dtype
    (c, ldc, *_), (a, lda, *_) = _block(C, real), _block(A, real)
    m, k = ctypes.byref(_INT(len(C))), ctypes.byref(_INT(A.shape[1]))
    _SYRK[real](b"U", b"T", m, k, _MINUSES[real], a, lda, _ONES[real], c, ldc)


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
    (m, k), n, real = A.shape, B.shape[1], out.dtype
    if B.shape[0] != k or out.shape != (m, n) or not out.flags.writeable:
        raise ValueError(f"cannot write {A.shape} @ {B.shape} to {out.shape}, {out.flags}")
    if not (m and k and n):
        out[...] = out if add else 0.0
        return out
    a, lda, trans_a, A = _block(A, real, factor=True)
    b, ldb, trans_b, B = _block(B, real, factor=True)
    c, ldc, *_ = _block(out, real)
    sizes = (ctypes.byref(_INT(size)) for size in (n, m, k))
    factor = ctypes.byref(_REAL[real](scale))
    also = _ONES[real] if add else _ZEROS[real]
    _GEMM[real](trans_b, trans_a, *sizes, factor, b, ldb, a, lda, also, c, ldc)
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


def cholesky_lower(A: NDArray[Any]) -> None:
    """Replace the lower triangle of A, (m, m), by its Cholesky factor; the strict upper stays.

    A is of either precision.
    """
    a, lda, *_ = _block(A, A.dtype)
    info = _INT(0)
    _POTRF[A.dtype](b"U", ctypes.byref(_INT(len(A))), a, lda, ctypes.byref(info))
    if info.value:
        raise NotPositiveDefiniteError(f"pivot {info.value} is not positive")


def divide_right(B: NDArray[Any], L: NDArray[Any]) -> None:
    """``B = B @ inv(L).T`` for a lower-triangular L, (m, m); B is (n, m), of either precision."""
    real = B.dtype
    (b, ldb, *_), (ell, ldl, *_) = _block(B, real), _block(L, real)
    n, m = (ctypes.byref(_INT(size)) for size in B.shape)
    _TRSM[real](b"L", b"U", b"T", b"N", m, n, _ONES[real], ell, ldl, b, ldb)


def divide_left(L: FloatArray, B: FloatArray, *, transposed: bool) -> None:
    """``B = inv(L) @ B``, or ``inv(L).T @ B``, for a lower-triangular L, (m, m); B is (m, r).

    Both are of either precision.
    """
    real = B.dtype
    (b, ldb, *_), (ell, ldl, *_) = _block(B, real), _block(L, real)
    m, r = (ctypes.byref(_INT(size)) for size in B.shape)
    trans = b"T" if transposed else b"N"
    _TRSM[real](b"R", b"U", trans, b"N", r, m, _ONES[real], ell, ldl, b, ldb)


def multiply_upper(A: NDArray[Any], W: NDArray[Any]) -> None:
    """``A = A @ W`` for an upper-triangular W, (m, m); A is (n, m).

    Both are row-major and contiguous, of the same precision, which may be single.
    """
    n, m = A.shape
    if W.shape != (m, m) or W.dtype != A.dtype:
        raise ValueError(f"cannot multiply {A.shape} {A.dtype} by {W.shape} {W.dtype}")
    if not (A.flags.c_contiguous and W.flags.c_contiguous and A.flags.writeable):
        raise ValueError("need contiguous arrays, the first of which can be written to")
    a, w = (ctypes.c_void_p(array.ctypes.data) for array in (A, W))
    rows, columns = ctypes.byref(_INT(n)), ctypes.byref(_INT(m))
    _TRMM[A.dtype](b"L", b"L", b"N", b"N", columns, rows, _ONES[A.dtype], w, columns, a, columns)
