"""Atomic writes of tables: a file is complete, or it is not there."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any, cast

import pandas as pd

from meanparity.data.files import file_extension
from meanparity.files import draft_of
from meanparity.tables.kinds import with_columns
from meanparity.tables.reading import file_format
from meanparity.tables.workbooks import write_workbook

# Text that a spreadsheet takes for a formula: after blanks, one of =+-@, also in full width
_FORMULA = re.compile(r"[\t\r\n]|[\s\0]*[=+\-@\uff1d\uff0b\uff0d\uff20]")


def write_frame(frame: pd.DataFrame, path: str | Path) -> None:
    r"""Write a data frame to a CSV, TSV, TXT, Parquet, Feather or XLSX file.

    Parameters
    ----------
    frame : pandas data frame
        The table.
    path : str or path
        The file. Its extension determines the format.

    See Also
    --------
    read_frame : The other direction.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> write_frame(pd.DataFrame({"sex": ["F"], "pay": [20.5]}), path)
    >>> path.read_text()
    'sex,pay\nF,20.5\n'
    """
    write_batches([frame], path)


def write_batches(batches: Iterable[pd.DataFrame], path: str | Path) -> int:
    """Write data frames with the same columns one below the other, and count their rows.

    In text and Excel files, text that a spreadsheet would run as a formula gets a leading
    apostrophe, which `unescape_formula` takes back.
    An existing file is replaced only once everything is written.

    Parameters
    ----------
    batches : iterable of data frames
        Parts of the table.
    path : str or path
        The file. Its extension determines the format.

    Returns
    -------
    int
        Number of rows.
    """
    path = Path(path)
    form = file_format(path)
    with draft_of(path) as draft:
        if form == "csv":
            separator = "\t" if file_extension(path).startswith(".tsv") else ","
            compressed = path.suffix.lower() == ".gz"
            return _write_text(batches, draft, separator, compressed=compressed)
        if form == "xlsx":
            return write_workbook(map(escape_formulas, batches), draft)
        return _write_arrow(batches, draft, form)


def escape_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    r"""Return the frame with an apostrophe before text and names that look like formulas.

    Examples
    --------
    >>> frame = pd.DataFrame({"=a": ["=1+1", "plain", None], "n": [-1, 2, 3]})
    >>> escape_formulas(frame).to_csv(index=False)
    "'=a,n\n'=1+1,-1\nplain,2\n,3\n"
    """
    text = [name for name in frame.columns if frame[name].dtype.kind not in "biufcmM"]
    safe = with_columns(frame, {name: frame[name].map(_escape_formula) for name in text})
    return safe.rename(columns=_escape_formula)


def unescape_formula(value: str) -> str:
    """Return a text from a CSV or TSV file as it was before it got an apostrophe.

    Examples
    --------
    >>> [unescape_formula(text) for text in ("'=1+1", "''=1+1", "'plain", "plain")]
    ['=1+1', "'=1+1", "'plain", 'plain']
    """
    return value[1:] if value.startswith("'") and _is_formula(value) else value


def _escape_formula(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and _is_formula(value) else value


def _is_formula(value: str) -> bool:
    """Whether a text would be a formula, also after apostrophes, so that one can be taken back."""
    return _FORMULA.match(value.lstrip("'")) is not None


def _write_text(
    batches: Iterable[pd.DataFrame], path: Path, separator: str, *, compressed: bool
) -> int:
    rows, opened = 0, cast(Any, gzip.open if compressed else open)
    with opened(path, "wt", newline="", encoding="utf-8") as file:
        for number, batch in enumerate(batches):
            safe = escape_formulas(batch)
            # pandas would not quote a carriage return, which readers take for the end of a row
            quoting = csv.QUOTE_ALL if _has_returns(safe) else csv.QUOTE_MINIMAL
            options = {"sep": separator, "index": False, "quoting": quoting}
            safe.to_csv(file, header=number == 0, **options)
            rows += len(batch)
    return rows


def _has_returns(frame: pd.DataFrame) -> bool:
    """Whether there is a carriage return in a text or a name of a column."""
    text = (frame[name] for name in frame.columns if frame[name].dtype.kind not in "biufcmM")
    return any("\r" in str(cell) for column in (frame.columns, *text) for cell in column)


def _write_arrow(batches: Iterable[pd.DataFrame], path: Path, form: str) -> int:
    import pyarrow as pa
    import pyarrow.parquet

    rows, remaining = 0, iter(batches)
    first = next(remaining)
    schema = pa.Schema.from_pandas(first, preserve_index=False)
    open_writer = pyarrow.parquet.ParquetWriter if form == "parquet" else pa.ipc.new_file
    with open_writer(path, schema) as writer:
        for batch in chain([first], remaining):
            # columns that are empty in one batch may have another type there
            writer.write_table(pa.Table.from_pandas(batch, schema))
            rows += len(batch)
    return rows
