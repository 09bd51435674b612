"""Linear functions ``x ↦ xᵀθ + b``, from one pass over blocks of rows.

The normal equations of the sums are solved where they are well conditioned. Otherwise (λ = 0 above
all), an orthogonal factorisation of X is, which does not square its condition number.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from meanparity._typing import FloatArray
from meanparity.linalg.symmetric import row_blocks
from meanparity.solvers.features import LinearFeatures
from meanparity.solvers.normal import (
    SummedProblem,
    solve_moments,
    solve_sums,
    summed_solution,
)
from meanparity.solvers.orthogonal import (
    CentredRows,
    RidgePath,
    problem_directions,
    require_columns_fit,
)
from meanparity.solvers.problem import (
    ConstrainedProblem,
    Ends,
    Solver,
    evaluated_solution,
    solve_each_penalty,
)
from meanparity.solvers.solution import Directions, Solution, SolverInfo, no_columns
from meanparity.state import stored

_CONDITION = 1e6  # of the normal equations, above which they lose too many digits
_FINE = 1e-4  # share of the variance of y below which sums lose too many digits of the errors
_SMALL_PRODUCT = 2**18  # operations for which waking other threads of the BLAS does not pay
_FAR = 100.0  # distance of a column's mean from zero, in standard deviations, that costs digits


@stored("Primal")
class Primal(Solver):
    """One coefficient for each column, for linear functions: the cost is linear in the rows.

    See Also
    --------
    Dense : Kernels other than the linear one.

    Examples
    --------
    >>> from meanparity import ParityRidge, Primal
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> ParityRidge(solver=Primal()).fit(X, y, sensitive_features=s).solver_
    'primal'
    """

    name = "primal"
    exact = True

    def solve(self, problem: ConstrainedProblem, reason: str = "asked for") -> Solution:
        """The constrained and the free minimiser; `reason` is why this solver was chosen."""
        if not problem.kernel.is_linear:
            raise ValueError(
                "solver='primal' solves for one coefficient per column, which only the kernel "
                "'linear' has. Pass solver='auto', or kernel='linear'."
            )
        start, (n, d) = time.perf_counter(), problem.X.shape
        require_columns_fit(n, d)
        info = SolverInfo(self.name, reason, 0.0, 8 * d * d, 0.0)
        found = _from_sums(problem, info, start) if problem.alpha.all() else None
        if found is None:
            return evaluate_columns(problem, *_orthogonal(problem), info, start)
        fine = _FINE * found.variance <= np.diagonal(found.errors).T
        if problem.pool_X is None and fine.all():
            return found
        fair, free, basis = found.fair, found.free, found.basis
        assert isinstance(basis, LinearFeatures)
        ends = Ends(fair.coef, free.coef, fair.intercept, free.intercept, found.directions)
        return evaluate_columns(problem, ends, basis, info, start)

    def solve_sums(self, problem: SummedProblem, start: float) -> Solution:
        """The same from sums over rows."""
        return solve_sums(problem, start)


class ByColumns(Solver):
    """Another solver for linear functions, whose solution has one coefficient for each column.

    Parameters
    ----------
    solver : Solver
        The solver.
    """

    name = "primal"

    def __init__(self, solver: Solver) -> None:
        self.solver = solver

    def solve(self, problem: ConstrainedProblem) -> Solution:
        """The constrained and the free minimiser."""
        start, solution = time.perf_counter(), self.solver.solve(problem)
        basis: Any = getattr(solution, "basis", None)  # what is no solution is refused later
        if getattr(basis, "points", None) is None:  # not one coefficient for each row
            return solution
        as_columns: Any = getattr(basis, "as_columns", no_columns)
        fair, free, directions = solution.fair, solution.free, solution.directions
        columns = as_columns(fair.coef)
        if columns is None:
            return solution
        theta, origin = columns
        if directions is not None:
            coef = np.stack([as_columns(h)[0] for h in directions.coef])
            directions = replace(directions, coef=coef)
        ends = Ends(theta, as_columns(free.coef)[0], fair.intercept, free.intercept, directions)
        seconds, problem = solution.info.seconds, problem.in_double_precision()
        found = evaluate_columns(problem, ends, LinearFeatures(origin), solution.info, start)
        return replace(found, info=replace(found.info, seconds=seconds))


def evaluate_columns(
    problem: ConstrainedProblem, ends: Ends, basis: LinearFeatures, info: SolverInfo, start: float
) -> Solution:
    """A solution from coefficients of columns, evaluated as predictions are."""
    coef, intercept = ends.with_directions
    fitted, pool = np.empty((len(problem.Y), coef.shape[1])), np.zeros((0, coef.shape[1]))
    for part in row_blocks(len(fitted), max(_SMALL_PRODUCT // max(coef.size, 1), 1024)):
        fitted[part] = basis.evaluate(problem.X[part], coef)
    fitted += intercept
    if problem.pool_X is not None:
        pool = basis.evaluate(problem.pool_X, coef) + intercept
    norms = np.sum(coef**2, axis=0)
    return evaluated_solution(problem, ends, basis, fitted, pool, norms, info, start)


def _from_sums(problem: ConstrainedProblem, info: SolverInfo, start: float) -> Solution | None:
    """The solution of the normal equations; None if they are ill conditioned."""
    features = LinearFeatures.near(problem.X, centred=problem.fit_intercept)
    summed = SummedProblem.from_problem(problem, features)
    found = solve_moments(summed, worst=_CONDITION, eigenvalues=False)
    if found is None:
        return None
    solution = summed_solution(summed, found, info, start)
    if not features.origin.any():
        return solution
    moments = summed.moments
    spread = np.sqrt(np.maximum(moments.centred[0].diagonal(), 0.0) / moments.mass)
    return _about(solution, _basis(features.origin + moments.mean, spread, problem.fit_intercept))


def _about(solution: Solution, basis: LinearFeatures) -> Solution:
    """The same functions about another origin."""
    assert isinstance(solution.basis, LinearFeatures)
    shift, directions = basis.origin - solution.basis.origin, solution.directions
    fair, free = (
        replace(fit, intercept=fit.intercept + shift @ fit.coef)
        for fit in (solution.fair, solution.free)
    )
    if directions is not None:
        intercept = directions.intercept + np.einsum("p,apr->ar", shift, directions.coef)
        directions = replace(directions, intercept=intercept)
    reach = float((np.abs(shift) @ np.abs(fair.coef)).max(initial=0.0))
    rounding = solution.rounding + float(np.finfo(float).eps) * reach
    return replace(
        solution, fair=fair, free=free, basis=basis, directions=directions, rounding=rounding
    )


def _orthogonal(problem: ConstrainedProblem) -> tuple[Ends, LinearFeatures]:
    """The solution from singular values of X."""
    rows = CentredRows.from_problem(problem)
    Q, M, target = problem_directions(rows, problem)
    R, RY = rows.triangle()
    cut = rows.rounding(R)
    spread = np.sqrt(np.sum(R**2, axis=0) / len(problem.Y))
    basis = _basis(rows.x_mean, spread, problem.fit_intercept)
    shift = basis.origin - rows.x_mean

    def solve(part: ConstrainedProblem, alpha: float) -> Ends:
        at = np.flatnonzero(np.isin(problem.alpha, alpha))
        path = RidgePath.from_triangle(R, RY[:, at], Q, target[:, at], cut)
        fair, free = path.fair(np.array([alpha]))[0], path.free(np.array([alpha]))[0]
        fair -= Q @ (Q.T @ fair - target[:, at])
        found, directions = path.directions(alpha), None
        if found is not None:
            H, nu = found
            seen, q = M.T @ H, len(problem.functionals)
            gaps = [problem.functionals.units @ seen[:q], problem.pool.units @ seen[q:]]
            directions = Directions(
                H[None],
                (shift @ H)[None],
                (Q.T @ H)[None],
                np.vstack(gaps)[None],
                nu,
                np.zeros(len(at), np.intp),
            )
        y_mean = rows.y_mean[at]
        return Ends(fair, free, y_mean + shift @ fair, y_mean + shift @ free, directions)

    return solve_each_penalty(problem, solve), basis


def _basis(centre: FloatArray, spread: FloatArray, fit_intercept: bool) -> LinearFeatures:
    """Linear functions, about the centre of the rows where columns lie far from zero."""
    far = fit_intercept and bool(np.any((np.abs(centre) > _FAR * spread) & (spread > 0)))
    return LinearFeatures(centre if far else np.zeros_like(centre))
