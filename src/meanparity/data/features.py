"""Features of arrays, sparse matrices and data frames, and the sensitive columns among them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from meanparity._typing import Features
from meanparity.data.columns import find_column
from meanparity.data.files import is_files
from meanparity.data.partitions import is_dask
from meanparity.data.refusals import refuse_dates, refuse_masked
from meanparity.data.streams import refuse_stream, stream_kind
from meanparity.state import stored


def in_memory(X: Any) -> bool:
    """Whether X is rows in memory, rather than files, a stream or a Dask collection."""
    return isinstance(X, np.ndarray) or not (is_files(X) or is_dask(X) or stream_kind(X))


@stored("FeatureLayout")
@dataclass(frozen=True)
class FeatureLayout:
    """Which columns X has: settled in fit, and the same for rows to predict.

    Parameters
    ----------
    n_columns : int
        Number of columns.
    names : tuple of str or None
        Their names, if X was a data frame.
    sensitive : tuple of int
        Positions of the sensitive columns.
    drop_sensitive : bool
        Whether the sensitive columns are left out of the features.
    """

    n_columns: int
    names: tuple[str, ...] | None
    sensitive: tuple[int, ...]
    drop_sensitive: bool

    def __post_init__(self) -> None:
        known = range(self.n_columns)
        if not all(isinstance(at, int) and at in known for at in self.sensitive):  # from a file
            raise ValueError(f"{self.sensitive} are not positions of {self.n_columns} columns")

    @classmethod
    def from_table(
        cls, X: Any, sensitive_columns: Any = None, drop_sensitive: bool = False
    ) -> FeatureLayout:
        """The layout of X, (n, d), in which some columns are sensitive."""
        frame, shape = _frame(X), shape_of(X)
        names = None if frame is None else _names(frame)
        n_columns = int(shape[1]) if len(shape) == 2 else 0
        wanted: Any = [sensitive_columns] if np.ndim(sensitive_columns) == 0 else sensitive_columns
        if sensitive_columns is None or n_columns == 0:  # `read` says what is wrong with X
            wanted = ()
        positions = tuple(_position(column, n_columns, names) for column in wanted)
        if drop_sensitive and n_columns and len(set(positions)) == n_columns:
            raise ValueError(
                f"sensitive_columns={sensitive_columns!r} are all {n_columns} columns of X, and "
                "drop_sensitive=True leaves no features. Pass more columns."
            )
        return cls(n_columns, names, positions, drop_sensitive)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns that are features."""
        return None if self.names is None else tuple(self.names[i] for i in self._features)

    @cached_property
    def _features(self) -> list[int]:
        left_out = set(self.sensitive) if self.drop_sensitive else set()
        return [i for i in range(self.n_columns) if i not in left_out]

    def read(self, X: Any, *, estimator: str = "meanparity", min_rows: int = 1) -> Features:
        """The features of X: dense or CSR, finite, in single or double precision, (n, d)."""
        X = self.select(X)
        if type(X) is not np.ndarray or X.dtype.kind in "mM":
            refuse_masked(X, "X")
            refuse_dates(X)
        try:
            X = check_array(
                X,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                estimator=estimator,
                ensure_min_samples=min_rows,
                input_name="X",
            )
        except ValueError as error:
            if "could not convert string" in str(error) or "Unable to convert" in str(error):
                raise ValueError(
                    f"X holds text ({error}). Encode it as numbers, for instance with "
                    "scikit-learn's OneHotEncoder; if it is a sensitive column, pass it as "
                    "sensitive_features, or name it in sensitive_columns with drop_sensitive=True."
                ) from error
            raise
        if self.n_columns and X.shape[1] != len(self._features):
            raise ValueError(
                f"X has {X.shape[1]} features, but {estimator} is expecting "
                f"{len(self._features)} features as input."
            )
        return X

    def select(self, X: Any) -> Any:
        """X without the sensitive columns that are dropped, which rows to predict may lack."""
        frame = _frame(X)
        names = None if frame is None else _names(frame)
        if names is not None and self.names not in (None, names):
            if self.drop_sensitive and names == self.feature_names:
                return X
            raise ValueError(
                f"X has the columns {list(names)}, but fit saw {list(self.names or ())}. "
                "Pass these, in this order."
            )
        if not self.drop_sensitive or shape_of(X)[1:] != (self.n_columns,):
            return X
        if frame is not None:
            return frame.select(nw.nth(*self._features)).to_native()
        return _by_column(X)[:, self._features]

    def sensitive_values(self, X: Any) -> dict[Any, Any]:
        """The sensitive columns of X, by name, or by position if X has no names."""
        frame, shape = _frame(X), shape_of(X)
        if shape[1:] != (self.n_columns,):
            raise ValueError(
                f"X has shape {shape}, but fit saw {self.n_columns} columns, the sensitive ones "
                "among them. Pass all of them, or sensitive_features."
            )
        if frame is not None:
            return {frame.columns[i]: frame[:, i].to_native() for i in self.sensitive}
        values = _by_column(X)[:, list(self.sensitive)]
        values = values.toarray() if sparse.issparse(values) else values
        return {f"column {i}": column for i, column in zip(self.sensitive, values.T, strict=True)}


