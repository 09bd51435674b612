"""Turning a table into arrays of numbers, divided into training and held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import _safe_indexing

from meanparity._typing import FloatArray, IntArray
from meanparity.exceptions import warn
from meanparity.tables.identifiers import warn_about_identifiers
from meanparity.tables.kinds import (
    column_kinds,
    convert_columns,
    text_categories,
    unknown_categories,
    with_columns,
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
    y : (n,) array or None
        Targets. Those of a pool are not known.
    metadata : dict
        Sensitive columns, control columns and weights, as parameters of `fit`. Their index counts
        the rows of the table.
    """

    X: FloatArray
    y: Any
    metadata: dict[str, Any]

    @property
    def positions(self) -> IntArray:
        """Positions of the rows in the table."""
        positions: IntArray = self.metadata["sensitive_features"].index.to_numpy()
        return positions

    def take(self, rows: IntArray) -> EncodedRows:
        """Return some of the rows."""
        y = None if self.y is None else self.y[rows]
        metadata = {name: _safe_indexing(values, rows) for name, values in self.metadata.items()}
        return EncodedRows(self.X[rows], y, metadata)


@dataclass(frozen=True, eq=False, repr=False)
class Encoder:
    """How the feature columns of a table become numbers, learned from training rows.

    Parameters
    ----------
    pipeline : Pipeline
        Encodes the columns: text, dates and empty cells become numbers, and every encoded column
        has mean 0 and variance 1 on the training rows.
    kinds : dict
        Kind of values in each column.
    categories : dict
        Values of the text columns that have few of them.
    """

    pipeline: Pipeline
    kinds: dict[str, str]
    categories: dict[str, list[str]]

    @classmethod
    def fit(cls, rows: pd.DataFrame, kinds: dict[str, str]) -> Encoder:
        """Learn the encoding from training rows, whose columns are those of `kinds`.

        Numbers stay as they are, and text with few values becomes indicators. Only dates and other
        text go through skrub, which takes some 10 ms for each column.
        """
        categories = text_categories(rows, kinds)
        numbers = [column for column, kind in kinds.items() if kind == "number"]
        rest = [column for column in kinds if column not in {*numbers, *categories}]
        indicators = OneHotEncoder(
            drop="if_binary", handle_unknown="ignore", sparse_output=False, dtype=np.float64
        )
        parts: list[tuple[str, Any, list[str]]] = [
            ("numbers", "passthrough", numbers),
            ("categories", indicators, list(categories)),
        ]
        if rest:
            from skrub import TableVectorizer

            parts.append(("rest", TableVectorizer(), rest))
        steps = [
            ("columns", ColumnTransformer([part for part in parts if part[2]], sparse_threshold=0)),
            ("fill", SimpleImputer(keep_empty_features=True)),
            ("scale", StandardScaler()),
        ]
        return cls(Pipeline(steps).fit(rows), kinds, categories)

    @property
    def origin(self) -> list[tuple[str, str]]:
        """The name of each encoded column, and the column of the table that it comes from."""
        found: list[tuple[str, str]] = []
        for name, part, columns in self.pipeline[0].transformers_:
            if name == "numbers":
                found += [(column, column) for column in columns]
            elif name == "categories":
                for i, column in enumerate(columns):
                    values = np.delete(
                        part.categories_[i], [] if _drops_none(part, i) else part.drop_idx_[i]
                    )
                    found += [(f"{column}_{value}", column) for value in values]
            elif name == "rest":
                inputs = part.output_to_input_
                found += [(str(out), inputs[out]) for out in part.get_feature_names_out()]
        return found

    def encode(self, frame: pd.DataFrame, name: str) -> tuple[FloatArray, dict[str, list[str]]]:
        """Encode rows of another table.

        Parameters
        ----------
        frame : data frame
            The rows. Their index counts the rows of the table from 0.
        name : str
            Name of the table in error messages.

        Returns
        -------
        X : (n, d) array
            The encoded rows. An unknown category counts as none of the known ones.
        unknown : dict
            The unknown categories of each column that has any.
        """
        missing = [column for column in self.kinds if column not in frame.columns]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise ValueError(
                f"{name} lacks the column {missing[0]!r}{more}, which the model was fitted with. "
                "Add it."
            )
        rows = convert_columns(frame, self.kinds, name)
        return self.transform(rows), unknown_categories(rows, self.categories)

    def transform(self, rows: pd.DataFrame) -> FloatArray:
        """Encode rows whose columns have the right kinds already."""
        with warnings.catch_warnings():
            # the callers of `encode` warn about unknown categories by name
            warnings.filterwarnings("ignore", "Found unknown categories", UserWarning)
            values: FloatArray = self.pipeline.transform(rows)
        return values


