"""Functions that meet a constraint, in coordinates in which nothing is constrained.

They are ``g = o + h + b·m``: o is the function of least norm that meets the targets, h is any
function on which all functionals vanish, and m is the constant 1, projected onto such functions.
With orthonormal representers r_j of the functionals, ``⟨r_j, g⟩ = τ_j − β_j b`` has to hold, so
that ``o = Σ τ_j r_j``, ``m = 1 − Σ β_j r_j`` and ``‖g‖² = ‖h‖² + ‖τ − βb‖²``. A constant does not
change comparisons of means: then β is zero and m is 1. All symbols are listed in
`meanparity.solvers.minimisation`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg
from scipy import sparse

from meanparity._typing import Features, FloatArray
from meanparity.kernels.bound import gram
from meanparity.linalg.adjusted import Adjustment
from meanparity.linalg.blas import NotPositiveDefiniteError
from meanparity.linalg.memory import require_memory
from meanparity.linalg.refinement import Refined
from meanparity.linalg.symmetric import SymmetricMatrix, row_blocks
from meanparity.solvers.factored import device_matrix
from meanparity.solvers.orthogonal import CentredRows, problem_directions
from meanparity.solvers.problem import ConstrainedProblem
from meanparity.solvers.representers import PoolMoments, Representers

if TYPE_CHECKING:
    from meanparity.linalg.device_matrix import DeviceMatrix

_ADVICE = "Fit on fewer rows, or use the kernel 'linear'."
_SMALL = 2000  # most columns for which a matrix of their products is formed
_BLOCK = 2**21  # most numbers in a block of rows


@dataclass(frozen=True, eq=False)
class Plane:
    """The affine space of the functions that meet the constraint.

    Parameters
    ----------
    offset : (n,) array
        Values of o on the training rows.
    constant : (n,) array or None
        Values of m on the training rows; None without an intercept.
    tau, beta : (r,) arrays
        The inner products of g with the representers are ``τ − βb``.
    """

    offset: FloatArray
    constant: FloatArray | None
    tau: FloatArray
    beta: FloatArray

    def penalty(self, b: float) -> float:
        """The share of the squared norm that depends on b alone, ``‖τ − βb‖²``."""
        return float(np.sum((self.tau - self.beta * b) ** 2))

    def penalty_slope(self, b: float) -> float:
        """Half the derivative of `penalty` with respect to b."""
        return float(self.beta @ (self.beta * b - self.tau))


@dataclass(frozen=True, eq=False)
class KernelFunctions:
    """``h = Σ_i c_i κ̃(·, x_i)`` with the reproducing kernel κ̃ of the functions h.

    Parameters
    ----------
    plane : Plane
        The affine space that h is part of.
    K : SymmetricMatrix or DeviceMatrix
        κ̃ on the training rows; on a device if the problem has one.
    problem : ConstrainedProblem
        The problem, with its functionals and the pool.
    representers : Representers
        Representers of all functionals.
    row_means : (n,) array or None
        Means that centring subtracted from the kernel matrix; None if it is not centred.
    pool_means : (q_pool,) array
        Means that centring subtracted from the pool's representers.
    """

    plane: Plane
    K: SymmetricMatrix | DeviceMatrix
    problem: ConstrainedProblem
    representers: Representers
    row_means: FloatArray | None
    pool_means: FloatArray

    @classmethod
    def prepare(cls, problem: ConstrainedProblem) -> KernelFunctions:
        """Compute the kernel matrix, projected so that all functionals vanish.

        The kernel is centred if there is an intercept on which no functional depends: large kernel
        values then do not cost accuracy.
        """
        sums = _constant_values(problem)
        centred = problem.fit_intercept and not sums.any()
        shares = np.full(len(problem.Y), 1 / len(problem.Y)) if centred else None
        K: SymmetricMatrix | DeviceMatrix
        if problem.device is None:
            K = gram(problem.bound_kernel, problem.X, advice=_ADVICE)
        else:
            K = device_matrix(problem, mixed=False)
        row_means = None
        with np.errstate(over="ignore", invalid="ignore"):
            pool = PoolMoments.compute(problem, shares)
        if shares is not None:
            K, row_means = K.centre(shares)
        K.require_finite()
        found = Representers.compute(replace(problem, weights=None), K, pool)
        tau = found.inner_products(problem.targets[:, :1])[:, 0]
        beta = found.inner_products(sums[:, None])[:, 0]
        V, signs = found.functions.values, found.signs  # some are −1, by rounding
        constant = 1.0 - V @ (signs * beta) if problem.fit_intercept else None
        if len(tau):
            K = K.deflate(V, signs)
        plane = Plane(V @ (signs * tau), constant, tau, beta)
        return cls(plane, K, problem, found, row_means, pool.means)

    @property
    def held(self) -> FloatArray:
        """Takes inner products with the representers, (r,), to values of the functionals: (q, r).

        Its columns span all values that they have on some function.
        """
        return np.asarray(self.representers.held * self.representers.signs)

    def inner_products(self, coef: FloatArray) -> FloatArray:
        """The inner products with the representers, (r,), of a function on the training rows.

        Its coefficients, (p, 1), are zero on the pool.
        """
        values = self.representers.functions.values
        return np.asarray(values.T @ coef[: len(values), 0])

    def with_inner_products(self, tau: FloatArray) -> KernelFunctions:
        """The functions with other inner products, (r,), from the same factors."""
        found = self.representers
        offset = found.functions.values @ (found.signs * tau)
        return replace(self, plane=replace(self.plane, offset=offset, tau=tau))

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return len(self.K)

    @property
    def needs_values(self) -> bool:
        """Whether inner products are computed from values on the training rows: ``cᵀK̃c'``."""
        return True

    def values(self, c: FloatArray) -> FloatArray:
        """Values of h on the training rows, ``K̃c``: (n,)."""
        return self.K.times(c[:, None])[:, 0]

    def product(self, c: FloatArray, other: FloatArray, values: FloatArray) -> float:
        """The inner product of two functions h; `values`, (n,), are those of the other."""
        return float(c @ values)

    def representer(self, pull: FloatArray) -> FloatArray:
        """Coefficients of ``Σ_i pull_i κ̃(·, x_i)``, which are the pulls: (p,)."""
        return pull

    def conditioner(self, alpha: float) -> Callable[[FloatArray], FloatArray]:
        """A preconditioner: from the coefficients of a gradient to those of a step, (p,).

        It divides by n; the inner product of the space takes care of the rest.
        """
        return lambda c: c / len(c)

    def newton(
        self, c: FloatArray, b: float, g: FloatArray, w: FloatArray, alpha: float
    ) -> tuple[FloatArray, float]:
        """The step to the minimum of ``Σ (2g_i δ_i + w_i δ_i²) + α‖·‖²`` in changes δ of values.

        It solves ``(αI + WK̃)Δ = −g − αc − Δb Wm`` by a factorisation of ``αI + √W K̃ √W``.
        """
        m = self.plane.constant
        if w.min() < 0:
            return self._newton_indefinite(c, b, g, w, alpha)
        curved = w > 1e-14 * w.max()
        root = np.sqrt(np.where(curved, w, 0.0))
        pulls = np.stack([-g - alpha * c] if m is None else [-g - alpha * c, w * m], axis=1)
        # without curvature, the pull determines the coefficients
        flat = np.where(curved[:, None], 0.0, pulls / alpha)
        rest = np.where(curved[:, None], pulls, 0.0)
        if not curved.all():
            rest -= np.where(curved, w, 0.0)[:, None] * self.K.times(flat)
        scaled = rest / np.where(curved, root, 1.0)[:, None]
        try:
            found = flat + root[:, None] * self._weighted_solve(root, alpha, scaled)
        except NotPositiveDefiniteError as error:
            raise ValueError(
                f"The kernel matrix is indefinite, or alpha={alpha:g} is negligible compared with "
                "it. Raise alpha, or choose another kernel."
            ) from error
        return self._with_constant(c, b, found[:, 0], None if m is None else found[:, 1])

    def _weighted_solve(self, root: FloatArray, alpha: float, rhs: FloatArray) -> FloatArray:
        """``(αI + √W K̃ √W)⁻¹ rhs`` for √W of shape (n,), and rhs of shape (n, r)."""
        if isinstance(self.K, SymmetricMatrix):
            return self.K.cholesky(alpha, Adjustment(root=root)).solve(rhs)
        return Refined(self.K.scale(root), alpha).solve(rhs)

    def _with_constant(
        self, c: FloatArray, b: float, free: FloatArray, along: FloatArray | None
    ) -> tuple[FloatArray, float]:
        """The step ``free − Δb along``; stationarity in b is ``mᵀ(c + Δ) = βᵀ(β(b + Δb) − τ)``."""
        if along is None:
            return free, 0.0
        m, beta, tau = self.plane.constant, self.plane.beta, self.plane.tau
        assert m is not None
        lacking = float(m @ (c + free)) - float(beta @ (beta * b - tau))
        bends = float(m @ along + beta @ beta)
        step = lacking / bends if bends != 0 else 0.0
        return free - step * along, step

    def _newton_indefinite(
        self, c: FloatArray, b: float, g: FloatArray, w: FloatArray, alpha: float
    ) -> tuple[FloatArray, float]:
        """The same if some curvatures are negative: one more matrix, and no square roots."""
        n, m = len(self.K), self.plane.constant
        require_memory(
            2 * 8 * n * n, what=f"A matrix of {n:,} rows that is not symmetric", advice=_ADVICE
        )
        system = w[:, None] * self.K.times(np.eye(n))
        system[np.arange(n), np.arange(n)] += alpha
        pulls = [-g - alpha * c] if m is None else [-g - alpha * c, w * m]
        found = np.asarray(np.linalg.solve(system, np.stack(pulls, axis=1)), dtype=float)
        return self._with_constant(c, b, found[:, 0], None if m is None else found[:, 1])

    def function(self, c: FloatArray, b: float) -> tuple[FloatArray, float]:
        """Coefficients of g, (q, 1), on the training rows and then the pool, and its intercept."""
        problem, plane = self.problem, self.plane
        rows, extra = c[:, None].copy(), np.zeros((len(self.pool_means), 1))
        self.representers.meet((plane.tau - plane.beta * b)[:, None], rows, extra)
        intercept = b
        if (
            self.row_means is not None
        ):  # centred: adding a constant to all coefficients changes nothing
            rows -= rows.mean()
            intercept -= (self.row_means @ rows + self.pool_means @ extra).item()
        if problem.pool_X is not None:
            rows = np.vstack([rows, problem.pool.spread(extra)])
        return rows, intercept

    def multipliers(self, b: float, g: FloatArray, alpha: float) -> FloatArray:
        """Lagrange multipliers of the functionals, (q,), at halves g of the loss's derivatives.

        They come from the derivatives of J along the representers.
        """
        functions, plane = self.representers.functions, self.plane
        along = functions.values.T @ g + alpha * (plane.tau - plane.beta * b)
        return np.asarray(functions.basis @ along)


