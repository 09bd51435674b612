"""Fair regression by reductions (RBA): a mixture of regressors with nearly equal distributions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import Features, FloatArray
from meanparity.baselines.base import Baseline, check_range, require_groups, require_single_output
from meanparity.baselines.game import Costs, Grid, Mixture, Oracle, play
from meanparity.estimators.training import read_features
from meanparity.estimators.wrapped import check_regressor, fit_clone, predictions, weight_keyword
from meanparity.linalg import require_memory

_MOST = 10_000  # thresholds
_LEAST = 1e-6  # the game's multipliers go up to 1/slack


class ReductionRegressor(Baseline):
    r"""A random mixture of regressors whose predictions are distributed alike in all groups.

    The reduction of Agarwal et al., RBA in the paper, for statistical parity and squared loss::

        minimise  E (y − f(x))²   subject to  |P(f ≥ θ | group) − P(f ≥ θ)| ≤ slack

    for every group and every threshold θ of a grid, over mixtures f of regressors. The constrained
    problem is a game between multipliers of the constraints, updated by exponentiated gradients,
    and a regressor: the best prediction of each row on the grid at these multipliers is the target
    of a regression (the oracle). A linear programme over all answers so far ends the game early.
    Predictions are values of the grid's middles.

    Parameters
    ----------
    estimator : regressor, optional
        The oracle, any scikit-learn regressor whose `fit` takes `sample_weight`. By default least
        squares with an intercept, factored once for all rounds.
    slack : float, default=0.01
        ε, the allowed difference of distribution functions, from 1e-6 to 1.
    thresholds : int or array-like of shape (m,), optional
        Thresholds at equal steps, in the units of y, or how many. By default 41: from 0 to 1, as
        the authors have it, if y lies between these and takes up at least a quarter of the room,
        else from its smallest to its largest value.
    max_iter : int, default=50
        Rounds of the game, at most.
    sensitive_columns : int, str or list of them, optional
        Positions or names of columns of X that say who is in which group, instead of
        `sensitive_features`. They stay features as well unless `drop_sensitive`.
    drop_sensitive : bool, default=False
        Whether `sensitive_columns` are left out of the features. They may hold text then.

    Attributes
    ----------
    estimators_ : list
        The fitted regressors of the mixture.
    mixture_weights_ : (h,) array
        Their probabilities.
    thresholds_ : (m,) array
        The grid.
    disparity_ : float
        Largest difference of distribution functions on the training rows, of the random
        predictor.
    gap_, tolerance_ : float
        How far the mixture may be from the best one, in shares of the largest cost and as far as
        the oracle's answers tell, and at what distance the game ends.
    n_iter_, n_oracle_calls_ : int
        Rounds, and regressions that were fitted.
    n_features_in_, feature_names_in_
        Number and names of the columns seen in fit.

    Notes
    -----
    The constraint is about the mixture as a random predictor, `sample_predictions`. The mean of
    the mixture, `predict`, is the same for the same row and has the same means in groups, but its
    distributions may differ more than `slack`.

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

    def __init__(
        self,
        estimator: Any = None,
        *,
        slack: float = 0.01,
        thresholds: Any = None,
        max_iter: int = 50,
        sensitive_columns: Any = None,
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
        """Play the game.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
            Features; whatever the oracle reads.
        y : array-like of shape (n,)
            Targets.
        sensitive_features : array-like of shape (n,) or (n, r), series or data frame
            Sensitive columns; every combination of values that occurs is a group. Required unless
            `sensitive_columns` names columns of X.
        sample_weight : array-like of shape (n,), optional
            Weights, in the loss and in the distributions.
        """
        meaning = f"a number from {_LEAST:g}, such as 0.01, to 1"
        slack = check_range("slack", self.slack, _LEAST, 1, meaning)
        rounds: Any = self.max_iter
        if isinstance(rounds, bool) or not isinstance(rounds, Integral) or rounds < 1:
            raise ValueError(f"max_iter={rounds!r} is not a whole number of 1 or more.")
        if self.estimator is not None:
            self._check_oracle()
        training = self._read(
            X, y, sensitive_features, sample_weight, convert=self.estimator is None
        )
        require_groups(training.rows, type(self).__name__)
        target = require_single_output(training, type(self).__name__)
        grid = Grid(_thresholds(self.thresholds, target))
        groups, weights = training.rows.groups, training.weights
        assert groups is not None
        oracle = (
            _least_squares(training.X, weights)
            if self.estimator is None
            else self._oracle(training.X, weights)
        )
        costs = Costs.of(grid, target, groups.codes, weights)
        found = play(costs, oracle, slack=slack, max_iter=int(rounds))
        _warn(found, slack)
        self._table, self._grid, self._convert = training.table, grid, self.estimator is None
        self.estimators_ = list(found.hypotheses)
        self.mixture_weights_, self.thresholds_ = found.weights, grid.thresholds
        self.gap_, self.tolerance_, self.disparity_ = found.gap, found.tolerance, found.disparity
        self.n_iter_, self.n_oracle_calls_ = found.n_iter, found.n_oracle_calls
        return self

    def predict(self, X: Any) -> FloatArray:
        """The mean of the mixture for the rows of X, (n,); their groups are not needed.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
            Rows, with the columns that were there in fit.
        """
        values = self.mixture_values(X)
        mean = np.zeros(len(values))
        for column, weight in zip(values.T, self.mixture_weights_, strict=True):
            mean += weight * column  # in this order, whoever else is in the batch
        return mean

    def sample_predictions(self, X: Any, *, random_state: Any = None) -> FloatArray:
        """Predictions of the random predictor that the constraint is about: (n,).

        For each row one regressor of the mixture is drawn, whatever is drawn for the others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
            Rows, with the columns that were there in fit.
        random_state : int, RandomState or None
            Where the draws come from.
        """
        values = self.mixture_values(X)
        random = check_random_state(random_state)
        drawn = random.choice(len(self.mixture_weights_), len(values), p=self.mixture_weights_)
        return np.asarray(values[np.arange(len(values)), drawn])

    def mixture_values(self, X: Any) -> FloatArray:
        """Predictions of all h regressors of the mixture, whose weights are `mixture_weights_`.

        What the random predictor does on average follows from them without drawing.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
            Rows, with the columns that were there in fit.

        Returns
        -------
        (n, h) array
        """
        check_is_fitted(self, "mixture_weights_")
        features = read_features(self, self._table, X, reset=False, convert=self._convert)
        columns = [self._grid.snap(predictions(model, features)) for model in self.estimators_]
        return np.stack(columns, axis=1)

    def _check_oracle(self) -> None:
        check_regressor(self.estimator)
        if weight_keyword(self.estimator) is None:
            raise ValueError(
                f"The oracle {type(self.estimator).__name__} ignores weights: its fit takes no "
                "sample_weight. Use a regressor that does, such as RandomForestRegressor, Ridge or "
                "GradientBoostingRegressor."
            )

    def _oracle(self, X: Any, weights: FloatArray | None) -> Oracle:
        """The user's regressor."""

        def answer(target: FloatArray) -> tuple[Any, FloatArray]:
            model = fit_clone(self.estimator, X, target, weights)
            return model, predictions(model, X)

        return answer


def _warn(found: Mixture, slack: float) -> None:
    """Tell a game that ended too early, or where the oracle had no better answer."""
    message = ""
    if found.gap > found.tolerance:
        message = (
            f"After {found.n_iter} rounds the mixture may still cost {found.gap:.2g} more than the "
            f"best one, where {found.tolerance:.2g} was to be reached. Raise max_iter, or slack."
        )
    elif found.disparity > 1.1 * slack:
        message = (
            f"A disparity of {found.disparity:.2g} is left, above slack={slack:g}: the "
            "oracle's answers, which are no exact solutions, made it no smaller. Raise slack, or "
            "use another oracle, such as trees."
        )
    if message:
        warnings.warn(message, ConvergenceWarning, stacklevel=3)


@dataclass(frozen=True, eq=False, repr=False)
class LinearFunction:
    """``x ↦ xᵀcoef + intercept``, an answer of the least-squares oracle."""

    coef: FloatArray
    intercept: float

    def predict(self, X: Features) -> FloatArray:
        """Values at the rows of X: (n,)."""
        values: FloatArray = X @ self.coef + self.intercept
        return values


def _least_squares(X: Features, weights: FloatArray | None) -> Oracle:
    """Least squares of least norm, from one decomposition for all targets."""
    n, d = X.shape
    require_memory(
        3 * 8 * n * d,
        what=f"Least squares on {n:,} rows of {d:,} columns",
        advice="Use fewer columns, or another oracle.",
    )
    X = X.toarray() if sparse.issparse(X) else X
    share = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    middle, root = share @ X, np.sqrt(share)
    left, sizes, right = np.linalg.svd(root[:, None] * (X - middle), full_matrices=False)
    eps = float(np.finfo(float).eps)
    cut = max(n, d, 50) * eps * sizes.max(initial=0.0) + 8 * eps * np.linalg.norm(middle)
    keep = sizes > cut
    left, inverse = left[:, keep], right[keep].T / sizes[keep]

    def answer(target: FloatArray) -> tuple[Any, FloatArray]:
        mean = float(share @ target)
        coef = inverse @ (left.T @ (root * (target - mean)))
        model = LinearFunction(coef, mean - float(middle @ coef))
        return model, model.predict(X)

    return answer


def _thresholds(thresholds: Any, y: FloatArray) -> FloatArray:
    """The grid, (m,), that the parameter means for targets y, (n,)."""
    low, high = float(y.min()), float(y.max())
    if low >= 0 and high <= 1 and high - low >= 0.25:
        low, high = 0.0, 1.0
    thresholds = 41 if thresholds is None else thresholds
    if np.ndim(thresholds) == 0:
        whole = isinstance(thresholds, Integral) and not isinstance(thresholds, bool)
        if not whole or not 2 <= thresholds <= _MOST:
            raise ValueError(
                f"thresholds={thresholds!r}. Pass how many, from 2 to {_MOST}, or the thresholds "
                "themselves."
            )
        if low == high:
            raise ValueError(
                f"All y are {low:g}, so that thresholds have no range. Pass targets that differ, "
                "or the thresholds themselves."
            )
        return _fine(np.linspace(low, high, int(thresholds)))
    try:
        grid = np.asarray(thresholds, dtype=float)
    except (TypeError, ValueError):
        grid = np.zeros(0)
    steps = np.diff(grid) if grid.ndim == 1 else np.zeros(0)
    if not len(steps) or not np.isfinite(grid).all() or not steps[0] > 0:
        raise ValueError(f"thresholds={thresholds!r} are not rising numbers. Pass at least two.")
    if np.abs(steps - steps[0]).max() > 1e-6 * steps[0]:
        raise ValueError(
            f"thresholds have steps from {steps.min():g} to {steps.max():g}. Pass equal steps, for "
            "instance with numpy.linspace."
        )
    return _fine(grid)


def _fine(grid: FloatArray) -> FloatArray:
    """A grid that floating point can tell apart, or an error."""
    if not grid[1] - grid[0] > 64 * np.finfo(float).eps * np.abs(grid).max():
        raise ValueError(
            f"Thresholds from {grid[0]!r} to {grid[-1]!r} are too close for floating point. "
            "Subtract a constant from y, or use fewer thresholds."
        )
    return grid
