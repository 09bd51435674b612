"""What several commands have in common: options, notes, progress."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from meanparity.exceptions import ParityWarning


class MissingCells(StrEnum):
    """What to do with empty sensitive cells."""

    error = "error"
    ignore = "ignore"
    group = "group"


class ModelKind(StrEnum):
    """Which functions."""

    auto = "auto"
    linear = "linear"
    kernel = "kernel"


class Setting(StrEnum):
    """Which variants of the methods."""

    linear = "linear"
    kernel = "kernel"


Data = Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or Feather file.", metavar="DATA")]
Target = Annotated[str, typer.Option(help="The column with the outcome, numbers.")]
Sensitive = Annotated[
    list[str], typer.Option(help="Sensitive columns, separated by commas; or give it again.")
]
Control = Annotated[
    list[str] | None, typer.Option(help="Compare groups inside the values of these columns.")
]
Weight = Annotated[str | None, typer.Option(help="The column with the weights of rows.")]
Ignore = Annotated[list[str] | None, typer.Option(help="Columns to leave out, such as ids.")]
Exclude = Annotated[
    bool, typer.Option("--exclude-sensitive", help="Sensitive columns are no features.")
]
Missing = Annotated[
    MissingCells, typer.Option(help="Empty sensitive cells: rows in no group, or a group.")
]
Model = Annotated[ModelKind, typer.Option(help="auto: what predicts better.")]
TestSize = Annotated[float, typer.Option(help="Share of the rows that is held out.")]
Seed = Annotated[int, typer.Option(help="Where chance comes from.")]
Json = Annotated[bool, typer.Option("--json", help="Write JSON instead of text.")]


def names(given: list[str] | None) -> tuple[str, ...]:
    """Names that were separated by commas.

    Examples
    --------
    >>> names(["sex,race", "age"]), names(None)
    (('sex', 'race', 'age'), ())
    """
    found = [name.strip() for part in given or [] for name in part.split(",")]
    return tuple(name for name in found if name)


@contextmanager
def working() -> Iterator[Callable[[str], None]]:
    """Shows what is being done, on a terminal; warnings become notes on stderr."""
    console = Console(stderr=True)
    notes: list[str] = []

    def note(message: Any, category: Any, *_: Any, **__: Any) -> None:
        if issubclass(category, ParityWarning):
            notes.append(" ".join(str(message).split()))

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = note
        with console.status("reading") as status:
            yield lambda words: status.update(words)
    for words in dict.fromkeys(notes):
        print(f"meanparity: note: {words}", file=sys.stderr)


def show(text: str, data: Any, as_json: bool) -> None:
    """Text for people, or the same as JSON."""
    typer.echo(json.dumps(data, indent=1, default=str, allow_nan=False) if as_json else text)


def check_can_write(*paths: Path | None, kept: Iterable[Path | None] = ()) -> None:
    """Refuse places where nothing can be written, or should not, before the work is done."""
    taken = [path.resolve() for path in kept if path is not None]
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise ValueError(f"{str(path)!r} is a folder. Name a file.")
        folder = path.parent
        if not folder.exists():
            raise ValueError(f"There is no folder {str(folder)!r} to write {path.name} to.")
        if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
            raise PermissionError(f"{str(path)!r} cannot be written: permission denied.")
        if path.resolve() in taken:
            raise ValueError(f"{str(path)!r} would be overwritten by another file. Name another.")
        taken.append(path.resolve())
