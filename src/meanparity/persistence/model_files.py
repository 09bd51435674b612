"""Model files: explicit state under a format number, without pickle.

A file is an npz archive of arrays with a header in JSON, sealed by a digest of every byte; see
`meanparity.state` for what the header says.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import meanparity.baselines
import meanparity.estimators  # noqa: F401  (every kind of model is known)
from meanparity._typing import FloatArray
from meanparity.estimators._corrections import FunctionCorrection
from meanparity.files import FORMAT, check_format, pack, read_packed, write_atomically
from meanparity.persistence.foreign import read_foreign, write_foreign
from meanparity.state import Reader, Writer
from meanparity.tradeoff.functions import FittedFunction, TableFunctions
from meanparity.tradeoff.loss_tradeoff import LossTradeoff
from meanparity.tradeoff.tradeoff import Tradeoff

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

    See Also
    --------
    read : Makes one.

    Examples
    --------
    >>> import os, tempfile
    >>> from meanparity.persistence import read, save
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> model = ParityRidge().fit(X, y, sensitive_features=s)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, os.path.join(folder, "m.meanparity"))
    ...     saved = read(os.path.join(folder, "m.meanparity"))
    >>> bool((saved.model.predict(X) == model.predict(X)).all())
    True
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
    because their predictions are sums over these rows; the target and the group of each training
    row, and the group of each person of the pool, can be computed from them. Files of models with
    other losses, linear ones too, contain the targets, weights, scores and groups of the training
    rows, from which `tradeoff_` computes its curves, and files of models with `LinearParity` its
    weights of the rows. `describe_rows` says what a file of a model holds, and docs/privacy.md has
    a table.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        The model.
    path : str or path
        Where to write.
    about : dict, optional
        Text, finite numbers, lists and dicts to save with it; keys are text.
    minimal : bool, default=False
        Whether to leave out what predicting does not need: `tradeoff_`, what is known about groups
        and training rows, and the parameters that only fit needs (constraint, solver, cv and so
        on), which become the defaults. A model that is loaded from such a file predicts the same
        values, at one position of the dial. Exact kernel models need the training rows and the
        pool to predict, so the group of each person of the pool can still be computed, and so can
        targets and groups of training rows if the targets are classes or few different numbers.

    See Also
    --------
    load : Reads the file.
    describe_rows : What a file holds about people.

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
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"{model!r} is not a model. Pass a fitted estimator or pipeline.")
    if about is not None and not isinstance(about, dict):
        raise TypeError(f"about={about!r} is not a dict. Pass a dict whose keys are text.")
    writer = Writer(write_foreign, minimal=minimal)
    header = {
        "what": _WHAT,
        "format": FORMAT,
        "minimal": bool(minimal),
        "versions": _versions(),
        "about": _as_json(about or {}, "about"),
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

    Returns
    -------
    object
        The estimator, as it was saved.

    See Also
    --------
    save : Writes the file.
    read : The model, and what the file says about itself.

    Examples
    --------
    >>> import os, tempfile
    >>> from meanparity.persistence import save
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> model = ParityRidge().fit(X, y, sensitive_features=s)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, os.path.join(folder, "m.meanparity"))
    ...     again = load(os.path.join(folder, "m.meanparity"))
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    return read(path).model


def read(path: str | os.PathLike[str]) -> Saved:
    """The model in a file, the notes saved with it, and the versions that wrote it.

    Refuses the files that `load` refuses.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    Saved
        The object, and what the file says about itself.

    See Also
    --------
    load : The model alone.

    Examples
    --------
    >>> import os, tempfile
    >>> from meanparity.persistence import save
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> model = ParityRidge().fit(X, y, sensitive_features=s)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, os.path.join(folder, "m.meanparity"))
    ...     type(read(os.path.join(folder, "m.meanparity")).model).__name__
    'ParityRidge'
    """
    header, arrays = read_packed(path, _WHAT)
    check_format(header, str(path), _WHAT)
    versions, about = header.get("versions"), header.get("about")
    if not isinstance(versions, dict) or not isinstance(about, dict):
        raise ValueError(f"{path} is not a {_WHAT} of meanparity.")
    try:
        reader = Reader(arrays, read_foreign)
        model = reader.read(header["model"])
        if not isinstance(model, BaseEstimator):
            raise ValueError(f"it contains a {type(model).__name__} instead of a model")
        for part in reader.objects:
            _check_part(part)
        return Saved(model, about, versions, bool(header["minimal"]))
    except ImportError:
        raise
    except Exception as error:
        reason = str(error) or repr(error)
        if isinstance(error, KeyError):
            reason = f"its part {error} is missing"
        raise ValueError(
            f"{path} was not loaded: {reason.removesuffix('.')}. It was written by "
            f"{', '.join(f'{name} {number}' for name, number in versions.items())}."
        ) from error


def _check_part(part: Any) -> None:
    """Refuse numbers that do not fit together, which would fail or predict NaN."""
    if isinstance(part, FittedFunction):
        _check_function(part.basis, part.coef, part.intercept)
    elif isinstance(part, FunctionCorrection):
        _check_function(part, part.coef, part.intercept)
    elif isinstance(part, Tradeoff):
        for end in (part.solution.fair, part.solution.free):
            _check_function(part.basis, end.coef, end.intercept)
    if isinstance(part, LossTradeoff):
        n = part.rows.n_rows
        shapes = {"scores": (n, 2), "y": (n,), "weights": (n,), "penalties": (2, 2)}
        for name, shape in shapes.items():
            if np.shape(getattr(part, name)) != shape:
                raise ValueError(f"the part {name!r} of its LossTradeoff is not of shape {shape}")


def _check_function(
    basis: TableFunctions | FunctionCorrection, coef: FloatArray, intercept: FloatArray
) -> None:
    """Refuse a function that cannot predict a finite number for a row of zeros."""
    if not all(
        isinstance(part, np.ndarray) and part.dtype.kind == "f" for part in (coef, intercept)
    ):
        raise ValueError("it has coefficients that are not finite numbers")
    layout = basis.layout
    names = layout.feature_names
    d = layout.n_columns if names is None else len(names)
    if names is None and layout.drop_sensitive:
        d -= len(set(layout.sensitive))
    if coef.ndim != 2 or intercept.shape != coef.shape[1:]:
        raise ValueError(f"it has coefficients of shapes {coef.shape} and {intercept.shape}")
    with np.errstate(all="ignore"):
        values = basis.functions.evaluate(np.zeros((1, d)), coef) + intercept
    if values.shape != (1, len(intercept)):
        raise ValueError(f"it predicts values of shape {values.shape} for one row")
    if not np.isfinite(values).all():
        raise ValueError("it predicts numbers that are not finite")


def _as_json(value: Any, where: str) -> Any:
    """Notes as JSON gives them back; what JSON does not have is refused, with its place."""
    if isinstance(value, np.number | np.bool_):
        value = value.item()
    if isinstance(value, dict):
        odd = [key for key in value if not isinstance(key, str)]
        if odd:
            raise TypeError(f"{where} has the key {odd[0]!r}. Pass keys that are text.")
        return {str(key): _as_json(part, f"{where}[{key!r}]") for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(part, f"{where}[{i}]") for i, part in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{where} is {value}, but files hold finite numbers. Pass None, or text.")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"{where} is of type {type(value).__name__}. Pass text, numbers, lists and dicts."
    )


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
