r"""Predictions for each row by the fit to all others, the constraint computed anew each time.

With weights u and shares r² of them, let ``H = U^{-1/2} (r rᵀ + Q diag(f) Qᵀ) U^{1/2}`` be the
matrix that takes targets to fitted values, ``f = s/(s + λ)`` for the eigenvalues s of the kernel
matrix, centred and scaled by the weights (without intercept there is no r and nothing is centred).
The fit under the constraint is that to ``v = y − Z T ν`` for cells Z, tables T, multipliers ν.
Without row i, a fit to v has the values

    ``(Hv)_j − H_ji e_i``  at j ≠ i,  ``v_i − e_i``  at i,  ``e_i = (v_i − (Hv)_i) / (1 − h_i)``,

so that the conditions on ν are q linear equations. Once the eigenvalues are there, every λ costs
O(n²(k + m) + n q³).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from meanparity._typing import FloatArray
from meanparity.constraints.left_out import LeftOut
from meanparity.groups import group_sums
from meanparity.linalg import SymmetricMatrix, row_blocks

_BLOCK = 512


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
    def of_kernel(
        cls, K: SymmetricMatrix, weights: FloatArray | None, fit_intercept: bool
    ) -> Smoother:
        """From the kernel matrix, (n, n), which is overwritten."""
        root, constant = _parts(len(K), weights, fit_intercept)
        eigen = centred_kernel(K, weights, fit_intercept).eigen()
        return cls(eigen.vectors, np.maximum(eigen.values, 0.0), root, constant)

    @classmethod
    def of_columns(cls, X: FloatArray, weights: FloatArray | None, fit_intercept: bool) -> Smoother:
        """From features, (n, d), of linear functions."""
        root, constant = _parts(len(X), weights, fit_intercept)
        X = centred_columns(X, weights, fit_intercept)
        Q, sizes, _ = np.linalg.svd(X, full_matrices=False)
        keep = sizes > len(X) * np.finfo(float).eps * sizes.max(initial=0.0)
        return cls(Q[:, keep], sizes[keep] ** 2, root, constant)

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


def centred_kernel(
    K: SymmetricMatrix, weights: FloatArray | None, fit_intercept: bool
) -> SymmetricMatrix:
    """The kernel matrix, which is overwritten, centred for an intercept and scaled by √u."""
    root, constant = _parts(len(K), weights, fit_intercept)
    if constant is not None:
        K, _ = K.centre(constant**2)
    return K if root is None else K.scale(root)


def centred_columns(X: FloatArray, weights: FloatArray | None, fit_intercept: bool) -> FloatArray:
    """Features, (n, d), centred for an intercept and scaled by √u."""
    root, constant = _parts(len(X), weights, fit_intercept)
    if constant is not None:
        X = X - constant**2 @ X
    return X if root is None else root[:, None] * X


def _parts(
    n: int, weights: FloatArray | None, fit_intercept: bool
) -> tuple[FloatArray | None, FloatArray | None]:
    root = None if weights is None else np.sqrt(weights)
    if not fit_intercept:
        return root, None
    return root, np.full(n, n**-0.5) if root is None else root / np.linalg.norm(root)


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """What does not depend on the penalty.

    Parameters
    ----------
    smoother : Smoother
        The matrix H.
    Y : (n, m) array
        Targets.
    left_out : LeftOut
        The conditions without each row.
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
        free = (H[:, :m] - h[:, None] * self.Y) / spare[:, None]
        fair = free.copy()
        k = self.left_out.n_cells
        sums = group_sums(self.left_out.codes, weights[:, None] * H, k)  # Zᵀ U H W
        totals = group_sums(self.left_out.codes, weights[:, None] * self.Y, k)  # Zᵀ U y
        for number, T in enumerate(self.left_out.tables):
            if not T.shape[1]:
                continue
            rows = np.flatnonzero(self.left_out.which == number)
            own = T[self.left_out.codes[rows]]  # T'z_i, (r, q)
            u = weights[rows, None]
            # Cᵀ of the fits to y and to the columns of Z T, without row i
            V = np.hstack([self.Y[rows], own])
            HV = np.hstack([H[rows, :m], H[rows, m:] @ T])
            error = (V - HV) / spare[rows, None]
            lever = u * (HV[:, m:] - h[rows, None] * own)
            values = (
                np.hstack([T.T @ sums[:, :m], T.T @ sums[:, m:] @ T])
                - (u * own)[:, :, None] * HV[:, None, :]
                - lever[:, :, None] * error[:, None, :]
            )
            wanted, gram = values[:, :, :m], values[:, :, m:]
            if self.left_out.of_errors:
                targets = T.T @ totals - (u * own)[:, :, None] * self.Y[rows][:, None, :]
                wanted = wanted - targets
            multipliers = _solve_each((gram + gram.transpose(0, 2, 1)) / 2, wanted)
            own_free = (HV[:, m:] - h[rows, None] * own) / spare[rows, None]
            fair[rows] -= np.einsum("rq,rqm->rm", own_free, multipliers)
        return fair, free


def _solve_each(gram: FloatArray, wanted: FloatArray) -> FloatArray:
    """Solve small systems (r, q, q) for (r, q, m); those that are singular for least norm."""
    sizes = np.einsum("rqq->rq", gram)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(sizes > 0, sizes**-0.5, 0.0)
    unit = scale[:, :, None] * gram * scale[:, None, :]
    # a determinant that is not small says that no direction is lost
    regular = np.abs(np.linalg.det(unit)) > 1e-6
    found = np.empty_like(wanted)
    found[regular] = np.linalg.solve(gram[regular], wanted[regular])
    rest = ~regular
    if rest.any():
        inverse = np.linalg.pinv(gram[rest], rcond=1e-10, hermitian=True)
        found[rest] = inverse @ wanted[rest]
    return found
