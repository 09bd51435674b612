"""What a fit tells its user besides the result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from meanparity._typing import FloatArray
from meanparity.constraints import Functionals
from meanparity.estimators.problem import Problem
from meanparity.exceptions import warn
from meanparity.groups import group_sums
from meanparity.rows import Rows
from meanparity.solvers import Solution, Task

_SHOWN = 5
_AWAY = 5.0  # standard deviations between the means of pool and training rows in a column
_FAR = 3.0  # times the usual change of a prediction, at which a row of the pool is out of place


def warn_of_reading(problem: Problem, recognised: bool, min_group_size: int) -> None:
    """Numbers that were taken for such, strata without a constraint, small groups."""
    continuous = problem.rows.reading.continuous
    if recognised and continuous and not problem.constraint.reads_values:
        names = ", ".join(map(repr, continuous))
        warn(
            f"Sensitive column {names} has many different numbers and is read as a number: it has "
            "no groups, and parity means zero covariance with it. Pass "
            f"continuous=[{names}] to say so, or continuous=[] to make each value a group."
        )
    constrained = (
        [("", problem.rows, problem.task.functionals)] if len(problem.task.functionals) else []
    )
    if problem.pool is not None:
        constrained.append((" of the pool", problem.pool, problem.task.pool))
        if problem.rows.weights is not None and problem.pool.weights is None:
            warn(
                "Means of the training rows are weighted by sample_weight, those of the pool are "
                "not. Pass Pool(X_pool, sensitive_features, sample_weight=...), ones if that is "
                "meant."
            )
        if problem.rows.sizes is None:
            _warn_of_far_pool(problem.task)
    for where, rows, functionals in constrained:
        warn_of_groups(rows, functionals, problem.spread, min_group_size, where)


def warn_of_groups(
    rows: Rows, functionals: Functionals, spread: FloatArray, least: int, where: str = ""
) -> None:
    """Strata in which nothing is compared, and groups of fewer than `least` rows."""
    _warn_of_strata(functionals, where)
    _warn_of_small_groups(rows, spread, least, where)


def warn_of_gaps(gaps: Any, spread: FloatArray, values: FloatArray, conditions: int = 0) -> None:
    """Gaps, (r, m), that were left where there should be none.

    Parameters
    ----------
    gaps : (r, m) array or float
        What was left.
    spread : (m,) array
        Standard deviation of y.
    values : (n, m) array
        Predictions, by whose size rounding is told from the rest.
    conditions : int
        Number of conditions, if some have targets other than zero, which may be out of reach.
    """
    share = float((np.abs(gaps) / np.where(spread > 0, spread, np.inf)).max(initial=0.0))
    rounding = 100 * np.finfo(float).eps * np.abs(values).max(initial=0.0)
    if share > 1e-6 and conditions and np.abs(gaps).max(initial=0.0) > rounding:
        warn(
            f"Not all {conditions} conditions can be met by functions of this space: the fit comes "
            f"as close as it can in least squares, and a gap of {share:.2g} standard deviations of "
            "y is left. Use fewer groups, more features or another kernel."
        )
    elif share > 1e-10:
        warn(
            f"A gap of {share:.1g} standard deviations of y is left where there should be none: "
            "rounding shows. Raise alpha if it is small beside the kernel values, scale features "
            "or y that are large beside their spread, and leave out a pool that repeats the "
            "training rows."
        )


def warn_of_result(problem: Problem, solution: Solution, gaps: FloatArray) -> None:
    """Gaps, (r, m), that were left, and models that say the same of everybody."""
    fair, free = solution.fair.fitted, solution.free.fitted
    parts = (problem.task.functionals, problem.task.pool)
    conditions = sum(map(len, parts)) if any(part.targets.any() for part in parts) else 0
    warn_of_gaps(gaps, problem.spread, fair, conditions)
    moved = np.abs(solution.fair.pool - solution.free.pool).max(axis=0, initial=0.0)
    usual = np.maximum(np.abs(fair - free).max(axis=0), problem.spread)
    if np.any(moved > _FAR * usual):
        warn(
            f"Parity on the pool moves the prediction of some of its rows by {moved.max():.3g}, "
            f"where it moves training rows by {np.abs(fair - free).max():.3g} at most: these rows "
            "are unlike the training rows, and little keeps the fit from using them to meet the "
            f"constraint. Raise alpha (now {problem.task.alpha.min():g})."
        )
    if problem.rows.sizes is None:
        fair, free = problem.rows.within_strata(fair), problem.rows.within_strata(free)
    else:  # values are means of many rows, which parity makes the same
        fair, free = solution.fair.coef, solution.free.coef
    if np.any(np.abs(fair).max(axis=0) < 1e-8 * np.abs(free).max(axis=0)):
        control = ", ".join(problem.rows.reading.control)
        same = f"a constant in each stratum of {control}" if control else "a constant"
        warn(
            f"Nothing but {same} meets all {sum(map(len, parts))} conditions "
            f"({sum(len(part.labels) for part in parts)} groups or sensitive features): the model "
            f"at parity predicts the same for everybody{' of a stratum' if control else ''}. Use "
            "fewer groups or strata, more features (a linear model needs more of them than there "
            "are conditions) or a kernel."
        )


def _warn_of_far_pool(task: Task) -> None:
    """A pool that was not transformed like the training rows looks like one far away."""
    if task.points is None or sparse.issparse(task.X) or sparse.issparse(task.points):
        return
    if task.points.shape[1] != task.X.shape[1]:  # kernel values
        return
    here, there, spread = task.X.mean(axis=0), task.points.mean(axis=0), task.X.std(axis=0)
    away = np.abs(there - here) / np.where(spread > 0, spread, np.inf)
    if away.max() > _AWAY:
        j = int(away.argmax())
        warn(
            f"The pool is far from the training rows: column {j} has the mean {there[j]:.3g} there "
            f"and {here[j]:.3g} ± {spread[j]:.3g} here. If the training rows went through other "
            "steps, such as a scaler in a pipeline, the pool has to go through them as well."
        )


def _warn_of_strata(functionals: Functionals, where: str) -> None:
    strata = functionals.unconstrained
    if strata:
        word = "stratum" if len(strata) == 1 else "strata"
        warn(
            f"In {len(strata)} {word}{where} only one group occurs, so that nothing is equalised "
            f"there: {_list([f'{name} ({_rows(n)})' for name, n in strata])}. Use coarser strata "
            "if these people shall count."
        )


def _warn_of_small_groups(rows: Rows, spread: FloatArray, least: int, where: str) -> None:
    small = [
        f"{name} ({_rows(count)}, standard error {error:.3g})"
        for name, count, error in _group_sizes(rows, spread)
        if count < least
    ]
    if small:
        warn(
            f"{len(small)} group{'s'[: len(small) > 1]}{where} of fewer than {least} rows: "
            f"{_list(small)}. Parity moves the mean of so few people like any other, although it "
            "is known to no more than this standard error. Merge groups, or accept them with a "
            "smaller min_group_size."
        )


def _group_sizes(rows: Rows, spread: FloatArray) -> Iterator[tuple[str, int, float]]:
    """Name, rows and standard error of the mean of y of every group that is compared.

    Where y is not known, as on a pool, or of one row, its spread over all training rows is taken.
    """
    counted = np.ones(rows.n_rows) if rows.weights is None else (rows.weights > 0).astype(float)
    known = rows.y if rows.sizes is None else None
    if rows.sizes is not None:
        counted = counted * rows.sizes
    columns = [counted]
    if known is not None:
        y = known - known.mean(axis=0)
        columns += [*(counted * y.T), *(counted * y.T**2)]
    sums = group_sums(rows.codes, np.stack(columns, axis=1), len(rows.cells))
    overall = float(spread.max())
    for stratum, cells in rows.strata:
        for grouping in rows.groupings:
            names, inside = grouping.names, grouping.codes[cells]
            totals = group_sums(inside, sums[cells], len(names))
            present = np.unique(inside[inside >= 0])
            for group in present if len(present) > 1 else []:
                count, deviation = int(totals[group, 0]), overall
                if known is not None and count > 1:
                    mean, square = totals[group, 1:].reshape(2, -1) / count
                    deviation = float(
                        np.sqrt(np.maximum(square - mean**2, 0.0).max() * count / (count - 1))
                    )
                name = names[group] + (f" in {stratum}" if stratum else "")
                yield name, count, deviation / np.sqrt(max(count, 1))


def _list(items: list[str]) -> str:
    more = len(items) - _SHOWN
    return "; ".join(items[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _rows(count: int) -> str:
    return f"{count} row{'s'[: count != 1]}"
