"""Import every public module of the installed package, as a core installation has to.

A module that needs more either is imported without it, or raises an `ImportError` that names what
to install. Prints one line for each module, and exits with 1 if any of them fails otherwise.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import meanparity


def public_modules() -> list[str]:
    """Names of all modules whose names do not start with an underscore."""
    found = pkgutil.walk_packages(meanparity.__path__, "meanparity.", onerror=lambda name: None)
    names = ["meanparity", *(module.name for module in found)]
    return [name for name in names if not any(part.startswith("_") for part in name.split("."))]


def main() -> int:
    """Import them all."""
    wrong = 0
    for name in public_modules():
        try:
            module = importlib.import_module(name)
            for public in getattr(module, "__all__", ()):
                getattr(module, public)
            print(f"{name}: imported")
        except ImportError as error:
            helpful = "pip install" in str(error)
            wrong += not helpful
            print(f"{name}: {'' if helpful else 'WRONG: '}{error}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
