"""Functionals as functions of the space: each is the inner product with its representer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanparity._typing import FloatArray
from meanparity.kernels import BLOCK_NUMBERS, BoundKernel
from meanparity.linalg import multiply, row_blocks, symmetric_basis
from meanparity.solvers.matrix import KernelMatrix
from meanparity.solvers.task import SAME, Task

_FAINT = 1e-6  # representers of less than this share of the largest norm are not given a value


@dataclass(frozen=True, eq=False)
class PoolMoments:
    """What the representers ``Σ_z C_z κ(·, z)`` of the pool's q functionals do.

    Parameters
    ----------
    values : (n, q) array
        Their values on the training rows, centred if there is an intercept.
    means : (q,) array
        What was taken off.
    gram : (q, q) array
        Their inner products.
    size : float
        What can cancel to nothing in the inner products.
    """

    values: FloatArray
    means: FloatArray
    gram: FloatArray
    size: float

    @classmethod
    def of(cls, task: Task, kernel: BoundKernel) -> PoolMoments:
        """Sum over kernel values between the pool and all points, a few rows at a time."""
        n, p, q = len(task.Y), task.pool.n_rows, len(task.pool)
        values, gram, reach = np.zeros((n, q)), np.zeros((q, q)), np.zeros(q)
        C = task.pool.dense()
        for part in row_blocks(p if q else 0, min(max(BLOCK_NUMBERS // (n + p), 1), 256)):
            assert task.points is not None
            rows, here, after = task.points[part], C[part], C[part.stop :]
            multiply(kernel.block(rows, slice(0, n)).T, here, values, add=True)
            square = kernel.block(rows, slice(n + part.start, n + p))
            inner = multiply(square[:, : len(here)], here, np.empty_like(here))
            outer = multiply(square[:, len(here) :], after, np.empty_like(here))
            gram += here.T @ inner + here.T @ outer + outer.T @ here
            reach += np.sqrt(np.abs(square.diagonal())) @ np.abs(here)
        means = np.zeros(q)
        if task.fit_intercept:
            means = task.shares @ values
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

    def times(self, W: FloatArray) -> Functions:
        """Combinations of the functions, by the columns of W, (r, s)."""
        return Functions(self.on_rows @ W, self.on_pool @ W, self.values @ W, self.basis @ W)

    def less(self, other: Functions) -> Functions:
        """The functions less others, one by one."""
        return Functions(
            self.on_rows - other.on_rows,
            self.on_pool - other.on_pool,
            self.values - other.values,
            self.basis - other.basis,
        )

    def beside(self, other: Functions) -> Functions:
        """These functions and others."""
        pairs = (
            (self.on_rows, other.on_rows),
            (self.on_pool, other.on_pool),
            (self.values, other.values),
            (self.basis, other.basis),
        )
        return Functions(*(np.hstack(pair) for pair in pairs))


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
    def of(cls, task: Task, K: KernelMatrix, pool: PoolMoments) -> Representers:
        """Orthonormalise the training rows' representers, and then the others against them.

        A functional on training rows some of which have weight zero in the loss counts with the
        others. What is left of another by less than `SAME` of its norm is the same condition.
        """
        q_rows, q_pool = len(task.functionals), len(task.pool)
        C = task.functionals.dense()
        KC = K.times(C) if q_rows else C
        gram, cross = C.T @ KC, C.T @ pool.values
        size = float(np.max(np.sqrt(np.abs(K.diagonal)) @ np.abs(C), initial=0.0) ** 2)
        unit = np.eye(q_rows + q_pool)
        first = Functions(C, np.zeros((q_pool, q_rows)), KC, unit[:, :q_rows])
        others = Functions(
            np.zeros((len(C), q_pool)), np.eye(q_pool), pool.values, unit[:, q_rows:]
        )
        if task.weights is not None and task.functionals.touches(task.weights == 0):
            others, first = first.beside(others), first.times(np.zeros((q_rows, 0)))
            W, more = _basis(
                task, np.block([[gram, cross], [cross.T, pool.gram]]), size + pool.size
            )
            signs = np.zeros(0)
            scale = np.zeros(0)
        else:
            W, signs = _basis(task, gram, size)
            first, scale = first.times(W), (W**2).sum(axis=0)
            W, more = _basis(task, pool.gram, pool.size)
        others = others.times(W)
        seen = signs[:, None] * (first.on_rows.T @ others.values)
        # rounding of the inner products is alike in all functionals, and grew with their scaling
        rounding = 10 * np.finfo(float).eps * (size + pool.size)
        noise = np.diag((W**2).sum(axis=0)) + (seen.T * scale) @ seen
        W, more = _rest(np.diag(more) - (seen.T * signs) @ seen, rounding * noise)
        functions = first.beside(others.less(first.times(seen)).times(W))
        on_pool = pool.values.T @ functions.on_rows + pool.gram @ functions.on_pool
        held = np.vstack([C.T @ functions.values, on_pool])
        return cls(functions, held, np.concatenate([signs, more]), len(first))

    def inner_products(self, targets: FloatArray) -> FloatArray:
        """What the inner products have to be for the functionals to meet targets, (q, m): (r, m).

        Where no function of the space meets them all, those of least squared distance are met.
        """
        found = np.linalg.lstsq(self.held, targets, rcond=None)[0]
        return np.asarray(self.signs[:, None] * found)


def _basis(task: Task, gram: FloatArray, size: float) -> tuple[FloatArray, FloatArray]:
    """Orthonormal combinations of functions with this Gram matrix, and the signs of their norms.

    Functionals that the space hardly sees can be made zero, but not be given a value.
    """
    cut = float(np.finfo(float).eps) * size
    if task.targets.any():
        cut = max(cut, _FAINT**2 * float(np.abs(gram).max(initial=0.0)))
    return symmetric_basis(gram, cut)


def _rest(gram: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Orthonormal combinations of what is left of unit functions beside others, (r, s), and signs.

    `gram`, (r, r), are the inner products of what is left and `noise` their rounding.
    """
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    cut = np.maximum(SAME**2, np.einsum("ij,ik,kj->j", vectors, noise, vectors))
    keep = np.abs(values) > cut
    return vectors[:, keep] / np.sqrt(np.abs(values[keep])), np.sign(values[keep])
