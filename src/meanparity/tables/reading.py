"""Reading tables from CSV, TSV, Parquet and Feather files, at once or in batches of rows."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from meanparity.data.files import FORMATS
from meanparity.linalg.memory import require_memory

_MEMORY_FACTORS = {"csv": 4, "tsv": 4, "parquet": 12, "feather": 4}  # memory over file size
SEPARATORS = {"csv": ",", "tsv": "\t"}
_BATCH_ROWS = 100_000
LARGE = 2**30  # bytes: a table that would take more memory is read in batches


def read_frame(path: str | Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    r"""Read a table from a CSV, TSV, Parquet or Feather file.

    Parameters
    ----------
    path : str or path
        The file. Its extension determines the format.
    columns : sequence of str, optional
        The columns that are needed. The other columns of a large file are not kept.

    Returns
    -------
    pandas data frame

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("sex,pay\nF,20.5\nM,21\n")
    >>> read_frame(path).shape
    (2, 2)
    """
    file = TableFile(path)
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
    form = FORMATS.get(path.suffix.lower())
    if form is None:
        raise ValueError(
            f"{path.name!r} has the extension {path.suffix!r}. Use one of {', '.join(FORMATS)}."
        )
    return form


def file_sha256(path: str | Path) -> str:
    """Return the SHA-256 checksum of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class TableFile:
    """A table in a file.

    Parameters
    ----------
    path : str or path
        A CSV, TSV, Parquet or Feather file. Its name and its header are checked at once.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.exists():
            raise FileNotFoundError(f"There is no file {str(self.path)!r}.")
        if self.path.is_dir():
            raise ValueError(f"{str(self.path)!r} is a folder. Pass one file.")
        self.format = file_format(self.path)
        size = self.path.stat().st_size
        if not size:
            raise ValueError(f"{str(self.path)!r} is empty. Pass a file with a header and rows.")
        self._memory = _MEMORY_FACTORS[self.format] * size
        self._check_header()

    @property
    def is_large(self) -> bool:
        """Whether the table should be read in batches of rows."""
        return self._memory > LARGE

    def read(self) -> pd.DataFrame:
        """Read the whole table. The index counts its rows, starting from 0."""
        what = f"The table in {self.path.name}"
        require_memory(self._memory, what=what, advice="Free some memory.")
        with self._readable_errors():
            if self.format in SEPARATORS:
                frame = pd.read_csv(self.path, low_memory=False, **self._csv_options)
            else:
                read = pd.read_parquet if self.format == "parquet" else pd.read_feather
                frame = read(self.path)
        self._refuse_empty(len(frame))
        return self._number_rows(frame, 0)

    def batches(self, types: Mapping[str, str] | None = None) -> Iterator[pd.DataFrame]:
        """Read the table in batches of rows, in which each column always has the same type.

        The index of each batch counts the rows of the file, starting from 0.

        Parameters
        ----------
        types : mapping of str to str, optional
            Types in which to read columns of CSV and TSV files, whatever they look like.
        """
        rows = 0
        for batch in self._unchecked_batches(types or {}):
            yield self._number_rows(batch, rows)
            rows += len(batch)
        self._refuse_empty(rows)

    def _unchecked_batches(self, types: Mapping[str, str]) -> Iterator[pd.DataFrame]:
        with self._readable_errors():
            if self.format in SEPARATORS:
                yield from self._csv_batches(dtype={**self._csv_types, **types})
            else:
                import pyarrow.dataset as pads

                dataset = pads.dataset(self.path, format=self.format)
                for batch in dataset.to_batches(batch_size=_BATCH_ROWS):
                    if batch.num_rows:
                        yield batch.to_pandas()

    def _csv_batches(self, **options: Any) -> Iterator[pd.DataFrame]:
        options |= {"chunksize": _BATCH_ROWS, **self._csv_options}
        with pd.read_csv(self.path, **options) as batches:
            yield from batches

    @cached_property
    def _csv_types(self) -> dict[str, str]:
        """Types of the columns of a CSV or TSV file, from all of its rows."""
        kinds: dict[str, set[str]] = {}
        for batch in self._csv_batches(low_memory=False):
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
        return types

    @property
    def _csv_options(self) -> dict[str, Any]:
        return {"sep": SEPARATORS[self.format], "encoding": "utf-8-sig"}

    def _check_header(self) -> None:
        # pandas would rename repeated columns of a CSV file
        names: Sequence[str] = ()
        with self._readable_errors():
            if self.format in SEPARATORS:
                with self.path.open(newline="", encoding="utf-8-sig") as file:
                    names = next(csv.reader(file, delimiter=SEPARATORS[self.format]), [])
            elif self.format == "parquet":
                import pyarrow.parquet

                names = pyarrow.parquet.read_schema(self.path).names
        self._refuse_repeated(names)
        if self.format in SEPARATORS and len(names) == 1 and ";" in names[0]:
            raise ValueError(
                f"The columns of {self.path.name} are separated by semicolons. Save it with commas."
            )

    def _number_rows(self, frame: pd.DataFrame, first: int) -> pd.DataFrame:
        frame.columns = [str(name) for name in frame.columns]
        self._refuse_repeated(list(frame.columns))
        return frame.set_axis(range(first, first + len(frame)), axis="index")

    def _refuse_repeated(self, names: Sequence[str]) -> None:
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise ValueError(
                f"{self.path.name} has {names.count(repeated)} columns named {repeated!r}. Rename "
                "them."
            )

    def _refuse_empty(self, rows: int) -> None:
        if not rows:
            raise ValueError(f"{self.path.name} has columns but no rows. Pass a file with rows.")

    @contextmanager
    def _readable_errors(self) -> Iterator[None]:
        """Turn whatever a reader raises into one sentence that names the file."""
        try:
            yield
        except (OSError, MemoryError):
            raise
        except Exception as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ValueError(
                f"{str(self.path)!r} cannot be read as {self.format}: {reason}"
            ) from error
