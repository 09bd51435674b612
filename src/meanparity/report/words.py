"""The sentences and tables of a report. They claim no more than the numbers beside them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meanparity._typing import FloatArray
from meanparity.audit import GroupFinding
from meanparity.audit.checks import format_number
from meanparity.report.summary import Summary


def format_share(value: float) -> str:
    """Format a share as a percentage.

    Examples
    --------
    >>> [format_share(value) for value in (0.5, 0.123456, 0.0123, 0.0004, 0.0)]
    ['50%', '12%', '1.2%', 'under 0.1%', '0%']
    """
    if value == 0 or value >= 0.1:
        return f"{100 * value:.0f}%"
    return f"{100 * value:.1f}%" if value >= 0.001 else "under 0.1%"


def verdict(summaries: Sequence[Summary], target: str) -> list[str]:
    """Say what holds where the constraint was imposed, what holds elsewhere, and what it costs."""
    constrained = [summary for summary in summaries if summary.predicted.constrained]
    others = [summary for summary in summaries if not summary.predicted.constrained]
    sentences = [_where_imposed(summary) for summary in constrained]
    sentences += dict.fromkeys(describe_gap(summary) for summary in constrained)
    sentences += [_where_not_imposed(summary) for summary in others]
    known = [summary for summary in (*others, *summaries) if summary.predicted.y is not None]
    if known:
        sentences.append(_cost(known[0], target))
    return sentences


def describe_gap(summary: Summary) -> str:
    """Say what a gap is on these rows."""
    return f"A gap is the {_gap_noun(summary)}."


def _gap_noun(summary: Summary) -> str:
    nouns = [] if summary.banded else [_difference(summary)]
    if summary.numbers:
        names = " or ".join(summary.numbers)
        nouns.append(f"covariance of the {summary.quantity}s with {names} scaled to unit variance")
    return ", or the ".join(nouns)


def _difference(summary: Summary) -> str:
    return f"difference between a group's mean {summary.quantity} and {reference(summary)}"


def reference(summary: Summary) -> str:
    """Say what group means are compared with."""
    stratified = len(summary.data["predicted"]["strata"][0]) > 1
    return "the mean of its stratum" if stratified else "the overall mean"


def _where_imposed(summary: Summary) -> str:
    unknown, n = summary.data["in_no_group"], len(summary.predicted)
    rows = f"On the {n - unknown:,} {summary.predicted.name}"
    rows += f" whose group is known (of {n:,})" if unknown else ""
    rows += ", on which the constraint was imposed"
    now, where_now = _largest_gap(summary, summary.slider.model)
    free, where_free = _largest_gap(summary, summary.slider.weights[-1])
    without = format_number(free) + (f" ({where_free})" if where_free else "")
    if now <= summary.data["zero"]:
        return (
            f"{rows}, every gap is zero (up to rounding error, {now:.0e}). Without the constraint "
            f"the largest would be {without}."
        )
    return (
        f"{rows}, the largest gap is {format_number(now)} ({where_now}). Without the constraint it "
        f"would be {without}."
    )


def _largest_gap(summary: Summary, weights: FloatArray) -> tuple[float, str]:
    """The largest gap of a model, and what it is about."""
    sizes = np.abs(summary.gaps(weights)).tolist()
    if not sizes:
        return 0.0, ""
    return max(zip(sizes, summary.data["gap_labels"], strict=True), key=lambda pair: pair[0])


def _where_not_imposed(summary: Summary) -> str:
    audit, zero = summary.after, summary.data["zero"]
    rows = f"On {len(summary.predicted):,} {summary.predicted.name}, on which the constraint was"
    rows += " not imposed"
    assessed = [finding for finding in audit.findings if not finding.too_few_rows]
    if all(abs(finding.gap) <= zero for finding in audit.findings):
        return f"{rows}, every {_difference(summary)} is zero (up to rounding error)."
    if not assessed:
        return f"{rows}, every group has too few rows to tell how large gaps are elsewhere."
    largest = max(assessed, key=lambda finding: abs(finding.gap))
    before = next(f for f in summary.before.findings if f.name == largest.name)
    interval = f"{format_number(largest.low_all)} to {format_number(largest.high_all)}"
    level = 1 - audit.confidence
    significant = sum(finding.p_adjusted <= level for finding in assessed)
    together = " simultaneous" if len(assessed) > 1 else ""
    sentences = [
        f"{rows}, the largest {_difference(summary)} is {format_number(largest.gap)} "
        f"({largest.name}; {100 * audit.confidence:.0f}%{together} confidence interval "
        f"{interval}).",
        f"Without the constraint it is {format_number(before.gap)} in this group.",
        f"The difference is statistically significant in {significant or 'none'} of "
        f"{len(assessed)} groups ({100 * level:.0f}% level, adjusted for their number).",
    ]
    few = len(audit.findings) - len(assessed)
    if few:
        groups = "group" if few == 1 else "groups"
        sentences.append(f"In {few} other {groups} there are too few rows to tell.")
    return " ".join(sentences)


def _cost(summary: Summary, target: str) -> str:
    now = summary.mean_squared_error(summary.slider.model)
    free = summary.mean_squared_error(summary.slider.weights[-1])
    assert now is not None
    assert free is not None
    error = (
        f"On the {summary.predicted.name} the root mean squared error of {target} is "
        f"{format_number(now**0.5)}"
    )
    if free <= 1e-12 * summary.data["variance"]:
        return f"{error}."
    change = (now / free) ** 0.5 - 1
    if abs(change) < 5e-4:
        return f"{error}, the same as without the constraint (to within 0.05%)."
    direction = "higher" if change >= 0 else "lower"
    return (
        f"{error}, {format_share(abs(change))} {direction} than without the constraint "
        f"({format_number(free**0.5)})."
    )


def group_table(summary: Summary) -> list[dict[str, str]]:
    """Format one line for each group, with means and gaps before and after."""
    zero, lines = summary.data["zero"], []
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
