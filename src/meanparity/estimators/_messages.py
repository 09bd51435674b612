"""Warnings and errors about the input and the result of a fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from meanparity._typing import FloatArray
from meanparity.constraints.base import Constraint, all_of
from meanparity.constraints.functionals import Functionals
from meanparity.data.features import FeatureLayout
from meanparity.data.fit_input import FitInput
from meanparity.data.groups import display_label, group_sums
from meanparity.data.pool import Pool, as_pool
from meanparity.data.rows import Rows, Schema, refuse_identifier, warn_about_labels
from meanparity.exceptions import SmallGroupsWarning, warn
from meanparity.solvers.solution import Solution

IDLE_LIMIT = "The unconstrained fit meets max_gap already"
_SHOWN = 5  # items of a list in a message
_NO_SPREAD = 1e-7  # a standard deviation below this share of that of all rows is rounding
_FAR = 5.0  # standard deviations between the means of pool and training rows in a column
_LOOKED_AT = 1000  # rows that tell whether a function is constant
_OFTEN = 10  # rows that each value of a category has on average
_MOVED = 3.0  # times the largest change on training rows, or the spread of y: a row is out of place


def warn_about_input(
    constraint: Constraint, data: FitInput, functionals: Functionals, pool: Functionals
) -> None:
    """Columns that were recognised as numbers, strata without a constraint, small groups."""
    continuous, automatic = data.rows.schema.continuous, constraint.continuous
    recognised = isinstance(automatic, str) and automatic == "auto"
    if recognised and continuous and not constraint.reads_values:
        names = ", ".join(map(repr, continuous))
        warn(
            f"Sensitive column {names} has many distinct numbers and is treated as a number: it "
            "has no groups, and parity means zero covariance with it. Pass "
            f"MeanParity(continuous=[{names}]) to confirm this, or continuous=[] to make each "
            "value a group."
        )
    warn_about_labels(data.rows)
    if not functionals.count and not pool.count:
        warn(
            f"{type(constraint).__name__} has no conditions on these rows, so the fit is the "
            "unconstrained one."
        )
    constrained = [("", data.rows, functionals)] if functionals.count else []
    if data.pool is not None:
        constrained.append((" of the pool", data.pool.rows, pool))
        if data.rows.weights is not None and data.pool.rows.weights is None:
            warn(
                "Means of the training rows are weighted by sample_weight, but those of the pool "
                "are not. Pass Pool(X_pool, sensitive_features, sample_weight=...), with ones if "
                "this is intended."
            )
        if data.rows.sizes is None:
            _warn_about_far_pool(data.X, data.pool.X)
    least = constraint.min_group_size if constraint.pooling is None else 0  # gap_limits_ has them
    for where, rows, part in constrained:
        warn_about_groups(rows, part, data.spread, least, where)


def warn_about_groups(
    rows: Rows, functionals: Functionals, spread: FloatArray, least: int, where: str = ""
) -> None:
    """Strata in which nothing is compared, and groups of fewer than `least` rows."""
    strata = functionals.unconstrained
    if strata:
        word = "stratum" if len(strata) == 1 else "strata"
        listed = _list([f"{name} ({_rows(n)})" for name, n in strata])
        warn(
            _small_groups_warning(
                f"There are no groups to compare in {len(strata)} {word}{where}, so nothing "
                "is equalised there",
                listed,
                ". Use coarser strata if these rows should count.",
            )
        )
    small = [
        f"{name} ({_rows(count)}, standard error {error:.3g})"
        for name, count, error in _small_groups(rows, spread, least)
    ]
    if small:
        warn(
            _small_groups_warning(
                f"{len(small)} group{'s'[: len(small) > 1]}{where} of fewer than {least} rows",
                _list(small),
                ". Parity moves the mean of a small group like any other, although it is known "
                "only up to its standard error. Merge groups, or pass a smaller min_group_size to "
                "the constraint.",
            )
        )


def _small_groups_warning(start: str, groups: str, end: str) -> SmallGroupsWarning:
    return SmallGroupsWarning(f"{start}: {groups}{end}", f"{start}{end}")


def warn_about_gaps(gaps: Any, spread: FloatArray, size: float, conditions: int = 0) -> None:
    """Gaps, (r, m), that are left where there should be none.

    Parameters
    ----------
    gaps : (r, m) array or float
        The gaps.
    spread : (m,) array
        Standard deviation of y.
    size : float
        Size of the largest prediction, by which rounding is recognised.
    conditions : int
        Number of conditions, if some have targets other than zero, which may be out of reach.
    """
    share = float((np.abs(gaps) / np.where(spread > 0, spread, np.inf)).max(initial=0.0))
    rounding = 100 * np.finfo(float).eps * size
    if share > 1e-6 and conditions and np.abs(gaps).max(initial=0.0) > rounding:
        warn(
            f"No function of this space meets {all_of(conditions, 'condition')}: the fit is the "
            f"closest in least squares, and leaves a gap of {share:.2g} standard deviations of y. "
            "Use fewer groups, more features or another kernel."
        )
    elif share > 1e-10:
        warn(
            f"A gap of {share:.1g} standard deviations of y is left where there should be none, "
            "because of rounding. Raise alpha if it is small compared with the kernel values, "
            "scale features or y that are large compared with their spread, and leave out a pool "
            "that repeats the training rows."
        )


def warn_about_result(
    data: FitInput,
    functionals: Functionals,
    pool: Functionals,
    solution: Solution,
    closed: float,
) -> None:
    """Gaps that are left, and rows of the pool that are out of place.

    `closed` is the share of the way from the free fit to parity that the model goes, if it is on
    that way.
    """
    parts, fair, free = (functionals, pool), solution.fair, solution.free
    conditions = sum(map(len, parts)) if any(part.targets.any() for part in parts) else 0
    on_rows = [f.cell_means if f.fitted is None else f.fitted for f in (fair, free)]
    size = float(np.abs(on_rows[0]).max(initial=0.0))
    residuals = closed * solution.gaps[0]
    warn_about_gaps(residuals, data.spread, size, conditions)
    rounding = closed * solution.rounding
    if rounding > np.abs(residuals).max(initial=0.0):
        warn_about_gaps(rounding, data.spread, size)
    if data.pool is not None:
        there = [f.pool_cell_means if f.pool is None else f.pool for f in (fair, free)]
        moved = np.abs(there[0] - there[1]).max(axis=0, initial=0.0)
        change = np.abs(on_rows[0] - on_rows[1]).max(axis=0)
        if np.any(moved > _MOVED * np.maximum(change, data.spread)):
            warn(
                f"Parity on the pool moves the prediction of some of its rows by "
                f"{moved.max():.3g}, but those of training rows by {change.max():.3g} at most: "
                "these rows are unlike the training rows, and little keeps the fit from using "
                "them to meet the constraint. Raise alpha."
            )


def describe_constant(data: FitInput, *parts: Functionals) -> str:
    """Say why the model at parity is a constant."""
    control = ", ".join(data.rows.schema.control)
    constant = f"a constant in each stratum of {control}" if control else "a constant"
    return (
        f"Only {constant} meets {all_of(sum(map(len, parts)), 'condition')} "
        f"({sum(len(part.labels) for part in parts)} gaps): the model at parity predicts the same "
        f"for everybody{' in a stratum' if control else ''}"
    )


def warn_about_idle_limit(data: FitInput, solution: Solution) -> None:
    """A limit on gaps that the free fit meets, although it has some."""
    largest = np.abs(solution.gaps[1]).max(initial=0.0)
    if largest > 1e-10 * data.spread.max():
        warn(
            f"{IDLE_LIMIT}: its largest gap is {largest:.3g}, and "
            "nothing was changed. Pass a smaller max_gap if it should change something."
        )


def is_constant(data: FitInput, solution: Solution) -> bool:
    """Whether the constrained function, and not the free one, is constant (in each stratum)."""
    fair, free = solution.fair, solution.free
    if fair.fitted is not None and free.fitted is not None:
        known = (fair.fitted, free.fitted)
        return _is_flat(*(_variation(data.rows, values, 1) for values in known))
    coef, m = np.hstack([fair.coef, free.coef]), data.Y.shape[1]
    if data.rows.sizes is not None:  # sums over rows
        varies = np.abs(coef).max(axis=0)
        return _is_flat(varies[:m], varies[m:])
    for step in dict.fromkeys((max(len(data.Y) // _LOOKED_AT, 1), 1)):  # all rows if a few are flat
        varies = _variation(data.rows, solution.basis.evaluate(data.X[::step], coef), step)
        if not _is_flat(varies[:m], varies[m:]):
            return False
    return True


def _is_flat(fair: FloatArray, free: FloatArray) -> bool:
    """Whether an output of the constrained function varies much less than the free one does."""
    return bool(np.any(fair < 1e-8 * free))


def _variation(rows: Rows, values: FloatArray, step: int) -> FloatArray:
    """How far values of every `step`-th row, (n, m), differ within strata: (m,)."""
    if not rows.schema.control:
        return np.asarray(values.max(axis=0) - values.min(axis=0))
    strata = rows.combinations(rows.schema.control).codes[rows.codes[::step]]
    count = np.bincount(strata + 1)[1:]
    means = group_sums(strata, values, len(count)) / np.maximum(count, 1)[:, None]
    within = np.where(strata[:, None] >= 0, values - means[strata], 0.0)
    return np.asarray(np.abs(within).max(axis=0))


def refuse_unmet(
    data: FitInput, functionals: Functionals, pool: Functionals, solution: Solution
) -> None:
    """Refuse gaps of the size of y's own spread where there should be none at all."""
    if functionals.targets.any() or pool.targets.any():
        return  # not all targets can be met, and a warning says so
    gaps = solution.gaps[0]
    limit = 0.01 * data.spread + 1e-6 * np.abs(data.Y).max()
    if np.any(np.abs(gaps).max(axis=0, initial=0.0) > limit):
        raise ValueError(
            f"The constraint cannot be met in floating point: a gap of {np.abs(gaps).max():.3g} is "
            "left. Kernel values of very different size swamp it: scale the features, for instance "
            "with StandardScaler, or raise alpha."
        )


