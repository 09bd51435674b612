"""Text files of rows, such as CSV, checked row by row before a fast reader reads their values.

A row with more fields than the header would be shifted, or lose its last cells, and one with fewer
would be filled up; which of the two the fast readers do depends on the file. So both, pandas in
`meanparity.tables` and PyArrow in `meanparity.data.files`, read files that were scanned here. The
scan also finds out which columns can become numbers without changing what is written. Before it,
`TextFile.open` finds out how the file is written, unless that is given.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from meanparity.exceptions import warn
from meanparity.linalg.memory import require_memory

_BLOCK = 2**20  # bytes
_CELL = 30  # memory that the cells of a row take, over their length: each may be one letter
_SAMPLE = 1000  # lines from which delimiter and decimal mark are found
_FEW = 20  # up to this many different values, a column of fractions has to print as it is written
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_POINT, _COMMA = re.compile(r"[+-]?[0-9]+\.[0-9]+"), re.compile(r"[+-]?[0-9]+,[0-9]+")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_MARKS = (  # at the start of a file; the longer ones first
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_GUESS = "cp1252"  # Windows in western Europe and America; Latin-1 with more letters


@dataclass(frozen=True)
class Layout:
    """How text files are written, as far as it is known.

    Parameters
    ----------
    delimiter : str, optional
        The character between fields.
    decimal : {".", ","}, optional
        The decimal mark.
    encoding : str, optional
        The encoding of the letters, such as "utf-8" or "cp1252".
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise ValueError(
                f"The delimiter {self.delimiter!r} is not one character. Pass one, such as ; or "
                "the word tab."
            )
        if self.decimal is not None and self.decimal not in (".", ","):
            raise ValueError(f"The decimal mark {self.decimal!r} is not known. Pass . or a comma.")
        if self.decimal == self.delimiter == ",":
            raise ValueError(
                "The delimiter and the decimal mark are both a comma. Pass another delimiter, "
                "such as ;."
            )
        if self.encoding is not None and not _is_text_encoding(self.encoding):
            raise ValueError(
                f"The encoding {self.encoding!r} is not known. Pass one of Python's, such as "
                "utf-8, cp1252 (Windows), latin-1, mac-roman, utf-16 or shift_jis."
            )


ANY_LAYOUT = Layout()


def _is_text_encoding(name: str) -> bool:
    try:
        "".encode(name)
    except (LookupError, UnicodeError):
        return False
    return True


@dataclass(frozen=True)
class TextFile:
    """A text file of rows, and how it is written.

    Parameters
    ----------
    path : Path
        The file, which may be compressed by gzip.
    delimiter, decimal, encoding : str
        As in `Layout`.
    size : int
        Bytes of the text, decompressed.
    """

    path: Path
    delimiter: str
    decimal: str
    encoding: str
    size: int

    @classmethod
    def open(cls, path: Path, layout: Layout = ANY_LAYOUT) -> TextFile:
        """Find out how a file is written, and say so if it is not UTF-8 with commas and points.

        Parameters
        ----------
        path : Path
            The file; a name with ".tsv" suggests tabs.
        layout : Layout
            What is known about it.
        """
        size = _measure(path)
        encoding = _check_letters(path, layout.encoding)
        usual = "\t" if ".tsv" in path.suffixes[-2:] else ","
        with _open_text(path, encoding) as lines:
            sample = list(islice(lines, _SAMPLE))
        delimiter = layout.delimiter or _find_delimiter(sample, usual)
        decimal = layout.decimal or _find_decimal(sample, delimiter)
        found = []
        if layout.delimiter is None and delimiter != usual:
            found.append(f"{_DELIMITERS[delimiter]} between fields")
        if layout.decimal is None and decimal == ",":
            found.append("decimal commas")
        if found:
            warn(f"{path.name} is read with {' and '.join(found)}, as its first rows suggest.")
        return cls(path, delimiter, decimal, encoding, size)

    def header(self) -> list[str]:
        """The names of the columns; none if the file has no lines but empty ones."""
        with _open_text(self.path, self.encoding) as lines:
            return next(_rows(lines, self.delimiter, self.path.name), (0, []))[1]

    def scan(self, columns: Sequence[str] = ()) -> Scan:
        """Check all rows; see `scan_rows`."""
        with _open_text(self.path, self.encoding) as lines:
            return scan_rows(lines, self.delimiter, self.path.name, columns, self.decimal)


@contextmanager
def _open_text(path: Path, encoding: str) -> Iterator[TextIO]:
    opened: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opened(path, "rt", encoding=encoding, newline="") as lines:
        yield lines


def _blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, decompressed."""
    try:
        with path.open("rb") as file:
            if path.suffix.lower() == ".gz":
                yield from _decompressed(file)
            else:
                yield from iter(lambda: file.read(_BLOCK), b"")
    except (EOFError, zlib.error) as error:
        raise ValueError(f"{path.name} cannot be decompressed: {error}.") from error


def _decompressed(file: BinaryIO) -> Iterator[bytes]:
    """What gzip compressed; other than in Python's gzip, no zeros may follow, as in PyArrow."""
    data = file.read(_BLOCK)
    while data:
        member = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        while not member.eof:
            if not data:
                raise EOFError("its end is missing")
            if block := member.decompress(data, _BLOCK):
                yield block
            data = member.unconsumed_tail or member.unused_data or file.read(_BLOCK)


