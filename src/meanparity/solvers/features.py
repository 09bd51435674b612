"""Features of rows, whose linear combinations a fit to sums over rows is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from meanparity._typing import Features, FloatArray, IntArray
from meanparity.kernels import AbstractKernel, BoundKernel
from meanparity.linalg import multiply_upper, row_blocks

_BLOCK = 2**20  # features held at a time while predicting (8 MiB)


class FeatureSpace(Protocol):
    """Features ψ of rows, (p,), and whitened ones ``φ = Wᵀψ``, (r,), for which ‖g‖ = ‖θ‖."""

    @property
    def width(self) -> int:
        """Number of features, p; and of whitened ones, r."""
        ...

    def raw(self, X: Features) -> FloatArray:
        """ψ of rows, in double precision: (n, p)."""
        ...

    def precision(self, dtype: DTypeLike) -> DTypeLike:
        """How precise φ is for rows of a precision."""
        ...

    def whiten(self, phi: NDArray[Any]) -> None:
        """Make φ, (n, r), out of ψ, (n, p), where it stands."""
        ...

    def spread(self, theta: FloatArray) -> FloatArray:
        """``W θ`` for θ of shape (r, m): (p, m)."""
        ...

    def gathered(self, sums: FloatArray) -> FloatArray:
        """``Wᵀ s`` for s of shape (p, m): (r, m)."""
        ...

    def evaluate(self, X: Features, coef: FloatArray) -> FloatArray:
        """``ψ(X) @ coef`` for coef of shape (p, m): (n, m)."""
        ...

    def change_from(self, other: FeatureSpace) -> Change:
        """How sums of the same features of another space become sums of these."""
        ...


@dataclass(frozen=True, eq=False)
class Change:
    """From features of one space to the same features of another.

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


@dataclass(frozen=True, eq=False, repr=False)
class LinearSpace:
    """The columns themselves, less an origin that saves digits.

    Parameters
    ----------
    middle : (d,) array
        The origin.
    """

    middle: FloatArray

    @classmethod
    def around(cls, X: Features, *, centred: bool) -> LinearSpace:
        """With the origin in the middle of rows, if centred and dense; else zero."""
        if sparse.issparse(X) or not centred:
            return cls(np.zeros(X.shape[1]))
        return cls(X.mean(axis=0, dtype=float))

    def __repr__(self) -> str:
        return f"{self.width} columns"

    @property
    def width(self) -> int:
        """D."""
        return len(self.middle)

    def raw(self, X: Features) -> FloatArray:
        """``X − origin``."""
        dense = X.toarray() if sparse.issparse(X) else X
        return np.asarray(dense - self.middle, dtype=float)

    def precision(self, dtype: DTypeLike) -> DTypeLike:
        """Double: columns may lie far from zero."""
        return float

    def whiten(self, phi: NDArray[Any]) -> None:
        """They are the same."""

    def spread(self, theta: FloatArray) -> FloatArray:
        """The same."""
        return theta

    def gathered(self, sums: FloatArray) -> FloatArray:
        """The same."""
        return sums

    def evaluate(self, X: Features, coef: FloatArray) -> FloatArray:
        """``(X − origin) @ coef`` for coef of shape (d, m)."""
        if sparse.issparse(X):
            return np.asarray(X @ coef - self.middle @ coef)
        return _evaluate(self, X, coef)

    def change_from(self, other: FeatureSpace) -> Change:
        """The difference of both origins."""
        if not isinstance(other, LinearSpace) or other.width != self.width:
            raise ValueError(
                f"These are statistics of {self}, the others of {other}. Only statistics of the "
                "same features add up."
            )
        return Change(self.middle - other.middle)


