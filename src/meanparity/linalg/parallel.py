"""A function of blocks of rows on all cores, with the results in order.

The number of threads of a BLAS belongs to the whole process, and results depend on it in their last
digits. So fits that run at the same time agree on it: blocks are worked on while the BLAS has one
thread (`one_thread`), everything else while it has the threads that the user gave it
(`all_threads`), and never both at once.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import chain, islice
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from meanparity.linalg.memory import (
    ADDRESS_LIMITS,
    UNLIMITED,
    has_room_for_threads,
    require_addresses,
)

Block = TypeVar("Block")
Result = TypeVar("Result")

_ALL, _ONE = "all threads", "one thread"


@cache
def _libraries() -> ThreadpoolController:
    """The libraries with threads, those of NumPy and SciPy among them."""
    return ThreadpoolController()


class _Agreement:
    """How many threads of Python work with all threads of the BLAS, and how many with one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = {_ALL: 0, _ONE: 0}
        self._waiting = 0  # for one thread
        self._closing = False  # whether the limit waits to be lifted
        self._limit: Any = None
        self._owner = 0  # the thread of Python that set the limit, and has to lift it
        self.of_thread = threading.local()  # its `kind` is what this thread of Python works with

    def enter(self, kind: str) -> None:
        """Wait until nobody works with the other kind, and then work with this one."""
        with self._changed:
            if kind == _ONE:
                self._waiting += 1
                try:
                    self._changed.wait_for(lambda: not (self._inside[_ALL] or self._closing))
                finally:
                    self._waiting -= 1
                    self._changed.notify_all()
                if not self._inside[_ONE]:
                    self._limit = _libraries().limit(limits=1, user_api="blas")
                    self._limit.__enter__()
                    self._owner = threading.get_ident()
            else:  # those who wait for one thread come first, so that neither waits for ever
                self._changed.wait_for(lambda: not (self._inside[_ONE] or self._waiting))
            self._inside[kind] += 1
        self.of_thread.kind = kind

    def leave(self, kind: str) -> None:
        """Stop working with this kind; who set the limit waits for the others, and lifts it."""
        self.of_thread.kind = None
        with self._changed:
            try:
                if kind == _ONE and self._owner == threading.get_ident():
                    self._closing = True
                    self._changed.wait_for(lambda: self._inside[_ONE] == 1)
            finally:
                if self._closing and self._owner == threading.get_ident():
                    self._closing, self._owner = False, 0
                    self.lift()
                self._inside[kind] -= 1
                self._changed.notify_all()

    def lift(self) -> None:
        """Give the BLAS the threads back that it had."""
        limit, self._limit = self._limit, None
        if limit is not None:
            limit.__exit__(None, None, None)

    @property
    def kind(self) -> str | None:
        """How this Python thread uses the BLAS; None outside all agreements."""
        return getattr(self.of_thread, "kind", None)


_AGREEMENT = _Agreement()


def _start_anew() -> None:
    """In a new process, which has one thread: none of the others is inside any more."""
    global _AGREEMENT
    earlier, _AGREEMENT = _AGREEMENT, _Agreement()
    earlier.lift()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


@contextmanager
def all_threads() -> Iterator[None]:
    """Work with all threads of the BLAS, while no other thread of Python limits them.

    Do not wait inside for other threads of Python that fit models.
    """
    agreement = _AGREEMENT
    if agreement.kind is not None:  # inside a fit, or inside blocks
        yield
        return
    if any(limit()[0] != UNLIMITED for limit in ADDRESS_LIMITS.values()):
        require_addresses()
    agreement.enter(_ALL)
    try:
        yield
    finally:
        agreement.leave(_ALL)


@contextmanager
def one_thread() -> Iterator[None]:
    """Work with one thread of the BLAS, while no other thread of Python works with all."""
    agreement = _AGREEMENT
    before = agreement.kind
    if before == _ONE:
        yield
        return
    if before is not None:
        agreement.leave(before)
    try:
        agreement.enter(_ONE)
        try:
            yield
        finally:
            agreement.leave(_ONE)
    finally:
        if before is not None:
            agreement.enter(before)


def ordered_map(function: Callable[[Block], Result], blocks: Iterable[Block]) -> Iterator[Result]:
    """The results of a function that releases the interpreter lock, block by block, in order.

    Each core works on one block, in which the BLAS has one thread; no more blocks are read than
    there are cores to work on them. A single block is given all threads of the BLAS, and so are
    blocks one by one where a limit on addresses (``ulimit -v``) leaves no room for more threads.

    Examples
    --------
    >>> list(ordered_map(lambda n: n * n, [1, 2, 3]))
    [1, 4, 9]
    """
    source = iter(blocks)
    first = list(islice(source, 2))
    source = chain(first, source)
    on_linux = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if on_linux else os.cpu_count() or 1
    if len(first) < 2 or cores == 1 or not has_room_for_threads(cores):
        yield from map(function, source)
        return
    with one_thread(), ThreadPoolExecutor(cores, initializer=_is_inside) as pool:
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


def _is_inside() -> None:
    """Give a worker thread the mode of the thread that waits for it."""
    _AGREEMENT.of_thread.kind = _ONE
    _libraries().limit(limits=1, user_api="blas")  # some libraries have a limit for each thread
