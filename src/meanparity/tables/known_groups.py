"""The groups that a model was fitted to, and rows to be scored that are in none of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from meanparity.exceptions import warn
from meanparity.tables.kinds import number_as_text


@dataclass(frozen=True)
class Outside:
    """Rows that are in no group of the fit.

    Parameters
    ----------
    empty : int
        Rows with an empty sensitive or control cell.
    unseen : int
        Other rows, whose values did not occur together on the rows of the fit.
    first : str
        The first of all these rows, in words.
    """

    empty: int = 0
    unseen: int = 0
    first: str = ""

    def __add__(self, other: Outside) -> Outside:
        return Outside(
            self.empty + other.empty, self.unseen + other.unseen, self.first or other.first
        )

    def refuse(self, name: str) -> None:
        """Raise an error if there is such a row."""
        if self.empty or self.unseen:
            raise ValueError(
                f"{name} has {self._describe()}. Correct or leave out such rows, or predict "
                "without --strict (strict=False in Python)."
            )

    def note(self, name: str) -> None:
        """Warn if there is such a row."""
        if self.empty or self.unseen:
            warn(
                f"{name} has {self._describe()}. Equal means concern the groups of the fit, and "
                "say nothing about these rows. Pass --strict (strict=True in Python) to refuse "
                "them."
            )

    def _describe(self) -> str:
        parts = []
        if self.empty:
            parts.append(f"{_rows(self.empty)} with an empty sensitive or control cell")
        if self.unseen:
            parts.append(f"{_rows(self.unseen)} in a group that no row of the fit was in")
        return f"{' and '.join(parts)} ({self.first})"


@dataclass(frozen=True)
class KnownGroups:
    """The values, and combinations of values, of sensitive and control columns in a fit.

    Parameters
    ----------
    columns : tuple of str
        Columns of categories.
    seen : frozenset of tuples of str
        Their values in the rows of the fit; None for an empty cell.
    numbers : tuple of str
        Sensitive columns that are numbers.

    Examples
    --------
    >>> known = KnownGroups(("sex",), frozenset({("F",), ("M",)}), ())
    >>> known.look_at(pd.DataFrame({"sex": ["F", "X", None]}))
    Outside(empty=1, unseen=1, first="the first one, row 2, has 'X' in 'sex'")
    """

    columns: tuple[str, ...]
    seen: frozenset[tuple[str | None, ...]]
    numbers: tuple[str, ...]

    @classmethod
    def from_rows(
        cls, frames: Sequence[pd.DataFrame], continuous: Sequence[str], missing: str
    ) -> KnownGroups:
        """The groups in sensitive and control columns of the rows of a fit."""
        columns = tuple(name for name in frames[0].columns if name not in continuous)
        seen = {cells for frame in frames for cells in _as_texts(frame, columns)}
        if missing != "group":  # rows with an empty cell were in no group
            seen = {cells for cells in seen if None not in cells}
        return cls(columns, frozenset(seen), tuple(continuous))

    @classmethod
    def from_about(cls, about: Mapping[str, Any]) -> KnownGroups:
        """Read what `as_dict` returned from a description of a model file."""
        found = about.get("groups") or {"columns": [], "seen": [], "numbers": []}
        if not isinstance(found, dict) or {*found} != {"columns", "seen", "numbers"}:
            raise ValueError(
                "What the model file says about groups is damaged. Fit the model again."
            )
        seen = frozenset(map(tuple, found["seen"]))
        return cls(tuple(found["columns"]), seen, tuple(found["numbers"]))

    def as_dict(self) -> dict[str, Any]:
        """Return lists of texts, which a model file can contain."""
        seen = sorted(map(list, self.seen), key=str)
        return {"columns": list(self.columns), "seen": seen, "numbers": list(self.numbers)}

    @staticmethod
    def nobody() -> Outside:
        """No rows."""
        return Outside()

    def refuse_missing_columns(self, names: Sequence[str], table: str) -> None:
        """Raise an error if a table lacks a column, without which its groups are not known."""
        for column in (*self.columns, *self.numbers):
            if column not in names:
                raise ValueError(
                    f"{table} has no column {column!r}, so the groups of its rows cannot be "
                    "checked. Add it, or predict without --strict (strict=False in Python)."
                )

    def look_at(self, frame: pd.DataFrame) -> Outside:
        """Count the rows of a table that are in no group. Its index counts its rows from 0."""
        columns = (*self.columns, *self.numbers)
        if not columns or any(column not in frame.columns for column in columns):
            return Outside()
        texts = pd.Series(_as_texts(frame, columns), frame.index)
        k, first, empty, unseen = len(self.columns), "", 0, 0
        counts = texts.value_counts(sort=False)
        for cells, count in counts.items():
            blank = None in cells[k:] or (None in cells[:k] and cells[:k] not in self.seen)
            if not blank and (cells[:k] in self.seen or not k):
                continue
            empty, unseen = empty + count * blank, unseen + count * (not blank)
        if empty or unseen:
            for row, cells in texts.items():
                inside = cells[:k] in self.seen or not k
                if None in cells[k:] or not inside:
                    first = f"the first one, row {row + 1}, has {_describe(cells, columns)}"
                    break
        return Outside(int(empty), int(unseen), first)


def _as_texts(frame: pd.DataFrame, columns: Sequence[str]) -> list[tuple[str | None, ...]]:
    """The cells of some columns as tuples of texts, in which 1.0 is "1"."""
    if not columns:
        return [()] * len(frame)
    parts = []
    for name in columns:
        codes, values = pd.factorize(frame[name])
        texts = [number_as_text(value) for value in values]
        parts.append([None if code < 0 else texts[code] for code in codes])
    return list(zip(*parts, strict=True))


def _describe(cells: Sequence[str | None], columns: Sequence[str]) -> str:
    empty = [name for name, cell in zip(columns, cells, strict=True) if cell is None]
    if empty:
        return f"an empty cell in {empty[0]!r}"
    shown = zip(cells, columns, strict=True)
    return ", ".join(f"{cell!r} in {name!r}" for cell, name in shown)


def _rows(count: int) -> str:
    return f"{count:,} row{'s'[: count != 1]}"
