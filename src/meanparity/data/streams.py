"""Rows that come only when they are asked for: lazy frames, relations and Arrow readers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_KINDS = {
    ("polars", "LazyFrame"): "a polars LazyFrame",
    ("duckdb", "DuckDBPyRelation"): "a DuckDB relation",
    ("pyarrow", "RecordBatchReader"): "an Arrow RecordBatchReader",
    ("narwhals", "LazyFrame"): "a lazy frame",
}

_OTHERS = {  # what only ParityRidge.fit and ParityKernelRidge.fit read, or nothing here reads
    ("pyarrow", "Dataset"): ("an Arrow dataset", "its .to_table()"),
    ("pyarrow", "Scanner"): ("an Arrow Scanner", "its .to_table()"),
    ("pyarrow", "RecordBatch"): ("an Arrow RecordBatch", "pyarrow.Table.from_batches([batch])"),
}


def stream_kind(source: Any) -> str:
    """What kind of rows these are, if they are not in memory; empty if they are.

    Examples
    --------
    >>> stream_kind([[1.0, 2.0]])
    ''
    """
    return next(filter(None, map(_KINDS.get, _classes(source))), "")


def _classes(source: Any) -> list[tuple[str, str]]:
    """Library and name of each class of an object, and of what narwhals wraps."""
    kinds = (*type(_native(source)).__mro__, *type(source).__mro__)
    return [(kind.__module__.split(".")[0].removeprefix("_"), kind.__name__) for kind in kinds]


def refuse_stream(values: Any, name: str) -> None:
    """Raise `TypeError` for rows that are not in memory, where they have to be."""
    kind = stream_kind(values)
    if kind:
        raise TypeError(
            f"{name} is {kind}, whose rows are not in memory, and only ParityRidge.fit and "
            "ParityKernelRidge.fit read it as X, with the names of the other columns. Pass rows "
            "in memory, such as those of .collect() in polars, .df() in DuckDB, or .read_all() in "
            "Arrow."
        )
    for what, instead in filter(None, map(_OTHERS.get, _classes(values))):
        raise TypeError(f"{name} is {what}, which is not read here. Pass {instead}.")


@contextmanager
def spooled(source: Any) -> Iterator[Path]:
    """A temporary Parquet file with the rows of a stream, which is deleted afterwards.

    A fit reads rows twice, and a reader can be read once. The libraries write the file without
    holding all rows in memory.
    """
    native, kind = _native(source), stream_kind(source)
    with tempfile.TemporaryDirectory(prefix="meanparity-") as folder:
        path = Path(folder) / "rows.parquet"
        if kind == "a polars LazyFrame":
            native.sink_parquet(path)
        elif kind == "a DuckDB relation":
            native.write_parquet(str(path))
        elif kind == "an Arrow RecordBatchReader":
            _write_batches(native, path)
        else:
            raise TypeError(
                f"X is a lazy frame of {type(native).__module__.split('.')[0]}, which cannot be "
                "read here. Write it to Parquet files and pass their path, or collect it."
            )
        yield path


def _native(source: Any) -> Any:
    """The object in a wrapper of narwhals."""
    wrapped = type(source).__module__.split(".")[0] == "narwhals" and hasattr(source, "to_native")
    return source.to_native() if wrapped else source


def _write_batches(reader: Any, path: Path) -> None:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            "Reading Arrow batches needs PyArrow with Parquet: pip install 'meanparity[files]'."
        ) from error
    with pyarrow.parquet.ParquetWriter(path, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
