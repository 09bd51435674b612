"""What the numbers say, in plain words that promise no more than they show."""

from __future__ import annotations

from collections.abc import Sequence

from meanparity.audit import GroupFinding
from meanparity.report.parts import Summary


def number(value: float, zero: float = 0.0) -> str:
    """A number as people write it: four digits that count, and 0 for what is rounding.

    Examples
    --------
    >>> number(12345.6), number(0.012345), number(1e-16), number(1e-16, 1e-9), number(-3.0)
    ('12,346', '0.01235', '1e-16', '0', '-3')
    """
    if abs(value) <= zero:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def share(value: float) -> str:
    """A share as a percentage.

    Examples
    --------
    >>> share(0.5), share(0.123456), share(0.0123), share(0.0004), share(0.0)
    ('50%', '12%', '1.2%', 'under 0.1%', '0%')
    """
    if value == 0 or value >= 0.1:
        return f"{100 * value:.0f}%"
    return f"{100 * value:.1f}%" if value >= 0.001 else "under 0.1%"


def verdict(summaries: Sequence[Summary], target: str, position: float) -> list[str]:
    """A few sentences: what was asked for, what holds where it was not, what it costs."""
    sentences = [_held(summary, position) for summary in summaries if summary.part.constrained]
    others = [summary for summary in summaries if not summary.part.constrained]
    sentences += [_elsewhere(summary) for summary in others]
    known = [summary for summary in (*others, *summaries) if summary.part.y is not None]
    if known:
        sentences.append(_price(known[0], target, position))
    return sentences


def _held(summary: Summary, position: float) -> str:
    free, now = _gaps(summary, 1.0), _gaps(summary, position)
    left_out = summary.data["in_no_group"]
    rows = f"On the {len(summary.part.fair) - left_out:,} {summary.part.name}"
    rows += f" whose group is known (of {len(summary.part.fair):,})" if left_out else ""
    rows += ", where parity was asked for"
    whole = "all" if len(summary.data["strata"]["fair"]) == 1 else "its stratum"
    between = f"between the mean {summary.about} of a group and that of {whole}"
    without = f"without the constraint the largest would be {number(free)}."
    if summary.banded:
        between = "in covariance with a sensitive number, in units of its standard deviation"
    if now <= summary.data["zero"]:
        return f"{rows}, there are no gaps {between} (beyond rounding, {now:.0e}); {without}"
    return f"{rows}, the dial at {position:.3g} leaves gaps of up to {number(now)}; {without}"


def _elsewhere(summary: Summary) -> str:
    name, now = summary.part.name, summary.after
    largest = max(now.findings, key=lambda finding: abs(finding.gap))
    before = max(summary.before.findings, key=lambda finding: abs(finding.gap))
    sure = f"{100 * now.confidence:.0f}% interval {number(largest.low)} to {number(largest.high)}"
    says = (
        "this many rows do not tell it from zero"
        if largest.p_holm > 1 - now.confidence
        else "which is more than chance explains"
    )
    return (
        f"On {len(summary.part.fair):,} {name}, which the constraint does not know, the largest "
        f"gap of a mean {summary.about} is {number(largest.gap)} ({_who(largest)}; {sure}), "
        f"{says}. Without the constraint it is {number(before.gap)} ({_who(before)})."
    )


def _price(summary: Summary, target: str, position: float) -> str:
    errors = summary.data["errors"]
    now, free = mean_squared_error(errors, position), errors[1][1]
    if free <= 0:
        return f"The typical error of {target} on the {summary.part.name} is {number(now**0.5)}."
    more = (now / free) ** 0.5 - 1
    word = "higher" if more >= 0 else "lower"
    return (
        f"The price: on the {summary.part.name} the typical error of {target} (root mean square) "
        f"is {number(now**0.5)}, {share(abs(more))} {word} than the {number(free**0.5)} without "
        "the constraint."
    )


def mean_squared_error(errors: Sequence[Sequence[float]], u: float) -> float:
    """At a position of the dial, from the mean products of the errors of both ends, (2, 2)."""
    a, b, c = errors[0][0], errors[0][1], errors[1][1]
    return (1 - u) ** 2 * a + 2 * u * (1 - u) * b + u**2 * c


def _gaps(summary: Summary, u: float) -> float:
    fair, free = summary.data["gaps"]
    return max((abs((1 - u) * a + u * b) for a, b in zip(fair, free, strict=True)), default=0.0)


def _who(finding: GroupFinding) -> str:
    group = str(finding.group)
    return group if finding.stratum is None else f"{finding.stratum}: {group}"


def rows_of(summary: Summary) -> list[dict[str, str]]:
    """The table of groups, before and after, ready to be shown."""
    table = []
    zero = summary.data["zero"]
    for before, after in zip(summary.before.findings, summary.after.findings, strict=True):
        row = {"group": _who(before), "n": f"{before.size:,}"}
        if summary.outcomes is not None:
            row["outcome"] = number(summary.outcomes[_who(before)])
        for name, finding in (("before", before), ("after", after)):
            row[f"{name}_mean"] = number(finding.mean, zero)
            row[f"{name}_gap"] = number(finding.gap, zero)
            row[f"{name}_interval"] = f"{number(finding.low, zero)} to {number(finding.high, zero)}"
        table.append(row)
    return table
