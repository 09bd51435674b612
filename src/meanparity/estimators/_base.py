"""The way of every fit: read, state the problem, solve, store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from meanparity._documentation import Documented
from meanparity._typing import Features, FloatArray
from meanparity.constraints.base import Constraint, resolve_constraint
from meanparity.constraints.functionals import Functionals, check_functionals
from meanparity.data.features import FeatureLayout, features_to_predict
from meanparity.data.fit_input import (
    FitInput,
    InputOptions,
    check_alpha,
    check_dial,
    read_fit_input,
    read_pool,
)
from meanparity.data.groups import Cells
from meanparity.data.rows import Rows
from meanparity.estimators._messages import (
    check_rows_and_pool,
    describe_constant,
    is_categorical,
    is_constant,
    refuse_overflow,
    refuse_unmet,
    warn_about_idle_limit,
    warn_about_input,
    warn_about_result,
    warn_about_unseen,
)
from meanparity.estimators._price import Price, warn_about_cost
from meanparity.estimators._unseen import Parts, Unseen, pooled_function, promised_function
from meanparity.exceptions import warn
from meanparity.kernels.spec import AbstractKernel, Kernel, resolve_kernel
from meanparity.linalg.parallel import all_threads
from meanparity.solvers.problem import ConstrainedProblem, Solver, check_solution
from meanparity.solvers.solution import Basis, Solution, no_columns
from meanparity.tradeoff.curve import Comparison, CurveSums, StepSums
from meanparity.tradeoff.functions import FittedFunction, TableFunctions
from meanparity.tradeoff.tradeoff import Tradeoff

FUNCTION_ATTRIBUTES = ("coef_", "dual_coef_", "X_fit_", "intercept_")
COLUMNS = ("n_features_in_", "feature_names_in_")
PREDICTS_WITH = (*COLUMNS, "_function", "_loss", "classes_", "unfairness_", *FUNCTION_ATTRIBUTES)
FIT_METADATA = {"sensitive_features": True, "control_features": True, "pool": True}


_NOWHERE = Functionals.none(0)


class Means(NamedTuple):
    """Means of one function in the cells of the training rows and of the pool, and its gaps."""

    cells: tuple[FloatArray, FloatArray]  # both (k, m)
    gaps: FloatArray  # (R, m), of the functionals on the training rows and on the pool


class ParityEstimator(Documented, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators; subclasses say which solver, kernel and loss."""

    __metadata_request__fit: ClassVar = FIT_METADATA
    _warn_about_price: ClassVar[Callable[..., None]] = staticmethod(warn_about_cost)

    alpha: Any
    fit_intercept: bool
    unfairness: float
    max_gap: float | Mapping[str, float] | None
    confidence: float | None = None
    constraint: Any
    solver: Any
    sensitive_columns: Any
    drop_sensitive: bool
    _function: FittedFunction

    def _kernel(self) -> AbstractKernel:
        return Kernel("linear")

    def _options(self, constraint: Constraint) -> InputOptions:
        """How this estimator reads its input."""
        return InputOptions(
            type(self).__name__,
            self.sensitive_columns,
            self.drop_sensitive,
            constraint.continuous,
            constraint.intersectional,
            constraint.missing,
            constraint.weight_scope,
        )

    def _checked_constraint(self) -> Constraint:
        """The constraint; parameters that are wrong whatever the data are refused."""
        constraint = resolve_constraint(self.constraint)
        check_dial(
            self.unfairness, self.max_gap, self.fit_intercept, self.confidence, constraint.pooling
        )
        return constraint

    def _read(
        self,
        constraint: Constraint,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        control_features: Any,
        sample_weight: Any,
        pool: Any,
    ) -> FitInput:
        """The training set, and the pool if the constraint has to hold there."""
        options = self._options(constraint)
        data = read_fit_input(
            options,
            X,
            y,
            sensitive_features=sensitive_features,
            control_features=control_features,
            sample_weight=sample_weight,
        )
        people = check_rows_and_pool(constraint, data.rows, pool)
        if people is None:
            return data
        return read_pool(options, data, people, precomputed=self._kernel().is_precomputed)

    def _problem(self, constraint: Constraint, data: FitInput) -> ConstrainedProblem:
        """What to minimise, subject to what."""
        rows, m = data.rows, data.Y.shape[1]
        functionals, pool = conditions(constraint, data)
        problem = ConstrainedProblem(
            data.X,
            data.Y,
            check_alpha(self.alpha, m),
            functionals,
            bool(self.fit_intercept),
            self._kernel(),
            data.weights,
            names=data.layout.feature_names,
            cells=Cells(rows.codes, len(rows.cells), rows.weights),
        )
        if data.pool is None:
            return problem
        there = data.pool.rows
        return replace(
            problem,
            pool_X=data.pool.X,
            pool=pool,
            pool_cells=Cells(there.codes, len(there.cells), there.weights),
        )

    def _fit(
        self, solver: Solver, X: Any, y: Any, *, price: Price | None = None, **people: Any
    ) -> Solution:
        """Read, settle the constraint, state the problem, solve, store.

        A price that was measured on held-out rows is noted in place of that on the rows of fit.
        """
        constraint = self._checked_constraint()
        data = self._read(constraint, X, y, **people)
        return self._fit_input(solver, constraint.settle(data.rows), data, price)

    def _fit_input(
        self, solver: Solver, constraint: Constraint, data: FitInput, price: Price | None = None
    ) -> Solution:
        """The same for input that has been read, and a constraint that has been settled."""
        with all_threads():
            with np.errstate(over="ignore", invalid="ignore"):  # refused with a message below
                problem = self._problem(constraint, data)
                warn_about_input(constraint, data, problem.functionals, problem.pool)
                solution = solver.solve(problem)
                unseen = None
                if self.confidence is not None or constraint.pooling is not None:
                    unseen = Unseen.held_out(constraint, data, problem, solver)
            check_solution(solution, self.solver, problem.Y.shape[1])
            parts = problem.functionals, problem.pool
            self._store(constraint, data, parts, solution, problem, unseen, price)
        return solution

    def _store(
        self,
        constraint: Constraint,
        data: FitInput,
        parts: Parts,
        solution: Solution,
        problem: ConstrainedProblem | None = None,
        unseen: Unseen | None = None,
        price: Price | None = None,
    ) -> None:
        """Store the fitted attributes, and warn about what the fit leaves."""
        rows, single, (functionals, pool) = data.rows, data.single_output, parts
        between, comparison = _comparison(constraint, rows, functionals)
        labels, of_ends = (functionals.labels, pool.labels), solution.gaps
        refuse_overflow(solution)
        refuse_unmet(data, *parts, solution)
        ends = [self._means(data, parts, solution, u) for u in (0.0, 1.0)]
        tradeoff = self._tradeoff(comparison, between, data, parts, solution, problem)
        limits = None
        if unseen is not None and self.confidence is not None:
            limits, function = promised_function(
                self.max_gap, self.confidence, parts, tradeoff, unseen
            )
        elif unseen is not None:
            limits, function = pooled_function(constraint, parts, tradeoff, unseen)
        elif self.max_gap is not None:
            function = tradeoff.for_gap(self.max_gap)
        else:
            function = tradeoff.mixture(float(self.unfairness))
        u = function.unfairness
        closed = 1.0 if u is None else 1 - u
        warn_about_result(data, *parts, solution, closed)
        constant = ""
        if u == 0.0 and is_constant(data, solution):
            constant = describe_constant(data, *parts)
        if self.max_gap is not None and u == 1.0:
            warn_about_idle_limit(data, solution)

        if single and u is not None:
            self._warn_about_price(data, functionals, solution, u, constant, price)
        elif constant:
            warn(Price(0.0, 0.0).note(constant))
        if u in (0.0, 1.0):
            means, gaps = ends[int(u)], of_ends[int(u)]
        else:
            means = (
                self._means_off_dial(data, parts, solution, function)
                if u is None
                else self._means(data, parts, solution, u)
            )
            gaps = means.gaps
        residual, rounding = np.abs(solution.gaps[0]).max(initial=0.0), solution.rounding
        here, there = by_name(labels, gaps[:, 0] if single else gaps)
        of_groups, counts = rows.group_means(means.cells[0]), rows.group_counts
        of_pool = None if data.pool is None else data.pool.rows.group_means(means.cells[1])
        fitted = {
            "tradeoff_": tradeoff,
            "unfairness_": u,
            "parity_residual_": closed * max(float(residual), rounding),
            "gaps_": here,
            "pool_gaps_": there,
            "group_means_": _as_floats(of_groups, single),
            "pool_group_means_": None if of_pool is None else _as_floats(of_pool, single),
            "group_counts_": counts,
            "continuous_": rows.schema.continuous,
            "n_conditions_": functionals.count + pool.count,
            "implies_mean_parity_": all(part.implies_mean_parity for part in parts if part.count),
            "unconstrained_strata_": dict(functionals.unconstrained)
            | {f"{name} (pool)": count for name, count in pool.unconstrained},
            "solver_": solution.info.solver,
            "solver_info_": solution.info,
            "_function": function,
            **function_attributes(solution.basis, function.coef, function.intercept, single),
            **({} if limits is None else {"gap_limits_": limits}),
            **self._own_attributes(data, solution),
        }
        store_fitted(self, data.layout, fitted)

    def _own_attributes(self, data: FitInput, solution: Solution) -> dict[str, Any]:
        """The fitted attributes that only some estimators have."""
        return {}

    def _means(self, data: FitInput, parts: Parts, solution: Solution, u: float) -> Means:
        """Means and gaps of the function at a position of the dial."""
        fair, free = solution.fair, solution.free
        here = (1 - u) * fair.cell_means + u * free.cell_means
        there = (1 - u) * fair.pool_cell_means + u * free.pool_cell_means
        return Means((here, there), (1 - u) * solution.gaps[0] + u * solution.gaps[1])

    def _means_off_dial(
        self, data: FitInput, parts: Parts, solution: Solution, function: FittedFunction
    ) -> Means:
        """Means and gaps of ``g_free − Σ_k ν_k h_k``."""
        found, nu, free = solution.directions, function.multipliers, solution.free
        assert found is not None
        assert nu is not None
        which = found.penalty
        gaps = solution.gaps[1] - np.einsum("mkr,rm->km", found.gaps[which], nu)
        if found.cell_means is None or found.pool_cell_means is None:  # there are many directions
            here, there = values_on_rows(data, solution.basis, function)
            pool = data.pool
            of_pool = free.pool_cell_means if pool is None else pool.rows.cell_means(there)
            return Means((data.rows.cell_means(here), of_pool), gaps)
        steps = (
            np.einsum("mkr,rm->km", part[which], nu)
            for part in (found.cell_means, found.pool_cell_means)
        )
        means = free.cell_means - next(steps), free.pool_cell_means - next(steps)
        return Means(means, gaps)

    def _tradeoff(
        self,
        comparison: Comparison,
        between: Functionals,
        data: FitInput,
        parts: Parts,
        solution: Solution,
        problem: ConstrainedProblem | None,
    ) -> Tradeoff:
        """Everything between both ends; values of individual rows are not kept."""
        rows, ends = data.rows, (solution.fair, solution.free)
        if between is parts[0]:
            of_groups = solution.gaps[:, : len(between.labels)]
        else:
            assert rows.y is not None
            y, mass = rows.cell_means(rows.y), rows.mass[:, None]
            compared = [comparison.constraint.compared(fit.cell_means, y) for fit in ends]
            of_groups = np.stack([between.gaps_of_sums(mass * values) for values in compared])
        sums = CurveSums(solution.errors, solution.variance, of_groups)
        fair, free = (replace(fit, fitted=None, pool=None) for fit in ends)
        return Tradeoff(
            replace(solution, fair=fair, free=free),
            TableFunctions(data.layout, solution.basis),
            sums,
            solution.gaps,
            comparison,
            data.single_output,
            labels=(parts[0].labels, parts[1].labels),
            steps=_step_sums(data, between, between is parts[0], of_groups[1], solution),
        )

    def _values(self, X: Any) -> FloatArray:
        """Values of the function at the rows of X: (n,), or (n, m) for several outputs."""
        check_is_fitted(self, "unfairness_")
        function = self._function
        layout = function.basis.layout
        features = features_to_predict(self, layout, X)
        counts = getattr(self, "group_counts_", None)  # which minimal files do not have
        if layout.sensitive and not layout.drop_sensitive and is_categorical(counts):
            warn_about_unseen(layout, self.tradeoff_.comparison.schema, counts, X)
        with all_threads():
            values = function.basis.functions.evaluate(features, function.coef)
        values = values + function.intercept
        return values[:, 0] if function.single_output else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class KernelParameters:
    """An estimator with the parameters kernel, gamma, degree, coef0 and kernel_params."""

    kernel: str | Callable[..., Any] | AbstractKernel
    gamma: float | None
    degree: float
    coef0: float
    kernel_params: Mapping[str, Any] | None
    dual_coef_: FloatArray
    X_fit_: Features

    def _kernel(self) -> AbstractKernel:
        if isinstance(self.kernel, AbstractKernel) and self.gamma is not None:
            raise ValueError(
                f"gamma={self.gamma!r} is for named kernels, but kernel is {self.kernel!r}. Pass "
                "gamma to the kernel itself."
            )
        return self._with_parameters(self.kernel)

    def _with_parameters(self, kernel: Any) -> AbstractKernel:
        """Any kernel; a name or a function gets the kernel parameters of this estimator."""
        return resolve_kernel(
            kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            params=self.kernel_params,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        name = getattr(self.kernel, "kernel", self.kernel)
        tags.input_tags.pairwise = isinstance(name, str) and name == "precomputed"
        return tags


def store_fitted(model: Any, layout: FeatureLayout, fitted: dict[str, Any]) -> None:
    """Replace what an earlier fit stored: at once, after everything that can be refused."""
    columns: dict[str, Any] = {"n_features_in_": layout.n_columns}
    if layout.names is not None:
        columns["feature_names_in_"] = np.array(layout.names, dtype=object)
    for name in [name for name in vars(model) if name.endswith("_")]:
        delattr(model, name)
    vars(model).update(columns | fitted)


def conditions(constraint: Constraint, data: FitInput) -> Parts:
    """The functionals of a constraint on the training rows and on the pool."""
    name, (n, m) = type(constraint).__name__, data.Y.shape
    if constraint.parity_on == "pool":
        here = Functionals.none(n)
    else:
        here = constraint.functionals(data.rows)
        check_functionals(here, name, n, m)
    if data.pool is None:
        return here, _NOWHERE
    try:
        there = constraint.functionals(data.pool.rows)
        check_functionals(there, name, len(data.pool.rows.codes), m)
    except ValueError as error:
        raise ValueError(f"In the pool: {error}") from error
    return here, there


def _comparison(
    constraint: Constraint, rows: Rows, functionals: Functionals
) -> tuple[Functionals, Comparison]:
    """What compares the groups of the training rows, and how later rows are compared.

    The first are the functionals themselves, if these compare groups.
    """
    between = constraint.between_groups(rows, functionals if functionals.labels else None)
    if between is not functionals:  # compared by the means in cells
        of_cells = between.on_cells(rows.codes, len(rows.cells), rows.weights)
        if of_cells is None:
            raise ValueError(
                f"between_groups of {type(constraint).__name__} gives rows with equal sensitive "
                "and control values different weights, so it does not compare means of groups. "
                "Return weights that are the same, times the weight of the row, for all of them."
            )
        between = of_cells
    if rows.sizes is not None and np.allclose(rows.mass * rows.sizes.mean(), rows.sizes):
        rows = replace(rows, weights=None)  # sums over rows of equal weight
    return between, Comparison(rows.schema, constraint, constraint.describe(rows))


def values_on_rows(
    data: FitInput, basis: Basis, function: FittedFunction
) -> tuple[FloatArray, FloatArray]:
    """Values of a function on the training rows, (n, m), and on the pool, (p, m)."""
    here = basis.evaluate(data.X, function.coef) + function.intercept
    if data.pool is None:
        return here, here[:0]
    return here, basis.evaluate(data.pool.X, function.coef) + function.intercept


def _step_sums(
    data: FitInput, between: Functionals, own: bool, free: FloatArray, solution: Solution
) -> StepSums | None:
    """The sums of a frontier on the training rows, from free gaps, (R, m), and the directions.

    `own` says whether the gaps are those of the conditions themselves.
    """
    found = solution.directions
    if found is None or found.cell_means is None or found.errors is None:
        return None
    steps = found.gaps[:, : len(between.labels)]
    if not own:
        sums = data.rows.mass[:, None] * found.cell_means
        steps = np.stack([between.units @ (between.table.T @ part) for part in sums])
    return StepSums(found.errors, solution.variance, free, steps[found.penalty])


def by_name(
    labels: Sequence[tuple[str, ...]], gaps: FloatArray
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Gaps by name, on the training rows and on the pool."""
    (here, there), listed = labels, gaps.tolist()
    return (
        dict(zip(here, listed[: len(here)], strict=True)),
        dict(zip(there, listed[len(here) :], strict=True)),
    )


def _as_floats(means: dict[Any, FloatArray], single_output: bool) -> dict[Any, Any]:
    return {key: float(v[0]) if single_output else v.tolist() for key, v in means.items()}


def function_attributes(
    basis: Basis, coef: FloatArray, intercept: FloatArray, single_output: bool
) -> dict[str, Any]:
    """The attributes of a fitted function under the names that scikit-learn's users know.

    ``coef_`` for functions of columns, ``dual_coef_`` and ``X_fit_`` for kernel functions.
    """
    found: dict[str, Any] = {}
    points, columns = getattr(basis, "points", None), None
    if points is None or getattr(basis, "origin", None) is not None:
        columns = getattr(basis, "as_columns", no_columns)(coef)
    if columns is not None:
        theta, origin = columns
        intercept = intercept - origin @ theta
    if columns is not None and points is None:
        found["coef_"] = theta[:, 0] if single_output else theta.T
    else:
        found["dual_coef_"] = coef[:, 0] if single_output else coef
    if points is not None:
        found["X_fit_"] = points
    found["intercept_"] = float(intercept[0]) if single_output else intercept
    return found
