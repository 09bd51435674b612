"""Normal equations: solutions from sums over rows.

``θ = θ* − G⁻¹M (MᵀG⁻¹M)⁻¹ (Mᵀθ* − t)`` with ``G = Σuφφᵀ + λI`` of centred whitened features and
``M = Σ_cells (Σwφ) T``. The constraint is held in double precision on the features that predictions
use, whatever the precision of G.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from meanparity._typing import Features, FloatArray
from meanparity.constraints.functionals import Functionals
from meanparity.data.groups import Cells, one_cell
from meanparity.linalg.blas import NotPositiveDefiniteError
from meanparity.linalg.device import name_of
from meanparity.linalg.memory import require_memory
from meanparity.linalg.symmetric import SymmetricMatrix, row_blocks
from meanparity.solvers.features import FeatureMap
from meanparity.solvers.orthogonal import RidgePath, constrained_directions
from meanparity.solvers.problem import ConstrainedProblem
from meanparity.solvers.solution import Directions, Fit, Solution, SolverInfo
from meanparity.solvers.sums import AT_ONCE, CellSums, LossSums, sum_cells, sum_rows

_CONDITION = 1e12  # of the normal equations, above which eigenvalues show what is rounding
_FAINT = 1e-6  # directions below this share are not used to remove what rounding left


@dataclass(frozen=True, eq=False)
class Moments:
    """Means, and centred second moments, of whitened features and targets.

    Parameters
    ----------
    mass : float
        Sum of the weights.
    mean, y_mean : (p,) and (m,) arrays
        Means of ψ and of y.
    gram, cross : (r, r) and (r, m) arrays
        Those of the normal equations: centred for an intercept.
    centred : pair of arrays
        The same, always centred.
    variance : (m,) array
        Variance of y.
    """

    mass: float
    mean: FloatArray
    y_mean: FloatArray
    gram: FloatArray
    cross: FloatArray
    centred: tuple[FloatArray, FloatArray]
    variance: FloatArray

    @classmethod
    def from_sums(
        cls, loss: LossSums, features: FeatureMap, y_origin: FloatArray, fit_intercept: bool
    ) -> Moments:
        """Divide sums by the number of rows, and centre."""
        mean = loss.features / loss.mass
        y = loss.targets / loss.mass
        phi = loss.whitened / loss.mass  # which has the rounding of the gram matrix
        gram = loss.gram - loss.mass * np.outer(phi, phi)
        cross = _gather(features.whitening, loss.cross - np.outer(loss.features, y))
        variance = loss.squares / loss.mass - y**2
        sizes = loss.gram.diagonal()
        negative = (variance < -1e-6 * loss.squares / loss.mass).any()
        if negative or (sizes < -1e-6 * np.abs(sizes).max(initial=0.0)).any():
            raise ValueError(
                "The statistics have a negative variance: rows were subtracted that had never been "
                "added. Subtract only what was added."
            )
        variance = np.maximum(variance, 0.0)
        y_mean, centred = y + y_origin, (gram, cross)
        if not fit_intercept:
            gram = gram + loss.mass * np.outer(phi, phi)
            cross = cross + loss.mass * np.outer(phi, y_mean)
        return cls(loss.mass, mean, y_mean, gram, cross, centred, variance)

    @property
    def units(self) -> FloatArray:
        """Sizes of the features: (r, 1)."""
        sizes = np.sqrt(np.maximum(self.gram.diagonal(), 0.0))
        return np.where(sizes > 0, sizes, 1.0)[:, None]

    def covariances(self, theta: FloatArray, of_y: FloatArray, output: int) -> FloatArray:
        """Covariances of ``of_y·y + φᵀθ`` for functions with coefficients (r, s) and (s,)."""
        gram, cross = self.centred
        mixed = np.outer(of_y, cross[:, output] @ theta)
        with_features = theta.T @ gram @ theta + mixed + mixed.T
        return np.asarray(with_features / self.mass + self.variance[output] * np.outer(of_y, of_y))

    def products(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Covariance of the errors of two functions with coefficients θ, (r, m): (m,)."""
        gram, cross = self.centred
        quadratic = np.einsum("ij,ij->j", first, gram @ second)
        mixed = np.einsum("ij,ij->j", first + second, cross)
        return np.asarray((quadratic - mixed) / self.mass + self.variance)


@dataclass(frozen=True, eq=False)
class Held:
    """What has to hold, in terms of features.

    Parameters
    ----------
    moments : (p, q) array
        ``Σ_i (ψ_i − mean) C_i`` of the q functionals.
    functionals : Functionals
        The functionals.
    """

    moments: FloatArray
    functionals: Functionals


