"""From what a user passes to what a solver takes, checked on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import validate_data

from meanparity._typing import Features, FloatArray
from meanparity.constraints import Constraint, Functionals, resolve_constraint
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
    """

    table: Table
    task: Task
    rows: Rows
    pool: Rows | None
    constraint: Constraint
    measured: tuple[Functionals, Functionals]
    single_output: bool


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
    name = type(estimator).__name__
    if y is None:
        raise ValueError(
            f"This {name} estimator requires y to be passed, but the target y is None."
        )
    _check_parameters(estimator)
    table = Table.like(X, estimator.sensitive_columns, bool(estimator.drop_sensitive))
    features = read_features(estimator, table, X, reset=True)
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", estimator=name)
    check_consistent_length(X, y)
    Y = y.reshape(len(y), -1)
    weights = None if sample_weight is None else check_weights(sample_weight, len(Y))
    scope = estimator.weight_scope
    rows = Rows.of(
        _sensitive(estimator, table, X, sensitive_features, len(Y)),
        control_features=control_features,
        sample_weight=weights if scope != "loss" else None,
        y=Y,
        n_rows=len(Y),
        continuous=estimator.continuous,
        intersectional=bool(estimator.intersectional),
        missing=estimator.missing,
    )
    constraint = resolve_constraint(estimator.constraint).settled(rows)
    _refuse_unused(constraint, control_features is not None, bool(estimator.intersectional))
    on_train = estimator.parity_on != "pool"
    if on_train and not constraint.reads_values:
        _refuse_identifier(rows)
    task = Task(
        features,
        Y,
        _check_alpha(estimator.alpha, Y.shape[1]),
        _functionals(constraint, rows, Y.shape[1]) if on_train else Functionals.none(len(Y)),
        bool(estimator.fit_intercept),
        weights if scope != "constraint" else None,
    )
    none = Functionals.none(0)
    measured = constraint.measured(rows, task.functionals) if on_train else none
    people = _people(estimator, pool, constraint)
    if people is None:
        return Problem(table, task, rows, None, constraint, (measured, none), y.ndim == 1)
    try:
        points, table = _pool_features(estimator, table, people.X, len(Y), precomputed)
        p, heavy = points.shape[0], people.sample_weight
        others = rows.reading.rows(
            _sensitive(estimator, table, people.X, people.sensitive_features, p),
            control_features=people.control_features,
            sample_weight=None if heavy is None else check_weights(heavy, p),
            n_rows=p,
        )
        functionals = _functionals(constraint, others, Y.shape[1])
    except ValueError as error:
        raise ValueError(f"In the pool: {error}") from error
    both = measured, constraint.measured(others, functionals)
    task = replace(task, points=points, pool=functionals)
    return Problem(table, task, rows, others, constraint, both, y.ndim == 1)


def read_features(estimator: Any, table: Table, X: Any, *, reset: bool) -> Features:
    """Features of X; names and number of columns are compared the way scikit-learn does."""
    name = type(estimator).__name__
    if reset:
        features = table.features(X, estimator=name, min_rows=2)
        validate_data(estimator, X, skip_check_array=True)
        return features
    named = hasattr(X, "columns")
    if named and not table.drop_sensitive:  # scikit-learn says which names are wrong
        validate_data(estimator, X, reset=False, skip_check_array=True)
    features = table.features(X, estimator=name)
    if not named and not table.drop_sensitive:  # and that there are none
        validate_data(estimator, X, reset=False, skip_check_array=True)
    return features


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


def _people(estimator: Any, pool: Any, constraint: Constraint) -> Pool | None:
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


def _refuse_identifier(rows: Rows) -> None:
    groups = rows.groups
    alone = groups is not None and rows.reading.intersectional and groups.n_groups == rows.n_rows
    if alone and not rows.reading.control and not rows.reading.continuous and rows.weights is None:
        raise ValueError(
            f"sensitive_features has {rows.n_rows} different values in {rows.n_rows} rows: every "
            "row is its own group, and equal group means would make every prediction the same. If "
            "the column is a number such as age, pass continuous=[its name] or bin it; if it is an "
            "identifier, pass another column."
        )


def _sensitive(estimator: Any, table: Table, X: Any, sensitive_features: Any, n_rows: int) -> Any:
    """The sensitive columns, from wherever they travel."""
    name, columns = type(estimator).__name__, estimator.sensitive_columns
    if table.sensitive and sensitive_features is not None:
        raise ValueError(
            f"Both sensitive_features and sensitive_columns={columns!r} say what is sensitive. "
            "Pass one of them."
        )
    if _are_names(sensitive_features, table.names, n_rows):
        raise ValueError(
            f"sensitive_features={sensitive_features!r} names columns of X. Pass the columns "
            f"themselves, or {name}(sensitive_columns={sensitive_features!r})."
        )
    if sensitive_features is not None:
        return sensitive_features
    if table.sensitive:
        return table.sensitive_values(X)
    raise ValueError(
        f"{name} needs to know who is in which group. Pass fit(X, y, sensitive_features=...), or, "
        f"if the sensitive columns are in X, name them: {name}(sensitive_columns=[...]). A pool "
        "needs them as well: pool=(X_pool, sensitive_features_pool)."
    )


def _are_names(values: Any, names: tuple[str, ...] | None, n_rows: int) -> bool:
    """Whether a list holds names of columns instead of a column."""
    if not isinstance(values, list | tuple) or len(values) in (0, n_rows):
        return False
    return all(isinstance(value, str) and value in (names or ()) for value in values)


def _check_parameters(estimator: Any) -> None:
    for flag in ("fit_intercept", "drop_sensitive", "intersectional"):
        value = getattr(estimator, flag)
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{flag}={value!r}. Pass True or False.")
    for choice, names in (("parity_on", PARITY_ON), ("weight_scope", WEIGHT_SCOPES)):
        value = getattr(estimator, choice)
        if value not in names:
            raise ValueError(f"{choice}={value!r} is not known. Pass one of {', '.join(names)}.")
    size = estimator.min_group_size
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise ValueError(f"min_group_size={size!r} is not a whole number of 0 or more.")
    if estimator.drop_sensitive and estimator.sensitive_columns is None:
        raise ValueError(
            "drop_sensitive=True takes sensitive_columns out of the features, but "
            "sensitive_columns is None. Name the columns."
        )
    if estimator.max_gap is not None and estimator.unfairness != 0:
        raise ValueError(
            f"Both unfairness={estimator.unfairness!r} and max_gap={estimator.max_gap!r} turn the "
            "dial. Pass one of them."
        )


def _functionals(constraint: Constraint, rows: Rows, n_outputs: int) -> Functionals:
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


def _refuse_unused(constraint: Constraint, has_control: bool, intersectional: bool) -> None:
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


def _check_alpha(alpha: Any, n_outputs: int) -> FloatArray:
    """The penalty of each output: (m,)."""
    try:
        values = np.asarray(alpha, dtype=float)
    except (TypeError, ValueError, OverflowError):
        values = np.array(np.nan)
    if isinstance(alpha, bool | str) or not np.isfinite(values).all():
        raise ValueError(f"alpha={alpha!r} is not a finite number. Pass 0 or more.")
    if (values < 0).any():
        raise ValueError(f"alpha={alpha!r} is negative. Pass 0 (no penalty) or more.")
    if values.ndim > 1 or values.size not in (1, n_outputs):
        raise ValueError(
            f"alpha has shape {values.shape}, but y has {n_outputs} output(s). "
            "Pass one number, or one for each output."
        )
    return np.broadcast_to(values, n_outputs).copy()
