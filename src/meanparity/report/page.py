"""The page: one file with everything in it."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from meanparity._typing import FloatArray
from meanparity.audit import Proxies, proxies
from meanparity.files import write_atomically
from meanparity.path import Comparison
from meanparity.report.parts import BINS, MOST_GROUPS, STEPS, Part, Summary
from meanparity.report.words import number, rows_of, share, verdict

_DRIVERS = 12
_ENOUGH_ROWS = 20_000  # for drivers and proxies


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A page about a fitted model.

    Parameters
    ----------
    summaries : tuple of Summary
        What is known of each set of rows.
    target : str
        What is predicted.
    position : float
        The dial's.
    constraint : str
        What was constrained, in words.
    drivers : tuple of (str, float, float)
        Columns, and the shares of the variance of the free and of the constrained predictions that
        each explains alone.
    proxies : Proxies or None
        Which columns tell the groups.
    facts : mapping of str to str
        What else is known: data, versions, command.
    """

    summaries: tuple[Summary, ...]
    target: str
    position: float
    constraint: str
    drivers: tuple[tuple[str, float, float], ...]
    proxies: Proxies | None
    facts: Mapping[str, str]

    def to_html(self) -> str:
        """The page: it needs no network and no other file."""
        try:
            import jinja2
        except ImportError as error:
            message = "The report needs jinja2: pip install 'meanparity[report]'."
            raise ImportError(message) from error
        folder = files("meanparity.report") / "templates"
        environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
        environment.filters.update(number=number, share=share)
        template = environment.from_string((folder / "report.html.j2").read_text("utf-8"))
        return template.render(
            report=self,
            verdict=verdict(self.summaries, self.target, self.position),
            tables=[rows_of(summary) for summary in self.summaries],
            most_groups=MOST_GROUPS,
            style=(folder / "report.css").read_text("utf-8"),
            script=(folder / "report.js").read_text("utf-8"),
            data=_safe_json(
                {
                    "target": self.target,
                    "position": self.position,
                    "steps": STEPS,
                    "bins": BINS,
                    "parts": [summary.data for summary in self.summaries],
                }
            ),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file; another file there is replaced at once."""
        write_atomically(Path(path), self.to_html())

    def _repr_html_(self) -> str:
        page = html.escape(self.to_html(), quote=True)
        return (
            f'<iframe title="meanparity report" srcdoc="{page}" '
            'style="width: 100%; height: 800px; border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        rows = ", ".join(f"{len(s.part.fair):,} {s.part.name}" for s in self.summaries)
        return f"Report({rows})"


def make_report(
    parts: Sequence[Part],
    *,
    comparison: Comparison,
    position: float,
    target: str = "y",
    columns: Any = None,
    origin: Mapping[str, str] | None = None,
    facts: Mapping[str, str] | None = None,
) -> Report:
    """Sum up predictions on several sets of rows.

    Parameters
    ----------
    parts : sequence of Part
        Rows with the predictions of both ends; the first may have columns.
    comparison : Comparison
        What the constraint compares.
    position : float
        The dial's.
    target : str
        What is predicted.
    columns : (data frame of numbers, Part), optional
        Features of some rows and these rows, for drivers and proxies.
    origin : mapping of str to str, optional
        Which column of a table each of `columns` came from.
    facts : mapping of str to str, optional
        What else is known.
    """
    summaries = tuple(Summary.of(part, comparison, position) for part in parts)
    drivers: tuple[tuple[str, float, float], ...] = ()
    found: Proxies | None = None
    if columns is not None:
        frame, part = columns
        some = np.arange(len(part.fair))
        if len(some) > _ENOUGH_ROWS:
            some = np.sort(np.random.default_rng(0).permutation(len(some))[:_ENOUGH_ROWS])
        blocks = _blocks(frame.iloc[some], origin or {})
        values = (1 - position) * part.fair + position * part.free
        ends = [_shares(blocks, end[some, None]) for end in (part.free, values)]
        best = sorted(blocks, key=lambda name: -max(ends[0][name], ends[1][name]))[:_DRIVERS]
        drivers = tuple((name, ends[0][name], ends[1][name]) for name in best)
        groups = comparison.reading.groups(part.sensitive_features)
        others = {n: X for n, X in blocks.items() if n not in comparison.reading.sensitive}
        if groups is not None and others:
            codes = np.asarray(groups.codes)[some]
            inside = codes >= 0
            if len(np.unique(codes[inside])) > 1:
                found = _proxies({n: X[inside] for n, X in others.items()}, codes[inside])
    words = _constraint_words(comparison)
    return Report(summaries, target, position, words, drivers, found, dict(facts or {}))


def _blocks(frame: Any, origin: Mapping[str, str]) -> dict[str, FloatArray]:
    """The numbers that each column of a table became."""
    names: dict[str, list[str]] = {}
    for name in frame.columns:
        names.setdefault(str(origin.get(name, name)), []).append(name)
    return {name: np.asarray(frame[some], dtype=float) for name, some in names.items()}


def _shares(blocks: Mapping[str, FloatArray], targets: FloatArray) -> dict[str, float]:
    """Share of the variance of targets, (n, k), that each block of columns explains alone."""
    centred = targets - targets.mean(axis=0)
    total = float((centred**2).sum())
    found = {}
    for name, X in blocks.items():
        basis, sizes, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
        basis = basis[:, sizes > 1e-9 * max(float(sizes.max(initial=0.0)), 1e-300)]
        found[name] = float(((basis.T @ centred) ** 2).sum()) / total if total > 0 else 0.0
    return found


def _proxies(blocks: Mapping[str, FloatArray], codes: Any) -> Proxies:
    """How much of the groups each column tells, and all together."""
    indicators = (codes[:, None] == np.unique(codes)).astype(float)
    shares = _shares(blocks, indicators)
    joint = proxies(np.hstack(list(blocks.values())), sensitive_features=codes).joint
    return Proxies(tuple(sorted(shares.items(), key=lambda item: -item[1])), joint)


def _constraint_words(comparison: Comparison) -> str:
    reading = comparison.reading
    kind = type(comparison.constraint).__name__
    numbers = ", ".join(reading.continuous)
    categories = ", ".join(reading.categories)
    words = []
    what = "the mean error" if kind == "ResidualParity" else "the mean prediction"
    if categories and (reading.intersectional or len(reading.categories) == 1):
        words.append(f"{what} is the same in every group of {categories}")
    elif categories:
        words.append(f"{what} is the same in every group of each of {categories} apart")
    if numbers:
        words.append(f"predictions have no covariance with {numbers}")
    where = f", within each stratum of {', '.join(reading.control)}" if reading.control else ""
    return " and ".join(words) + where


def _safe_json(value: Any) -> str:
    """JSON that can stand inside a script element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
