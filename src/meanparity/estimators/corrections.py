"""Corrections of given predictions f, the least in mean square that give parity."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from meanparity._typing import FloatArray
from meanparity.constraints import Functionals, MeanParity
from meanparity.estimators.base import refuse_nonsense, refuse_overflow
from meanparity.estimators.kernel_ridge import ParityKernelRidge
from meanparity.estimators.problem import read_problem
from meanparity.estimators.ridge import ParityRidge
from meanparity.estimators.training import read_features, read_training, refuse_identifier
from meanparity.estimators.warn import warn_of_reading, warn_of_result
from meanparity.estimators.wrapped import predictions
from meanparity.path import Basis
from meanparity.rows import Reading, Rows
from meanparity.solvers import Fit
from meanparity.sources import Pool, Table


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
        regressor: Any,
        X: Any,
        y: Any,
        *,
        pool: Any,
        **people: Any,
    ) -> Self:
        """Find g for a fitted regressor; without y only predictions can be compared."""
        f, f_pool = predictions(regressor, X)[:, None], np.zeros((0, 1))
        problem = read_problem(space, X, f if y is None else y, pool=pool, **people)
        if y is None and problem.constraint.training_only:
            raise ValueError(f"{type(problem.constraint).__name__} needs y. Pass fit(X, y, ...).")
        if problem.pool is not None:
            f_pool = predictions(regressor, Pool.of(pool).X)[:, None]
        recognised = isinstance(space.continuous, str) and space.continuous == "auto"
        warn_of_reading(problem, recognised, space.min_group_size)
        task = problem.task
        rest = replace(
            task,
            Y=np.zeros_like(f),
            functionals=_less(task.functionals, f),
            pool=_less(task.pool, f_pool),
        )
        with np.errstate(over="ignore", invalid="ignore"):
            solution, functions = space._solve(replace(problem, task=rest))
        refuse_overflow(solution)
        g = solution.fair
        before = replace(g, fitted=f, pool=f_pool)
        after = replace(g, fitted=f + g.fitted, pool=f_pool + g.pool)
        left = _gaps(after, task.functionals, task.pool)
        refuse_nonsense(replace(problem, task=rest), left[:, None])
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
        return cls(space, problem.table, functions, g.coef, g.intercept, effect)

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
    def fit(cls, regressor: Any, X: Any, y: Any, **people: Any) -> Self:
        """Find the shifts for a fitted regressor."""
        f = predictions(regressor, X)[:, None]
        training = read_training(ParityRidge(), X, f if y is None else y, convert=False, **people)
        rows = training.rows
        if rows.reading.continuous:
            raise ValueError(
                "correction='groups' shifts groups, but sensitive column "
                f"{rows.reading.continuous[0]!r} has many different numbers. Bin it, for instance "
                "with pandas.cut, or pass correction=ParityRidge()."
            )
        refuse_identifier(rows, "bin it")
        functionals = MeanParity().functionals(rows)
        # the table T is orthonormal in the mass of the cells, so −T Tᵀ takes off all that it sees
        shifts = np.asarray(-(functionals.table @ functionals.apply(f)))
        before, after = (functionals.gaps(f + part)[:, 0] for part in (0.0, shifts[rows.codes]))
        size = float(np.sqrt(rows.mass @ shifts[:, 0] ** 2 / rows.mass.sum()))
        residual = float(np.abs(after).max(initial=0.0))
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
    return replace(functionals, targets=functionals.targets - functionals.apply(values))


def _gaps(fit: Fit, rows: Functionals, pool: Functionals) -> FloatArray:
    """Gaps on the rows of fit and then on the pool: (r,)."""
    pairs = ((rows, fit.fitted), (pool, fit.pool))
    return np.concatenate([part.gaps(values)[:, 0] for part, values in pairs if len(part)])
