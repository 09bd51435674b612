"""Where rows come from: features and sensitive columns of arrays, sparse matrices and frames."""

from __future__ import annotations

import os
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from meanparity._typing import Features, FloatArray


def refuse_collections(X: Any) -> None:
    """Say where rows that are not in memory can be passed."""
    if isinstance(X, str | os.PathLike):
        raise TypeError(
            f"X is {str(X)!r}, but files are read by fit of ParityRidge and ParityKernelRidge "
            "alone. Pass the rows, for instance of pandas.read_csv."
        )
    if type(X).__module__.split(".")[0] == "dask":
        raise TypeError(
            "X is a Dask collection, which fit and predict of ParityRidge and ParityKernelRidge "
            "take. Pass rows in memory, such as X.compute()."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Pool:
    """People to be scored: what is known of them before their outcomes are.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (p, d)
        Their features, with the columns of the training rows. For the kernel "precomputed", kernel
        values with the training rows and then with the pool itself: (p, n + p).
    sensitive_features : array-like of shape (p,) or (p, r), or data frame
        Their sensitive columns, as in fit; not needed when `sensitive_columns` are in X.
    control_features : array-like or data frame, optional
        Their control columns, if fit has some.
    sample_weight : array-like of shape (p,), optional
        How much each of them counts in a mean, whatever `weight_scope` says of training weights.

    Examples
    --------
    >>> Pool([[1.0], [2.0], [4.0]], ["a", "b", "b"])
    Pool(3 rows)
    """

    X: Any
    sensitive_features: Any = None
    control_features: Any = None
    sample_weight: Any = None

    @classmethod
    def of(cls, pool: Any) -> Pool:
        """A pool from itself or from a pair (X, sensitive_features)."""
        if isinstance(pool, Pool):
            return pool
        if isinstance(pool, tuple) and len(pool) == 2:
            return cls(*pool)
        raise TypeError(
            f"pool is a {type(pool).__name__}. Pass a pair (X_pool, sensitive_features_pool), or "
            "meanparity.Pool(X_pool, sensitive_features=..., control_features=..., "
            "sample_weight=...); if sensitive_columns are in X, Pool(X_pool)."
        )

    def __repr__(self) -> str:
        return f"Pool({_shape(self.X, _frame(self.X))[0]} rows)"


@dataclass(frozen=True)
class Table:
    """How to read the columns of a table that looks like the one seen in fit.

    Parameters
    ----------
    n_columns : int
        Number of columns.
    names : tuple of str or None
        Their names, when the table was a data frame.
    sensitive : tuple of int
        Positions of the sensitive columns.
    drop_sensitive : bool
        Whether these are left out of the features.
    """

    n_columns: int
    names: tuple[str, ...] | None
    sensitive: tuple[int, ...]
    drop_sensitive: bool

    @classmethod
    def like(cls, X: Any, sensitive_columns: Any, drop_sensitive: bool) -> Table:
        """The layout of X, (n, d), with some columns named as sensitive."""
        refuse_collections(X)
        frame = _frame(X)
        names = None if frame is None else _names(frame)
        shape = _shape(X, frame)
        n_columns = int(shape[1]) if len(shape) == 2 else 0
        if sensitive_columns is None or n_columns == 0:  # `features` says what is wrong with X
            wanted = []
        elif np.ndim(sensitive_columns) == 0:
            wanted = [sensitive_columns]
        else:
            wanted = list(sensitive_columns)
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

    @property
    def _features(self) -> list[int]:
        left_out = set(self.sensitive) if self.drop_sensitive else set()
        return [i for i in range(self.n_columns) if i not in left_out]

    def features(
        self, X: Any, *, estimator: str = "meanparity", min_rows: int = 1, precise: bool = True
    ) -> Features:
        """The features of X: dense or CSR, finite, (n, d); of double precision if precise."""
        refuse_collections(X)
        X = self.select(X)
        try:
            X = check_array(
                X,
                accept_sparse="csr",
                dtype=np.float64 if precise else [np.float64, np.float32],
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
        """X without the columns to drop, which need not be there to predict."""
        frame = _frame(X)
        names = None if frame is None else _names(frame)
        if names is not None and self.names not in (None, names):
            if self.drop_sensitive and names == self.feature_names:
                return X
            raise ValueError(
                f"X has the columns {list(names)}, but fit saw {list(self.names or ())}. "
                "Pass these, in this order."
            )
        if not self.drop_sensitive or np.ndim(X) != 2 or np.shape(X)[1] != self.n_columns:
            return X
        if frame is not None:
            return frame.select(nw.nth(*self._features)).to_native()
        if not sparse.issparse(X) and not isinstance(X, np.ndarray):
            X = np.asarray(X, dtype=object)  # text beside numbers leaves these what they are
        return (X.tocsc() if sparse.issparse(X) else X)[:, self._features]

    def sensitive_values(self, X: Any) -> dict[str, Any]:
        """The sensitive columns of X, by name (or by position when X has no names)."""
        frame = _frame(X)
        shape = _shape(X, frame)
        if len(shape) != 2 or shape[1] != self.n_columns:
            raise ValueError(
                f"X has shape {shape}, but fit saw {self.n_columns} columns, the sensitive ones "
                "among them. Pass all of them, or sensitive_features."
            )
        values: dict[str, Any] = {}
        for position in self.sensitive:
            if frame is not None:
                values[str(frame.columns[position])] = frame[:, position].to_native()
            elif sparse.issparse(X):
                values[f"column {position}"] = X.tocsc()[:, [position]].toarray()[:, 0]
            else:
                rows = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
                values[f"column {position}"] = rows[:, position]
        return values


def check_weights(sample_weight: Any, n_rows: int, *, all_zero: bool = False) -> FloatArray:
    """Weights of n rows: finite, none negative, not all zero unless that is allowed.

    Examples
    --------
    >>> check_weights([1, 0, 2], 3)
    array([1., 0., 2.])
    """
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
            f"The weights in sample_weight sum to {total:g}: all are zero, or some too "
            "small or too large for floating point. Pass weights of which at least one is positive."
        )
    return weights


def row_hashes(X: Features) -> NDArray[np.uint64]:
    """A number for each row of X, (n,), the same for equal rows and hardly ever else.

    Examples
    --------
    >>> first, second, third = row_hashes(np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]]))
    >>> bool(first == second), bool(first == third)
    (True, False)
    """
    n, d = X.shape
    factors = np.random.default_rng(0).integers(0, 2**64, size=d, dtype=np.uint64) | np.uint64(1)
    hashes = np.zeros(n, dtype=np.uint64)
    for start in range(0, n, 4096):
        block = X[start : start + 4096]
        dense = block.toarray() if sparse.issparse(block) else np.asarray(block)
        bits = np.ascontiguousarray(dense + 0.0, dtype=np.float64).view(np.uint64)
        bits = (bits ^ (bits >> np.uint64(29))) * factors
        bits ^= bits >> np.uint64(32)
        hashes[start : start + 4096] = (bits * factors).sum(axis=1, dtype=np.uint64)
    return hashes


def stack(X: Features, points: Features | None) -> Features:
    """Rows above other rows, sparse if any are."""
    if points is None:
        return X
    if sparse.issparse(X) or sparse.issparse(points):
        return sparse.vstack([X, points], format="csr")
    return np.vstack([X, points])


def _frame(X: Any) -> nw.DataFrame[Any] | None:
    """X as a narwhals data frame, or None if it is not one."""
    native = nw.from_native(X, pass_through=True, eager_only=True)
    return native if isinstance(native, nw.DataFrame) else None


def _shape(X: Any, frame: nw.DataFrame[Any] | None) -> tuple[int, ...]:
    if frame is not None:
        return frame.shape
    shape: tuple[int, ...] = X.shape if sparse.issparse(X) else np.asarray(X).shape
    return shape


def _names(frame: nw.DataFrame[Any]) -> tuple[str, ...] | None:
    """Column names, if all of them are text, as scikit-learn has it."""
    columns = tuple(frame.columns)
    return columns if all(isinstance(name, str) for name in columns) else None


def _position(column: Any, n_columns: int, names: tuple[str, ...] | None) -> int:
    if isinstance(column, str):
        if names is not None and column in names:
            return names.index(column)
        have = f"columns {list(names)}" if names is not None else "no column names"
        raise ValueError(
            f"sensitive_columns names {column!r}, but X has {have}. Pass a data frame with that "
            "column, or the position of the column. A transformer before this estimator keeps "
            "names after set_output(transform='pandas')."
        )
    whole = isinstance(column, Integral) and column is not True and column is not False
    if whole and -n_columns <= int(column) < n_columns:
        return int(column) % n_columns
    raise ValueError(
        f"sensitive_columns holds {column!r}, but X has {n_columns} columns. "
        f"Pass names, or positions from 0 to {n_columns - 1}."
    )
