"""The application: its commands, and how errors are reported."""

from __future__ import annotations

import inspect
import io
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

from meanparity import __version__
from meanparity.cli import OUT_OF_MEMORY, needs_install
from meanparity.cli._typer import TyperCommand, typer
from meanparity.cli.audit import audit
from meanparity.cli.compare import compare
from meanparity.cli.datasets import datasets
from meanparity.cli.fit import fit
from meanparity.cli.predict import predict
from meanparity.cli.words import in_commands

_LIBRARIES = 2**29  # addresses that imports and the fit to a small table take


def _threads() -> tuple[int, int]:
    """The most threads that libraries start, and those of the BLAS."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    asked = os.environ.get("OPENBLAS_NUM_THREADS", "")
    return count, min(int(asked), count) if asked.isdecimal() else count


class GroupedCommand(TyperCommand):
    """A command whose help lists the options in groups, as plain text."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command, if limits on addresses leave room for the libraries that it imports."""
        from meanparity.linalg.memory import THREAD, require_addresses

        require_addresses(_LIBRARIES + THREAD * sum(_threads()))
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options, group by group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                is_argument = parameter.param_type_name == "argument"
                usual = "Arguments" if is_argument else "Options"
                group = getattr(parameter, "rich_help_panel", None) or usual
                groups.setdefault(group, []).append(record)
        groups["Options"] = groups.pop("Options", [])  # the general ones come last
        for group, records in groups.items():
            if records:
                with formatter.section(group):
                    formatter.write_dl(records)


app = typer.Typer(
    name="meanparity",
    help="Regression with equal mean predictions in every sensitive group.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _help(command: Callable[..., Any]) -> str:
    """The docstring of a command, whose examples keep their lines."""
    text, _, examples = inspect.cleandoc(command.__doc__ or "").partition("Examples\n--------\n")
    return f"{text}\b\nExamples:\n{examples}" if examples else text


for command in (audit, fit, predict, compare, datasets):
    app.command(
        help=_help(command),
        cls=GroupedCommand,
        context_settings={"help_option_names": ["-h", "--help"]},
    )(command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"meanparity {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool,
        typer.Option("-V", "--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    pass


def run(application: typer.Typer = app, name: str = "meanparity") -> None:
    """Run an application. An error prints one line on stderr and exits with status 1."""
    debug = "--debug" in sys.argv
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # replace letters that a terminal cannot show
            stream.reconfigure(errors="replace")
    try:
        application(args=[argument for argument in sys.argv[1:] if argument != "--debug"])
    except Exception as error:
        if debug:
            raise
        print(f"{name}: {_one_line(error)}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        sys.exit(130)


def _one_line(error: BaseException) -> str:
    """The message of an error in one line; errors of the system name their file."""
    if needs_install(error):
        return needs_install(error)
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.strerror}: {error.filename}"
    message = in_commands(str(error))
    if isinstance(error, MemoryError):
        return message or OUT_OF_MEMORY
    if isinstance(error, ValueError | OSError | ImportError | RuntimeError):
        return message or type(error).__name__
    return f"{type(error).__name__}: {message} (run again with --debug to see where)"