@dataclass(frozen=True, eq=False, repr=False)
class KernelSpace:
    """Kernel functions at p landmarks (Nyström).

    Parameters
    ----------
    kernel : BoundKernel
        Bound to the landmarks.
    landmarks : (p, d) array or sparse matrix
        They.
    spec : AbstractKernel
        What the kernel is called.
    names : tuple of str or None
        Names of the columns.
    whitening : (p, p) array
        W, upper triangular, with ``Wᵀ K W = I`` for the kernel matrix K of the landmarks.
    single : bool
        Whether W is small enough for rows of single precision.
    """

    kernel: BoundKernel
    landmarks: Features
    spec: AbstractKernel
    names: tuple[str, ...] | None
    whitening: FloatArray
    single: bool

    @classmethod
    def of(
        cls,
        spec: AbstractKernel,
        names: tuple[str, ...] | None,
        landmarks: Features,
        dtype: DTypeLike,
    ) -> KernelSpace:
        """At landmarks, but for those of which others say all that rounding leaves.

        `dtype` is the precision of the rows: products with W lose as many digits as W is large.
        """
        K = spec.bind(landmarks, names).block(landmarks)
        scale = float(K.diagonal().max(initial=0.0))
        cut = 10 * float(np.finfo(dtype).eps) * scale
        L, order, rank, _ = dpstrf((K + K.T) / 2, lower=1, tol=cut)
        keep, L = np.asarray(order[:rank]) - 1, np.tril(L[:rank, :rank])
        if not rank:
            raise ValueError("The kernel is zero at all landmarks. Choose other ones.")
        whitening = np.ascontiguousarray(solve_triangular(L, np.eye(rank), lower=True).T)
        single = np.dtype(dtype) == np.float32
        return cls.at(spec, names, landmarks[keep], whitening, single)

    @classmethod
    def at(
        cls,
        spec: AbstractKernel,
        names: tuple[str, ...] | None,
        landmarks: Features,
        whitening: FloatArray,
        single: bool,
    ) -> KernelSpace:
        """At landmarks whose whitening is known."""
        return cls(spec.bind(landmarks, names), landmarks, spec, names, whitening, single)

    def __repr__(self) -> str:
        return f"a kernel at {self.width} landmarks"

    @property
    def width(self) -> int:
        """Number of landmarks."""
        return len(self.whitening)

    def raw(self, X: Features) -> FloatArray:
        """``κ(x, z)`` for all landmarks z."""
        return self.kernel.block(X.astype(float, copy=False))

    def precision(self, dtype: DTypeLike) -> DTypeLike:
        """That of the rows, if they are as precise as those that the landmarks came from."""
        return dtype if self.single else float

    def whiten(self, phi: NDArray[Any]) -> None:
        """``ψ W``."""
        multiply_upper(phi, self.whitening.astype(phi.dtype, copy=False))

    def spread(self, theta: FloatArray) -> FloatArray:
        """``W θ``."""
        return self.whitening @ theta

    def gathered(self, sums: FloatArray) -> FloatArray:
        """``Wᵀ s``."""
        return self.whitening.T @ sums

    def evaluate(self, X: Features, coef: FloatArray) -> FloatArray:
        """``κ(X, landmarks) @ coef``."""
        return self.kernel.evaluate(X, coef)

    def is_among(self, points: Any) -> bool:
        """Whether all landmarks are among points."""
        dense = np.asarray(points.toarray() if sparse.issparse(points) else points, dtype=float)
        rows = {row.tobytes() for row in dense + 0.0}
        own = self.landmarks.toarray() if sparse.issparse(self.landmarks) else self.landmarks
        return all(row.tobytes() in rows for row in np.asarray(own, dtype=float) + 0.0)

    def change_from(self, other: FeatureSpace) -> Change:
        """None, if the landmarks are the same; machines may differ in the last digits of W."""
        order = None
        if isinstance(other, KernelSpace) and other.spec == self.spec:
            order = _positions(self.landmarks, other.landmarks)
        if order is None or not isinstance(other, KernelSpace):
            raise ValueError(
                "Only statistics of the same kernel and landmarks add up. Pass the landmarks, "
                "landmarks=Z, and rows of the same precision, wherever statistics are computed."
            )
        none = np.zeros(self.width)
        if (order == np.arange(len(order))).all():
            if np.array_equal(other.whitening, self.whitening):
                return Change(none)
            return Change(none, None, _turn(self.whitening, other.whitening))
        moved = np.empty_like(self.whitening)
        moved[order] = self.whitening
        return Change(none, order, _turn(moved, other.whitening))


@dataclass(frozen=True, eq=False, repr=False)
class FourierSpace:
    """Random Fourier features of the RBF kernel: ``√(2/p) cos(xᵀΩ + b)``.

    Parameters
    ----------
    frequencies : (d, p) array
        Ω, normal with variance 2γ.
    phases : (p,) array
        b, uniform.
    gamma : float
        γ of the kernel.
    """

    frequencies: FloatArray
    phases: FloatArray
    gamma: float

    @classmethod
    def of(
        cls, n_columns: int, gamma: float, n_components: int, rng: np.random.RandomState
    ) -> FourierSpace:
        """Draw p features of rows with d columns."""
        frequencies = np.sqrt(2 * gamma) * rng.standard_normal((n_columns, n_components))
        return cls(frequencies, rng.uniform(0, 2 * np.pi, n_components), gamma)

    def __repr__(self) -> str:
        return f"{self.width} Fourier features"

    @property
    def width(self) -> int:
        """P."""
        return len(self.phases)

    def raw(self, X: Features) -> FloatArray:
        """The features."""
        values = np.asarray(X @ self.frequencies, dtype=float)
        values += self.phases
        np.cos(values, out=values)
        values *= np.sqrt(2 / self.width)
        return values

    def precision(self, dtype: DTypeLike) -> DTypeLike:
        """That of the rows."""
        return dtype

    def whiten(self, phi: NDArray[Any]) -> None:
        """They are the same."""

    def spread(self, theta: FloatArray) -> FloatArray:
        """The same."""
        return theta

    def gathered(self, sums: FloatArray) -> FloatArray:
        """The same."""
        return sums

    def evaluate(self, X: Features, coef: FloatArray) -> FloatArray:
        """``ψ(X) @ coef``."""
        return _evaluate(self, X, coef)

    def change_from(self, other: FeatureSpace) -> Change:
        """None, if the features are the same."""
        same = isinstance(other, FourierSpace) and (
            np.array_equal(other.frequencies, self.frequencies)
            and np.array_equal(other.phases, self.phases)
        )
        if not same:
            raise ValueError(
                "Only statistics of the same Fourier features add up. Pass the same gamma, "
                "n_components and random_state wherever statistics are computed."
            )
        return Change(np.zeros(self.width))


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


def _evaluate(space: Any, X: Features, coef: FloatArray) -> FloatArray:
    """``ψ(X) @ coef``, a few rows at a time."""
    values = np.empty((X.shape[0], coef.shape[1]))
    for part in row_blocks(X.shape[0], max(_BLOCK // len(coef), 256)):
        values[part] = space.raw(X[part]) @ coef
    return values