@dataclass(frozen=True, eq=False)
class ColumnFunctions:
    """``h(x) = xᵀ(I − QQᵀ)c``: linear functions without the directions of the functionals.

    Parameters
    ----------
    plane : Plane
        The affine space that h is part of.
    X : (n, d) array or sparse matrix
        The training rows.
    Q : (d, r) array
        Orthonormal basis of the directions of the functionals.
    held : (q, r) array
        Takes inner products with these directions to values of the functionals. Its columns span
        all values that they have on some function.
    W : (q, r) array
        Maps derivatives along these directions to multipliers of the functionals.
    """

    plane: Plane
    X: Features
    Q: FloatArray
    held: FloatArray
    W: FloatArray

    @classmethod
    def prepare(cls, problem: ConstrainedProblem) -> ColumnFunctions:
        """Compute the directions of the functionals."""
        n, d = problem.X.shape
        require_memory(
            3 * 8 * d * d, what=f"Solving for {d:,} columns", advice="Use fewer columns."
        )
        with np.errstate(over="ignore"):
            squares = problem.X.multiply(problem.X) if sparse.issparse(problem.X) else problem.X**2
            total = np.asarray(squares.sum(axis=0))
        if not np.isfinite(total).all():
            raise ValueError("The squares of X are infinite. Scale the features.")
        sums = _constant_values(problem)
        bare = replace(problem, fit_intercept=False, weights=None)
        Q, M, tau = problem_directions(CentredRows.from_problem(bare), bare)
        held = np.asarray(M.T @ Q)
        W = np.asarray(np.linalg.pinv(held.T), dtype=float)
        beta = W.T @ sums
        seen = problem.X @ Q
        constant = np.ones(n) - seen @ beta if problem.fit_intercept else None
        return cls(Plane(seen @ tau[:, 0], constant, tau[:, 0], beta), problem.X, Q, held, W)

    def inner_products(self, coef: FloatArray) -> FloatArray:
        """The inner products with the directions, (r,), of a function with coefficients (d, 1)."""
        return np.asarray(self.Q.T @ coef[:, 0])

    def with_inner_products(self, tau: FloatArray) -> ColumnFunctions:
        """The functions with other inner products, (r,), from the same directions."""
        offset = np.asarray(self.X @ (self.Q @ tau))
        return replace(self, plane=replace(self.plane, offset=offset, tau=tau))

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return int(self.X.shape[1])

    @property
    def needs_values(self) -> bool:
        """False: inner products are computed from coefficients."""
        return False

    def values(self, c: FloatArray) -> FloatArray:
        """Values of h on the training rows, ``X(I − QQᵀ)c``: (n,)."""
        return np.asarray(self.X @ self._projected(c))

    def product(self, c: FloatArray, other: FloatArray, values: FloatArray) -> float:
        """The inner product ``cᵀ(I − QQᵀ)c'``."""
        return float(self._projected(c) @ other)

    def representer(self, pull: FloatArray) -> FloatArray:
        """The coefficients ``(I − QQᵀ)Xᵀ pull``: (p,)."""
        return self._projected(np.asarray(self.X.T @ pull))

    def conditioner(self, alpha: float) -> Callable[[FloatArray], FloatArray]:
        """Solve the normal equations of the squared loss, if there are few columns."""
        n, d = self.X.shape
        if d > _SMALL:
            return lambda c: c / n
        H = np.zeros((d, d))
        for rows in row_blocks(n, max(_BLOCK // max(d, 1), 256)):
            X = self.X[rows].toarray() if sparse.issparse(self.X) else self.X[rows]
            H += X.T @ X
        H -= self.Q @ (self.Q.T @ H)
        H -= (H @ self.Q) @ self.Q.T
        H[np.diag_indices(d)] += alpha + 1e-7 * max(float(np.trace(H)), 1e-200)
        factor = scipy.linalg.cho_factor(H, check_finite=False)
        return lambda c: self._projected(scipy.linalg.cho_solve(factor, c, check_finite=False))

    def newton(
        self, c: FloatArray, b: float, g: FloatArray, w: FloatArray, alpha: float
    ) -> tuple[FloatArray, float]:
        """Solve the projected normal equations for the columns and the constant."""
        d, m = self.size, self.plane.constant
        extra = 0 if m is None else 1
        H, pull = np.zeros((d + extra, d + extra)), np.zeros(d + extra)
        for rows in row_blocks(len(g), max(_BLOCK // max(d, 1), 256)):
            X = self.X[rows].toarray() if sparse.issparse(self.X) else self.X[rows]
            X = X if m is None else np.column_stack([X, m[rows]])
            H += (w[rows, None] * X).T @ X
            pull -= X.T @ g[rows]
        H[:d] -= self.Q @ (self.Q.T @ H[:d])
        H[:, :d] -= (H[:, :d] @ self.Q) @ self.Q.T
        pull[:d] = self._projected(pull[:d]) - alpha * self._projected(c)
        H[np.arange(d), np.arange(d)] += alpha
        if m is not None:
            H[d, d] += alpha * float(self.plane.beta @ self.plane.beta)
            pull[d] -= alpha * self.plane.penalty_slope(b)
        if w.min() < 0:  # negative curvature of a constraint
            step = np.asarray(np.linalg.solve(H, pull), dtype=float)
        else:
            step = _solve_semidefinite(H, pull)
        return self._projected(step[:d]), float(step[d]) if extra else 0.0

    def function(self, c: FloatArray, b: float) -> tuple[FloatArray, float]:
        """Coefficients of the columns, and the intercept."""
        theta = self._projected(self._projected(c))
        theta += self.Q @ (self.plane.tau - self.plane.beta * b)
        return theta[:, None], b

    def multipliers(self, b: float, g: FloatArray, alpha: float) -> FloatArray:
        """Lagrange multipliers, from the derivatives of J along the directions: (q,)."""
        along = self.Q.T @ np.asarray(self.X.T @ g) + alpha * (self.plane.tau - self.plane.beta * b)
        return np.asarray(self.W @ along)

    def _projected(self, c: FloatArray) -> FloatArray:
        projected: FloatArray = c - self.Q @ (self.Q.T @ c)
        return projected


FunctionSpace = KernelFunctions | ColumnFunctions


def _constant_values(problem: ConstrainedProblem) -> FloatArray:
    """Values of all functionals at the constant 1: (q,), exactly zero for comparisons."""
    sums = []
    for part in (problem.functionals, problem.pool):
        C = part.dense()
        total, size = C.sum(axis=0), np.abs(C).sum(axis=0)
        sums.append(np.where(np.abs(total) > 1e-10 * size, total, 0.0))
    return np.concatenate(sums)


def _solve_semidefinite(H: FloatArray, pull: FloatArray) -> FloatArray:
    """``H⁻¹ pull``; in flat directions of H, a long step that the line search shortens."""
    scale = np.sqrt(np.maximum(H.diagonal(), 1e-12 * max(H.diagonal().max(), 1e-300)))
    A, rhs = H / scale / scale[:, None], pull / scale
    try:
        factor = scipy.linalg.cho_factor(A, check_finite=False)
        if np.abs(factor[0].diagonal()).min() > 1e-5:
            return np.asarray(scipy.linalg.cho_solve(factor, rhs, check_finite=False) / scale)
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    seen = vectors.T @ rhs
    bent = values > 1e-10 * values.max()
    size = np.where(bent, values, 1e-10 * values.max())
    # no step in flat directions along which the pull is only rounding
    keep = bent | (np.abs(seen) > 1e-8 * np.abs(rhs).max(initial=0.0))
    return np.asarray((vectors[:, keep] @ (seen[keep] / size[keep])) / scale)
