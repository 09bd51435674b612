"""Atomic file writes, and files of arrays with a header in JSON."""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMAT = 1  # of files of models and of statistics
_HEADER = "header"
_SEAL = b"meanparity sha256 "
_SEAL_LENGTH = len(_SEAL) + 64


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that it is never there in part."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    with draft_of(path) as draft:
        draft.write_bytes(data)


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """A file next to the one to be written, which takes its place if nothing fails."""
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
    """A header, as JSON, and arrays as the bytes of an npz file, sealed by a digest of them all.

    Examples
    --------
    >>> header, arrays = unpack(pack({"rows": 2}, {"x": np.arange(2.0)}), "here", "file")
    >>> header, arrays["x"]
    ({'rows': 2}, array([0., 1.]))
    """
    text = np.frombuffer(json.dumps(header, allow_nan=False).encode("utf-8"), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays, **{_HEADER: text})
    return seal(buffer.getvalue())


def unpack(data: bytes, where: str, what: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays that `pack` wrote; other files, and changed ones, are refused.

    `where` and `what` say in messages which file this is, and what it should be.
    """
    if data[-_SEAL_LENGTH:][: len(_SEAL)] != _SEAL:
        raise ValueError(f"{where} is not a {what} of meanparity, or its end is missing.")
    if seal(data[: -_SEAL_LENGTH - 2] + b"\0\0") != data:
        raise ValueError(f"{where} was changed after it was written, or is damaged.")
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            content = {name: found[name] for name in found.files}
        header = json.loads(content.pop(_HEADER).tobytes().decode("utf-8"))
    except Exception as error:
        raise ValueError(f"{where} is not a {what} of meanparity: {error}") from error
    if not isinstance(header, dict):
        raise ValueError(f"{where} is not a {what} of meanparity.")
    return header, content


def seal(archive: bytes) -> bytes:
    """A zip archive with a digest of all its bytes as its comment."""
    body = archive[:-2]  # the rest is the length of the comment, zero
    comment = _SEAL + hashlib.sha256(body).hexdigest().encode()
    return body + struct.pack("<H", len(comment)) + comment


def check_format(header: dict[str, Any], where: str, what: str) -> None:
    """Refuse a file of something else, and a file that a later version wrote."""
    found = header.get("format")
    if header.get("what") != what or type(found) is not int or found < 1:
        raise ValueError(f"{where} is not a {what} of meanparity.")
    if found > FORMAT:
        raise ValueError(
            f"{where} has format {found}, but meanparity {version('meanparity')} reads formats up "
            f"to {FORMAT}. Install a newer version of meanparity."
        )
