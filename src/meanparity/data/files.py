"""Files of rows, read in record batches, so that only a few batches are in memory at a time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanparity.data.delimited import Scan, TextFile
from meanparity.exceptions import did_you_mean
from meanparity.linalg.memory import THREAD, require_addresses

BATCH_ROWS = 65_536
FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".csv.gz": "csv",
    ".tsv.gz": "csv",
    ".txt.gz": "csv",
    ".arrow": "feather",
    ".feather": "feather",
    ".ipc": "feather",
}


def is_files(source: Any) -> bool:
    """Whether this is a path, a list of paths or a PyArrow dataset, rather than rows in memory."""
    if isinstance(source, str | os.PathLike):
        return True
    if isinstance(source, list | tuple) and source:
        return all(isinstance(item, str | os.PathLike) for item in source)
    return type(source).__module__.startswith("pyarrow") and hasattr(source, "scanner")


@dataclass(frozen=True)
class ColumnRoles:
    """What each column of a file is used for.

    Parameters
    ----------
    features : tuple of str
        Features, in order.
    target, sensitive, control : tuples of str
        Targets, sensitive and control columns.
    weight : str or None
        Weights.
    """

    features: tuple[str, ...]
    target: tuple[str, ...]
    sensitive: tuple[str, ...]
    control: tuple[str, ...]
    weight: str | None


@dataclass(frozen=True, eq=False)
class Files:
    """Rows stored in files.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        The files.
    texts : tuple of TextFile
        How each file is written, if these are text files.
    """

    dataset: Any
    texts: tuple[TextFile, ...] = ()

    @classmethod
    def open(cls, source: Any) -> Files:
        """Parquet, CSV or Feather files by path, a folder of them, or a PyArrow dataset."""
        try:
            import pyarrow as pa
            import pyarrow.csv
            import pyarrow.dataset as pads
        except ImportError as error:
            raise ImportError(
                "Reading files needs PyArrow: pip install 'meanparity[files]'."
            ) from error
        # without these, PyArrow waits for ever
        require_addresses(THREAD * (pa.cpu_count() + pa.io_thread_count()))
        if not isinstance(source, str | os.PathLike | list | tuple):
            return cls(source)
        given = [source] if isinstance(source, str | os.PathLike) else list(source)
        paths = [path for item in given for path in _files_at(Path(item))]
        kinds = sorted({_format(path) for path in paths})
        if len(kinds) > 1:
            raise ValueError(
                f"The files are of different formats, {', '.join(kinds)}. Pass those of one format."
            )
        form: Any = kinds[0]
        texts = tuple(map(TextFile.open, paths)) if form == "csv" else ()
        if texts:
            written = _common_layout(texts)
            form = pads.CsvFileFormat(
                pyarrow.csv.ParseOptions(delimiter=written.delimiter, newlines_in_values=True),
                # as groups are read as they are written, NA is a value
                convert_options=pyarrow.csv.ConvertOptions(
                    strings_can_be_null=True, null_values=[""], decimal_point=written.decimal
                ),
                read_options=pyarrow.csv.ReadOptions(
                    encoding=written.encoding.removesuffix("-sig")
                ),
            )
        try:
            dataset = pads.dataset([os.fspath(path) for path in paths], format=form)
            schemas = [part.physical_schema for part in dataset.get_fragments()]
        except (pa.ArrowInvalid, OSError) as error:
            for text in texts:
                text.scan()  # which names the line, if it is about one
            first = os.fspath(paths[0])
            raise ValueError(f"{first!r} cannot be read as {kinds[0]}: {error}") from error
        for path, schema in zip(paths, schemas, strict=True):
            odd = sorted(set(schema.names) ^ set(schemas[0].names))
            if odd:
                raise ValueError(
                    f"{paths[0].name!r} and {path.name!r} do not have the same columns: {odd[0]!r} "
                    "is in one of them only."
                )
        try:
            whole = pa.unify_schemas(schemas, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ValueError(f"The files hold columns of different types: {error}") from error
        return cls(dataset.replace_schema(whole), texts)

    @property
    def names(self) -> list[str]:
        """Names of all columns."""
        return column_names(self.dataset.schema)

    def count(self) -> int:
        """Number of rows."""
        return int(self.dataset.count_rows())

    def roles(
        self, target: Any, sensitive: Any, control: Any, weight: Any, among_features: Sequence[str]
    ) -> ColumnRoles:
        """The role of each column; columns without another role are features.

        `among_features` are sensitive columns that are also features.
        """
        wanted = {
            "y": _names(target),
            "sensitive_features": _names(sensitive),
            "control_features": _names(control),
            "sample_weight": _names(weight),
        }
        taken = [name for names in wanted.values() for name in names]
        for role, names in (*wanted.items(), ("sensitive_columns", tuple(among_features))):
            for name in names:
                if not isinstance(name, str) or name not in self.names:
                    raise ValueError(
                        f"{role} names the column {name!r}, but the file has the columns "
                        f"{self.names}.{did_you_mean(name, self.names)} Pass the columns of a file "
                        "by name."
                    )
                if taken.count(name) > 1:
                    raise ValueError(
                        f"The column {name!r} is named twice among y, sensitive_features, "
                        "control_features and sample_weight. Name it once."
                    )
        if not wanted["y"]:
            raise ValueError("y has to name the target column of the file.")
        features = tuple(name for name in self.names if name not in taken)
        if not features:
            raise ValueError(f"No columns are left to be features: all of {self.names} are taken.")
        targets, sensitive, control, weights = wanted.values()
        if len(weights) > 1:
            raise ValueError(f"sample_weight names {len(weights)} columns. Name one.")
        for name in (*features, *targets, *weights):
            self._refuse_dates(name)
        weight = weights[0] if weights else None
        return ColumnRoles(features, targets, sensitive, control, weight)

    def _refuse_dates(self, name: str) -> None:
        import pyarrow as pa

        kind = self.dataset.schema.field(name).type
        if pa.types.is_temporal(kind):
            raise ValueError(
                f"Column {name!r} holds {kind}, which is not a number. Convert it, for instance to "
                "days since a date, or leave it out."
            )

    def checked(self, numbers: Sequence[str], groups: Sequence[str]) -> Files:
        """The same files, where each row of CSV files was checked, and columns have their types.

        Parameters
        ----------
        numbers : sequence of str
            Columns that are read as floats where they look like integers.
        groups : sequence of str
            Columns of groups, which are read as they are written.
        """
        import pyarrow as pa
        import pyarrow.dataset as pads

        if not self.texts:
            return self
        files, form = self.dataset.files, self.dataset.format
        written = _types([text.scan(groups) for text in self.texts])
        types = {"whole": pa.int64(), "decimal": pa.float64(), "boolean": pa.bool_()}
        fields = []
        for field in self.dataset.schema:
            if field.name in written:
                field = field.with_type(types.get(written[field.name], pa.string()))
            elif field.name in numbers and (
                pa.types.is_integer(field.type) or pa.types.is_null(field.type)
            ):
                field = field.with_type(pa.float64())
            fields.append(field)
        schema = pa.schema(fields)
        return Files(pads.dataset(files, schema, form, self.dataset.filesystem), self.texts)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Tables of the named columns, one batch of rows at a time."""
        import pyarrow as pa

        scanner = self.dataset.scanner(columns=list(columns), batch_size=BATCH_ROWS)
        found = scanner.to_batches()
        while True:
            try:
                batch = next(found, None)
            except (pa.ArrowInvalid, OSError) as error:
                raise ValueError(
                    f"The files cannot be read to their end: {error}. The types of CSV columns are "
                    "inferred from the first rows; Parquet files store them."
                ) from error
            if batch is None:
                return
            if batch.num_rows:
                yield pa.Table.from_batches([batch])

    def sample(self, columns: Sequence[str], rows: NDArray[np.intp]) -> Any:
        """The table of the rows at sorted positions, read in one pass."""
        import pyarrow as pa

        parts, start = [], 0
        for table in self.batches(columns):
            stop = start + table.num_rows
            first, last = np.searchsorted(rows, [start, stop])
            if last > first:
                parts.append(table.take(pa.array(rows[first:last] - start)))
            start = stop
        return pa.concat_tables(parts)


