"""Writing tables to files, which are complete or not there at all."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from meanparity.data.files import SEPARATORS
from meanparity.files import draft_of
from meanparity.tables.reading import file_format

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_frame(frame: pd.DataFrame, path: str | Path) -> None:
    r"""Write a data frame to a CSV, TSV, Parquet or Feather file.

    Parameters
    ----------
    frame : pandas data frame
        The table.
    path : str or path
        The file. Its extension determines the format.

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

    In CSV and TSV files, text that a spreadsheet would run as a formula gets a leading apostrophe.
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
    form = file_format(Path(path))
    with draft_of(Path(path)) as draft:
        if form in SEPARATORS:
            return _write_text(batches, draft, SEPARATORS[form])
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
    safe = frame.assign(**{name: frame[name].map(_escape_formula) for name in text})
    return safe.rename(columns=_escape_formula)


def _escape_formula(value: Any) -> Any:
    is_formula = isinstance(value, str) and value.startswith(_FORMULA_STARTS)
    return f"'{value}" if is_formula else value


def _write_text(batches: Iterable[pd.DataFrame], path: Path, separator: str) -> int:
    rows = 0
    with path.open("w", newline="", encoding="utf-8") as file:
        for number, batch in enumerate(batches):
            escape_formulas(batch).to_csv(file, sep=separator, index=False, header=number == 0)
            rows += len(batch)
    return rows


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