def refuse_overflow(solution: Solution) -> None:
    """Refuse a solution that is not finite."""
    numbers = (solution.info.residual, solution.fair.objective, solution.free.objective)
    if not all(np.isfinite(value).all() for value in numbers):
        raise ValueError(
            "The fit overflows: squares of the numbers in X or y are too large or too small for "
            "floating point. Scale the features and the target."
        )


def refuse_given(estimator: Any, given: dict[str, Any]) -> NoReturn:
    """Refuse arguments of predict that a function of X alone does not take."""
    names = ", ".join(given)
    raise TypeError(
        f"{type(estimator).__name__}.predict takes no {names}: predictions are a function of X "
        "alone, and do not look at groups beyond the columns of X. Leave it out."
    )


def is_categorical(counts: Any) -> bool:
    """Whether groups of these sizes are known, and occur often enough to be categories."""
    return bool(counts) and sum(counts.values()) >= _OFTEN * len(counts)


def warn_about_unseen(layout: FeatureLayout, schema: Schema, counts: Any, X: Any) -> None:
    """Rows whose sensitive columns, which are features, have values that fit did not see.

    `counts` has the groups of fit.
    """
    values = dict(zip(schema.sensitive, layout.sensitive_values(X).values(), strict=True))
    rows = replace(schema, control=(), missing="group").read_rows(values)
    for position, name in enumerate(schema.categories):
        seen = {key[position] if len(schema.categories) > 1 else key for key in counts}
        found = rows.column(name)
        unseen = [level for level in rows.levels[schema.sensitive.index(name)] if level not in seen]
        if unseen:
            n = int(np.isin(found, np.array(unseen)).sum())
            warn(
                f"{_rows(n)} of X {'has' if n == 1 else 'have'} {name}={unseen[0]!r}"
                f"{' or another value' if len(unseen) > 1 else ''} that fit did not see. The "
                "constraint says nothing about these groups, and their predictions are "
                "extrapolated."
            )


