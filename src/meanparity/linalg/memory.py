"""Free memory, and errors before an allocation that would not fit."""

from __future__ import annotations

from pathlib import Path

import psutil

SMALL = 2**24  # bytes that always fit: 16 MiB

# Limit, usage and statistics of the control group that a container or a batch scheduler puts
# around a process
_CGROUPS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def available_bytes() -> int:
    """Bytes that can be allocated now: the machine's free memory, or the container's if less."""
    free = int(psutil.virtual_memory().available)
    for folder, limit_file, usage_file in _CGROUPS:
        try:
            limit = Path(folder, limit_file).read_text().strip()
            usage = int(Path(folder, usage_file).read_text())
            statistics = Path(folder, "memory.stat").read_text().split()
        except OSError:
            continue
        if limit != "max":
            # cached files count as used, although their pages can be dropped
            cached = dict(zip(statistics[::2], statistics[1::2], strict=False))
            usage -= int(cached.get("inactive_file", 0))
            free = min(free, max(int(limit) - usage, 0))
    return free


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
