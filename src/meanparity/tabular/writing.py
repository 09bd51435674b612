"""Tables to files, of which nobody sees half."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from meanparity.files import draft_of
from meanparity.sources import FORMATS

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_table(frame: Any, path: str | Path) -> None:
    """Write a data frame as CSV, TSV, Parquet or Feather; see `write_parts`."""
    write_parts([frame], path)


def write_parts(parts: Iterable[Any], path: str | Path) -> int:
    """Write data frames one below the other, and count their rows.

    In CSV and TSV files, text that a spreadsheet would run as a formula gets an apostrophe before
    it. Another file there is replaced when all is written.

    Parameters
    ----------
    parts : iterable of data frames
        With the same columns.
    path : str or path
        Where; the extension tells the format.
    """
    path = Path(path)
    form = check_output(path)
    with draft_of(path) as draft:
        if form in ("csv", "tsv"):
            return _write_text(parts, draft, "\t" if form == "tsv" else ",")
        return _write_arrow(parts, draft, form)


def check_output(path: Path) -> str:
    """The format of a file to be written, by its extension."""
    form = FORMATS.get(path.suffix.lower())
    if form is None:
        raise ValueError(
            f"{path.name!r} has the extension {path.suffix!r}. Known are {', '.join(FORMATS)}."
        )
    return form


def harmless(frame: Any) -> Any:
    r"""The frame with an apostrophe before text that looks like a formula, names included.

    Examples
    --------
    >>> import pandas as pd
    >>> harmless(pd.DataFrame({"=a": ["=1+1", "plain", None], "n": [-1, 2, 3]})).to_csv(index=False)
    "'=a,n\n'=1+1,-1\nplain,2\n,3\n"
    """
    safe = frame.copy()
    for name in safe.columns:
        if safe[name].dtype.kind not in "biufcmM":
            safe[name] = safe[name].map(_quoted)
    safe.columns = [_quoted(name) for name in safe.columns]
    return safe


def _quoted(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _write_text(parts: Iterable[Any], path: Path, separator: str) -> int:
    rows = 0
    with path.open("w", newline="", encoding="utf-8") as file:
        for number, part in enumerate(parts):
            harmless(part).to_csv(file, sep=separator, index=False, header=number == 0)
            rows += len(part)
    return rows


def _write_arrow(parts: Iterable[Any], path: Path, form: str) -> int:
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    rows, writer = 0, None
    try:
        for part in parts:
            table = pa.Table.from_pandas(part, preserve_index=False)
            if writer is None and form == "parquet":
                writer = pyarrow.parquet.ParquetWriter(path, table.schema)
            elif writer is None:
                writer = pa.ipc.new_file(path, table.schema)
            writer.write_table(table.cast(writer.schema) if form == "parquet" else table)
            rows += len(part)
    finally:
        if writer is not None:
            writer.close()
    return rows