@dataclass(frozen=True, eq=False)
class SummedProblem:
    """A constrained problem in terms of sums over rows; the rows are not needed any more.

    Parameters
    ----------
    features : FeatureMap
        The features whose combinations are the functions.
    moments : Moments
        Of features and targets over all rows.
    held : tuple of Held
        Conditions on the training rows, and on the pool if there is one.
    alpha : (m,) array
        λ of each output.
    fit_intercept : bool
        Whether a constant is fitted, without penalty.
    cells, pool_cells : CellSums
        Sums in the cells of the training rows and of the pool, None without a pool.
    """

    features: FeatureMap
    moments: Moments
    held: tuple[Held, ...]
    alpha: FloatArray
    fit_intercept: bool
    cells: CellSums
    pool_cells: CellSums | None = None

    @classmethod
    def from_problem(cls, problem: ConstrainedProblem, features: FeatureMap) -> SummedProblem:
        """Sum over the rows of a problem, in one pass."""
        y_origin = np.zeros(problem.Y.shape[1])
        if problem.fit_intercept:
            y_origin = problem.Y.mean(axis=0)
        cells = problem.cells or one_cell(len(problem.Y))
        loss, in_cells = sum_rows(features, problem.X, problem.Y - y_origin, cells, problem.weights)
        moments = Moments.from_sums(loss, features, y_origin, problem.fit_intercept)
        held = [_held(problem.functionals, features, problem.X, cells, in_cells, moments.mean)]
        in_pool_cells = None
        if problem.pool_X is not None:
            there = problem.pool_cells or one_cell(problem.pool_X.shape[0])
            in_pool_cells = sum_cells(features, problem.pool_X, there)
            held.append(
                _held(problem.pool, features, problem.pool_X, there, in_pool_cells, moments.mean)
            )
        return cls(
            features,
            moments,
            tuple(held),
            problem.alpha,
            problem.fit_intercept,
            in_cells,
            in_pool_cells,
        )


