"""Functionals as functions of the space: each is the inner product with its representer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from meanparity._typing import Features, FloatArray
from meanparity.kernels.bound import BLOCK_NUMBERS
from meanparity.linalg.blas import multiply
from meanparity.linalg.symmetric import require_finite, row_blocks, symmetric_basis
from meanparity.solvers.problem import SAME, ConstrainedProblem

_FAINT = 1e-6  # representers of less than this share of the largest norm are not given a value


class KernelMatrix(Protocol):
    """What a kernel matrix can do besides being factored, whether it is stored or not."""

    @property
    def diagonal(self) -> FloatArray:
        """Its diagonal: (n,)."""
        ...

    def __len__(self) -> int: ...

    def times(self, Z: FloatArray) -> FloatArray:
        """The product with Z, (n, r)."""
        ...

    def centre(self, shares: FloatArray) -> tuple[Self, FloatArray]:
        """``H K Hᵀ`` with ``H = I − 1 sharesᵀ``, and the row means of K, (n,)."""
        ...

    def scale(self, root: FloatArray) -> Self:
        """``diag(root) K diag(root)`` for root of shape (n,)."""
        ...

    def deflate(self, V: FloatArray, signs: FloatArray) -> Self:
        """``K − V diag(signs) Vᵀ`` for V of shape (n, q)."""
        ...


@dataclass(frozen=True, eq=False)
class PoolMoments:
    """What the representers ``Σ_z C_z κ(·, z)`` of the pool's q functionals do.

    Parameters
    ----------
    values : (n, q) array
        Their values on the training rows, centred if there is an intercept.
    means : (q,) array
        The means that centring subtracted from them.
    gram : (q, q) array
        Their inner products.
    size : float
        Size of the terms that can cancel in the inner products.
    """

    values: FloatArray
    means: FloatArray
    gram: FloatArray
    size: float

    @classmethod
    def compute(cls, problem: ConstrainedProblem, shares: FloatArray | None) -> PoolMoments:
        """Sum over kernel values between the pool and all points, a few rows at a time.

        `shares`, (n,), are the weights of the training rows in the means that centre the kernel;
        None if it is not centred.
        """
        n, q = len(problem.Y), problem.pool.count
        values, gram, reach = np.zeros((n, q)), np.zeros((q, q)), np.zeros(q)
        if not q:
            return cls(values, np.zeros(0), gram, 0.0)
        kernel, p = problem.bound_kernel, problem.pool.n_rows
        C = problem.pool.dense()
        if kernel.has_device:
            pool_X: Features = problem.pool_X
            weights = np.vstack([np.zeros((n, q)), C])
            inner, values = kernel.evaluate_both(pool_X, weights, C, values)
            gram = C.T @ inner
            reach = np.sqrt(np.abs(kernel.diagonal(pool_X, n))) @ np.abs(C)
        size = min(max(BLOCK_NUMBERS // (n + p), 1), 256)
        for part in [] if kernel.has_device else row_blocks(p, size):
            assert problem.pool_X is not None
            rows, here, after = problem.pool_X[part], C[part], C[part.stop :]
            multiply(kernel.block(rows, slice(0, n)).T, here, values, add=True)
            square = kernel.block(rows, slice(n + part.start, n + p))
            inner = multiply(square[:, : len(here)], here, np.empty_like(here))
            outer = multiply(square[:, len(here) :], after, np.empty_like(here))
            gram += here.T @ inner + here.T @ outer + outer.T @ here
            reach += np.sqrt(np.abs(square.diagonal())) @ np.abs(here)
        means = np.zeros(q)
        if shares is not None:
            means = shares @ values
            values -= means
        return cls(values, means, gram, float(reach.max(initial=0.0) ** 2))


@dataclass(frozen=True, eq=False)
class Functions:
    """r functions of the space, which are combinations of representers of functionals.

    Parameters
    ----------
    on_rows : (n, r) array
        Coefficients on the training rows.
    on_pool : (q_pool, r) array
        Coefficients on the representers of the pool's functionals.
    values : (n, r) array
        Values on the training rows.
    basis : (q, r) array
        Take values of the functionals to inner products with these functions.
    """

    on_rows: FloatArray
    on_pool: FloatArray
    values: FloatArray
    basis: FloatArray

    def __len__(self) -> int:
        return int(self.basis.shape[1])

    @property
    def parts(self) -> tuple[FloatArray, ...]:
        """Arrays with one column for each function."""
        return self.on_rows, self.on_pool, self.values, self.basis

    def times(self, W: FloatArray) -> Functions:
        """Combinations of the functions, by the columns of W, (r, s)."""
        return Functions(self.on_rows @ W, self.on_pool @ W, self.values @ W, self.basis @ W)

    def minus(self, other: Functions) -> Functions:
        """The functions minus others, one by one."""
        return Functions(*(a - b for a, b in zip(self.parts, other.parts, strict=True)))

    def beside(self, other: Functions) -> Functions:
        """These functions and others, side by side."""
        return Functions(*map(np.hstack, zip(self.parts, other.parts, strict=True)))


@dataclass(frozen=True, eq=False)
class Representers:
    """Functions, orthonormal up to signs, that span the representers of all q functionals.

    Parameters
    ----------
    functions : Functions
        The r functions.
    held : (q, r) array
        Values of the functionals, of the training rows and then of the pool.
    signs : (r,) array
        ``⟨r_j, r_j⟩``: 1, or −1 for an indefinite kernel.
    n_dual : int
        How many of them, the first ones, live on training rows that count in the loss.
    """

    functions: Functions
    held: FloatArray
    signs: FloatArray
    n_dual: int

    @classmethod
    def compute(
        cls, problem: ConstrainedProblem, K: KernelMatrix, pool: PoolMoments
    ) -> Representers:
        """Orthonormalise the training rows' representers, and then the others against them.

        A functional on training rows some of which have weight zero in the loss counts with the
        others. What is left of another by less than `SAME` of its norm is the same condition.
        """
        q_rows, q_pool = problem.functionals.count, problem.pool.count
        C = problem.functionals.dense()
        KC = K.times(C) if q_rows else C
        gram, cross = C.T @ KC, C.T @ pool.values
        size = float(np.max(np.sqrt(np.abs(K.diagonal)) @ np.abs(C), initial=0.0) ** 2)
        unit = np.eye(q_rows + q_pool)
        first = Functions(C, np.zeros((q_pool, q_rows)), KC, unit[:, :q_rows])
        others = Functions(
            np.zeros((len(C), q_pool)), np.eye(q_pool), pool.values, unit[:, q_rows:]
        )
        if problem.weights is not None and problem.functionals.touches(problem.weights == 0):
            others, first = first.beside(others), first.times(np.zeros((q_rows, 0)))
            W, more = _basis(
                problem, np.block([[gram, cross], [cross.T, pool.gram]]), size + pool.size
            )
            signs = np.zeros(0)
            scale = np.zeros(0)
        else:
            W, signs = _basis(problem, gram, size)
            first, scale = first.times(W), (W**2).sum(axis=0)
            W, more = pool.gram, np.zeros(0)
            if q_pool:
                W, more = _basis(problem, pool.gram, pool.size)
        if not len(more):
            held, r = C.T @ first.values, len(signs)
            return cls(first, np.vstack([held, np.zeros((q_pool, r))]), signs, r)
        others = others.times(W)
        seen = signs[:, None] * (first.on_rows.T @ others.values)
        # inner products of all functionals have the same rounding error, before they are scaled
        rounding = 10 * np.finfo(float).eps * (size + pool.size)
        noise = np.diag((W**2).sum(axis=0)) + (seen.T * scale) @ seen
        W, more = _rest(np.diag(more) - (seen.T * signs) @ seen, rounding * noise)
        functions = first.beside(others.minus(first.times(seen)).times(W))
        on_pool = pool.values.T @ functions.on_rows + pool.gram @ functions.on_pool
        held = np.vstack([C.T @ functions.values, on_pool])
        return cls(functions, held, np.concatenate([signs, more]), len(first))

    def inner_products(self, targets: FloatArray) -> FloatArray:
        """What the inner products have to be for the functionals to meet targets, (q, m): (r, m).

        Where no function of the space meets them all, those of least squared distance are met.
        """
        if not targets.any():
            return np.zeros((len(self.signs), targets.shape[1]))
        found = np.linalg.lstsq(self.held, targets, rcond=None)[0]
        return np.asarray(self.signs[:, None] * found)

    def meet(self, wanted: FloatArray, on_rows: FloatArray, on_pool: FloatArray) -> FloatArray:
        """Give functions the inner products `wanted`, (r, m), with the representers, in place.

        They have coefficients `on_rows`, (n, m), and `on_pool`, (q_pool, m). Returns how much of
        each representer was taken off: (r, m).
        """
        functions, held = self.functions, self.held[len(self.held) - len(on_pool) :]
        taken = np.zeros(wanted.shape)
        for _ in range(5):  # what rounding left of the last step is taken off in the next
            found = functions.values.T @ on_rows + held.T @ on_pool
            left = self.signs[:, None] * (found - wanted)
            on_rows -= functions.on_rows @ left
            on_pool -= functions.on_pool @ left
            taken += left
        return taken


def _basis(
    problem: ConstrainedProblem, gram: FloatArray, size: float
) -> tuple[FloatArray, FloatArray]:
    """Orthonormal combinations of functions with this Gram matrix, and the signs of their norms.

    Functionals that the space hardly sees can be made zero, but not be given a value.
    """
    have_values = problem.targets.any()
    require_finite(gram)
    cut = float(np.finfo(float).eps) * size
    if have_values:
        cut = max(cut, _FAINT**2 * float(np.abs(gram).max(initial=0.0)))
    return symmetric_basis(gram, cut)


def _rest(gram: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Orthonormal combinations of what is left of unit functions beside others, (r, s), and signs.

    `gram`, (r, r), are the inner products of what is left and `noise` their rounding.
    """
    require_finite(gram)
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    cut = np.maximum(SAME**2, np.einsum("ij,ik,kj->j", vectors, noise, vectors))
    keep = np.abs(values) > cut
    return vectors[:, keep] / np.sqrt(np.abs(values[keep])), np.sign(values[keep])
