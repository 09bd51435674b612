"""Losses for outcomes of 0 and 1, for counts and for amounts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from meanparity._typing import FloatArray
from meanparity.constraints import MeanParity
from meanparity.estimators import ParityKernelClassifier, ParityKernelRegressor
from meanparity.exceptions import ParityWarning
from meanparity.losses import Gamma, Poisson
from meanparity.tables.encoding import EncodedRows

LOSSES = ("auto", "squared", "logistic", "poisson", "gamma")
KINDS = {
    "logistic": "an outcome of 0 and 1",
    "poisson": "counts",
    "gamma": "positive amounts with a long tail",
}
_PENALTIES = (0.3, 3.0, 30.0)
_FOLDS = 3
FITS = _FOLDS * len(_PENALTIES)  # of `select_penalty`
_LONG_TAIL = 1.0  # skewness


def recognise_loss(y: FloatArray) -> str:
    """The loss for the kind of outcome that these values look like.

    Examples
    --------
    >>> recognise_loss(np.array([0.0, 1.0, 1.0])), recognise_loss(np.array([0.0, 2.0, 1.0]))
    ('logistic', 'poisson')
    >>> recognise_loss(np.array([1.0, 1.2, 1.1, 9.5])), recognise_loss(np.array([1.5, -2.0]))
    ('gamma', 'squared')
    """
    low, spread = y.min(), y.std()
    if set(np.unique(y)) == {0.0, 1.0}:
        return "logistic"
    if low == 0 and (y == np.round(y)).all():
        return "poisson"
    if low > 0 and spread > 0 and ((y - y.mean()) ** 3).mean() > _LONG_TAIL * spread**3:
        return "gamma"
    return "squared"


def suitable_loss(loss: str, y: FloatArray) -> str:
    """The loss that is meant: with "auto", the one for the kind of outcome."""
    return recognise_loss(y) if loss == "auto" else loss


def check_loss(loss: str, y: FloatArray, target: str) -> None:
    """Refuse outcomes that a loss is not for, naming what was seen."""
    if loss == "logistic":
        bad, needs = y[~np.isin(y, (0.0, 1.0))], "0 or 1"
    elif loss == "poisson":
        bad, needs = y[y < 0], "not negative"
    elif loss == "gamma":
        bad, needs = y[y <= 0], "positive"
    else:
        return
    if len(bad):
        raise ValueError(
            f"The loss {loss!r} is for {KINDS[loss]}, but {target!r} contains {float(bad[0]):g}. "
            f"Its values have to be {needs}. Pass another loss, such as squared."
        )
    if loss == "logistic" and len(np.unique(y)) < 2:
        raise ValueError(f"All values of {target!r} are {y[0]:g}, so there is nothing to predict.")


def make_estimator(loss: str, alpha: float, space: dict[str, Any], constraint: MeanParity) -> Any:
    """An estimator whose predictions, and not their scores, have equal means.

    `space` contains the kernel, its parameters and the solver.
    """
    constraint = replace(constraint, scale="response")
    if loss == "logistic":
        return ParityKernelClassifier(alpha=alpha, constraint=constraint, **space)
    minimised = {"poisson": Poisson(), "gamma": Gamma()}[loss]
    return ParityKernelRegressor(loss=minimised, alpha=alpha, constraint=constraint, **space)


def predict_values(estimator: Any, X: FloatArray) -> FloatArray:
    """The predictions of an estimator; those of a classifier are probabilities of 1."""
    if hasattr(estimator, "classes_"):
        return np.asarray(estimator.predict_proba(X)[:, 1])
    return np.asarray(estimator.predict(X))


def predict_ends(estimator: Any, X: FloatArray) -> FloatArray:
    """The predictions of the constrained and of the unconstrained model: (n, 2)."""
    tradeoff = estimator.tradeoff_
    values = np.asarray(tradeoff.predict(X, [0.0, 1.0])).T
    loss = getattr(tradeoff, "loss", None)
    return values if loss is None else np.asarray(loss.response(values))


def select_penalty(
    loss: str,
    rows: EncodedRows,
    space: dict[str, Any],
    constraint: MeanParity,
    seed: int,
    done: Callable[[int], None] = lambda fits: None,
) -> tuple[Any, float]:
    """The estimator with the smallest squared error on three folds, and this error.

    `done` receives the number of fits after each.
    """
    candidates = [make_estimator(loss, alpha, space, constraint) for alpha in _PENALTIES]
    errors = []
    for number, candidate in enumerate(candidates):
        errors.append(error_on_folds(candidate, rows, seed, done, _FOLDS * number))
        done(_FOLDS * (number + 1))  # of a candidate that fails, not all folds are fitted
    best = int(np.argmin(errors))
    return candidates[best], errors[best]


def error_on_folds(
    estimator: Any,
    rows: EncodedRows,
    seed: int,
    done: Callable[[int], None] = lambda fits: None,
    before: int = 0,
) -> float:
    """Mean squared error on three folds; infinite where a fit fails.

    `done` receives the number of fits, of which there have been some `before`.
    """
    weights = rows.metadata.get("sample_weight")
    weights = np.ones(len(rows.y)) if weights is None else np.asarray(weights, dtype=float)
    errors = np.zeros(len(rows.y))
    splits = KFold(_FOLDS, shuffle=True, random_state=seed).split(rows.X)
    for number, (train, test) in enumerate(splits):
        if number:
            done(before + number)
        part = rows.take(train)
        try:
            with warnings.catch_warnings(), np.errstate(over="ignore", invalid="ignore"):
                warnings.simplefilter("ignore", ParityWarning)
                warnings.simplefilter("ignore", ConvergenceWarning)
                estimator.fit(part.X, part.y, **part.metadata)
                errors[test] = (rows.y[test] - predict_values(estimator, rows.X[test])) ** 2
        except ValueError:
            return np.inf
    mean = float(np.average(errors, weights=weights))
    return mean if np.isfinite(mean) else np.inf
