"""A function of blocks of rows on all cores, with the results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

from threadpoolctl import threadpool_limits

Block = TypeVar("Block")
Result = TypeVar("Result")


def ordered_map(function: Callable[[Block], Result], blocks: Iterable[Block]) -> Iterator[Result]:
    """The results of a function that releases the interpreter lock, block by block, in order.

    Each core works on one block, in which the BLAS has one thread; no more blocks are read than
    there are cores to work on them. A single block is given all threads of the BLAS.

    Examples
    --------
    >>> list(ordered_map(lambda n: n * n, [1, 2, 3]))
    [1, 4, 9]
    """
    source = iter(blocks)
    first = list(islice(source, 2))
    source = chain(first, source)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if len(first) < 2 or cores == 1:
        yield from map(function, source)
        return
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(cores) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for block in source:
                if len(waiting) > (cores or 1):
                    yield waiting.popleft().result()
                waiting.append(pool.submit(function, block))
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
