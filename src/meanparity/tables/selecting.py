"""Selecting a model for a table: linear or kernel, its penalty, and the width of the kernel."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from meanparity._typing import FloatArray
from meanparity.constraints import MeanParity
from meanparity.estimators import (
    ParityKernelRidge,
    ParityKernelRidgeCV,
    ParityRidge,
    ParityRidgeCV,
)
from meanparity.estimators._price import Price
from meanparity.estimators.selection import Found, join_found
from meanparity.exceptions import ParityWarning
from meanparity.solvers import Nystrom
from meanparity.tables.encoding import EncodedRows
from meanparity.tables.losses import FITS, KINDS, error_on_folds, select_penalty, suitable_loss
from meanparity.tables.steps import in_pieces

MODELS = ("auto", "linear", "kernel")
_EXACT_ROWS = 2_000  # up to this many rows the kernel model is exact
_SELECTION_ROWS = 20_000  # penalty and kernel width are selected on at most this many rows
_MOST_CELLS = 200  # combinations of sensitive and control values that leave-one-out supports
_LANDMARKS = 500
_LOSS_ROWS = 1_000  # other losses are compared on at most this many rows
_LOSS_LANDMARKS = 100  # with this many landmarks
_EXACT_LOSS_ROWS = 1_000  # up to this many rows a kernel model with another loss is exact
_SCREENED_ROWS = 2_500  # the width is selected on at most this many rows,
_SCREENED_LANDMARKS = 200  # with this many landmarks
_SELECTED = ("alpha", "gamma")
_PEOPLE = dict.fromkeys(("sensitive_features", "control_features", "sample_weight", "pool"))
_WIDTHS = (0.1, 0.3, 1.0, 3.0)  # candidates for gamma, times the number of columns


LINEAR = "selecting the penalty of a linear model"
WIDTH = "selecting the width of the kernel on a sample"
KERNEL = "selecting the penalty of a kernel model"
LOSS = "selecting the loss"


def selection_steps(n: int, model: str) -> list[str]:
    """The steps of `select_estimator` for n rows.

    Examples
    --------
    >>> selection_steps(1000, "auto")
    ['selecting the penalty of a linear model', 'selecting the penalty of a kernel model']
    """
    linear = [LINEAR] if model in ("auto", "linear") else []
    if model == "linear":
        return linear
    return [*linear, *([WIDTH] if n > _SCREENED_ROWS else []), KERNEL]


@dataclass(frozen=True)
class Selected:
    """What was selected.

    Parameters
    ----------
    estimator
        Not fitted.
    description : str
        What was selected, and how.
    free
        The estimator without the constraint that predicts left-out rows best, not fitted.
    price : Price or None
        How much less the selected model explains than `free`, on left-out rows.
    """

    estimator: Any
    description: str
    free: Any
    price: Price | None

    def fit(self, X: FloatArray, y: FloatArray, **people: Any) -> Any:
        """Fit the estimator, which notes the price on left-out rows."""
        people = {**_PEOPLE, **people}
        self.estimator._fit(self.estimator._solver(), X, y, price=self.price, **people)
        return self.estimator

    @property
    def is_best_free(self) -> bool:
        """Whether the selected model has the penalty and the kernel of `free`."""
        pair = self.estimator, self.free
        return all(getattr(pair[0], n, None) == getattr(pair[1], n, None) for n in _SELECTED)

    @property
    def described_free(self) -> str:
        """What the model without the constraint is."""
        best, free = "the best model without the constraint", self.free
        if self.is_best_free:
            return f"{best}, which has the same penalty"
        if isinstance(free, ParityRidge):
            return f"{best}, linear with penalty {free.alpha:.3g}"
        return f"{best}, with an RBF kernel, gamma {free.gamma:.3g} and penalty {free.alpha:.3g}"


def select_estimator(
    rows: EncodedRows,
    model: str,
    *,
    constraint: MeanParity | None = None,
    unfairness: float = 0.0,
    seed: int = 0,
    large: bool = False,
    progress: Callable[[str], None] = lambda message: None,
) -> Selected:
    """Select the estimator with the smallest leave-one-out or cross-validation error.

    Parameters
    ----------
    rows : EncodedRows
        Training rows.
    model, seed
        As in `fit_table`.
    constraint : MeanParity, optional
        What has to hold.
    unfairness : float, default=0.0
        The position of the dial at which predictions for left-out rows are compared.
    large : bool, default=False
        Whether the estimator will be fitted to many more rows than these.
    progress : callable, optional
        Receives messages about what is being done.

    Returns
    -------
    Selected
    """
    n, d = rows.X.shape
    rows = _sample(rows, _SELECTION_ROWS, seed)
    columns = [rows.metadata.get(f"{role}_features") for role in ("sensitive", "control")]
    cells = np.prod([len(frame.drop_duplicates()) for frame in columns if frame is not None])
    options: dict[str, Any] = {"constraint": constraint or MeanParity()}
    options["unfairness"] = unfairness
    cv = None if cells <= _MOST_CELLS else 5
    tried: dict[str, tuple[Found, Callable[..., Any], str]] = {}
    if model in ("auto", "linear"):
        progress(LINEAR)
        found = _search(ParityRidgeCV(cv=cv, **options), rows)
        alpha = found.candidates[found.best]["alpha"]
        tried["linear"] = found, partial(ParityRidge, **options), f"linear, penalty {alpha:.3g}"
    if model in ("auto", "kernel"):
        options |= {"kernel": "rbf", "fit_intercept": True}
        landmarks = ""
        if large or n > _EXACT_ROWS:
            options["solver"] = Nystrom(_LANDMARKS, random_state=seed)
            landmarks = f", {_LANDMARKS} landmarks"
        gammas = [width / d for width in _WIDTHS]
        if len(rows.X) > _SCREENED_ROWS:
            few = _sample(rows, _SCREENED_ROWS, seed)
            solver = Nystrom(_SCREENED_LANDMARKS, landmarks="uniform", random_state=seed)
            screen = ParityKernelRidgeCV(gammas=gammas, cv=cv, **options).set_params(solver=solver)
            found = _search_widths(screen, few, WIDTH, progress)
            gammas = sorted({found.candidates[at]["gamma"] for at in (found.best, found.best_free)})
        search = ParityKernelRidgeCV(gammas=gammas, cv=cv, **options)
        found = _search_widths(search, rows, KERNEL, progress)
        alpha, gamma = (found.candidates[found.best][name] for name in _SELECTED)
        description = f"RBF kernel, gamma {gamma:.3g}, penalty {alpha:.3g}{landmarks}"
        tried["kernel"] = found, partial(ParityKernelRidge, **options), description
    best = min(tried, key=lambda name: tried[name][0].losses[tried[name][0].best])
    best_free = min(tried, key=lambda name: tried[name][0].free_losses.min())
    found, make, description = tried[best]
    without, make_free, _ = tried[best_free]
    error = float(found.losses[found.best])
    for name, (other, _, _) in tried.items():
        if name != best:
            description += (
                f"; mean squared error on left-out rows {error:.4g}, compared with "
                f"{other.losses[other.best]:.4g} for a {name} model"
            )
    price = found.price
    if price is not None and without.price is not None and best_free != best:
        price = replace(without.price, now=price.now)
    free = make_free(**without.candidates[without.best_free]).set_params(unfairness=1.0)
    return Selected(make(**found.candidates[found.best]), description, free, price)


def select_loss(
    estimator: Any,
    loss: str,
    rows: EncodedRows,
    *,
    unfairness: float = 0.0,
    seed: int = 0,
    progress: Callable[[str], None] = lambda message: None,
) -> tuple[Any, str]:
    """Select the penalty of another loss, or keep the squared error if that predicts better.

    Parameters
    ----------
    estimator
        As selected by `select_estimator`. Another loss has the same kernel, or none.
    loss : {"auto", "squared", "logistic", "poisson", "gamma"}
        "auto" recognises the kind of outcome, and takes its loss if it has the smaller squared
        error on three folds.
    rows : EncodedRows
        Training rows.
    unfairness : float, default=0.0
        0 or 1: whether the models that are compared are those under the constraint or without it.
    seed : int, default=0
        Random seed of the folds.
    progress : callable, optional
        Receives messages about what is being done.

    Returns
    -------
    estimator
        Not fitted: with another loss, or the given one.
    description : str
        What was selected, and how; empty if there was nothing to select.
    """
    suitable = suitable_loss(loss, rows.y)
    if suitable == "squared":
        return estimator, ""
    few = _sample(rows, _LOSS_ROWS, seed)
    kernel = isinstance(estimator, ParityKernelRidge)
    space: dict[str, Any] = {"unfairness": unfairness}
    if kernel:
        space |= {"kernel": "rbf", "gamma": estimator.gamma, "fit_intercept": True}
    solver = Nystrom(_LOSS_LANDMARKS, landmarks="uniform", random_state=seed)
    landmarks: dict[str, Any] = {"solver": solver} if kernel else {}
    done = in_pieces(LOSS, FITS, "fits", progress)
    space |= landmarks
    other, error = select_penalty(suitable, few, space, estimator.constraint, seed, done)
    other = clone(other)
    if kernel:
        large = len(rows.X) > _EXACT_LOSS_ROWS
        other.set_params(solver=Nystrom(_LANDMARKS, random_state=seed) if large else "auto")
    description = f"{suitable} loss, penalty {other.alpha:.3g}"
    if loss != "auto":
        return other, description
    squared = clone(estimator).set_params(unfairness=unfairness, **landmarks)
    squared_error = error_on_folds(squared, few, seed)
    compared = (
        f"{KINDS[suitable]} recognised: mean squared error on three folds {error:.4g} with the "
        f"{suitable} loss, compared with {squared_error:.4g} with the squared error"
        if np.isfinite(error)
        else f"{KINDS[suitable]} recognised, but the {suitable} loss cannot be fitted to all folds"
    )
    if error < squared_error:
        return other, f"{description} ({compared})"
    return estimator, f"squared error ({compared})"


def _sample(rows: EncodedRows, size: int, seed: int) -> EncodedRows:
    """All rows, or a random sample if there are more than `size`."""
    n = len(rows.X)
    if n <= size:
        return rows
    return rows.take(np.sort(np.random.default_rng(seed).permutation(n)[:size]))


def _search_widths(
    search: Any, rows: EncodedRows, step: str, progress: Callable[[str], None]
) -> Found:
    """The same for a kernel, one width after the other, with a message after each."""
    widths = search.gammas
    if len(widths) == 1:
        progress(step)
        return _search(search, rows)
    done, parts = in_pieces(step, len(widths), "widths", progress), []
    for number, gamma in enumerate(widths, 1):
        parts.append(_search(clone(search).set_params(gammas=[gamma]), rows))
        done(number)
    return join_found(parts)


def _search(search: Any, rows: EncodedRows) -> Found:
    """What is found about candidates on left-out rows.

    Nothing is fitted to all rows, and warnings about candidates are not shown: the model that is
    selected gives its own.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ParityWarning)
        _, _, found = search._choose(rows.X, rows.y, **{**_PEOPLE, **rows.metadata})
    return found  # type: ignore[no-any-return]
