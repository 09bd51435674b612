"""One page with every table and figure, and the files beside it."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from meanparity.experiments.declaration import Claim, Verdict
from meanparity.experiments.problems import DATA
from meanparity.experiments.runner import Outcome, Plan, Sources
from meanparity.experiments.show.figures import draw, save
from meanparity.experiments.show.tables import Compared, compare, shown
from meanparity.experiments.store import write_atomically


@dataclass(frozen=True)
class Section:
    """What the page shows of an experiment.

    Parameters
    ----------
    outcome : Outcome
        Its numbers.
    verdicts : list of (Claim, Verdict)
        What the numbers say about each claim.
    compared : list of Compared
        Printed cells beside ours.
    """

    outcome: Outcome
    verdicts: list[tuple[Claim, Verdict]]
    compared: list[Compared]

    @classmethod
    def of(cls, outcome: Outcome, sources: Sources) -> Section:
        """Ask the claims, and compare the cells."""
        frame = outcome.frame
        verdicts = [(claim, claim.check(frame)) for claim in outcome.experiment.claims]
        return cls(outcome, verdicts, compare(outcome, sources))


@dataclass(frozen=True)
class Publication:
    """What was written.

    Parameters
    ----------
    path : Path
        The page.
    sections : list of Section
        What it shows.
    sources : Sources
        Where the tables came from.
    """

    path: Path
    sections: list[Section]
    sources: Sources

    @property
    def cells(self) -> list[Compared]:
        """All printed cells of the experiments that were run."""
        return [cell for section in self.sections for cell in section.compared]

    def cells_that_are(self, status: str) -> int:
        """How many printed cells are "within", "outside" or "not run"."""
        return sum(cell.status == status for cell in self.cells)

    def claims(self, kind: str) -> list[Verdict]:
        """What the numbers say about the claims that are "proved", "observed" or "ours"."""
        every = (pair for section in self.sections for pair in section.verdicts)
        return [verdict for claim, verdict in every if claim.kind == kind]

    @property
    def substitutes(self) -> list[str]:
        """What was not run on the paper's data, in words."""
        words = {
            "bundled": "run on the bundled variant, not on the paper's file: its numbers are close "
            "to the paper's, not comparable cell by cell",
            "": "left out, as no variant of it is bundled",
        }
        titles = {name: DATA[name].title.split(",")[0] for name in self.sources.reasons}
        return list(
            dict.fromkeys(f"{t}: {words[self.sources.found[name]]}." for name, t in titles.items())
        )


def publish(plan: Plan, folder: Path, command: str) -> Publication:
    """Write CSV files, pictures and the page for what a plan has run.

    Parameters
    ----------
    plan : Plan
        Which has been run.
    folder : Path
        Where to write ``index.html``, ``<experiment>.csv``, ``<figure>.png`` and ``.svg``, and
        ``cells.csv`` with the paper's printed numbers beside ours.
    command : str
        What the reader types to get the same.
    """
    sections = [Section.of(outcome, plan.sources) for outcome in plan.outcomes() if outcome.rows]
    publication = Publication(folder / "index.html", sections, plan.sources)
    for section in sections:
        outcome = section.outcome
        stem = outcome.experiment.stem
        _write_csv(folder / f"{stem}.csv", outcome.frame)
        if outcome.experiment.figure:
            for kind, content in save(draw(outcome)).items():
                write_atomically(folder / f"{stem}.{kind}", content)
    _write_csv(folder / "cells.csv", _cells_frame(publication.cells))
    write_atomically(publication.path, render(publication, plan, command))
    return publication


def render(publication: Publication, plan: Plan, command: str) -> str:
    """The page as HTML."""
    jinja2 = _jinja2()
    template = files("meanparity.experiments.show") / "page.html"
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals.update(shown=shown, data=DATA, tables=_by_table)
    libraries = ("meanparity", "numpy", "scipy", "scikit-learn", "matplotlib")
    page: str = environment.from_string(template.read_text(encoding="utf-8")).render(
        publication=publication,
        trials=plan.trials,
        command=command,
        versions=[f"Python {platform.python_version()}"] + [f"{n} {version(n)}" for n in libraries],
    )
    return page


def _by_table(cells: Iterable[Compared]) -> list[dict[str, Any]]:
    """Cells as the rows of a table: a row for each method, metric and part, a column a data set."""
    rows: dict[tuple[str, str, str], dict[str, Compared]] = {}
    for cell in cells:
        key = (cell.cell.method, cell.cell.metric.upper(), cell.cell.part)
        rows.setdefault(key, {})[cell.cell.dataset] = cell
    return [{"key": key, "cells": cells_of_row} for key, cells_of_row in rows.items()]


def _cells_frame(cells: list[Compared]) -> Any:
    import pandas as pd

    columns = ["table", "dataset", "method", "metric", "part"]
    return pd.DataFrame(
        [
            {
                **{name: getattr(c.cell, name) for name in columns},
                "paper_mean": c.cell.mean,
                "paper_sd": c.cell.sd,
                "our_mean": c.mean,
                "our_sd": c.sd,
                "status": c.status,
                "data": c.source,
                "reason": c.cell.reason,
            }
            for c in cells
        ]
    )


def _write_csv(path: Path, frame: Any) -> None:
    write_atomically(path, frame.to_csv(index=False))


def _jinja2() -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise ImportError("jinja2 is missing: pip install 'meanparity[experiments]'") from error
    return jinja2
