"""What the numbers say, in plain words that promise no more than they show."""

from __future__ import annotations

from collections.abc import Sequence

from meanparity.audit import GroupFinding
from meanparity.report.parts import Summary

_ENOUGH = 10  # rows of a group whose gap is judged


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
    now, zero = summary.after, summary.data["zero"]
    rows = f"On {len(summary.part.fair):,} {summary.part.name}, which the constraint does not know"
    judged = [finding for finding in now.findings if finding.size >= _ENOUGH]
    if not judged:
        return f"{rows}, no group has {_ENOUGH} rows or more: nothing can be said of gaps."
    largest = max(judged, key=lambda finding: abs(finding.gap))
    before = next(f for f in summary.before.findings if _who(f) == _who(largest))
    if all(abs(finding.gap) <= zero for finding in judged):
        return f"{rows}, there are no gaps of a mean {summary.about} (beyond rounding)."
    sure = f"{100 * now.confidence:.0f}% interval {number(largest.low)} to {number(largest.high)}"
    found = [finding for finding in judged if finding.p_holm <= 1 - now.confidence]
    says = (
        f"In {len(found)} of {len(judged)} groups the gap is more than chance explains."
        if found
        else f"In none of {len(judged)} groups is the gap more than chance explains."
    )
    few = len(now.findings) - len(judged)
    says += f" {few} groups of fewer than {_ENOUGH} rows are not judged." if few else ""
    return (
        f"{rows}, the largest gap of a mean {summary.about} is {number(largest.gap)} "
        f"({_who(largest)}; {sure}); without the constraint it is {number(before.gap)} there. "
        + says
    )


def _price(summary: Summary, target: str, position: float) -> str:
    errors = summary.data["errors"]
    now, free = mean_squared_error(errors, position), errors[1][1]
    if free <= 1e-12 * summary.data["variance"]:
        return f"The typical error of {target} on the {summary.part.name} is {number(now**0.5)}."
    more = (now / free) ** 0.5 - 1
    if abs(more) < 5e-4:
        return (
            f"The price: none on the {summary.part.name}; the typical error of {target} (root mean "
            f"square) is {number(now**0.5)} with and without the constraint."
        )
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
        if _who(before) not in summary.names:
            continue
        row = {"group": _who(before), "n": f"{before.size:,}"}
        if summary.outcomes is not None:
            row["outcome"] = number(summary.outcomes[_who(before)])
        for name, finding in (("before", before), ("after", after)):
            row[f"{name}_mean"] = number(finding.mean, zero)
            row[f"{name}_gap"] = number(finding.gap, zero)
            row[f"{name}_interval"] = f"{number(finding.low, zero)} to {number(finding.high, zero)}"
        table.append(row)
    return table
