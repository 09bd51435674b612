r"""Predictions for held-out rows: leave-one-out and folds, for every penalty at once.

**Leave-one-out**, with the constraint recomputed without each row.

With weights u and shares r² of them, let ``H = U^{-1/2} (r rᵀ + Q diag(f) Qᵀ) U^{1/2}`` be the
matrix that takes targets to fitted values, ``f = s/(s + λ)`` for the eigenvalues s of the kernel
matrix, centred and scaled by the weights (without intercept there is no r and nothing is centred).
The fit under the constraint is that to ``v = y − Z T ν`` for cells Z, tables T, multipliers ν.
Without row i, a fit to v has the values

    ``(Hv)_j − H_ji e_i``  at j ≠ i,  ``v_i − e_i``  at i,  ``e_i = (v_i − (Hv)_i) / (1 − h_i)``,

so that the conditions on ν are those of all rows, changed by two vectors. Once the eigenvalues are
there, every λ costs O(n²(k + m) + n q²).

**Folds** of linear fits. Each fold is reduced once, to a triangle R with ``RᵀR = [X Y]ᵀ[X Y]`` of
its centred rows. Triangles of several folds merge by another orthogonal step, so that no condition
number is squared, and the singular values of a merged triangle give the fits of all penalties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from meanparity._typing import Features, FloatArray, IntArray
from meanparity.constraints.functionals import Functionals
from meanparity.constraints.left_out import LeftOut
from meanparity.data.groups import group_sums
from meanparity.kernels.bound import gram
from meanparity.linalg.device import resolve_device
from meanparity.linalg.symmetric import row_blocks
from meanparity.solvers.factored import device_matrix
from meanparity.solvers.operator import KernelOperator
from meanparity.solvers.orthogonal import CentredRows, RidgePath, problem_directions
from meanparity.solvers.problem import ConstrainedProblem, Solver
from meanparity.solvers.representers import KernelMatrix

_BLOCK = 512
_REGULAR = 1e-6  # a determinant above this says that no direction is lost
Matrix = TypeVar("Matrix", bound=KernelMatrix)


@dataclass(frozen=True, eq=False)
class Smoother:
    """The matrix H that takes targets to fitted values, for every penalty.

    Parameters
    ----------
    vectors : (n, r) array
        Q.
    values : (r,) array
        s, at least zero.
    root : (n,) array or None
        Square roots of the weights, None if all are one.
    constant : (n,) array or None
        r, None without an intercept.
    """

    vectors: FloatArray
    values: FloatArray
    root: FloatArray | None
    constant: FloatArray | None

    @classmethod
    def from_problem(cls, problem: ConstrainedProblem, solver: Solver | None = None) -> Smoother:
        """The matrix of a problem without a pool; on the device of the solver if it has one."""
        device = resolve_device(getattr(solver, "device", "cpu"))
        root, constant = problem.root, None
        if problem.fit_intercept:
            constant = np.sqrt(problem.shares)
        if problem.kernel.is_linear:
            columns = _columns(problem)
            _, sizes, right = np.linalg.svd(np.linalg.qr(columns, mode="r"), full_matrices=False)
            keep = sizes > len(columns) * np.finfo(float).eps * sizes.max(initial=0.0)
            vectors = columns @ (right[keep].T / sizes[keep])
            return cls(vectors, sizes[keep] ** 2, root, constant)
        problem = replace(problem, device=device)
        if device is not None:
            eigen = _centred(device_matrix(problem, mixed=False), problem).eigen()
        else:
            K = gram(problem.bound_kernel, problem.X, advice="Use ParityRidgeCV, or fewer rows.")
            eigen = _centred(K, problem).eigen()
        return cls(eigen.vectors, np.maximum(eigen.values, 0.0), root, constant)

    def apply(self, W: FloatArray, alphas: FloatArray) -> FloatArray:
        """``H W`` for W of shape (n, c) and every penalty: (p, n, c)."""
        projected = self.vectors.T @ self._scaled(W)
        f = self._filters(alphas)
        columns = (f[:, :, None] * projected[:, None, :]).reshape(len(f), -1)
        n, c = W.shape
        values = (self.vectors @ columns).reshape(n, len(alphas), c).transpose(1, 0, 2)
        if self.constant is not None:
            values = values + np.outer(self.constant, self.constant @ self._scaled(W))
        return values if self.root is None else values / self.root[:, None]

    def diagonals(self, alphas: FloatArray) -> FloatArray:
        """The diagonals h of H: (p, n)."""
        f, n = self._filters(alphas), len(self.vectors)
        h = np.concatenate([self.vectors[rows] ** 2 @ f for rows in row_blocks(n, _BLOCK)]).T
        return h if self.constant is None else h + self.constant**2

    def _filters(self, alphas: FloatArray) -> FloatArray:
        """``s/(s + λ)``: (r, p)."""
        s = self.values[:, None]
        with np.errstate(invalid="ignore"):
            share: FloatArray = np.where(alphas > 0, s / (s + alphas), 1.0)
        return share

    def _scaled(self, W: FloatArray) -> FloatArray:
        return W if self.root is None else self.root[:, None] * W


def kernel_scale(problem: ConstrainedProblem) -> float:
    """The mean of the kernel of each row with itself, by which penalties are scaled."""
    if problem.kernel.is_linear:
        return float((_columns(problem) ** 2).sum()) / len(problem.Y)
    K = KernelOperator.from_kernel(problem.bound_kernel, problem.X)
    return float(_centred(K, problem).diagonal.mean())


def _centred(K: Matrix, problem: ConstrainedProblem) -> Matrix:
    """The kernel matrix, which may be overwritten, centred for an intercept and scaled by √u."""
    if problem.fit_intercept:
        K, _ = K.centre(problem.shares)
    return K if problem.root is None else K.scale(problem.root)


def _columns(problem: ConstrainedProblem) -> FloatArray:
    """Features, (n, d), centred for an intercept and scaled by √u."""
    X = problem.X.toarray() if sparse.issparse(problem.X) else np.asarray(problem.X)
    if problem.fit_intercept:
        X = X - problem.shares @ X
    return X if problem.root is None else problem.root[:, None] * X


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Leave-one-out predictions for any penalty.

    Parameters
    ----------
    smoother : Smoother
        The matrix H.
    Y : (n, m) array
        Targets.
    left_out : LeftOut
        The conditions on all rows but one.
    """

    smoother: Smoother
    Y: FloatArray
    left_out: LeftOut

    def predict(self, alphas: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """For each penalty, predictions of each row by all others: constrained and free, (n, m)."""
        Z = self.left_out.codes[:, None] == np.arange(self.left_out.n_cells)
        W = np.hstack([self.Y, Z.astype(float)])
        alphas = np.asarray(alphas, dtype=np.float64)
        both = zip(self.smoother.apply(W, alphas), self.smoother.diagonals(alphas), strict=True)
        for H, h in both:
            yield self._predict(W, H, h)

    def _predict(
        self, W: FloatArray, H: FloatArray, h: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """From ``W = [Y, Z]``, ``H W`` and the diagonal of H."""
        n, m = self.Y.shape
        spare = np.maximum(1 - h, np.finfo(float).eps)
        weights = np.ones(n) if self.smoother.root is None else self.smoother.root**2
        weights = weights / weights.mean()  # as in the functionals
        free = (H[:, :m] - h[:, None] * self.Y) / spare[:, None]
        fair = free.copy()
        k = self.left_out.n_cells
        sums = group_sums(self.left_out.codes, weights[:, None] * H, k)  # Zᵀ U H W
        totals = group_sums(self.left_out.codes, weights[:, None] * self.Y, k)  # Zᵀ U y
        for number, T in enumerate(self.left_out.tables):
            if not T.shape[1]:
                continue
            rows = np.flatnonzero(self.left_out.which == number)
            wanted = T.T @ sums[:, :m] - self.left_out.targets[number]
            fitted, y, lever = H[rows, :m], self.Y[rows], h[rows, None]
            error = (y - fitted) / spare[rows, None]
            on_own = fitted - lever * error
            if self.left_out.compares_errors:
                wanted, on_own = wanted - T.T @ totals, on_own - y
            own, seen = T[self.left_out.codes[rows]], H[rows, m:] @ T
            delta = weights[rows, None, None] * np.stack([on_own, error], axis=1)
            M = np.array([[[0.0, 1.0], [1.0, -1.0]]]) - lever[:, :, None] * [[1.0, 0.0], [0.0, 0.0]]
            M *= (weights[rows] / spare[rows])[:, None, None]
            P = np.stack([own, seen], axis=1)
            found = _multipliers_at_row(T.T @ sums[:, m:] @ T, wanted, P, M, delta)
            fair[rows] -= (found[:, 1] - lever * found[:, 0]) / spare[rows, None]
        return fair, free


def _multipliers_at_row(
    G: FloatArray, w: FloatArray, P: FloatArray, M: FloatArray, delta: FloatArray
) -> FloatArray:
    """``P_i ν`` for the multipliers ν without each of r rows, ``(G − P_iᵀM_iP_i) ν = w − P_iᵀδ_i``.

    It is the solution of two equations, ``(I − A_i M_i) x = P_i G⁻¹ w − A_i δ_i`` with
    ``A_i = P_i G⁻¹ P_iᵀ``, unless G is singular with the row or without it.

    Parameters
    ----------
    G, w : (q, q) and (q, m) arrays
        The conditions with all rows.
    P, M, delta : (r, 2, q), (r, 2, 2) and (r, 2, m) arrays
        What each row adds to them.
    """
    G, across = (G + G.T) / 2, P.transpose(0, 2, 1)
    regular, found = np.zeros(len(P), bool), np.empty(delta.shape)
    if _determinants(G[None])[0] > _REGULAR:
        PG = P @ np.linalg.inv(G)
        A = PG @ across
        D, right = np.eye(2) - A @ M, PG @ w - A @ delta
        determinants = D[:, 0, 0] * D[:, 1, 1] - D[:, 0, 1] * D[:, 1, 0]
        regular = np.abs(determinants) > 1e-3  # as in most rows
        found[:, 0] = D[:, 1, 1, None] * right[:, 0] - D[:, 0, 1, None] * right[:, 1]
        found[:, 1] = D[:, 0, 0, None] * right[:, 1] - D[:, 1, 0, None] * right[:, 0]
        found /= np.where(regular, determinants, 1.0)[:, None, None]
    if not regular.all():
        rest = ~regular
        gram = G - across[rest] @ M[rest] @ P[rest]
        found[rest] = P[rest] @ _solve_each(gram, w - across[rest] @ delta[rest])
    return found


def _determinants(gram: FloatArray) -> FloatArray:
    """Determinants of symmetric matrices, (r, q, q), scaled to diagonals of one: (r,)."""
    sizes = np.einsum("rqq->rq", gram)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(sizes > 0, sizes**-0.5, 0.0)
    return np.asarray(np.abs(np.linalg.det(scale[:, :, None] * gram * scale[:, None, :])))


def _solve_each(gram: FloatArray, wanted: FloatArray) -> FloatArray:
    """Solve small systems (r, q, q) for (r, q, m); those that are singular for least norm."""
    regular = _determinants(gram) > _REGULAR
    found = np.empty_like(wanted)
    found[regular] = np.linalg.solve(gram[regular], wanted[regular])
    rest = ~regular
    if rest.any():
        inverse = np.linalg.pinv(gram[rest], rcond=1e-10, hermitian=True)
        found[rest] = inverse @ wanted[rest]
    return found


@dataclass(frozen=True, eq=False)
class FoldSums:
    """The sums over the rows of a fold.

    Parameters
    ----------
    mass : float
        Sum of the weights.
    mean : (d + m,) array
        Weighted mean of the columns of X and Y; zero without an intercept.
    triangle : (r, d + m) array
        R of the rows minus that mean.
    """

    mass: float
    mean: FloatArray
    triangle: FloatArray

    @classmethod
    def from_problem(cls, problem: ConstrainedProblem) -> Self:
        """The sums of the training rows of a problem, not all of weight zero."""
        rows = CentredRows.from_problem(problem)
        mass = float(len(problem.Y)) if problem.weights is None else float(problem.weights.sum())
        triangle = np.hstack(rows.triangle())
        return cls(mass, np.concatenate([rows.x_mean, rows.y_mean]), triangle)

    @classmethod
    def merged(cls, parts: Sequence[FoldSums]) -> Self:
        """The sums over the rows of several folds together."""
        masses = np.array([part.mass for part in parts])
        means = np.stack([part.mean for part in parts])
        mean = masses @ means / masses.sum()
        between = np.sqrt(masses)[:, None] * (means - mean)
        stacked = np.vstack([*(part.triangle for part in parts), between])
        return cls(float(masses.sum()), mean, np.asarray(np.linalg.qr(stacked, mode="r")))


def predict_folds(
    problem: ConstrainedProblem,
    held_out: Sequence[NDArray[Any]],
    functionals: Callable[[IntArray], Functionals],
    alphas: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Predict every fold by the constrained and the free fit to the others, for every penalty.

    Parameters
    ----------
    problem : ConstrainedProblem
        All rows, without a pool, and a linear kernel; its penalty and its functionals are not used.
    held_out : sequence of (n_f,) arrays of int
        The rows of each fold; every row is in one.
    functionals : callable
        Gives what has to hold on the rows at some positions.
    alphas : (p,) array
        Penalties.

    Returns
    -------
    fair, free : (p, n, m) arrays
    """
    shape = (len(alphas), *problem.Y.shape)
    fair, free = np.empty(shape), np.empty(shape)
    inside = [_subset(problem, rows, Functionals.none(0)) for rows in held_out]
    heavy = [part.weights is None or bool(part.weights.any()) for part in inside]
    pairs = zip(inside, heavy, strict=True)
    sums = [FoldSums.from_problem(part) if counts else None for part, counts in pairs]
    for f, rows in enumerate(held_out):
        keep = np.ones(len(problem.Y), bool)
        keep[rows] = False
        train = np.flatnonzero(keep)
        others = _subset(problem, train, functionals(train))
        trained = FoldSums.merged([part for g, part in enumerate(sums) if g != f and part])
        fair[:, rows], free[:, rows] = _predict_fold(others, trained, alphas, inside[f].X)
    return fair, free


def _predict_fold(
    problem: ConstrainedProblem, trained: FoldSums, alphas: FloatArray, X: Features
) -> list[FloatArray]:
    """Constrained and free predictions for rows X, (n_f, d), of fits to sums: (p, n_f, m)."""
    d, centred = X.shape[1], CentredRows.from_problem(problem)
    Q, _, target = problem_directions(centred, problem)
    R, RY = trained.triangle[:, :d], trained.triangle[:, d:]
    path = RidgePath.from_triangle(R, RY, Q, target, centred.rounding(R))
    x_mean, y_mean = trained.mean[:d], trained.mean[d:]
    both = path.fair(alphas), path.free(alphas)
    return [np.stack([X @ theta + (y_mean - x_mean @ theta) for theta in end]) for end in both]


def _subset(
    problem: ConstrainedProblem, rows: NDArray[Any], functionals: Functionals
) -> ConstrainedProblem:
    """The problem on a subset of its rows."""
    weights = None if problem.weights is None else problem.weights[rows]
    X, Y = problem.X[rows], problem.Y[rows]
    return replace(problem, X=X, Y=Y, weights=weights, functionals=functionals, cells=None)