def _held(
    functionals: Functionals,
    features: FeatureMap,
    X: Features,
    cells: Cells,
    sums: CellSums,
    mean: FloatArray,
) -> Held:
    """Conditions in terms of features with a given mean, (p,), from sums in cells if possible."""
    if functionals.codes is cells.codes:  # one row of T for each cell
        centred = sums.mass[:, None] * (sums.means - mean)
        return Held(np.asarray((functionals.table.T @ centred).T), functionals)
    moments = np.zeros((features.width, len(functionals)))
    for rows in row_blocks(functionals.n_rows, max(AT_ONCE // features.width, 256)):
        moments += functionals.moments(features.raw(X[rows]) - mean, rows)
    return Held(moments, functionals)


@dataclass(frozen=True, eq=False)
class NormalSolution:
    """Minimisers in whitened coordinates.

    Parameters
    ----------
    fair, free : (r, m) arrays
        θ of the constrained and of the free minimiser.
    directions : Directions or None
        See `Solution`; coefficients are in terms of θ, and intercepts are left zero.
    """

    fair: FloatArray
    free: FloatArray
    directions: Directions | None


def solve_moments(
    problem: SummedProblem, *, worst: float, eigenvalues: bool
) -> NormalSolution | None:
    """Minimise ``Σ u (y − g)² + λ‖g‖²`` over combinations of the features, under conditions.

    Parameters
    ----------
    problem : SummedProblem
        What to solve.
    worst : float
        Condition number of the normal equations above which they are not used.
    eigenvalues : bool
        Whether eigenvalues are used then; otherwise the result is None.
    """
    moments, W, held = problem.moments, problem.features.whitening, problem.held
    r, m = moments.cross.shape
    scale = np.sqrt(np.maximum(moments.gram.diagonal(), 0.0) / moments.mass)
    # in units in which all columns have the same size, so that none swamps another
    units = moments.units if W is None else np.ones((r, 1))
    gram, cross = moments.gram / units / units.T, moments.cross / units
    seen = [
        (_gather(W, h.moments) / units, scale * np.sqrt(len(h.functionals.codes)) / units[:, 0])
        for h in held
    ]
    targets = np.vstack(
        [np.broadcast_to(h.functionals.targets, (h.functionals.count, m)) for h in held]
    )
    Q, target = constrained_directions(seen, targets)
    penalties, which = np.unique(problem.alpha, return_inverse=True)
    fair, free = np.empty((r, m)), np.empty((r, m))
    nu, H, M = np.empty((Q.shape[1], m)), [], []
    for i, penalty in enumerate(penalties):
        outputs = which == i
        A = gram + np.diag(penalty / units[:, 0] ** 2)
        part = _normal_equations(A, cross[:, outputs], Q, target[:, outputs], worst)
        if part is None and not eigenvalues:
            return None
        if part is None:
            part = _by_eigenvalues(A, cross[:, outputs], Q, target[:, outputs])
        fair[:, outputs], free[:, outputs] = part[:2]
        if part[2] is not None:
            h, nu[:, outputs] = part[2]
            H.append(h / units)
            M.append(Q.T @ h)
    fair -= Q @ (Q.T @ fair - target)
    whole = np.hstack([h.moments for h in held])  # on the features that predictions use
    q = held[0].functionals.count
    # targets that cannot all be met are a compromise between all conditions already
    parts = [slice(None)] if targets.any() else [slice(0, q), slice(q, None)]
    coef = _spread(W, fair / units)
    left = whole.T @ coef - targets
    if np.any(np.abs(left) > 4 * np.finfo(float).eps * (np.abs(whole).T @ np.abs(coef))):
        removal = _Removal.from_conditions((_gather(W, whole) / units).T @ Q, parts)
        step = removal.step(left)
        for _ in range(3):
            closer = fair - Q @ step
            next_step = removal.step(whole.T @ _spread(W, closer / units) - targets)
            if np.abs(next_step).max(initial=0.0) >= np.abs(step).max(initial=0.0):
                break  # the rest is rounding
            fair, step = closer, next_step
    directions = None
    if len(H) == len(penalties):
        gaps = [
            np.vstack([h.functionals.units @ (h.moments.T @ _spread(W, part)) for h in held])
            for part in H
        ]
        zero = np.zeros((len(H), Q.shape[1]))
        directions = Directions(
            np.stack(H), zero, np.stack(M), np.stack(gaps), nu, which.astype(np.intp)
        )
    return NormalSolution(fair / units, free / units, directions)


@dataclass(frozen=True, eq=False)
class _Removal:
    """Removes what rounding left of the conditions, by steps along Q.

    A condition on the pool that nearly repeats one on the training rows has no direction of its
    own, and must not pull the training rows away from theirs. So what is left on the training rows
    is removed first, and on the pool only along directions that the training rows do not see.

    Parameters
    ----------
    by_direction : (q, r) array
        What the q conditions see of each direction.
    stages : list of (slice, (r, k) array, (k, q_i) array)
        Conditions that are removed together, and the factors of the inverse of what they see.
    """

    by_direction: FloatArray
    stages: list[tuple[slice, FloatArray, FloatArray]]

    @classmethod
    def from_conditions(cls, by_direction: FloatArray, parts: list[slice]) -> _Removal:
        """Remove the conditions of the first part, then those of the next."""
        rest, stages = np.eye(by_direction.shape[1]), []
        cut = _FAINT * np.linalg.norm(by_direction, 2) if by_direction.size else 0.0
        for part in parts:
            left, sizes, right = np.linalg.svd(by_direction[part] @ rest, full_matrices=False)
            keep = sizes > cut
            stages.append((part, rest @ right[keep].T, left[:, keep].T / sizes[keep, None]))
            rest = rest @ np.linalg.qr(right[keep].T, mode="complete")[0][:, keep.sum() :]
        return cls(by_direction, stages)

    def step(self, left: FloatArray) -> FloatArray:
        """The step, (r, m), that removes what is left of the conditions, (q, m)."""
        step = np.zeros((self.by_direction.shape[1], left.shape[1]))
        for part, outer, inner in self.stages:
            step += outer @ (inner @ (left[part] - self.by_direction[part] @ step))
        return step


def _gather(W: FloatArray | None, sums: FloatArray) -> FloatArray:
    """``Wᵀ s``: sums over φ from sums over ψ, (p, m)."""
    return sums if W is None else W.T @ sums


def _spread(W: FloatArray | None, theta: FloatArray) -> FloatArray:
    """``W θ``: the coefficients of ψ of functions with coefficients θ of φ, (p, m)."""
    return theta if W is None else W @ theta


# both minimisers, and A⁻¹Q with the multipliers where there are any
Minimisers = tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray] | None]


def _normal_equations(
    A: FloatArray, cross: FloatArray, Q: FloatArray, target: FloatArray, worst: float
) -> Minimisers | None:
    """Both minimisers of ``θᵀAθ − 2 θᵀcross``, with and without ``Qᵀθ = target``.

    Also ``A⁻¹Q`` and the multipliers. None if the condition number of A is above `worst`.
    """
    m, norm = cross.shape[1], np.abs(A).sum(axis=0).max()
    try:
        factor = SymmetricMatrix.from_upper(A.copy()).cholesky(0.0)
    except NotPositiveDefiniteError:
        return None
    if factor.reciprocal_condition(norm) * worst < 1:
        return None
    Z = factor.solve(np.hstack([cross, Q]))
    free, H = Z[:, :m], Z[:, m:]
    nu = np.asarray(np.linalg.solve(Q.T @ H, Q.T @ free - target), dtype=float)
    return free - H @ nu, free, (H, nu)


