"""The report as one HTML file without external resources."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from meanparity._typing import FloatArray, IntArray
from meanparity.audit import Proxies, proxies
from meanparity.audit.checks import format_number
from meanparity.audit.proxies import explained_share
from meanparity.files import write_atomically
from meanparity.report.bands import band_edges
from meanparity.report.slider import Slider
from meanparity.report.small_cells import check_min_cell
from meanparity.report.statements import GroupUse, Kind, format_share
from meanparity.report.summary import BINS, MOST_GROUPS, PredictedRows, Summary
from meanparity.report.use import use_of
from meanparity.report.words import (
    Answer,
    answers,
    band_table,
    condition_table,
    describe_gap,
    group_table,
    reference,
)
from meanparity.tradeoff import Comparison

_SIZES: dict[str, str] = {  # of gaps, on the axis of a chart
    "gap": "largest gap",
    "smd": "sum of gaps",
    "norm": "root of the sum of squared gaps",
}
_MOST_DRIVERS = 12
_MOST_COLUMN_ROWS = 20_000  # rows on which drivers and proxies are computed


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A page about a fitted model.

    It displays itself in notebooks; `save` writes it to a file.

    Parameters
    ----------
    summaries : tuple of Summary
        What the page shows of each set of rows.
    target : str
        Name of the outcome.
    slider : Slider
        The models between which the page's slider chooses, and the one that the page is about.
    constraint : str
        One sentence that says what the constraint makes equal; empty for predictions of any model.
    use : GroupUse
        Whether the sensitive columns themselves are used to predict.
    drivers : tuple of (str, float, float)
        Columns, and the shares of the variance of the unconstrained and of the model's predictions
        that each explains by itself.
    proxies : Proxies or None
        How well columns predict group membership.
    column_rows : str
        The rows on which drivers and proxies were computed.
    facts : mapping of str to str
        Further facts, such as data, versions and the command.

    See Also
    --------
    report : Makes one from predictions.

    Examples
    --------
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> model = ParityRidge().fit(X, y, sensitive_features=s)
    >>> page = model.report(X, y, sensitive_features=s, name="all rows")
    >>> page.sentences[0].endswith(".")
    True
    """

    summaries: tuple[Summary, ...]
    target: str
    slider: Slider
    constraint: str
    use: GroupUse
    drivers: tuple[tuple[str, float, float], ...]
    proxies: Proxies | None
    column_rows: str
    facts: Mapping[str, str]

    @property
    def lead(self) -> str:
        """What was constrained, and how much of the constraint was dropped."""
        if not self.constraint:
            return "The predictions of any model, compared between groups."
        if np.array_equal(self.slider.model, self.slider.weights[0]):
            lead = f"Constraint: {self.constraint}"
        else:
            lead = f"This model has {self.slider.model_label}"
            if self.slider.model_label.startswith("unfairness"):
                lead += ", between the constraint (0) and no constraint (1)"
            lead += f". In full, the constraint would say: {self.constraint}"
        if any(summary.quantity == "score" for summary in self.summaries):
            lead += (
                " Here this is about the scores from which the predictions are computed, not about "
                "the predictions."
            )
        return lead

    @property
    def _limit_unit(self) -> str:
        """What has the units of the slider's limits; empty where this cannot be said."""
        first = self.summaries[0]
        if not self.slider.where_it_stands or Kind.condition in first.kinds:
            return ""
        return first.quantity

    @property
    def answers(self) -> list[Answer]:
        """What the page says in short, as statements."""
        return answers(self.summaries, self.target, self.use)

    @property
    def sentences(self) -> list[str]:
        """What the page says in short, sentence by sentence, the folded ones included."""
        return [str(statement) for answer in self.answers for statement in answer.statements]

    def to_html(self) -> str:
        """Return the page as HTML that needs no network and no other file."""
        try:
            import jinja2
        except ImportError as error:
            message = "The report needs jinja2. Run: pip install 'meanparity[report]'"
            raise ImportError(message) from error
        folder = files("meanparity.report") / "templates"
        environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
        environment.filters.update(number=format_number, share=format_share)
        template = environment.from_string((folder / "report.html.j2").read_text("utf-8"))
        style, script = (
            (folder / name).read_text("utf-8").strip() for name in ("report.css", "report.js")
        )
        return template.render(
            report=self,
            answers=self.answers,
            gap=describe_gap(self.summaries[0]),
            tables=[group_table(summary) for summary in self.summaries],
            conditions=[condition_table(summary) for summary in self.summaries],
            bands=[
                []
                if s.banded and len(s.numbers) == 1
                else [(b.number, band_table(b, s.data["zero"])) for b in s.bands]
                for s in self.summaries
            ],
            reference=reference(self.summaries[0]),
            imposed=" and ".join(
                f"{len(summary.predicted):,} {summary.predicted.name}"
                for summary in self.summaries
                if summary.predicted.constrained
            ),
            unknown=any(summary.predicted.constrained is None for summary in self.summaries),
            most_groups=MOST_GROUPS,
            size_of_gaps=_SIZES[self.slider.budget],
            limit_unit=self._limit_unit,
            style=style,
            script=script,
            style_hash=_hash(style),
            script_hash=_hash(script),
            data=_script_json(
                {
                    "target": self.target,
                    "weights": [*self.slider.weights.tolist(), self.slider.model.tolist()],
                    "labels": [*self.slider.labels, self.slider.model_value],
                    "start": self.slider.start,
                    "budget": self.slider.budget,
                    "size": _SIZES[self.slider.budget],
                    "bins": BINS,
                    "parts": [
                        {**summary.data, "gap": describe_gap(summary)} for summary in self.summaries
                    ],
                }
            ),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which replaces an existing file only once it is complete."""
        write_atomically(Path(path), self.to_html())

    def _repr_html_(self) -> str:
        page = html.escape(self.to_html(), quote=True)
        return (
            f'<iframe title="meanparity report" srcdoc="{page}" '
            'style="width: 100%; height: 800px; border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        rows = ", ".join(f"{len(s.predicted):,} {s.predicted.name}" for s in self.summaries)
        return f"Report({rows})"


def make_report(
    row_sets: Sequence[PredictedRows],
    *,
    comparison: Comparison,
    position: float = 0.0,
    slider: Slider | None = None,
    target: str = "y",
    columns: tuple[Any, PredictedRows] | None = None,
    origin: Mapping[str, str] | None = None,
    facts: Mapping[str, str] | None = None,
    min_cell: int = 1,
    use: GroupUse | None = None,
) -> Report:
    """Make a report about predictions on one or several sets of rows.

    Parameters
    ----------
    row_sets : sequence of PredictedRows
        Rows with the predictions of the constrained and of the unconstrained model.
    comparison : Comparison
        What the constraint compares, ``model.tradeoff_.comparison``. The page quotes its
        description, which is about the rows of fit.
    position : float, default=0.0
        Position of the model between the constrained (0) and the unconstrained model (1).
    slider : Slider, optional
        Other models than those between both, and `position` is then not used.
    target : str, default="y"
        Name of the outcome.
    columns : (data frame of numbers, PredictedRows), optional
        Features of some rows, and these rows, from which drivers and proxies are computed.
    origin : mapping of str to str, optional
        For each encoded column of that data frame, the column of the original table.
    facts : mapping of str to str, optional
        Further facts for the last section of the page.
    min_cell : int, default=1
        The smallest number of people about whom the report says anything. Smaller groups are
        merged, and bars and shares of fewer people are left out.
    use : GroupUse, optional
        Whether the sensitive columns are used to predict; by default what `columns` show.

    Returns
    -------
    Report

    See Also
    --------
    report : From predictions alone.

    Examples
    --------
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(300, random_state=0)
    >>> tradeoff = ParityRidge().fit(X, y, sensitive_features=s).tradeoff_
    >>> rows = PredictedRows(
    ...     "training rows", *tradeoff.predict(X, [0.0, 1.0]), s, y, constrained=True
    ... )
    >>> report = make_report([rows], comparison=tradeoff.comparison)
    >>> report
    Report(300 training rows)
    >>> report.constraint
    'The mean prediction is the same in every group of sensitive.'
    """
    slider = Slider.dial(position) if slider is None else slider
    least = check_min_cell(min_cell)
    first = next((rows for rows in row_sets if rows.constrained), row_sets[0])
    edges = band_edges(first.as_rows(comparison))  # the same bands on all rows
    summaries = tuple(
        Summary.from_rows(rows, comparison, slider, least, edges) for rows in row_sets
    )
    constraint = "" if slider.single else comparison.description
    if not constraint and not slider.single:  # a model file of an earlier version
        constraint = comparison.constraint.describe(first.as_rows(comparison))
    drivers: tuple[tuple[str, float, float], ...] = ()
    found, column_rows = None, ""
    if columns is not None:
        frame, rows = columns
        used = np.arange(len(rows))
        if len(used) > _MOST_COLUMN_ROWS:
            used = np.sort(np.random.default_rng(0).permutation(len(used))[:_MOST_COLUMN_ROWS])
        column_rows = f"{len(used):,} {rows.name}"
        if len(used) < len(rows):
            column_rows = f"{len(used):,} of {len(rows):,} {rows.name}"
        blocks = _blocks(frame.iloc[used], origin or {})
        drivers = _drivers(blocks, rows.free[used], rows.at(slider.model)[used])
        groups = comparison.schema.read_groups(rows.sensitive_features)
        others = {n: X for n, X in blocks.items() if n not in comparison.schema.sensitive}
        if groups is not None and others:
            found = _proxies(others, np.asarray(groups.codes)[used])
        if use is None:
            names = {str((origin or {}).get(name, name)) for name in frame.columns}
            use = use_of(frame.iloc[used], names, comparison.schema, rows.sensitive_features, used)
    return Report(
        summaries,
        target,
        slider,
        constraint,
        use or GroupUse(unknown=comparison.schema.sensitive),
        drivers,
        found,
        column_rows,
        dict(facts or {}),
    )


def _blocks(frame: Any, origin: Mapping[str, str]) -> dict[str, FloatArray]:
    """The encoded columns of each column of the original table: (n, d) each."""
    names: dict[str, list[str]] = {}
    for name in frame.columns:
        names.setdefault(str(origin.get(name, name)), []).append(name)
    return {name: np.asarray(frame[parts], dtype=float) for name, parts in names.items()}


def _drivers(
    blocks: Mapping[str, FloatArray], free: FloatArray, now: FloatArray
) -> tuple[tuple[str, float, float], ...]:
    """The columns that explain most of the variance of either prediction, (n,)."""
    before, after = (_shares(blocks, values[:, None]) for values in (free, now))
    best = sorted(blocks, key=lambda name: -max(before[name], after[name]))[:_MOST_DRIVERS]
    return tuple((name, before[name], after[name]) for name in best)


def _proxies(blocks: Mapping[str, FloatArray], codes: IntArray) -> Proxies | None:
    """How well each column, and all together, predict the group; None if there is one group."""
    inside = codes >= 0
    codes, blocks = codes[inside], {name: X[inside] for name, X in blocks.items()}
    present = np.unique(codes)
    if len(present) < 2:
        return None
    shares = _shares(blocks, (codes[:, None] == present).astype(float))
    joint = proxies(np.hstack(list(blocks.values())), sensitive_features=codes).joint
    return Proxies(tuple(sorted(shares.items(), key=lambda item: -item[1])), joint)


def _shares(blocks: Mapping[str, FloatArray], targets: FloatArray) -> dict[str, float]:
    """Share of the variance of targets, (n, k), that each block of columns explains."""
    centred = targets - targets.mean(axis=0)
    return {
        name: explained_share(_without_rounding(X - X.mean(axis=0), X), centred)
        for name, X in blocks.items()
    }


def _without_rounding(centred: FloatArray, X: FloatArray) -> FloatArray:
    """Columns that are constant up to rounding as zeros."""
    varies = np.abs(centred).max(axis=0) > 1e-12 * np.abs(X).max(axis=0)
    return np.where(varies, centred, 0.0)


def _hash(text: str) -> str:
    """The source of a content security policy that lets this script or style run, and no other.

    Examples
    --------
    >>> _hash("alert(1)")
    "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"
    """
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"


def _script_json(value: Any) -> str:
    """JSON that is safe inside a script element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
