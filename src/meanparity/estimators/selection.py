"""Choosing among candidates by their predictions for held-out rows."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from scipy import stats
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import indexable
from sklearn.utils.validation import _num_samples

from meanparity._typing import FloatArray, IntArray
from meanparity.constraints import Constraint
from meanparity.constraints.functionals import Functionals
from meanparity.constraints.left_out import MOST_CELLS, LeftOut
from meanparity.data.fit_input import FitInput
from meanparity.data.groups import group_sums
from meanparity.data.rows import Rows, refuse_identifier
from meanparity.estimators._base import conditions
from meanparity.estimators._price import Price, price_of
from meanparity.exceptions import ParityWarning, warn
from meanparity.solvers.held_out import LeaveOneOut, Smoother, predict_folds
from meanparity.solvers.problem import ConstrainedProblem, Solver
from meanparity.state import stored

Candidate = dict[str, Any]
Tried = tuple[Candidate, FloatArray, FloatArray]  # held-out predictions of the model and the free
_CONFIDENCE = 0.95  # of upper limits of gaps
_TIE = 1e-3  # of the smallest loss: what is that close is as good
_ROUNDING = 5e-3  # of the variance, by which the held-out error of a constant is off


@stored("SmallestLoss", any_number=("max_gap",))
@dataclass(frozen=True)
class SmallestLoss:
    """The smallest squared error on held-out rows, among candidates whose gap is shown to be small.

    Held-out predictions come from many fits, whose gaps have different signs and average out, so
    the gap of their mean says little about the gap of one fit. What is compared with `max_gap` is
    therefore an upper limit (95 %, for all groups together) of the size of the gap that a fit to as
    many rows has on rows that it did not see.

    Losses within 0.1 % of the smallest count as equal, as the rows do not tell them apart. Among
    these, cross-validation takes the candidate that predicts best without the constraint. A model
    that parity makes nearly constant predicts equally well with any penalty, and the largest would
    make the free model nearly constant too.

    Parameters
    ----------
    max_gap : float, default=inf
        The largest gap that is allowed, in the units of y. If no candidate is shown to be within,
        a warning says so, and the one with the smallest upper limit is chosen.

    See Also
    --------
    meanparity.metrics.parity_scorer : Gaps as scores in scikit-learn's searches.

    Examples
    --------
    >>> SmallestLoss().choose(np.array([1.0, 0.8, 0.9]), np.array([0.1, 0.5, 0.2]))
    1
    >>> SmallestLoss(max_gap=0.3).choose(np.array([1.0, 0.8, 0.9]), np.array([0.1, 0.5, 0.2]))
    2
    """

    max_gap: float = np.inf

    def __post_init__(self) -> None:
        value: Any = self.max_gap
        if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= 0:
            raise ValueError(
                f"max_gap={self.max_gap!r}. Pass a number of 0 or more, in the units of y."
            )

    def __call__(self, cv_results: dict[str, Any]) -> int:
        """Which row of the results of a scikit-learn search, whose `refit` this is.

        Its ``scoring`` names two scores: ``{"loss": "neg_mean_squared_error", "gap":
        parity_scorer()}``.
        """
        names = [f"mean_test_{name}" for name in ("loss", "gap")]
        if not set(names) <= set(cv_results):
            raise ValueError(
                "The search has no scores named 'loss' and 'gap'. Pass scoring={'loss': "
                "'neg_mean_squared_error', 'gap': parity_scorer()}."
            )
        scores = [np.asarray(cv_results[name], dtype=float) for name in names]
        if (scores[1] > 0).any():
            raise ValueError(
                f"The score 'gap' is {scores[1].max():g}, but minus a gap is never positive. "
                "Pass a metric that is better small, such as parity_scorer('max_mean_gap')."
            )
        failed = np.inf  # no score at all
        losses, gaps = (np.nan_to_num(-score, nan=failed) for score in scores)
        splits = [name for name in cv_results if re.fullmatch(r"split\d+_test_gap", name)]
        if len(splits) > 1 and self.max_gap < np.inf:
            sizes = np.nan_to_num(-np.stack([cv_results[name] for name in splits]), nan=failed)
            with np.errstate(invalid="ignore"):
                spread = np.nan_to_num(sizes.std(axis=0, ddof=1), nan=failed)
            # where the gap of one more fit lies, from those of the splits
            quantile = stats.t.ppf(_CONFIDENCE, len(splits) - 1)
            gaps = gaps + quantile * spread * np.sqrt(1 + 1 / len(splits))
        return self.choose(losses, gaps)

    def choose(
        self, losses: FloatArray, gaps: FloatArray, free_losses: FloatArray | None = None
    ) -> int:
        """Position of the best of p candidates; the last of equals.

        Parameters
        ----------
        losses, gaps : (p,) arrays
            Losses, and upper limits of gaps.
        free_losses : (p,) array, optional
            Losses without the constraint, which decide between losses that are nearly equal.
        """
        gaps = np.where(losses < np.inf, gaps, np.inf)  # what failed is chosen last
        allowed = gaps <= self.max_gap
        if not allowed.any() and np.isfinite(gaps).any():
            warn(
                f"No candidate is shown to have gaps of at most max_gap={self.max_gap:g} on rows "
                f"that were not seen: the smallest upper limit of a gap is {gaps.min():.4g}, and "
                "the candidate that has it is chosen. Allow a larger gap, or use more rows."
            )
        key = np.where(allowed, losses, np.inf) if allowed.any() else gaps
        if free_losses is not None and allowed.any() and np.isfinite(key.min()):
            key = np.where(key <= (1 + _TIE) * key.min(), free_losses, np.inf)
        return int(len(key) - 1 - np.argmin(key[::-1]))


@dataclass(frozen=True, eq=False)
class Found:
    """Results of cross-validation.

    Parameters
    ----------
    candidates : list of dict
        Parameters, in the order in which they were tried.
    losses, gaps : (p,) arrays
        Mean squared error and largest gap of the predictions for held-out rows.
    gap_limits : (p,) array
        Upper limits of the largest gap of a fit on rows that it did not see.
    best : int
        Which was chosen.
    free_losses : (p,) array
        Mean squared errors of the predictions of the free models for held-out rows.
    best_free : int
        The smallest of them.
    price : Price or None
        How much less the chosen model explains than the best free one, on held-out rows; None for
        several outputs.
    """

    candidates: list[Candidate]
    losses: FloatArray
    gaps: FloatArray
    gap_limits: FloatArray
    best: int
    free_losses: FloatArray
    best_free: int
    price: Price | None

    @property
    def results(self) -> dict[str, Any]:
        """The table: a column for each parameter, loss, gap and rank."""
        order = np.argsort(np.argsort(self.losses, kind="stable"), kind="stable") + 1
        names = list(self.candidates[0])
        return {
            **{
                f"param_{name}": [candidate[name] for candidate in self.candidates]
                for name in names
            },
            "mean_squared_error": self.losses,
            "unconstrained_mean_squared_error": self.free_losses,
            "max_gap": self.gaps,
            "gap_limit": self.gap_limits,
            "rank_mean_squared_error": order,
        }


def join_found(parts: Sequence[Found]) -> Found:
    """Results about candidates of several searches on the same rows, in their order."""
    starts = np.cumsum([0, *(len(part.candidates) for part in parts)])
    losses, gaps, limits, free = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("losses", "gaps", "gap_limits", "free_losses")
    )
    chosen = min(range(len(parts)), key=lambda i: parts[i].losses[parts[i].best])
    without = min(range(len(parts)), key=lambda i: parts[i].free_losses[parts[i].best_free])
    price, of_free = parts[chosen].price, parts[without].price
    if price is not None and of_free is not None:
        price = replace(of_free, now=price.now)
    return Found(
        [candidate for part in parts for candidate in part.candidates],
        losses,
        gaps,
        limits,
        int(starts[chosen] + parts[chosen].best),
        free,
        int(starts[without] + parts[without].best_free),
        price,
    )


def select(
    constraint: Constraint, data: FitInput, predictions: Iterator[Tried], scoring: SmallestLoss
) -> Found:
    """Choose among candidates by their predictions, (n, m), for rows that were held out."""
    weights = np.ones(len(data.Y)) if data.weights is None else data.weights
    between = constraint.between_groups(data.rows)
    candidates, losses, free_losses, gaps, limits = [], list[float](), list[float](), [], []
    best_free = data.Y
    for candidate, predicted, free in predictions:
        for of_model, values in ((losses, predicted), (free_losses, free)):
            errors = ((data.Y - values) ** 2).mean(axis=1)
            of_model.append(float(weights @ errors / weights.sum()))
        if free_losses[-1] <= min(free_losses):
            best_free = free
        compared = constraint.compared(predicted, data.Y)
        candidates.append(candidate)
        found = np.abs(between.gaps(compared))
        gaps.append(float(found.max(initial=0.0)))
        limits.append(float((found + _margins(between, compared)).max(initial=0.0)))
    of_free = np.array(free_losses)
    best = scoring.choose(np.array(losses), np.array(limits), of_free)
    at = int(len(of_free) - 1 - np.argmin(of_free[::-1]))  # the last of equals
    price = None
    if data.Y.shape[1] == 1:
        functionals, _ = conditions(constraint, data)
        price = price_of(
            data.rows,
            functionals,
            data.rows.cell_means(best_free)[:, 0],
            (losses[best], free_losses[at]),
            float(weights @ (data.Y[:, 0] - weights @ data.Y[:, 0] / weights.sum()) ** 2)
            / float(weights.sum()),
            where="on left-out rows",
            without=f"the best model without the constraint ({describe(candidates[at])})",
            rounding=_ROUNDING,
        )
    limited = np.array(gaps), np.array(limits)
    return Found(candidates, np.array(losses), *limited, best, of_free, at, price)


def describe(candidate: Candidate) -> str:
    """Such as "penalty 0.1, gamma 2"."""
    names = {"alpha": "penalty", "gamma": "gamma"}
    return ", ".join(
        f"{names[name]} {value:.3g}" for name, value in candidate.items() if value is not None
    )


def _margins(between: Functionals, values: FloatArray) -> FloatArray:
    """How much larger the gaps of one fit can be on rows that it did not see: (r, m).

    A pooled gap of held-out values has the sampling error of its rows, and the gap of one fit has
    an error of the same size, from the rows to which it was fitted. The residual variance is that
    of all rows, because a small group does not show its own, or that of the rows which a gap
    compares if it is larger.
    """
    n, k = len(values), between.table.shape[0]
    weights = np.ones(n) if between.weights is None else between.weights
    squares = group_sums(between.codes, weights**2, k)
    centred = values - np.average(values, axis=0, weights=weights if weights.any() else None)
    table = between.table.toarray() if issparse(between.table) else between.table
    gram = table.T @ (squares[:, None] * table)
    explained = np.linalg.lstsq(gram, between.apply(centred), rcond=None)[0]
    residuals = centred - between.spread(explained)
    variance = (residuals**2).sum(axis=0) / max(n - len(between) - 1, 1)
    coefficients = np.asarray(between.units @ table.T) ** 2  # of each cell, in each gap
    quantile = stats.norm.isf((1 - _CONFIDENCE) / max(len(coefficients), 1))
    own = group_sums(between.codes, (weights[:, None] * residuals) ** 2, k)
    variances = np.maximum(coefficients @ own, np.outer(coefficients @ squares, variance))
    return np.asarray(quantile * np.sqrt(2 * variances))


def require_leave_one_out(
    constraint: Constraint, data: FitInput, max_gap: float | None, solver: Solver
) -> None:
    """Refuse what has no closed form, and say what to do instead."""
    rows, weights = data.rows, data.weights
    reasons = {
        "parity on a pool": data.pool is not None,
        f"{type(constraint).__name__}, because {constraint.needs_rows}": constraint.needs_rows,
        "max_gap": max_gap is not None,
        "pooling": constraint.pooling is not None,
        f"{type(solver).__name__}, which does not say that it is exact": not solver.exact,
        f"weight_scope={constraint.weight_scope!r}": (rows.weights is None) != (weights is None),
        "weights of zero": weights is not None and not (weights > 0).all(),
        f"more than {MOST_CELLS} cells of sensitive and control values": len(rows.cells)
        > MOST_CELLS,
        "fewer than 3 rows": len(data.Y) < 3,
    }
    for reason, holds in reasons.items():
        if holds:
            raise ValueError(
                f"Leave-one-out has no closed form with {reason}. Pass cv=5, or another number of "
                "folds."
            )


def leave_one_out(
    left_out: LeftOut,
    problem: ConstrainedProblem,
    smoother: Smoother,
    alphas: FloatArray,
    unfairness: float,
) -> Iterator[tuple[float, FloatArray, FloatArray]]:
    """For each penalty, the predictions for each row by all others: on the dial, and free."""
    n, functions = len(problem.Y), len(smoother.values) + problem.fit_intercept
    if alphas.min() == 0 and functions >= n:
        raise ValueError(
            "Without a penalty (alpha=0) the fit goes through all rows, so leaving one out says "
            "nothing. Pass positive alphas."
        )
    rows = LeaveOneOut(smoother, problem.Y, left_out)
    for alpha, (fair, free) in zip(alphas, rows.predict(alphas), strict=True):
        yield float(alpha), (1 - unfairness) * fair + unfairness * free, free


Splits = list[tuple[Any, Any]]


def split(X: Any, y: Any, cv: Any) -> Splits:
    """The rows of training and test of each fold; every row is held out once."""
    X, y = indexable(X, y)
    splits = list(check_cv(cv).split(X, y))
    splits = [(np.ravel(train), np.ravel(test)) for train, test in splits]
    if not all(len(train) and len(test) for train, test in splits):
        raise ValueError(f"cv={cv!r} has a fold without rows. Leave it out, or pass fewer folds.")
    held_out = np.sort(np.concatenate([test for _, test in splits]))
    if not np.array_equal(held_out, np.arange(_num_samples(y))):
        raise ValueError(
            f"cv={cv!r} does not hold out every row exactly once. Pass a number of folds, or a "
            "splitter such as KFold."
        )
    return splits


def has_closed_folds(problem: ConstrainedProblem, splits: Splits) -> bool:
    """Whether one pass over folds, each predicted from sums over all others, serves every penalty.

    They have to be linear fits to more rows than columns.
    """
    n, d = problem.X.shape
    return (
        problem.pool_X is None
        and problem.kernel.is_linear
        and min(n - len(test) for _, test in splits) > d
        and all(
            len(train) + len(test) == n == len(np.union1d(train, test)) for train, test in splits
        )
    )


def closed_folds(
    constraint: Constraint,
    data: FitInput,
    problem: ConstrainedProblem,
    splits: Splits,
    alphas: FloatArray,
    unfairness: float,
) -> Iterator[tuple[float, FloatArray, FloatArray]]:
    """For each penalty, the predictions for each fold by fits to the others, in one pass."""

    def functionals(train: IntArray) -> Functionals:
        _require_weight(data, train)
        rows = data.rows.subset(train)
        try:
            return _settled(constraint, rows).functionals(rows)
        except ValueError as error:
            raise ValueError(f"Without the rows of a fold: {error}") from error

    tests = [np.asarray(test) for _, test in splits]
    both = predict_folds(problem, tests, functionals, alphas)
    for alpha, fair, free in zip(alphas, *both, strict=True):
        yield alpha, (1 - unfairness) * fair + unfairness * free, free


def folds(
    model: Any, constraint: Constraint, data: FitInput, splits: Splits, alphas: FloatArray
) -> Iterator[tuple[float, FloatArray, FloatArray]]:
    """The same by one fit for each fold, with an output for each target and penalty.

    What does not depend on the penalty, such as the kernel matrix, is computed once.
    """
    (n, m), p = data.Y.shape, len(alphas)
    model = clone(model).set_params(alpha=np.repeat(alphas, m))
    predicted, free = np.empty((n, p * m)), np.empty((n, p * m))
    for train, test in splits:
        _require_weight(data, train)
        part, X = data.subset(train), data.X[test]
        settled, Y = _settled(constraint, part.rows), np.tile(part.Y, p)
        if model._kernel().is_precomputed:
            part, X = replace(part, X=part.X[:, train]), X[:, train]
        part = replace(
            part,
            Y=Y,
            rows=replace(part.rows, y=Y.view()),
            single_output=False,
            spread=np.tile(part.spread, p),
        )
        with warnings.catch_warnings():  # those of candidates, in folds, are not about the fit
            warnings.simplefilter("ignore", ParityWarning)
            unconstrained = model._fit_input(model._solver(), settled, part).free
        function = model._function
        coef = np.hstack([function.coef, unconstrained.coef])
        predicted[test], free[test] = np.split(function.basis.functions.evaluate(X, coef), 2, 1)
        predicted[test] += function.intercept
        free[test] += unconstrained.intercept
    ends = (values.reshape(n, p, m).transpose(1, 0, 2) for values in (predicted, free))
    yield from zip(alphas, *ends, strict=True)


def _require_weight(data: FitInput, train: IntArray) -> None:
    for weights in (data.rows.weights, data.weights):
        if weights is not None and not weights[train].any():
            raise ValueError(
                f"In a fold, the weights in sample_weight of all {len(train)} training rows "
                "are zero. Leave out rows of weight zero, or shuffle: KFold(5, shuffle=True)."
            )


def _settled(constraint: Constraint, rows: Rows) -> Constraint:
    """The constraint, settled on the training rows of a fold."""
    if constraint.parity_on != "pool" and not constraint.reads_values:
        refuse_identifier(rows)
    return constraint.settle(rows)


def check_alphas(alphas: Any) -> FloatArray:
    """Penalties to try, (p,), sorted; each once."""
    try:
        values = np.unique(np.asarray(alphas, dtype=np.float64))
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if not values.size or not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError(f"alphas={alphas!r}. Pass numbers of 0 or more, at least one.")
    return values


def default_alphas(scale: float) -> FloatArray:
    """Two penalties for each power of ten, from 1e-5 to 1e3 times a typical kernel value."""
    return (scale if scale > 0 else 1.0) * np.logspace(-5, 3, 17)
