"""Every method on the paper's data and splits: the tables in docs/baselines.md.

``MEANPARITY_DATA=folder python -m benchmarks.method_tables`` prints them; the folder holds the
paper's data files.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from reproduction import CATALOGUE, Plan
from reproduction.publication.tables import summary
from reproduction.runner import Outcome

SETTINGS = ("linear", "kernel")
EXPERIMENTS = [CATALOGUE[f"tab:methods-{setting}"] for setting in SETTINGS]
DATASETS = EXPERIMENTS[0].datasets
NUMBERS = [f"{metric}_{part}" for metric in ("mse", "smd", "dpd") for part in ("train", "test")]


def run(folder: Path) -> dict[str, Outcome]:
    """The results of both settings; results are stored in the folder."""
    plan = Plan.make(EXPERIMENTS, folder)
    plan.run(jobs=2)
    return dict(zip(SETTINGS, plan.outcomes(), strict=True))


def markdown(outcome: Outcome, dataset: str) -> str:
    """A table of the document."""
    lines = ["| method | MSE train | MSE test | gap train | gap test | W1 train | W1 test |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for method, row in summary(outcome).loc[dataset].iterrows():
        cells = [f"{row[name, 'mean']:.4f} ± {row[name, 'sd']:.4f}" for name in NUMBERS]
        lines += [f"| {method} | {' | '.join(cells)} |"]
    return "\n".join(lines)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for setting, outcome in run(Path(folder)).items():
            for dataset in DATASETS:
                print(f"### {dataset}, {setting}\n\n{markdown(outcome, dataset)}\n")
