"""Writing tables to files, which are complete or not there at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from meanparity.files import draft_of
from meanparity.tables.reading import file_format

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_frame(frame: Any, path: str | Path) -> None:
    r"""Write a data frame to a CSV, TSV, Parquet or Feather file.

    Parameters
    ----------
    frame : pandas data frame
        The table.
    path : str or path
        The file. Its extension determines the format.

    Examples
    --------
    >>> import pandas as pd, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> write_frame(pd.DataFrame({"sex": ["F"], "pay": [20.5]}), path)
    >>> path.read_text()
    'sex,pay\nF,20.5\n'
    """
    write_batches([frame], path)


def write_batches(batches: Iterable[Any], path: str | Path) -> int:
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
    path = Path(path)
    form = file_format(path)
    with draft_of(path) as draft:
        if form in ("csv", "tsv"):
            return _write_text(batches, draft, "\t" if form == "tsv" else ",")
        return _write_arrow(batches, draft, form)


def escape_formulas(frame: Any) -> Any:
    r"""Return the frame with an apostrophe before text and names that look like formulas.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"=a": ["=1+1", "plain", None], "n": [-1, 2, 3]})
    >>> escape_formulas(frame).to_csv(index=False)
    "'=a,n\n'=1+1,-1\nplain,2\n,3\n"
    """
    safe = frame.copy()
    for name in safe.columns:
        if safe[name].dtype.kind not in "biufcmM":
            safe[name] = safe[name].map(_escape_formula)
    safe.columns = [_escape_formula(name) for name in safe.columns]
    return safe


def _escape_formula(value: Any) -> Any:
    is_formula = isinstance(value, str) and value.startswith(_FORMULA_STARTS)
    return f"'{value}" if is_formula else value


def _write_text(batches: Iterable[Any], path: Path, separator: str) -> int:
    rows = 0
    with path.open("w", newline="", encoding="utf-8") as file:
        for number, batch in enumerate(batches):
            escape_formulas(batch).to_csv(file, sep=separator, index=False, header=number == 0)
            rows += len(batch)
    return rows


def _write_arrow(batches: Iterable[Any], path: Path, form: str) -> int:
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    rows, writer = 0, None
    try:
        for batch in batches:
            table = pa.Table.from_pandas(batch, preserve_index=False)
            if writer is None and form == "parquet":
                writer = pyarrow.parquet.ParquetWriter(path, table.schema)
            elif writer is None:
                writer = pa.ipc.new_file(path, table.schema)
            writer.write_table(table.cast(writer.schema) if form == "parquet" else table)
            rows += len(batch)
    finally:
        if writer is not None:
            writer.close()
    return rows
