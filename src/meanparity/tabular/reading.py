"""Tables from files."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from meanparity.linalg import require_memory
from meanparity.sources import FORMATS

_TIMES = {"csv": 4, "tsv": 4, "parquet": 12, "feather": 4}  # memory of a table, of its file
_CHUNK = 100_000
_TYPES = {"text": "str", "number": "float64"}
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
        Those that are needed; of a large file, the others are not kept.
    """
    import pandas as pd

    path, form = _checked(Path(path))
    if columns is not None and is_large(path):
        parts = [part[[c for c in columns if c in part.columns]] for part in read_batches(path)]
        return pd.concat(parts, ignore_index=True)
    require_memory(
        _TIMES[form] * path.stat().st_size,
        what=f"The table of {path.name}",
        advice="Free some memory.",
    )
    with _reading(path, form):
        if form in ("csv", "tsv"):
            frame = pd.read_csv(path, low_memory=False, **_options(form))
        elif form == "parquet":
            frame = pd.read_parquet(path)
        else:
            frame = pd.read_feather(path)
    return _sound(frame, path)


def read_batches(path: str | Path, kinds: Mapping[str, str] | None = None) -> Iterator[Any]:
    """The same table, some rows at a time, with columns of the same kind in all parts.

    Parameters
    ----------
    path : str or path
        The file.
    kinds : mapping of str to str, optional
        Columns of text files that hold "text" or "number", whatever they look like.
    """
    path, form = _checked(Path(path))
    rows = 0
    with ExitStack() as opened:
        with _reading(path, form):
            parts = _parts(path, form, kinds or {}, opened)
        while True:
            with _reading(path, form):
                part = next(parts, None)
            if part is None:
                break
            rows += len(part)
            yield _sound(part, path)
    if not rows:
        raise ValueError(f"{path.name} has columns but no rows.")


def _parts(path: Path, form: str, kinds: Mapping[str, str], opened: ExitStack) -> Iterator[Any]:
    """Some rows at a time, as the reader gives them."""
    if form in ("csv", "tsv"):
        import pandas as pd

        state = path.stat()
        known = {**_kinds(path, form, state.st_size, state.st_mtime_ns), **kinds}
        types: Any = {name: _TYPES.get(kind, kind) for name, kind in known.items()}
        return opened.enter_context(
            pd.read_csv(path, chunksize=_CHUNK, dtype=types, **_options(form))
        )
    import pyarrow.dataset as pads

    batches = pads.dataset(path, format=form).to_batches(batch_size=_CHUNK)
    return (batch.to_pandas() for batch in batches if batch.num_rows)


@lru_cache(maxsize=8)
def _kinds(path: Path, form: str, size: int, changed: int) -> dict[str, str]:
    """What the columns of a text file hold, from all of its rows: one pass for each state of it."""
    import pandas as pd

    found: dict[str, set[str]] = {}
    options = {"chunksize": _CHUNK, "low_memory": False, **_options(form)}
    with pd.read_csv(path, **options) as parts:
        for part in parts:
            for name, column in part.items():
                kind = column.dtype.kind
                seen = found.setdefault(str(name), set())
                if not column.isna().all():
                    seen.add(kind if kind in "iuf" else "text")
    kinds = {}
    for name, seen in found.items():
        if seen <= {"i", "u"} and seen:
            kinds[name] = "Int64"
        else:
            kinds[name] = "text" if "text" in seen else "number"
    return kinds


@contextmanager
def _reading(path: Path, form: str) -> Iterator[None]:
    """Whatever a reader says becomes one clear sentence."""
    try:
        yield
    except (OSError, MemoryError):
        raise
    except Exception as error:
        raise ValueError(_unreadable(path, form, error)) from error


def _options(form: str) -> dict[str, Any]:
    return {"sep": _separator(form), "encoding": "utf-8-sig"}


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
        header = _header(path, form)
        _refuse_repeated(header, path)
        if len(header) == 1 and ";" in header[0]:
            raise ValueError(
                f"The columns of {path.name} are separated by semicolons. Save it with commas."
            )
    elif form == "parquet":
        _refuse_repeated(_parquet_names(path), path)
    return path, form


def _parquet_names(path: Path) -> list[str]:
    import pyarrow.parquet

    with _reading(path, "parquet"):
        return list(pyarrow.parquet.read_schema(path).names)


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
