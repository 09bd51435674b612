"""A function of blocks of rows on all cores, with the results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from itertools import chain, islice
from typing import TypeVar

from threadpoolctl import threadpool_limits

Block = TypeVar("Block")
Result = TypeVar("Result")


def count_cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def ordered_map(
    function: Callable[[Block], Result], blocks: Iterable[Block], *, narrow: bool = False
) -> Iterator[Result]:
    """The results of a function that releases the interpreter lock, block by block, in order.

    Each core works on one block, in which the BLAS has one thread; no more blocks are read than
    there are cores to work on them. A single block is given all threads of the BLAS. With `narrow`,
    products are so small that the BLAS uses one thread anyway, and it is not told to.

    Examples
    --------
    >>> list(ordered_map(lambda n: n * n, [1, 2, 3]))
    [1, 4, 9]
    """
    source = iter(blocks)
    first = list(islice(source, 2))
    source = chain(first, source)
    cores = count_cores()
    if len(first) < 2 or cores == 1:
        yield from map(function, source)
        return
    limits = nullcontext() if narrow else threadpool_limits(1, "blas")
    with limits, ThreadPoolExecutor(cores) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for block in source:
                if len(waiting) > cores:
                    yield waiting.popleft().result()
                waiting.append(pool.submit(function, block))
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
