"""Every method of the registry on the paper's data, under its protocol: MSE, SMD and W1 gap.

`make tables` writes output/baselines.csv (one row a trial) and output/baselines_mean.csv. The
paper's files are read from the folder that MEANPARITY_DATA names.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from tests.paper_protocol import DATASETS, TRIALS, split

from meanparity.baselines import METHODS
from meanparity.metrics import mean_parity_gap, wasserstein_gap

NAMES = ("communities_crime", "law_school", "adult")
KEYS = ["dataset", "setting", "method"]


def trials(
    folder: Path, dataset: str, setting: str, names=tuple(METHODS), seeds=TRIALS
) -> Iterator:
    """One row of numbers for each method and trial."""
    table = DATASETS[dataset](folder)
    s = table.X[:, table.sensitive]
    X = np.column_stack([table.X, np.ones(len(s))])
    for seed in seeds:
        train, test = split(table, s, seed)
        mean = table.y[train].mean()
        y = table.y - mean
        for name in names:
            method = METHODS[name]
            if setting not in method.settings:
                continue
            # the authors' grid of thresholds, from 0 to 1, moves along with y
            grid = {"thresholds": np.linspace(0, 1, 41) - mean} if name == "RBA" else {}
            start = time.perf_counter()
            model = method.fit(
                X[train], y[train], sensitive_features=s[train], setting=setting, **grid
            )
            row = dict(zip(KEYS, (dataset, setting, name), strict=True), trial=seed)
            row["seconds"] = time.perf_counter() - start
            for part, rows in (("train", train), ("test", test)):
                groups = {"sensitive_features": s[rows]}
                predicted = method.predict(model, X[rows], **groups)
                row[f"mse_{part}"] = np.mean((y[rows] - predicted) ** 2)
                row[f"smd_{part}"] = mean_parity_gap(y[rows], predicted, **groups)
                row[f"w1_{part}"] = wasserstein_gap(y[rows], predicted, **groups)
            yield row


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation (ddof 0, as in the paper) over the trials."""
    numbers = [name for name in rows if name not in (*KEYS, "trial", "seconds")]
    groups = rows.groupby(KEYS, sort=False)[numbers]
    mean, deviation = groups.mean(), groups.std(ddof=0)
    return mean.join(deviation.add_suffix("_sd")).reset_index()


def markdown(means: pd.DataFrame) -> str:
    """The table of docs/baselines.md."""
    lines = []
    for (dataset, setting), part in means.groupby(["dataset", "setting"], sort=False):
        lines += [f"\n### {dataset}, {setting}\n"]
        lines += ["| method | MSE train | MSE test | SMD train | SMD test | W1 train | W1 test |"]
        lines += ["|---|---|---|---|---|---|---|"]
        for row in part.to_dict("records"):
            cells = [
                f"{row[f'{metric}_{where}']:.4f} ± {row[f'{metric}_{where}_sd']:.4f}"
                for metric in ("mse", "smd", "w1")
                for where in ("train", "test")
            ]
            lines += [f"| {row['method']} | {' | '.join(cells)} |"]
    return "\n".join(lines)


def main() -> None:
    """Run all, and save."""
    folder = os.environ.get("MEANPARITY_DATA")
    if not folder:
        sys.exit("Set MEANPARITY_DATA to the folder with the paper's data files.")
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    for dataset in NAMES:
        for setting in ("linear", "kernel"):
            for row in trials(Path(folder), dataset, setting):
                rows.append(row)
                print(f"\r{dataset}, {setting}, trial {row['trial']}: {row['method']:<12}", end="")
    print()
    Path("output").mkdir(exist_ok=True)
    table = pd.DataFrame(rows)
    means = summary(table)
    table.to_csv("output/baselines.csv", index=False)
    means.to_csv("output/baselines_mean.csv", index=False)
    print(markdown(means))
    print("\nnumbers: output/baselines.csv (trials), output/baselines_mean.csv")


if __name__ == "__main__":
    main()
