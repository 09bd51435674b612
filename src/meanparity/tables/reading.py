"""Reading tables from text, Parquet, Feather and Excel files, at once or in batches of rows.

Every row of a text file is checked by `meanparity.data.delimited` before pandas reads it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from meanparity.data.delimited import ANY_LAYOUT, Layout, Scan, TextFile
from meanparity.data.files import FORMATS as FILE_FORMATS
from meanparity.data.files import column_names, file_extension
from meanparity.linalg.memory import THREAD, require_addresses, require_memory
from meanparity.tables.kinds import EMPTY
from meanparity.tables.workbooks import Workbook

FORMATS = {**FILE_FORMATS, ".xlsx": "xlsx"}
# memory over file size; a compressed text takes about four times as much
_MEMORY_FACTORS = {"csv": 4, "parquet": 12, "feather": 4, "xlsx": 4}
_CELL = 8  # bytes that a cell takes at least
_BATCH_ROWS = 100_000
LARGE = 2**30  # bytes: a table that would take more memory is read in batches
# Columns that pandas reads as they are written, and how, by what `delimited` calls their cells
_TYPES = {"whole": "Int64", "decimal": "float64", "boolean": "boolean"}


def read_frame(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    as_written: Sequence[str] = (),
    layout: Layout = ANY_LAYOUT,
) -> pd.DataFrame:
    r"""Read a table from a CSV, TSV, TXT, Parquet, Feather or XLSX file.

    A row of a text file that has more or fewer fields than the header is refused.

    Parameters
    ----------
    path : str or path
        The file. Its extension determines the format.
    columns : sequence of str, optional
        The columns that are needed. The other columns of a large file are not kept.
    as_written : sequence of str, default=()
        Columns of text files, such as those of groups, in which every text is a value, also ``NA``
        and ``None``. They become numbers or booleans only if that changes no cell: a column that
        contains ``007`` stays text. Parquet, Feather and Excel files store types.
    layout : Layout
        Delimiter, decimal mark and encoding of a text file, if they should not be found out.

    Returns
    -------
    pandas data frame

    See Also
    --------
    write_frame : The other direction.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("sex,pay\nF,20.5\nM,21\n")
    >>> read_frame(path).shape
    (2, 2)
    >>> _ = path.write_text("office,pay\n007,20.5\nNA,21\n")
    >>> read_frame(path)["office"].tolist()
    [7.0, nan]
    >>> read_frame(path, as_written=["office"])["office"].tolist()
    ['007', 'NA']
    """
    file = TableFile(path, as_written, layout)
    if columns is None or not file.is_large:
        return file.read()
    batches = (batch[[c for c in columns if c in batch]] for batch in file.batches())
    return pd.concat(batches, ignore_index=True)


def file_format(path: Path) -> str:
    """Return the format that belongs to the extension of a file, or raise an error.

    Examples
    --------
    >>> file_format(Path("people.parquet"))
    'parquet'
    """
    extension = file_extension(path)
    if extension not in FORMATS:
        raise ValueError(
            f"{path.name!r} has the extension {extension!r}. Use one of {', '.join(FORMATS)}."
        )
    return FORMATS[extension]


def file_sha256(path: str | Path) -> str:
    """Return the SHA-256 checksum of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class TableFile:
    """A table in a file.

    Parameters
    ----------
    path : str or path
        A CSV, TSV, TXT, Parquet, Feather or XLSX file. Its name and its header are checked at once.
    as_written : sequence of str, default=()
        Columns that keep their text; see `read_frame`.
    layout : Layout
        How a text file is written, if that should not be found out.
    """

    def __init__(
        self, path: str | Path, as_written: Sequence[str] = (), layout: Layout = ANY_LAYOUT
    ) -> None:
        self.path = Path(path)
        self._layout = layout
        self._as_written = tuple(as_written)
        if not self.path.exists():
            raise FileNotFoundError(f"There is no file {str(self.path)!r}.")
        if self.path.is_dir():
            raise ValueError(f"{str(self.path)!r} is a folder. Pass one file.")
        self.format = file_format(self.path)
        size = self.path.stat().st_size
        if not size:
            raise ValueError(f"{self.path.name} is empty. Pass a file with a header and rows.")
        self._refuse_repeated(self.names)  # which pandas would rename
        size = self._text.size if self.format == "csv" else size
        self._memory = max(_MEMORY_FACTORS[self.format] * size, self._smallest_memory())

    @cached_property
    def names(self) -> list[str]:
        """Names of the columns."""
        if self.format == "csv":
            return self._text.header()
        if self.format == "xlsx":
            return self._workbook.names
        with self._readable_errors():
            return column_names(self._dataset.schema)

    @property
    def is_large(self) -> bool:
        """Whether the table should be read in batches of rows."""
        return self._memory > LARGE and self.format != "xlsx"

    def read(self, types: Mapping[str, str] | None = None) -> pd.DataFrame:
        """Read the whole table. The index counts its rows, starting from 0.

        Parameters
        ----------
        types : mapping of str to str, optional
            Types in which to read columns of text files, whatever they look like.
        """
        what = f"The table in {self.path.name}"
        require_memory(self._memory, what=what, advice="Free some memory.")
        if self.format == "xlsx":
            frame = self._workbook.read(as_written=self._as_written, as_text=types or {})
        elif self.format == "csv":
            options = self._csv_options({**self._written_types, **(types or {})})
            with self._readable_errors():
                frame = pd.read_csv(self.path, low_memory=False, **options)
            self._require_all_rows(len(frame))
        else:
            with self._readable_errors():
                table = self._dataset.to_table(columns=self.names)
                table.validate(full=True)  # offsets that lead outside would not be noticed
                frame = table.to_pandas()
        self._refuse_empty(len(frame))
        return self._number_rows(frame, 0)

    def batches(self, types: Mapping[str, str] | None = None) -> Iterator[pd.DataFrame]:
        """Read the table in batches of rows, in which each column always has the same type.

        The index of each batch counts the rows of the file, starting from 0.

        Parameters
        ----------
        types : mapping of str to str, optional
            Types in which to read columns of text files, whatever they look like.
        """
        rows = 0
        for batch in self._unchecked_batches(types or {}):
            yield self._number_rows(batch, rows)
            rows += len(batch)
        if self.format == "csv":
            self._require_all_rows(rows)
        self._refuse_empty(rows)

    def _unchecked_batches(self, types: Mapping[str, str]) -> Iterator[pd.DataFrame]:
        if self.format == "csv":
            yield from self._csv_batches({**self._csv_types, **types})
            return
        if self.format == "xlsx":
            yield self.read(types)
            return
        with self._readable_errors():
            for batch in self._dataset.to_batches(columns=self.names, batch_size=_BATCH_ROWS):
                if batch.num_rows:
                    batch.validate(full=True)
                    yield batch.to_pandas()

    def _csv_batches(self, types: Mapping[str, str], **more: Any) -> Iterator[pd.DataFrame]:
        options = {"chunksize": _BATCH_ROWS, **self._csv_options(types), **more}
        with self._readable_errors(), pd.read_csv(self.path, **options) as batches:
            yield from batches

    @cached_property
    def _csv_types(self) -> dict[str, str]:
        """Types of the columns of a text file, from all of its rows."""
        kinds: dict[str, set[str]] = {}
        for batch in self._csv_batches(self._written_types, low_memory=False):
            for name, column in batch.items():
                found = kinds.setdefault(str(name), set())
                if column.notna().any():
                    found.add(column.dtype.kind if column.dtype.kind in "iuf" else "text")
        types = {}
        for name, found in kinds.items():
            if found and found <= {"i", "u"}:
                types[name] = "Int64"
            else:
                types[name] = "str" if "text" in found else "float64"
        return types | self._written_types

    @cached_property
    def _text(self) -> TextFile:
        """How a text file is written."""
        return TextFile.open(self.path, self._layout)

    @cached_property
    def _workbook(self) -> Workbook:
        with self._readable_errors():
            return Workbook.open(self.path)

    @cached_property
    def _scan(self) -> Scan:
        """What is in the rows of a text file, each of which is checked."""
        return self._text.scan(self._as_written)

    @property
    def _written_types(self) -> dict[str, str]:
        """Types of the columns that keep their text."""
        return {name: _TYPES.get(kind, "str") for name, kind in self._scan.written.items()}

    def _csv_options(self, types: Mapping[str, str]) -> dict[str, Any]:
        options: dict[str, Any] = {
            "sep": self._text.delimiter,
            "decimal": self._text.decimal,
            "encoding": self._text.encoding,
            "index_col": False,
            "dtype": dict(types),
        }
        if self._scan.written:
            empty = {name: [*EMPTY] for name in self._scan.names}
            empty |= {name: [""] for name in self._scan.written}
            options |= {"na_values": empty, "keep_default_na": False}
        return options

    @cached_property
    def _dataset(self) -> Any:
        import pyarrow as pa
        import pyarrow.dataset as pads

        # without these, PyArrow waits for ever
        require_addresses(THREAD * (pa.cpu_count() + pa.io_thread_count()))
        dataset = pads.dataset(self.path, format=self.format)
        notes = dataset.schema.metadata or {}
        if b"pandas" not in notes:
            return dataset
        # an index that pandas wrote is a column like the others, and stays one
        of_pandas = json.loads(notes[b"pandas"]) | {"index_columns": []}
        notes |= {b"pandas": json.dumps(of_pandas).encode()}
        return dataset.replace_schema(dataset.schema.with_metadata(notes))

    def _smallest_memory(self) -> int:
        """Bytes that the cells take at least, which may be many in few compressed ones."""
        if self.format == "csv":
            return 0
        if self.format == "xlsx":
            return _MEMORY_FACTORS["xlsx"] * self._workbook.size
        with self._readable_errors():
            return int(_CELL * self._dataset.count_rows() * len(self._dataset.schema))

    def _number_rows(self, frame: pd.DataFrame, first: int) -> pd.DataFrame:
        frame.columns = [str(name) for name in frame.columns]
        self._refuse_repeated(list(frame.columns))
        return frame.set_axis(range(first, first + len(frame)), axis="index")

    def _refuse_repeated(self, names: Sequence[str]) -> None:
        repeated = next((name for name, count in Counter(names).items() if count > 1), None)
        if repeated is not None:
            raise ValueError(
                f"{self.path.name} has {names.count(repeated)} columns named {repeated!r}. Rename "
                "them."
            )

    def _require_all_rows(self, rows: int) -> None:
        """Refuse a text file whose rows pandas does not divide as they were checked."""
        if rows != self._scan.n_rows:
            raise ValueError(
                f"{self.path.name} has {self._scan.n_rows:,} rows, but {rows:,} if lines of blanks "
                "are left out. Remove these lines, or write empty cells as two double quotes."
            )

    def _refuse_empty(self, rows: int) -> None:
        if not rows:
            raise ValueError(f"{self.path.name} has columns but no rows. Pass a file with rows.")

    @contextmanager
    def _readable_errors(self) -> Iterator[None]:
        """Turn whatever a reader raises into one sentence that names the file."""
        import pyarrow as pa

        try:
            yield
        except ModuleNotFoundError:
            raise
        except Exception as error:
            damaged = isinstance(error, pa.ArrowException) or (
                isinstance(error, OSError) and error.errno is None  # PyArrow's, about the content
            )
            if isinstance(error, OSError | MemoryError) and not damaged:
                raise
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            if isinstance(error, MemoryError):
                reason = f"it asks for more memory than there is ({reason})"
            raise ValueError(
                f"{self.path.name} cannot be read as {self.format}: {reason}"
            ) from error
