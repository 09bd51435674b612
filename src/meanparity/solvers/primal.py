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
from meanparity.solvers.normal import SummedProblem, solve_moments, solve_sums
from meanparity.solvers.orthogonal import (
    CentredRows,
    RidgePath,
    problem_directions,
    require_columns_fit,
)
from meanparity.solvers.problem import (
    ConstrainedProblem,
    Directions,
    Ends,
    Solution,
    Solver,
    SolverInfo,
    evaluated_solution,
    no_columns,
    solve_each_penalty,
)
from meanparity.state import stored

_CONDITION = 1e6  # of the normal equations, above which they lose too many digits
_SMALL_PRODUCT = 2**18  # operations for which waking other threads of the BLAS does not pay
_FAR = 100.0  # distance of a column's mean from zero, in standard deviations, that costs digits


@stored("Primal")
class Primal(Solver):
    """One coefficient for each column, for linear functions: the cost is linear in the rows."""

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
        found = _from_sums(problem) if problem.alpha.all() else None
        ends, basis = _orthogonal(problem) if found is None else found
        info = SolverInfo(self.name, reason, 0.0, 8 * d * d, 0.0)
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
    coef, intercept = ends.both
    fitted, pool = np.empty((len(problem.Y), coef.shape[1])), np.zeros((0, coef.shape[1]))
    for part in row_blocks(len(fitted), max(_SMALL_PRODUCT // max(coef.size, 1), 1024)):
        fitted[part] = basis.evaluate(problem.X[part], coef)
    fitted += intercept
    if problem.pool_X is not None:
        pool = basis.evaluate(problem.pool_X, coef) + intercept
    norms = np.sum(coef**2, axis=0)
    return evaluated_solution(problem, ends, basis, fitted, pool, norms, info, start)


def _from_sums(problem: ConstrainedProblem) -> tuple[Ends, LinearFeatures] | None:
    """The solution of the normal equations; None if they are ill conditioned."""
    features = LinearFeatures.near(problem.X, centred=problem.fit_intercept)
    summed = SummedProblem.from_problem(problem, features)
    moments, m = summed.moments, problem.Y.shape[1]
    found = solve_moments(summed, worst=_CONDITION, eigenvalues=False)
    if found is None:
        return None
    spread = np.sqrt(np.maximum(moments.centred[0].diagonal(), 0.0) / moments.mass)
    centre = features.origin + moments.mean
    basis = _basis(centre, spread, problem.fit_intercept)
    shift = basis.origin - centre if problem.fit_intercept else np.zeros_like(centre)
    y_mean = moments.y_mean if problem.fit_intercept else np.zeros(m)
    directions = found.directions
    if directions is not None:
        intercept = np.einsum("p,apr->ar", shift, directions.coef)
        directions = replace(directions, intercept=intercept)
    return (
        Ends(
            found.fair,
            found.free,
            y_mean + shift @ found.fair,
            y_mean + shift @ found.free,
            directions,
        ),
        basis,
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
