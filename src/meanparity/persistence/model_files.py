"""Model files: skops, a digest of every byte, and a list of the types that may be in them."""

from __future__ import annotations

import hashlib
import os
import struct
import zipfile
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from meanparity.files import write_atomically
from meanparity.persistence.trusted import TRUSTED

_SEAL = b"meanparity sha256 "
_LENGTH = len(_SEAL) + 64
_PACKAGES = ("meanparity", "numpy", "scipy", "scikit-learn", "skrub", "skops")


@dataclass(frozen=True)
class Saved:
    """What a model file holds.

    Parameters
    ----------
    model : estimator
        The fitted model or pipeline.
    about : dict
        What was said of it: text, numbers, lists and dicts.
    versions : dict
        The packages that wrote it.
    """

    model: Any
    about: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)


def save(model: Any, path: str | os.PathLike[str], *, about: dict[str, Any] | None = None) -> None:
    """Write a fitted model or pipeline to a file; another file there is replaced at once.

    The file is one of skops: a zip of arrays and JSON, nothing that runs. It holds the fits under
    parity and without, so that the dial can still be turned; exact kernel fits hold their training
    rows, and all fits the groups of the training rows and hashes of these rows.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        The model.
    path : str or path
        Where.
    about : dict, optional
        Text, numbers, lists and dicts to keep beside it.

    Examples
    --------
    >>> import tempfile
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> path = Path(tempfile.mkdtemp()) / "model.skops"
    >>> save(ParityRidge().fit(X, y, sensitive_features=s), path)
    >>> load(path).tradeoff_.predict(X, unfairness=[0.0, 1.0]).shape
    (2, 200)
    """
    skops = _skops()
    content = {"model": model, "about": about or {}, "versions": _versions()}
    try:
        data = skops.dumps(content, compression=zipfile.ZIP_DEFLATED, compresslevel=6)
    except Exception as error:
        raise ValueError(
            f"{type(model).__name__} cannot be written without pickle: {error}"
        ) from error
    odd = _untrusted(data)
    if odd:
        raise ValueError(
            f"The model has parts of types that files may not hold: {', '.join(odd)}. Functions "
            "and classes of your own cannot be saved; kernels, constraints and losses by name can."
        )
    write_atomically(Path(path), _sealed(data))


def load(path: str | os.PathLike[str]) -> Any:
    """The model that `save` wrote.

    A file with a changed byte is refused, and so is one with a type that is not on the list of
    those a model may have.

    Parameters
    ----------
    path : str or path
        The file.
    """
    return read(path).model


def read(path: str | os.PathLike[str]) -> Saved:
    """The model, what was said of it, and the versions that wrote it; refuses what `load` does.

    Parameters
    ----------
    path : str or path
        The file.
    """
    skops = _skops()
    data = Path(path).read_bytes()
    if data[-_LENGTH:][: len(_SEAL)] != _SEAL:
        raise ValueError(f"{path} is no model file of meanparity, or its end is missing.")
    if _sealed(_opened(data)) != data:
        raise ValueError(f"{path} was changed after it was written, or is damaged. Save it again.")
    try:
        odd = _untrusted(data)
    except Exception as error:
        raise ValueError(f"{path} is no model file of meanparity: {error}") from error
    if odd:
        raise ValueError(
            f"{path} has parts of types that are not trusted: {', '.join(odd)}. It was not loaded."
        )
    try:
        content = skops.loads(data, trusted=list(TRUSTED))
        return Saved(content["model"], content["about"], content["versions"])
    except Exception as error:
        raise ValueError(
            f"{path} cannot be loaded with meanparity {version('meanparity')}: "
            f"{type(error).__name__}: {error}. Load it with the version that wrote it."
        ) from error


def _untrusted(data: bytes) -> list[str]:
    found: list[str] = _skops().get_untrusted_types(data=data)
    return sorted(set(found) - set(TRUSTED))


def _sealed(data: bytes) -> bytes:
    """A zip file with a digest of all its bytes as comment."""
    body = data[:-2]  # the rest is the length of the comment, zero
    seal = _SEAL + hashlib.sha256(body).hexdigest().encode()
    return body + struct.pack("<H", len(seal)) + seal


def _opened(data: bytes) -> bytes:
    """The zip file without its comment."""
    return data[: -_LENGTH - 2] + b"\0\0"


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("Model files need skops: pip install 'meanparity[cli]'.") from error
    return skops.io
