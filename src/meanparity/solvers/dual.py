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

from dataclasses import dataclass, replace

import numpy as np

from meanparity._typing import FloatArray
from meanparity.kernels.bound import gram
from meanparity.linalg.adjusted import AdjustedMatrix
from meanparity.linalg.memory import SMALL, require_memory
from meanparity.linalg.symmetric import Eigen, SymmetricFactor, SymmetricMatrix
from meanparity.solvers.problem import ConstrainedProblem, Ends, evaluated_solution
from meanparity.solvers.representers import KernelMatrix, PoolMoments, Representers
from meanparity.solvers.solution import Directions, Solution, SolverInfo

GRAM_ADVICE = (
    "Fit on fewer rows, pass solver='nystrom', or, if linear functions are enough, use "
    "ParityRidge, which needs no n × n matrix."
)


@dataclass(frozen=True, eq=False)
class Dual:
    """A problem on kernel functions, with everything that does not depend on the penalty.

    Parameters
    ----------
    problem : ConstrainedProblem
        The problem.
    K : KernelMatrix
        Gram matrix, (n, n), stored or not: centred for an intercept, scaled by √u, deflated by the
        representers of the second kind.
    whole : Eigen or None
        Eigendecomposition of the matrix before it was deflated, if that was asked for.
    representers : Representers
        Representers of all functionals.
    pool : PoolMoments
        Moments of the pool's functionals.
    row_means : (n,) array or None
        Means of the rows of the Gram matrix before it was centred; None without an intercept.
    """

    problem: ConstrainedProblem
    K: KernelMatrix
    whole: Eigen | None
    representers: Representers
    pool: PoolMoments
    row_means: FloatArray | None

    @classmethod
    def prepare(
        cls, problem: ConstrainedProblem, *, spectral: bool = False, K: KernelMatrix | None = None
    ) -> Dual:
        """Compute the kernel matrix and the representers.

        Parameters
        ----------
        problem : ConstrainedProblem
            What to solve.
        spectral : bool
            Whether to decompose the matrix before it is deflated.
        K : KernelMatrix, optional
            The kernel matrix of the training rows, if it is not to be computed.
        """
        row_means = None
        K = gram(problem.bound_kernel, problem.X, advice=GRAM_ADVICE) if K is None else K
        q = problem.functionals.count + problem.pool.count
        needed = 10 * 8 * len(problem.Y) * q
        if needed > SMALL:
            require_memory(
                needed,
                what=f"A constraint of {q:,} conditions on {len(problem.Y):,} rows",
                advice="Use fewer groups.",
            )
        with np.errstate(over="ignore", invalid="ignore"):
            shares = problem.shares if problem.fit_intercept else None
            pool = PoolMoments.compute(problem, shares)
        if shares is not None:
            K, row_means = K.centre(shares)
        representers = Representers.compute(problem, K, pool)
        root = problem.root
        if root is not None:
            K = K.scale(root)
        whole, others = None, slice(representers.n_dual, None)
        if len(representers.signs[others]):
            whole = K.eigen() if spectral and isinstance(K, SymmetricMatrix) else None
            values = representers.functions.values[:, others]
            K = K.deflate(
                values if root is None else root[:, None] * values, representers.signs[others]
            )
        return cls(problem, K, whole, representers, pool, row_means)

    def solve(
        self,
        problem: ConstrainedProblem,
        alpha: float,
        factor: SymmetricFactor,
        whole: SymmetricFactor | None = None,
    ) -> Ends:
        """The constrained and the free minimiser.

        Parameters
        ----------
        problem : ConstrainedProblem
            What to solve: the prepared problem, or a subset of its outputs.
        alpha : float
            λ.
        factor : SymmetricFactor
            Factorisation of ``K + λI``, or a pseudo-inverse.
        whole : SymmetricFactor or None
            The same for the matrix before it was deflated; without it, the Woodbury identity.
        """
        r, m = self.representers, problem.Y.shape[1]
        values, on_rows, on_pool = r.functions.values, r.functions.on_rows, r.functions.on_pool
        rows, others = slice(0, r.n_dual), slice(r.n_dual, None)
        root = np.ones((len(values), 1)) if problem.root is None else problem.root[:, None]
        target = r.inner_products(problem.targets)

        centre = problem.shares @ problem.Y if problem.fit_intercept else np.zeros(m)
        y, V = root * (problem.Y - centre), root * values[:, others]
        # B is zero where the weight is
        B = on_rows[:, rows] / np.where(root > 0, root, 1.0)
        z, Z_B, Z_V = np.split(factor.solve(np.hstack([y, B, V])), [m, m + r.n_dual], axis=1)

        fair, Z_fair = root * (z - Z_V @ (r.signs[others, None] * target[others])), root * Z_B
        seen = values[:, rows].T
        reduced = np.linalg.lstsq(seen @ Z_fair, seen @ fair - target[rows], rcond=None)[0]
        fair -= Z_fair @ reduced
        extra = np.zeros((len(on_pool), m))
        taken = r.meet(target, fair, extra)

        inner = np.diag(r.signs[others]) + V.T @ Z_V
        if V.shape[1]:  # (K + λI)⁻¹ of the whole matrix from that of the deflated one (Woodbury)
            z, Z_B = (Z - Z_V @ np.linalg.solve(inner, V.T @ Z) for Z in (z, Z_B))
        free = root * (z if whole is None else whole.solve(y))
        h_rows, h_pool, directions = root * Z_B, on_pool[:, rows], None
        multipliers = np.asarray(reduced, dtype=np.float64)
        if alpha > 0 and V.shape[1]:
            # (1/λ)(r − Σ_i c_i κ_i) for functionals that are not on training rows which count
            c = root * (Z_V @ np.linalg.solve(inner, np.diag(r.signs[others])))
            h_rows = np.hstack([h_rows, (on_rows[:, others] - c) / alpha])
            h_pool = np.hstack([h_pool, on_pool[:, others] / alpha])
            multipliers = np.vstack([multipliers, alpha * taken[others]])
        if alpha > 0 or not V.shape[1]:
            directions = self._directions(problem, h_rows, h_pool, multipliers)
        fair, fair_b = self._function(fair, extra, centre)
        free, free_b = self._function(free, np.zeros_like(extra), centre)
        return Ends(fair, free, fair_b, free_b, directions)

    def _directions(
        self,
        problem: ConstrainedProblem,
        on_rows: FloatArray,
        on_pool: FloatArray,
        multipliers: FloatArray,
    ) -> Directions:
        """The functions h with these coefficients, (n, r) and (q_pool, r), and multipliers."""
        r, q = self.representers, problem.functionals.count
        gram = r.functions.values.T @ on_rows + r.held[q:].T @ on_pool
        coef, intercept = self._function(on_rows, on_pool, np.zeros(on_rows.shape[1]))
        held = r.held @ (r.signs[:, None] * gram)
        gaps = np.vstack([problem.functionals.units @ held[:q], problem.pool.units @ held[q:]])
        return Directions(
            coef[None],
            intercept[None],
            (gram + gram.T)[None] / 2,
            gaps[None],
            multipliers,
            np.zeros(multipliers.shape[1], np.intp),
        )

    def _function(
        self, on_rows: FloatArray, on_pool: FloatArray, constant: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Coefficients on the training rows and the pool, and intercepts, of s functions.

        `on_rows`, (n, s), and `on_pool`, (q_pool, s), are coefficients of the centred kernel.
        """
        if self.row_means is not None:
            # 1ᵀc = 0 holds up to rounding already; this direction does not change the function
            on_rows = on_rows - np.outer(self.problem.shares, on_rows.sum(axis=0))
            constant = constant - (self.row_means @ on_rows + self.pool.means @ on_pool)
        if self.problem.pool_X is None:
            return on_rows, constant
        return np.vstack([on_rows, self.problem.pool.spread(on_pool)]), constant

    def solution(self, ends: Ends, info: SolverInfo, start: float) -> Solution:
        """Both functions, evaluated as predictions are; `start` is when the solver started."""
        problem, (coef, intercept) = self.problem, ends.with_directions
        n, own = len(problem.Y), None
        if isinstance(self.K, AdjustedMatrix):
            own = self.K.plain_times(np.ascontiguousarray(coef[:n]))
        elif self.row_means is None and problem.root is None:
            # The stored matrix is the kernel's own, but for what was deflated. (A centred one does
            # not show the rounding of predictions from large kernel values.)
            others = slice(self.representers.n_dual, None)
            V, signs = self.representers.functions.values[:, others], self.representers.signs
            own = self.K.times(coef[:n]) + V @ (signs[others, None] * (V.T @ coef[:n]))
        fitted, pool = evaluate(problem, coef, own)
        norms = np.sum(coef[:n] * fitted, axis=0) + np.sum(coef[n:] * pool, axis=0)
        fitted, pool = fitted + intercept, pool + intercept
        solution = evaluated_solution(
            problem, ends, problem.expansion, fitted, pool, norms, info, start
        )
        if problem.pool_X is None:
            return solution
        # a prediction adds products of coefficients with kernel values, each rounded on its own
        sizes = np.linalg.norm(ends.fair, axis=0) * problem.bound_kernel.diagonal(problem.X).max()
        return replace(solution, rounding=float(np.finfo(float).eps * sizes.max(initial=0.0)))


def evaluate(
    problem: ConstrainedProblem, coef: FloatArray, own: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Values of functions without intercept on the training rows, (n, s), and the pool, (p, s).

    Parameters
    ----------
    problem : ConstrainedProblem
        The rows and the kernel.
    coef : (n + p, s) array
        Coefficients on the training rows and on the pool.
    own : (n, s) array, optional
        What the training rows contribute to their own values, if it is known; overwritten.
    """
    n, kernel = len(problem.Y), problem.bound_kernel
    fitted = kernel.evaluate_own(problem.X, coef[:n]) if own is None else own
    if problem.pool_X is None:
        return fitted, fitted[:0]
    pool, fitted = kernel.evaluate_both(problem.pool_X, coef, coef[n:], fitted)
    return fitted, pool
