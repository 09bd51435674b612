"""Test error against the number of landmarks: the table and the figure of docs/scaling.md.

``python -m benchmarks.landmark_curves`` prints the table and draws the figure (two minutes).
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from meanparity import Nystrom, ParityKernelRidge
from meanparity.datasets import load_adult, load_communities_crime

NUMBERS = (10, 25, 50, 100, 200, 400, 800)
SEEDS = 10
HOW = ("uniform", "rpcholesky")
NAMES = {"adult": "Adult", "communities": "Communities & Crime"}


@functools.cache
def problem(dataset: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, y and the groups of all rows, with the columns of the paper's experiments."""
    if dataset == "communities":
        bunch = load_communities_crime()
        return np.nan_to_num(bunch.data), bunch.target, bunch.sensitive
    bunch = load_adult()
    sex = bunch.sensitive[:, 0]
    X = np.where(bunch.data.max(axis=0) > 1, np.log1p(bunch.data), bunch.data)
    return np.column_stack([X, sex == "Female"]), bunch.target, sex


def errors(dataset: str, how: str, m: int, seeds: int = SEEDS) -> np.ndarray:
    """Test MSE under parity for each seed, which determines both split and landmarks."""
    X, y, s = problem(dataset)
    found = []
    for seed in range(seeds):
        parts = train_test_split(X, y, s, test_size=0.2, random_state=seed, stratify=s)
        train, test, y_train, y_test, s_train, _ = parts
        model = ParityKernelRidge(
            kernel="rbf",
            gamma=0.1,
            fit_intercept=True,
            solver=Nystrom(m, landmarks=how, random_state=seed),
        ).fit(train, y_train, sensitive_features=s_train)
        found.append(np.mean((y_test - model.predict(test)) ** 2))
    return np.array(found)


def curves() -> pd.DataFrame:
    """Mean test MSE for each data set, number of landmarks and way of choosing them."""
    rows = [
        {"dataset": NAMES[dataset], "m": m} | {how: errors(dataset, how, m).mean() for how in HOW}
        for dataset in NAMES
        for m in NUMBERS
    ]
    return pd.DataFrame(rows)


def saving(numbers: pd.DataFrame) -> pd.Series:
    """For each number of pivoted landmarks, how many uniform ones reach the same error."""
    uniform = np.log(numbers["uniform"].to_numpy())[::-1]
    m = np.log(numbers["m"].to_numpy())[::-1]
    reached = np.interp(np.log(numbers["rpcholesky"]), uniform, m, left=np.nan)
    return pd.Series(np.exp(reached), index=numbers.index)


def draw(table: pd.DataFrame, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    for axes, name in zip(figure.subplots(1, 2), NAMES.values(), strict=True):
        part = table[table["dataset"] == name]
        axes.loglog(part["m"], part["uniform"], "o--", color="#888888", label="uniform")
        axes.loglog(part["m"], part["rpcholesky"], "o-", color="#1f5fa8", label="pivoted Cholesky")
        axes.set_title(name, loc="left")
        axes.set_xlabel("landmarks")
        axes.set_xticks(NUMBERS, [str(m) for m in NUMBERS])
        low, high = part[list(HOW)].min().min(), part[list(HOW)].max().max()
        ticks = np.geomspace(low, high, 4)
        axes.set_yticks(ticks, [f"{tick:.3f}" for tick in ticks])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.supylabel("test MSE under parity", fontsize="medium")
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    table = curves()
    table["uniform, same error"] = table.groupby("dataset", group_keys=False)[["m", *HOW]].apply(
        saving
    )
    print(table.to_string(index=False, float_format="{:.5f}".format))
    draw(table, Path("docs/images/landmarks.png"))
