"""Files that nobody ever sees half of, and sums over rows on disk."""

from __future__ import annotations

import hashlib
import io
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_HEADER, _DIGEST = "header", "sha256"


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that nobody ever sees half of it."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    with draft_of(path) as draft:
        draft.write_bytes(data)


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """A file beside the one to be written, which takes its place if nothing fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        yield draft
        os.replace(draft, path)
    except OSError as error:  # which may not say where
        draft.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def pack(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """A header that is JSON and arrays as the bytes of an npz file, with a digest of both.

    Examples
    --------
    >>> header, arrays = unpack(pack({"rows": 2}, {"x": np.arange(2.0)}), "here")
    >>> header, arrays["x"]
    ({'rows': 2}, array([0., 1.]))
    """
    text = np.frombuffer(json.dumps(header).encode("utf-8"), dtype=np.uint8)
    content = {**arrays, _HEADER: text}
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **content, **{_DIGEST: _digest(content)})
    return buffer.getvalue()


def unpack(data: bytes, where: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of what `pack` made; anything else, and any change, is refused."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            content = {name: found[name] for name in found.files}
        digest = content.pop(_DIGEST)
        same = np.array_equal(digest, _digest(content))
        header = json.loads(content.pop(_HEADER).tobytes().decode("utf-8"))
    except Exception as error:
        raise ValueError(f"{where} is not a file of statistics, or it is damaged.") from error
    if not same:
        raise ValueError(f"{where} was changed after it was written. Ask for it again.")
    return header, content


def _digest(content: dict[str, NDArray[Any]]) -> NDArray[np.uint8]:
    found = hashlib.sha256()
    for name in sorted(content):
        array = np.ascontiguousarray(content[name])
        found.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        found.update(array.tobytes())
    return np.frombuffer(found.digest(), dtype=np.uint8)
