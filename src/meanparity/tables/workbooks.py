"""Excel files: the first sheet of a workbook as a table."""

from __future__ import annotations

import zipfile
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from meanparity.exceptions import warn
from meanparity.tables.kinds import EMPTY, number_as_text

_MOST_ROWS = 2**20  # of a sheet
_CELL = 32  # bytes that an empty cell takes until the table is read


@dataclass(frozen=True, eq=False)
class Workbook:
    """The first sheet of an XLSX file; its first row that is not empty has the names.

    Parameters
    ----------
    path : Path
        The file.
    names : list of str
        The names of the columns.
    cells : list of tuples
        The rows below, without empty ones, as Python values.
    size : int
        Bytes of the file after decompression.
    """

    path: Path
    names: list[str]
    cells: list[tuple[Any, ...]]
    size: int

    @classmethod
    def open(cls, path: Path) -> Workbook:
        """Read the cells, and check that none is outside the columns that have names."""
        from meanparity.linalg.memory import require_memory

        openpyxl = _import_openpyxl("Reading")
        with zipfile.ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
        what, allowed = f"The table in {path.name}", max(size // 8, 2**20)
        require_memory(_CELL * allowed, what=what, advice="Free some memory.")
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            sheet = book.worksheets[0]
            if len(book.worksheets) > 1:
                warn(
                    f"{path.name} has {len(book.worksheets)} sheets. The first one, "
                    f"{sheet.title!r}, is read."
                )
            sheet.reset_dimensions()  # programs may write wrong ones
            rows = enumerate(sheet.iter_rows(values_only=True), start=1)
            filled = ((n, row) for n, row in rows if any(cell is not None for cell in row))
            names = _names(next(filled, (0, ()))[1])
            cells: list[tuple[Any, ...]] = []
            for number, row in filled:
                cells.append(_below(names, number, row))
                if len(cells) * len(names) > allowed:  # a cell at the end of a row takes few bytes
                    allowed *= 2
                    require_memory(_CELL * allowed, what=what, advice="Free some memory.")
        finally:
            book.close()
        return cls(path, [str(name) for name in names], cells, size)

    def read(self, *, as_written: Sequence[str], as_text: Container[str]) -> pd.DataFrame:
        """Return the table.

        Parameters
        ----------
        as_written : sequence of str
            Columns in which every text is a value, also ``NA``.
        as_text : container of str
            Columns that are read as text, whatever they contain.
        """
        columns = dict(zip(self.names, zip(*self.cells, strict=True), strict=False))
        return pd.DataFrame(
            {
                name: _as_series(columns.get(name, ()), name in as_written, name in as_text)
                for name in self.names
            }
        )


def write_workbook(frames: Any, path: Path) -> int:
    """Write data frames with the same columns one below the other to one sheet; count the rows."""
    book = _import_openpyxl("Writing").Workbook(write_only=True)
    sheet, rows = book.create_sheet("Sheet1"), 0
    for number, frame in enumerate(frames):
        if number == 0:
            sheet.append([str(name) for name in frame.columns])
        rows += len(frame)
        if rows >= _MOST_ROWS:
            raise ValueError(
                f"An Excel sheet has at most {_MOST_ROWS - 1:,} rows below the names. Write a CSV "
                "or Parquet file."
            )
        for row in frame.astype(object).where(frame.notna(), None).itertuples(index=False):
            sheet.append(list(row))
    book.save(path)
    return rows


def _import_openpyxl(what: str) -> Any:
    try:
        import openpyxl
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{what} Excel files needs openpyxl. Run: pip install 'meanparity[excel]'",
            name=error.name,
        ) from error
    return openpyxl


def _names(row: Sequence[Any]) -> list[Any]:
    names = list(_without_empty_end(row))
    if None in names:
        position = names.index(None) + 1
        raise ValueError(f"column {position} of the sheet has no name. Give it one.")
    return names


def _below(names: Sequence[Any], number: int, row: Sequence[Any]) -> tuple[Any, ...]:
    """The cells of a row below the names, as many as there are names."""
    kept = _without_empty_end(row)
    if len(kept) > len(names):
        raise ValueError(
            f"row {number} of the sheet has {len(kept)} cells, but the header has {len(names)}. "
            "Correct this row."
        )
    return (*kept, *[None] * (len(names) - len(kept)))


def _without_empty_end(row: Sequence[Any]) -> tuple[Any, ...]:
    filled = [position for position, cell in enumerate(row) if cell is not None]
    return tuple(row[: filled[-1] + 1]) if filled else ()


def _as_series(cells: Sequence[Any], as_written: bool, as_text: bool) -> pd.Series:
    """Cells as numbers, dates or booleans if all of them are, and otherwise as text."""
    empty = ("",) if as_written else EMPTY
    values = [None if isinstance(cell, str) and cell in empty else cell for cell in cells]
    kinds = {type(value) for value in values if value is not None}
    if not as_text and kinds and kinds <= {int, float}:
        whole = kinds == {int}
        return pd.Series(pd.array(values, dtype="Int64" if whole else "Float64")).astype(
            "float64" if not whole or None in values else "int64"
        )
    if not as_text and len(kinds) == 1 and str not in kinds:
        return pd.Series(values, dtype=object).infer_objects()
    return pd.Series([None if v is None else number_as_text(v) for v in values], dtype=object)