def shape_of(X: Any) -> tuple[int, ...]:
    """The shape of a table of any kind."""
    return tuple(X.shape) if hasattr(X, "shape") else np.asarray(X).shape


def check_shape(X: Any, name: str, min_rows: int) -> None:
    """Let scikit-learn refuse X by its shape, without looking at its values."""
    shape = shape_of(X)
    if len(shape) != 2 or shape[0] < min_rows or shape[1] < 1:
        check_array(
            X, dtype=None, ensure_all_finite=False, ensure_min_samples=min_rows, estimator=name
        )


def features_to_predict(
    estimator: Any, layout: FeatureLayout, X: Any, *, to_numbers: bool = True
) -> Any:
    """Features of rows to predict, compared with those of fit the way scikit-learn does.

    Parameters
    ----------
    estimator : estimator
        Knows the number and the names of the columns.
    layout : FeatureLayout
        The columns of X.
    X : array-like or sparse matrix of shape (n, d)
        The rows.
    to_numbers : bool
        Whether the features are converted to an array of numbers.
    """
    if not isinstance(X, np.ndarray):
        refuse_stream(X, "X")
    name, named = type(estimator).__name__, hasattr(X, "columns")
    checked = not layout.drop_sensitive
    if named and checked:  # scikit-learn names the columns that differ
        validate_data(estimator, X, reset=False, skip_check_array=True)
    if to_numbers:
        features = layout.read(X, estimator=name)
    else:
        check_shape(X, name, 1)
        features = layout.select(X)
    if not named and checked:  # and warns if names are missing
        validate_data(estimator, X, reset=False, skip_check_array=True)
    return features


def stack(X: Features, points: Features | None) -> Features:
    """Stack other rows below rows; the result is sparse if any part is."""
    if points is None:
        return X
    if sparse.issparse(X) or sparse.issparse(points):
        return sparse.vstack([X, points], format="csr")
    return np.vstack([X, points])


def _frame(X: Any) -> nw.DataFrame[Any] | None:
    """X as a narwhals data frame, or None if it is not one; rows have to be in memory."""
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return None
    if isinstance(X, str | os.PathLike):
        raise TypeError(
            f"X is {str(X)!r}, but only ParityRidge.fit and ParityKernelRidge.fit read files. Pass "
            "the rows themselves, for instance from pandas.read_csv."
        )
    if is_dask(X):
        raise TypeError(
            "X is a Dask collection, which only ParityRidge and ParityKernelRidge accept. Pass "
            "rows in memory, such as X.compute()."
        )
    refuse_stream(X, "X")
    native = nw.from_native(X, pass_through=True, eager_only=True)
    return native if isinstance(native, nw.DataFrame) else None


def _by_column(X: Any) -> Any:
    """An X without names in a form that columns can be taken from; numbers stay beside text."""
    if sparse.issparse(X):
        return X.tocsc()
    return X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)


def _names(frame: nw.DataFrame[Any]) -> tuple[str, ...] | None:
    """Column names, if all of them are text, as scikit-learn has it."""
    columns = tuple(frame.columns)
    return columns if all(isinstance(name, str) for name in columns) else None


def _position(column: Any, n_columns: int, names: tuple[str, ...] | None) -> int:
    position = find_column(column, n_columns, names)
    if position is not None:
        return position
    if isinstance(column, str):
        have = f"columns {list(names)}" if names is not None else "no column names"
        raise ValueError(
            f"sensitive_columns names {column!r}, but X has {have}. Pass a data frame with that "
            "column, or the position of the column. A transformer before this estimator keeps "
            "names after set_output(transform='pandas')."
        )
    raise ValueError(
        f"sensitive_columns holds {column!r}, but X has {n_columns} columns. "
        f"Pass names, or positions from 0 to {n_columns - 1}."
    )
