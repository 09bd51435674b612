"""The primal problem: linear functions ``x ↦ xᵀθ + b``, at a cost linear in the rows.

``θ = θ* − G⁻¹M (MᵀG⁻¹M)⁻¹ Mᵀθ*`` with ``G = XᵀX + λI`` and ``M = XᵀC`` when G is well
conditioned; otherwise (λ = 0 above all) an orthogonal factorisation of X, which does not square
its condition number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, onenormest

from meanparity._typing import Features, FloatArray
from meanparity.constraints import Functionals
from meanparity.exceptions import NotPositiveDefiniteError
from meanparity.linalg import SymmetricFactor, SymmetricMatrix, require_memory, row_blocks
from meanparity.solvers.solution import Fit, Pieces
from meanparity.solvers.task import SAME, Task

_CONDITION = 1e6  # condition of G from which on the normal equations lose too many digits
_FAINT = 1e-8  # directions of less than this share of the largest are not given a value
_ADVICE = "Use fewer columns, or ParityKernelRidge, whose cost grows with the rows instead."


def solve_primal(task: Task, alpha: float) -> Pieces:
    """Minimise ``Σ u (y − Xθ − b)² + λ‖θ‖²`` subject to the functionals.

    Parameters
    ----------
    task : Task
        What to minimise, subject to what.
    alpha : float
        λ. With 0 the solution of least norm.

    Returns
    -------
    fair, free, multipliers
    """
    d = task.X.shape[1]
    require_memory(
        3 * 8 * d * min(d, task.X.shape[0]), what=f"Solving for {d:,} columns", advice=_ADVICE
    )
    rows = CentredRows.of(task)
    Q, W, target = directions(rows, task)
    pair = _normal(rows, Q, target, alpha) if alpha > 0 else None
    fair, free = pair if pair is not None else _orthogonal(rows, Q, target, alpha)
    fair -= Q @ (Q.T @ fair - target)

    m = task.Y.shape[1]
    theta = np.hstack([fair, free])
    intercept = np.tile(rows.y_mean, 2) - rows.x_mean @ theta
    fitted = task.X @ theta + intercept
    pool = np.zeros((0, 2 * m))
    if task.points is not None:
        pool = task.points @ theta + intercept
    # stationarity, Xᵀu(y − Xθ) − λθ = M ν, determines ν on the directions that M sees
    multipliers = W @ (Q.T @ (rows.moments(task.Y - fitted[:, :m]) - alpha * fair))
    fits = []
    for part in (slice(0, m), slice(m, 2 * m)):
        objective = task.losses(fitted[:, part]) + alpha * np.sum(theta[:, part] ** 2, axis=0)
        values = fitted[:, part], objective, pool[:, part]
        fits.append(Fit(theta[:, part], intercept[part], *values))
    return fits[0], fits[1], multipliers


def solve_primal_penalised(
    task: Task, alpha: float, penalty: float, C: FloatArray, *, orthonormal: bool
) -> tuple[FloatArray, FloatArray]:
    """Minimise ``Σ u (y − Xθ − b)² + λ‖θ‖² + ζ‖Rᵀθ‖²``, whatever the size of ζ.

    Parameters
    ----------
    task : Task
        What to minimise; its functionals are not looked at.
    alpha, penalty : float
        λ and ζ.
    C : (n, p) array
        Its columns sum to zero, and ``R = XᵀC``.
    orthonormal : bool
        Whether R is replaced by an orthonormal basis of its columns.

    Returns
    -------
    theta, intercept : (d, m) and (m,) arrays
    """
    d = task.X.shape[1]
    require_memory(
        3 * 8 * d * min(d, task.X.shape[0]), what=f"Solving for {d:,} columns", advice=_ADVICE
    )
    rows = CentredRows.of(task)
    R, norms = rows.products(C)
    if orthonormal:
        R = _span(R, 10 * np.finfo(float).eps * np.linalg.norm(norms))
    triangle, targets = rows.triangle()
    if not np.isfinite(triangle).all() or not np.isfinite(norms).all():
        raise ValueError("The squares of X are infinite. Scale the features.")
    left, s, right = np.linalg.svd(triangle, full_matrices=False)
    keep = s > rows.rounding(triangle)
    s, right = s[keep], right[keep]
    # with ψ = √(s² + λ) Vᵀθ all is white: minimise ‖ψ − ψ₀‖² + ζ‖Bᵀψ‖²
    root = np.sqrt(s**2 + alpha)[:, None]
    psi = s[:, None] * (left[:, keep].T @ targets) / root
    directions, sizes, _ = np.linalg.svd((right @ R) / root, full_matrices=False)
    sizes = np.where(sizes > 1e-14 * sizes.max(initial=0.0), sizes, 0.0)
    strength = penalty * sizes**2
    psi -= directions @ ((strength / (1 + strength))[:, None] * (directions.T @ psi))
    theta = right.T @ (psi / root)
    return theta, rows.y_mean - rows.x_mean @ theta


def directions(rows: CentredRows, task: Task) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Directions of θ that the functionals see, and what θ has to be along them.

    Returns
    -------
    Q : (d, r) array
        Orthonormal directions: the functionals are ``Mᵀθ``, and M is ``Q Qᵀ M``.
    W : (q, r) array
        The pseudo-inverse of ``Qᵀ M``.
    target : (r, m) array
        ``Qᵀθ``. Targets that cannot all be met are met with least squared distance.
    """
    here, there = (
        rows.functional_moments(points, functionals)
        for points, functionals in ((task.X, task.functionals), (task.points, task.pool))
    )
    return directions_of(here, there, task.targets)


