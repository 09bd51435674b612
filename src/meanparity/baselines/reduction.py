"""Fair regression by reductions (RBA): a random mixture of regressors with equal distributions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
import scipy.linalg
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import Columns, Features, FloatArray
from meanparity.baselines.base import READS_WITH, Baseline, check_range, shares
from meanparity.baselines.game import Costs, Grid, Mixture, Oracle, play
from meanparity.estimators._wrapped import check_regressor, fit_clone, predictions, weight_keyword
from meanparity.exceptions import warn
from meanparity.linalg.memory import require_memory
from meanparity.state import stored

_MOST_THRESHOLDS = 10_000
_SMALLEST_SLACK = 1e-6  # the multipliers of the game go up to 1/slack


@stored(
    "ReductionRegressor",
    predicts_with=(*READS_WITH, "_grid", "estimators_", "mixture_weights_"),
)
class ReductionRegressor(Baseline):
    r"""A random mixture of regressors whose predictions have similar distributions in all groups.

    The reduction of Agarwal et al., called RBA in the paper, for statistical parity and squared
    loss::

        minimise  E (y − f(x))²   subject to  |P(f ≥ θ | group) − P(f ≥ θ)| ≤ slack

    for every group and every threshold θ of a grid, over mixtures f of regressors. The constrained
    problem is a game between the multipliers of the constraints, which are updated by exponentiated
    gradients, and a regressor (the oracle), whose targets are the best predictions on the grid at
    these multipliers. A linear programme over all regressors so far ends the game early.
    Predictions lie in the middle between two thresholds.

    Parameters
    ----------
    estimator : regressor, optional
        The oracle, any scikit-learn regressor whose `fit` takes `sample_weight`. The default is
        least squares with an intercept, factored once for all rounds.
    slack : float, default=0.01
        ε, the largest allowed difference of distribution functions, from 1e-6 to 1.
    thresholds : int or array-like of shape (m,), optional
        Equally spaced thresholds in the units of y, or their number. The default is 41: from 0 to
        1, as in the authors' code, if y lies in this range and covers at least a quarter of it, and
        otherwise from the smallest to the largest y.
    max_iter : int, default=50
        Largest number of rounds of the game.
    sensitive_columns : int, str or list of them, optional
        Positions or names of sensitive columns of X, instead of `sensitive_features`. They are
        also used as features unless `drop_sensitive` is set.
    drop_sensitive : bool, default=False
        Do not use the sensitive columns as features. They may then hold text.

    Attributes
    ----------
    estimators_ : list
        The fitted regressors of the mixture.
    mixture_weights_ : (h,) array
        Their probabilities.
    thresholds_ : (m,) array
        The thresholds.
    disparity_ : float
        Largest difference of distribution functions of the random predictor on the training rows.
    excess_cost_, tolerance_ : float
        How far the mixture may be from the best one, as a share of the largest cost and judged by
        the regressors so far, and the distance at which the game ends.
    n_iter_, n_oracle_calls_ : int
        Number of rounds, and of regressions that were fitted.
    n_features_in_, feature_names_in_
        Number and names of the columns of X in `fit`.

    See Also
    --------
    BarycenterRegressor : Equal distributions by moving predictions.

    Notes
    -----
    The constraint is about the mixture as a random predictor, `sample_predictions`. The mean of
    the mixture, `predict`, is deterministic and has the same group means, but its distributions
    may differ by more than `slack`.

    References
    ----------
    Agarwal, A., Dudík, M. and Wu, Z. S. (2019). Fair Regression: Quantitative Definitions and
    Reduction-Based Algorithms. ICML.

    Examples
    --------
    >>> from meanparity.datasets import make_synthetic
    >>> from meanparity.metrics import wasserstein_gap
    >>> X, y, s = make_synthetic(500, random_state=0)
    >>> for slack in (1.0, 0.05):
    ...     model = ReductionRegressor(slack=slack).fit(X, y, sensitive_features=s)
    ...     print(model.disparity_ <= 1.01 * slack)
    True
    True
    """

    estimators_: list[Any]
    mixture_weights_: FloatArray
    thresholds_: FloatArray
    disparity_: float
    excess_cost_: float
    tolerance_: float
    n_iter_: int
    n_oracle_calls_: int

    def __init__(
        self,
        estimator: Any = None,
        *,
        slack: float = 0.01,
        thresholds: Any = None,
        max_iter: int = 50,
        sensitive_columns: Columns = None,
        drop_sensitive: bool = False,
    ) -> None:
        self.estimator = estimator
        self.slack = slack
        self.thresholds = thresholds
        self.max_iter = max_iter
        self.sensitive_columns = sensitive_columns
        self.drop_sensitive = drop_sensitive

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> ReductionRegressor:
        """Fit the mixture by playing the game.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
            Features, in any form that the oracle accepts.
        y : array-like of shape (n,)
            Targets.
        sensitive_features : array-like of shape (n,) or (n, r), series or data frame
            Sensitive columns. Every combination of values that occurs is a group. Required unless
            `sensitive_columns` is set.
        sample_weight : array-like of shape (n,), optional
            Weights in the loss and in the distributions.
        """
        meaning = f"a number from {_SMALLEST_SLACK:g} to 1, such as 0.01"
        slack = check_range("slack", self.slack, _SMALLEST_SLACK, 1, meaning)
        rounds: Any = self.max_iter
        if isinstance(rounds, bool) or not isinstance(rounds, Integral) or rounds < 1:
            raise ValueError(f"max_iter={rounds!r} is not a positive integer. Pass at least 1.")
        if self.estimator is not None:
            _check_oracle(self.estimator)
        to_numbers = self.estimator is None
        data = self._read(X, y, sensitive_features, sample_weight, to_numbers=to_numbers)
        groups, target = self._require_groups(data.rows), self._require_single_output(data)
        grid = Grid(_read_thresholds(self.thresholds, target))
        costs = Costs.from_targets(grid, target, groups.codes, data.weights)
        oracle: Oracle = partial(_fit_oracle, self.estimator, data.X, data.weights)
        if self.estimator is None:
            oracle = LeastSquares.factorise(data.X, data.weights)
        found = play(costs, oracle, slack=slack, max_iter=int(rounds))
        _warn_about_result(found, slack)
        return self._store(
            data,
            to_numbers,
            _grid=grid,
            estimators_=list(found.hypotheses),
            mixture_weights_=found.weights,
            thresholds_=grid.thresholds,
            excess_cost_=found.excess_cost,
            tolerance_=found.tolerance,
            disparity_=found.disparity,
            n_iter_=found.n_iter,
            n_oracle_calls_=found.n_oracle_calls,
        )

    def predict(self, X: Any) -> FloatArray:
        """The mean of the mixture for the rows of X, (n,); their sensitive features are not needed.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
            Rows with the same columns as in `fit`.
        """
        values = self.mixture_values(X)
        mean = np.zeros(len(values))
        for column, weight in zip(values.T, self.mixture_weights_, strict=True):
            mean += weight * column  # in this order for every batch of rows
        return mean

    def sample_predictions(self, X: Any, *, random_state: Any = None) -> FloatArray:
        """Predictions of the random predictor that the constraint is about: (n,).

        For each row, a regressor of the mixture is drawn independently of the other rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
            Rows with the same columns as in `fit`.
        random_state : int, RandomState or None
            Random seed.
        """
        values = self.mixture_values(X)
        random = check_random_state(random_state)
        drawn = random.choice(len(self.mixture_weights_), len(values), p=self.mixture_weights_)
        return np.asarray(values[np.arange(len(values)), drawn])

    def mixture_values(self, X: Any) -> FloatArray:
        """The predictions of all h regressors, whose weights are `mixture_weights_`.

        Expectations over the random predictor can be computed from them without drawing.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
            Rows with the same columns as in `fit`.

        Returns
        -------
        (n, h) array
        """
        check_is_fitted(self, "mixture_weights_")
        features = self._read_features(X)
        columns = [self._grid.snap(predictions(model, features)) for model in self.estimators_]
        return np.stack(columns, axis=1)


def _check_oracle(estimator: Any) -> None:
    check_regressor(estimator)
    if weight_keyword(estimator) is None:
        raise ValueError(
            f"The oracle {type(estimator).__name__} ignores weights: its fit takes no "
            "sample_weight. Use a regressor that does, such as RandomForestRegressor, Ridge or "
            "GradientBoostingRegressor."
        )


def _warn_about_result(found: Mixture, slack: float) -> None:
    """Warn if the game ended too early, or if the oracle could not reduce the disparity further."""
    if found.excess_cost > found.tolerance:
        message = (
            f"After {found.n_iter} rounds the mixture may still cost {found.excess_cost:.2g} more "
            f"than the best one, with a tolerance of {found.tolerance:.2g}. Raise max_iter, or "
            "slack."
        )
    elif found.disparity > 1.1 * slack:
        message = (
            f"A disparity of {found.disparity:.2g} remains on the training rows, above "
            f"slack={slack:g}: the oracle's regressions, which solve their problems only "
            "approximately, did not reduce it further. Raise slack, or use another oracle, such as "
            "trees."
        )
    else:
        return
    warn(message, ConvergenceWarning)


def _fit_oracle(
    estimator: Any, X: Any, weights: FloatArray | None, target: FloatArray
) -> tuple[Any, FloatArray]:
    """A copy of the user's regressor fitted to targets, (n,), and its predictions, (n,)."""
    model = fit_clone(estimator, X, target, weights)
    return model, predictions(model, X)


