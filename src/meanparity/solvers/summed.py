"""Fits from sums over rows: the normal equations of linear combinations of features.

``θ = θ* − G⁻¹M (MᵀG⁻¹M)⁻¹ (Mᵀθ* − t)`` with ``G = Σuφφᵀ + λI`` of centred whitened features and
``M = Σ_cells (Σwφ) T``. What is held is held in double precision by the features that predictions
use, whatever the precision of G.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from meanparity._typing import FloatArray
from meanparity.constraints import Functionals
from meanparity.linalg import require_memory
from meanparity.solvers.features import LinearSpace
from meanparity.solvers.primal import RidgePath, directions_of, normal_equations
from meanparity.solvers.solution import Fit, Info, Solution
from meanparity.solvers.statistics import CellSums, Statistics

_FAINT = 1e-6  # directions of less than this share are not used to take off what rounding left
_CONDITION = 1e12  # of G + λI, from which on eigenvalues tell what is rounding


@dataclass(frozen=True, eq=False)
class Summed:
    """A solution from sums.

    Parameters
    ----------
    solution : Solution
        Both ends; their values are means of cells instead of values of rows.
    products : (2, 2, m) array
        Mean products of the errors of both ends.
    variance : (m,) array
        Variance of y.
    rounding : float
        How far real predictions may be from what sums say, because of large coefficients.
    """

    solution: Solution
    products: FloatArray
    variance: FloatArray
    rounding: float


def solve_sums(
    statistics: Statistics,
    functionals: Functionals,
    alpha: FloatArray,
    *,
    fit_intercept: bool,
    pool: CellSums | None = None,
    pool_functionals: Functionals | None = None,
    solver: str,
    reason: str,
) -> Summed:
    """Minimise ``Σ u (y − g)² + λ‖g‖²`` over combinations of the features.

    Parameters
    ----------
    statistics : Statistics
        Sums over all rows.
    functionals : Functionals
        What has to hold, of the cells as rows.
    alpha : (m,) array
        λ of each output.
    fit_intercept : bool
        Whether a constant is fitted, without penalty.
    pool, pool_functionals : CellSums and Functionals, optional
        Sums over a pool, and what has to hold there.
    solver, reason : str
        What to call it.
    """
    start = time.perf_counter()
    moments = _Moments.of(statistics, fit_intercept)
    r, m = moments.cross.shape
    require_memory(
        4 * 8 * r * r, what=f"Solving for {r:,} features", advice="Use fewer components."
    )
    there = Functionals.none(0) if pool_functionals is None else pool_functionals
    cells = [statistics.cells] if pool is None else [statistics.cells, pool]
    parts = [functionals] if pool is None else [functionals, there]
    raw = [
        part.moments(sums.means - moments.mean, slice(None))
        for part, sums in zip(parts, cells, strict=True)
    ]
    scale = np.sqrt(np.maximum(moments.gram.diagonal(), 0.0) / moments.mass)
    # in units in which columns are alike, so that none drowns another
    units = moments.units if isinstance(statistics.space, LinearSpace) else np.ones((r, 1))
    gram, cross = moments.gram / units / units.T, moments.cross / units
    both = [
        (statistics.space.gathered(M) / units, scale * np.sqrt(part.n_rows) / units[:, 0])
        for M, part in zip(raw, parts, strict=True)
    ]
    if pool is None:
        both.append((np.zeros((r, 0)), np.zeros(r)))
    targets = np.vstack([np.broadcast_to(p.targets, (len(p), m)) for p in (functionals, there)])
    fair, free = np.empty((r, m)), np.empty((r, m))
    Q, _, target = directions_of(both[0], both[1], targets)
    for value in np.unique(alpha):
        which = np.flatnonzero(alpha == value)
        pair = _solve(gram, cross[:, which], Q, target[:, which], value / units[:, 0] ** 2)
        fair[:, which], free[:, which] = pair
    fair -= Q @ (Q.T @ fair - target)
    held = np.hstack(raw)  # by the features that predictions use
    seen = (statistics.space.gathered(held) / units).T @ Q
    best = held.T @ statistics.space.spread(fair / units) - targets
    for _ in range(3):
        closer = fair - Q @ np.linalg.lstsq(seen, best, rcond=_FAINT)[0]
        left = held.T @ statistics.space.spread(closer / units) - targets
        if np.abs(left).max(initial=0.0) >= np.abs(best).max(initial=0.0):
            break  # the rest is rounding
        fair, best = closer, left
    fair, free = fair / units, free / units

    ends = [_fit(moments, statistics, pool, theta, fit_intercept, alpha) for theta in (fair, free)]
    errors = [moments.mean @ end.coef + end.intercept - moments.y_mean for end in ends]
    products = np.empty((2, 2, m))
    for a, first in enumerate((fair, free)):
        for b, second in enumerate((fair, free)):
            products[a, b] = moments.products(first, second) + errors[a] * errors[b]
    residual = max(
        float(np.abs(part.gaps(values)).max(initial=0.0))
        for part, values in zip(parts, (ends[0].fitted, ends[0].pool), strict=False)
    )
    info = Info(solver, reason, time.perf_counter() - start, 8 * r * r, residual)
    reach = max(float((np.abs(part.means) @ np.abs(ends[0].coef)).max()) for part in cells)
    rounding = float(np.finfo(float).eps) * reach
    solution = Solution(ends[0], ends[1], None, info)
    return Summed(solution, products, moments.variance, rounding)


@dataclass(frozen=True, eq=False)
class _Moments:
    """Means, and centred second moments, of whitened features and targets.

    `gram` and `cross` are those of the normal equations, centred for an intercept.
    """

    mass: float
    mean: FloatArray  # of ψ
    y_mean: FloatArray
    gram: FloatArray
    cross: FloatArray
    centred: tuple[FloatArray, FloatArray]
    variance: FloatArray

    @classmethod
    def of(cls, statistics: Statistics, fit_intercept: bool) -> _Moments:
        loss, space = statistics.loss, statistics.space
        mean = loss.features / loss.mass
        y = loss.targets / loss.mass
        phi = loss.whitened / loss.mass  # which has the rounding of the gram matrix
        gram = loss.gram - loss.mass * np.outer(phi, phi)
        cross = space.gathered(loss.cross - np.outer(loss.features, y))
        variance = loss.squares / loss.mass - y**2
        sizes = loss.gram.diagonal()
        negative = (variance < -1e-6 * loss.squares / loss.mass).any()
        if negative or (sizes < -1e-6 * np.abs(sizes).max(initial=0.0)).any():
            raise ValueError(
                "The statistics have a negative variance: rows were taken out that had never been "
                "added. Subtract only what was added."
            )
        variance = np.maximum(variance, 0.0)
        y_mean, centred = y + statistics.y_origin, (gram, cross)
        if not fit_intercept:
            gram = gram + loss.mass * np.outer(phi, phi)
            cross = cross + loss.mass * np.outer(phi, y_mean)
        return cls(loss.mass, mean, y_mean, gram, cross, centred, variance)

    @property
    def units(self) -> FloatArray:
        """Sizes of the features: (r, 1)."""
        sizes = np.sqrt(np.maximum(self.gram.diagonal(), 0.0))
        return np.where(sizes > 0, sizes, 1.0)[:, None]

    def products(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Covariance of the errors of two functions with coefficients θ, (r, m): (m,)."""
        gram, cross = self.centred
        quadratic = np.einsum("ij,ij->j", first, gram @ second)
        mixed = np.einsum("ij,ij->j", first + second, cross)
        return np.asarray((quadratic - mixed) / self.mass + self.variance)


