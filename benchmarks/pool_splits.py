"""Parity on the rows to be scored, on the paper's data: the table in docs/pool.md.

``MEANPARITY_DATA=folder python -m benchmarks.pool_splits`` prints it; the folder holds the paper's
data files.
"""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pandas as pd

from meanparity import MeanParity, ParityKernelRidge, ParityWarning
from meanparity.metrics import mean_parity_gap
from reproduction.datasets import DATASETS, Trial
from reproduction.publication.tables import printed_cells

NAMES = {"adult": "Adult", "law_school": "Law School", "communities_crime": "Communities & Crime"}
SETTINGS = {
    "linear, α = 0": {"kernel": "linear", "alpha": 0.0},
    "linear, α = 1": {"kernel": "linear", "alpha": 1.0},
    "RBF, α = 1": {"kernel": "rbf", "gamma": 0.1, "alpha": 1.0},
}
PAPER = 10  # the paper's splits are the first ten
MANY = 40


@functools.cache
def trials(dataset: str, setting: str, splits: int) -> pd.DataFrame:
    """Gaps, test MSE and sd(y) for each split, with the test rows as the pool."""
    data = DATASETS[dataset].load("paper")
    rows = []
    for seed in range(splits):
        split = Trial.from_dataset(data, seed).centred()
        X, y, s = split.X, split.y, split.s
        train, test = split.parts["train"], split.parts["test"]
        row = {}
        for where in ("train", "both"):
            model = ParityKernelRidge(constraint=MeanParity(parity_on=where), **SETTINGS[setting])
            with warnings.catch_warnings():
                # without a penalty, the predictions of unusual pool rows move far (see the table)
                warnings.filterwarnings("ignore", "Parity on the pool moves", ParityWarning)
                pool = X[test], s[test]
                model.fit(X[train], y[train], sensitive_features=s[train], pool=pool)
            for name, part in (("train", train), ("test", test)):
                predicted = model.predict(X[part])
                gap = mean_parity_gap(None, predicted, sensitive_features=s[part])
                row[f"{where}: smd {name}"] = gap
            row[f"{where}: residual"] = model.parity_residual_
            row[f"{where}: mse"] = np.mean((y[test] - predicted) ** 2)
        rows.append(row | {"sd": y[train].std()})
    return pd.DataFrame(rows)


def increase(numbers: pd.DataFrame) -> float:
    """Relative increase in test MSE from parity on the training rows to parity on both."""
    return numbers["both: mse"].mean() / numbers["train: mse"].mean() - 1


def table() -> str:
    smd = [cell for cell in printed_cells() if cell.metric == "smd" and cell.method == "with S"]
    paper = {cell.dataset: cell.mean for cell in smd}
    lines = [
        "| data | model | paper's test gap | test gap, parity on train | parity on both, at most "
        f"| test MSE, train | both | increase, {PAPER} splits | increase, {MANY} splits |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for dataset, name in NAMES.items():
        for setting in SETTINGS:
            many = trials(dataset, setting, MANY)
            few = many[:PAPER]
            theirs = f"{paper[dataset]:.4f}" if setting == "linear, α = 0" else ""
            lines.append(
                f"| {name} | {setting} | {theirs} | {few['train: smd test'].mean():.4f} "
                f"| {few['both: smd test'].max():.0e} | {few['train: mse'].mean():.5f} "
                f"| {few['both: mse'].mean():.5f} | {increase(few):+.1%} | {increase(many):+.1%} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
