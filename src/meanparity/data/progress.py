"""Progress of long passes over rows, shown on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

_INTERVAL = 0.5  # seconds between updates


def with_progress(
    items: Iterable[tuple[int, Item]], total: int | None, what: str
) -> Iterator[Item]:
    """Yield the items of (number of rows, item) pairs; a terminal shows how many rows are done.

    Examples
    --------
    >>> list(with_progress([(3, "a"), (2, "b")], 5, "rows"))
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
            if now - last >= _INTERVAL:
                last = now
                stream.write("\r" + progress_line(done, total, now - start, what) + "\033[K")
                stream.flush()
    finally:
        stream.write("\r\033[K")
        stream.flush()


def progress_line(done: int, total: int | None, seconds: float, what: str) -> str:
    """The progress line.

    Examples
    --------
    >>> progress_line(250, 1000, 2.0, "rows")
    '250 of 1,000 rows, about 6 s left'
    >>> progress_line(250, None, 2.0, "rows")
    '250 rows in 2 s'
    """
    if not total or not done:
        return f"{done:,} {what} in {seconds:.0f} s"
    left = seconds * (total - done) / done
    return f"{done:,} of {total:,} {what}, about {max(left, 0.0):.0f} s left"
