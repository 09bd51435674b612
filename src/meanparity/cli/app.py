"""The application: its commands, and what happens when one fails."""

from __future__ import annotations

import io
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from meanparity.cli.audit import audit
from meanparity.cli.compare import compare
from meanparity.cli.datasets import datasets
from meanparity.cli.fit import fit
from meanparity.cli.predict import predict
from meanparity.cli.reproduce import reproduce

app = typer.Typer(
    name="meanparity",
    help="Regression with equal mean predictions in every sensitive group.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
for command in (audit, fit, predict, compare, reproduce, datasets):
    app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"meanparity {version('meanparity')}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; anywhere.")
    ] = False,
) -> None:
    pass


def run() -> None:
    """Run the command line; an error is one line on stderr and status 1, unless --debug."""
    debug = "--debug" in sys.argv
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Greek letters shows a ?
            stream.reconfigure(errors="replace")
    try:
        app(args=[argument for argument in sys.argv[1:] if argument != "--debug"])
    except Exception as error:
        if debug:
            raise
        print(f"meanparity: {_one_line(error)}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("meanparity: stopped", file=sys.stderr)
        sys.exit(130)


def _one_line(error: BaseException) -> str:
    """What an error says, in one line; of the system, with the file that it is about."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.strerror}: {error.filename}"
    words = " ".join(str(error).split())
    if isinstance(error, ValueError | OSError | ImportError | RuntimeError):
        return words or type(error).__name__
    return f"{type(error).__name__}: {words} (--debug shows where)"
