"""The library that draws, or what to install if it is missing."""

from __future__ import annotations

from typing import Any


def pyplot() -> Any:
    """matplotlib.pyplot."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        message = "Displays need matplotlib. Run: pip install 'meanparity[plot]'"
        raise ImportError(message) from error
    return plt
