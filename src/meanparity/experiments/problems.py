"""The problems of the paper's experiments: tables, and how they are split."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from sklearn.model_selection import train_test_split

from meanparity._typing import FloatArray, IntArray
from meanparity.datasets import (
    fetch_law_school,
    load_adult,
    load_communities_crime,
    make_synthetic,
)

PARTS = ("train", "test")
# Sensitive attributes of Communities & Crime in the paper's order, after the race.
_ATTRIBUTES = ("medIncome", "householdsize", "medFamInc")


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a problem.

    Parameters
    ----------
    X : (n, d) array
        Features, among them the sensitive columns.
    y : (n,) array
        Targets.
    sensitive : tuple of int
        Which columns of X are sensitive.
    stratified : bool
        Whether splits are made inside each group of the first sensitive column.
    """

    X: FloatArray
    y: FloatArray
    sensitive: tuple[int, ...]
    stratified: bool = True

    @property
    def s(self) -> FloatArray:
        """The sensitive columns: (n,), or (n, r) if there are several."""
        columns = self.X[:, list(self.sensitive)]
        return columns[:, 0] if len(self.sensitive) == 1 else columns


@dataclass(frozen=True, eq=False)
class Trial:
    """A problem, split.

    Parameters
    ----------
    X : (n, d) array
        Features, the sensitive columns and a column of ones among them.
    s : (n,) or (n, r) array
        Sensitive columns.
    y : (n,) array
        Targets.
    sensitive : tuple of int
        Which columns of X are sensitive.
    parts : mapping of str to (m,) array
        The rows of "train" and "test".
    """

    X: FloatArray
    s: FloatArray
    y: FloatArray
    sensitive: tuple[int, ...]
    parts: Mapping[str, IntArray]

    @classmethod
    def of(cls, table: Table, seed: int) -> Trial:
        """Trial number `seed`: 80 % of the rows to train on, the others to test."""
        s = table.s
        first = s if s.ndim == 1 else s[:, 0]
        groups = [np.flatnonzero(first == g) for g in np.unique(first)]
        pairs = [
            train_test_split(part, test_size=0.2, random_state=seed)
            for part in (groups if table.stratified else [np.arange(len(s))])
        ]
        train, test = (np.concatenate(part) for part in zip(*pairs, strict=True))
        X = np.column_stack([table.X, np.ones(len(s))])
        return cls(X, s, table.y, table.sensitive, {"train": train, "test": test})

    def part(self, name: str) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Features, targets and sensitive columns of "train" or "test"."""
        rows = self.parts[name]
        return self.X[rows], self.y[rows], self.s[rows]

    def centred(self) -> Trial:
        """The same, with the mean of the training targets taken off all targets."""
        mean = self.y[self.parts["train"]].mean()
        return Trial(self.X, self.s, self.y - mean, self.sensitive, self.parts)

    def without_s(self) -> Trial:
        """The same without the sensitive columns among the features."""
        X = np.delete(self.X, list(self.sensitive), axis=1)
        return Trial(X, self.s, self.y, (), self.parts)


@dataclass(frozen=True)
class Data:
    """A problem by name.

    Parameters
    ----------
    title : str
        What people call it.
    groups : tuple of str
        What people call the values of its first sensitive column, in their order.
    paper : callable
        Make the table of the paper's experiments.
    file : str
        The paper's file that this needs, if any.
    bundled : callable or None
        Make the nearest to it that needs no other file.
    """

    title: str
    groups: tuple[str, ...]
    paper: Callable[[], Table]
    file: str = ""
    bundled: Callable[[], Table] | None = None

    def table(self, source: str) -> Table:
        """The table that was found."""
        if source == "paper":
            return self.paper()
        assert self.bundled is not None
        return self.bundled()


def _with_s(bunch: Any) -> Table:
    X = np.column_stack([bunch.data, bunch.sensitive])
    return Table(X, bunch.target, (X.shape[1] - 1,))


def _synthetic(**options: Any) -> Table:
    X, y, _ = make_synthetic(2000, 5, random_state=1, **options)
    return Table(X, y, (4,), stratified=False)


def _adult_bundled() -> Table:
    """The paper's form, of 2000 of the bundled rows, which are in another order."""
    bunch = load_adult()
    sex, race = bunch.sensitive.T
    numbers = [len(np.unique(column)) > 2 for column in bunch.data.T]
    data = np.where(numbers, np.log1p(bunch.data), bunch.data)
    X = np.column_stack([data, race[:, None] == np.unique(race), sex == "Female"])
    keep = np.random.RandomState(4).permutation(len(X))[:2000]
    return Table(X[keep].astype(float), bunch.target[keep], (X.shape[1] - 1,))


def _communities(variant: Literal["full", "paper"], attributes: int = 1) -> Table:
    """Communities & Crime; attributes after the race are cut at 0.5, as the paper does."""
    bunch = load_communities_crime(variant=variant)
    table = _with_s(bunch)
    X, sensitive = table.X.copy(), list(table.sensitive)
    for name in _ATTRIBUTES[: attributes - 1]:
        column = bunch.feature_names.index(name)
        X[:, column] = X[:, column] > 0.5
        sensitive.append(column)
    return Table(X, table.y, tuple(sensitive))


def _communities_data(title: str, attributes: int = 1) -> Data:
    return Data(
        title,
        ("other", "white largest"),
        partial(_communities, "paper", attributes),
        "communities.csv",
        partial(_communities, "full", attributes),
    )


DATA: Mapping[str, Data] = MappingProxyType(
    {
        "synthetic": Data("Synthetic", ("S = −0.1", "S = 0.1"), _synthetic),
        "synthetic_sine": Data(
            "Synthetic, sine", ("S = −0.1", "S = 0.1"), partial(_synthetic, nonlinear=True)
        ),
        "synthetic_extreme": Data(
            "Synthetic, S = ±10", ("S = −10", "S = 10"), partial(_synthetic, sensitive_scale=10.0)
        ),
        "adult": Data(
            "Adult",
            ("male", "female"),
            lambda: _with_s(load_adult(variant="paper")),
            "adult_full.csv",
            _adult_bundled,
        ),
        "law_school": Data(
            "Law School",
            ("other", "white"),
            lambda: _with_s(fetch_law_school(variant="paper")),
            "lawschool.csv",
        ),
        "communities_crime": _communities_data("Communities & Crime"),
        **{
            f"communities_crime_{2**r}": _communities_data(f"Communities & Crime, k = {2**r}", r)
            for r in (1, 2, 3, 4)
        },
    }
)
