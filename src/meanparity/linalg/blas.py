"""BLAS and LAPACK on blocks of a larger array: in place where SciPy's C functions can be called.

They are found through `ctypes` in SciPy's Cython interface, which is not a promise of either
library. Where that fails, `copies` does the same with temporary arrays.
"""

from __future__ import annotations

from meanparity.linalg.copies import NotPositiveDefiniteError

try:
    from meanparity.linalg.in_place import (
        cholesky_lower,
        divide_left,
        divide_right,
        multiply,
        multiply_symmetric,
        multiply_upper,
        subtract_gram,
    )
except (AttributeError, ImportError, KeyError, OSError, TypeError, ValueError):
    from meanparity.linalg.copies import (
        cholesky_lower,
        divide_left,
        divide_right,
        multiply,
        multiply_symmetric,
        multiply_upper,
        subtract_gram,
    )

__all__ = [
    "NotPositiveDefiniteError",
    "cholesky_lower",
    "divide_left",
    "divide_right",
    "multiply",
    "multiply_symmetric",
    "multiply_upper",
    "subtract_gram",
]
