"""Turning a table into arrays of numbers, divided into training and held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from meanparity._typing import FloatArray, IntArray
from meanparity.data.pool import Pool
from meanparity.tables.kinds import (
    column_kinds,
    convert_columns,
    text_categories,
    unknown_categories,
)
from meanparity.tables.roles import Roles

_FEWEST_ROWS = 10


@dataclass(frozen=True, eq=False, repr=False)
class EncodedRows:
    """Rows of a table as numbers.

    Parameters
    ----------
    X : (n, d) array
        Encoded features.
    y : (n,) array
        Targets.
    metadata : dict
        Sensitive columns, control columns and weights, as parameters of `fit`.
    groups : (n,) array of str
        The combination of sensitive values of each row.
    positions : (n,) array of int
        Positions of the rows in the table.
    """

    X: FloatArray
    y: FloatArray
    metadata: dict[str, Any]
    groups: Any
    positions: IntArray


@dataclass(frozen=True, eq=False, repr=False)
class EncodedTable:
    """A table as numbers, divided into training and held-out rows.

    Parameters
    ----------
    roles : Roles
        The role of each column.
    pipeline : Pipeline
        Encodes the feature columns: text, dates and empty cells become numbers, and every encoded
        column has mean 0 and variance 1 on the training rows.
    kinds, metadata_kinds : dict
        Kind of values in each feature column, and in each sensitive and control column.
    categories : dict
        Values of the text columns that have few of them.
    train, test : EncodedRows
        Training and held-out rows.
    n_dropped : int
        Number of rows without a target, which were dropped.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": ["F", "M"] * 20, "job": ["a", "b", "c", "c"] * 10})
    >>> frame["pay"] = range(40)
    >>> table = EncodedTable.from_frame(frame, Roles("pay", ("sex",)), test_size=0.25, seed=0)
    >>> table.names
    ['sex_M', 'job_a', 'job_b', 'job_c']
    >>> table.train.X.shape, list(table.train.metadata)
    ((30, 4), ['sensitive_features', 'control_features', 'sample_weight'])
    """

    roles: Roles
    pipeline: Pipeline
    kinds: dict[str, str]
    metadata_kinds: dict[str, str]
    categories: dict[str, list[str]]
    train: EncodedRows
    test: EncodedRows
    n_dropped: int

    @classmethod
    def from_frame(
        cls, frame: Any, roles: Roles, *, test_size: float, seed: int, missing: str = "error"
    ) -> EncodedTable:
        """Check a table, split it, and fit the encoding to the training rows.

        Parameters
        ----------
        frame : pandas data frame
            The table.
        roles : Roles
            The role of each column.
        test_size : float
            Share of the rows to hold out.
        seed : int
            Random seed of the split.
        missing : {"error", "ignore", "group"}, default="error"
            What to do with empty sensitive and control cells, as in `MeanParity`.
        """
        if not 0 < test_size < 1:
            raise ValueError(f"test_size={test_size!r} is not a share between 0 and 1.")
        frame = frame.reset_index(drop=True)
        roles.check(frame, "The table")
        y = roles.numbers(frame, str(roles.target))
        positions = np.flatnonzero(np.isfinite(y))
        if len(positions) < _FEWEST_ROWS:
            raise ValueError(
                f"{len(positions)} rows have a {roles.target!r}, which is too few to fit and audit "
                f"a model. Pass at least {_FEWEST_ROWS} rows with a target."
            )
        n_dropped = len(frame) - len(positions)
        frame, y = frame.iloc[positions], y[positions]
        for column in roles.sensitive:
            if frame[column].nunique(dropna=missing != "group") < 2:
                raise ValueError(
                    f"The sensitive column {column!r} has one value in all {len(frame):,} rows, so "
                    "there is nothing to compare. Name another column."
                )
        if missing == "error":
            roles.refuse_empty_cells(frame)
        elif missing not in ("ignore", "group"):
            raise ValueError(f"missing={missing!r} is not known. Pass error, ignore or group.")
        columns = roles.features(frame)
        kinds = column_kinds(frame, columns)
        metadata_kinds = column_kinds(frame, [*roles.sensitive, *roles.control])
        frame = frame.assign(**convert_columns(frame, kinds, "The table"))
        groups = frame[list(roles.sensitive)].astype(object).map(str).agg(", ".join, axis=1)
        train, test = _split(groups, test_size, seed)
        pipeline = _make_pipeline().fit(frame[columns].iloc[train])
        X = encode(pipeline, frame[columns])
        train_rows, test_rows = (
            EncodedRows(
                X[rows],
                y[rows],
                roles.metadata(frame.iloc[rows].reset_index(drop=True)),
                groups.to_numpy(dtype=object)[rows],
                positions[rows],
            )
            for rows in (train, test)
        )
        return cls(
            roles,
            pipeline,
            kinds,
            metadata_kinds,
            text_categories(frame.iloc[train], kinds),
            train_rows,
            test_rows,
            n_dropped,
        )

    @property
    def names(self) -> list[str]:
        """Names of the encoded columns."""
        return [str(name) for name in self.pipeline[0].get_feature_names_out()]

    def encode_pool(self, frame: Any) -> Pool:
        """Encode a table of rows to be scored, on which the constraint holds as well."""
        frame = frame.reset_index(drop=True)
        self.roles.check(frame, "The pool", target=False)
        require_columns(frame, self.kinds, "The pool")
        rows = convert_columns(frame, self.kinds, "The pool")
        unknown = unknown_categories(rows, self.categories)
        if unknown:
            column, values = next(iter(unknown.items()))
            raise ValueError(
                f"The pool has values of {column!r} that no training row has, such as "
                f"{values[0]!r}. Leave out these rows or the column."
            )
        metadata = convert_columns(frame, self.metadata_kinds, "The pool")
        return Pool(encode(self.pipeline, rows), **self.roles.metadata(frame.assign(**metadata)))


def encode(pipeline: Pipeline, rows: Any) -> FloatArray:
    """Encode rows as numbers; an unknown category counts as none of the known ones."""
    with warnings.catch_warnings():
        # the callers refuse unknown categories, or warn about them by name
        warnings.filterwarnings("ignore", "Found unknown categories", UserWarning)
        values: FloatArray = pipeline.transform(rows)
    return values


def require_columns(frame: Any, columns: Iterable[str], name: str) -> None:
    """Raise an error if a table lacks columns that the model was fitted with."""
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ValueError(
            f"{name} lacks the column {missing[0]!r}{more}, which the model was fitted with. Add "
            "it."
        )


def _make_pipeline() -> Pipeline:
    from skrub import TableVectorizer

    return Pipeline(
        [
            ("columns", TableVectorizer()),
            ("fill", SimpleImputer(keep_empty_features=True)),
            ("scale", StandardScaler()),
        ]
    )


def _split(groups: Any, test_size: float, seed: int) -> tuple[IntArray, IntArray]:
    """Positions of training and held-out rows, with equal shares of every group if possible."""
    counts = groups.value_counts()
    too_small = counts.min() < 2 or len(counts) > min(50, test_size * len(groups) / 2)
    train, test = train_test_split(
        np.arange(len(groups)),
        test_size=test_size,
        random_state=seed,
        stratify=None if too_small else groups,
    )
    return np.sort(train), np.sort(test)
