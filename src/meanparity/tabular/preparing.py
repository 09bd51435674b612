"""A table as numbers, in training and held-out rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from meanparity._typing import FloatArray, IntArray
from meanparity.sources import Pool
from meanparity.tabular.kinds import categories_of, conformed, kinds_of, new_values
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
    kinds : dict
        What each of `columns` holds.
    who : dict
        What the sensitive and control columns hold.
    categories : dict
        Values of the text columns that have few.
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
    kinds: dict[str, str]
    who: dict[str, str]
    categories: dict[str, list[str]]
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
        _refuse_missing(frame, roles, missing)
        columns = roles.features(frame)
        kinds = kinds_of(frame, columns)
        who = kinds_of(frame, [*roles.sensitive, *roles.control])
        frame = frame.assign(**conformed(frame, kinds, "The table"))
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
            encoded(encoder, frame[columns]),
            tuple(str(name) for name in encoder[0].get_feature_names_out()),
            y,
            train,
            test,
            people,
            keys.to_numpy(dtype=object),
            kinds,
            who,
            categories_of(frame.iloc[train], kinds),
            int((~known).sum()),
        )

    def pool(self, frame: Any) -> Pool:
        """People to be scored, as estimators take them."""
        self.roles.check(frame, "The pool", target=False)
        require_columns(frame, self.columns, "The pool")
        rows = conformed(frame, self.kinds, "The pool")
        unseen = new_values(rows, self.categories)
        if unseen:
            column, values = next(iter(unseen.items()))
            raise ValueError(
                f"The pool has values of {column!r} that no training row has, such as "
                f"{values[0]!r}. Leave these rows or the column out."
            )
        who = conformed(frame, self.who, "The pool")
        return Pool(encoded(self.encoder, rows), **self.roles.people(frame.assign(**who)))


def encoded(encoder: Pipeline, rows: Any) -> FloatArray:
    """Rows as numbers; a category that was not seen is none of the known ones."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Found unknown categories", UserWarning)
        values: FloatArray = encoder.transform(rows)
    return values


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


def _refuse_missing(frame: Any, roles: Roles, missing: str) -> None:
    """Refuse empty sensitive and control cells, unless something was said about them."""
    if missing not in ("error", "ignore", "group"):
        raise ValueError(f"missing={missing!r} is not known. Pass error, ignore or group.")
    for column in (*roles.sensitive, *roles.control):
        empty = frame[column].isna()
        if missing == "error" and empty.any():
            raise ValueError(
                f"The column {column!r} has {int(empty.sum()):,} empty cells (missing values). "
                "Fill them, or pass --missing ignore or --missing group."
            )


def require_columns(frame: Any, columns: Any, name: str) -> None:
    """Refuse a table without columns that the model needs."""
    lacking = [column for column in columns if column not in frame.columns]
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise ValueError(
            f"{name} lacks the column {lacking[0]!r}{more}, which the model was fitted with."
        )
