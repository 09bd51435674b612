"""Free memory, and errors before an allocation that would not fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath

import psutil

SMALL = 2**24  # bytes that always fit: 16 MiB

# What threads take of a limit on addresses (ulimit -v), although they hardly use it. NumPy and
# SciPy each have an OpenBLAS, which takes a buffer of 32 MiB for each thread that calls it; where
# it cannot, it aborts the process, or retries forever.
_BUFFERS = 2**26
THREAD = 5 * 2**24  # a stack of 8 MiB, an arena of 64, and some room
_RESERVE = 2**28  # left to everything that is not asked for

# Limits on addresses, by the name of what psutil says is taken of each
ADDRESS_LIMITS: dict[str, Callable[[], tuple[int, int]]] = {}
UNLIMITED = -1
try:
    import resource
except ImportError:  # Windows
    pass
else:
    UNLIMITED = resource.RLIM_INFINITY
    ADDRESS_LIMITS["vms"] = partial(resource.getrlimit, resource.RLIMIT_AS)
    ADDRESS_LIMITS["data"] = partial(resource.getrlimit, resource.RLIMIT_DATA)

_PROCESS = Path("/proc/self")
# Usage and limits of a control group, by the type of its file system: version 2 and version 1.
# Above memory.max processes are ended; above memory.high they nearly stand still. Swap is left out.
_CGROUP_FILES = {
    "cgroup2": ("memory.current", "memory.max", "memory.high"),
    "cgroup": ("memory.usage_in_bytes", "memory.limit_in_bytes"),
}


def available_bytes() -> int:
    """Bytes that can be allocated now, as the machine and all limits on the process allow.

    The limits are those of the control groups (of containers and batch schedulers) around the
    process, from its own to the outermost, and ``ulimit -v`` and ``ulimit -d``.
    """
    free = [psutil.virtual_memory().available, free_addresses() - _RESERVE]
    free += [_free_in(folder, *files) for folder, files in _cgroups()]
    return max(int(min(free)), 0)


def _cgroups() -> Iterator[tuple[Path, tuple[str, ...]]]:
    """The folders of the control groups that limit the memory of the process, and their files.

    A process is in one group of each hierarchy, and every group above it counts as well.
    """
    try:
        groups = (_PROCESS / "cgroup").read_text().splitlines()
        mounts = (_PROCESS / "mountinfo").read_text().splitlines()
    except OSError:  # not Linux
        return
    own = {}
    for line in groups:  # such as 4:memory:/job/step, or 0::/job/step
        _, controllers, path = line.split(":", 2)
        if not controllers or "memory" in controllers.split(","):
            own["cgroup" if controllers else "cgroup2"] = PurePosixPath(path)
    for line in mounts:
        first, _, last = line.partition(" - ")
        root, folder = (_unescaped(part) for part in first.split()[3:5])
        kind, _, options = last.split(" ", 2)
        is_memory = kind == "cgroup2" or (kind == "cgroup" and "memory" in options.split(","))
        if not is_memory or kind not in own:
            continue
        inside = PurePosixPath()  # of what is mounted; a container may not see where that is
        if own[kind].is_relative_to(root) and ".." not in own[kind].parts:
            inside = own[kind].relative_to(root)
        for part in (inside, *inside.parents):
            yield Path(folder, part), _CGROUP_FILES[kind]


def _unescaped(path: str) -> str:
    """A path of mountinfo, in which blanks are written as three digits."""
    return path.encode("latin-1", "backslashreplace").decode("unicode_escape")


def _free_in(folder: Path, usage_file: str, *limit_files: str) -> float:
    """Bytes that a control group may still take."""
    try:
        usage = int((folder / usage_file).read_text())
        statistics = (folder / "memory.stat").read_text().split()
    except OSError:
        return math.inf
    # cached files count as used, although their pages can be dropped
    cached = dict(zip(statistics[::2], statistics[1::2], strict=False))
    inactive = int(cached.get("total_inactive_file", cached.get("inactive_file", 0)))
    limits = (folder / name for name in limit_files)
    texts = [limit.read_text().strip() for limit in limits if limit.exists()]
    return min((int(text) for text in texts if text != "max"), default=math.inf) - usage + inactive


def free_addresses() -> float:
    """Bytes that limits on the addresses of the process (``ulimit -v``, ``ulimit -d``) leave."""
    limits = {taken: limit()[0] for taken, limit in ADDRESS_LIMITS.items()}
    limits = {taken: limit for taken, limit in limits.items() if limit != UNLIMITED}
    if not limits:  # so that a fit in a fraction of a millisecond need not ask what is used
        return math.inf
    used = psutil.Process().memory_info()
    return max(min(limit - getattr(used, taken, 0) for taken, limit in limits.items()), 0)


def has_room_for_threads(count: int) -> bool:
    """Whether limits on addresses leave room for more threads that call the BLAS."""
    return free_addresses() >= _RESERVE + count * (THREAD + _BUFFERS)


def require_addresses(more: int = 0) -> None:
    """Raise `MemoryError` where limits on addresses leave too little for the BLAS, and for `more`.

    Otherwise the buffers of the BLAS are taken now: if an allocation fails later, that is an error
    which can be caught.
    """
    free, needed = free_addresses(), 2 * _BUFFERS + more
    if free < needed:
        raise MemoryError(
            f"The limit on addresses (ulimit -v) leaves {format_bytes(int(free))}, but libraries "
            f"and their threads need {format_bytes(needed)}, although they use less memory. Raise "
            "the limit."
        )
    if free < math.inf:
        from numpy.linalg import cholesky
        from scipy.linalg.lapack import dpotrf

        cholesky([[1.0]])
        dpotrf([[1.0]])


def require_memory(needed: int, *, what: str, advice: str) -> None:
    """Raise `MemoryError` when `needed` bytes are more than are free.

    Parameters
    ----------
    needed : int
        Bytes about to be allocated.
    what : str
        What they are for, as the subject of a sentence.
    advice : str
        What the user can do instead.

    Examples
    --------
    >>> require_memory(8, what="One number", advice="Count on fingers.")
    """
    if needed <= SMALL:
        return
    free = available_bytes()
    if needed > free:
        raise MemoryError(
            f"{what} needs {format_bytes(needed)}, but only {format_bytes(free)} are free. {advice}"
        )


def format_bytes(count: int) -> str:
    """A number of bytes in readable units.

    Examples
    --------
    >>> format_bytes(3_200_000_000)
    '2.98 GiB'
    """
    size = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.2f} {unit}"
        size /= 1024
    return f"{size:.2f} TiB"
