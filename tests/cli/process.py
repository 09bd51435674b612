"""The command line in a process of its own."""

from __future__ import annotations

import subprocess
import sys


def call(*arguments, blocked="", **more):
    """Exit status, output and errors of a command; the module `blocked` cannot be imported."""
    block = f"import sys; sys.modules[{blocked!r}] = None; " if blocked else ""
    code = f"{block}from meanparity.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **more,
    )
    return done.returncode, done.stdout, done.stderr
