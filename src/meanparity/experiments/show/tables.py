"""Tables of experiments: means and spreads, beside what the paper printed."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from meanparity.experiments.problems import DATA, PARTS
from meanparity.experiments.runner import Outcome, Sources
from meanparity.experiments.show.figures import WORDS

# How the package calls what the paper's tables call so.
_METHODS = {"constant": "Constant", "ours": "Ours", "with_S": "with S", "without_S": "without S"}
_UNMATCHED = (
    "The sine of the synthetic data of the linear table has variance 0.5, the paper prints 0.147: "
    "its kernel table must come from other synthetic data, which the text does not give."
)


Status = Literal["within", "outside", "other data", "not run"]


@dataclass(frozen=True)
class Cell:
    """A printed number of the paper.

    Parameters
    ----------
    table, dataset, method, metric, part : str
        Which one, in the words of this package.
    mean, sd : float
        As printed, over the paper's trials.
    reason : str
        Why it cannot be matched; empty if it can.
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
class Compared:
    """A printed number beside ours.

    Parameters
    ----------
    cell : Cell
        The paper's.
    mean, sd : float or None
        Ours, None if it was not run.
    source : str
        Where our table comes from: "paper", "bundled", or nothing.
    """

    cell: Cell
    mean: float | None
    sd: float | None
    source: str

    @property
    def status(self) -> Status:
        """Whether ours lies within the paper's ±; of other data, that says nothing."""
        if self.mean is None:
            return "not run"
        if self.source != "paper":
            return "other data"
        return "within" if abs(self.mean - self.cell.mean) <= self.cell.sd else "outside"


@cache
def printed_cells() -> tuple[Cell, ...]:
    """All numbers of the paper's tables.

    Examples
    --------
    >>> len(printed_cells()), sum(bool(cell.reason) for cell in printed_cells())
    (56, 4)
    """
    source = files("meanparity.experiments") / "data" / "printed_numbers.csv"
    cells = []
    for row in csv.DictReader(io.StringIO(source.read_text(encoding="utf-8"))):
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


def compare(outcome: Outcome, sources: Sources) -> list[Compared]:
    """The printed cells of an experiment's table beside ours, in the order of the printed ones."""
    frame, experiment = outcome.frame, outcome.experiment
    compared = []
    for cell in printed_cells():
        if not experiment.is_printed or f"({cell.table})" not in experiment.paper:
            continue
        rows = frame[(frame.dataset == cell.dataset) & (frame.method == cell.method)]
        values = rows[f"{cell.metric}_{cell.part}"]
        mean, sd = (float(values.mean()), _spread(values)) if len(values) else (None, None)
        compared.append(Compared(cell, mean, sd, sources.found.get(cell.dataset, "")))
    return compared


def summary(outcome: Outcome) -> Any:
    """Mean and standard deviation (ddof 0, as in the paper) over the trials, as a data frame."""
    frame = outcome.frame
    columns = [
        name
        for metric in outcome.experiment.metrics
        for name in (metric, *(f"{metric}_{part}" for part in PARTS))
        if name in frame
    ]
    columns += [name for name in ("seconds",) if name in frame]
    keys = [name for name in ("dataset", "method", "curve") if name in frame]
    if "position" in frame:  # where a dial has the smallest gap
        runs = frame.groupby(["dataset", "method", "trial"])
        frame = frame[runs.smd_train.transform("min") == frame.smd_train]
    if "step" in frame:  # the last one
        runs = frame.groupby(["dataset", "trial", "curve"])
        frame = frame[runs.step.transform("max") == frame.step]
    groups = frame.groupby(keys, sort=False)[columns]
    return groups.agg(["mean", _spread])


def _spread(values: Any) -> float:
    return float(values.std(ddof=0))


def shown(outcome: Outcome) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the summary as text."""
    if not outcome.experiment.metrics:
        return [], []
    table = summary(outcome)
    columns = list(dict.fromkeys(name for name, _ in table.columns))
    header = ["data", "method", *(_title(name) for name in columns)]
    rows = []
    for key, numbers in table.iterrows():
        dataset, *names = key
        several = outcome.experiment.trials > 1
        cells = [
            _number(name, numbers[name, "mean"], numbers[name, "_spread"] if several else None)
            for name in columns
        ]
        rows.append([DATA[dataset].title, ", ".join(names[-1:]), *cells])
    return header, rows


def _title(column: str) -> str:
    metric, _, part = column.rpartition("_")
    if part in PARTS:
        return f"{WORDS[metric]} {part}"
    return WORDS.get(column, column)


def _number(name: str, mean: float, sd: float | None) -> str:
    if name == "seconds":
        return f"{1e3 * mean:.1f} ms"
    if 0 < abs(mean) < 5e-5:
        return f"{mean:.0e}"
    return f"{mean:.4f}" if sd is None else f"{mean:.4f} ± {sd:.4f}"
