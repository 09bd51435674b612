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
        for name in names:
            method = METHODS[name]
            if setting not in method.settings:
                continue
            y = table.y - mean if method.centred else table.y
            start = time.perf_counter()
            model = method.fit(X[train], y[train], sensitive_features=s[train], setting=setting)
            seconds = time.perf_counter() - start
            parts = {"train": train, "test": test}
            both = {
                part: method.mixture(model, X[rows], sensitive_features=s[rows])
                for part, rows in parts.items()
            }
            means = {part: (values @ w[:, None], np.ones(1)) for part, (values, w) in both.items()}
            kinds = {name: both} | ({f"{name}-mean": means} if method.is_random else {})
            for kind, of_parts in kinds.items():
                row = dict(zip(KEYS, (dataset, setting, kind), strict=True), trial=seed)
                row["seconds"] = seconds
                for part, rows in parts.items():
                    numbers = measure(y[rows], s[rows], *of_parts[part])
                    row |= {f"{name}_{part}": value for name, value in numbers.items()}
                yield row


def measure(y, s, values, weights) -> dict[str, float]:
    """MSE, SMD and W1 gap of a predictor that predicts one of the columns of values, at random."""
    n, h = values.shape
    people = {"sensitive_features": np.repeat(s, h), "sample_weight": np.tile(weights, n)}
    return {
        "mse": float(np.mean((y[:, None] - values) ** 2, axis=0) @ weights),
        "smd": mean_parity_gap(None, values.ravel(), **people),
        "w1": wasserstein_gap(None, values.ravel(), **people),
    }


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
                if sys.stderr.isatty():
                    what = f"{dataset}, {setting}, trial {row['trial']}: {row['method']:<12}"
                    print(f"\r{what}", end="", file=sys.stderr)
    Path("output").mkdir(exist_ok=True)
    table = pd.DataFrame(rows)
    means = summary(table)
    table.to_csv("output/baselines.csv", index=False)
    means.to_csv("output/baselines_mean.csv", index=False)
    print(markdown(means))
    print("\nnumbers: output/baselines.csv (trials), output/baselines_mean.csv")


if __name__ == "__main__":
    main()
