"""The protocol that reproduces the paper's printed numbers: data, splits, settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from meanparity.datasets import make_synthetic

TRIALS = range(10)


@dataclass(frozen=True)
class Table:
    """Features (the sensitive column in place `sensitive`), targets, splits."""

    X: np.ndarray
    y: np.ndarray
    sensitive: int
    stratified: bool

    def without_s(self) -> Table:
        """The same without the sensitive column among the features."""
        return Table(np.delete(self.X, self.sensitive, axis=1), self.y, -1, self.stratified)


def adult(folder: Path) -> Table:
    frame = pd.read_csv(folder / "adult_full.csv")
    frame = frame[~(frame == "?").any(axis=1)]
    y = (frame.pop("income") == ">50K").to_numpy(float)
    columns = {}
    for name, values in frame.items():
        levels = values.unique()
        if pd.api.types.is_numeric_dtype(values):
            columns[name] = values
        elif len(levels) == 2:
            columns[name] = values == levels[0]
        else:
            columns |= {f"{name}={level}": values == level for level in levels}
    table = pd.DataFrame({name: values.astype(float) for name, values in columns.items()})
    many = [name for name in table if table[name].nunique() > 2]
    table[many] = np.log1p(table[many])
    return _subsample(Table(table.to_numpy(), y, table.columns.get_loc("sex"), True), 2000)


def law_school(folder: Path) -> Table:
    frame = pd.read_csv(folder / "lawschool.csv").dropna()
    y = frame.pop("ugpa").to_numpy(float) / 4
    frame["gender"] = frame["gender"] == "male"
    frame["bar1"] = frame["bar1"] == "P"
    frame["race"] = frame["race"] == 7
    table = frame.astype(float)
    return _subsample(Table(table.to_numpy(), y, table.columns.get_loc("race"), True), 1000)


def communities_crime(folder: Path) -> Table:
    frame = pd.read_csv(folder / "communities.csv").fillna(0)
    y = frame.pop("ViolentCrimesPerPop").to_numpy(float)
    races = ["racepctblack", "racePctWhite", "racePctAsian", "racePctHisp"]
    white = frame[races].idxmax(axis=1) == "racePctWhite"
    table = pd.concat([frame.drop(columns=races), white.rename("race")], axis=1).astype(float)
    return Table(table.to_numpy(), y, table.columns.get_loc("race"), True)


def synthetic(folder: Path) -> Table:
    X, y, _ = make_synthetic(2000, 5, random_state=1)
    return Table(X, y, 4, False)


DATASETS = {
    "adult": adult,
    "law_school": law_school,
    "communities_crime": communities_crime,
    "synthetic": synthetic,
}


def split(table: Table, s: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train and to test on, 80/20, inside each sensitive group."""
    parts = (
        [np.flatnonzero(s == g) for g in np.unique(s)] if table.stratified else [np.arange(len(s))]
    )
    pairs = [train_test_split(part, test_size=0.2, random_state=seed) for part in parts]
    train, test = zip(*pairs, strict=True)
    return np.concatenate(train), np.concatenate(test)


def _subsample(table: Table, size: int) -> Table:
    n = len(table.y)
    keep, _ = train_test_split(np.arange(n), test_size=1 - size / n, random_state=4)
    return Table(table.X[keep], table.y[keep], table.sensitive, table.stratified)
