"""Free memory, and errors before an allocation that would not fit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import psutil

SMALL = 2**24  # bytes that always fit: 16 MiB

# Threads take addresses that they hardly use: 8 MiB for a stack, and 64 MiB for an arena
_THREADS = 2**28  # bytes of a limit on addresses that are left to them

_PROCESS = Path("/proc/self")
# Limit and usage of a control group, by the type of its file system: version 2 and version 1
_CGROUP_FILES = {
    "cgroup2": ("memory.max", "memory.current"),
    "cgroup": ("memory.limit_in_bytes", "memory.usage_in_bytes"),
}


def available_bytes() -> int:
    """Bytes that can be allocated now, as the machine and all limits on the process allow.

    The limits are those of the control groups (of containers and batch schedulers) around the
    process, from its own to the outermost, and ``ulimit -v`` and ``ulimit -d``.
    """
    free = [int(psutil.virtual_memory().available), *_free_addresses()]
    free += [_free_in(folder, *files) for folder, files in _cgroups()]
    return max(min(free), 0)


def _cgroups() -> Iterator[tuple[Path, tuple[str, str]]]:
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


def _free_in(folder: Path, limit_file: str, usage_file: str) -> int:
    """Bytes that a control group may still take; no limit is a very large one."""
    unlimited = 2**63
    try:
        limit = (folder / limit_file).read_text().strip()
        usage = int((folder / usage_file).read_text())
        statistics = (folder / "memory.stat").read_text().split()
    except OSError:
        return unlimited
    if limit == "max":
        return unlimited
    # cached files count as used, although their pages can be dropped
    cached = dict(zip(statistics[::2], statistics[1::2], strict=False))
    inactive = cached.get("total_inactive_file", cached.get("inactive_file", 0))
    return int(limit) - usage + int(inactive)


def _free_addresses() -> list[int]:
    """Bytes that limits on the addresses of the process leave, where there are such limits."""
    try:
        import resource
    except ImportError:  # Windows
        return []
    limits = {
        taken: resource.getrlimit(getattr(resource, name))[0]
        for name, taken in (("RLIMIT_AS", "vms"), ("RLIMIT_DATA", "data"))
        if hasattr(resource, name)
    }
    limits = {
        taken: limit
        for taken, limit in limits.items()
        if limit != resource.RLIM_INFINITY and limit >= 0
    }
    if not limits:  # so that a fit in a fraction of a millisecond need not ask what is used
        return []
    used = psutil.Process().memory_info()
    return [limit - getattr(used, taken, 0) - _THREADS for taken, limit in limits.items()]


def has_room_for_threads() -> bool:
    """Whether a limit on the addresses of the process, if there is one, leaves room for threads."""
    return all(free > 0 for free in _free_addresses())


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
