"""Reading tables from CSV, TSV, Parquet and Feather files, at once or in batches of rows."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from meanparity.data.files import FORMATS
from meanparity.linalg.memory import require_memory

_MEMORY_FACTORS = {"csv": 4, "tsv": 4, "parquet": 12, "feather": 4}  # memory over file size
_BATCH_ROWS = 100_000
_TYPES = {"text": "str", "number": "float64"}
LARGE = 2**30  # bytes: a table that would take more memory is read in batches


def is_large(path: str | Path) -> bool:
    """Return whether the table in a file should be read in batches of rows."""
    path, form = _check_file(Path(path))
    return _memory(path, form) > LARGE


def read_frame(path: str | Path, columns: Sequence[str] | None = None) -> Any:
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
    import pandas as pd

    path, form = _check_file(Path(path))
    if columns is not None and is_large(path):
        batches = (batch[[c for c in columns if c in batch]] for batch in read_batches(path))
        return pd.concat(batches, ignore_index=True)
    what = f"The table in {path.name}"
    require_memory(_memory(path, form), what=what, advice="Free some memory.")
    with _readable_errors(path, form):
        if form in ("csv", "tsv"):
            frame = pd.read_csv(path, low_memory=False, **_csv_options(form))
        elif form == "parquet":
            frame = pd.read_parquet(path)
        else:
            frame = pd.read_feather(path)
    return _check_frame(frame, path)


def read_batches(path: str | Path, kinds: Mapping[str, str] | None = None) -> Iterator[Any]:
    """Read the same table in batches of rows, in which each column always has the same type.

    The index of each batch counts the rows of the file, starting from 0.

    Parameters
    ----------
    path : str or path
        The file.
    kinds : mapping of str to str, optional
        Columns of text files that contain "text" or "number", whatever they look like.

    Yields
    ------
    pandas data frame
    """
    path, form = _check_file(Path(path))
    rows = 0
    with ExitStack() as opened:
        with _readable_errors(path, form):
            batches = _open_batches(path, form, kinds or {}, opened)
        while True:
            with _readable_errors(path, form):
                batch = next(batches, None)
            if batch is None:
                break
            yield _check_frame(batch, path, first_row=rows)
            rows += len(batch)
    if not rows:
        _refuse_empty(path)


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


def _memory(path: Path, form: str) -> int:
    return _MEMORY_FACTORS[form] * path.stat().st_size


def _open_batches(
    path: Path, form: str, kinds: Mapping[str, str], opened: ExitStack
) -> Iterator[Any]:
    if form in ("csv", "tsv"):
        import pandas as pd

        state = path.stat()
        known = {**_text_file_kinds(path, form, state.st_size, state.st_mtime_ns), **kinds}
        types: Any = {name: _TYPES.get(kind, kind) for name, kind in known.items()}
        return opened.enter_context(
            pd.read_csv(path, chunksize=_BATCH_ROWS, dtype=types, **_csv_options(form))
        )
    import pyarrow.dataset as pads

    batches = pads.dataset(path, format=form).to_batches(batch_size=_BATCH_ROWS)
    return (batch.to_pandas() for batch in batches if batch.num_rows)


@lru_cache(maxsize=8)
def _text_file_kinds(path: Path, form: str, size: int, changed: int) -> dict[str, str]:
    """Types of the columns of a text file, from all of its rows.

    `size` and `changed` make the cache forget a file that has changed.
    """
    import pandas as pd

    found: dict[str, set[str]] = {}
    options = {"chunksize": _BATCH_ROWS, "low_memory": False, **_csv_options(form)}
    with pd.read_csv(path, **options) as batches:
        for batch in batches:
            for name, column in batch.items():
                kind = column.dtype.kind
                seen = found.setdefault(str(name), set())
                if not column.isna().all():
                    seen.add(kind if kind in "iuf" else "text")
    kinds = {}
    for name, seen in found.items():
        if seen and seen <= {"i", "u"}:
            kinds[name] = "Int64"
        else:
            kinds[name] = "text" if "text" in seen else "number"
    return kinds


@contextmanager
def _readable_errors(path: Path, form: str) -> Iterator[None]:
    """Turn whatever a reader raises into one sentence that names the file."""
    try:
        yield
    except (OSError, MemoryError):
        raise
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{str(path)!r} cannot be read as {form}: {reason}") from error


def _csv_options(form: str) -> dict[str, Any]:
    return {"sep": "\t" if form == "tsv" else ",", "encoding": "utf-8-sig"}


def _check_file(path: Path) -> tuple[Path, str]:
    """Return the path and the format of a file, or raise an error that says what is wrong."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder. Pass one file.")
    form = file_format(path)
    if not path.stat().st_size:
        raise ValueError(f"{str(path)!r} is empty. Pass a file with a header and rows.")
    if form in ("csv", "tsv"):
        with (
            _readable_errors(path, form),
            path.open(newline="", encoding="utf-8-sig") as file,
        ):
            header = next(csv.reader(file, delimiter=_csv_options(form)["sep"]), [])
        _refuse_repeated(header, path)
        if len(header) == 1 and ";" in header[0]:
            raise ValueError(
                f"The columns of {path.name} are separated by semicolons. Save it with commas."
            )
    elif form == "parquet":
        import pyarrow.parquet

        with _readable_errors(path, form):
            names = pyarrow.parquet.read_schema(path).names
        _refuse_repeated(names, path)
    return path, form


def _refuse_repeated(names: Sequence[str], path: Path) -> None:
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise ValueError(
            f"{path.name} has {names.count(repeated[0])} columns named {repeated[0]!r}. Rename "
            "them."
        )


def _refuse_empty(path: Path) -> None:
    raise ValueError(f"{path.name} has columns but no rows. Pass a file with rows.")


def _check_frame(frame: Any, path: Path, *, first_row: int = 0) -> Any:
    names = [str(name) for name in frame.columns]
    _refuse_repeated(names, path)
    if not len(frame):
        _refuse_empty(path)
    frame.columns = names
    return frame.set_axis(range(first_row, first_row + len(frame)), axis="index")