def _by_eigenvalues(
    A: FloatArray, cross: FloatArray, Q: FloatArray, target: FloatArray
) -> Minimisers:
    """The same where Cholesky loses too many digits."""
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    s = np.sqrt(np.maximum(values, 0.0))
    cut = np.sqrt(100 * len(A) * np.finfo(float).eps) * s.max(initial=0.0)
    keep = s > cut
    R = s[keep, None] * vectors[:, keep].T
    path = RidgePath.from_triangle(R, vectors[:, keep].T @ cross / s[keep, None], Q, target, cut)
    none = np.zeros(1)
    return path.fair(none)[0], path.free(none)[0], path.directions(0.0)


def solve_sums(problem: SummedProblem, start: float, why: str = "") -> Solution:
    """A solution from sums alone: values are means of cells instead of values of rows.

    `start` is when the solver started, and `why` the reason for which it was chosen, if any.
    """
    name = "primal" if problem.features.whitening is None else "nystrom"
    rows = int(problem.cells.counts.sum())
    reason = f"sums over {rows:,} rows of {problem.features}{why}"
    info = SolverInfo(name, reason, 0.0, 8 * problem.features.width**2, 0.0)
    info = replace(info, device=name_of(problem.features.device))
    r = len(problem.moments.cross)
    require_memory(
        4 * 8 * r * r, what=f"Solving for {r:,} features", advice="Use fewer components."
    )
    found = solve_moments(problem, worst=_CONDITION, eigenvalues=True)
    assert found is not None
    return summed_solution(problem, found, info, start)


def summed_solution(
    problem: SummedProblem, found: NormalSolution, info: SolverInfo, start: float
) -> Solution:
    """A solution from both minimisers and sums over rows; `start` is when the solver started."""
    moments, W, held = problem.moments, problem.features.whitening, problem.held
    cells, pool_cells, m = problem.cells, problem.pool_cells, problem.moments.cross.shape[1]
    thetas, none = (found.fair, found.free), np.zeros((0, problem.features.width))
    here, there = cells.means, none if pool_cells is None else pool_cells.means
    coefs = [_spread(W, theta) for theta in thetas]
    intercepts = [np.zeros(m), np.zeros(m)]
    if problem.fit_intercept:
        intercepts = [moments.y_mean - moments.mean @ coef for coef in coefs]
    errors = [
        moments.mean @ coef + intercept - moments.y_mean
        for coef, intercept in zip(coefs, intercepts, strict=True)
    ]
    products = np.empty((2, 2, m))
    for a, b in ((0, 0), (0, 1), (1, 1)):
        covariance = moments.products(thetas[a], thetas[b])
        products[a, b] = products[b, a] = covariance + errors[a] * errors[b]
    fits = []
    for end, (coef, intercept) in enumerate(zip(coefs, intercepts, strict=True)):
        objective = moments.mass * products[end, end] + problem.alpha * np.sum(
            thetas[end] ** 2, axis=0
        )
        fits.append(
            Fit(coef, intercept, objective, here @ coef + intercept, there @ coef + intercept)
        )
    gaps = np.stack(
        [
            np.vstack(
                [h.functionals.units @ (h.moments.T @ f.coef - h.functionals.targets) for h in held]
            )
            for f in fits
        ]
    )
    directions = found.directions
    if directions is not None:
        coef = np.stack([_spread(W, theta) for theta in directions.coef])
        intercept = np.zeros(coef.shape[::2])
        if problem.fit_intercept:
            intercept = -np.einsum("p,apr->ar", moments.mean, coef)
        means = [part @ coef + intercept[:, None, :] for part in (here, there)]
        centre = np.einsum("p,apr->ar", moments.mean, coef) + intercept
        of_errors = np.empty((m, 1 + coef.shape[2], 1 + coef.shape[2]))
        for output, which in enumerate(directions.penalty):
            # y − g_free and h, as coefficients of y and of the features
            functions = np.column_stack([-thetas[1][:, output], directions.coef[which]])
            of_y = np.insert(np.zeros(coef.shape[2]), 0, 1.0)
            mean = np.insert(centre[which], 0, -errors[1][output])
            of_errors[output] = moments.covariances(functions, of_y, output) + np.outer(mean, mean)
        directions = replace(
            directions,
            coef=coef,
            intercept=intercept,
            cell_means=means[0],
            errors=of_errors,
            pool_cell_means=means[1],
        )
    reach = float((np.abs(np.vstack([here, there])) @ np.abs(coefs[0])).max(initial=0.0))
    info = replace(
        info,
        residual=float(np.abs(gaps[0]).max(initial=0.0)),
        seconds=time.perf_counter() - start,
    )
    return Solution(
        fits[0],
        fits[1],
        problem.features,
        gaps,
        products,
        moments.variance,
        info,
        directions,
        rounding=float(np.finfo(float).eps) * reach,
    )
