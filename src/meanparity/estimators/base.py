"""What the estimators share: reading the input, storing the solution, predicting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import FloatArray
from meanparity.constraints import Functionals
from meanparity.estimators.problem import Problem, read_problem
from meanparity.estimators.reporting import Reporting
from meanparity.estimators.state import PlainState
from meanparity.estimators.training import read_features
from meanparity.estimators.warn import warn_of_reading, warn_of_result
from meanparity.path import Basis, Comparison, CurveSums, Tradeoff, check_unfairness
from meanparity.rows import Rows
from meanparity.solvers import Fit, Solution
from meanparity.sources import Table, row_hashes


@dataclass(frozen=True, eq=False)
class TableFunctions:
    """Functions of the rows of a table that looks like the one seen in fit."""

    table: Table
    functions: Basis

    def evaluate(self, X: Any, coef: FloatArray) -> FloatArray:
        """Values of the functions with coefficients coef, (p, m), at the rows of X: (n, m)."""
        return self.functions.evaluate(self.table.features(X), coef)

    def sensitive_features(self, X: Any) -> dict[str, Any]:
        """The sensitive columns in X, if the estimator said which they are."""
        if not self.table.sensitive:
            raise ValueError(
                "The groups of these rows are not known. Pass sensitive_features, as in fit."
            )
        return self.table.sensitive_values(X)


class ParityModel(PlainState):
    """Base of the estimators; subclasses solve."""

    # what says who is compared with whom goes wherever metadata are routed
    __metadata_request__fit: ClassVar = {
        "sensitive_features": True,
        "control_features": True,
        "pool": True,
    }

    _seen: NDArray[np.uint64] | None

    def _fit(
        self,
        X: Any,
        y: Any,
        solve: Callable[[Problem], tuple[Solution, Basis]],
        *,
        precomputed: bool = False,
        **people: Any,
    ) -> Problem:
        """Check the input, solve, and store what all estimators have in common."""
        unfairness = check_unfairness(self.unfairness)
        problem = read_problem(self, X, y, precomputed=precomputed, **people)
        with np.errstate(over="ignore", invalid="ignore"):  # refused by name below
            recognised = isinstance(self.continuous, str) and self.continuous == "auto"
            warn_of_reading(problem, recognised, self.min_group_size)
            solution, functions = solve(problem)
        task, ends = problem.task, (solution.fair.fitted, solution.free.fitted)
        comparison = Comparison(problem.rows.reading, problem.constraint, self.weight_scope)
        with np.errstate(over="ignore", invalid="ignore"):
            sums = CurveSums.of(task.Y, *ends, comparison, problem.rows, task.shares)
        seen = [task.X] if task.points is None else [task.X, task.points]
        self._keep(problem, solution, functions, sums, unfairness)
        self._seen = np.concatenate([row_hashes(rows) for rows in seen])
        return problem

    def _keep(
        self,
        problem: Problem,
        solution: Solution,
        functions: Basis,
        sums: CurveSums,
        unfairness: float,
    ) -> None:
        """Store a solution, and say what it leaves."""
        refuse_overflow(solution)
        task, rows = problem.task, problem.rows
        comparison = Comparison(rows.reading, problem.constraint, self.weight_scope)
        ends = solution.fair, solution.free
        gaps, left = self._gaps(ends, *problem.measured), self._left(problem, solution)
        # who is in the pool is nobody's business from here on
        none = np.zeros((0, task.Y.shape[1]))
        self.tradeoff_ = self._tradeoff(
            problem,
            replace(solution, fair=replace(ends[0], pool=none), free=replace(ends[1], pool=none)),
            TableFunctions(problem.table, functions),
            sums,
            gaps,
            comparison,
        )
        if self.max_gap is not None:
            unfairness = self.tradeoff_.for_gap(self.max_gap).unfairness
        refuse_nonsense(problem, left)
        self.unfairness_ = unfairness
        self.parity_residual_ = float(np.abs((1 - unfairness) * left).max(initial=0.0))
        warn_of_result(problem, solution, (1 - unfairness) * left)

        self._describe(problem, solution)
        self.solver_ = solution.info.solver
        self.solver_info_ = solution.info
        self._function = self.tradeoff_.at(unfairness)
        self._table, self._functions = problem.table, functions
        self.n_features_in_ = problem.table.n_columns
        if problem.table.names is None and hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # kernel values with training rows and pool have no names

    def _tradeoff(
        self,
        problem: Problem,
        solution: Solution,
        basis: TableFunctions,
        sums: CurveSums,
        gaps: FloatArray,
        comparison: Comparison,
    ) -> Tradeoff:
        """Everything between both ends."""
        return Tradeoff(solution, basis, sums, gaps, comparison, problem.single_output)

    def _compared(self, values: FloatArray) -> FloatArray:
        """What the constraint is about, (n, m), of values of the function."""
        return values

    def _left(self, problem: Problem, solution: Solution) -> FloatArray:
        """What the constrained end leaves of the constraint: (r, m)."""
        task = problem.task
        return np.asarray(self._gaps((solution.fair,), task.functionals, task.pool)[0])

    def _gaps(self, ends: tuple[Fit, ...], rows: Functionals, pool: Functionals) -> FloatArray:
        """Gaps of functions on the training rows and then on the pool: (e, r, m)."""
        m = ends[0].fitted.shape[1]
        pairs = [
            [
                part.gaps(self._compared(values)) if len(part) else np.zeros((0, m))
                for part, values in ((rows, fit.fitted), (pool, fit.pool))
            ]
            for fit in ends
        ]
        return np.stack([np.vstack(pair) for pair in pairs])

    def _describe(self, problem: Problem, solution: Solution) -> None:
        """Store what the constraint was about and what is left of its gaps."""
        task, rows, single = problem.task, problem.rows, problem.single_output
        fair, free, u = solution.fair, solution.free, self.unfairness_
        between = replace(
            fair,
            fitted=(1 - u) * fair.fitted + u * free.fitted,
            pool=(1 - u) * fair.pool + u * free.pool,
        )
        self.groups_ = rows.groups
        self.group_means_ = _group_means(rows, self._compared(between.fitted), single)
        self.pool_group_means_ = None
        if problem.pool is not None:
            values = self._compared(between.pool)
            self.pool_group_means_ = _group_means(problem.pool, values, single)
        self.implies_mean_parity_ = all(
            part.implies_mean_parity for part in (task.functionals, task.pool) if len(part)
        )
        self.continuous_ = rows.reading.continuous
        self.n_conditions_ = len(task.functionals) + len(task.pool)
        here, there = (part.labels for part in problem.measured)
        left = self._gaps((between,), *problem.measured)[0]
        left = left[:, 0] if single else left
        self.gaps_ = dict(zip(here, left[: len(here)].tolist(), strict=True))
        self.pool_gaps_ = dict(zip(there, left[len(here) :].tolist(), strict=True))
        self.unconstrained_strata_ = dict(task.functionals.unconstrained) | {
            f"{name} (pool)": count for name, count in task.pool.unconstrained
        }

    def _values(self, X: Any) -> FloatArray:
        """Values of the function at the rows of X: (n,), or (n, m) for several outputs."""
        check_is_fitted(self, "tradeoff_")
        features = read_features(self, self._table, X, reset=False)
        return replace(self._function, basis=self._functions).predict(features)

    def has_seen(self, X: Any) -> NDArray[np.bool_]:
        """Whether rows equal to those of X were there in fit, for training or in the pool: (n,).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows, with the columns that were there in fit.
        """
        check_is_fitted(self)
        if self._seen is None:
            raise ValueError(
                f"This {type(self).__name__} was fitted to sums over rows, and does not know the "
                "rows. To certify its gaps, pass unseen=True if none of X was among them."
            )
        found: NDArray[np.bool_] = np.isin(row_hashes(self._table.features(X)), self._seen)
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class ParityRegressor(Reporting, MultiOutputMixin, RegressorMixin, ParityModel):  # type: ignore[misc]
    """Base of the ridge estimators."""

    def predict(self, X: Any) -> FloatArray:
        """Predictions for the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows, with the columns that were there in fit; those that `drop_sensitive` takes out
            may be missing.

        Returns
        -------
        (n,) array, or (n, m) for several outputs
        """
        return self._values(X)


def _group_means(rows: Rows, fitted: FloatArray, single_output: bool) -> dict[Any, Any]:
    """Mean prediction of each group that has any weight."""
    if rows.groups is None:
        return {}
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    heavy = rows.groups.sums(weights) > 0
    with np.errstate(invalid="ignore"):
        means = rows.groups.means(fitted, weights)
    means = means[:, 0] if single_output else means
    pairs = zip(rows.groups.keys, means.tolist(), heavy, strict=True)
    return {key: mean for key, mean, there in pairs if there}


def refuse_nonsense(problem: Problem, gaps: FloatArray) -> None:
    """Refuse gaps, (r, m), of the size of y's own spread where there should be none at all."""
    if problem.task.targets.any():
        return  # not all targets can be met, and a warning says so
    limit = 0.01 * problem.spread + 1e-6 * np.abs(problem.task.Y).max()
    if np.any(np.abs(gaps).max(axis=0, initial=0.0) > limit):
        raise ValueError(
            f"The constraint cannot be met in floating point: a gap of {np.abs(gaps).max():.3g} is "
            "left. Kernel values of very unlike size drown what it is about: scale the features, "
            "for instance with StandardScaler, or raise alpha."
        )


def refuse_overflow(solution: Solution) -> None:
    """Refuse what is not finite."""
    numbers = (solution.info.residual, solution.fair.objective, solution.free.objective)
    if not all(np.isfinite(value).all() for value in numbers):
        raise ValueError(
            "The fit overflows: squares of the numbers in X or y are too large or too small for "
            "floating point. Scale the features and the target."
        )
