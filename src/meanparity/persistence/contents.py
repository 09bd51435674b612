"""What a model file holds about individual people, in a sentence."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from meanparity.kernels.bound import KernelExpansion
from meanparity.solvers.features import KernelFeatures


def describe_rows(model: Any, *, minimal: bool = False) -> str:
    """Say which rows a file of a model would hold; an empty text if it holds none.

    docs/privacy.md says more, also about models of other kinds than those of this package's
    estimators with a kernel, about which this function says nothing.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        The model.
    minimal : bool, default=False
        Whether it would be saved with ``minimal=True``.

    Returns
    -------
    str
        A sentence; empty if the file holds nothing about rows.

    See Also
    --------
    save : ``minimal=True`` keeps less.

    Examples
    --------
    >>> from meanparity import ParityKernelRidge, ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> describe_rows(ParityRidge().fit(X, y, sensitive_features=s))
    ''
    >>> kernel = ParityKernelRidge(kernel="rbf").fit(X, y, sensitive_features=s)
    >>> describe_rows(kernel).partition(",")[0]
    'The model file holds the features of 200 rows'
    """
    estimator = model[-1] if isinstance(model, Pipeline) else model
    function = getattr(estimator, "_function", None)
    functions = getattr(getattr(function, "basis", None), "functions", None)
    if isinstance(functions, KernelFeatures):
        return (
            f"The model file holds the features of {functions.width:,} rows, the landmarks, "
            "because the model predicts from them."
        )
    if not isinstance(functions, KernelExpansion):
        return ""
    points: Any = functions.points
    n_rows = int(points.shape[0])
    computed = (
        "The group of each person of a pool can be computed from them, and so can the targets and "
        "groups of the rows of fit, if the targets are few different numbers."
        if minimal
        else "The targets and groups of these rows can be computed from it; minimal files reveal "
        "less."
    )
    return (
        f"The model file holds the features of {n_rows:,} rows, those of fit "
        f"and its pool, because the model predicts from them. {computed}"
    )
