"""Options, progress and output that several commands share."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from meanparity.cli._typer import typer
from meanparity.cli.configuration import read_configuration
from meanparity.cli.words import in_commands
from meanparity.exceptions import ParityWarning, SmallGroupsWarning

if TYPE_CHECKING:
    from meanparity.data.delimited import Layout

# Python hides these by default, because they are meant for the developers of a library
_FOR_DEVELOPERS = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)


MissingCells = StrEnum("MissingCells", ["error", "ignore", "group"])
Setting = StrEnum("Setting", ["linear", "kernel"])
ModelKind = StrEnum("ModelKind", ["auto", "linear", "kernel"])
Budget = StrEnum("Budget", ["gap", "smd", "norm"])
Loss = StrEnum("Loss", ["auto", "squared", "logistic", "poisson", "gamma"])


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
    return typer.Option(
        "-o",
        "--output",
        help=help_text,
        callback=_check_table_format,
        metavar="FILE",
        rich_help_panel=OUTPUT,
    )


def file_of_kind(option: str, *endings: str, what: str, help_text: str, short: str = "") -> Any:
    """The option for a file whose name has to end in a certain way."""

    def check(path: Path | None) -> Path | None:
        if path is not None and not path.is_dir() and path.suffix.lower() not in endings:
            raise ValueError(
                f"{option} {path.name} is not the name of {what}. Name a file that ends with "
                f"{' or '.join(endings)}."
            )
        return path

    names = (short, option) if short else (option,)
    return typer.Option(
        *names, help=help_text, callback=check, metavar="FILE", rich_help_panel=OUTPUT
    )


def _check_table_format(path: Path | None) -> Path | None:
    from meanparity.tables.reading import file_format

    if path is not None and path != STANDARD:
        file_format(path)
    return path


STANDARD = Path("-")
COLUMNS, READING, OUTPUT = "Columns", "Text files", "Output"
ROWS, MODEL = "Rows", "Model and constraint"
_DELIMITERS = {"tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " ", "\\t": "\t"}
_DECIMALS = {"comma": ",", "point": "."}

Data = Annotated[
    Path,
    typer.Argument(
        help="CSV, TSV, TXT (all also with .gz), Parquet, Feather or XLSX file; - reads standard "
        "input.",
        metavar="DATA",
        show_default=False,
    ),
]
Target = Annotated[
    str, typer.Option(help="Numeric outcome column.", metavar="COLUMN", rich_help_panel=COLUMNS)
]
Sensitive = Annotated[
    list[str],
    typer.Option(
        help="Sensitive columns, separated by commas. Can be repeated.",
        callback=_require_names,
        metavar="COLUMNS",
        rich_help_panel=COLUMNS,
    ),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option(
        help="Sensitive columns to treat as numbers, such as age: predictions have zero covariance "
        "with them, and they have no groups. By default, columns of numbers with more than 20 "
        "different values.",
        callback=split_names,
        metavar="COLUMNS",
        rich_help_panel=COLUMNS,
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        help="Sensitive columns of which every value is a group, although there are many numbers.",
        callback=split_names,
        metavar="COLUMNS",
        rich_help_panel=COLUMNS,
    ),
]
Control = Annotated[
    list[str] | None,
    typer.Option(
        help="Control columns: compare groups within each combination of their values.",
        callback=split_names,
        metavar="COLUMNS",
        rich_help_panel=COLUMNS,
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(help="Column of row weights.", metavar="COLUMN", rich_help_panel=COLUMNS),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns to leave out, such as identifiers.",
        callback=split_names,
        metavar="COLUMNS",
        rich_help_panel=COLUMNS,
    ),
]
Exclude = Annotated[
    bool,
    typer.Option(
        "--exclude-sensitive",
        help="Do not use the sensitive columns as features.",
        rich_help_panel=COLUMNS,
    ),
]
Missing = Annotated[
    MissingCells,
    typer.Option(
        help="What to do with empty sensitive and control cells: raise an error, leave these rows "
        "out of the comparison, or treat empty cells as a group.",
        rich_help_panel=ROWS,
    ),
]
Model = Annotated[
    ModelKind,
    typer.Option(
        help="Kind of model. 'auto' selects the smaller error on left-out rows.",
        rich_help_panel=MODEL,
    ),
]
TestSize = Annotated[
    float,
    typer.Option(help="Share of the rows to hold out.", metavar="SHARE", rich_help_panel=ROWS),
]
Seed = Annotated[int, typer.Option(help="Random seed.", metavar="NUMBER", rich_help_panel=ROWS)]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="Character between the fields of a text file, or one of the words tab, comma, "
        "semicolon, pipe, space. By default it is found from the first rows.",
        metavar="CHARACTER",
        rich_help_panel=READING,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        help="Decimal mark of a text file, point or comma. By default it is found from the first "
        "rows.",
        metavar="MARK",
        rich_help_panel=READING,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="Encoding of a text file, such as utf-8 or cp1252. By default UTF-8 or UTF-16, and "
        "cp1252 with a note if the file is neither.",
        metavar="NAME",
        rich_help_panel=READING,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print JSON instead of text.", rich_help_panel=OUTPUT)
]
Quiet = Annotated[
    bool,
    typer.Option(
        "-q",
        "--quiet",
        help="Show no progress, notes and warnings.",
        rich_help_panel=OUTPUT,
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        help='TOML file with options, such as: target = "salary". Options of the command line '
        "come first.",
        is_eager=True,
        callback=read_configuration,
        metavar="FILE",
    ),
]


def layout(delimiter: str | None, decimal: str | None, encoding: str | None) -> Layout:
    """The layout of text files, as far as the options give it."""
    from meanparity.data.delimited import Layout

    return Layout(
        None if delimiter is None else _DELIMITERS.get(delimiter.lower(), delimiter),
        None if decimal is None else _DECIMALS.get(decimal.lower(), decimal),
        encoding,
    )


_MAGIC = {
    b"PAR1": ".parquet",
    b"ARROW1": ".feather",
    b"PK\x03\x04": ".xlsx",
    b"\x1f\x8b": ".csv.gz",
}


@contextmanager
def local_file(path: Path) -> Iterator[Path]:
    """The file itself, or one with the content of standard input if its name is ``-``."""
    if path != STANDARD:
        yield path
        return
    if sys.stdin is None or sys.stdin.isatty():
        raise ValueError("Nothing is piped to standard input. Name a file instead of -.")
    with tempfile.TemporaryDirectory() as folder:
        content = Path(folder) / "stdin"
        with content.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        with content.open("rb") as file:
            start = file.read(8)
        ending = next((end for mark, end in _MAGIC.items() if start.startswith(mark)), ".csv")
        yield content.rename(content.with_name(f"stdin{ending}"))


@contextmanager
def written_file(path: Path) -> Iterator[Path]:
    """The file itself, or one whose content goes to standard output if its name is ``-``."""
    if path != STANDARD:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        content = Path(folder) / "stdout.csv"
        yield content
        sys.stdout.flush()
        with content.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def check_standard_output(output: Path | None, as_json: bool) -> None:
    """Refuse a table and JSON on the same stream."""
    if output == STANDARD and as_json:
        raise ValueError("-o - and --json both print to standard output. Pass one of them.")


@contextmanager
def working(
    command: Callable[..., None], quiet: bool = False, *, brief: bool = False
) -> Iterator[Callable[[str], None]]:
    """Show progress on a terminal, and print each warning once on stderr.

    Yields a function that changes the progress message. With `quiet`, nothing of this is shown.
    With `brief`, warnings about small groups only say how many there are. Advice about options that
    the command does not have is left out.
    """
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    lines: dict[str, None] = {}
    known = {f"--{name.replace('_', '-')}" for name in command.__annotations__}

    def collect(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        kind = "note" if issubclass(category, ParityWarning) else f"warning ({category.__name__})"
        text = message.brief if brief and isinstance(message, SmallGroupsWarning) else str(message)
        lines[f"meanparity: {kind}: {in_commands(text, known)}"] = None

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            for category in _FOR_DEVELOPERS:
                warnings.simplefilter("ignore", category)
            warnings.showwarning = collect
            console = Console(stderr=True, quiet=quiet)
            if not console.is_terminal:  # where rich before 13.8 prints an empty line
                yield lambda message: None
                return
            what = TextColumn("{task.description}", markup=False)
            columns = SpinnerColumn(), what, TimeElapsedColumn()
            with Progress(*columns, console=console, transient=True) as shown:
                task = shown.add_task("reading", total=None)
                yield lambda message: shown.update(task, description=message, refresh=True)
    finally:
        for line in {} if quiet else lines:
            print(line, file=sys.stderr)


def show(text: str, data: Any, as_json: bool, *, to_stderr: bool = False) -> None:
    """Print a result as JSON, or as text whose lines a terminal breaks between words."""
    text = json.dumps(data, indent=1, default=str, allow_nan=False) if as_json else text
    stream = sys.stderr if to_stderr else sys.stdout
    if not as_json and stream.isatty():
        width = shutil.get_terminal_size().columns
        text = "\n".join(
            "\n".join(textwrap.wrap(line, width, break_on_hyphens=False, break_long_words=False))
            if len(line) > width
            else line
            for line in text.split("\n")
        )
    typer.echo(text, err=to_stderr)


def check_can_write(*paths: Path | None, inputs: Iterable[Path | None] = ()) -> None:
    """Raise an error, before any work is done, if an output file cannot or must not be written."""
    taken = [path.resolve() for path in inputs if path not in (None, STANDARD)]
    for path in paths:
        if path is None or path == STANDARD:
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
