"""What every `fit` reads: features, targets, weights, and who is in which group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import validate_data

from meanparity._typing import FloatArray
from meanparity.rows import Reading, Rows
from meanparity.sources import Table, check_weights


@dataclass(frozen=True, eq=False)
class Training:
    """A checked training set.

    Parameters
    ----------
    table : Table
        How to read the features of rows to predict.
    X : (n, d) array or sparse matrix
        Features, unless they were left as they are.
    Y : (n, m) array
        Targets.
    weights : (n,) array or None
        Sample weights, as they were passed.
    rows : Rows
        Sensitive and control values.
    single_output : bool
        Whether y has one dimension.
    """

    table: Table
    X: Any
    Y: FloatArray
    weights: FloatArray | None
    rows: Rows
    single_output: bool


def read_training(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    control_features: Any = None,
    sample_weight: Any = None,
    weigh_groups: bool = True,
    convert: bool = True,
    precise: bool = True,
    min_rows: int = 2,
    **reading: Any,
) -> Training:
    """The training set of an estimator's fit.

    Parameters
    ----------
    estimator : estimator
        Its `sensitive_columns` and `drop_sensitive` say where the groups travel.
    X, y, sensitive_features, control_features, sample_weight
        What `fit` got.
    weigh_groups : bool
        Whether weights count in means of groups.
    convert : bool
        Whether features become arrays of numbers, or stay what they are for another estimator.
    precise : bool
        Whether these are of double precision, or may stay of single precision.
    min_rows : int
        How many rows there have to be.
    **reading
        How sensitive columns are read, see `Rows.of`.
    """
    name = type(estimator).__name__
    if y is None:
        raise ValueError(
            f"This {name} estimator requires y to be passed, but the target y is None."
        )
    table = Table.like(X, estimator.sensitive_columns, bool(estimator.drop_sensitive))
    kinds: dict[str, Any] = {"convert": convert, "precise": precise, "min_rows": min_rows}
    features = read_features(estimator, table, X, reset=True, **kinds)
    Y, single_output = read_targets(name, X, y)
    weights = None if sample_weight is None else check_weights(sample_weight, len(Y))
    rows = Rows.of(
        sensitive_values(estimator, table, X, sensitive_features, len(Y)),
        control_features=control_features,
        sample_weight=weights if weigh_groups else None,
        y=Y,
        n_rows=len(Y),
        **reading,
    )
    return Training(table, features, Y, weights, rows, single_output)


def read_targets(name: str, X: Any, y: Any) -> tuple[FloatArray, bool]:
    """Targets of the rows of X, (n, m), and whether they have one dimension."""
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", estimator=name)
    check_consistent_length(X, y)
    return y.reshape(len(y), -1), y.ndim == 1


def read_features(
    estimator: Any,
    table: Table,
    X: Any,
    *,
    reset: bool,
    convert: bool = True,
    precise: bool = True,
    min_rows: int = 2,
) -> Any:
    """Features of X; names and number of columns are compared the way scikit-learn does."""
    name = type(estimator).__name__
    if not convert:
        _check_shape(X, name, 2 if reset else 1)
        if not table.drop_sensitive or reset:
            validate_data(estimator, X, reset=reset, skip_check_array=True)
        return table.select(X)
    if reset:
        features = table.features(X, estimator=name, min_rows=min_rows, precise=precise)
        validate_data(estimator, X, skip_check_array=True)
        return features
    named = hasattr(X, "columns")
    if named and not table.drop_sensitive:  # scikit-learn says which names are wrong
        validate_data(estimator, X, reset=False, skip_check_array=True)
    features = table.features(X, estimator=name, precise=precise)
    if not named and not table.drop_sensitive:  # and that there are none
        validate_data(estimator, X, reset=False, skip_check_array=True)
    return features


def _check_shape(X: Any, name: str, min_rows: int) -> None:
    """Let scikit-learn say what is wrong with the shape of X, without looking at what it holds."""
    shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
    if len(shape) != 2 or shape[0] < min_rows or shape[1] < 1:
        check_array(
            X, dtype=None, ensure_all_finite=False, ensure_min_samples=min_rows, estimator=name
        )


def sensitive_values(
    estimator: Any, table: Table, X: Any, sensitive_features: Any, n_rows: int
) -> Any:
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
    pool = " A pool needs them as well: pool=(X_pool, sensitive_features_pool)."
    raise ValueError(
        f"{name} needs to know who is in which group. Pass fit(X, y, sensitive_features=...), or, "
        f"if the sensitive columns are in X, name them: {name}(sensitive_columns=[...])."
        + (pool if hasattr(estimator, "parity_on") else "")
    )


def read_people(
    estimator: Any,
    table: Table,
    reading: Reading,
    X: Any,
    sensitive_features: Any,
    n_rows: int,
    control_features: Any = None,
) -> Rows:
    """The sensitive and control values of rows to predict; an error says that they are needed."""
    name = type(estimator).__name__
    if sensitive_features is None and not table.sensitive:
        raise ValueError(
            f"{name} needs the sensitive features of the rows it predicts. Pass predict(X, "
            "sensitive_features=...), or, if they are columns of X, name them: "
            f"{name}(sensitive_columns=[...])."
        )
    if table.sensitive and not table.drop_sensitive and sensitive_features is not None:
        raise ValueError(
            "sensitive_features are given, but fit read them from the columns of X that "
            f"sensitive_columns={estimator.sensitive_columns!r} names. Leave them out."
        )
    if sensitive_features is None:  # the same columns, whether they have names here or not
        values = table.sensitive_values(X).values()
        sensitive_features = dict(zip(reading.sensitive, values, strict=True))
    return reading.rows(sensitive_features, control_features=control_features, n_rows=n_rows)


def refuse_identifier(rows: Rows, if_number: str = "pass continuous=[its name] or bin it") -> None:
    """Refuse groups of one row each; the second argument says what to do with a number."""
    groups = rows.groups
    alone = groups is not None and rows.reading.intersectional and groups.n_groups == rows.n_rows
    if alone and not rows.reading.control and not rows.reading.continuous and rows.weights is None:
        raise ValueError(
            f"sensitive_features has {rows.n_rows} different values in {rows.n_rows} rows: every "
            "row is its own group, and equal group means would make every prediction the same. If "
            f"the column is a number such as age, {if_number}; if it is an identifier, pass "
            "another column."
        )


def check_flags(estimator: Any, *flags: str) -> None:
    """Refuse anything but True and False, and `drop_sensitive` without columns to drop."""
    for flag in (*flags, "drop_sensitive"):
        value = getattr(estimator, flag)
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{flag}={value!r}. Pass True or False.")
    if estimator.drop_sensitive and estimator.sensitive_columns is None:
        raise ValueError(
            "drop_sensitive=True takes sensitive_columns out of the features, but "
            "sensitive_columns is None. Name the columns."
        )


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
    return np.broadcast_to(values, n_outputs).copy()


def _are_names(values: Any, names: tuple[str, ...] | None, n_rows: int) -> bool:
    """Whether a list holds names of columns instead of a column."""
    if not isinstance(values, list | tuple) or len(values) in (0, n_rows):
        return False
    return all(isinstance(value, str) and value in (names or ()) for value in values)
