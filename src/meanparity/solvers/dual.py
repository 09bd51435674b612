"""The dual problem: functions ``Σ c_i κ(·, x_i) + Σ_z e_z κ(·, z) + b`` on rows x and a pool z.

Orthonormal representers ``r_j`` of the functionals (the paper's eigenfunctions θ) make
``g ↦ g − Σ_j ⟨r_j, g⟩ r_j`` the paper's projection onto the functions that meet the constraint.
They are of two kinds:

* of functionals on training rows that count in the loss, ``r = Σ_i B_i κ(·, x_i)``. The constrained
  coefficients are ``c = A⁻¹(y − diag(1/u) B ν)`` with ``A = K + λ diag(1/u)``, so one factorisation
  and a few right-hand sides give the free and the constrained solution;
* of all others, such as those on a pool. The functions on which these vanish have the kernel
  ``κ(x, x') − Σ_j r_j(x) r_j(x')``, and on them the problem is of the first kind. The free solution
  follows from the same factorisation by the Woodbury identity.

With weights u, ``A⁻¹ = S (S K S + λI)⁻¹ S`` for ``S = diag(√u)``, so that rows of weight zero do
no harm. An unpenalised intercept is the same problem with the centred kernel and centred y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanparity._typing import FloatArray
from meanparity.kernels import BLOCK_NUMBERS, BoundKernel, gram
from meanparity.linalg import (
    Eigen,
    SymmetricFactor,
    SymmetricMatrix,
    multiply,
    require_memory,
    row_blocks,
)
from meanparity.solvers.matrix import KernelMatrix
from meanparity.solvers.representers import PoolMoments, Representers
from meanparity.solvers.solution import Fit, Pieces
from meanparity.solvers.task import Task


@dataclass(frozen=True, eq=False)
class Dual:
    """A task on kernel functions, with all that does not depend on the penalty.

    Parameters
    ----------
    kernel : BoundKernel
        The kernel, bound to the training rows followed by the pool.
    K : KernelMatrix
        Gram matrix, (n, n), stored or not: centred for an intercept, scaled by √u, deflated by the
        representers of the second kind.
    whole : Eigen or None
        Eigendecomposition of the matrix before it was deflated, if that was asked for.
    representers : Representers
        Of all functionals.
    pool : PoolMoments
        Of the pool's functionals.
    row_means : (n,) array or None
        Means of the rows of the Gram matrix before it was centred; None without an intercept.
    """

    kernel: BoundKernel
    K: KernelMatrix
    whole: Eigen | None
    representers: Representers
    pool: PoolMoments
    row_means: FloatArray | None

    @classmethod
    def prepare(
        cls,
        task: Task,
        kernel: BoundKernel,
        *,
        advice: str,
        spectral: bool,
        K: KernelMatrix | None = None,
    ) -> Dual:
        """Compute the kernel matrix and the representers.

        Parameters
        ----------
        task : Task
            What to solve.
        kernel : BoundKernel
            The kernel, bound to the training rows followed by the pool.
        advice : str
            What to do when the matrix does not fit into memory.
        spectral : bool
            Whether to decompose the matrix before it is deflated.
        K : KernelMatrix, optional
            The kernel matrix of the training rows, if it is not to be computed.
        """
        row_means = None
        K = gram(kernel, task.X, advice=advice) if K is None else K
        q = len(task.functionals) + len(task.pool)
        require_memory(
            10 * 8 * len(K) * q,
            what=f"A constraint of {q:,} conditions on {len(K):,} rows",
            advice="Use fewer groups.",
        )
        with np.errstate(over="ignore", invalid="ignore"):
            pool = PoolMoments.of(task, kernel)
        if task.fit_intercept:
            K, row_means = K.centre(task.shares)
        representers = Representers.of(task, K, pool)
        if task.root is not None:
            K = K.scale(task.root)
        whole, others = None, slice(representers.n_dual, None)
        if len(representers.signs[others]):
            whole = K.eigen() if spectral and isinstance(K, SymmetricMatrix) else None
            values = representers.functions.values[:, others]
            if task.root is not None:
                values = task.root[:, None] * values
            K = K.deflate(values, representers.signs[others])
        return cls(kernel, K, whole, representers, pool, row_means)

    def solve(
        self, task: Task, alpha: float, factor: SymmetricFactor, whole: SymmetricFactor | None
    ) -> Pieces:
        """The constrained and the free minimiser.

        Parameters
        ----------
        task : Task
            What to solve: the prepared task, or some outputs of it.
        alpha : float
            λ.
        factor : SymmetricFactor
            Factorisation of ``K + λI``, or a pseudo-inverse.
        whole : SymmetricFactor or None
            The same of the matrix before it was deflated; without it, the Woodbury identity.
        """
        r, m = self.representers, task.Y.shape[1]
        values, on_rows, on_pool = r.functions.values, r.functions.on_rows, r.functions.on_pool
        rows, others = slice(0, r.n_dual), slice(r.n_dual, None)
        root = np.ones((len(self.K), 1)) if task.root is None else task.root[:, None]
        target = r.inner_products(task.targets)
        signs = r.signs[others, None]

        centre = task.shares @ task.Y if task.fit_intercept else np.zeros(m)
        y, V = root * (task.Y - centre), root * values[:, others]
        # B is zero where the weight is
        B = on_rows[:, rows] / np.where(root > 0, root, 1.0)
        z, Z_B, Z_V = np.split(factor.solve(np.hstack([y, B, V])), [m, m + r.n_dual], axis=1)
        if whole is not None:
            free = whole.solve(y)
        else:
            free = z - Z_V @ np.linalg.solve(np.diag(r.signs[others]) + V.T @ Z_V, V.T @ z)

        fair, Z_B = root * (z - Z_V @ (signs * target[others])), root * Z_B
        seen = values[:, rows].T
        reduced = np.linalg.lstsq(seen @ Z_B, seen @ fair - target[rows], rcond=None)[0]
        fair -= Z_B @ reduced
        share = signs * (target[others] - values[:, others].T @ fair)
        fair += on_rows[:, others] @ share
        extra = on_pool[:, others] @ share
        held = r.held[len(task.functionals) :].T
        for _ in range(4):  # take off what rounding left, and then what it left of that
            left = r.signs[:, None] * (values.T @ fair + held @ extra - target)
            fair -= on_rows @ left
            extra -= on_pool @ left
        multipliers = r.functions.basis @ np.vstack([reduced, -alpha * share])

        coef = np.hstack([fair, root * free])
        extra = np.hstack([extra, np.zeros((len(task.pool), m))])
        intercept = np.tile(centre, 2)
        if self.row_means is not None:
            # 1ᵀc = 0 holds already up to rounding; this direction does not change the function
            coef -= np.outer(task.shares, coef.sum(axis=0))
            intercept -= self.row_means @ coef + self.pool.means @ extra
        return *self._fits(task, alpha, coef, extra, intercept), multipliers

    def _fits(
        self,
        task: Task,
        alpha: float,
        on_rows: FloatArray,
        on_pool: FloatArray,
        intercept: FloatArray,
    ) -> tuple[Fit, Fit]:
        """Both functions, with their values."""
        m = task.Y.shape[1]
        coef, pool = on_rows, np.zeros((0, 2 * m))
        if task.points is not None:
            coef = np.vstack([on_rows, task.pool.spread(on_pool)])
            pool = self.kernel.evaluate(task.points, coef) + intercept
        fitted = self._values(task, coef, on_pool) + intercept
        norm = np.sum(on_rows * (fitted - intercept), axis=0)
        norm += np.sum(on_pool * task.pool.apply(pool), axis=0)
        fits = []
        for part in (slice(0, m), slice(m, 2 * m)):
            objective = task.losses(fitted[:, part]) + alpha * norm[part]
            fits.append(
                Fit(coef[:, part], intercept[part], fitted[:, part], objective, pool[:, part])
            )
        return fits[0], fits[1]

    def _values(self, task: Task, coef: FloatArray, on_pool: FloatArray) -> FloatArray:
        """Values on the training rows, without the intercept: (n, 2m).

        Where the matrix is the kernel's own, it is multiplied; a centred matrix forgets what large
        kernel values do to the rounding of real predictions, so then the kernel is evaluated.
        """
        n = len(self.K)
        if self.row_means is None and task.root is None:
            others = slice(self.representers.n_dual, None)
            V = self.representers.functions.values[:, others]
            signs = self.representers.signs[others, None]
            return (
                self.K.times(coef[:n]) + V @ (signs * (V.T @ coef[:n])) + self.pool.values @ on_pool
            )
        return values_on_rows(self.kernel, task, coef)


def values_on_rows(kernel: BoundKernel, task: Task, coef: FloatArray) -> FloatArray:
    """Values on the training rows of functions with coefficients on these and the pool: (n, m)."""
    n = len(task.Y)
    values = kernel.evaluate(task.X, coef[:n], slice(0, n))
    for part in row_blocks(len(coef) - n, max(BLOCK_NUMBERS // n, 1)):
        assert task.points is not None
        block = kernel.block(task.points[part], slice(0, n))
        multiply(block.T, coef[n:][part], values, add=True)
    return values
