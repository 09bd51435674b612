"""Feature columns that only tell rows apart, such as row numbers and identifiers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

import numpy as np
import pandas as pd

from meanparity.exceptions import warn

_FEWEST = 20  # rows that tell whether a column is an identifier
_NEARLY = 0.95  # share of different values
_CHANCE = 9.0  # expected pairs of equal numbers, of which chance leaves none once in 8,000 times
_YEARS = (1800, 2100)
_MOST_WORDS = 3  # longer texts are notes, and not names
_DATE = r"\d{1,4}[-/. ]+\w{1,9}[-/., ]+\d{1,4}"
_NAMED = re.compile(r"(?i:(^|[\W_])(id|uuid|guid|key|index|rownames)$)|[a-z](Id|ID)$")


def warn_about_identifiers(rows: pd.DataFrame, kinds: Mapping[str, str]) -> None:
    """Say which features have another value in nearly every row, as identifiers have.

    Parameters
    ----------
    rows : data frame
        The features.
    kinds : mapping of str to str
        Kind of each column, as returned by `column_kinds`.
    """
    found = [c for c, kind in kinds.items() if kind != "date" and is_identifier(rows[c])]
    if found:
        names, one = ", ".join(map(repr, found)), len(found) == 1
        every = "every" if all(rows[c].is_unique for c in found) else "nearly every"
        warn(
            f"The column{'s'[one:]} {names} {'has' if one else 'have'} a different value in "
            f"{every} row, as row numbers and identifiers have, and "
            f"{'is a feature' if one else 'are features'} of the model. "
            f"If {'it only tells' if one else 'they only tell'} rows apart, pass --ignore "
            f"{shlex.quote(','.join(found))} (ignored={found!r} of Roles in Python)."
        )


def is_identifier(column: pd.Series) -> bool:
    """Whether numbers or texts tell rows apart, and measure nothing.

    Amounts may all be different as well, so whole numbers count only if the column is named like an
    identifier, or if they lie so close together that chance would have made some of them equal.

    Examples
    --------
    >>> is_identifier(pd.Series(range(1, 51))), is_identifier(pd.Series(range(0, 50_000, 1_000)))
    (True, False)
    """
    values = column.dropna()
    if len(values) < _FEWEST or values.nunique() < _NEARLY * len(values):
        return False
    if values.dtype.kind not in "biuf":
        texts = values.astype(str)
        short = texts.str.split().str.len().mean() <= _MOST_WORDS
        return bool(short and texts.str.match(_DATE).mean() < 1 / 2)
    numbers = values.to_numpy(dtype=float)
    if (numbers % 1).any() or (numbers.min() >= _YEARS[0] and numbers.max() <= _YEARS[1]):
        return False
    if _NAMED.search(str(column.name)):
        return True
    n = len(numbers)
    expected = n * (n - 1) / 2 / (np.ptp(numbers) + 1)  # of equally likely numbers, and the fewest
    return bool(expected >= _CHANCE and n - values.nunique() <= expected / 10)
