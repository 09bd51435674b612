"""What a report says of its numbers, statement by statement, and its tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from meanparity.audit import GroupFinding
from meanparity.audit.checks import format_interval, format_number
from meanparity.report.bands import Bands
from meanparity.report.statements import (
    Compared,
    Evidence,
    GroupUse,
    Kind,
    LargestGap,
    LeftInBands,
    LikeRowsOfFit,
    Named,
    OnRows,
    OutOfRange,
    Price,
    RowSet,
    SamePrediction,
    Statement,
)
from meanparity.report.summary import Summary

_MUCH_LEFT = 0.25  # share of the largest gap between bands that is much,
_VISIBLE = 0.05  # if it is also this share of the standard deviation of the predictions
_FAR_OUT = 0.1  # of the range of the outcomes, beyond which predictions are noted


@dataclass(frozen=True)
class Answer:
    """A question that the first screen of the page answers, and the statements that answer it.

    A folded answer is opened by a click; it holds what is not needed to answer in short.
    """

    question: str
    statements: tuple[Statement, ...]
    folded: bool = False


def answers(summaries: Sequence[Summary], target: str, use: GroupUse) -> list[Answer]:
    """What a reader asks first: who, on which rows, how large the gap is, at what cost, and how.

    Rows on which the constraint was imposed come first. The gaps and the cost are those on other
    rows, if there are some (and their outcomes are known); what else there is to say about gaps
    comes last.
    """
    imposed = sorted(summaries, key=lambda s: not s.predicted.constrained)
    rows = tuple(row_set(summary) for summary in imposed)
    single, same = imposed[0].slider.single, _same(imposed)
    shown = next((s for s in imposed if not s.predicted.constrained), imposed[0])
    gaps = [[largest_gap(summary, kind) for kind in summary.kinds] for summary in imposed]
    first: list[Statement] = [] if same is None else [same]
    more: list[Statement] = []
    for summary, of_rows in zip(imposed, gaps, strict=True):
        (first if summary is shown else more).extend(of_rows)
        more += _more_on_gaps(summary, of_rows)
    alike = [] if same else [LikeRowsOfFit(row_set(s)) for s in imposed if _is_like_fit(s)]
    asked = [
        Answer("Who is compared?", (_compared(imposed[0]),)),
        Answer("On which rows?", (OnRows(rows), *alike)),
        Answer(
            "How large is the gap?" if single else "How large was the gap, and how large is it?",
            tuple(first),
        ),
    ]
    known = [summary for summary in imposed[::-1] if summary.predicted.y is not None]
    if known:
        question = "How accurate are the predictions?" if single else "What does it cost?"
        asked.append(Answer(question, tuple(_cost(known[0], target))))
    asked.append(Answer("Is the group itself used to predict?", (replace(use, same=same),)))
    if more:
        asked.append(Answer("More about the gaps", tuple(more), folded=True))
    return asked


def _same(summaries: Sequence[Summary]) -> SamePrediction | None:
    """Whether the model predicts the same for everybody, or for everybody in a stratum."""
    rows, control = tuple(map(row_set, summaries)), summaries[0].control
    zero = max(summary.data["zero"] for summary in summaries)
    ranges: dict[str, list[tuple[float, float]]] = {}
    for summary in summaries:
        for stratum, ends in summary.ranges.items():
            ranges.setdefault(stratum, []).append(ends)
    spread = {
        stratum: max(high for _, high in ends) - min(low for low, _ in ends)
        for stratum, ends in ranges.items()
    }
    if spread.pop("") <= zero:
        every = tuple(replace(one, n_known=one.n) for one in rows)
        return SamePrediction(every, summaries[0].ranges[""][0])
    if spread and max(spread.values()) <= zero:
        return SamePrediction(rows, np.nan, control)
    return None


def row_set(summary: Summary) -> RowSet:
    """The rows of a summary."""
    n, predicted = len(summary.predicted), summary.predicted
    n_known = n - summary.data["in_no_group"]
    return RowSet(predicted.name, n, n_known, predicted.constrained, summary.min_cell)


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


def _more_on_gaps(summary: Summary, gaps: Sequence[LargestGap]) -> list[Statement]:
    """What there is to say about gaps beside the largest of each kind."""
    found: list[Statement] = []
    if summary.quantity == "score" and summary.n_groups == len(summary.names):
        found.append(_gap_of_predictions(summary))
    if Kind.covariance in summary.kinds:
        zero = any(gap.kind is Kind.covariance and gap.is_zero for gap in gaps)
        found += [_left_in_bands(summary, bands, zero) for bands in summary.bands]
    mean = gaps[0] if gaps[0].kind is Kind.mean else None
    told = not summary.banded and not (mean and mean.is_zero)
    if told and not summary.predicted.constrained:
        found.append(_evidence(summary))
    return found


def _is_like_fit(summary: Summary) -> bool:
    """Whether rows of unknown origin have no gaps where the constraint was imposed."""
    if summary.predicted.constrained is not None or summary.slider.single:
        return False
    fair, free = (np.abs(summary.gaps(summary.slider.weights[at])).max() for at in (0, -1))
    return bool(fair <= summary.data["zero"] < free)


def largest_gap(summary: Summary, kind: Kind) -> LargestGap:
    """The largest gap of a kind, with the constraint and without it."""
    slider = summary.slider
    now = _largest(summary.gaps_of(kind, slider.model))
    free = None if slider.single else _largest(summary.gaps_of(kind, slider.weights[-1]))
    untold = {f.name: f.untold.removesuffix(" to tell") for f in summary.after.findings}
    judged = kind is Kind.mean and not summary.predicted.constrained
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
        untold.get(now.name, "") if judged else "",
        summary.predicted.best is not None,
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
        untold="",
    )


def _largest(gaps: Sequence[Named]) -> Named:
    return max(gaps, key=lambda gap: abs(gap.value))


def _evidence(summary: Summary) -> Evidence:
    audit, zero = summary.after, summary.data["zero"]
    assessed = [f for f in audit.findings if not f.too_few_rows and abs(f.gap) > zero]
    told = [f for f in audit.findings if not f.too_few_rows]
    flat = sum(finding.no_spread for finding in audit.findings)
    few = len(audit.findings) - len(told) - flat
    if not told:
        return Evidence(row_set(summary), 0, 0, few, None, 0.0, 0.0, audit.confidence, flat)
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
        flat,
    )


def _left_in_bands(summary: Summary, bands: Bands, uncorrelated: bool) -> LeftInBands:
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
        uncorrelated,
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
        nouns.append(
            f"covariance of the {summary.quantity}s with {names}, divided by its standard "
            f"deviation: how much higher the {summary.quantity}s are, along the straight line that "
            f"fits best, where {names} is one standard deviation higher"
        )
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
    free = summary.free_error
    assert now is not None
    assert free is not None
    constant = float(summary.data["variance"]) ** 0.5
    before = None if slider.single else max(free, 0.0) ** 0.5
    found: list[Statement] = [
        Price(rows, target, max(now, 0.0) ** 0.5, before, constant, summary.predicted.without)
    ]
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
    interval = finding.untold or " to ".join(format_interval(finding.low, finding.high, zero))
    return {
        f"{when}_mean": format_number(finding.mean, zero),
        f"{when}_gap": format_number(finding.gap, zero),
        f"{when}_interval": interval,
    }


def condition_table(summary: Summary) -> list[dict[str, str]]:
    """Format one line for each gap of the constraint that is not in the table of groups."""
    zero, lines = summary.data["zero"], []
    slider, shown = summary.slider, {finding.name for finding in summary.after.findings}
    nouns = {
        Kind.mean: "difference",
        Kind.covariance: "difference per standard deviation",
        Kind.condition: "deviation",
    }
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
