"""The data sets of the paper's experiments, and how they are split."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.model_selection import train_test_split

from meanparity._typing import FloatArray, IntArray
from meanparity.datasets import (
    fetch_law_school,
    load_adult,
    load_communities_crime,
    make_synthetic,
)

PARTS = ("train", "test")
# Sensitive attributes of Communities & Crime besides race, in the paper's order.
_ATTRIBUTES = ("medIncome", "householdsize", "medFamInc")


@dataclass(frozen=True, eq=False)
class Dataset:
    """The rows of a data set.

    Parameters
    ----------
    X : (n, d) array
        Features, including the sensitive columns.
    y : (n,) array
        Targets.
    sensitive : tuple of int
        Indices of the sensitive columns of X.
    stratified : bool
        Whether splits are stratified by the first sensitive column.
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
    """A data set with one random split into training and test rows.

    Parameters
    ----------
    X : (n, d) array
        Features, including the sensitive columns and a column of ones.
    s : (n,) or (n, r) array
        Sensitive columns.
    y : (n,) array
        Targets.
    sensitive : tuple of int
        Indices of the sensitive columns of X.
    parts : mapping of str to (m,) array
        Row indices of "train" and "test".
    """

    X: FloatArray
    s: FloatArray
    y: FloatArray
    sensitive: tuple[int, ...]
    parts: Mapping[str, IntArray]

    @classmethod
    def from_dataset(cls, dataset: Dataset, seed: int) -> Trial:
        """Trial number `seed`: 80 % training rows and 20 % test rows."""
        s = dataset.s
        first = s if s.ndim == 1 else s[:, 0]
        groups = [np.flatnonzero(first == g) for g in np.unique(first)]
        pairs = [
            train_test_split(rows, test_size=0.2, random_state=seed)
            for rows in (groups if dataset.stratified else [np.arange(len(s))])
        ]
        train, test = (np.concatenate(part) for part in zip(*pairs, strict=True))
        X = np.column_stack([dataset.X, np.ones(len(s))])
        return cls(X, s, dataset.y, dataset.sensitive, {"train": train, "test": test})

    def part(self, name: str) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Features, targets and sensitive columns of "train" or "test"."""
        rows = self.parts[name]
        return self.X[rows], self.y[rows], self.s[rows]

    def centred(self) -> Trial:
        """A copy with the mean of the training targets subtracted from all targets."""
        return replace(self, y=self.y - self.y[self.parts["train"]].mean())

    def fourier(self) -> Trial:
        """A copy with random Fourier features of the columns other than S, in place of all columns.

        As in the code of NRFC's authors, there are ten features for each column. They belong to the
        RBF kernel with the paper's γ = 0.1.
        """
        X = self.without_sensitive().X[:, :-1]
        sampler = RBFSampler(gamma=0.1, n_components=10 * X.shape[1], random_state=0)
        return replace(self, X=sampler.fit_transform(X), sensitive=())

    def without_sensitive(self) -> Trial:
        """A copy whose features do not include the sensitive columns."""
        X = np.delete(self.X, list(self.sensitive), axis=1)
        return replace(self, X=X, sensitive=())


@dataclass(frozen=True)
class DatasetLoader:
    """Where a data set comes from.

    Parameters
    ----------
    title : str
        Name on tables and figures.
    group_names : tuple of str
        Names of the values of the first sensitive column, in ascending order of the values.
    load_paper : callable
        Loads the data set of the paper's experiments.
    file : str
        The paper's file that `load_paper` needs; empty if it needs none.
    load_bundled : callable or None
        Loads the most similar data set that needs no file; None if there is none.
    """

    title: str
    group_names: tuple[str, ...]
    load_paper: Callable[[], Dataset]
    file: str = ""
    load_bundled: Callable[[], Dataset] | None = None

    def load(self, source: str) -> Dataset:
        """Load the data set from the source "paper" or "bundled"."""
        if source == "paper":
            return self.load_paper()
        assert self.load_bundled is not None
        return self.load_bundled()


def _with_sensitive(bunch: Any) -> Dataset:
    """A data set whose last column is the sensitive one."""
    X = np.column_stack([bunch.data, bunch.sensitive])
    return Dataset(X, bunch.target, (X.shape[1] - 1,))


def _synthetic(**options: Any) -> Dataset:
    X, y, _ = make_synthetic(2000, 5, random_state=1, **options)
    return Dataset(X, y, (4,), stratified=False)


def _adult_bundled() -> Dataset:
    """2,000 of the bundled rows, encoded as in the paper; the rows are not the paper's."""
    bunch = load_adult()
    sex, race = bunch.sensitive.T
    is_numeric = [len(np.unique(column)) > 2 for column in bunch.data.T]
    data = np.where(is_numeric, np.log1p(bunch.data), bunch.data)
    X = np.column_stack([data, race[:, None] == np.unique(race), sex == "Female"])
    keep = np.random.RandomState(4).permutation(len(X))[:2000]
    return Dataset(X[keep].astype(float), bunch.target[keep], (X.shape[1] - 1,))


def _communities(variant: Literal["full", "paper"], attributes: int = 1) -> Dataset:
    """Communities & Crime; attributes other than race are binarised at 0.5, as in the paper."""
    bunch = load_communities_crime(variant=variant)
    dataset = _with_sensitive(bunch)
    X, sensitive = dataset.X.copy(), list(dataset.sensitive)
    for name in _ATTRIBUTES[: attributes - 1]:
        column = bunch.feature_names.index(name)
        X[:, column] = X[:, column] > 0.5
        sensitive.append(column)
    return Dataset(X, dataset.y, tuple(sensitive))


def _communities_loader(title: str, attributes: int = 1) -> DatasetLoader:
    return DatasetLoader(
        title,
        ("other", "white largest"),
        partial(_communities, "paper", attributes),
        "communities.csv",
        partial(_communities, "full", attributes),
    )


DATASETS: Mapping[str, DatasetLoader] = MappingProxyType(
    {
        "synthetic": DatasetLoader("Synthetic", ("S = −0.1", "S = 0.1"), _synthetic),
        "synthetic_sine": DatasetLoader(
            "Synthetic, sine", ("S = −0.1", "S = 0.1"), partial(_synthetic, nonlinear=True)
        ),
        "synthetic_extreme": DatasetLoader(
            "Synthetic, S = ±10", ("S = −10", "S = 10"), partial(_synthetic, sensitive_scale=10.0)
        ),
        "adult": DatasetLoader(
            "Adult",
            ("male", "female"),
            lambda: _with_sensitive(load_adult(variant="paper")),
            "adult_full.csv",
            _adult_bundled,
        ),
        "law_school": DatasetLoader(
            "Law School",
            ("other", "white"),
            lambda: _with_sensitive(fetch_law_school(variant="paper")),
            "lawschool.csv",
        ),
        "communities_crime": _communities_loader("Communities & Crime"),
        **{
            f"communities_crime_{2**r}": _communities_loader(f"Communities & Crime, k = {2**r}", r)
            for r in (1, 2, 3, 4)
        },
    }
)
