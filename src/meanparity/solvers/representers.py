"""Functionals as functions of the space: each is the inner product with its representer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanparity._typing import FloatArray
from meanparity.kernels import BoundKernel
from meanparity.linalg import SymmetricMatrix, multiply, row_blocks, symmetric_basis
from meanparity.solvers.task import FAINT, Task

_NUMBERS = 2**22  # kernel values of the pool held at a time (32 MiB)


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
        for part in row_blocks(p if q else 0, min(max(_NUMBERS // (n + p), 1), 256)):
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
class Representers:
    """r functions, orthonormal up to signs, that span the representers of all q functionals.

    Parameters
    ----------
    on_rows : (n, r) array
        Coefficients on the training rows.
    on_pool : (q_pool, r) array
        Coefficients on the representers of the pool's functionals.
    values : (n, r) array
        Values on the training rows.
    held : (q, r) array
        Values of the functionals, of the training rows and then of the pool.
    basis : (q, r) array
        Takes values of the functionals to inner products with these functions.
    signs : (r,) array
        ``⟨r_j, r_j⟩``: 1, or −1 for an indefinite kernel.
    n_dual : int
        How many of them, the first ones, live on training rows that count in the loss.
    """

    on_rows: FloatArray
    on_pool: FloatArray
    values: FloatArray
    held: FloatArray
    basis: FloatArray
    signs: FloatArray
    n_dual: int

    @classmethod
    def of(cls, task: Task, K: SymmetricMatrix, pool: PoolMoments) -> Representers:
        """Orthonormalise the training rows' representers, and then the others against them.

        A functional on training rows some of which have weight zero in the loss counts with the
        others.
        """
        q_rows, q_pool = len(task.functionals), len(task.pool)
        C = task.functionals.dense()
        KC = K.times(C) if q_rows else C
        E = C.T @ KC
        eps = np.finfo(float).eps
        size = float(np.max(np.sqrt(np.abs(K.diagonal)) @ np.abs(C), initial=0.0) ** 2)

        if task.weights is not None and task.functionals.touches(task.weights == 0):
            W, signs = np.zeros((q_rows, 0)), np.zeros(0)
            on_rows = np.hstack([C, np.zeros((len(C), q_pool))])
            on_pool = np.hstack([np.zeros((q_pool, q_rows)), np.eye(q_pool)])
            values = np.hstack([KC, pool.values])
            cross = C.T @ pool.values
            gram = np.block([[E, cross], [cross.T, pool.gram]])
            own = np.eye(q_rows + q_pool)
        else:
            W, signs = symmetric_basis(E, eps * size)
            on_rows, on_pool = np.zeros((len(C), q_pool)), np.eye(q_pool)
            values, gram = pool.values, pool.gram
            own = np.vstack([np.zeros((q_rows, q_pool)), np.eye(q_pool)])

        B, KB = C @ W, KC @ W
        first = np.vstack([W, np.zeros((q_pool, W.shape[1]))])
        seen = signs[:, None] * (B.T @ values)  # what the first ones have of the others
        rest = gram - (seen.T * signs) @ seen
        W, more = symmetric_basis(rest, eps * max(size, pool.size))
        on_rows, values = (on_rows - B @ seen) @ W, (values - KB @ seen) @ W
        own, on_pool = (own - first @ seen) @ W, on_pool @ W
        on_rows = np.hstack([B, on_rows])
        on_pool = np.hstack([np.zeros((q_pool, B.shape[1])), on_pool])
        values = np.hstack([KB, values])
        held = np.vstack([C.T @ values, pool.values.T @ on_rows + pool.gram @ on_pool])
        return cls(
            on_rows,
            on_pool,
            values,
            held,
            np.hstack([first, own]),
            np.concatenate([signs, more]),
            B.shape[1],
        )

    def inner_products(self, targets: FloatArray) -> FloatArray:
        """What the inner products have to be for the functionals to meet targets, (q, m): (r, m).

        Where no function of the space meets them all, those of least squared distance are met. A
        functional that the space hardly sees can be made zero, but not be given a value.
        """
        found = np.linalg.lstsq(self.held, targets, rcond=FAINT)[0]
        return np.asarray(self.signs[:, None] * found)
