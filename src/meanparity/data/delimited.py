"""CSV and TSV files, checked row by row before a fast reader reads their values.

A row with more fields than the header would be shifted, or lose its last cells, and one with fewer
would be filled up; which of the two the fast readers do depends on the file. So both, pandas in
`meanparity.tables` and PyArrow in `meanparity.data.files`, read files that were scanned here. The
scan also finds out which columns can become numbers without changing what is written.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

ENCODING = "utf-8-sig"
_BLOCK = 2**20  # bytes
_FEW = 20  # up to this many different values, a column of fractions has to print as it is written
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Scan:
    """What a scan of all rows has found.

    Parameters
    ----------
    names : tuple of str
        The header.
    n_rows : int
        Number of rows below the header.
    written : dict
        For each column that was asked for: "whole" or "boolean" if every cell that is not empty is
        written as Python prints it; "decimal" if every cell is a plain decimal number, and there
        are more than 20 different ones or all are written as Python prints them; "empty" if all
        cells are empty, and "text" otherwise.
    """

    names: tuple[str, ...]
    n_rows: int
    written: dict[str, str]


def scan_file(path: Path, separator: str, columns: Sequence[str] = ()) -> Scan:
    """Scan a file; see `scan_rows`."""
    _refuse_nul(path)
    with _text_of(path) as lines:
        return scan_rows(lines, separator, path.name, columns)


def read_header(path: Path, separator: str) -> list[str]:
    """The names of the columns of a file; none if it has no lines but empty ones."""
    with _text_of(path) as lines:
        return next(_rows(lines, separator, path.name), (0, []))[1]


@contextmanager
def _text_of(path: Path) -> Iterator[TextIO]:
    try:
        with path.open(newline="", encoding=ENCODING) as lines:
            yield lines
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{str(path)!r} cannot be read as csv: {error.reason} in line {_line_of_bytes(path)}, "
            "which is not written in UTF-8. Save the file as UTF-8."
        ) from error


def _line_of_bytes(path: Path) -> int:
    """The first line of a file that is not UTF-8."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1


def scan_rows(lines: TextIO, separator: str, name: str, columns: Sequence[str] = ()) -> Scan:
    r"""Check that all rows have as many fields as the header, and see what columns hold.

    Parameters
    ----------
    lines : text file
        Opened with ``newline=""``. Lines without any letter are left out.
    separator : str
        The character between fields.
    name : str
        Name of the table in error messages.
    columns : sequence of str
        The columns whose cells are looked at. Names that the header does not have are left out.

    Examples
    --------
    >>> import io
    >>> scan_rows(io.StringIO("sex,age\nF,31\nM,45\n"), ",", "people.csv", ["sex", "age"])
    Scan(names=('sex', 'age'), n_rows=2, written={'sex': 'text', 'age': 'whole'})
    >>> scan_rows(io.StringIO("sex,age\nF,31\nM,45,x\n"), ",", "people.csv")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: people.csv has 3 fields in line 3, but 2 in its header. Correct this line...
    """
    rows = _rows(lines, separator, name)
    _, header = next(rows, (0, []))
    watched = [(header.index(c), _Written()) for c in columns if c in header]
    width, n_rows = len(header), 0
    for line, row in rows:
        if len(row) != width:
            kind = "field" if len(row) == 1 else "fields"
            raise ValueError(
                f"{name} has {len(row)} {kind} in line {line}, but {width} in its header. Correct "
                "this line; fields that contain the separator need double quotes."
            )
        n_rows += 1
        for position, written in watched:
            if row[position] not in written.seen:
                written.add(row[position])
    kinds = {header[position]: written.kind for position, written in watched}
    return Scan(tuple(header), n_rows, kinds)


def _rows(lines: TextIO, separator: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """The line at which each row ends, and its fields; empty lines are left out."""
    last = ""

    def remembered() -> Iterator[str]:
        nonlocal last
        for line in lines:
            last = line
            yield line

    reader = csv.reader(remembered(), delimiter=separator, strict=True)
    try:
        for row in reader:
            if last.endswith("\r"):  # pandas shifts the row after it, if that is empty in front
                raise ValueError(
                    f"{name} has a carriage return without a line feed in line {reader.line_num}. "
                    "Save the file with other ends of lines, or put the cell into double quotes."
                )
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(f"{name} cannot be read in line {reader.line_num}: {error}.") from error


def _refuse_nul(path: Path) -> None:
    """Refuse a character of code zero, which a reader in C would take for the end of a cell."""
    line = 1
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            position = block.find(b"\0")
            if position >= 0:
                line += block.count(b"\n", 0, position)
                raise ValueError(
                    f"{path.name} has a character of code zero in line {line}, as files have that "
                    "are not text, or not UTF-8. Save it as text in UTF-8."
                )
            line += block.count(b"\n")


class _Written:
    """What the cells of a column are, from its different texts.

    Attributes
    ----------
    seen : set of str
        Texts that need not be looked at again.
    """

    def __init__(self) -> None:
        self.seen = {""}
        self._whole = self._decimal = self._boolean = self._prints = True
        self._count = 0

    def add(self, text: str) -> None:
        """Look at a text that was not seen before."""
        if self._count <= _FEW:  # the texts of a column with many need not be kept
            self._count += 1
            self.seen.add(text)
        self._boolean = self._boolean and text in ("True", "False")
        self._whole = self._whole and _WHOLE.fullmatch(text) is not None
        self._decimal = self._decimal and _DECIMAL.fullmatch(text) is not None
        if self._prints and self._count <= _FEW:
            self._prints = self._decimal and repr(float(text)) == text

    @property
    def kind(self) -> str:
        if not self._count:
            return "empty"
        if self._whole:
            return "whole"
        if self._boolean:
            return "boolean"
        if self._decimal and (self._prints or self._count > _FEW):
            return "decimal"
        return "text"
