"""Tables of experiments: means and standard deviations, compared with the printed ones."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from reproduction.datasets import DATASETS, PARTS
from reproduction.publication.figures import METRIC_LABELS
from reproduction.runner import Outcome, Sources

_PRINTED = Path(__file__).parents[1] / "printed_numbers.csv"
# Names in the file of printed numbers, and the names of our entries.
_METHODS = {"constant": "Constant", "ours": "Ours", "with_S": "with S", "without_S": "without S"}
_UNMATCHED = (
    "The sine of the synthetic data of the linear table has variance 0.5, but the paper prints "
    "0.147. Its kernel table must use other synthetic data, which the text does not describe."
)
Status = Literal["within", "outside", "other data", "not run"]


@dataclass(frozen=True)
class Cell:
    """A number printed in the paper.

    Parameters
    ----------
    table, dataset, method, metric, part : str
        The paper's label of the table; the other names are those of this package.
    mean, sd : float
        The printed mean and standard deviation over the paper's trials.
    reason : str
        Why it cannot be reproduced; empty if it can.
    """

    table: str
    dataset: str
    method: str
    metric: str
    part: str
    mean: float
    sd: float
    reason: str = ""


@dataclass(frozen=True)
class ComparedCell:
    """A printed number and ours.

    Parameters
    ----------
    cell : Cell
        The paper's number.
    mean, sd : float or None
        Our mean and standard deviation; None if it was not run.
    source : str
        Where our data set comes from: "paper", "bundled", or "" if it is not available.
    """

    cell: Cell
    mean: float | None
    sd: float | None
    source: str

    @property
    def status(self) -> Status:
        """Whether our mean lies within the paper's ±, which is only meaningful for its data."""
        if self.mean is None:
            return "not run"
        if self.source != "paper":
            return "other data"
        return "within" if abs(self.mean - self.cell.mean) <= self.cell.sd else "outside"


@cache
def printed_cells() -> tuple[Cell, ...]:
    """All numbers in the paper's tables.

    Examples
    --------
    >>> len(printed_cells()), sum(bool(cell.reason) for cell in printed_cells())
    (56, 4)
    """
    cells = []
    for row in csv.DictReader(io.StringIO(_PRINTED.read_text(encoding="utf-8"))):
        sine = row["setting"] == "kernel" and row["dataset"] == "synthetic"
        cells.append(
            Cell(
                row["table"],
                "synthetic_sine" if sine else row["dataset"],
                _METHODS[row["method"]],
                row["metric"],
                row["split"],
                float(row["mean"]),
                float(row["sd"]),
                _UNMATCHED if sine else "",
            )
        )
    return tuple(cells)


def compare_with_paper(outcome: Outcome, sources: Sources) -> list[ComparedCell]:
    """The printed cells of an experiment's table, each with our number, in the paper's order."""
    frame, experiment = outcome.frame, outcome.experiment
    compared = []
    for cell in printed_cells():
        if not experiment.is_printed or f"({cell.table})" not in experiment.paper:
            continue
        rows = frame[(frame.dataset == cell.dataset) & (frame.method == cell.method)]
        values = rows[f"{cell.metric}_{cell.part}"]
        mean, sd = (float(values.mean()), _sd(values)) if len(values) else (None, None)
        compared.append(ComparedCell(cell, mean, sd, sources.found.get(cell.dataset, "")))
    return compared


def summary(outcome: Outcome) -> Any:
    """Mean and standard deviation over the trials (ddof 0, as in the paper), as a data frame.

    A sweep is summarised at the position with the smallest gap, a descent at its last step.
    """
    frame = outcome.frame
    columns = [
        name
        for metric in outcome.experiment.metrics
        for name in (metric, *(f"{metric}_{part}" for part in PARTS))
        if name in frame
    ]
    columns += [name for name in ("seconds",) if name in frame]
    keys = [name for name in ("dataset", "method", "curve") if name in frame]
    if "position" in frame:
        runs = frame.groupby(["dataset", "method", "trial"])
        frame = frame[runs.smd_train.transform("min") == frame.smd_train]
    if "step" in frame:
        runs = frame.groupby(["dataset", "trial", "curve"])
        frame = frame[runs.step.transform("max") == frame.step]
    groups = frame.groupby(keys, sort=False)[columns]
    return groups.agg([("mean", "mean"), ("sd", _sd)])


def _sd(values: Any) -> float:
    return float(values.std(ddof=0))


def summary_as_text(outcome: Outcome) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the summary as text; both empty if the experiment has no metrics."""
    if not outcome.experiment.metrics:
        return [], []
    table = summary(outcome)
    columns = list(dict.fromkeys(name for name, _ in table.columns))
    several = outcome.experiment.trials > 1
    header = ["data", "method", *(_title(name) for name in columns)]
    rows = []
    for key, numbers in table.iterrows():
        dataset, *names = key
        cells = [
            _format(name, numbers[name, "mean"], numbers[name, "sd"] if several else None)
            for name in columns
        ]
        rows.append([DATASETS[dataset].title, names[-1], *cells])
    return header, rows


def _title(column: str) -> str:
    metric, _, part = column.rpartition("_")
    if part in PARTS:
        return f"{METRIC_LABELS[metric]} {part}"
    return METRIC_LABELS.get(column, column)


def _format(name: str, mean: float, sd: float | None) -> str:
    if name == "seconds":
        return f"{1e3 * mean:.1f} ms"
    if 0 < abs(mean) < 5e-5:
        return f"{mean:.0e}"
    return f"{mean:.4f}" if sd is None else f"{mean:.4f} ± {sd:.4f}"
