"""Options, progress and output that several commands share."""

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

from meanparity.cli._typer import typer
from meanparity.exceptions import ParityWarning

# Python hides these by default, because they are meant for the developers of a library
_FOR_DEVELOPERS = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)


MissingCells = StrEnum("MissingCells", ["error", "ignore", "group"])
Setting = StrEnum("Setting", ["linear", "kernel"])
ModelKind = StrEnum("ModelKind", ["auto", "linear", "kernel"])


def split_names(given: list[str] | None) -> list[str]:
    """Split names that are separated by commas.

    Examples
    --------
    >>> split_names(["sex,race", "age"]), split_names(None)
    (['sex', 'race', 'age'], [])
    """
    names = [name.strip() for part in given or [] for name in part.split(",")]
    return [name for name in names if name]


def _require_names(given: list[str]) -> list[str]:
    names = split_names(given)
    if not names:
        raise ValueError("Name the sensitive columns with --sensitive.")
    return names


def table_file(help_text: str) -> Any:
    """The option for a file to which a table is written."""
    return typer.Option("-o", "--output", help=help_text, callback=_check_table_format)


def _check_table_format(path: Path | None) -> Path | None:
    from meanparity.tables.reading import file_format

    if path is not None:
        file_format(path)
    return path


Data = Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or Feather file.", metavar="DATA")]
Target = Annotated[str, typer.Option(help="Numeric outcome column.")]
Sensitive = Annotated[
    list[str],
    typer.Option(
        help="Sensitive columns, separated by commas. Can be repeated.", callback=_require_names
    ),
]
Control = Annotated[
    list[str] | None,
    typer.Option(
        help="Control columns: compare groups within each combination of their values.",
        callback=split_names,
    ),
]
Weight = Annotated[str | None, typer.Option(help="Column of row weights.")]
Ignore = Annotated[
    list[str] | None,
    typer.Option(help="Columns to leave out, such as identifiers.", callback=split_names),
]
Exclude = Annotated[
    bool,
    typer.Option("--exclude-sensitive", help="Do not use the sensitive columns as features."),
]
Missing = Annotated[
    MissingCells,
    typer.Option(
        help="What to do with empty sensitive and control cells: raise an error, leave these rows "
        "out of the comparison, or treat empty cells as a group."
    ),
]
Model = Annotated[
    ModelKind,
    typer.Option(help="Kind of model. 'auto' selects the smaller error on left-out rows."),
]
TestSize = Annotated[float, typer.Option(help="Share of the rows to hold out.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


@contextmanager
def working() -> Iterator[Callable[[str], None]]:
    """Show progress on a terminal, and print each warning once on stderr.

    Yields a function that changes the progress message.
    """
    from rich.console import Console

    lines: dict[str, None] = {}

    def collect(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        kind = "note" if issubclass(category, ParityWarning) else f"warning ({category.__name__})"
        lines[f"meanparity: {kind}: {' '.join(str(message).split())}"] = None

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            for category in _FOR_DEVELOPERS:
                warnings.simplefilter("ignore", category)
            warnings.showwarning = collect
            with Console(stderr=True).status("reading") as status:
                yield lambda message: status.update(message)
    finally:
        for line in lines:
            print(line, file=sys.stderr)


def show(text: str, data: Any, as_json: bool) -> None:
    """Print a result as text or as JSON."""
    typer.echo(json.dumps(data, indent=1, default=str, allow_nan=False) if as_json else text)


def check_can_write(*paths: Path | None, inputs: Iterable[Path | None] = ()) -> None:
    """Raise an error, before any work is done, if an output file cannot or must not be written."""
    taken = [path.resolve() for path in inputs if path is not None]
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise ValueError(f"{str(path)!r} is a folder. Name a file.")
        folder = path.parent
        if not folder.exists():
            raise ValueError(
                f"The folder {str(folder)!r} for {path.name} does not exist. Create it, or name "
                "another folder."
            )
        if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
            raise PermissionError(
                f"{str(path)!r} cannot be written: permission denied. Name another file."
            )
        if path.resolve() in taken:
            raise ValueError(
                f"{str(path)!r} is also the name of another input or output file. Name another "
                "file."
            )
        taken.append(path.resolve())
