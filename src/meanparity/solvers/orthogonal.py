"""Linear functions by orthogonal factorisations, which do not square condition numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from meanparity._typing import Features, FloatArray
from meanparity.constraints.functionals import Functionals
from meanparity.linalg.memory import SMALL, require_memory
from meanparity.linalg.symmetric import row_blocks
from meanparity.solvers.problem import SAME, ConstrainedProblem

_FAINT = 1e-8  # directions below this share of the largest are not given a value
_FREE = 1e-6  # share of a direction that no row sees, above which it costs nothing to follow
_ADVICE = "Use fewer columns, or ParityKernelRidge, whose cost grows with the rows instead."


def require_columns_fit(n: int, d: int) -> None:
    """Refuse more columns than fit into memory."""
    needed = 3 * 8 * d * min(d, n)
    if needed > SMALL:
        require_memory(needed, what=f"Solving for {d:,} columns", advice=_ADVICE)


def constrained_directions(
    held: Sequence[tuple[FloatArray, FloatArray]], targets: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Directions of θ that the functionals see, and what θ has to be along them.

    Parameters
    ----------
    held : one or two pairs of arrays
        ``XᵀC``, (d, q), and norms of the columns of X, (d,), on the training rows and on the pool.
    targets : (q, m) array
        Targets of all functionals.

    Returns
    -------
    Q : (d, r) array
        Orthonormal directions: the functionals are ``Mᵀθ``, and M is ``Q Qᵀ M``.
    target : (r, m) array
        ``Qᵀθ``. Targets that cannot all be met are met with least squared distance.
    """
    M, norms = held[0]
    M_pool, pool_norms = held[1] if len(held) > 1 else (M[:, :0], np.zeros(len(M)))
    size = np.hypot(norms, pool_norms)
    if not np.isfinite(size).all():
        raise ValueError("The squares of X are infinite. Scale the features.")
    whole = np.hstack([M, M_pool])
    if targets.any():
        # in units in which all columns have the same size, so that none swamps another
        units = np.where(size > 0, size, 1.0)[:, None]
        left, sizes, right = np.linalg.svd(whole / units, full_matrices=False)
        rounding = 10 * np.finfo(float).eps * np.sqrt(len(whole))
        keep = sizes > max(_FAINT * sizes.max(initial=0.0), rounding)
        Q = np.linalg.qr(units * left[:, keep])[0]
        found = (left[:, keep] / units) @ ((right[keep] @ targets) / sizes[keep, None])
        target = Q.T @ found
    else:
        eps = 10 * np.finfo(float).eps
        Q = orthonormal_span(M, eps * np.linalg.norm(norms))
        if M_pool.shape[1]:
            more = orthonormal_span(M_pool, eps * np.linalg.norm(pool_norms))
            for _ in range(2):
                more = more - Q @ (Q.T @ more)
            Q = np.asarray(np.linalg.qr(np.hstack([Q, orthonormal_span(more, SAME)]))[0])
        target = np.zeros((Q.shape[1], targets.shape[1]))
    return Q, target


def orthonormal_span(M: FloatArray, cut: float) -> FloatArray:
    """An orthonormal basis of the columns of M, but for singular values up to `cut`."""
    left, sizes, _ = np.linalg.svd(M, full_matrices=False)
    basis: FloatArray = left[:, sizes > cut]
    return basis


