"""What every fit reads, checked once: features, targets, weights, groups and the pool."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils import (
    _safe_indexing,
    assert_all_finite,
    check_array,
    check_consistent_length,
)
from sklearn.utils.validation import _num_samples

from meanparity._typing import Features, FloatArray, IntArray
from meanparity.data.features import FeatureLayout, check_shape
from meanparity.data.pool import Pool
from meanparity.data.refusals import refuse_masked, refuse_other_order, refuse_times
from meanparity.data.rows import Rows, Schema
from meanparity.data.streams import refuse_stream
from meanparity.linalg.memory import ADDRESS_LIMITS, UNLIMITED, require_addresses


@dataclass(frozen=True)
class InputOptions:
    """What the parameters of an estimator and of its constraint say about reading input.

    Parameters
    ----------
    estimator : str
        Name of the estimator, for error messages.
    sensitive_columns : int, str or list of them, optional
        Columns of X that are sensitive.
    drop_sensitive : bool
        Whether these columns are left out of the features.
    continuous, intersectional, missing
        See `Rows.from_columns`.
    weight_scope
        See `MeanParity`.
    """

    estimator: str
    sensitive_columns: Any = None
    drop_sensitive: bool = False
    continuous: Any = "auto"
    intersectional: bool = True
    missing: str = "error"
    weight_scope: str = "both"

    def __post_init__(self) -> None:
        check_flag("drop_sensitive", self.drop_sensitive)
        check_flag("intersectional", self.intersectional)
        if self.drop_sensitive and self.sensitive_columns is None:
            raise ValueError(
                "drop_sensitive=True takes sensitive_columns out of the features, but "
                "sensitive_columns is None. Name the columns."
            )


@dataclass(frozen=True, eq=False)
class PoolInput:
    """A checked pool.

    Parameters
    ----------
    X : (p, d) array or sparse matrix
        Features.
    rows : Rows
        Sensitive and control values, and weights.
    """

    X: Features
    rows: Rows


@dataclass(frozen=True, eq=False)
class FitInput:
    """A checked training set.

    Parameters
    ----------
    layout : FeatureLayout
        The columns of X, for reading rows to predict.
    X : (n, d) array or sparse matrix
        Features. They stay as they were passed if they are not converted to numbers.
    Y : (n, m) array
        Targets.
    weights : (n,) array or None
        Weights in the loss.
    sample_weight : (n,) array or None
        Weights as they were passed.
    rows : Rows
        Sensitive and control values, and weights in the constraint.
    single_output : bool
        Whether y has one dimension.
    spread : (m,) array
        Standard deviation of the targets.
    pool : PoolInput or None
        The rows of the pool, if the constraint has to hold there.
    """

    layout: FeatureLayout
    X: Any
    Y: FloatArray
    weights: FloatArray | None
    sample_weight: FloatArray | None
    rows: Rows
    single_output: bool
    spread: FloatArray
    pool: PoolInput | None = None

    def subset(self, rows: IntArray) -> Self:
        """The training set without other rows; the pool stays."""
        Y = self.Y[rows]
        given = (self.weights, self.sample_weight)
        weights, sample_weight = (None if part is None else part[rows] for part in given)
        return replace(
            self,
            X=_safe_indexing(self.X, rows),
            Y=Y,
            weights=weights,
            sample_weight=sample_weight,
            rows=self.rows.subset(rows),
            spread=Y.std(axis=0),
        )


def read_fit_input(
    options: InputOptions,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    control_features: Any = None,
    sample_weight: Any = None,
    to_numbers: bool = True,
    min_rows: int = 2,
) -> FitInput:
    """Read and check a training set, without its pool.

    Parameters
    ----------
    options : InputOptions
        How to read it.
    X, y, sensitive_features, control_features, sample_weight
        The arguments of fit.
    to_numbers : bool
        Whether the features are converted to an array of numbers.
    min_rows : int
        Smallest number of rows allowed.
    """
    if any(limit()[0] != UNLIMITED for limit in ADDRESS_LIMITS.values()):
        require_addresses()
    name = options.estimator
    if y is None:
        raise ValueError(
            f"This {name} estimator requires y to be passed, but the target y is None."
        )
    people = (sensitive_features, control_features, sample_weight)
    if any(not isinstance(part, np.ndarray | None) for part in (X, y, *people)):
        refuse_other_order(
            X=X,
            y=y,
            sensitive_features=sensitive_features,
            control_features=control_features,
            sample_weight=sample_weight,
        )
    layout = FeatureLayout.from_table(X, options.sensitive_columns, bool(options.drop_sensitive))
    if to_numbers:
        features = layout.read(X, estimator=name, min_rows=min_rows)
    else:
        check_shape(X, name, min_rows)
        features = layout.select(X)
    Y, single_output = read_targets(name, X, y)
    weights = None if sample_weight is None else check_weights(sample_weight, len(Y))
    rows = Rows.from_columns(
        sensitive_values(options, layout, X, sensitive_features, len(Y)),
        control_features=control_features,
        sample_weight=weights if options.weight_scope != "loss" else None,
        y=Y,
        n_rows=len(Y),
        continuous=options.continuous,
        intersectional=options.intersectional,
        missing=options.missing,
    )
    in_loss = weights if options.weight_scope != "constraint" else None
    with np.errstate(over="ignore", invalid="ignore"):  # a fit that overflows is refused later
        spread = Y.std(axis=0)
    return FitInput(layout, features, Y, in_loss, weights, rows, single_output, spread)


def read_pool(
    options: InputOptions,
    data: FitInput,
    pool: Pool,
    *,
    precomputed: bool = False,
) -> FitInput:
    """The training set with a pool whose columns are read like those of the training rows.

    With a precomputed kernel, rows to predict have a kernel value for each row of the pool too.
    """
    layout, n = data.layout, len(data.Y)
    try:
        refuse_other_order(
            X=pool.X,
            sensitive_features=pool.sensitive_features,
            control_features=pool.control_features,
            sample_weight=pool.sample_weight,
        )
        if precomputed:
            points, layout = _precomputed_pool(layout, pool.X, n)
        else:
            points = _pool_features(layout, pool.X, options.estimator)
        p = points.shape[0]
        weights = None if pool.sample_weight is None else check_weights(pool.sample_weight, p)
        rows = data.rows.schema.read_rows(
            sensitive_values(options, layout, pool.X, pool.sensitive_features, p),
            control_features=pool.control_features,
            sample_weight=weights,
            n_rows=p,
        )
    except ValueError as error:
        raise ValueError(f"In the pool: {error}") from error
    return replace(data, layout=layout, pool=PoolInput(points, rows))


def _pool_features(layout: FeatureLayout, X: Any, estimator: str) -> Features:
    try:
        return layout.read(X, estimator=estimator)
    except ValueError as error:
        raise ValueError(
            f"{error} The pool needs the columns that fit sees; after other steps of a "
            "pipeline, pass pipeline[:-1].transform(X_pool)."
        ) from error


def _precomputed_pool(layout: FeatureLayout, X: Any, n: int) -> tuple[Features, FeatureLayout]:
    points = replace(layout, n_columns=0, names=None).read(X)
    width = n + points.shape[0]
    if points.shape[1] != width:
        raise ValueError(
            f"The pool has kernel values of shape {points.shape}, but kernel='precomputed' needs "
            f"{(points.shape[0], width)}: those with the {n} training rows, followed by those "
            "with the pool itself. Pass κ(X_pool, [X, X_pool]), and κ(X_new, [X, X_pool]) to "
            "predict."
        )
    return points, replace(layout, n_columns=width, names=None)


def read_targets(name: str, X: Any, y: Any) -> tuple[FloatArray, bool]:
    """Targets of the rows of X, (n, m), and whether y has one dimension."""
    if isinstance(y, np.ma.MaskedArray):
        refuse_masked(y, "y")
        y = y.data
    if isinstance(y, np.ndarray) and y.dtype == np.float64 and y.ndim in (1, 2) and y.size:
        assert_all_finite(y, estimator_name=name, input_name="y")
    else:
        refuse_stream(y, "y")
        refuse_times(y, "y")
        try:
            y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", estimator=name)
        except ValueError as error:
            if "could not convert string" in str(error):
                raise ValueError(
                    f"y holds text ({error}). Pass numbers; for two classes use "
                    "ParityKernelClassifier."
                ) from error
            raise
    check_consistent_length(X, y)
    return y.reshape(len(y), -1), y.ndim == 1


def sensitive_values(
    options: InputOptions, layout: FeatureLayout, X: Any, sensitive_features: Any, n_rows: int
) -> Any:
    """The sensitive columns: those that were passed, or those in X."""
    name, columns = options.estimator, options.sensitive_columns
    if layout.sensitive and sensitive_features is not None:
        raise ValueError(
            f"Both sensitive_features and sensitive_columns={columns!r} say what is sensitive. "
            "Pass one of them."
        )
    if _are_column_names(sensitive_features, layout.names, n_rows):
        raise ValueError(
            f"sensitive_features={sensitive_features!r} names columns of X. Pass the columns "
            f"themselves, or {name}(sensitive_columns={sensitive_features!r})."
        )
    if sensitive_features is not None:
        return sensitive_features
    if layout.sensitive:
        return layout.sensitive_values(X)
    raise ValueError(
        f"{name} needs to know which group each row belongs to. Pass fit(X, y, "
        "sensitive_features=...), or, if the sensitive columns are in X, name them: "
        f"{name}(sensitive_columns=[...]). A pool needs its own: pool=(X_pool, "
        "sensitive_features_pool)."
    )


def _are_column_names(values: Any, names: tuple[str, ...] | None, n_rows: int) -> bool:
    """Whether a list holds names of columns instead of the values of a column."""
    if not isinstance(values, list | tuple) or len(values) in (0, n_rows):
        return False
    return all(isinstance(value, str) and value in (names or ()) for value in values)


def read_rows_to_predict(
    options: InputOptions,
    layout: FeatureLayout,
    schema: Schema,
    X: Any,
    sensitive_features: Any,
    control_features: Any = None,
) -> Rows:
    """Sensitive and control values of rows to predict, for methods that need to know them."""
    name = options.estimator
    if sensitive_features is None and not layout.sensitive:
        raise ValueError(
            f"{name} needs the sensitive features of the rows it predicts. Pass predict(X, "
            "sensitive_features=...), or, if they are columns of X, name them: "
            f"{name}(sensitive_columns=[...])."
        )
    if layout.sensitive and not layout.drop_sensitive and sensitive_features is not None:
        raise ValueError(
            "sensitive_features are given, but fit read them from the columns of X that "
            f"sensitive_columns={options.sensitive_columns!r} names. Leave them out."
        )
    refuse_other_order(
        X=X, sensitive_features=sensitive_features, control_features=control_features
    )
    if sensitive_features is None:  # the same columns, whether they have names here or not
        values = layout.sensitive_values(X).values()
        sensitive_features = dict(zip(schema.sensitive, values, strict=True))
    return schema.read_rows(
        sensitive_features, control_features=control_features, n_rows=_num_samples(X)
    )


def check_weights(sample_weight: Any, n_rows: int, *, all_zero: bool = False) -> FloatArray:
    """Weights of n rows: finite, not negative, and not all zero unless `all_zero` is set.

    Examples
    --------
    >>> check_weights([1, 0, 2], 3)
    array([1., 0., 2.])
    """
    refuse_stream(sample_weight, "sample_weight")
    refuse_masked(sample_weight, "sample_weight")
    weights: FloatArray = check_array(
        sample_weight,
        ensure_2d=False,
        dtype=np.float64,
        input_name="sample_weight",
        ensure_non_negative=True,
        copy=True,
    )
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, but there are {n_rows} rows. Pass one "
            "weight for each row."
        )
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not 1e-290 < total < np.inf and not (all_zero and total == 0):
        raise ValueError(
            f"The weights in sample_weight sum to {total:g}: all are zero, or some are too "
            "small or too large for floating point. Pass weights of which at least one is positive."
        )
    return weights


def check_dial(
    unfairness: Any, max_gap: Any, fit_intercept: Any, confidence: Any, pooling: Any
) -> None:
    """Refuse parameters of an estimator that are wrong whatever the data."""
    check_unfairness(unfairness)
    check_flag("fit_intercept", fit_intercept)
    if max_gap is not None and unfairness != 0:
        raise ValueError(
            f"Both unfairness={unfairness!r} and max_gap={max_gap!r} set the dial. Pass one of "
            "them."
        )
    if pooling is not None and (max_gap is not None or unfairness != 0):
        other = f"max_gap={max_gap!r}" if max_gap is not None else f"unfairness={unfairness!r}"
        raise ValueError(
            f"Both pooling={pooling!r} of the constraint and {other} say how far gaps are closed. "
            "Pass one of them."
        )
    if confidence is None:
        return
    if max_gap is None:
        raise ValueError(f"confidence={confidence!r} is about max_gap. Pass max_gap as well.")
    if isinstance(confidence, bool | str) or not 0 < confidence < 1:
        raise ValueError(
            f"confidence={confidence!r} is not between 0 and 1. Pass a number such as 0.95."
        )


def check_flag(name: str, value: Any) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r}. Pass True or False.")


def check_alpha(alpha: Any, n_outputs: int) -> FloatArray:
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
    return np.full(n_outputs, values)


def check_unfairness(value: Any) -> float:
    """A number between 0 and 1, or an error that says so.

    Examples
    --------
    >>> check_unfairness(0.25)
    0.25
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, bool | np.bool_ | str) or not 0.0 <= number <= 1.0:
        raise ValueError(
            f"unfairness={value!r} is not a number between 0 and 1. "
            "Pass 0 for parity, 1 for the unconstrained solution, or a number between."
        )
    return number
