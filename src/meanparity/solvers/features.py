"""Feature maps: functions are linear combinations of features of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from meanparity._typing import Features, FloatArray, IntArray
from meanparity.kernels.bound import BoundKernel, on_device
from meanparity.kernels.spec import AbstractKernel
from meanparity.linalg.blas import multiply_upper
from meanparity.linalg.symmetric import require_finite, row_blocks
from meanparity.state import stored

if TYPE_CHECKING:
    from meanparity.linalg.device import Device

_BLOCK = 2**20  # features held at a time while predicting (8 MiB)
_FIRST_ROWS = 1024  # rows whose mean is the origin


class FeatureMap(Protocol):
    """Features ψ of rows, (p,), and whitened ones ``φ = Wᵀψ``, for which ‖g‖ = ‖θ‖."""

    @property
    def width(self) -> int:
        """Number of features, p."""
        ...

    @property
    def whitening(self) -> FloatArray | None:
        """W, (p, p) and upper triangular; None for the identity."""
        ...

    @property
    def device(self) -> Device | None:
        """Where sums over rows are computed; None for the CPU."""
        ...

    def raw(self, X: Features, out: FloatArray | None = None) -> FloatArray:
        """ψ of rows, in double precision, written to `out` if given: (n, p)."""
        ...

    def precision(self, dtype: DTypeLike) -> DTypeLike:
        """The precision of φ for rows of this precision."""
        ...

    def evaluate(self, X: Features, coef: FloatArray) -> FloatArray:
        """``ψ(X) @ coef`` for coef of shape (p, m): (n, m)."""
        ...

    def change_from(self, other: FeatureMap) -> Change:
        """How sums of the same features of another map become sums of these."""
        ...


@dataclass(frozen=True, eq=False)
class Change:
    """From the features of one map to the same features of another.

    Parameters
    ----------
    shift : (p,) array
        How much further the origin of ψ lies.
    order : (p,) array of int or None
        Where the features were, if not in the same places.
    turn : (r, r) array or None
        What φ is multiplied by, if the whitening is not the same to the last digit.
    """

    shift: FloatArray
    order: IntArray | None = None
    turn: FloatArray | None = None


@stored("LinearFeatures")
@dataclass(frozen=True, eq=False, repr=False)
class LinearFeatures:
    """The columns themselves, minus an origin that saves digits.

    Parameters
    ----------
    origin : (d,) array
        The origin.

    See Also
    --------
    Solution : Evaluates functions with it.
    """

    origin: FloatArray
    whitening: ClassVar[None] = None
    device: ClassVar[None] = None

    @classmethod
    def near(cls, X: Features, *, centred: bool) -> LinearFeatures:
        """With the origin near the rows, if `centred` and dense; otherwise at zero.

        Columns whose mean is within a standard deviation of zero lose no digits without it.
        """
        none = np.zeros(X.shape[1])
        if sparse.issparse(X) or not centred:
            return cls(none)
        first = X[:_FIRST_ROWS]
        mean = first.mean(axis=0, dtype=float)
        near = np.abs(mean) <= first.std(axis=0, dtype=float)
        return cls(none if near.all() else mean)

    def __repr__(self) -> str:
        return f"{self.width} columns"

    @cached_property
    def width(self) -> int:
        """Number of columns, d."""
        return len(self.origin)

    def raw(self, X: Features, out: FloatArray | None = None) -> FloatArray:
        """``X − origin``, written to `out` if given; X itself if there is nothing to subtract."""
        dense: FloatArray = X.toarray() if sparse.issparse(X) else X
        if dense.dtype == np.float64 and not self.origin.any():
            return dense
        return np.subtract(dense, self.origin, out=out)

    def precision(self, dtype: DTypeLike) -> DTypeLike:
        """Double: columns may lie far from zero."""
        return float

    def evaluate(self, X: Features, coef: FloatArray) -> FloatArray:
        """``(X − origin) @ coef`` for coef of shape (d, m)."""
        if not self.origin.any():
            return np.asarray(X @ coef, dtype=float)
        if sparse.issparse(X):
            return np.asarray(X @ coef - self.origin @ coef)
        values = np.empty((X.shape[0], coef.shape[1]))
        for part in row_blocks(X.shape[0], max(_BLOCK // len(coef), 256)):
            values[part] = self.raw(X[part]) @ coef
        return values

    def as_columns(self, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients of columns, which these are, and their origin."""
        return coef, self.origin

    def change_from(self, other: FeatureMap) -> Change:
        """The difference of both origins."""
        if not isinstance(other, LinearFeatures) or other.width != self.width:
            raise ValueError(
                f"These are statistics of {self}, the others of {other}. Only statistics of the "
                "same features add up."
            )
        return Change(self.origin - other.origin)