def refuse_unused_control(constraint: Constraint, rows: Rows) -> None:
    """Refuse control features that a constraint would not take into account."""
    if rows.schema.control and not constraint.uses_control:
        raise ValueError(
            f"{type(constraint).__name__} does not use control_features. Leave them out, or, if it "
            "is your own constraint and uses them, say so in its class: uses_control = True."
        )


def check_rows_and_pool(constraint: Constraint, rows: Rows, pool: Any) -> Pool | None:
    """Refuse rows that do not suit the constraint; the pool on which it has to hold, if any."""
    refuse_unused_control(constraint, rows)
    people = pool_to_hold_on(constraint, pool)
    if constraint.parity_on != "pool" and not constraint.reads_values:
        refuse_identifier(rows)
    return people


def pool_to_hold_on(constraint: Constraint, pool: Any) -> Pool | None:
    """The pool on which the constraint has to hold, if any."""
    if pool is None and constraint.parity_on == "pool":
        raise ValueError(
            "parity_on='pool' needs the people to be scored. Pass fit(..., pool=(X_pool, "
            "sensitive_features_pool)), or parity_on='train'."
        )
    people = None if pool is None else as_pool(pool)
    if people is None or constraint.parity_on == "train":
        return None
    if constraint.training_only:
        raise ValueError(
            f"{type(constraint).__name__} cannot hold on a pool: {constraint.training_only}. Pass "
            "parity_on='train', or another constraint."
        )
    return people


