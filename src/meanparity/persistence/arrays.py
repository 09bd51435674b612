"""Models as files of arrays with a JSON header, for programs that do not have this package."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

from meanparity.files import pack, write_atomically
from meanparity.persistence.plain import PlainModel

_NUMBERS = ("kernel", "gamma", "coef0", "degree", "single_output", "unfairness")
_ARRAYS = ("points", "fair", "free", "fair_intercept", "free_intercept", "fill", "shift", "scale")


def export_arrays(model: Any, path: str | os.PathLike[str]) -> None:
    """Write the numbers of a fitted model to an npz file with a JSON header.

    docs/model-files.md has a predictor of 30 lines that only needs NumPy.

    Parameters
    ----------
    model : fitted ParityRidge, ParityKernelRidge or CV estimator, or a Pipeline that ends with one
        An imputer and a scaler right before the estimator are exported as well. Earlier steps are
        not, and the header names the columns that they return.
    path : str or path
        Path of the file; an existing file is replaced.

    See Also
    --------
    export_onnx : For other runtimes.

    Examples
    --------
    >>> import tempfile
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> path = Path(tempfile.mkdtemp()) / "model.npz"
    >>> export_arrays(ParityRidge().fit(X, y, sensitive_features=s), path)
    >>> import numpy as np
    >>> sorted(np.load(path).files)[:4]
    ['fair', 'fair_intercept', 'fill', 'free']
    """
    plain = PlainModel.of(model)
    header = {name: getattr(plain, name) for name in _NUMBERS}
    header |= {"columns": list(plain.columns), "meanparity": version("meanparity")}
    write_atomically(Path(path), pack(header, {name: getattr(plain, name) for name in _ARRAYS}))
