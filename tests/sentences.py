"""Sentences compared by the numbers that they hold, so that their words may change."""

from __future__ import annotations

import re


def numbers(sentence: str) -> list[str]:
    """The numbers of a sentence as they are written, sorted.

    Examples
    --------
    >>> numbers("On 1,200 rows the gap is -0.5 (95% interval -1e-05 to 2).")
    ['-0.5', '-1e-05', '1,200', '2', '95%']
    """
    return sorted(re.findall(r"-?\d(?:[\d,]*\d)?(?:\.\d+)?(?:e[+-]?\d+)?%?", sentence))