def _measure(path: Path) -> int:
    """Bytes of the text, whose lines are compared with free memory, as each is read at once."""
    size = longest = last = 0  # `last` is where the line begins
    for block in _blocks(path):
        first, end = block.find(b"\n"), block.rfind(b"\n")
        longest = max(longest, size + (len(block) if first < 0 else first) - last)
        last = last if end < 0 else size + end
        size += len(block)
    require_memory(
        _CELL * longest, what=f"A line of {path.name}", advice="See whether it is a table."
    )
    return size


def _check_letters(path: Path, encoding: str | None) -> str:
    """The encoding, found by the mark at the start, UTF-8, or a guess with a note.

    Bytes that it does not have are refused, and so is a character of code zero, which a reader in C
    would take for the end of a cell.
    """
    guessed = encoding is None
    if encoding is None:
        start = next(_blocks(path), b"")
        encoding = next((name for mark, name in _MARKS if start.startswith(mark)), "utf-8")
    if codecs.lookup(encoding).name == "utf-8":
        encoding = "utf-8-sig"
    fault, line = _find_fault(path, encoding)
    if fault == "bytes" and guessed and _find_fault(path, _GUESS)[0] == "":
        with _open_text(path, _GUESS) as lines:
            text = next(islice(lines, line - 1, None), "").strip()
        warn(
            f"{path.name} is not UTF-8 in line {line}. It is read as {_GUESS} (Windows), in which "
            f"this line is {_shorten(text)!r}. If letters are wrong, pass the right encoding with "
            "--encoding (encoding in Python), such as latin-2, cp1251, mac-roman or shift_jis."
        )
        return _GUESS
    if fault == "bytes":
        raise ValueError(
            f"{path.name} cannot be read as text in {encoding.removesuffix('-sig').upper()}: line "
            f"{line} has bytes that it does not use. Save the file as UTF-8, or name its encoding "
            "with --encoding (encoding in Python)."
        )
    if fault:
        raise ValueError(
            f"{path.name} has a character of code zero in line {line}, as files have that are not "
            "text, or UTF-16. Save it as text in UTF-8, or pass --encoding utf-16 "
            "(encoding='utf-16' in Python)."
        )
    return encoding


def _find_fault(path: Path, encoding: str) -> tuple[str, int]:
    """The first fault of the text, "bytes" or "zero", and its line; "" if there is none."""
    decoder, line = codecs.getincrementaldecoder(encoding)(), 1
    try:
        for block in _blocks(path):
            text = decoder.decode(block)
            position = text.find("\0")
            if position >= 0:
                return "zero", line + text.count("\n", 0, position)
            line += text.count("\n")
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        return "bytes", line + error.object[: error.start].count(b"\n")
    return "", 0


def _find_delimiter(lines: Sequence[str], usual: str) -> str:
    """The delimiter that divides all rows into as many fields, two or more; first the usual one."""
    counts = {mark: _field_counts(lines, mark) for mark in (usual, *_DELIMITERS)}
    several = [mark for mark, found in counts.items() if found and found[0] > 1]
    regular = [mark for mark in several if len(set(counts[mark])) == 1]
    if usual in regular:
        return usual
    if not regular and usual not in several:  # a row is wrong, and reading it says which
        regular = [m for m in several if 2 * counts[m].count(counts[m][0]) > len(counts[m])]
    return max(regular, key=lambda mark: counts[mark][0], default=usual)


def _field_counts(lines: Sequence[str], delimiter: str) -> list[int]:
    try:
        counts = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return []
    cut = len(lines) == _SAMPLE and len(counts) > 1  # the sample may end inside a cell
    return counts[:-1] if cut else counts


def _find_decimal(lines: Sequence[str], delimiter: str) -> str:
    """A comma if numbers are written with one, none with a point, and not all may be thousands."""
    if delimiter == ",":
        return "."
    try:
        cells = [cell.strip() for row in csv.reader(lines, delimiter=delimiter) for cell in row]
    except csv.Error:
        return "."
    commas = [cell for cell in cells if _COMMA.fullmatch(cell)]
    points = any(_POINT.fullmatch(cell) for cell in cells)
    return "," if not points and any(not _THOUSANDS.fullmatch(cell) for cell in commas) else "."


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


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


def scan_rows(
    lines: TextIO, separator: str, name: str, columns: Sequence[str] = (), decimal: str = "."
) -> Scan:
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
    decimal : {".", ","}, default="."
        The decimal mark.

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
    watched = [(header.index(c), _Written(decimal)) for c in columns if c in header]
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


class _Written:
    """What the cells of a column are, from its different texts and the decimal mark.

    Attributes
    ----------
    seen : set of str
        Texts that need not be looked at again.
    """

    def __init__(self, decimal: str) -> None:
        self.seen = {""}
        self._mark = decimal
        self._whole = self._decimal = self._boolean = self._prints = True
        self._count = 0

    def add(self, text: str) -> None:
        """Look at a text that was not seen before."""
        if self._count <= _FEW:  # the texts of a column with many need not be kept
            self._count += 1
            self.seen.add(text)
        self._boolean = self._boolean and text in ("True", "False")
        self._whole = self._whole and _WHOLE.fullmatch(text) is not None
        text = text if self._mark == "." else _swap_marks(text)
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


def _swap_marks(text: str) -> str:
    """A number with a decimal comma as one with a point, and the reverse."""
    return text.translate(str.maketrans(".,", ",."))