def problem_directions(
    rows: CentredRows, problem: ConstrainedProblem
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The directions of a problem's functionals, their moments ``XᵀC``, (d, q), and targets."""
    held = [rows.functional_moments(problem.X, problem.functionals)]
    if problem.pool_X is not None:
        held.append(rows.functional_moments(problem.pool_X, problem.pool))
    Q, target = constrained_directions(held, problem.targets)
    return Q, np.hstack([M for M, _ in held]), target


@dataclass(frozen=True, eq=False)
class RidgePath:
    """Both solutions for any penalty, from singular values of a triangle R.

    Parameters
    ----------
    constrained, whole : _Singular
        Singular values of R on the directions that the constraint does not see, and of all of R.
    rest : (d, d − r) array
        Orthonormal directions that the constraint does not see.
    particular : (d, m) array
        The θ of least norm that meets the constraint.
    Q : (d, r) array
        Orthonormal directions that the constraint sees.
    """

    constrained: _Singular
    whole: _Singular
    rest: FloatArray
    particular: FloatArray
    Q: FloatArray

    @classmethod
    def from_triangle(
        cls, R: FloatArray, RY: FloatArray, Q: FloatArray, target: FloatArray, cut: float
    ) -> Self:
        """Of ``‖RY − Rθ‖² + λ‖θ‖²`` subject to ``Qᵀθ = target``; `cut` as in `rounding`."""
        rest = np.linalg.qr(Q, mode="complete")[0][:, Q.shape[1] :]
        particular = Q @ target
        constrained = _Singular.decompose(R @ rest, RY - R @ particular, cut)
        return cls(constrained, _Singular.decompose(R, RY, cut), rest, particular, Q)

    def fair(self, alphas: FloatArray) -> FloatArray:
        """θ of the constrained minimisers: (p, d, m)."""
        theta: FloatArray = self.particular + self.rest @ self.constrained.ridge(alphas)
        return theta

    def free(self, alphas: FloatArray) -> FloatArray:
        """θ of the free minimisers: (p, d, m)."""
        return self.whole.ridge(alphas)

    def directions(self, alpha: float) -> tuple[FloatArray, FloatArray] | None:
        """``(RᵀR + λI)⁻¹Q``, (d, r), and the multipliers, (r, m).

        None without a penalty if some direction costs nothing, because no row sees it.
        """
        V, s = self.whole.right, self.whole.s
        seen = V @ self.Q
        H = V.T @ (seen / (s**2 + alpha)[:, None])
        unseen = self.Q - V.T @ seen
        if alpha > 0:
            H = H + unseen / alpha
        elif np.abs(unseen).max(initial=0.0) > _FREE:
            return None
        free = self.free(np.array([alpha]))[0]
        wanted = self.Q.T @ (free - self.particular)
        return H, np.linalg.lstsq(self.Q.T @ H, wanted, rcond=None)[0]


@dataclass(frozen=True, eq=False)
class _Singular:
    """Singular values, right singular vectors and the targets in terms of the left ones."""

    s: FloatArray
    right: FloatArray
    targets: FloatArray

    @classmethod
    def decompose(cls, R: FloatArray, Y: FloatArray, cut: float) -> Self:
        U, s, right = np.linalg.svd(R, full_matrices=False)
        keep = s > cut
        return cls(s[keep], right[keep], U[:, keep].T @ Y)

    def ridge(self, alphas: FloatArray) -> FloatArray:
        """Least-norm minimisers of ``‖Y − Rθ‖² + λ‖θ‖²``: (p, d, m)."""
        shrunk = self.s / (self.s**2 + alphas[:, None])
        theta: FloatArray = self.right.T @ (shrunk[:, :, None] * self.targets)
        return theta


@dataclass(frozen=True, eq=False)
class CentredRows:
    """X and Y minus their weighted means, times √u, read one block of rows at a time."""

    X: Features
    Y: FloatArray
    x_mean: FloatArray
    y_mean: FloatArray
    root: FloatArray | None

    @classmethod
    def from_problem(cls, problem: ConstrainedProblem) -> CentredRows:
        """The training rows of a problem."""
        X, Y = problem.X, problem.Y
        if not problem.fit_intercept:
            return cls(X, Y, np.zeros(X.shape[1]), np.zeros(Y.shape[1]), problem.root)
        if problem.weights is None:
            x_mean = np.asarray(X.mean(axis=0, dtype=float)).ravel()
        else:
            x_mean = np.asarray(X.T @ problem.shares)
        return cls(X, Y, x_mean, problem.shares @ Y, problem.root)

    def _blocks(self, n: int) -> list[slice]:
        return list(row_blocks(n, max(2**21 // max(self.X.shape[1], 1), 256)))

    def _centred(self, X: Features) -> FloatArray:
        X = X.toarray() if sparse.issparse(X) else X
        return np.asarray(X - self.x_mean if self.x_mean.any() else X, dtype=float)

    def _read(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Blocks of rows and of targets, centred and weighted."""
        for block in self._blocks(len(self.Y)):
            X, Y = self._centred(self.X[block]), self.Y[block] - self.y_mean
            if self.root is not None:
                X, Y = self.root[block, None] * X, self.root[block, None] * Y
            yield X, Y

    def functional_moments(
        self, points: Features | None, functionals: Functionals
    ) -> tuple[FloatArray, FloatArray]:
        """``XᵀC``, (d, q), of functionals on points, and norms of the columns of ``√w X``, (d,)."""
        n = functionals.n_rows if len(functionals) else 0
        return self._moments(points, n, len(functionals), functionals.moments, functionals.weights)

    def products(self, C: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``XᵀC`` of the training rows, (d, p), and the norms of the columns of X, (d,)."""
        n, p = C.shape
        return self._moments(self.X, n, p, lambda X, block: X.T @ C[block], None)

    def _moments(
        self,
        points: Features | None,
        n: int,
        width: int,
        product: Callable[[FloatArray, slice], FloatArray],
        weights: FloatArray | None,
    ) -> tuple[FloatArray, FloatArray]:
        total, squares = np.zeros((self.X.shape[1], width)), np.zeros(self.X.shape[1])
        for block in self._blocks(n):
            assert points is not None
            X = self._centred(points[block])
            total += product(X, block)
            squares += (np.ones(len(X)) if weights is None else weights[block]) @ X**2
        return total, np.sqrt(squares)

    def rounding(self, R: FloatArray) -> float:
        """Singular values of the triangle R up to this size are rounding."""
        far = np.linalg.norm(self.x_mean) * np.sqrt(len(self.Y))
        if self.root is not None:
            far = np.linalg.norm(self.x_mean) * np.linalg.norm(self.root)
        size = np.linalg.norm(R) * max(*self.X.shape, 50) + 8 * far
        return float(size * np.finfo(float).eps)

    def triangle(self) -> tuple[FloatArray, FloatArray]:
        """R with ``RᵀR = XᵀuX`` and ``RᵀRY = XᵀuY``, by orthogonal steps only."""
        d = self.X.shape[1]
        stack = np.empty((0, d + self.Y.shape[1]))
        for X, Y in self._read():
            stack = np.vstack([stack, np.hstack([X, Y])])
            if len(stack) > 2 * stack.shape[1]:
                stack = np.asarray(np.linalg.qr(stack, mode="r"))
        return stack[:, :d], stack[:, d:]