def column_names(schema: Any) -> list[str]:
    """The columns of a file, without row numbers that pandas wrote as an index without a name."""
    return [name for name in schema.names if not re.fullmatch(r"__index_level_\d+__", name)]


def _files_at(path: Path) -> list[Path]:
    """The file, or the files in a folder that have a known extension."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file {os.fspath(path)!r}.")
    if not path.is_dir():
        return [path]
    inside = sorted(
        file
        for file in path.rglob("*")
        if file_extension(file) in FORMATS
        and not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
    )
    if not inside:
        raise ValueError(
            f"The folder {os.fspath(path)!r} has no files with one of the extensions "
            f"{', '.join(FORMATS)}."
        )
    return inside


def file_extension(path: Path) -> str:
    """The extension of a file in small letters; that of a compressed file has two parts.

    PyArrow decompresses files only if ``.gz`` is in small letters, so others keep theirs.

    Examples
    --------
    >>> names = ("a.CSV", "b.csv.gz", "c.2024.csv", "d", "e.CSV.gz", "f.csv.GZ")
    >>> [file_extension(Path(name)) for name in names]
    ['.csv', '.csv.gz', '.csv', '', '.csv.gz', '.csv.GZ']
    """
    if path.suffix.lower() == ".gz":
        return "".join(path.suffixes[-2:-1]).lower() + path.suffix
    return path.suffix.lower()


def _format(path: Path) -> str:
    """The format of a file by its extension."""
    extension = file_extension(path)
    if extension not in FORMATS:
        raise ValueError(
            f"{path.name!r} has the extension {extension!r}. Known are {', '.join(FORMATS)}; "
            "pass other files as a pyarrow.dataset.dataset."
        )
    return FORMATS[extension]


def _common_layout(texts: Sequence[TextFile]) -> TextFile:
    """How all files are written."""
    first = texts[0]
    for text in texts:
        for what in ("delimiter", "decimal", "encoding"):
            here, there = getattr(first, what), getattr(text, what)
            if here != there:
                raise ValueError(
                    f"{first.path.name!r} and {text.path.name!r} are not written alike: the "
                    f"{what} is {here!r} in one and {there!r} in the other. Save them alike."
                )
    return first


def _types(scans: Sequence[Scan]) -> dict[str, str]:
    """How columns are written in all files together; see `meanparity.data.delimited.Scan`."""
    found = {}
    for name in scans[0].written:
        kinds = {scan.written[name] for scan in scans}
        kinds = kinds - {"empty"} or {"text"}
        if kinds == {"whole", "decimal"}:
            kinds = {"decimal"}
        found[name] = kinds.pop() if len(kinds) == 1 else "text"
    return found


def _names(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) or not np.iterable(value) else tuple(value)
