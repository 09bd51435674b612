"""What a model file holds about individual people, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from meanparity.baselines.barycenter import Distribution
from meanparity.constraints.linear import LinearParity
from meanparity.data.rows import Schema
from meanparity.kernels.bound import KernelExpansion
from meanparity.persistence.foreign import write_foreign
from meanparity.solvers.features import KernelFeatures
from meanparity.solvers.solution import Fit
from meanparity.state import Writer
from meanparity.tradeoff.functions import FittedFunction
from meanparity.tradeoff.loss_tradeoff import LossTradeoff


def describe_rows(model: Any, *, minimal: bool = False) -> str:
    """Say what a file of a model would hold of each row; an empty text if nothing.

    It looks at the objects that `save` would write. docs/privacy.md says more, also about the
    regressors of other libraries, about which this function says nothing.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        The model.
    minimal : bool, default=False
        Whether it would be saved with ``minimal=True``.

    Returns
    -------
    str
        One sentence or more; empty if the file holds nothing about rows.

    See Also
    --------
    save : ``minimal=True`` keeps less.

    Examples
    --------
    >>> from meanparity import ParityKernelRegressor, ParityKernelRidge, ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> describe_rows(ParityRidge().fit(X, y, sensitive_features=s))
    ''
    >>> kernel = ParityKernelRidge(kernel="rbf").fit(X, y, sensitive_features=s)
    >>> describe_rows(kernel).partition(",")[0]
    'The model file holds the features of 200 rows'
    >>> huber = ParityKernelRegressor(loss="huber").fit(X, y, sensitive_features=s)
    >>> describe_rows(huber).partition(",")[0]
    'The model file holds the target and the group of each of the 200 rows of fit'
    >>> describe_rows(huber, minimal=True)
    ''
    """
    writer = Writer(write_foreign, minimal=minimal)
    writer.write(model)
    sentences = list(_sentences(writer.objects, minimal=minimal))
    return " ".join(
        f"The model file {'also ' if number else ''}holds {sentence}"
        for number, sentence in enumerate(sentences)
    )


def _sentences(objects: list[Any], *, minimal: bool) -> Iterator[str]:
    """What follows "The model file holds", for each part that grows with the rows."""

    def of_kind(kind: type) -> list[Any]:
        return [value for value in objects if isinstance(value, kind)]

    loss_tradeoffs = of_kind(LossTradeoff)
    has_pool = any(len(getattr(value, "pool_gaps_", ())) for value in objects)
    if points := [part.points for part in of_kind(KernelExpansion) if part.points is not None]:
        rows = "those of fit and its pool" if has_pool else "those of fit"
        count = max(part.shape[0] for part in points)
        yield (
            f"the features of {count:,} rows, {rows}, because the model predicts from them."
            f"{_computed(loss_tradeoffs, has_pool=has_pool, minimal=minimal)}"
        )
    elif of_kind(KernelExpansion):  # of a precomputed kernel
        functions = of_kind(FittedFunction)
        rows = "row of fit and its pool" if has_pool else "row of fit"
        count = f"{len(functions[0].coef):,} coefficients" if functions else "a coefficient"
        yield f"{count}, one for each {rows}."
    if features := of_kind(KernelFeatures):
        yield (
            f"the features of {features[0].width:,} rows, the landmarks, because the model "
            "predicts from them."
        )
    if distributions := of_kind(Distribution):
        count = sum(len(part.values) for part in distributions)
        yield (
            f"{count:,} predictions for the rows of fit, sorted in each group, because the model "
            "predicts from them."
        )
    if loss_tradeoffs:
        yield (
            f"the target and the group of each of the {len(loss_tradeoffs[0].y):,} rows of fit, "
            "its weight and its predictions at both ends of the dial, from which curves of the "
            "dial are computed; minimal files do not."
        )
    if weights := [np.shape(part.weights) for part in of_kind(LinearParity)]:
        yield (
            f"the weights that the constraint gives to each of {weights[0][0]:,} rows; minimal "
            "files do not."
        )
    numbers = dict.fromkeys(name for part in of_kind(Schema) for name in part.continuous)
    if numbers and of_kind(Fit):
        yield (
            f"the mean prediction at each value of {', '.join(numbers)}, which is that of one "
            "person where nobody shares the value; minimal files do not."
        )


def _computed(loss_tradeoffs: list[Any], *, has_pool: bool, minimal: bool) -> str:
    """What can be computed from the features and coefficients of an exact kernel model."""
    of_pool = " The group of each person of the pool can be computed from them."
    if loss_tradeoffs:  # targets and groups are in the file as they are
        return of_pool if has_pool else ""
    if not minimal:
        return (
            " The targets and groups of these rows can be computed from it; minimal files reveal "
            "less."
        )
    return (of_pool if has_pool else "") + (
        " The targets and groups of the rows of fit can be computed if the targets are few "
        "different numbers."
    )