@stored("KernelFeatures", left_out=("device",))
@dataclass(frozen=True, eq=False, repr=False)
class KernelFeatures:
    """Kernel functions at p landmarks (Nyström).

    Parameters
    ----------
    landmarks : (p, d) array or sparse matrix
        The landmark rows.
    spec : AbstractKernel
        The specification of the kernel.
    names : tuple of str or None
        Names of the columns.
    whitening : (p, p) array
        W, upper triangular, with ``Wᵀ K W = I`` for the kernel matrix K of the landmarks.
    single : bool
        Whether W is small enough for rows of single precision.
    device : Device or None
        Where sums over rows and predictions are computed; None for the CPU. Files do not hold it.
    """

    landmarks: Features
    spec: AbstractKernel
    names: tuple[str, ...] | None
    whitening: FloatArray
    single: bool
    device: Device | None = None

    @classmethod
    def from_landmarks(
        cls,
        spec: AbstractKernel,
        names: tuple[str, ...] | None,
        landmarks: Features,
        dtype: DTypeLike,
        device: Device | None = None,
    ) -> KernelFeatures:
        """At landmarks, without those that depend on the others up to rounding.

        `dtype` is the precision of the rows: products with a large W lose digits.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            K = spec.bind(landmarks, names).block(landmarks)
        require_finite(K)
        scale = float(K.diagonal().max(initial=0.0))
        cut = 10 * float(np.finfo(dtype).eps) * scale
        L, order, rank, _ = dpstrf((K + K.T) / 2, lower=1, tol=cut)
        keep, L = np.asarray(order[:rank]) - 1, np.tril(L[:rank, :rank])
        if not rank:
            raise ValueError("The kernel is zero at all landmarks. Choose other ones.")
        whitening = np.ascontiguousarray(solve_triangular(L, np.eye(rank), lower=True).T)
        single = np.dtype(dtype) == np.float32
        return cls(landmarks[keep], spec, names, whitening, single, device)

    def __repr__(self) -> str:
        return f"a kernel at {self.width} landmarks"

    @cached_property
    def kernel(self) -> BoundKernel:
        """The kernel, bound to the landmarks."""
        kernel = self.spec.bind(self.landmarks, self.names)
        return kernel if self.device is None else on_device(kernel, self.device)

    @cached_property
    def width(self) -> int:
        """Number of landmarks."""
        return len(self.whitening)

    def raw(self, X: Features, out: FloatArray | None = None) -> FloatArray:
        """``κ(x, z)`` for all landmarks z, written to `out` if given."""
        return self.kernel.block(X.astype(float, copy=False), out=out)

    def precision(self, dtype: DTypeLike) -> DTypeLike:
        """Single for rows in single precision, if the landmarks were chosen for such rows."""
        return dtype if self.single else float

    def evaluate(self, X: Features, coef: FloatArray) -> FloatArray:
        """``κ(X, landmarks) @ coef``."""
        return self.kernel.evaluate(X, coef)

    @property
    def points(self) -> Features:
        """The landmarks, as the points of a kernel expansion."""
        return self.landmarks

    def is_among(self, points: Any) -> bool:
        """Whether all landmarks are among points."""
        dense = np.asarray(points.toarray() if sparse.issparse(points) else points, dtype=float)
        rows = {row.tobytes() for row in dense + 0.0}
        own = self.landmarks.toarray() if sparse.issparse(self.landmarks) else self.landmarks
        return all(row.tobytes() in rows for row in np.asarray(own, dtype=float) + 0.0)

    def change_from(self, other: FeatureMap) -> Change:
        """The order of the landmarks; W may differ in its last digits between machines."""
        order = None
        if isinstance(other, KernelFeatures) and other.spec == self.spec:
            order = _positions(self.landmarks, other.landmarks)
        if order is None or not isinstance(other, KernelFeatures):
            raise ValueError(
                "Only statistics of the same kernel and landmarks add up. Pass the landmarks, "
                "Nystrom(landmarks=Z), and rows of the same precision, wherever statistics are "
                "computed."
            )
        none = np.zeros(self.width)
        if (order == np.arange(len(order))).all():
            if np.array_equal(other.whitening, self.whitening):
                return Change(none)
            return Change(none, None, _turn(self.whitening, other.whitening))
        moved = np.empty_like(self.whitening)
        moved[order] = self.whitening
        return Change(none, order, _turn(moved, other.whitening))


def whiten(features: FeatureMap, phi: NDArray[Any]) -> None:
    """Turn ψ, (n, p), into φ in place."""
    if features.whitening is not None:
        multiply_upper(phi, features.whitening.astype(phi.dtype, copy=False))


def _positions(mine: Features, others: Features) -> IntArray | None:
    """Where the rows of one array are in another, if both have the same: (p,)."""
    if mine is others:
        return np.arange(mine.shape[0])
    if mine.shape != others.shape:
        return None
    first, second = (
        np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=float)
        for part in (mine, others)
    )
    at = {row.tobytes(): position for position, row in enumerate(second + 0.0)}
    found = [at.get(row.tobytes(), -1) for row in first + 0.0]
    return None if -1 in found else np.array(found, dtype=np.intp)


def _turn(mine: FloatArray, others: FloatArray) -> FloatArray:
    """``(W₂⁻¹ W₁)ᵀ``, which makes φ of W₁ out of φ of W₂."""
    turned: FloatArray = solve_triangular(others, mine, lower=False).T
    return turned
