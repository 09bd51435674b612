"""The command line: ``meanparity <command>``."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say which package to install if one is missing."""
    try:
        from meanparity.cli.app import run
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("typer", "rich", "pandas"):
            raise
        sys.exit(
            f"meanparity: the command line needs {missing}, which is not installed. "
            "Run: pip install 'meanparity[cli]'"
        )
    except KeyboardInterrupt:
        sys.exit(130)
    run()
