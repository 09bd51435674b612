"""``python -m reproduction``, from the root of a clone."""

from __future__ import annotations

import sys
from importlib.util import find_spec

_LIBRARIES = ("jinja2", "joblib", "matplotlib", "pandas", "rich", "typer")


def main() -> None:
    """Run the command, or name the libraries that have to be installed first."""
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        sys.exit(
            f"reproduction: {', '.join(missing)} {are} not installed. Run `make reproduce`, which "
            "installs everything, or: pip install --editable '.[cli,datasets,plot]'"
        )
    from reproduction.cli import main as run

    run()


if __name__ == "__main__":
    main()
