"""Exceptions and warnings of the package."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_PACKAGE = str(Path(__file__).parent)


class ParityWarning(UserWarning):
    """A fit needs attention: for example, a gap is left, or all predictions are equal.

    See Also
    --------
    MeanParity : ``min_group_size`` says which groups are called small.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always", ParityWarning)
    ...     warnings.warn("1 group of fewer than 10 rows", ParityWarning)
    >>> told[0].category.__name__
    'ParityWarning'
    """


class SmallGroupsWarning(ParityWarning):
    """A warning about groups of few people, with their names and sizes.

    Parameters
    ----------
    message : str
        The warning.
    brief : str, optional
        The same without anything about single groups; tools that emit a warning again from its
        text do not know it.
    """

    def __init__(self, message: str, brief: str = "Some groups have few rows.") -> None:
        super().__init__(message)
        self.brief = brief


class DataUnavailableError(OSError):
    """A data file that is not bundled was not found."""


def did_you_mean(name: object, names: Iterable[object], cutoff: float = 0.6) -> str:
    """A hint at the known name that is most similar to an unknown one, or an empty string.

    Examples
    --------
    >>> did_you_mean("slary", ["salary", "grade"])
    " Did you mean 'salary'?"
    """
    import difflib  # slow to import, and seldom needed

    near = difflib.get_close_matches(str(name), [str(known) for known in names], 1, cutoff)
    return f" Did you mean {near[0]!r}?" if near else ""


def warn(message: str | Warning, category: type[Warning] = ParityWarning) -> None:
    """Emit a warning that points at the line which called the package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def import_pandas() -> Any:
    """The pandas module, or raise an error that says how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("A data frame needs pandas. Run: pip install pandas") from error
    return pandas


class StagnationError(ArithmeticError):
    """An iteration stopped making progress."""
