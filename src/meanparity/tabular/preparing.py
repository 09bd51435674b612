"""A table as numbers, in training and held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from meanparity._typing import FloatArray, IntArray
from meanparity.sources import Pool
from meanparity.tabular.roles import Roles

_FEWEST = 10


@dataclass(frozen=True, eq=False, repr=False)
class Prepared:
    """Rows of a table, as numbers.

    Parameters
    ----------
    roles : Roles
        Which column is what.
    columns : tuple of str
        The features.
    encoder : Pipeline
        From these to X: text, dates and empty cells become numbers of mean 0 and variance 1.
    X : (n, d) array
        Rows.
    names : tuple of str
        The columns of X.
    y : (n,) array
        Targets.
    train, test : arrays of int
        Which rows are which.
    people : dict
        For "train" and "test", who is in which group, as estimators take it.
    keys : (n,) array of str
        The combination of sensitive values of each row.
    frame : data frame
        The training rows of the table.
    n_dropped : int
        Rows without a target.
    """

    roles: Roles
    columns: tuple[str, ...]
    encoder: Pipeline
    X: FloatArray
    names: tuple[str, ...]
    y: FloatArray
    train: IntArray
    test: IntArray
    people: dict[str, dict[str, Any]]
    keys: Any
    frame: Any
    n_dropped: int

    @classmethod
    def of(
        cls, frame: Any, roles: Roles, *, test_size: float, seed: int, missing: str = "error"
    ) -> Prepared:
        """Check a table, split it, and learn from the training rows how columns become numbers."""
        if not 0 < test_size < 1:
            raise ValueError(f"test_size={test_size!r} is not a share between 0 and 1.")
        roles.check(frame, "The table")
        y = roles.numbers(frame, str(roles.target))
        known = np.isfinite(y)
        if known.sum() < _FEWEST:
            raise ValueError(
                f"{int(known.sum())} rows have a {roles.target!r}, too few to fit and audit."
            )
        frame, y = frame[known].reset_index(drop=True), y[known]
        for column in roles.sensitive:
            if frame[column].nunique(dropna=missing != "group") < 2:
                raise ValueError(
                    f"The sensitive column {column!r} has one value in all {len(frame):,} rows, so "
                    "that there is nothing to compare. Name another column."
                )
        columns = roles.features(frame)
        keys = frame[list(roles.sensitive)].astype(object).map(str).agg(", ".join, axis=1)
        train, test = _split(keys, test_size, seed)
        encoder = _encoder().fit(frame.loc[train, columns])
        people = {
            key: roles.people(frame.iloc[rows].reset_index(drop=True))
            for key, rows in (("train", train), ("test", test))
        }
        return cls(
            roles,
            tuple(columns),
            encoder,
            encoder.transform(frame[columns]),
            tuple(str(name) for name in encoder[0].get_feature_names_out()),
            y,
            train,
            test,
            people,
            keys.to_numpy(dtype=object),
            frame.iloc[train],
            int((~known).sum()),
        )

    def pool(self, frame: Any) -> Pool:
        """People to be scored, as estimators take them."""
        self.roles.check(frame, "The pool", target=False)
        require_columns(frame, self.columns, "The pool")
        unseen = unseen_values(frame, self.frame, self.columns)
        if unseen:
            column, values = next(iter(unseen.items()))
            raise ValueError(
                f"The pool has values of {column!r} that no training row has, such as "
                f"{values[0]!r}. Leave these rows or the column out."
            )
        return Pool(self.encoder.transform(frame[list(self.columns)]), **self.roles.people(frame))


def _encoder() -> Pipeline:
    from skrub import TableVectorizer

    return Pipeline(
        [
            ("columns", TableVectorizer()),
            ("fill", SimpleImputer(keep_empty_features=True)),
            ("scale", StandardScaler()),
        ]
    )


def _split(keys: Any, test_size: float, seed: int) -> tuple[IntArray, IntArray]:
    """Positions of training and held-out rows, the same shares of every group where possible."""
    counts = keys.value_counts()
    few = counts.min() < 2 or len(counts) > min(50, test_size * len(keys) / 2)
    train, test = train_test_split(
        np.arange(len(keys)),
        test_size=test_size,
        random_state=seed,
        stratify=None if few else keys,
    )
    return np.sort(train), np.sort(test)


def require_columns(frame: Any, columns: Any, name: str) -> None:
    """Refuse a table without columns that the model needs."""
    lacking = [column for column in columns if column not in frame.columns]
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise ValueError(
            f"{name} lacks the column {lacking[0]!r}{more}, which the model was fitted with."
        )


def unseen_values(frame: Any, train: Any, columns: Any, most: int = 40) -> dict[str, list[Any]]:
    """Values of text columns with few values that are new."""
    found = {}
    for column in columns:
        if train[column].dtype.kind in "biufcmM" or train[column].nunique() > most:
            continue
        new = set(frame[column].dropna().unique()) - set(train[column].dropna().unique())
        if new:
            found[column] = sorted(new, key=str)
    return found