def _warn_about_far_pool(X: Any, Z: Any) -> None:
    """A pool that was not transformed like the training rows is usually far from them."""
    if sparse.issparse(X) or sparse.issparse(Z) or Z.shape[1] != X.shape[1]:
        return
    here, there, spread = X.mean(axis=0), Z.mean(axis=0), X.std(axis=0)
    away = np.abs(there - here) / np.where(spread > 0, spread, np.inf)
    if away.max() > _FAR:
        j = int(away.argmax())
        warn(
            f"The pool is far from the training rows: column {j} has the mean {there[j]:.3g} in "
            f"the pool and {here[j]:.3g} ± {spread[j]:.3g} in the training rows. If the training "
            "rows went through other steps, such as a scaler in a pipeline, the pool has to go "
            "through them as well."
        )


def _small_groups(rows: Rows, spread: FloatArray, least: int) -> Iterator[tuple[str, int, float]]:
    """Name, size and standard error of the mean of y of every compared group with few rows.

    Where y is not known, as on a pool, and for a single row or rows of equal outcomes, which do not
    show how much others vary, the spread over all rows is used.
    """
    counts = rows.counts
    if rows.weights is not None:
        counted = rows.weights > 0 if rows.sizes is None else (rows.weights > 0) * rows.sizes
        counts = np.bincount(rows.codes, weights=counted, minlength=len(rows.cells)).astype(int)
    if counts.min(initial=least) >= least:
        return  # a group has the rows of one cell, or of more
    moments: FloatArray | None = None
    for stratum, cells in rows.strata:
        for grouping in rows.groupings:
            codes = grouping.codes[cells]
            sizes = np.bincount(
                codes[codes >= 0], weights=counts[cells][codes >= 0], minlength=len(grouping.names)
            )
            present = np.unique(codes[codes >= 0])
            for group in present if len(present) > 1 else ():
                count, deviation = int(sizes[group]), float(spread.max())
                if count >= least:
                    continue
                if rows.y is not None and rows.sizes is None and count > 1:
                    moments = _moments(rows) if moments is None else moments
                    mean, square = moments[cells[codes == group]].sum(axis=0) / count
                    variance = np.maximum(square - mean**2, 0.0).max() * count / (count - 1)
                    own = float(np.sqrt(variance))
                    deviation = own if own > _NO_SPREAD * deviation else deviation
                name = grouping.names[group]
                if not grouping.with_column:
                    name = display_label(grouping.columns, grouping.labels[group])
                name += f" in {stratum}" if stratum else ""
                yield name, count, deviation / np.sqrt(max(count, 1))


def _moments(rows: Rows) -> FloatArray:
    """Sums of y and of y² over the rows of each cell that have weight: (k, 2, m)."""
    assert rows.y is not None
    y = rows.y - rows.y.mean(axis=0)
    if rows.weights is not None:
        y = np.where(rows.weights[:, None] > 0, y, 0.0)
    sums = group_sums(rows.codes, np.hstack([y, y**2]), len(rows.cells))
    return sums.reshape(len(sums), 2, -1)


def _list(items: list[str]) -> str:
    more = len(items) - _SHOWN
    return "; ".join(items[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _rows(count: int) -> str:
    return f"{count} row{'s'[: count != 1]}"
