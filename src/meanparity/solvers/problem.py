"""The contract of all solvers: a `ConstrainedProblem` in, a `Solution` out."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from meanparity._documentation import Documented
from meanparity._typing import Features, FloatArray
from meanparity.constraints.functionals import Functionals
from meanparity.data.features import stack
from meanparity.data.groups import Cells, one_cell
from meanparity.kernels.bound import BoundKernel, KernelExpansion, check_gram
from meanparity.kernels.spec import AbstractKernel, Kernel
from meanparity.losses.base import Loss
from meanparity.losses.regression import Squared
from meanparity.solvers.solution import Basis, Directions, Fit, Solution, SolverInfo

if TYPE_CHECKING:
    from meanparity.linalg.device import Device

# A functional on the pool of which less than this share is left beside those on the training rows
# is the same condition: holding both would let the rounding of the features decide the fit.
SAME = 1e-6
_MANY_DIRECTIONS = 64  # more than these are not evaluated on the training rows

NO_FUNCTIONALS = Functionals.none(0)


@dataclass(frozen=True, eq=False, repr=False)
class ConstrainedProblem:
    """Minimise ``Σ_i u_i ℓ(y_i, g(x_i)) + λ‖g‖²`` subject to functionals on stated rows.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Training rows.
    Y : (n, m) array
        Targets.
    alpha : (m,) array
        λ of each output.
    functionals : Functionals
        What has to hold on the training rows; possibly nothing.
    fit_intercept : bool
        Whether a constant is fitted, without penalty.
    kernel : AbstractKernel
        The kernel whose function space g belongs to.
    weights : (n,) array or None
        u; all ones if None.
    pool_X : (p, d) array or sparse matrix, or None
        The rows of the pool.
    pool : Functionals
        What has to hold on the pool; possibly nothing.
    names : tuple of str or None
        Names of the columns of X, for kernels of named columns.
    cells, pool_cells : Cells
        The cells in which mean predictions are reported.
    loss : Loss
        ℓ; the squared error by default.
    on_response : bool
        Whether the functionals are about responses μ(g) instead of scores g.
    earlier : Solution or None
        A solution from which iterative solvers start.
    device : Device or None
        Where sums over kernel values are computed; None for the CPU.

    See Also
    --------
    Solver : Solves it.
    """

    X: Features
    Y: FloatArray
    alpha: FloatArray
    functionals: Functionals
    fit_intercept: bool
    kernel: AbstractKernel = field(default_factory=Kernel)
    weights: FloatArray | None = None
    pool_X: Features | None = None
    pool: Functionals = NO_FUNCTIONALS
    names: tuple[str, ...] | None = None
    cells: Cells | None = None
    pool_cells: Cells | None = None
    loss: Loss = field(default_factory=Squared)
    on_response: bool = False
    earlier: Solution | None = None
    device: Device | None = None

    @cached_property
    def origin(self) -> FloatArray | None:
        """What a linear kernel may subtract from all rows to save digits, (d,); None if nothing.

        With an intercept, the solution does not depend on it.
        """
        points = (self.X,) if self.pool_X is None else (self.X, self.pool_X)
        centred = self.kernel.is_linear and self.fit_intercept
        if not centred or any(sparse.issparse(part) for part in points):
            return None
        total = sum(part.sum(axis=0, dtype=float) for part in points)
        return total / sum(len(part) for part in points) if total.any() else None

    @cached_property
    def bound_kernel(self) -> BoundKernel:
        """The kernel, bound to the training rows followed by the pool."""
        if self.kernel.is_precomputed:
            check_gram(self.X)
        return self.expansion.bound

    @cached_property
    def expansion(self) -> KernelExpansion:
        """Kernel functions at the training rows followed by the pool."""
        if self.kernel.is_precomputed:
            return KernelExpansion(self.kernel, None, device=self.device)
        points = self.X if self.pool_X is None else stack(self.X, self.pool_X)
        return KernelExpansion(self.kernel, points, self.names, self.origin, self.device)

    def in_double_precision(self) -> ConstrainedProblem:
        """The same problem with features in double precision."""
        if self.X.dtype == np.float64:
            return self
        pool = None if self.pool_X is None else self.pool_X.astype(np.float64)
        return replace(self, X=self.X.astype(np.float64), pool_X=pool)

    def take_outputs(self, which: NDArray[Any]) -> ConstrainedProblem:
        """The same problem for a subset of the m outputs."""

        def take(functionals: Functionals) -> Functionals:
            if functionals.targets.shape[1] == 1:
                return functionals
            return replace(functionals, targets=functionals.targets[:, which].copy())

        return replace(
            self,
            Y=self.Y[:, which],
            alpha=self.alpha[which],
            functionals=take(self.functionals),
            pool=take(self.pool),
        )

    @cached_property
    def shares(self) -> FloatArray:
        """Share of each row in the loss, summing to one: (n,)."""
        n = len(self.Y)
        return np.full(n, 1 / n) if self.weights is None else self.weights / self.weights.sum()

    @property
    def prefers_columns(self) -> bool:
        """Whether linear functions are better solved for their columns than for their rows."""
        n, d = self.X.shape
        return self.kernel.is_linear and bool(n > d or not self.alpha.all())

    @cached_property
    def targets(self) -> FloatArray:
        """Targets of all functionals, on the training rows and then on the pool: (q, m)."""
        here, there = self.functionals, self.pool
        targets = np.empty((here.count + there.count, self.Y.shape[1]))
        targets[: here.count], targets[here.count :] = here.targets, there.targets
        return targets

    @cached_property
    def root(self) -> FloatArray | None:
        """Square roots of the weights, None if all are one: (n,)."""
        return None if self.weights is None else np.sqrt(self.weights)

    def gaps(
        self, fitted: FloatArray, pool: FloatArray, sums: FloatArray | None = None
    ) -> FloatArray:
        """Gaps of values on the training rows, (n, m), and on the pool, (p, m): (r, m).

        `sums`, (k, m), are those of the values in `cells`, if they are known.
        """
        here, cells = self.functionals, self.cells
        if sums is not None and cells is not None and here.codes is cells.codes:
            gaps = here.gaps_of_sums(sums)
        else:
            gaps = here.gaps(fitted)
        return gaps if self.pool_X is None else np.vstack([gaps, self.pool.gaps(pool)])


class Solver(Documented, BaseEstimator, ABC):  # type: ignore[misc]
    """A way of solving; its parameters follow scikit-learn's conventions.

    A solver that needs nothing but sums over rows also has a method ``solve_sums(problem, start)``,
    from a `SummedProblem` to a `Solution`; then files, Dask collections and batches can be fitted.
    A solver that approximates kernel functions by linear combinations of features also has a method
    ``feature_map(X, kernel, names)`` that returns the features, as `Nystrom` does; then
    cross-validation, sums over rows and other losses use them.

    Attributes
    ----------
    name : str
        Its name, in `solver_` and as a shortcut in estimators; by default that of the class, in
        lower case.
    any_loss : bool
        Whether it minimises the loss of the problem rather than the squared error alone, and
        returns `runs` and `norms`.
    exact : bool
        Whether it returns the minimisers of the squared error up to rounding (among the functions
        of its features, if it approximates), so that held-out predictions of cross-validation can
        be computed in closed form instead of by fits.

    See Also
    --------
    ConstrainedProblem : What it solves.
    Solution : What it returns.

    Examples
    --------
    >>> from meanparity import Dense
    >>> isinstance(Dense(), Solver), Dense().exact
    (True, True)
    """

    name: ClassVar[str]
    any_loss: ClassVar[bool] = False
    exact: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not hasattr(cls, "name"):
            cls.name = cls.__name__.lower()

    @abstractmethod
    def solve(self, problem: ConstrainedProblem) -> Solution:
        """The constrained and the free minimiser."""

    @property
    def takes_sums(self) -> bool:
        """Whether it can solve problems of which only sums over rows are known."""
        return hasattr(self, "solve_sums")


def check_solution(solution: Any, solver: Any, n_outputs: int) -> None:
    """Refuse what a solver, which may be a user's own, returned if it does not fit the problem."""
    if not isinstance(solution, Solution):
        raise TypeError(
            f"{solver}.solve returned {type(solution).__name__}. Return a Solution, as "
            "evaluated_solution makes them."
        )
    shapes = [fit.coef.shape for fit in (solution.fair, solution.free)]
    if any(shape[1:] != (n_outputs,) for shape in shapes):
        raise ValueError(
            f"{solver}.solve returned coefficients of shapes {shapes[0]} and {shapes[1]}. Return "
            f"one column for each output, of which y has {n_outputs}."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Ends:
    """Coefficients of the constrained and of the free minimiser, before they are evaluated.

    Parameters
    ----------
    fair, free : (p, m) arrays
        Coefficients.
    fair_intercept, free_intercept : (m,) arrays
        Constants.
    directions : Directions or None
        See `Solution`.

    See Also
    --------
    evaluated_solution : Takes them.
    """

    fair: FloatArray
    free: FloatArray
    fair_intercept: FloatArray
    free_intercept: FloatArray
    directions: Directions | None

    @property
    def both(self) -> tuple[FloatArray, FloatArray]:
        """Coefficients, (p, 2m), and constants, (2m,), of both."""
        coef = np.hstack([self.fair, self.free])
        return coef, np.concatenate([self.fair_intercept, self.free_intercept])

    @property
    def with_directions(self) -> tuple[FloatArray, FloatArray]:
        """The same, followed by the a·r directions unless they are many: (p, s) and (s,)."""
        (coef, intercept), found = self.both, self.directions
        if found is None or found.intercept.size > _MANY_DIRECTIONS:
            return coef, intercept
        return np.hstack([coef, *found.coef]), np.append(intercept, found.intercept)


def solve_each_penalty(
    problem: ConstrainedProblem, solve: Callable[[ConstrainedProblem, float], Ends]
) -> Ends:
    """Solve once for each distinct penalty, and put the outputs back in order.

    Parameters
    ----------
    problem : ConstrainedProblem
        What to solve.
    solve : callable
        ``solve(problem, penalty)`` for outputs that share a penalty.

    Returns
    -------
    Ends
        The coefficients of all outputs.

    See Also
    --------
    evaluated_solution : What to do with the ends.
    """
    penalties, which = np.unique(problem.alpha, return_inverse=True)
    if len(penalties) == 1:
        return solve(problem, float(penalties[0]))
    parts = [
        solve(problem.take_outputs(which == i), float(penalty))
        for i, penalty in enumerate(penalties)
    ]
    order = np.argsort(np.concatenate([np.flatnonzero(which == i) for i in range(len(penalties))]))

    def join(name: str) -> FloatArray:
        return np.concatenate([getattr(part, name) for part in parts], axis=-1)[..., order]

    ends = Ends(
        join("fair"),
        join("free"),
        join("fair_intercept"),
        join("free_intercept"),
        None,
    )
    found = [part.directions for part in parts if part.directions is not None]
    if len(found) < len(parts):
        return ends
    coef, intercept, gram, gaps = (
        np.concatenate([getattr(part, name) for part in found])
        for name in ("coef", "intercept", "gram", "gaps")
    )
    nu = np.concatenate([part.multipliers for part in found], axis=-1)[..., order]
    directions = Directions(coef, intercept, gram, gaps, nu, which.astype(np.intp))
    return replace(ends, directions=directions)


def evaluated_solution(
    problem: ConstrainedProblem,
    ends: Ends,
    basis: Basis,
    fitted: FloatArray,
    pool: FloatArray,
    norms: FloatArray,
    info: SolverInfo,
    start: float,
) -> Solution:
    """A solution from values on the training rows, (n, 2m), and on the pool, (p, 2m).

    `norms`, (2m,), are the squared norms of both functions; `start` is when the solver started.
    Values of directions may follow, as in `Ends.with_directions`.

    Returns
    -------
    Solution
        Both minimisers, with their gaps, errors and objectives.

    See Also
    --------
    solve_each_penalty : Calls a function once for each penalty.
    """
    (n, m), cells = problem.Y.shape, problem.cells or one_cell(len(problem.Y))
    sums = cells.sums(fitted)
    means, pool_means = cells.divide(sums), np.zeros((0, fitted.shape[1]))
    if problem.pool_X is not None:
        there = problem.pool_cells or one_cell(len(pool))
        pool_means = there.divide(there.sums(pool))
    both = means[:, 2 * m :], pool_means[:, 2 * m :]
    directions = _measured(problem, ends.directions, both, fitted)
    fitted, pool, sums = fitted[:, : 2 * m], pool[:, : 2 * m], sums[:, : 2 * m]
    errors, products = fitted.reshape(n, 2, m) - problem.Y[:, None, :], np.empty((2, 2, m))
    for output in range(m):
        pair = errors[:, :, output]
        weighted = pair if problem.weights is None else problem.weights[:, None] * pair
        products[:, :, output] = weighted.T @ pair
    total = float(n) if problem.weights is None else float(problem.weights.sum())
    products /= total
    fits = []
    for end, part in enumerate((slice(0, m), slice(m, 2 * m))):
        fits.append(
            Fit(
                (ends.fair, ends.free)[end],
                (ends.fair_intercept, ends.free_intercept)[end],
                total * products[end, end] + problem.alpha * norms[part],
                means[:, part],
                pool_means[:, part],
                fitted[:, part],
                pool[:, part],
            )
        )
    gaps = problem.gaps(fitted, pool, sums).reshape(-1, 2, m).transpose(1, 0, 2)
    info = replace(
        info,
        residual=float(np.abs(gaps[0]).max(initial=0.0)),
        seconds=time.perf_counter() - start,
    )
    variance = problem.Y.var(axis=0)
    if problem.weights is not None:
        variance = problem.shares @ (problem.Y - problem.shares @ problem.Y) ** 2
    return Solution(fits[0], fits[1], basis, gaps, products, variance, info, directions)


def _measured(
    problem: ConstrainedProblem,
    directions: Directions | None,
    means: tuple[FloatArray, FloatArray],
    values: FloatArray,
) -> Directions | None:
    """Directions with both means in cells, (k, a·r), and products of their values with errors.

    `values`, (n, 2m + a·r), are those of both ends and then theirs.
    """
    m, shares = problem.Y.shape[1], problem.shares
    if directions is None or values.shape[1] == 2 * m:
        return directions
    a, r = directions.intercept.shape
    h = values[:, 2 * m :]
    here, there = (part.reshape(-1, a, r).transpose(1, 0, 2) for part in means)
    errors = np.empty((m, 1 + r, 1 + r))
    for output, which in enumerate(directions.penalty):
        error = problem.Y[:, output] - values[:, m + output]
        both = np.column_stack([error, h[:, which * r : (which + 1) * r]])
        errors[output] = both.T @ (shares[:, None] * both)
    return replace(directions, cell_means=here, pool_cell_means=there, errors=errors)
