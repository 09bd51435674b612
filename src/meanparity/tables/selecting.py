"""Selecting a model for a table: linear or kernel, its penalty, and the width of the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from meanparity.constraints import MeanParity
from meanparity.data.fit_input import check_unfairness
from meanparity.estimators import (
    ParityKernelRidge,
    ParityKernelRidgeCV,
    ParityRidge,
    ParityRidgeCV,
)
from meanparity.solvers import Nystrom
from meanparity.tables.encoding import EncodedRows

MODELS = ("auto", "linear", "kernel")
_EXACT_ROWS = 2_000  # up to this many rows the kernel model is exact
_SELECTION_ROWS = 20_000  # penalty and kernel width are selected on at most this many rows
_LANDMARKS = 500
_WIDTHS = (0.1, 0.3, 1.0, 3.0)  # candidates for gamma, times the number of columns


@dataclass(frozen=True)
class FitSettings:
    """The settings of `fit_table`, checked.

    Parameters
    ----------
    model, unfairness, max_gap, missing, test_size, seed
        As in `fit_table`.
    """

    model: str = "auto"
    unfairness: float = 0.0
    max_gap: float | None = None
    missing: str = "error"
    test_size: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise ValueError(f"model={self.model!r} is not known. Pass one of {', '.join(MODELS)}.")
        check_unfairness(self.unfairness)


def _constraint_options(settings: FitSettings) -> dict[str, Any]:
    """Parameters of every estimator that belong to the constraint."""
    return {"constraint": MeanParity(missing=settings.missing)}


def _landmark_options(settings: FitSettings) -> dict[str, Any]:
    """Parameters of a kernel estimator that approximates the kernel with landmarks."""
    return {"solver": Nystrom(_LANDMARKS, random_state=settings.seed)}


def select_estimator(
    rows: EncodedRows, settings: FitSettings, *, large: bool = False
) -> tuple[Any, str]:
    """Select the estimator with the smallest leave-one-out or cross-validation error.

    Parameters
    ----------
    rows : EncodedRows
        Training rows.
    settings : FitSettings
        The settings of the fit.
    large : bool, default=False
        Whether the estimator will be fitted to many more rows than these.

    Returns
    -------
    estimator
        With the requested unfairness, not fitted.
    description : str
        What was selected, and how.
    """
    X, y, metadata = rows.X, rows.y, rows.metadata
    n, d = X.shape
    if n > _SELECTION_ROWS:
        subset = np.sort(np.random.default_rng(settings.seed).permutation(n)[:_SELECTION_ROWS])
        X, y = X[subset], y[subset]
        metadata = {name: _take(values, subset) for name, values in metadata.items()}
    # leave-one-out supports up to 200 combinations of sensitive and control values
    columns = (metadata["sensitive_features"], metadata["control_features"])
    cells = np.prod([len(frame.drop_duplicates()) for frame in columns if frame is not None])
    options = _constraint_options(settings)
    search_options = {"cv": None if cells <= 200 else 5, **options}
    candidates: dict[str, tuple[float, Any, str]] = {}
    if settings.model in ("auto", "linear"):
        search: Any = ParityRidgeCV(**search_options).fit(X, y, **metadata)
        linear = ParityRidge(alpha=search.alpha_, **options)
        description = f"linear, penalty {search.alpha_:.3g}"
        candidates["linear"] = _error(search), linear, description
    if settings.model in ("auto", "kernel"):
        kernel_options: dict[str, Any] = {"kernel": "rbf", "fit_intercept": True}
        if large or n > _EXACT_ROWS:
            kernel_options |= _landmark_options(settings)
        gammas = [width / d for width in _WIDTHS]
        search = ParityKernelRidgeCV(gammas=gammas, **search_options, **kernel_options)
        search.fit(X, y, **metadata)
        chosen = {"alpha": search.alpha_, "gamma": search.gamma_}
        kernel = ParityKernelRidge(**chosen, **kernel_options, **options)
        description = f"RBF kernel, gamma {search.gamma_:.3g}, penalty {search.alpha_:.3g}"
        description += f", {_LANDMARKS} landmarks" if "solver" in kernel_options else ""
        candidates["kernel"] = _error(search), kernel, description
    best = min(candidates, key=lambda name: candidates[name][0])
    error, estimator, description = candidates.pop(best)
    for name, (other_error, _, _) in candidates.items():
        description += (
            f"; mean squared error on left-out rows {error:.4g}, compared with {other_error:.4g} "
            f"for a {name} model"
        )
    return estimator.set_params(
        unfairness=settings.unfairness, max_gap=settings.max_gap
    ), description


def _error(search: Any) -> float:
    return float(np.min(search.cv_results_["mean_squared_error"]))


def _take(values: Any, rows: Any) -> Any:
    """Rows of an array or data frame, or None."""
    if values is None or isinstance(values, np.ndarray):
        return None if values is None else values[rows]
    return values.iloc[rows].reset_index(drop=True)
