"""The library of the command line, or what to install if it is missing."""

from __future__ import annotations

from meanparity.cli import needs_install

try:
    import typer
    from typer.core import TyperCommand
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(needs_install(error) or str(error), name=error.name) from error

__all__ = ["TyperCommand", "typer"]