def _fit(
    moments: _Moments,
    statistics: Statistics,
    pool: CellSums | None,
    theta: FloatArray,
    fit_intercept: bool,
    alpha: FloatArray,
) -> Fit:
    coef = statistics.space.spread(theta)
    intercept = moments.y_mean - moments.mean @ coef if fit_intercept else np.zeros(len(alpha))
    fitted, there = (
        np.zeros((0, len(alpha))) if cells is None else cells.means @ coef + intercept
        for cells in (statistics.cells, pool)
    )
    error = moments.mean @ coef + intercept - moments.y_mean
    loss = moments.mass * (moments.products(theta, theta) + error**2)
    return Fit(coef, intercept, fitted, loss + alpha * np.sum(theta**2, axis=0), there)


def _solve(
    G: FloatArray, cross: FloatArray, Q: FloatArray, target: FloatArray, penalty: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Both minimisers of ``θᵀ(G + diag(penalty))θ − 2 θᵀcross``.

    By Cholesky, or by eigenvalues where that loses too many digits.
    """
    A = G + np.diag(penalty)
    pair = normal_equations(A.copy(), cross, Q, target, 0.0, _CONDITION)
    if pair is not None:
        return pair
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    s = np.sqrt(np.maximum(values, 0.0))
    cut = np.sqrt(100 * len(A) * np.finfo(float).eps) * s.max(initial=0.0)
    keep = s > cut
    R = s[keep, None] * vectors[:, keep].T
    path = RidgePath.of(R, vectors[:, keep].T @ cross / s[keep, None], Q, target, cut)
    none = np.zeros(1)
    return path.fair(none)[0], path.free(none)[0]