@dataclass(frozen=True, eq=False, repr=False)
class EncodedTable:
    """A table as numbers, divided into training and held-out rows.

    Parameters
    ----------
    roles : Roles
        The role of each column.
    encoder : Encoder
        Encodes the feature columns.
    metadata_kinds : dict
        Kind of values in each sensitive and control column.
    continuous : list of str
        Sensitive columns that are numbers.
    train, test : EncodedRows
        Training and held-out rows.

    Examples
    --------
    >>> frame = pd.DataFrame({"sex": ["F", "M"] * 20, "job": ["a", "b", "c", "c"] * 10})
    >>> frame["pay"] = range(40)
    >>> table = EncodedTable.from_frame(frame, Roles("pay", ("sex",)), test_size=0.25, seed=0)
    >>> table.names
    ['sex_M', 'job_a', 'job_b', 'job_c']
    >>> table.train.X.shape, list(table.train.metadata)
    ((30, 4), ['sensitive_features'])
    """

    roles: Roles
    encoder: Encoder
    metadata_kinds: dict[str, str]
    continuous: list[str]
    train: EncodedRows
    test: EncodedRows

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        roles: Roles,
        *,
        test_size: float,
        seed: int,
        missing: str = "error",
    ) -> EncodedTable:
        """Check a table, split the rows that have a target, and fit the encoding.

        Parameters
        ----------
        frame : pandas data frame
            The table. Its index numbers the rows, starting from 0.
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
        roles.check(frame, "The table")
        y = roles.numbers(frame, str(roles.target))
        frame, y = frame[np.isfinite(y)], y[np.isfinite(y)]
        if len(frame) < _FEWEST_ROWS:
            raise ValueError(
                f"{len(frame)} rows have a {roles.target!r}, which is too few to fit and audit "
                f"a model. Pass at least {_FEWEST_ROWS} rows with a target."
            )
        for column in roles.sensitive:
            if frame[column].nunique(dropna=missing != "group") < 2:
                raise ValueError(
                    f"The sensitive column {column!r} has one value in all {len(frame):,} rows, so "
                    "there is nothing to compare. Name another column."
                )
        if missing == "error":
            roles.refuse_empty_cells(frame)
        continuous = roles.continuous(frame)
        columns = roles.features(frame)
        kinds = column_kinds(frame, columns)
        metadata_kinds = column_kinds(frame, [*roles.sensitive, *roles.control])
        features = convert_columns(frame, kinds, "The table")
        warn_about_identifiers(features, kinds)
        groups = replace(roles, sensitive=[c for c in roles.sensitive if c not in continuous])
        train, test = _split(groups.combined(frame), test_size, seed)
        encoder = Encoder.fit(features.iloc[train], kinds)
        rows = EncodedRows(encoder.transform(features), y, roles.metadata(frame))
        parts = rows.take(train), rows.take(test)
        return cls(roles, encoder, metadata_kinds, continuous, *parts)

    @property
    def names(self) -> list[str]:
        """Names of the encoded columns."""
        return [name for name, _ in self.encoder.origin]

    def encode_pool(self, frame: pd.DataFrame) -> EncodedRows:
        """Encode a table of rows to be scored, on which the constraint holds as well."""
        frame = frame.reset_index(drop=True)
        replace(self.roles, target=None).check(frame, "The pool")
        X, unknown = self.encoder.encode(frame, "The pool")
        warn_about_unknown("The pool", unknown)
        frame = with_columns(frame, convert_columns(frame, self.metadata_kinds, "The pool"))
        return EncodedRows(X, None, self.roles.metadata(frame))


def warn_about_unknown(name: str, unknown: Mapping[str, Collection[str]]) -> None:
    """Say which categories of a table the encoder does not know."""
    for column, values in unknown.items():
        count = "1 value" if len(values) == 1 else f"{len(values)} values"
        warn(
            f"{name} has {count} of {column!r} that did not occur in the training rows, such as "
            f"{min(values)!r}. They are treated as none of the known values."
        )


def _drops_none(encoder: OneHotEncoder, column: int) -> bool:
    """Whether every value of a column has an indicator."""
    return encoder.drop_idx_ is None or encoder.drop_idx_[column] is None


def _split(groups: pd.Series, test_size: float, seed: int) -> tuple[IntArray, IntArray]:
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
