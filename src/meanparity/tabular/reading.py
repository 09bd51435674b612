"""Tables from files."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from meanparity.linalg import require_memory

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".ipc": "feather",
}
_TIMES = {"csv": 4, "tsv": 4, "parquet": 12, "feather": 4}  # memory of a table, of its file
_CHUNK = 100_000
LARGE = 2**30  # bytes of a table in memory above which its file is read some rows at a time


def is_large(path: str | Path) -> bool:
    """Whether a file is better read some rows at a time."""
    path, form = _checked(Path(path))
    return _TIMES[form] * path.stat().st_size > LARGE


def read_table(path: str | Path, columns: Sequence[str] | None = None) -> Any:
    """The table of a CSV, TSV, Parquet or Feather file, as a pandas data frame.

    Parameters
    ----------
    path : str or path
        The file; its extension tells the format.
    columns : sequence of str, optional
        Those that are needed; of a large file, the others are not read.
    """
    path, form = _checked(Path(path))
    if columns is not None and is_large(path):
        parts = [part[[c for c in columns if c in part.columns]] for part in read_batches(path)]
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    require_memory(
        _TIMES[form] * path.stat().st_size,
        what=f"The table of {path.name}",
        advice="Free some memory.",
    )
    import pandas as pd

    try:
        if form in ("csv", "tsv"):
            frame = pd.read_csv(path, sep=_separator(form), encoding="utf-8-sig", low_memory=False)
        elif form == "parquet":
            frame = pd.read_parquet(path)
        else:
            frame = pd.read_feather(path)
    except (OSError, MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise ValueError(_unreadable(path, form, error)) from error
    return _sound(frame, path)


def read_batches(path: str | Path) -> Iterator[Any]:
    """The same table, some rows at a time."""
    path, form = _checked(Path(path))
    import pandas as pd

    try:
        if form in ("csv", "tsv"):
            options = {"sep": _separator(form), "encoding": "utf-8-sig", "low_memory": False}
            parts: Iterator[Any] = iter(pd.read_csv(path, chunksize=_CHUNK, **options))
        else:
            import pyarrow.dataset as pads

            dataset = pads.dataset(path, format=form)
            parts = (
                batch.to_pandas()
                for batch in dataset.to_batches(batch_size=_CHUNK)
                if batch.num_rows
            )
        for part in parts:
            yield _sound(part, path)
    except (OSError, MemoryError, KeyboardInterrupt, GeneratorExit):
        raise
    except Exception as error:
        raise ValueError(_unreadable(path, form, error)) from error


def fingerprint(path: str | Path) -> str:
    """SHA-256 of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checked(path: Path) -> tuple[Path, str]:
    """The path and the format of a file that is there, and not empty."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder. Pass one file.")
    form = FORMATS.get(path.suffix.lower())
    if form is None:
        raise ValueError(
            f"{path.name!r} has the extension {path.suffix!r}. Known are {', '.join(FORMATS)}."
        )
    if not path.stat().st_size:
        raise ValueError(f"{str(path)!r} is empty.")
    if form in ("csv", "tsv"):
        _refuse_repeated(_header(path, form), path)
    return path, form


def _header(path: Path, form: str) -> list[str]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return next(csv.reader(file, delimiter=_separator(form)), [])
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(_unreadable(path, form, error)) from error


def _refuse_repeated(names: Any, path: Path) -> None:
    names = list(names)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(
            f"{path.name} has {names.count(twice[0])} columns named {twice[0]!r}. Rename them."
        )


def _sound(frame: Any, path: Path) -> Any:
    _refuse_repeated(frame.columns, path)
    if not len(frame):
        raise ValueError(f"{path.name} has columns but no rows.")
    frame.columns = [str(name) for name in frame.columns]
    return frame.reset_index(drop=True)


def _separator(form: str) -> str:
    return "\t" if form == "tsv" else ","


def _unreadable(path: Path, form: str, error: BaseException) -> str:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return f"{str(path)!r} cannot be read as {form}: {reason}"
