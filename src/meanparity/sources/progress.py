"""Progress of long passes over rows, for a person who waits."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

_EVERY = 0.5  # seconds


def shown(items: Iterable[tuple[int, Item]], total: int | None, what: str) -> Iterator[Item]:
    """Items, each of so many rows, one by one; a terminal shows how many rows are done.

    Examples
    --------
    >>> list(shown([(3, "a"), (2, "b")], 5, "rows"))
    ['a', 'b']
    """
    stream = sys.stderr
    if not stream.isatty():
        yield from (item for _, item in items)
        return
    start = last = time.monotonic()
    done = 0
    try:
        for count, item in items:
            yield item
            done, now = done + count, time.monotonic()
            if now - last >= _EVERY:
                last = now
                stream.write("\r" + line(done, total, now - start, what) + "\033[K")
                stream.flush()
    finally:
        stream.write("\r\033[K")
        stream.flush()


def line(done: int, total: int | None, seconds: float, what: str) -> str:
    """What a terminal shows.

    Examples
    --------
    >>> line(250, 1000, 2.0, "rows")
    '250 of 1,000 rows, about 6 s left'
    >>> line(250, None, 2.0, "rows")
    '250 rows in 2 s'
    """
    if not total or not done:
        return f"{done:,} {what} in {seconds:.0f} s"
    left = seconds * (total - done) / done
    return f"{done:,} of {total:,} {what}, about {max(left, 0.0):.0f} s left"
