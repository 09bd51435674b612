"""One page with every table and figure, and the files beside it."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from meanparity.experiments.declaration import TRIALS, Claim, Verdict
from meanparity.experiments.problems import DATA
from meanparity.experiments.runner import Outcome, Plan, Sources
from meanparity.experiments.show.figures import draw
from meanparity.experiments.show.tables import Compared, compare, shown
from meanparity.files import write_atomically


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
        frame, verdicts = outcome.frame, []
        for claim in outcome.experiment.claims:
            try:
                verdict = claim.check(frame)
            except Exception as error:
                where = f"{outcome.experiment.name}, claim {claim.text!r}"
                raise RuntimeError(f"{where}: {type(error).__name__}: {error}") from error
            verdicts.append((claim, verdict))
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
        """How many printed cells are "within", "outside", of "other data" or "not run"."""
        return sum(cell.status == status for cell in self.cells)

    def statements(self, kind: str) -> dict[str, bool | None]:
        """What is "proved", "observed" or "ours", each once, and whether it held wherever asked."""
        asked: dict[str, list[bool]] = {}
        for section in self.sections:
            for claim, verdict in section.verdicts:
                if claim.kind == kind:
                    answers = asked.setdefault(claim.text, [])
                    answers += [] if verdict.held is None else [verdict.held]
        return {text: all(answers) if answers else None for text, answers in asked.items()}

    @property
    def substitutes(self) -> list[str]:
        """What was not run on the paper's data, in words."""
        words = {
            "bundled": "run on the bundled variant, not on the paper's file: its numbers are close "
            "to the paper's, and are not compared with them",
            "": "left out, as no variant of it is bundled",
        }
        found = self.sources.found
        titles = {name: DATA[name].title.split(",")[0] for name in found if found[name] != "paper"}
        return list(dict.fromkeys(f"{t}: {words[found[name]]}." for name, t in titles.items()))


def publish(plan: Plan, folder: Path, command: str) -> Publication:
    """Write CSV files, pictures and the page for all experiments of a plan that are complete.

    Parameters
    ----------
    plan : Plan
        Which has been run, as a whole or in part.
    folder : Path
        Where to write ``index.html``, ``<experiment>.csv``, ``<figure>.png`` and ``.svg``, and, if
        there are any, ``cells.csv`` with the paper's printed numbers beside ours.
    command : str
        What the reader types to get the same.
    """
    sections = [Section.of(outcome, plan.sources) for outcome in plan.outcomes()]
    publication = Publication(folder / "index.html", sections, plan.sources)
    files: dict[str, str | bytes] = {}
    for section in sections:
        outcome = section.outcome
        stem = outcome.experiment.stem
        files[f"{stem}.csv"] = outcome.frame.to_csv(index=False)
        if outcome.experiment.figure:
            files |= {f"{stem}.{kind}": content for kind, content in draw(outcome).items()}
    if publication.cells:
        files["cells.csv"] = _cells_frame(publication.cells).to_csv(index=False)
    files["index.html"] = render(publication, plan, command)  # the last one, when all is there
    for name, content in files.items():
        write_atomically(folder / name, content)
    return publication


def render(publication: Publication, plan: Plan, command: str) -> str:
    """The page as HTML."""
    import jinja2

    template = files("meanparity.experiments.show") / "page.html"
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals.update(shown=shown, data=DATA, tables=_by_table, alike=_alike)
    libraries = ("meanparity", "numpy", "scipy", "scikit-learn", "matplotlib")
    page: str = environment.from_string(template.read_text(encoding="utf-8")).render(
        publication=publication,
        trials=plan.trials,
        all_trials=TRIALS,
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


def _alike(warnings: Mapping[str, int]) -> list[tuple[str, int]]:
    """Warnings that differ in numbers and names once, by their first words, and how many fits."""
    groups: dict[str, list[tuple[str, int]]] = {}
    for text, count in warnings.items():
        groups.setdefault(re.sub(r"[\d.]+", "#", text)[:30], []).append((text, count))
    return [(several[0][0], sum(count for _, count in several)) for several in groups.values()]


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
