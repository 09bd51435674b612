"""The smallest corrections, in mean square, of given predictions f that give parity."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples

from meanparity._typing import FloatArray
from meanparity.constraints import MeanParity
from meanparity.constraints.base import Constraint, resolve_constraint
from meanparity.constraints.functionals import Functionals, check_functionals
from meanparity.data.features import FeatureLayout
from meanparity.data.fit_input import FitInput, InputOptions, read_fit_input
from meanparity.data.rows import Rows, Schema, refuse_identifier
from meanparity.estimators._base import by_name
from meanparity.estimators._messages import (
    describe_constant,
    is_constant,
    pool_to_hold_on,
    refuse_overflow,
    refuse_unused_control,
    warn_about_gaps,
    warn_about_groups,
    warn_about_input,
    warn_about_result,
)
from meanparity.estimators._price import price_of, warn_about_range
from meanparity.estimators.kernel_ridge import ParityKernelRidge
from meanparity.estimators.ridge import ParityRidge
from meanparity.exceptions import warn
from meanparity.solvers.features import LinearFeatures
from meanparity.solvers.problem import ConstrainedProblem, check_solution
from meanparity.solvers.solution import Basis, Solution
from meanparity.state import stored


@stored("Effect", any_number=("residual", "size"))
@dataclass(frozen=True, eq=False)
class Effect:
    """What a correction does to the gaps on the rows of fit and on the pool.

    Parameters
    ----------
    labels : tuple of str, tuple of str
        What each gap is about, on the rows of fit and on the pool.
    before, after : (r,) arrays
        All these gaps.
    residual : float
        Largest deviation from the constraint.
    size : float
        Root of the mean square of the correction.
    """

    labels: tuple[tuple[str, ...], tuple[str, ...]]
    before: FloatArray
    after: FloatArray
    residual: float
    size: float

    @classmethod
    def unknown(cls) -> Self:
        """An effect without numbers, for files that say nothing about the rows of fit."""
        return cls(((), ()), np.zeros(0), np.zeros(0), float("nan"), float("nan"))

    def gaps(self, unfairness: float) -> tuple[dict[str, float], dict[str, float]]:
        """Gaps at a position of the dial, on the rows of fit and on the pool."""
        return by_name(self.labels, (1 - unfairness) * self.after + unfairness * self.before)


def split_correction(correction: Any) -> tuple[Any, ParityRidge | ParityKernelRidge]:
    """Steps that turn the columns of X into numbers, or None, and the functions g of them."""
    if isinstance(correction, Pipeline) and len(correction.steps) > 1:
        return clone(correction[:-1]), check_space(correction[-1])
    return None, check_space(correction)


def check_space(correction: Any) -> ParityRidge | ParityKernelRidge:
    """An estimator that defines the functions g and the constraint: a copy, or the default."""
    if correction is None:
        return ParityRidge(alpha=0.0)
    if not isinstance(correction, ParityRidge | ParityKernelRidge):
        raise ValueError(
            f"correction={correction!r} is not known. Pass 'groups' or a constraint, which shift "
            "groups, or an object such as ParityRidge() or ParityKernelRidge(kernel='rbf'), or a "
            "pipeline that ends in one."
        )
    _refuse_pooling(correction.constraint)
    if correction.unfairness != 0 or correction.max_gap is not None:
        raise ValueError(
            f"correction has unfairness={correction.unfairness!r} and "
            f"max_gap={correction.max_gap!r}. The dial is ParityAdjusted(unfairness=...)."
        )
    if correction._kernel().is_precomputed:
        raise ValueError(
            "correction has kernel='precomputed', but the regressor reads features. Name a kernel."
        )
    if correction.sensitive_columns is not None:
        raise ValueError(
            f"correction has sensitive_columns={correction.sensitive_columns!r}. Pass them to "
            "ParityAdjusted, which reads X."
        )
    space: ParityRidge | ParityKernelRidge = clone(correction)
    return space


def shifts_groups(correction: Any) -> Constraint | None:
    """The constraint of a correction that shifts groups; None if it is a function of X."""
    if isinstance(correction, str) and correction == "groups":
        return MeanParity()
    if not isinstance(correction, Constraint):
        return None
    _refuse_pooling(correction)
    return resolve_constraint(clone(correction))


def _refuse_pooling(constraint: Any) -> None:
    pooling = getattr(constraint, "pooling", None)
    if pooling is not None:
        raise ValueError(
            f"pooling={pooling!r} is not supported in a correction, which meets the constraint "
            "exactly. Leave it out."
        )


def read_function_input(
    space: ParityRidge | ParityKernelRidge, X: Any, y: Any, **people: Any
) -> tuple[Constraint, FitInput]:
    """The constraint, and the rows on which a function of X gives parity; y may be None."""
    constraint = space._checked_constraint()
    try:
        data = space._read(constraint, X, np.zeros(_num_samples(X)) if y is None else y, **people)
    except ValueError as error:
        if "contains NaN" in str(error) or "X holds text" in str(error):
            raise ValueError(
                f"{error} Here the correction, not the regressor, reads numbers: pass "
                "correction='groups', or a pipeline that imputes and encodes, such as "
                "make_pipeline(encoder, ParityRidge(alpha=0))."
            ) from error
        raise
    _require_y(constraint, y)
    return constraint.settle(data.rows), data


def _require_y(constraint: Constraint, y: Any) -> None:
    if y is None and constraint.compares_errors:
        raise ValueError(f"{type(constraint).__name__} needs y. Pass fit(X, y, ...).")


def read_groups_input(
    constraint: Constraint, X: Any, y: Any, **people: Any
) -> tuple[FitInput, Functionals]:
    """The rows of groups that can be shifted, and what has to hold there; y may be None."""
    refused = constraint.missing == "error"
    options = InputOptions(
        "ParityAdjusted",
        continuous=constraint.continuous,
        intersectional=constraint.intersectional,
        missing="group" if refused else constraint.missing,
        weight_scope=constraint.weight_scope,
    )
    data = read_fit_input(
        options,
        X,
        np.zeros(_num_samples(X)) if y is None else y,
        to_numbers=False,
        **people,
    )
    rows = data.rows
    for j, name in enumerate(rows.schema.columns):
        if refused and (rows.cells[:, j] < 0).any():
            raise ValueError(
                f"Column {name!r} has missing values, but a shift of each group has to know the "
                "group of every row. Leave these rows out, or pass "
                "correction=MeanParity(missing='group'), which gives them a group of their own, or "
                "missing='ignore', which does not shift them."
            )
    if rows.schema.continuous:
        raise ValueError(
            "A shift of each group needs groups, but sensitive column "
            f"{rows.schema.continuous[0]!r} has many distinct numbers. Bin it, for instance "
            "with pandas.cut, or pass correction=ParityRidge()."
        )
    refuse_identifier(rows, "bin it")
    refuse_unused_control(constraint, rows)
    pool_to_hold_on(constraint, None)
    _require_y(constraint, y)
    found, name = constraint.functionals(rows), type(constraint).__name__
    check_functionals(found, name, rows.n_rows, data.Y.shape[1])
    functionals = found.on_cells(rows.codes, len(rows.cells), rows.weights)
    if functionals is None:
        raise ValueError(
            f"Groups cannot be shifted for {name}, whose functionals are about rows instead of "
            "combinations of sensitive and control values. Pass a function of X, "
            f"correction=ParityRidge(constraint={name}(...))."
        )
    return data, functionals


@stored("FunctionCorrection", anonymous=lambda c: replace(c, effect=Effect.unknown()))
@dataclass(frozen=True, eq=False)
class FunctionCorrection:
    """A function g of X with the least ``Σ u g² + α‖g‖²`` for which f + g meets the constraint.

    Parameters
    ----------
    estimator : str
        Name of the estimator whose functions g is one of, for error messages.
    layout : FeatureLayout
        The columns of X.
    functions : Basis
        Evaluates g from its coefficients.
    coef, intercept : (p, 1) and (1,) arrays
        Coefficients and constant of g.
    effect : Effect
        What the correction does to the gaps.
    """

    estimator: str
    layout: FeatureLayout
    functions: Basis
    coef: FloatArray
    intercept: FloatArray
    effect: Effect

    @classmethod
    def fit(
        cls,
        space: ParityRidge | ParityKernelRidge,
        constraint: Constraint,
        data: FitInput,
        f: FloatArray,
        f_pool: FloatArray,
        share: float = 1.0,
    ) -> Self:
        """Find g for the predictions of a regressor, (n, 1) and (p, 1); `share` of it is added."""
        problem = space._problem(constraint, data)
        here, there = problem.functionals, problem.pool
        warn_about_input(constraint, data, here, there)
        scaled, units = _in_units(
            replace(
                problem,
                Y=np.zeros_like(f),
                functionals=_minus(here, f),
                pool=_minus(there, f_pool),
            ),
            isinstance(space, ParityRidge) and not problem.alpha.any(),
        )
        with np.errstate(over="ignore", invalid="ignore"):
            solution = space._solver().solve(scaled)
        check_solution(solution, space.solver, scaled.Y.shape[1])
        refuse_overflow(solution)
        g, g_pool = _evaluated(solution, scaled)
        ends = [(f + g, f_pool + g_pool), (f, f_pool)]
        gaps = np.stack([problem.gaps(*values) for values in ends])
        _refuse_harm(gaps[1], gaps[0])
        fits = [replace(solution.fair, fitted=v, pool=p if data.pool else None) for v, p in ends]
        shown = replace(solution, fair=fits[0], free=fits[1], gaps=gaps)
        warn_about_result(data, scaled.functionals, scaled.pool, shown, 1.0)
        if share > 0:
            flat = share == 1.0 and is_constant(data, shown)
            constant = describe_constant(data, here, there) if flat else ""
            now = f[:, 0] + share * g[:, 0]
            _warn_about_harm(data, here, f[:, 0], now, problem.shares, constant)
        effect = Effect(
            (here.labels, there.labels),
            gaps[1, :, 0],
            gaps[0, :, 0],
            float(np.abs(gaps[0]).max(initial=0.0)),
            float(np.sqrt(problem.shares @ g[:, 0] ** 2)),
        )
        functions, coef = solution.basis, solution.fair.coef
        if isinstance(functions, LinearFeatures):
            functions, coef = LinearFeatures(units * functions.origin), coef / units[:, None]
        name = type(space).__name__
        return cls(name, data.layout, functions, coef, solution.fair.intercept, effect)

    def evaluate(self, X: Any) -> FloatArray:
        """Values of g at the rows of X, (n,)."""
        features = self.layout.read(X, estimator=self.estimator)
        values: FloatArray = self.functions.evaluate(features, self.coef) + self.intercept
        return values[:, 0]


@stored("GroupShifts", anonymous=lambda s: replace(s, effect=Effect.unknown()))
@dataclass(frozen=True, eq=False)
class GroupShifts:
    """A constant for each combination of sensitive and control values: the least shift of all.

    Parameters
    ----------
    schema : Schema
        How sensitive and control columns are read.
    shifts : dict
        The shift of each combination.
    effect : Effect
        What the shifts do to the gaps.
    """

    schema: Schema
    shifts: dict[Any, float]
    effect: Effect

    @classmethod
    def fit(
        cls, constraint: Constraint, data: FitInput, functionals: Functionals, f: FloatArray
    ) -> Self:
        """Find the shifts for the predictions of a regressor, (n, 1)."""
        rows = data.rows
        warn_about_groups(rows, functionals, data.spread, constraint.min_group_size)
        # the table T is orthonormal in the mass of the cells, so T(t − Tᵀf) leaves no gap
        lacking = functionals.targets - functionals.apply(f - f.mean())
        shifts = np.asarray(functionals.table @ lacking)
        before, after = (functionals.gaps(f + part)[:, 0] for part in (0.0, shifts[rows.codes]))
        size = float(np.sqrt(rows.mass @ shifts[:, 0] ** 2 / rows.mass.sum()))
        residual = float(np.abs(after).max(initial=0.0))
        warn_about_gaps(residual, data.spread, float(np.abs(f).max()))
        effect = Effect((functionals.labels, ()), before, after, residual, size)
        named = {rows.cell_values(cell): float(shift) for cell, shift in enumerate(shifts[:, 0])}
        return cls(rows.schema, named, effect)

    def evaluate(self, rows: Rows) -> FloatArray:
        """The shift of each row, (n,), by its sensitive and control values."""
        cells = [rows.cell_values(cell) for cell in range(len(rows.cells))]
        unseen = [cell for cell in cells if cell not in self.shifts]
        if unseen:
            columns = ", ".join(self.schema.columns)
            shown = ", ".join("missing" if v is None else repr(v) for v in unseen[0])
            raise ValueError(
                f"fit saw no rows with {columns} = {shown}, so their shift is not known. "
                "Leave such rows out, or use a correction that is a function of X."
            )
        return np.array([self.shifts[cell] for cell in cells])[rows.codes]


def _warn_about_harm(
    data: FitInput,
    functionals: Functionals,
    f: FloatArray,
    now: FloatArray,
    shares: FloatArray,
    constant: str = "",
) -> None:
    """Predictions, (n,), that a correction makes much worse; `constant` as in `Price.note`."""
    y = data.Y[:, 0]
    errors = float(shares @ (now - y) ** 2), float(shares @ (f - y) ** 2)
    variance = float(shares @ (y - shares @ y) ** 2)
    free = data.rows.cell_means(f[:, None])[:, 0]
    without = "without the constraint"
    price = price_of(data.rows, functionals, free, errors, variance, without=without)
    if told := price.note(constant):
        warn(told)
    warn_about_range(now, f, y)


def _minus(functionals: Functionals, values: FloatArray) -> Functionals:
    """The functionals that g has to meet for f + g to meet these, where f has the values."""
    if not len(functionals):
        return functionals
    values = values - values.mean()  # a constant only changes rounding errors
    return replace(functionals, targets=functionals.targets - functionals.apply(values))


def _evaluated(solution: Solution, problem: ConstrainedProblem) -> tuple[FloatArray, FloatArray]:
    """Values of g on the training rows and on the pool."""
    fit, basis = solution.fair, solution.basis
    if fit.fitted is not None and fit.pool is not None:
        return fit.fitted, fit.pool
    pool = np.zeros((0, 1))
    if problem.pool_X is not None:
        pool = basis.evaluate(problem.pool_X, fit.coef) + fit.intercept
    return basis.evaluate(problem.X, fit.coef) + fit.intercept, pool


def _in_units(problem: ConstrainedProblem, rescale: bool) -> tuple[ConstrainedProblem, FloatArray]:
    """The problem with columns of equal size, and their sizes, (d,).

    Without a penalty the smallest shift does not depend on the units, but its rounding error does.
    """
    units = np.ones(problem.X.shape[1])
    if not rescale:
        return problem, units
    squares = problem.X.multiply(problem.X) if sparse.issparse(problem.X) else problem.X**2
    middle = np.asarray(problem.X.mean(axis=0)).ravel()
    spread = np.sqrt(np.maximum(np.asarray(squares.mean(axis=0)).ravel() - middle**2, 0.0))
    if not sparse.issparse(problem.X):
        spread = problem.X.std(axis=0)
    units = np.where((spread > 0) & np.isfinite(spread), spread, 1.0)
    inverse = sparse.diags_array(1 / units)

    def scaled(X: Any) -> Any:
        return X if X is None else (X @ inverse).tocsr() if sparse.issparse(X) else X / units

    return replace(problem, X=scaled(problem.X), pool_X=scaled(problem.pool_X)), units


def _refuse_harm(before: FloatArray, after: FloatArray) -> None:
    """Refuse a correction that makes gaps larger, because of rounding."""
    if np.abs(after).max(initial=0.0) > 2 * np.abs(before).max(initial=0.0) + 1e-300:
        raise ValueError(
            f"The correction would make the largest gap {np.abs(after).max():.3g} instead of "
            f"{np.abs(before).max():.3g}: columns of very different size swamp it. "
            "Scale the features, for instance with StandardScaler."
        )
