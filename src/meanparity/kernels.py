"""Kernels: names, functions, scikit-learn's objects, their sums and products, to Gram blocks.

A `Kernel` is a frozen specification. Bound to points (the training rows) it evaluates blocks
``κ(rows, points)`` into memory that the caller owns. The usual kernels are one matrix product per
block and elementwise functions in place; the others go through scikit-learn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import KERNEL_PARAMS, pairwise_kernels

from meanparity._typing import Features, FloatArray
from meanparity.linalg import SymmetricMatrix, multiply, row_blocks

_GRAM_ROWS = 256  # rows of a Gram block: wide blocks of few rows stay in cache between operations
_PREDICT_NUMBERS = 2**22  # kernel values held at a time when predicting (32 MiB)


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

    def evaluate(self, rows: Features, coef: FloatArray) -> FloatArray:
        """``κ(rows, points) @ coef`` for coef of shape (n, m), a few rows at a time."""
        values = np.empty((rows.shape[0], coef.shape[1]))
        for part in row_blocks(rows.shape[0], max(_PREDICT_NUMBERS // len(coef), 1)):
            multiply(self.block(rows[part]), coef, values[part])
        return values


class AbstractKernel(ABC):
    """What can be bound to points, added and multiplied."""

    @abstractmethod
    def bind(self, X: Features, names: Sequence[str] | None = None) -> BoundKernel:
        """The kernel on the rows of X, (n, d), whose columns may have names."""

    def __add__(self, other: Any) -> KernelSum:
        return KernelSum((self, resolve_kernel(other)))

    def __radd__(self, other: Any) -> KernelSum:
        return KernelSum((resolve_kernel(other), self))

    def __mul__(self, other: Any) -> KernelProduct:
        return KernelProduct((self, resolve_kernel(other)))

    def __rmul__(self, other: Any) -> KernelProduct:
        return KernelProduct((resolve_kernel(other), self))


@dataclass(frozen=True)
class Kernel(AbstractKernel):
    """One kernel, on all columns or some.

    Parameters
    ----------
    kernel : str, callable or sklearn.gaussian_process kernel
        A name that scikit-learn's ``pairwise_kernels`` knows, a function of two rows that returns
        a number, a kernel object, or "precomputed".
    gamma, degree, coef0 : float, float, float
        Parameters of the named kernels; ``gamma=None`` is the kernel's own default.
    params : mapping, optional
        Keyword arguments of a callable kernel.
    columns : sequence of int or str, optional
        Positions or names of the columns it looks at; all of them by default.

    Examples
    --------
    The paper's ``κ_XS = κ_X + κ_S``, with the sensitive attribute in the last column:

    >>> kernel = Kernel("rbf", gamma=0.1, columns=[0, 1]) + Kernel("linear", columns=[2])
    >>> X = np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    >>> kernel.bind(X).block(X)
    array([[ 5.,  7.],
           [ 7., 10.]])
    """

    kernel: str | Callable[..., Any] = "linear"
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1
    params: Mapping[str, Any] = field(default_factory=dict, hash=False)
    columns: tuple[int | str, ...] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.kernel, str) and self.kernel not in KERNEL_NAMES:
            raise ValueError(
                f"kernel={self.kernel!r} is not known. Pass one of {', '.join(KERNEL_NAMES)}, "
                "a function of two rows, or a sklearn.gaussian_process kernel."
            )
        if not isinstance(self.kernel, str) and not callable(self.kernel):
            raise TypeError(
                f"kernel={self.kernel!r} is neither a name nor callable. "
                f"Pass one of {', '.join(KERNEL_NAMES)}, a function of two rows, or a "
                "sklearn.gaussian_process kernel."
            )
        if self.columns is not None:
            columns = tuple(np.atleast_1d(np.array(self.columns, dtype=object)))
            object.__setattr__(self, "columns", columns)
            if not self.columns or self.kernel == "precomputed":
                raise ValueError(
                    f"columns={columns!r} with kernel={self.kernel!r} leaves no columns to look "
                    "at. Name at least one, of a kernel that looks at features."
                )
        for name, least in (("gamma", 0.0), ("degree", 0.0), ("coef0", -np.finfo(float).max)):
            value: Any = getattr(self, name)
            if name == "gamma" and value is None:
                continue
            if not isinstance(value, Real) or not least <= float(value) < np.inf:
                raise ValueError(
                    f"{name}={value!r} is not a finite number"
                    + (" of 0 or more. Pass one." if least == 0 else ". Pass one.")
                )

    @property
    def is_linear(self) -> bool:
        """Whether this is the inner product of whole rows."""
        return self.kernel == "linear" and self.columns is None

    def bind(self, X: Features, names: Sequence[str] | None = None) -> BoundKernel:
        """The kernel on the rows of X, (n, d)."""
        if self.columns is not None:
            positions = _positions(self.columns, X.shape[1], names)
            whole = Kernel(self.kernel, self.gamma, self.degree, self.coef0, self.params)
            return _OnColumns(whole.bind(X[:, positions]), positions)
        if self.kernel == "precomputed":
            _check_gram(X)
            return _Precomputed()
        gamma = 1.0 / X.shape[1] if self.gamma is None else self.gamma
        if self.kernel == "linear":
            return _Product(_same, _same(X), _keep)
        if self.kernel == "rbf":
            return _bind_rbf(X, gamma)
        if self.kernel in ("poly", "polynomial"):
            return _Product(_Affine(gamma, self.coef0), _with_ones(X), _Power(self.degree))
        if self.kernel == "sigmoid":
            return _Product(_Affine(gamma, self.coef0), _with_ones(X), _tanh)
        pairwise = _Pairwise(self.kernel, self._sklearn_params(), X)
        if callable(self.kernel):
            _check_function(pairwise.block(X[:8], slice(0, 8)), self.kernel)
        return pairwise

    def _sklearn_params(self) -> dict[str, Any]:
        if callable(self.kernel):
            return dict(self.params)
        takes = KERNEL_PARAMS[self.kernel]
        named = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return {name: value for name, value in named.items() if name in takes and value is not None}


KERNEL_NAMES = (*sorted(KERNEL_PARAMS), "precomputed")


@dataclass(frozen=True)
class KernelSum(AbstractKernel):
    """The sum of kernels."""

    parts: tuple[AbstractKernel, ...]

    def bind(self, X: Features, names: Sequence[str] | None = None) -> BoundKernel:
        """The sum on the rows of X."""
        return _Combined(tuple(part.bind(X, names) for part in self.parts), np.add)


@dataclass(frozen=True)
class KernelProduct(AbstractKernel):
    """The product of kernels."""

    parts: tuple[AbstractKernel, ...]

    def bind(self, X: Features, names: Sequence[str] | None = None) -> BoundKernel:
        """The product on the rows of X."""
        return _Combined(tuple(part.bind(X, names) for part in self.parts), np.multiply)


def resolve_kernel(
    kernel: Any,
    *,
    gamma: float | None = None,
    degree: float = 3,
    coef0: float = 1,
    params: Mapping[str, Any] | None = None,
) -> AbstractKernel:
    """A kernel specification from a name, a function, an object of scikit-learn, or itself."""
    if isinstance(kernel, AbstractKernel):
        return kernel
    return Kernel(kernel, gamma=gamma, degree=degree, coef0=coef0, params=params or {})


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
class _Product(BoundKernel):
    """``κ(x, z) = finish(left(x)ᵀ right(z))``: one matrix product, then in-place functions."""

    left: Callable[[Features], Features]
    right: Features  # (n, p)
    finish: Callable[[FloatArray], None]

    def block(
        self, rows: Features, points: slice = slice(None), out: FloatArray | None = None
    ) -> FloatArray:
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
class _Pairwise(BoundKernel):
    """A kernel that scikit-learn evaluates."""

    metric: Any
    params: Mapping[str, Any]
    points: Features

    def block(
        self, rows: Features, points: slice = slice(None), out: FloatArray | None = None
    ) -> FloatArray:
        values = pairwise_kernels(rows, self.points[points], metric=self.metric, **self.params)
        return np.asarray(values, dtype=float) if out is None else _copy(values, out)


@dataclass(frozen=True, eq=False)
class _Precomputed(BoundKernel):
    """Rows are kernel values with the points already."""

    def block(
        self, rows: Features, points: slice = slice(None), out: FloatArray | None = None
    ) -> FloatArray:
        values = rows[:, points]
        values = values.toarray() if sparse.issparse(values) else values
        return values.copy() if out is None else _copy(values, out)


@dataclass(frozen=True, eq=False)
class _OnColumns(BoundKernel):
    """A kernel that looks at some columns."""

    inner: BoundKernel
    positions: list[int]

    def block(
        self, rows: Features, points: slice = slice(None), out: FloatArray | None = None
    ) -> FloatArray:
        return self.inner.block(rows[:, self.positions], points, out)


@dataclass(frozen=True, eq=False)
class ShiftedKernel(BoundKernel):
    """A kernel whose points were shifted by an origin, (d,): rows are shifted before it."""

    inner: BoundKernel
    origin: FloatArray

    def block(
        self, rows: Features, points: slice = slice(None), out: FloatArray | None = None
    ) -> FloatArray:
        """``κ(rows − origin, points)``."""
        return self.inner.block(_shift(rows, self.origin), points, out)


@dataclass(frozen=True, eq=False)
class _Combined(BoundKernel):
    """Kernels combined entry by entry."""

    parts: tuple[BoundKernel, ...]
    combine: np.ufunc

    def block(
        self, rows: Features, points: slice = slice(None), out: FloatArray | None = None
    ) -> FloatArray:
        result = self.parts[0].block(rows, points, out)
        for part in self.parts[1:]:
            self.combine(result, part.block(rows, points), out=result)
        return result


def _bind_rbf(X: Features, gamma: float) -> _Product:
    """``exp(−γ‖x − z‖²)``, with ``−γ‖x − z‖²`` as one product of rows with two more entries.

    Distances do not depend on the origin, so dense rows are centred first: their norms then cost
    no digits when the data lie far from zero.
    """
    origin = None if sparse.issparse(X) else X.mean(axis=0)
    left = _RbfLeft(gamma, origin)
    right = X if origin is None else X - origin
    norms = -gamma * _squared_norms(right)
    return _Product(left, _columns(right, np.ones_like(norms), norms), _exp)


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


def _check_gram(K: Features) -> None:
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


def _check_function(block: FloatArray, kernel: Callable[..., Any]) -> None:
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


def _positions(
    columns: Sequence[int | str], n_columns: int, names: Sequence[str] | None
) -> list[int]:
    """Positions of columns given by position or name."""
    known = {name: i for i, name in enumerate(names or ())}
    positions = []
    for column in columns:
        position = known.get(column) if isinstance(column, str) else _whole(column)
        if position is None or not -n_columns <= position < n_columns:
            have = f"columns {list(known)}" if known else f"{n_columns} columns without names"
            raise ValueError(
                f"A kernel looks at column {column!r}, but X has {have}. "
                "Pass positions, or fit on a data frame that has the named columns."
            )
        positions.append(position % n_columns)
    return positions


def _whole(value: Any) -> int | None:
    """A whole number, or None: True and 1.5 are not positions."""
    return int(value) if isinstance(value, Integral) and not isinstance(value, _BOOL) else None


_BOOL: Any = (bool, np.bool_)
