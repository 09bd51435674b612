"""What a report says of its numbers, statement by statement, and its tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from meanparity.audit import GroupFinding
from meanparity.audit.checks import format_number
from meanparity.report.bands import Bands
from meanparity.report.statements import (
    Compared,
    Evidence,
    GroupUse,
    JustRows,
    Kind,
    LargestGap,
    LeftInBands,
    Named,
    OnRows,
    OutOfRange,
    Price,
    RowSet,
    Statement,
)
from meanparity.report.summary import Summary

_MUCH_LEFT = 0.25  # share of the largest gap between bands that is much,
_VISIBLE = 0.05  # if it is also this share of the standard deviation of the predictions
_FAR_OUT = 0.1  # of the range of the outcomes, beyond which predictions are noted


@dataclass(frozen=True)
class Answer:
    """A question that the first screen of the page answers, and the statements that answer it."""

    question: str
    statements: tuple[Statement, ...]


def answers(summaries: Sequence[Summary], target: str, use: GroupUse) -> list[Answer]:
    """What a reader asks first: who, on which rows, how large the gap is, at what cost, and how.

    Rows on which the constraint was imposed come first. The cost is that on other rows, if their
    outcomes are known.
    """
    imposed = sorted(summaries, key=lambda s: not s.predicted.constrained)
    rows = tuple(row_set(summary) for summary in imposed)
    single = imposed[0].slider.single
    gaps: list[Statement] = []
    for summary in imposed:
        gaps += _gaps(summary)
    asked = [
        Answer("Who is compared?", (_compared(imposed[0]),)),
        Answer("On which rows?", ((JustRows if single else OnRows)(rows),)),
        Answer(
            "How large is the gap?" if single else "How large was the gap, and how large is it?",
            tuple(gaps),
        ),
    ]
    known = [summary for summary in imposed[::-1] if summary.predicted.y is not None]
    if known:
        question = "How accurate are the predictions?" if single else "What does it cost?"
        asked.append(Answer(question, tuple(_cost(known[0], target))))
    asked.append(Answer("Is the group itself used to predict?", (use,)))
    return asked


def row_set(summary: Summary) -> RowSet:
    """The rows of a summary."""
    n, predicted = len(summary.predicted), summary.predicted
    return RowSet(predicted.name, n, n - summary.data["in_no_group"], predicted.constrained)


def _compared(summary: Summary) -> Compared:
    sizes = {f.name: f.size for f in summary.after.findings}
    groups = sorted(sizes.items(), key=lambda item: -item[1])
    return Compared(
        summary.columns,
        () if summary.banded else tuple(groups),
        summary.numbers,
        summary.control,
        summary.separately,
        row_set(summary),
        tuple(map(str, summary.after.left_out)),
    )


def _gaps(summary: Summary) -> list[Statement]:
    found: list[Statement] = [largest_gap(summary, kind) for kind in summary.kinds]
    if summary.quantity == "score" and summary.n_groups == len(summary.names):
        found.append(_gap_of_predictions(summary))
    if Kind.covariance in summary.kinds:
        found += [_left_in_bands(summary, bands) for bands in summary.bands]
    mean = next((one for one in found if isinstance(one, LargestGap)), None)
    told = not summary.banded and not (mean and mean.kind is Kind.mean and mean.is_zero)
    if told and not summary.predicted.constrained:
        found.append(_evidence(summary))
    return found


def largest_gap(summary: Summary, kind: Kind) -> LargestGap:
    """The largest gap of a kind, with the constraint and without it."""
    slider = summary.slider
    now = _largest(summary.gaps_of(kind, slider.model))
    free = None if slider.single else _largest(summary.gaps_of(kind, slider.weights[-1]))
    few = {f.name for f in summary.after.findings if f.too_few_rows}
    return LargestGap(
        row_set(summary),
        kind,
        summary.quantity,
        reference(summary),
        summary.kinds[kind],
        summary.numbers,
        now,
        free,
        summary.data["zero"],
        kind is Kind.mean and not summary.predicted.constrained and now.name in few,
    )


def _gap_of_predictions(summary: Summary) -> LargestGap:
    """The largest gap of the predictions, where the constraint is about scores."""
    of_scores, found = largest_gap(summary, Kind.mean), []
    means, strata = (np.array(summary.data["predicted"][n]) for n in ("means", "strata"))
    for weights in (summary.slider.model, summary.slider.weights[-1]):
        gaps = weights @ (means - strata[:, summary.data["stratum"]])
        named = zip(summary.names, gaps.tolist(), strict=True)
        found.append(_largest([Named(*pair) for pair in named]))
    return replace(
        of_scores,
        quantity="prediction",
        considered=len(summary.names),
        now=found[0],
        free=found[1],
        too_few=False,
    )


def _largest(gaps: Sequence[Named]) -> Named:
    return max(gaps, key=lambda gap: abs(gap.value))


def _evidence(summary: Summary) -> Evidence:
    audit, zero = summary.after, summary.data["zero"]
    assessed = [f for f in audit.findings if not f.too_few_rows and abs(f.gap) > zero]
    told = [f for f in audit.findings if not f.too_few_rows]
    few = len(audit.findings) - len(told)
    if not told:
        return Evidence(row_set(summary), 0, 0, few, None, 0.0, 0.0, audit.confidence)
    largest = max(told, key=lambda finding: abs(finding.gap))
    level = 1 - audit.confidence
    return Evidence(
        row_set(summary),
        len(told),
        sum(f.p_adjusted <= level for f in assessed),
        few,
        Named(largest.name, largest.gap),
        largest.low_all,
        largest.high_all,
        audit.confidence,
    )


def _left_in_bands(summary: Summary, bands: Bands) -> LeftInBands:
    free, now = (
        _largest([Named(*pair) for pair in zip(bands.names, part.tolist(), strict=True)])
        for part in bands.gaps
    )
    much = abs(now.value) > max(_MUCH_LEFT * abs(free.value), _VISIBLE * bands.spread)
    return LeftInBands(
        row_set(summary),
        bands.number,
        summary.quantity,
        len(bands.names),
        now,
        None if summary.slider.single else free,
        bool(much) and not summary.slider.single,
    )


def describe_gap(summary: Summary) -> str:
    """Say what a gap is on these rows."""
    nouns = []
    if Kind.mean in summary.kinds:
        nouns.append(
            f"difference between a group's mean {summary.quantity} and {reference(summary)}"
        )
    if Kind.covariance in summary.kinds:
        names = " or ".join(summary.numbers)
        nouns.append(f"covariance of the {summary.quantity}s with {names} scaled to unit variance")
    if Kind.condition in summary.kinds:
        nouns.append("deviation from a condition of the constraint")
    return (
        f"A gap is the {', or the '.join(nouns)}. The two are not compared with each other."
        if len(nouns) > 1
        else f"A gap is the {nouns[0]}."
    )


def reference(summary: Summary) -> str:
    """Say what group means are compared with."""
    return "the mean of its stratum" if summary.is_stratified else "the overall mean"


def _cost(summary: Summary, target: str) -> list[Statement]:
    slider, rows = summary.slider, row_set(summary)
    now = summary.mean_squared_error(slider.model)
    free = summary.mean_squared_error(slider.weights[-1])
    assert now is not None
    assert free is not None
    constant = float(summary.data["variance"]) ** 0.5
    before = None if slider.single else max(free, 0.0) ** 0.5
    found: list[Statement] = [Price(rows, target, max(now, 0.0) ** 0.5, before, constant)]
    y, predicted = summary.predicted.y, summary.predicted.at(slider.model)
    assert y is not None
    low, high = float(y.min()), float(y.max())
    beyond = np.maximum(low - predicted, predicted - high)
    if summary.min_cell == 1 and beyond.max() > _FAR_OUT * (high - low) > 0:
        furthest = float(predicted[np.argmax(beyond)])
        found.append(OutOfRange(rows, target, int((beyond > 0).sum()), low, high, furthest))
    return found


def group_table(summary: Summary) -> list[dict[str, str]]:
    """Format one line for each group, with means and gaps before and after."""
    zero, lines = summary.data["zero"], list[dict[str, str]]()
    for before, after in zip(summary.before.findings, summary.after.findings, strict=True):
        if before.name not in summary.names:
            continue
        line = {"group": before.name, "n": f"{before.size:,}"}
        if summary.outcomes is not None:
            line["outcome"] = format_number(summary.outcomes[before.name])
        line |= _cells("before", before, zero) | _cells("after", after, zero)
        lines.append(line)
    return lines


def _cells(when: str, finding: GroupFinding, zero: float) -> dict[str, str]:
    interval = "too few rows to tell"
    if not finding.too_few_rows:
        low, high = format_number(finding.low, zero), format_number(finding.high, zero)
        interval = f"{low} to {high}"
    return {
        f"{when}_mean": format_number(finding.mean, zero),
        f"{when}_gap": format_number(finding.gap, zero),
        f"{when}_interval": interval,
    }


def condition_table(summary: Summary) -> list[dict[str, str]]:
    """Format one line for each gap of the constraint that is not in the table of groups."""
    zero, lines = summary.data["zero"], []
    slider, shown = summary.slider, {finding.name for finding in summary.after.findings}
    nouns = {Kind.mean: "difference", Kind.covariance: "covariance", Kind.condition: "deviation"}
    for kind in summary.kinds:
        ends = (summary.gaps_of(kind, w) for w in (slider.weights[-1], slider.model))
        for before, after in zip(*ends, strict=True):
            if kind is Kind.mean and before.name in shown:
                continue
            lines.append(
                {
                    "name": before.name,
                    "kind": nouns[kind],
                    "before": format_number(before.value, zero),
                    "after": format_number(after.value, zero),
                }
            )
    return lines


def band_table(bands: Bands, zero: float) -> list[dict[str, str]]:
    """Format one line for each band of a sensitive number."""
    before, after = bands.gaps
    return [
        {
            "name": name,
            "n": f"{n:,}",
            "before_mean": format_number(bands.before[i], zero),
            "before_gap": format_number(before[i], zero),
            "after_mean": format_number(bands.after[i], zero),
            "after_gap": format_number(after[i], zero),
        }
        for i, (name, n) in enumerate(zip(bands.names, bands.counts, strict=True))
    ]