@stored("LinearModel")
@dataclass(frozen=True, eq=False, repr=False)
class LinearModel:
    """``x ↦ xᵀcoef + intercept``, a regressor of the least-squares oracle."""

    coef: FloatArray
    intercept: float

    def predict(self, X: Features) -> FloatArray:
        """Values at the rows of X: (n,)."""
        return np.asarray(X @ self.coef + self.intercept)


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """The default oracle: least squares of least norm, from one decomposition for all targets.

    Parameters
    ----------
    X : (n, d) array
        Features.
    middle : (d,) array
        Their weighted means.
    share : (n,) array
        Weights that sum to one.
    inverse : (d, n) array
        Pseudoinverse of the centred features, weighted by the roots of `share`.
    """

    X: FloatArray
    middle: FloatArray
    share: FloatArray
    inverse: FloatArray

    @classmethod
    def factorise(cls, X: Features, weights: FloatArray | None) -> LeastSquares:
        """Decompose features, (n, d), with weights, (n,)."""
        n, d = X.shape
        require_memory(
            3 * 8 * n * d,
            what=f"Least squares on {n:,} rows of {d:,} columns",
            advice="Use fewer columns, or another oracle.",
        )
        X = X.toarray() if sparse.issparse(X) else X
        share = shares(weights, n)
        middle, eps = share @ X, float(np.finfo(float).eps)
        centred = np.sqrt(share)[:, None] * (X - middle)
        inverse = scipy.linalg.pinv(
            centred, rtol=max(n, d, 50) * eps, atol=8 * eps * float(np.linalg.norm(middle))
        )
        return cls(X, middle, share, inverse)

    def __call__(self, target: FloatArray) -> tuple[LinearModel, FloatArray]:
        """The function fitted to targets, (n,), and its values, (n,)."""
        mean = float(self.share @ target)
        coef = self.inverse @ (np.sqrt(self.share) * (target - mean))
        model = LinearModel(coef, mean - float(self.middle @ coef))
        return model, model.predict(self.X)


