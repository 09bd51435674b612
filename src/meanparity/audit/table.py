"""Text tables that a terminal of 80 columns shows whole."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 80
_GUTTER = "  "
_NARROWEST = 16  # column of names


def text_table(columns: Sequence[Sequence[str]], beside: int) -> list[str]:
    r"""Lines of a table, which is continued below if it is too wide.

    Parameters
    ----------
    columns : sequence of sequences of str
        The title and the cells of each column. The first column has the names of the rows, and is
        repeated. A title may have several lines.
    beside : int
        Number of columns that should stand beside the names. Names are wrapped to leave room.

    Examples
    --------
    >>> table = text_table([["group", "women"], ["n", "12"], ["mean\nerror", "0.5"]], beside=1)
    >>> print(*table, sep="\n")
                mean
    group   n  error
    women  12    0.5
    """
    names, *others = columns
    parts = [others]
    room = WIDTH - sum(len(_GUTTER) + _width(column) for column in others[:beside])
    if _total(columns) > WIDTH:
        names = [_wrapped(name, max(room, _NARROWEST)) for name in names]
        parts = [others[:beside], others[beside:]]
    lines: list[str] = []
    for part in parts:
        while part:
            block = [names, part.pop(0)]
            while part and _total([*block, part[0]]) <= WIDTH:
                block.append(part.pop(0))
            lines += [""] if lines else []
            lines += _block(block)
    return lines


def _block(columns: Sequence[Sequence[str]]) -> list[str]:
    """Lines of columns side by side; titles end, and cells begin, in the same line."""
    widths = [_width(column) for column in columns]
    lines = []
    for i, row in enumerate(zip(*columns, strict=True)):
        cells = [cell.split("\n") for cell in row]
        height = max(map(len, cells))
        for line in range(height):
            parts = []
            for j, (cell, width) in enumerate(zip(cells, widths, strict=True)):
                at = line if i else line - height + len(cell)
                text = cell[at] if 0 <= at < len(cell) else ""
                parts.append(text.rjust(width) if j else text.ljust(width))
            lines.append(_GUTTER.join(parts).rstrip())
    return lines


def _width(column: Sequence[str]) -> int:
    return max(len(line) for cell in column for line in cell.split("\n"))


def _total(columns: Sequence[Sequence[str]]) -> int:
    return sum(map(_width, columns)) + len(_GUTTER) * (len(columns) - 1)


def _wrapped(name: str, width: int) -> str:
    """A name in lines of at most `width` letters."""
    if len(name) <= width:
        return name
    return "\n".join(textwrap.wrap(name, width, subsequent_indent="  ", break_on_hyphens=False))
