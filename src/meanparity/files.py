"""Atomic file writes, and files of arrays with a header in JSON."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import struct
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanparity.linalg.memory import require_memory

FORMAT = 1  # of files of models and of statistics
_HEADER = "header"
_SEAL = b"meanparity sha256 "
_SEAL_LENGTH = len(_SEAL) + 64
# Memory that JSON and the objects made of it take, over the length of its text: lists in lists, of
# which `Reader` makes others, take 88 times as much
_OBJECTS = 90
_LONGEST_HEADER = 2**26  # bytes

Packed = tuple[dict[str, Any], dict[str, NDArray[Any]]]


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
        if error.errno is None or error.filename not in (None, str(draft), draft):
            raise  # about something else than this file
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
    if len(text) > _LONGEST_HEADER:
        raise ValueError(f"The file would have {len(text):,} bytes of text, which is too many.")
    for name, array in arrays.items():
        if array.dtype.hasobject:  # NumPy before 2.2 would pickle it, and takes no allow_pickle
            raise ValueError(f"The array {name!r} holds Python objects, which files cannot hold.")
    buffer = io.BytesIO()
    parts: dict[str, Any] = {**arrays, _HEADER: text}
    np.savez_compressed(buffer, **parts)
    return seal(buffer.getvalue())


def read_packed(path: str | os.PathLike[str], what: str) -> Packed:
    """Header and arrays in a file that `pack` wrote; see `unpack`."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"There is no {what} {os.fspath(path)!r}.")
    if os.path.isdir(path):
        raise ValueError(f"{os.fspath(path)!r} is a folder. Pass a {what}.")
    size = os.stat(path).st_size
    require_memory(2 * size, what=f"Reading {path}", advice="It may not be what it should be.")
    return unpack(Path(path).read_bytes(), str(path), what)


def unpack(data: bytes, where: str, what: str) -> Packed:
    """Header and arrays that `pack` wrote; other files, and changed ones, are refused.

    Nothing is unpacked before the sizes that the archive states fit into memory. `where` and `what`
    say in messages which file this is, and what it should be.
    """
    end = len(data) - _SEAL_LENGTH
    if end < 2 or not data.startswith(_SEAL, end):
        raise ValueError(f"{where} is not a {what} of meanparity, or its end is missing.")
    body = memoryview(data)[: end - 2]
    if struct.pack("<H", _SEAL_LENGTH) + _comment(body) != data[end - 2 :]:
        raise ValueError(f"{where} was changed after it was written, or is damaged.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if archive.getinfo(f"{_HEADER}.npy").file_size > _LONGEST_HEADER + 2**10:
                raise ValueError("its text is too long")
            needed = unpacked_bytes(archive, text=f"{_HEADER}.npy")
            advice = "Do not load it if you do not know where it comes from."
            require_memory(needed, what=f"{where}, unpacked,", advice=advice)
            content = {
                member.filename.removesuffix(".npy"): read_array(archive, member)
                for member in archive.infolist()
            }
        header = json.loads(content.pop(_HEADER).tobytes().decode("utf-8"), parse_constant=_refuse)
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(f"{where} is not a {what} of meanparity: {error}") from error
    if not isinstance(header, dict):
        raise ValueError(f"{where} is not a {what} of meanparity.")
    return header, content


def unpacked_bytes(archive: zipfile.ZipFile, *, text: str) -> int:
    """Bytes that the members of an archive take in memory, as it states them.

    Archives with two members of one name, or with a compression that `pack` does not use, are
    refused. The member `text` is JSON.
    """
    total, names = 0, set()
    for member in archive.infolist():
        if member.filename in names:
            raise ValueError(f"it has two parts with the name {member.filename!r}")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"its part {member.filename!r} has an unknown compression")
        names.add(member.filename)
        total += member.file_size * (_OBJECTS if member.filename == text else 1)
    return total


def read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """An array of numbers or text in an archive, whose shape is as large as the member."""
    file: Any
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if read_header is None:
            raise ValueError(f"its part {member.filename!r} has an unknown format")
        shape, by_column, dtype = read_header(file)
        if not dtype.itemsize:  # for which NumPy takes another type
            raise ValueError(f"the array {member.filename!r} is of a type without a size")
        size = math.prod(shape) * dtype.itemsize
        if dtype.hasobject or min(shape, default=0) < 0 or file.tell() + size != member.file_size:
            raise ValueError(f"the array {member.filename!r} has another size than it says")
        array: NDArray[Any] = np.empty(math.prod(shape), dtype)
        read = file.readinto(array.view(np.uint8)) if size else 0
        if file.read(1) or read != size:  # the end, where the checksum is compared
            raise ValueError(f"the array {member.filename!r} has another size than it says")
    return array.reshape(shape, order="F" if by_column else "C")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def seal(archive: bytes) -> bytes:
    """A zip archive with a digest of all its bytes as its comment."""
    body = archive[:-2]  # the rest is the length of the comment, zero
    return body + struct.pack("<H", _SEAL_LENGTH) + _comment(body)


def _comment(body: bytes | memoryview) -> bytes:
    return _SEAL + hashlib.sha256(body).hexdigest().encode()


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
