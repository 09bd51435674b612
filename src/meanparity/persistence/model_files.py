"""Model files: explicit state under a format number, without pickle.

A file is an npz archive of arrays with a header in JSON, sealed by a digest of every byte; see
`meanparity.state` for what the header says.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import meanparity.baselines
import meanparity.estimators  # noqa: F401  (every kind of model is known)
from meanparity.files import FORMAT, check_format, pack, unpack, write_atomically
from meanparity.persistence.foreign import read_foreign, write_foreign
from meanparity.state import Reader, Writer

_WHAT = "model file"
_PACKAGES = ("meanparity", "numpy", "scipy", "scikit-learn", "skrub", "skops")


@dataclass(frozen=True)
class Saved:
    """What a model file contains.

    Parameters
    ----------
    model : estimator
        The fitted model or pipeline.
    about : dict
        Notes that were saved with it: text, numbers, lists and dicts.
    versions : dict
        The packages that wrote it, and their versions.
    minimal : bool
        Whether it contains only what predicting needs.
    """

    model: Any
    about: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    minimal: bool = False


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    about: dict[str, Any] | None = None,
    minimal: bool = False,
) -> None:
    """Write a fitted model or pipeline to a file; an existing file is replaced atomically.

    The file contains arrays and JSON, and nothing in it can run. By default, it contains the fits
    under parity and without, so that the dial can still be turned, and the mean predictions of
    groups. Files of exact kernel models contain the features of the training rows and of the pool,
    because their predictions are sums over these rows; the training targets can be computed from
    them. Files of models with other losses contain the targets, scores and groups of the training
    rows, from which `tradeoff_` computes its curves.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        The model.
    path : str or path
        Where to write.
    about : dict, optional
        Text, numbers, lists and dicts to save with it.
    minimal : bool, default=False
        Whether to leave out everything that predicting does not need: `tradeoff_`, and everything
        about groups and training rows. A model that is loaded from such a file predicts the same
        values, at one position of the dial.

    Examples
    --------
    >>> import tempfile
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> path = Path(tempfile.mkdtemp()) / "model.meanparity"
    >>> save(ParityRidge().fit(X, y, sensitive_features=s), path)
    >>> load(path).tradeoff_.predict(X, unfairness=[0.0, 1.0]).shape
    (2, 200)
    """
    writer = Writer(write_foreign, minimal=minimal)
    header = {
        "what": _WHAT,
        "format": FORMAT,
        "minimal": bool(minimal),
        "versions": _versions(),
        "about": about or {},
        "model": writer.write(model),
    }
    write_atomically(Path(path), pack(header, writer.arrays))


def load(path: str | os.PathLike[str]) -> Any:
    """The model in a file that `save` wrote.

    A file that was changed is refused, and so is one of a later format, or one with a type that
    models do not have.

    Parameters
    ----------
    path : str or path
        The file.
    """
    return read(path).model


def read(path: str | os.PathLike[str]) -> Saved:
    """The model in a file, the notes saved with it, and the versions that wrote it.

    Refuses the files that `load` refuses.

    Parameters
    ----------
    path : str or path
        The file.
    """
    header, arrays = unpack(Path(path).read_bytes(), str(path), _WHAT)
    check_format(header, str(path), _WHAT)
    versions = header.get("versions", {})
    try:
        model = Reader(arrays, read_foreign).read(header["model"])
        return Saved(model, header["about"], versions, header["minimal"])
    except ImportError:
        raise
    except Exception as error:
        raise ValueError(
            f"{path} was not loaded: {error or repr(error)}. It was written by "
            f"{', '.join(f'{name} {number}' for name, number in versions.items())}."
        ) from error


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
