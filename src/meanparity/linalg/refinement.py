"""Answers in double precision from factors in lower precision.

A factor of ``A = K + λI`` in low precision is a preconditioner of conjugate gradients whose
products and residuals are in double precision. If the factorisation breaks down, or the steps do
not reach the residual that is wanted, the next factor is tried, which is more precise; the last one
is in double precision and needs no steps.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from meanparity._typing import FloatArray
from meanparity.exceptions import StagnationError
from meanparity.linalg.adjusted import AdjustedMatrix
from meanparity.linalg.blas import NotPositiveDefiniteError
from meanparity.linalg.symmetric import SymmetricFactor, SymmetricMatrix

DOUBLE = "float64"
_AIM = 1e-14  # where the steps stop: residual, relative to the right-hand side
_GOOD = 1e-13  # a residual that is not refined any further
_ENOUGH = 1e-11  # largest residual that is accepted
_ROUNDING = 5e-11  # the same, if more steps do not make it smaller: it is rounding, of any factor
_TOO_SMALL = 0.2  # shifts below this share of a factor's own errors are not tried
_STEPS = 36  # more of them, and the factor is not precise enough
_JUDGED = 8  # steps after which their total number is extrapolated

Product = Callable[[FloatArray], FloatArray]


def conjugate_gradients(
    times: Product,
    precondition: Product,
    rhs: FloatArray,
    goal: FloatArray,
    *,
    patience: int,
    most: int | None = None,
) -> tuple[FloatArray, int]:
    """Solve ``A Z = rhs`` for a positive definite A, all right-hand sides at once.

    Parameters
    ----------
    times, precondition : callables
        Multiply by A, and by something close to its inverse, arrays of shape (n, r).
    rhs : (n, r) array
        Right-hand sides.
    goal : (r,) array
        Norms of the residuals at which the steps stop.
    patience : int
        Steps in which the largest residual has to halve.
    most : int, optional
        The largest number of steps. It is also foreseen, from the steps so far, whether they will
        be enough.

    Returns
    -------
    Z, count
        The solutions, (n, r), and the number of steps.

    Raises
    ------
    StagnationError
        When steps come no closer.
    """
    size = np.linalg.norm(rhs, axis=0)
    unit = np.where(size > 0, size, 1.0)
    Z, R = np.zeros_like(rhs), rhs.copy()
    P = S = precondition(R)
    rho = np.einsum("ij,ij->j", R, S)
    best, since, count = np.inf, 0, 0
    while True:
        norms = np.linalg.norm(R, axis=0)
        active = norms > goal
        if not active.any():
            return Z, count
        worst = float((norms / unit).max())
        if not np.isfinite(worst):
            raise StagnationError("The steps of conjugate gradients overflow.")
        if worst < 0.5 * best:
            best, since = worst, 0
        since += 1
        if since > patience or (most is not None and _too_many(count, norms, size, goal, most)):
            raise StagnationError(
                f"Conjugate gradients do not come closer than {best:.1e} of the right-hand side"
            )
        Q = times(P[:, active])
        step = np.zeros(len(size))
        curvature = np.einsum("ij,ij->j", P[:, active], Q)
        if (curvature <= 0).any():
            raise StagnationError("The kernel matrix is not positive definite")
        step[active] = rho[active] / curvature
        Z += step * P
        R[:, active] -= step[active] * Q
        S = precondition(R)
        new = np.einsum("ij,ij->j", R, S)
        P = S + np.where(rho > 0, new / np.where(rho > 0, rho, 1.0), 0.0) * P
        rho, count = new, count + 1


def _too_many(count: int, norms: FloatArray, size: FloatArray, goal: FloatArray, most: int) -> bool:
    """Whether the residuals, at the rate so far, need more than `most` steps."""
    if count < min(_JUDGED, most):
        return False
    with np.errstate(divide="ignore", invalid="ignore"):
        done = np.log(norms / size) / np.log(goal / size)  # share of the way, on a log scale
    behind = (norms > goal) & (done * most < count)
    return count >= most or bool(behind.any())


@dataclass(frozen=True)
class Accuracy:
    """How a system was solved.

    Parameters
    ----------
    rung : str
        Precision of the factor.
    steps : int
        Steps of conjugate gradients.
    residual : float
        ``‖b − A z‖ / ‖b‖`` in double precision, the largest of all right-hand sides.
    """

    rung: str
    steps: int
    residual: float

    @staticmethod
    def worst(of: Sequence[Accuracy]) -> Accuracy:
        """All systems together: the last rung, all steps, the largest residual."""
        rung = next((a.rung for a in of if a.rung == DOUBLE), of[-1].rung)
        return Accuracy(rung, sum(a.steps for a in of), max(a.residual for a in of))


Rungs = Iterable[tuple[str, Callable[[], SymmetricFactor]]]


class Factorable(AdjustedMatrix):
    """An adjusted matrix that can be factored in several precisions."""

    @property
    @abstractmethod
    def matrix_bytes(self) -> int:
        """Size of the n × n array that is stored."""

    @abstractmethod
    def require_finite(self) -> None:
        """Raise `ValueError` when an entry is infinite or not a number."""

    def is_too_small(self, shift: float, unit: float) -> bool:
        """Whether a factor with this unit of rounding would not see ``shift·I`` beside K.

        The errors of its products are a matrix of random entries, with a norm of about
        ``unit · √n`` times the mean of the diagonal.
        """
        errors = unit * np.sqrt(len(self)) * np.abs(self.diagonal).mean()
        return bool(shift < _TOO_SMALL * errors)

    @abstractmethod
    def rungs(self, shift: float) -> Rungs:
        """Names of precisions, from low to high, and functions that factor ``K + shift·I``.

        The last one is in double precision, with the name `DOUBLE`. Each factor may overwrite the
        one before.
        """


@dataclass(eq=False)
class Refined:
    """``(K + shift·I)⁻¹`` in double precision, by the first factor that is precise enough.

    Parameters
    ----------
    matrix : Factorable
        K, (n, n).
    shift : float
        What is added to the diagonal.
    accuracy : Accuracy or None
        How the last system was solved.
    """

    matrix: Factorable
    shift: float
    accuracy: Accuracy | None = None

    def solve(self, rhs: FloatArray) -> FloatArray:
        """``(K + shift·I)⁻¹ rhs`` for rhs of shape (n, r).

        Raises
        ------
        NotPositiveDefiniteError
            When no factor leads to a residual that is small enough.
        """
        why: Exception | None = None
        for name, factor in self.matrix.rungs(self.shift):
            try:
                found = factor()
                if name == DOUBLE:
                    Z, self.accuracy = _improve(self._times, found, name, rhs)
                    return Z
                Z, accuracy, most = _refine(self._times, found, name, rhs)
            except (NotPositiveDefiniteError, StagnationError) as error:
                why = error
                continue
            if accuracy.residual <= most:
                self.accuracy = accuracy
                return Z
            why = NotPositiveDefiniteError(f"a residual of {accuracy.residual:.1e} is left")
        raise NotPositiveDefiniteError(str(why)) from why

    def _times(self, Z: FloatArray) -> FloatArray:
        return self.matrix.times(Z) + self.shift * Z


def _refine(
    times: Product, factor: SymmetricFactor, name: str, rhs: FloatArray
) -> tuple[FloatArray, Accuracy, float]:
    """Conjugate gradients, and again on what they left, until the true residual is small.

    Also returns the largest residual that is accepted.
    """

    def precondition(R: FloatArray) -> FloatArray:
        norms = np.linalg.norm(R, axis=0)
        unit = np.where(norms > 0, norms, 1.0)  # so that nothing underflows in low precision
        return factor.solve(R / unit) * unit

    goal = _AIM * np.linalg.norm(rhs, axis=0)
    Z, R, left, steps = np.zeros_like(rhs), rhs, np.inf, 0
    while True:
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                change, count = conjugate_gradients(
                    times, precondition, R, goal, patience=_STEPS, most=_STEPS - steps
                )
        except StagnationError:
            if steps:
                return Z, Accuracy(name, steps, left), _ENOUGH
            raise
        steps += count
        rest = rhs - times(Z + change)
        now, before = _relative(rest, rhs), left
        if now < before:
            Z, R, left = Z + change, rest, now
        if not left > _GOOD or not now < 0.5 * before:
            return Z, Accuracy(name, steps, left), _ROUNDING if np.isfinite(before) else _ENOUGH


def _improve(
    times: Product, factor: SymmetricFactor, name: str, rhs: FloatArray
) -> tuple[FloatArray, Accuracy]:
    """The answer of a factor in double precision, and what it leaves solved once more."""
    Z = factor.solve(rhs)
    R = rhs - times(Z)
    left = _relative(R, rhs)
    if left > _GOOD:
        nearer = Z + factor.solve(R)
        now = _relative(rhs - times(nearer), rhs)
        if now < left:
            return nearer, Accuracy(name, 1, now)
    return Z, Accuracy(name, 0, left)


def _relative(R: FloatArray, rhs: FloatArray) -> float:
    """The largest norm of a column of R beside that of the right-hand side."""
    size = np.linalg.norm(rhs, axis=0)
    return float((np.linalg.norm(R, axis=0) / np.where(size > 0, size, 1.0)).max(initial=0.0))


@dataclass(frozen=True, eq=False, kw_only=True)
class StoredMatrix(Factorable):
    """A stored symmetric matrix, adjusted without being changed, and factors of it.

    Parameters
    ----------
    stored : SymmetricMatrix
        K. Factors are written to its lower triangle.
    """

    stored: SymmetricMatrix

    @classmethod
    def from_matrix(cls, stored: SymmetricMatrix) -> StoredMatrix:
        """The matrix as it is."""
        return cls(diagonal=stored.diagonal, stored=stored)

    @property
    def matrix_bytes(self) -> int:
        """Size of the n × n array that is stored."""
        return int(self.stored.array.nbytes)

    def plain_times(self, Z: FloatArray) -> FloatArray:
        """The product of K itself with Z, (n, r)."""
        return self.stored.times(Z)

    def rungs(self, shift: float) -> Rungs:
        """Factors of ``K + shift·I`` in single and in double precision; one at a time is valid."""
        if not self.is_too_small(shift, float(np.finfo(np.float32).eps)):
            yield "float32", partial(self.stored.cholesky, shift, self.adjustment, single=True)
        yield DOUBLE, partial(self.stored.cholesky, shift, self.adjustment)

    def require_finite(self) -> None:
        """Raise `ValueError` when an entry is infinite or not a number."""
        self.stored.require_finite()