def _read_thresholds(thresholds: Any, y: FloatArray) -> FloatArray:
    """The thresholds, (m,), that the parameter stands for with targets y, (n,)."""
    thresholds = 41 if thresholds is None else thresholds
    grid = _grid(thresholds, y) if np.ndim(thresholds) == 0 else _listed(thresholds)
    if not grid[1] - grid[0] > 64 * np.finfo(float).eps * np.abs(grid).max():
        raise ValueError(
            f"Thresholds from {grid[0]!r} to {grid[-1]!r} are too close for floating point. "
            "Subtract a constant from y, or use fewer thresholds."
        )
    return grid


def _grid(count: Any, y: FloatArray) -> FloatArray:
    """A number of thresholds in the range of y."""
    whole = isinstance(count, Integral) and not isinstance(count, bool)
    if not whole or not 2 <= count <= _MOST_THRESHOLDS:
        raise ValueError(
            f"thresholds={count!r} is neither a number from 2 to {_MOST_THRESHOLDS} nor a list of "
            "thresholds. Pass one of these."
        )
    low, high = float(y.min()), float(y.max())
    if low == high:
        raise ValueError(
            f"All y are {low:g}, so the thresholds have no range. Pass targets that differ, or the "
            "thresholds themselves."
        )
    if low >= 0 and high <= 1 and high - low >= 0.25:
        low, high = 0.0, 1.0
    return np.linspace(low, high, int(count))


def _listed(thresholds: Any) -> FloatArray:
    """Thresholds that were passed."""
    try:
        grid = np.asarray(thresholds, dtype=float)
    except (TypeError, ValueError):
        grid = np.zeros(0)
    steps = np.diff(grid) if grid.ndim == 1 else np.zeros(0)
    if not len(steps) or not np.isfinite(grid).all() or not steps[0] > 0:
        raise ValueError(
            f"thresholds={thresholds!r} are not increasing numbers. Pass at least two."
        )
    if np.abs(steps - steps[0]).max() > 1e-6 * steps[0]:
        raise ValueError(
            f"thresholds have steps from {steps.min():g} to {steps.max():g}. Pass equal steps, for "
            "instance with numpy.linspace."
        )
    return grid
