"""Corrections of given predictions f, the least in mean square that give parity."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from meanparity._typing import FloatArray
from meanparity.constraints import Functionals, MeanParity
from meanparity.estimators.base import refuse_overflow
from meanparity.estimators.kernel_ridge import ParityKernelRidge
from meanparity.estimators.problem import Problem, read_problem
from meanparity.estimators.ridge import LinearFunctions, ParityRidge
from meanparity.estimators.training import (
    Training,
    read_features,
    read_training,
    refuse_identifier,
)
from meanparity.estimators.warn import (
    warn_of_gaps,
    warn_of_groups,
    warn_of_reading,
    warn_of_result,
)
from meanparity.path import Basis
from meanparity.rows import Reading, Rows
from meanparity.solvers import Fit, Task
from meanparity.sources import Table


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

    def gaps(self, unfairness: float) -> tuple[dict[str, float], dict[str, float]]:
        """Gaps at a position of the dial, on the rows of fit and on the pool."""
        values = ((1 - unfairness) * self.after + unfairness * self.before).tolist()
        here, there = self.labels
        return (
            dict(zip(here, values[: len(here)], strict=True)),
            dict(zip(there, values[len(here) :], strict=True)),
        )


def check_space(correction: Any) -> ParityRidge | ParityKernelRidge:
    """The functions g, and what has to hold: a copy of what was passed, or the default."""
    if correction is None:
        return ParityRidge(alpha=0.0)
    if not isinstance(correction, ParityRidge | ParityKernelRidge):
        raise ValueError(
            f"correction={correction!r} is not known. Pass 'groups', or an object such as "
            "ParityRidge() or ParityKernelRidge(kernel='rbf')."
        )
    if correction.unfairness != 0 or correction.max_gap is not None:
        raise ValueError(
            f"correction has unfairness={correction.unfairness!r} and "
            f"max_gap={correction.max_gap!r}. The dial is ParityAdjusted(unfairness=...)."
        )
    if getattr(correction, "_precomputed", False):
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


def read_function(space: ParityRidge | ParityKernelRidge, X: Any, y: Any, **people: Any) -> Problem:
    """The rows on which a function of X shall give parity, and the pool; y may be None."""
    try:
        problem = read_problem(space, X, np.zeros(_num_samples(X)) if y is None else y, **people)
    except ValueError as error:
        if "contains NaN" in str(error) or "X holds text" in str(error):
            raise ValueError(
                f"{error} Here the correction, and not the regressor, reads numbers: pass "
                "correction='groups', or impute and encode X in a pipeline before."
            ) from error
        raise
    if y is None and problem.constraint.training_only:
        raise ValueError(f"{type(problem.constraint).__name__} needs y. Pass fit(X, y, ...).")
    return problem


def read_groups(X: Any, y: Any, **people: Any) -> Training:
    """The rows of groups that can be shifted; y may be None."""
    training = read_training(
        ParityRidge(),
        X,
        np.zeros(_num_samples(X)) if y is None else y,
        convert=False,
        missing="group",
        **people,
    )
    rows = training.rows
    for j, name in enumerate(rows.reading.sensitive + rows.reading.control):
        if (rows.cells[:, j] < 0).any():
            raise ValueError(
                f"Column {name!r} has missing values, and correction='groups' has to know "
                "everybody's group. Leave these rows out, give them a value of their own, or pass "
                "correction=ParityRidge(missing='ignore')."
            )
    if rows.reading.continuous:
        raise ValueError(
            "correction='groups' shifts groups, but sensitive column "
            f"{rows.reading.continuous[0]!r} has many different numbers. Bin it, for instance "
            "with pandas.cut, or pass correction=ParityRidge()."
        )
    refuse_identifier(rows, "bin it")
    MeanParity().functionals(rows)  # refuses one group only
    return training


@dataclass(frozen=True, eq=False)
class FunctionCorrection:
    """A function g of X with the least ``Σ u g² + α‖g‖²`` for which f + g meets the constraint.

    Parameters
    ----------
    reader : ParityRidge or ParityKernelRidge
        The functions, and how X is read.
    table : Table
        The columns of X.
    functions : Basis
        The functions that `coef`, (p, 1), combines.
    coef, intercept : (p, 1) and (1,) arrays
        Which of them is g.
    effect : Effect
        What it does.
    """

    reader: ParityRidge | ParityKernelRidge
    table: Table
    functions: Basis
    coef: FloatArray
    intercept: FloatArray
    effect: Effect

    @classmethod
    def fit(
        cls,
        space: ParityRidge | ParityKernelRidge,
        problem: Problem,
        f: FloatArray,
        f_pool: FloatArray,
    ) -> Self:
        """Find g for the predictions of a regressor, (n, 1) and (p, 1)."""
        recognised = isinstance(space.continuous, str) and space.continuous == "auto"
        warn_of_reading(problem, recognised, space.min_group_size)
        task = problem.task
        rest, units = _in_units(
            replace(
                task,
                Y=np.zeros_like(f),
                functionals=_less(task.functionals, f),
                pool=_less(task.pool, f_pool),
            ),
            isinstance(space, ParityRidge) and not task.alpha.any(),
        )
        with np.errstate(over="ignore", invalid="ignore"):
            solution, functions = space._solve(replace(problem, task=rest))
        refuse_overflow(solution)
        g = solution.fair
        before = replace(g, fitted=f, pool=f_pool)
        after = replace(g, fitted=f + g.fitted, pool=f_pool + g.pool)
        gaps, left = (_gaps(fit, task.functionals, task.pool) for fit in (before, after))
        _refuse_harm(gaps, left)
        warn_of_result(
            replace(problem, task=replace(rest, Y=task.Y)),
            replace(solution, fair=after, free=before),
            left[:, None],
        )
        effect = Effect(
            (problem.measured[0].labels, problem.measured[1].labels),
            _gaps(before, *problem.measured),
            _gaps(after, *problem.measured),
            float(np.abs(left).max(initial=0.0)),
            float(np.sqrt(task.shares @ g.fitted[:, 0] ** 2)),
        )
        coef = g.coef
        if isinstance(functions, LinearFunctions):
            functions, coef = LinearFunctions(units * functions.origin), coef / units[:, None]
        return cls(space, problem.table, functions, coef, g.intercept, effect)

    def evaluate(self, X: Any) -> FloatArray:
        """Values of g at the rows of X, (n,)."""
        features = read_features(self.reader, self.table, X, reset=False)
        values: FloatArray = self.functions.evaluate(features, self.coef) + self.intercept
        return values[:, 0]


@dataclass(frozen=True, eq=False)
class GroupShifts:
    """A constant for each combination of sensitive and control values: the least shift of all.

    Parameters
    ----------
    reading : Reading
        How sensitive and control columns are read.
    shifts : dict
        The shift of each combination.
    effect : Effect
        What they do.
    """

    reading: Reading
    shifts: dict[Any, float]
    effect: Effect

    @classmethod
    def fit(cls, training: Training, f: FloatArray) -> Self:
        """Find the shifts for the predictions of a regressor, (n, 1)."""
        rows = training.rows
        functionals = MeanParity().functionals(rows)
        warn_of_groups(rows, functionals, training.Y.std(axis=0), ParityRidge().min_group_size)
        # the table T is orthonormal in the mass of the cells, so −T Tᵀ takes off all that it sees
        shifts = np.asarray(-(functionals.table @ functionals.apply(f - f.mean())))
        before, after = (functionals.gaps(f + part)[:, 0] for part in (0.0, shifts[rows.codes]))
        size = float(np.sqrt(rows.mass @ shifts[:, 0] ** 2 / rows.mass.sum()))
        residual = float(np.abs(after).max(initial=0.0))
        warn_of_gaps(residual, training.Y.std(axis=0), f)
        effect = Effect((functionals.labels, ()), before, after, residual, size)
        named = {rows.values(cell): float(shift) for cell, shift in enumerate(shifts[:, 0])}
        return cls(rows.reading, named, effect)

    def of(self, rows: Rows) -> FloatArray:
        """The shift of each row, (n,), by its sensitive and control values."""
        cells = [rows.values(cell) for cell in range(len(rows.cells))]
        unseen = [cell for cell in cells if cell not in self.shifts]
        if unseen:
            columns = ", ".join(self.reading.sensitive + self.reading.control)
            raise ValueError(
                f"Nothing is known of rows with {columns} = {unseen[0]!r}: fit did not see any. "
                "Leave such rows out, or use a correction that is a function of X."
            )
        return np.array([self.shifts[cell] for cell in cells])[rows.codes]


def _less(functionals: Functionals, values: FloatArray) -> Functionals:
    """The functionals that g has to meet where f + g shall meet these."""
    if not len(functionals):
        return functionals
    values = values - values.mean()  # a constant changes nothing but the rounding
    return replace(functionals, targets=functionals.targets - functionals.apply(values))


def _gaps(fit: Fit, rows: Functionals, pool: Functionals) -> FloatArray:
    """Gaps on the rows of fit and then on the pool: (r,)."""
    pairs = ((rows, fit.fitted), (pool, fit.pool))
    return np.concatenate([part.gaps(values)[:, 0] for part, values in pairs if len(part)])


def _in_units(task: Task, rescale: bool) -> tuple[Task, FloatArray]:
    """The task with columns of like size, and their sizes, (d,).

    Without a penalty the smallest shift does not depend on units, and rounding does.
    """
    units = np.ones(task.X.shape[1])
    if not rescale:
        return task, units
    squares = task.X.multiply(task.X) if sparse.issparse(task.X) else task.X**2
    middle = np.asarray(task.X.mean(axis=0)).ravel()
    spread = np.sqrt(np.maximum(np.asarray(squares.mean(axis=0)).ravel() - middle**2, 0.0))
    if not sparse.issparse(task.X):
        spread = task.X.std(axis=0)
    units = np.where((spread > 0) & np.isfinite(spread), spread, 1.0)
    inverse = sparse.diags_array(1 / units)

    def scaled(X: Any) -> Any:
        return X if X is None else (X @ inverse).tocsr() if sparse.issparse(X) else X / units

    return replace(task, X=scaled(task.X), points=scaled(task.points)), units


def _refuse_harm(before: FloatArray, after: FloatArray) -> None:
    """Refuse a correction that floating point turned into its opposite."""
    if np.abs(after).max(initial=0.0) > 2 * np.abs(before).max(initial=0.0) + 1e-300:
        raise ValueError(
            f"The correction would make the largest gap {np.abs(after).max():.3g} instead of "
            f"{np.abs(before).max():.3g}: columns of very unlike size drown what it is about. "
            "Scale the features, for instance with StandardScaler."
        )
