"""The command line: ``meanparity <command>``."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

__all__ = ["main"]
OUT_OF_MEMORY = "there is not enough memory. Free some, or raise the limit (ulimit -v)."
_LIBRARIES = ("typer", "rich", "pandas", "pyarrow", "skrub", "skops", "jinja2")


def main() -> None:
    """Run the command line, or say which package to install if one is missing."""
    # NumPy and SciPy each bring a BLAS with threads of its own. Idle threads of the one keep cores
    # from the other for 2²⁶ cycles each time, unless this says 2¹⁶; it is read on import.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")
    sys.unraisablehook = interrupt_again
    try:
        from meanparity.cli.app import run
    except ModuleNotFoundError as error:
        if not needs_install(error):
            raise
        sys.exit(f"meanparity: {needs_install(error)}")
    except MemoryError:
        sys.exit(f"meanparity: {OUT_OF_MEMORY}")
    except KeyboardInterrupt:
        sys.exit(130)
    run()


def interrupt_again(dropped: UnraisableHookArgs) -> None:
    """Raise Ctrl-C again if it arrived in a callback, from which nothing can be raised.

    Python prints such an exception and goes on. While modules are imported, such callbacks are
    frequent.
    """
    if dropped.exc_type is KeyboardInterrupt:
        threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(dropped)


def needs_install(error: BaseException) -> str:
    """What to install if an error is about a missing library of the command line, or nothing."""
    missing = (getattr(error, "name", None) or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or missing not in _LIBRARIES:
        return ""
    return (
        f"the command line needs {missing}, which is not installed. "
        "Run: pip install 'meanparity[cli]'"
    )