Moments = tuple[FloatArray, FloatArray]


def directions_of(
    here: Moments, there: Moments, targets: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same from ``XᵀC``, (d, q), and norms of columns, (d,), of training rows and pool.

    `targets`, (q, m), are those of all functionals.
    """
    (M, norms), (M_pool, pool_norms) = here, there
    size = np.hypot(norms, pool_norms)
    if not np.isfinite(size).all():
        raise ValueError("The squares of X are infinite. Scale the features.")
    whole = np.hstack([M, M_pool])
    if targets.any():
        # in units in which all columns are alike, so that none drowns another
        units = np.where(size > 0, size, 1.0)[:, None]
        left, sizes, right = np.linalg.svd(whole / units, full_matrices=False)
        rounding = 10 * np.finfo(float).eps * np.sqrt(len(whole))
        keep = sizes > max(_FAINT * sizes.max(initial=0.0), rounding)
        Q = np.linalg.qr(units * left[:, keep])[0]
        found = (left[:, keep] / units) @ ((right[keep] @ targets) / sizes[keep, None])
        target = Q.T @ found
    else:
        eps = 10 * np.finfo(float).eps
        Q = _span(M, eps * np.linalg.norm(norms))
        more = _span(M_pool, eps * np.linalg.norm(pool_norms))
        for _ in range(2):
            more = more - Q @ (Q.T @ more)
        Q = np.asarray(np.linalg.qr(np.hstack([Q, _span(more, SAME)]))[0])
        target = np.zeros((Q.shape[1], targets.shape[1]))
    return Q, np.asarray(np.linalg.pinv(Q.T @ whole), dtype=float), target


def _span(M: FloatArray, cut: float) -> FloatArray:
    """An orthonormal basis of the columns of M, but for singular values up to `cut`."""
    left, sizes, _ = np.linalg.svd(M, full_matrices=False)
    basis: FloatArray = left[:, sizes > cut]
    return basis


def _normal(
    rows: CentredRows, Q: FloatArray, target: FloatArray, alpha: float
) -> tuple[FloatArray, FloatArray] | None:
    """Both solutions from the normal equations, or None if those are ill conditioned."""
    G, XY = rows.gram()
    return normal_equations(G, XY, Q, target, alpha)


def normal_equations(
    G: FloatArray,
    XY: FloatArray,
    Q: FloatArray,
    target: FloatArray,
    alpha: float,
    worst: float = _CONDITION,
) -> tuple[FloatArray, FloatArray] | None:
    """Both minimisers of ``θᵀ(G + λI)θ − 2 θᵀXY``, with and without ``Qᵀθ = target``.

    None if the condition of ``G + λI`` is more than `worst`. G is overwritten.
    """
    m = XY.shape[1]
    norm = np.abs(G).sum(axis=0).max() + alpha
    try:
        factor = SymmetricMatrix.from_upper(np.ascontiguousarray(G)).cholesky(alpha)
    except NotPositiveDefiniteError:
        return None
    if norm * _inverse_norm(factor, len(G)) > worst:
        return None
    Z = factor.solve(np.hstack([XY, Q]))
    free, Z_Q = Z[:, :m], Z[:, m:]
    fair = free - Z_Q @ np.linalg.solve(Q.T @ Z_Q, Q.T @ free - target)
    return fair, free


def _inverse_norm(factor: SymmetricFactor, d: int) -> float:
    """An estimate of the 1-norm of the inverse, from a few solves."""

    def solve(rhs: FloatArray) -> FloatArray:
        return factor.solve(rhs.reshape(d, -1)).reshape(rhs.shape)

    inverse = LinearOperator((d, d), matvec=solve, rmatvec=solve, matmat=solve, dtype=float)
    return float(onenormest(inverse))


def _orthogonal(
    rows: CentredRows, Q: FloatArray, target: FloatArray, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """Both solutions from singular values of X, without and with the directions Q."""
    R, RY = rows.triangle()
    path = RidgePath.of(R, RY, Q, target, rows.rounding(R))
    fair, free = path.fair(np.array([alpha])), path.free(np.array([alpha]))
    return fair[0], free[0]


@dataclass(frozen=True, eq=False)
class RidgePath:
    """Both solutions for any penalty, from singular values of a triangle R.

    Parameters
    ----------
    constrained, whole : _Singular
        Of what is left of R beside the directions that the constraint sees, and of all of it.
    rest : (d, d − r) array
        Orthonormal directions that the constraint does not see.
    particular : (d, m) array
        The least θ that meets the constraint.
    """

    constrained: _Singular
    whole: _Singular
    rest: FloatArray
    particular: FloatArray

    @classmethod
    def of(
        cls, R: FloatArray, RY: FloatArray, Q: FloatArray, target: FloatArray, cut: float
    ) -> Self:
        """Of ``‖RY − Rθ‖² + λ‖θ‖²`` subject to ``Qᵀθ = target``; `cut` as in `rounding`."""
        rest = np.linalg.qr(Q, mode="complete")[0][:, Q.shape[1] :]
        particular = Q @ target
        constrained = _Singular.of(R @ rest, RY - R @ particular, cut)
        return cls(constrained, _Singular.of(R, RY, cut), rest, particular)

    def fair(self, alphas: FloatArray) -> FloatArray:
        """θ of the constrained minimisers: (p, d, m)."""
        theta: FloatArray = self.particular + self.rest @ self.constrained.ridge(alphas)
        return theta

    def free(self, alphas: FloatArray) -> FloatArray:
        """θ of the free minimisers: (p, d, m)."""
        return self.whole.ridge(alphas)


@dataclass(frozen=True, eq=False)
class _Singular:
    """Singular values, right singular vectors and the targets in terms of the left ones."""

    s: FloatArray
    right: FloatArray
    targets: FloatArray

    @classmethod
    def of(cls, R: FloatArray, Y: FloatArray, cut: float) -> Self:
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
    """X and Y less their weighted means, times √u, read a block of rows at a time.

    `origin`, (d,), is all that was taken off the columns.
    """

    X: Features
    Y: FloatArray
    x_mean: FloatArray
    y_mean: FloatArray
    root: FloatArray | None
    origin: FloatArray

    @classmethod
    def of(cls, task: Task) -> CentredRows:
        """The rows of a task."""
        X, Y = task.X, task.Y
        origin = np.zeros(X.shape[1]) if task.origin is None else task.origin
        if not task.fit_intercept:
            return cls(X, Y, np.zeros(X.shape[1]), np.zeros(Y.shape[1]), task.root, origin)
        if task.weights is None:
            x_mean, y_mean = np.asarray(X.mean(axis=0)).ravel(), Y.mean(axis=0)
        else:
            x_mean, y_mean = np.asarray(X.T @ task.shares), task.shares @ Y
        return cls(X, Y, x_mean, y_mean, task.root, origin + x_mean)

    def _blocks(self, n: int) -> list[slice]:
        return list(row_blocks(n, max(2**21 // max(self.X.shape[1], 1), 256)))

    def _centred(self, X: Features) -> FloatArray:
        X = X.toarray() if sparse.issparse(X) else X
        return X - self.x_mean if self.x_mean.any() else np.asarray(X)

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
        M, squares = np.zeros((self.X.shape[1], len(functionals))), np.zeros(self.X.shape[1])
        for block in self._blocks(functionals.n_rows if len(functionals) else 0):
            assert points is not None
            X = self._centred(points[block])
            M += functionals.moments(X, block)
            weights = np.ones(len(X))
            if functionals.weights is not None:
                weights = functionals.weights[block]
            squares += weights @ X**2
        return M, np.sqrt(squares)

    def rounding(self, R: FloatArray) -> float:
        """Singular values of the triangle R up to this are nothing but rounding."""
        far = np.linalg.norm(self.origin) * np.sqrt(len(self.Y))
        if self.root is not None:
            far = np.linalg.norm(self.origin) * np.linalg.norm(self.root)
        size = np.linalg.norm(R) * max(*self.X.shape, 50) + 8 * far
        return float(size * np.finfo(float).eps)

    def products(self, C: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``XᵀC`` of centred rows, (d, p), and the norms of the columns of X, (d,)."""
        total, squares = np.zeros((self.X.shape[1], C.shape[1])), np.zeros(self.X.shape[1])
        for block in self._blocks(len(C)):
            X = self._centred(self.X[block])
            total += X.T @ C[block]
            squares += (X**2).sum(axis=0)
        return total, np.sqrt(squares)

    def moments(self, values: FloatArray) -> FloatArray:
        """``Xᵀ u values``, (d, m), of centred rows."""
        total = np.zeros((self.X.shape[1], values.shape[1]))
        for block in self._blocks(len(self.Y)):
            weighted = values[block]
            if self.root is not None:
                weighted = self.root[block, None] ** 2 * weighted
            total += self._centred(self.X[block]).T @ weighted
        return total

    def gram(self) -> tuple[FloatArray, FloatArray]:
        """``XᵀuX``, (d, d), and ``XᵀuY``, (d, m), of centred rows."""
        G, XY = np.zeros((self.X.shape[1],) * 2), np.zeros((self.X.shape[1], self.Y.shape[1]))
        for X, Y in self._read():
            G += X.T @ X
            XY += X.T @ Y
        return G, XY

    def triangle(self) -> tuple[FloatArray, FloatArray]:
        """R with ``RᵀR = XᵀuX`` and ``RᵀRY = XᵀuY``, by orthogonal steps only."""
        d = self.X.shape[1]
        stack = np.empty((0, d + self.Y.shape[1]))
        for X, Y in self._read():
            stack = np.vstack([stack, np.hstack([X, Y])])
            if len(stack) > 2 * stack.shape[1]:
                stack = np.asarray(np.linalg.qr(stack, mode="r"))
        return stack[:, :d], stack[:, d:]
