"""The page with every table and figure, and the files beside it."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from meanparity.files import write_atomically
from reproduction.datasets import DATASETS
from reproduction.declaration import TRIALS, Claim, Verdict
from reproduction.publication.figures import draw
from reproduction.publication.tables import ComparedCell, compare_with_paper, summary_as_text
from reproduction.runner import Outcome, Plan, Sources


@dataclass(frozen=True)
class Section:
    """The part of the page about one experiment.

    Parameters
    ----------
    outcome : Outcome
        Its results.
    verdicts : list of (Claim, Verdict)
        Whether the results agree with each claim.
    compared : list of ComparedCell
        The paper's printed numbers and ours.
    """

    outcome: Outcome
    verdicts: list[tuple[Claim, Verdict]]
    compared: list[ComparedCell]

    @classmethod
    def from_outcome(cls, outcome: Outcome, sources: Sources) -> Section:
        """Check the claims and compare the printed numbers."""
        frame, verdicts = outcome.frame, []
        for claim in outcome.experiment.claims:
            try:
                verdict = claim.check(frame)
            except Exception as error:
                where = f"{outcome.experiment.name}, claim {claim.text!r}"
                raise RuntimeError(f"{where}: {type(error).__name__}: {error}") from error
            verdicts.append((claim, verdict))
        return cls(outcome, verdicts, compare_with_paper(outcome, sources))


@dataclass(frozen=True)
class Publication:
    """The page that was written.

    Parameters
    ----------
    path : Path
        Its file.
    sections : list of Section
        Its content.
    sources : Sources
        Where the data sets came from.
    """

    path: Path
    sections: list[Section]
    sources: Sources

    @property
    def cells(self) -> list[ComparedCell]:
        """All printed numbers of the experiments that were run."""
        return [cell for section in self.sections for cell in section.compared]

    def count_cells(self, status: str) -> int:
        """How many printed numbers are "within", "outside", from "other data" or "not run"."""
        return sum(cell.status == status for cell in self.cells)

    def statements(self, kind: str) -> dict[str, bool | None]:
        """Each claim of a kind, and whether it held wherever it could be checked.

        The value is None if the claim could not be checked anywhere.
        """
        verdicts: dict[str, list[bool]] = {}
        for section in self.sections:
            for claim, verdict in section.verdicts:
                if claim.kind == kind:
                    known = verdicts.setdefault(claim.text, [])
                    known += [] if verdict.held is None else [verdict.held]
        return {text: all(known) if known else None for text, known in verdicts.items()}

    @property
    def substitutes(self) -> list[str]:
        """A sentence for each data set that was not run on the paper's file."""
        explanations = {
            "bundled": "run on the bundled variant instead of the paper's file. Its numbers are "
            "close to the paper's but are not compared with them",
            "": "left out, because no variant of it is bundled",
        }
        sentences = (
            f"{DATASETS[name].title.split(',')[0]}: {explanations[source]}."
            for name, source in self.sources.found.items()
            if source != "paper"
        )
        return list(dict.fromkeys(sentences))


def publish(plan: Plan, folder: Path, command: str) -> Publication:
    """Write CSV files, figures and the page for all complete experiments of a plan.

    Parameters
    ----------
    plan : Plan
        A plan that has been run, completely or in part.
    folder : Path
        Where to write ``index.html``, ``<experiment>.csv``, ``<figure>.png`` and ``.svg``, and, if
        the paper prints numbers of an experiment, ``cells.csv`` with its numbers and ours.
    command : str
        The command that reproduces the page.
    """
    sections = [Section.from_outcome(outcome, plan.sources) for outcome in plan.outcomes()]
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
    files["index.html"] = _render(publication, plan, command)  # last, as it links to the others
    for name, content in files.items():
        write_atomically(folder / name, content)
    return publication


def _render(publication: Publication, plan: Plan, command: str) -> str:
    """The page as HTML."""
    template = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals.update(
        datasets=DATASETS,
        summary_as_text=summary_as_text,
        cells_by_row=_cells_by_row,
        merge_similar=_merge_similar,
    )
    libraries = ("meanparity", "numpy", "scipy", "scikit-learn", "matplotlib")
    page: str = environment.from_string(template).render(
        publication=publication,
        trials=plan.trials,
        all_trials=TRIALS,
        command=command,
        versions=[f"Python {platform.python_version()}"] + [f"{n} {version(n)}" for n in libraries],
    )
    return page


def _cells_by_row(
    cells: Iterable[ComparedCell],
) -> dict[tuple[str, str, str], dict[str, ComparedCell]]:
    """Cells by method, metric and part (a row of the table), and then by data set (a column)."""
    rows: dict[tuple[str, str, str], dict[str, ComparedCell]] = {}
    for cell in cells:
        key = (cell.cell.method, cell.cell.metric.upper(), cell.cell.part)
        rows.setdefault(key, {})[cell.cell.dataset] = cell
    return rows


def _merge_similar(warnings: Mapping[str, int]) -> list[tuple[str, int]]:
    """The first of all warnings whose first words agree up to numbers, and their total count."""
    merged: dict[str, tuple[str, int]] = {}
    for text, count in warnings.items():
        key = re.sub(r"[\d.]+", "#", text)[:30]
        first, total = merged.get(key, (text, 0))
        merged[key] = (first, total + count)
    return list(merged.values())


def _cells_frame(cells: list[ComparedCell]) -> Any:
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
