"""Reports that show nothing about fewer people than a stated number.

Groups that are too small are merged with other small groups of their stratum, so that nobody can
find out about a group by subtraction. Bars and shares of fewer people are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meanparity._typing import FloatArray, IntArray

MERGED = "merged groups"


def check_min_cell(min_cell: Any) -> int:
    """The smallest number of people in a cell of a report."""
    is_whole = isinstance(min_cell, int | np.integer) and not isinstance(min_cell, bool)
    if not is_whole or min_cell < 1:
        raise ValueError(f"min_cell={min_cell!r} is not a number of people. Pass 1 or more.")
    return int(min_cell)


def merge_groups(
    codes: IntArray, stratum_of: IntArray, min_cell: int
) -> tuple[IntArray, IntArray, list[int]]:
    """Merge groups of fewer rows, stratum by stratum.

    Parameters
    ----------
    codes : (n,) array
        Group of each row, −1 for none.
    stratum_of : (k,) array
        Stratum of each group.
    min_cell : int
        Number of rows that a group has at least.

    Returns
    -------
    codes : (n,) array
        The new group of each row; −1 in strata of fewer rows.
    stratum_of : (j,) array
        The stratum of each new group.
    origin : list of int
        The group that each new one is, −1 for merged ones.

    Examples
    --------
    >>> codes = np.repeat([0, 1, 2, 3], [9, 2, 3, 8])
    >>> merged, _, origin = merge_groups(codes, np.zeros(4, dtype=int), 5)
    >>> np.bincount(merged).tolist(), origin
    ([9, 8, 5], [0, 3, -1])
    """
    counts = np.bincount(codes[codes >= 0], minlength=len(stratum_of))
    new, strata, origin = np.full(len(stratum_of) + 1, -1), list[int](), list[int]()
    for stratum in np.unique(stratum_of):
        groups = np.flatnonzero(stratum_of == stratum)
        groups = groups[np.argsort(counts[groups], kind="stable")]
        n_merged = int(np.sum(counts[groups] < min_cell))
        while n_merged and n_merged < len(groups) and counts[groups[:n_merged]].sum() < min_cell:
            n_merged += 1
        for group in np.sort(groups[n_merged:]):
            new[group] = len(origin)
            origin.append(int(group))
            strata.append(int(stratum))
        if n_merged and counts[groups[:n_merged]].sum() >= min_cell:
            new[groups[:n_merged]] = len(origin)
            origin.append(-1)
            strata.append(int(stratum))
    return new[codes], np.array(strata, dtype=np.intp), origin


def hide_bars(found: IntArray, min_cell: int) -> IntArray:
    """Numbers of rows in bars, without those of bars that have fewer."""
    return np.where(found >= min_cell, found, 0)


def inner_range(ends: FloatArray, min_cell: int) -> tuple[float, float]:
    """The range of n predictions by several models, (n, c), beyond which few lie."""
    at = min(min_cell, len(ends)) - 1
    ordered = np.sort(ends, axis=0)
    return float(ordered[at].min()), float(ordered[len(ends) - 1 - at].max())


def hide_shares(
    change: dict[str, float], changes: FloatArray, min_cell: int
) -> dict[str, float | None]:
    """Shares of a group, and quantiles, without those that are about fewer people."""
    n, found = len(changes), dict[str, float | None](change)
    if min_cell > 1 and 0.1 * n < min_cell:
        found |= {"low": None, "high": None}
    for name in ("up", "down"):
        count = round(change[name] * n)
        if 0 < count < min_cell or 0 < n - count < min_cell:
            found[name] = None
    return found
