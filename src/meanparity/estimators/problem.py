"""From what a user passes to what a solver takes, checked on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from meanparity._typing import Features, FloatArray
from meanparity.constraints import Constraint, Functionals, resolve_constraint
from meanparity.estimators.training import (
    check_alpha,
    check_flags,
    read_features,
    read_training,
    refuse_identifier,
    sensitive_values,
)
from meanparity.rows import Rows
from meanparity.solvers import Task
from meanparity.sources import Pool, Table, check_weights

PARITY_ON = ("both", "pool", "train")
WEIGHT_SCOPES = ("both", "constraint", "loss")


@dataclass(frozen=True, eq=False)
class Problem:
    """A checked training set.

    Parameters
    ----------
    table : Table
        How to read the features of rows to predict.
    task : Task
        What to solve.
    rows : Rows
        The training rows, as the constraint sees them.
    pool : Rows or None
        The pool, if something has to hold there.
    constraint : Constraint
        What has to hold.
    measured : Functionals, Functionals
        What gaps in the units of y are about, on the training rows and on the pool.
    single_output : bool
        Whether y has one dimension.
    deviation : (m,) array, optional
        Standard deviation of y, where rows stand for many.
    """

    table: Table
    task: Task
    rows: Rows
    pool: Rows | None
    constraint: Constraint
    measured: tuple[Functionals, Functionals]
    single_output: bool
    deviation: FloatArray | None = None

    @property
    def spread(self) -> FloatArray:
        """Standard deviation of y: (m,)."""
        return np.asarray(self.task.Y.std(axis=0)) if self.deviation is None else self.deviation


def read_problem(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    control_features: Any,
    sample_weight: Any,
    pool: Any,
    precomputed: bool = False,
) -> Problem:
    """The training set, and the pool, of an estimator's fit."""
    check_parameters(estimator)
    scope = estimator.weight_scope
    training = read_training(
        estimator,
        X,
        y,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        weigh_groups=scope != "loss",
        continuous=estimator.continuous,
        intersectional=bool(estimator.intersectional),
        missing=estimator.missing,
    )
    table, rows, Y = training.table, training.rows, training.Y
    constraint = resolve_constraint(estimator.constraint).settled(rows)
    refuse_unused(constraint, control_features is not None, bool(estimator.intersectional))
    on_train = estimator.parity_on != "pool"
    if on_train and not constraint.reads_values:
        refuse_identifier(rows)
    task = Task(
        training.X,
        Y,
        check_alpha(estimator.alpha, Y.shape[1]),
        functionals_of(constraint, rows, Y.shape[1]) if on_train else Functionals.none(len(Y)),
        bool(estimator.fit_intercept),
        training.weights if scope != "constraint" else None,
    )
    none = Functionals.none(0)
    measured = constraint.measured(rows, task.functionals) if on_train else none
    people = pool_of(estimator, pool, constraint)
    if people is None:
        return Problem(
            table, task, rows, None, constraint, (measured, none), training.single_output
        )
    try:
        points, table = _pool_features(estimator, table, people.X, len(Y), precomputed)
        p, heavy = points.shape[0], people.sample_weight
        others = rows.reading.rows(
            sensitive_values(estimator, table, people.X, people.sensitive_features, p),
            control_features=people.control_features,
            sample_weight=None if heavy is None else check_weights(heavy, p),
            n_rows=p,
        )
        functionals = functionals_of(constraint, others, Y.shape[1])
    except ValueError as error:
        raise ValueError(f"In the pool: {error}") from error
    both = measured, constraint.measured(others, functionals)
    task = replace(task, points=points, pool=functionals)
    return Problem(table, task, rows, others, constraint, both, training.single_output)


def _pool_features(
    estimator: Any, table: Table, X: Any, n_rows: int, precomputed: bool
) -> tuple[Features, Table]:
    """Features of the pool, and how to read those of rows to predict."""
    if not precomputed:
        try:
            return read_features(estimator, table, X, reset=False), table
        except ValueError as error:
            raise ValueError(
                f"{error} The pool needs the columns that fit sees; after other steps of a "
                "pipeline, pass pipeline[:-1].transform(X_pool)."
            ) from error
    points = replace(table, n_columns=0, names=None).features(X)
    width = n_rows + points.shape[0]
    if points.shape[1] != width:
        raise ValueError(
            f"The pool has kernel values of shape {points.shape}, but kernel='precomputed' needs "
            f"{(points.shape[0], width)}: those with the {n_rows} training rows, and then those "
            "with the pool itself. Pass κ(X_pool, [X, X_pool]), and κ(X_new, [X, X_pool]) to "
            "predict."
        )
    return points, replace(table, n_columns=width, names=None)


def pool_of(estimator: Any, pool: Any, constraint: Constraint) -> Pool | None:
    """The pool on which the constraint shall hold, if any."""
    if pool is None and estimator.parity_on == "pool":
        raise ValueError(
            "parity_on='pool' needs the people to be scored. Pass fit(..., pool=(X_pool, "
            "sensitive_features_pool)), or parity_on='train'."
        )
    people = None if pool is None else Pool.of(pool)
    if people is None or estimator.parity_on == "train":
        return None
    if constraint.training_only:
        raise ValueError(
            f"{type(constraint).__name__} cannot hold on a pool: {constraint.training_only}. Pass "
            "parity_on='train', or another constraint."
        )
    return people


def check_parameters(estimator: Any) -> None:
    """Refuse parameters that are wrong whatever the data."""
    check_flags(estimator, "fit_intercept", "intersectional")
    for choice, names in (("parity_on", PARITY_ON), ("weight_scope", WEIGHT_SCOPES)):
        value = getattr(estimator, choice)
        if value not in names:
            raise ValueError(f"{choice}={value!r} is not known. Pass one of {', '.join(names)}.")
    size = estimator.min_group_size
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise ValueError(f"min_group_size={size!r} is not a whole number of 0 or more.")
    if estimator.max_gap is not None and estimator.unfairness != 0:
        raise ValueError(
            f"Both unfairness={estimator.unfairness!r} and max_gap={estimator.max_gap!r} turn the "
            "dial. Pass one of them."
        )


def functionals_of(constraint: Constraint, rows: Rows, n_outputs: int) -> Functionals:
    """What a constraint, which may be a user's own, says of rows."""
    functionals = constraint.functionals(rows)
    name = type(constraint).__name__
    if not isinstance(functionals, Functionals) or functionals.n_rows != rows.n_rows:
        raise TypeError(
            f"{name}.functionals returned {type(functionals).__name__}. Return Functionals of all "
            f"{rows.n_rows} rows, as Functionals.from_weights makes them."
        )
    given = functionals.targets.shape[1]
    if given not in (1, n_outputs):
        raise ValueError(
            f"{name} has targets for {given} outputs, but y has {n_outputs}. Pass one target for "
            "each condition, or one for each condition and output."
        )
    return functionals


def refuse_unused(constraint: Constraint, has_control: bool, intersectional: bool) -> None:
    """Refuse what a constraint would not look at."""
    name = type(constraint).__name__
    if has_control and "control_features" not in constraint.uses:
        raise ValueError(
            f"{name} does not look at control_features. Leave them out, or, if it is your own and "
            "does, say so: uses = ('control_features',)."
        )
    if not intersectional and "intersectional" not in constraint.uses:
        raise ValueError(
            f"{name} does not tell intersectional groups from others. Leave intersectional=True, "
            "or use MeanParity()."
        )
