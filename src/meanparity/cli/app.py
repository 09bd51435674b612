"""The application: its commands, and what happens when one fails."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from meanparity.cli.reproduce import reproduce

app = typer.Typer(
    name="meanparity",
    help="Regression with equal mean predictions in every sensitive group.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command()(reproduce)


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
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    pass


def run() -> None:
    """Run the command line; an error is one line on stderr and status 1, unless --debug."""
    try:
        app()
    except (ValueError, OSError, ImportError, RuntimeError) as error:
        if "--debug" in sys.argv:
            raise
        lines = " ".join(str(error).split())
        print(f"meanparity: {lines}", file=sys.stderr)
        sys.exit(1)
