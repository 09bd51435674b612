"""The primal problem: linear functions ``x ↦ xᵀθ + b``, at a cost linear in the rows.

``θ = θ* − G⁻¹M (MᵀG⁻¹M)⁻¹ Mᵀθ*`` with ``G = XᵀX + λI`` and ``M = XᵀC`` when G is well
conditioned; otherwise (λ = 0 above all) an orthogonal factorisation of X, which does not square
its condition number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, onenormest

from meanparity._typing import Features, FloatArray
from meanparity.constraints import Functionals
from meanparity.exceptions import NotPositiveDefiniteError
from meanparity.groups import group_sums
from meanparity.linalg import SymmetricFactor, SymmetricMatrix, require_memory, row_blocks
from meanparity.solvers.solution import Fit, Pieces

_CONDITION = 1e6  # condition of G from which on the normal equations lose too many digits
_ADVICE = "Use fewer columns, or ParityKernelRidge, whose cost grows with the rows instead."


def solve_primal(
    X: Features,
    Y: FloatArray,
    functionals: Functionals,
    alpha: float,
    *,
    fit_intercept: bool,
) -> Pieces:
    """Minimise ``‖y − Xθ − b‖² + λ‖θ‖²`` subject to the functionals.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Features.
    Y : (n, m) array
        Targets.
    functionals : Functionals
        The q functionals ``Cᵀ g = t``.
    alpha : float
        λ. With 0 the solution of least norm.
    fit_intercept : bool
        Whether b is fitted, without penalty, or 0.

    Returns
    -------
    fair, free, multipliers
    """
    d = X.shape[1]
    require_memory(
        3 * 8 * d * min(d, X.shape[0]), what=f"Solving for {d:,} columns", advice=_ADVICE
    )
    rows = _CentredRows.of(X, Y, fit_intercept)
    M, size = rows.functional_moments(functionals)
    if not np.isfinite(size):
        raise ValueError("The squares of X are infinite. Scale the features.")
    left, sizes, right = np.linalg.svd(M, full_matrices=False)
    keep = sizes > 10 * np.finfo(float).eps * size
    Q = left[:, keep]  # directions of θ that the functionals see
    W = right[keep].T / sizes[keep]
    target = (W.T @ functionals.targets)[:, None]

    pair = _normal(rows, Q, target, alpha) if alpha > 0 else None
    fair, free = pair if pair is not None else _orthogonal(rows, Q, target, alpha)
    fair -= Q @ (Q.T @ fair - target)

    m = Y.shape[1]
    theta = np.hstack([fair, free])
    intercept = np.tile(rows.y_mean, 2) - rows.x_mean @ theta
    fitted = X @ theta + intercept
    residual = np.tile(Y, 2) - fitted
    objective = np.sum(residual**2, axis=0) + alpha * np.sum(theta**2, axis=0)
    # stationarity, Xᵀ(y − Xθ) − λθ = M ν, determines ν on the directions that M sees
    multipliers = W @ (Q.T @ (rows.moments(residual[:, :m]) - alpha * fair))
    fits = [
        Fit(theta[:, part], intercept[part], fitted[:, part], objective[part])
        for part in (slice(0, m), slice(m, 2 * m))
    ]
    return fits[0], fits[1], multipliers


def _normal(
    rows: _CentredRows, Q: FloatArray, target: FloatArray, alpha: float
) -> tuple[FloatArray, FloatArray] | None:
    """Both solutions from the normal equations, or None if those are ill conditioned."""
    m = len(rows.y_mean)
    G, XY = rows.gram()
    norm = np.abs(G).sum(axis=0).max() + alpha
    try:
        factor = SymmetricMatrix.from_upper(G).cholesky(alpha)
    except NotPositiveDefiniteError:
        return None
    if norm * _inverse_norm(factor, len(G)) > _CONDITION:
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
    rows: _CentredRows, Q: FloatArray, target: FloatArray, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """Both solutions from singular values of X, without and with the directions Q."""
    R, RY = rows.triangle()
    cut = np.linalg.norm(R) * max(*rows.X.shape, 50) * np.finfo(float).eps
    rest = np.linalg.qr(Q, mode="complete")[0][:, Q.shape[1] :]  # all that Q does not see
    particular = Q @ target
    fair = particular + rest @ _ridge(R @ rest, RY - R @ particular, alpha, cut)
    return fair, _ridge(R, RY, alpha, cut)


def _ridge(R: FloatArray, Y: FloatArray, alpha: float, cut: float) -> FloatArray:
    """Least-norm minimiser of ``‖Y − Rθ‖² + λ‖θ‖²``; singular values up to `cut` are rounding."""
    U, s, Vt = np.linalg.svd(R, full_matrices=False)
    keep = s > cut
    s, U, Vt = s[keep], U[:, keep], Vt[keep]
    theta: FloatArray = Vt.T @ ((s / (s**2 + alpha))[:, None] * (U.T @ Y))
    return theta


@dataclass(frozen=True, eq=False)
class _CentredRows:
    """X and Y less their means, read a block of rows at a time."""

    X: Features
    Y: FloatArray
    x_mean: FloatArray
    y_mean: FloatArray

    @classmethod
    def of(cls, X: Features, Y: FloatArray, centre: bool) -> _CentredRows:
        if not centre:
            return cls(X, Y, np.zeros(X.shape[1]), np.zeros(Y.shape[1]))
        return cls(X, Y, np.asarray(X.mean(axis=0)).ravel(), Y.mean(axis=0))

    def _blocks(self) -> list[slice]:
        d = max(self.X.shape[1], 1)
        return list(row_blocks(self.X.shape[0], max(2**21 // d, 256)))

    def _read(self, block: slice) -> FloatArray:
        X = self.X[block]
        X = X.toarray() if sparse.issparse(X) else X
        return X - self.x_mean if self.x_mean.any() else np.asarray(X)

    def functional_moments(self, functionals: Functionals) -> tuple[FloatArray, float]:
        """``XᵀC``, (d, q), of centred rows, and the Frobenius norm of X."""
        k = len(functionals.table)
        sums, square = np.zeros((k, self.X.shape[1])), 0.0
        for block in self._blocks():
            X = self._read(block)
            sums += group_sums(functionals.codes[block], X, k)
            square += float(np.vdot(X, X))
        return sums.T @ functionals.table, float(np.sqrt(square))

    def moments(self, values: FloatArray) -> FloatArray:
        """``Xᵀ values``, (d, m), of centred rows."""
        total = np.zeros((self.X.shape[1], values.shape[1]))
        for block in self._blocks():
            total += self._read(block).T @ values[block]
        return total

    def gram(self) -> tuple[FloatArray, FloatArray]:
        """``XᵀX``, (d, d), and ``XᵀY``, (d, m), of centred rows."""
        G, XY = np.zeros((self.X.shape[1],) * 2), np.zeros((self.X.shape[1], self.Y.shape[1]))
        for block in self._blocks():
            X = self._read(block)
            G += X.T @ X
            XY += X.T @ (self.Y[block] - self.y_mean)
        return G, XY

    def triangle(self) -> tuple[FloatArray, FloatArray]:
        """R with ``RᵀR = XᵀX`` and ``RᵀRY = XᵀY``, by orthogonal steps only."""
        d = self.X.shape[1]
        stack = np.empty((0, d + self.Y.shape[1]))
        for block in self._blocks():
            part = np.hstack([self._read(block), self.Y[block] - self.y_mean])
            stack = np.vstack([stack, part])
            if len(stack) > 2 * stack.shape[1]:
                stack = np.asarray(np.linalg.qr(stack, mode="r"))
        return stack[:, :d], stack[:, d:]
