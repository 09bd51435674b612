"""Wasserstein barycentre: another regressor's predictions moved to one distribution for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import FloatArray
from meanparity.baselines.base import (
    AwareBaseline,
    check_range,
    require_groups,
    require_single_output,
)
from meanparity.estimators.training import read_features, read_people
from meanparity.estimators.wrapped import check_regressor, fit_clone, predictions
from meanparity.exceptions import warn
from meanparity.groups import Groups
from meanparity.metrics import wasserstein_gap

_LEFT = 0.25  # of the regressor's own gap, above which what is left is told


class BarycenterRegressor(AwareBaseline):
    r"""A regressor whose predictions are moved to the same distribution in every group.

    The Wasserstein barycentre of Chzhen et al. and Le Gouic et al.: with f a regressor, F_s the
    distribution function of its predictions in group s, Q_s their quantile function and p_s the
    share of the group::

        g(x, s) = Σ_s' p_s' Q_s'(F_s(f(x)))

    is the predictor of least squared distance from f whose distribution does not depend on the
    group. `unfairness` u goes back towards f, ``(1 − u) g + u f``, which multiplies every
    Wasserstein distance between two groups by u. To predict, the group of a row has to be known.

    Parameters
    ----------
    estimator : regressor, optional
        f, any scikit-learn regressor; `LinearRegression` by default. It gets X as it is: keep the
        sensitive columns in X to let f use them, as the authors do.
    unfairness : float, default=0.0
        u, from 0 (one distribution) to 1 (f itself).
    sensitive_columns : int, str or list of them, optional
        Positions or names of columns of X that say who is in which group, instead of
        `sensitive_features`, in `fit` and in `predict`. They stay features as well unless
        `drop_sensitive`.
    drop_sensitive : bool, default=False
        Whether `sensitive_columns` are left out of the features. They may hold text then.

    Attributes
    ----------
    estimator_ : regressor
        The fitted f.
    group_shares_ : dict
        p, the share of each group.
    training_gap_ : float
        The Wasserstein gap that is left on the training rows, see `wasserstein_gap`.
    n_features_in_, feature_names_in_
        Number and names of the columns seen in fit.

    Notes
    -----
    Distributions are those of the training rows: a value has its mid-rank among the predictions of
    its group, values between two of them are interpolated, and values beyond them are taken for
    the outermost. So a row's prediction does not depend on who else is predicted. On the training
    rows the distributions agree up to the grid of ranks, of order 1/n of a group, if few
    predictions are equal. The authors add a little noise to tell equal ones apart; here they stay
    equal, and `training_gap_` tells what that leaves.

    References
    ----------
    Chzhen, E., Denis, C., Hebiri, M., Oneto, L. and Pontil, M. (2020). Fair regression with
    Wasserstein barycenters. NeurIPS.

    Le Gouic, T., Loubes, J.-M. and Rigollet, P. (2020). Projection to fairness in statistical
    learning. arXiv:2005.11720.

    Examples
    --------
    >>> from meanparity.datasets import make_synthetic
    >>> from meanparity.metrics import wasserstein_gap
    >>> X, y, s = make_synthetic(500, random_state=0)
    >>> for unfairness in (0.0, 0.5, 1.0):
    ...     model = BarycenterRegressor(unfairness=unfairness).fit(X, y, sensitive_features=s)
    ...     predicted = model.predict(X, sensitive_features=s)
    ...     print(f"{wasserstein_gap(y, predicted, sensitive_features=s):.3f}")
    0.000
    0.237
    0.474
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        unfairness: float = 0.0,
        sensitive_columns: Any = None,
        drop_sensitive: bool = False,
    ) -> None:
        self.estimator = estimator
        self.unfairness = unfairness
        self.sensitive_columns = sensitive_columns
        self.drop_sensitive = drop_sensitive

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> BarycenterRegressor:
        """Fit the regressor, and keep the distributions of its predictions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
            Features; whatever the regressor reads.
        y : array-like of shape (n,)
            Targets.
        sensitive_features : array-like of shape (n,) or (n, r), series or data frame
            Sensitive columns; every combination of values that occurs is a group. Required unless
            `sensitive_columns` names columns of X.
        sample_weight : array-like of shape (n,), optional
            Weights, of the regression and in the distributions.
        """
        unfairness = check_range("unfairness", self.unfairness, 0, 1, "a number from 0 to 1")
        if self.estimator is not None:
            check_regressor(self.estimator)
        training = self._read(
            X, y, sensitive_features, sample_weight, convert=self.estimator is None
        )
        require_groups(training.rows, type(self).__name__)
        target = require_single_output(training, type(self).__name__)
        base = LinearRegression() if self.estimator is None else self.estimator
        estimator = fit_clone(base, training.X, target, training.weights)
        groups = training.rows.groups
        assert groups is not None
        weights = np.ones(len(target)) if training.weights is None else training.weights
        values = predictions(estimator, training.X)
        inside = [groups.codes == code for code in range(groups.n_groups)]
        self.estimator_ = estimator
        self._distributions = tuple(Distribution.of(values[i], weights[i]) for i in inside)
        self._shares = groups.sums(weights) / weights.sum()
        self._labels = groups.labels
        self.group_shares_ = dict(zip(groups.keys, self._shares.tolist(), strict=True))
        self._unfairness, self._convert = unfairness, self.estimator is None
        self._table, self._reading = training.table, training.rows.reading
        moved = self._move(values, groups, range(groups.n_groups))
        between = (1 - unfairness) * moved + unfairness * values
        self.training_gap_, left, before = (
            wasserstein_gap(None, v, sensitive_features=groups.codes, sample_weight=weights)
            for v in (between, moved, values)
        )
        if left > _LEFT * before:
            warn(
                f"A Wasserstein gap of {left:.3g} is left on the training rows, of {before:.3g}: "
                "rows of equal predictions cannot be moved apart, and groups of few rows not to "
                "the same values. Use a regressor with fewer ties, or larger groups."
            )
        return self

    def predict(self, X: Any, *, sensitive_features: Any = None) -> FloatArray:
        """Predictions for rows whose groups are known.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
            Rows, with the columns that were there in fit.
        sensitive_features : array-like of shape (n,) or (n, r), series or data frame
            Their sensitive columns. Required unless `sensitive_columns` names columns of X.

        Returns
        -------
        (n,) array
        """
        check_is_fitted(self, "estimator_")
        features = read_features(self, self._table, X, reset=False, convert=self._convert)
        values = predictions(self.estimator_, features)
        people = self._table, self._reading, X, sensitive_features, len(values)
        groups = read_people(self, *people).groups
        assert groups is not None
        moved = self._move(values, groups, self._known(groups))
        return np.asarray((1 - self._unfairness) * moved + self._unfairness * values)

    def _move(self, values: FloatArray, groups: Groups, which: Sequence[int]) -> FloatArray:
        """Values, (n,), at the barycentre; `which` tells the distribution of each group."""
        moved = np.empty_like(values)
        for code, at in enumerate(which):
            rows = groups.codes == code
            ranks = self._distributions[at].rank(values[rows])
            total = np.zeros(len(ranks))
            for share, part in zip(self._shares, self._distributions, strict=True):
                total += share * part.quantile(ranks)  # in this order, whoever else is there
            moved[rows] = total
        return moved

    def _known(self, groups: Groups) -> list[int]:
        """Which distribution belongs to each group of other rows."""
        pairs = zip(groups.keys, groups.labels, strict=True)
        unseen = [key for key, label in pairs if label not in self._labels]
        if unseen:
            raise ValueError(
                f"Nothing is known of the distribution of group {unseen[0]!r}: fit did not see it. "
                f"There were {len(self._labels)} groups, such as {next(iter(self.group_shares_))!r}"
                ". Leave such rows out."
            )
        return [self._labels.index(label) for label in groups.labels]


@dataclass(frozen=True, eq=False)
class Distribution:
    """A distribution on finitely many values, with interpolated ranks and quantiles.

    Parameters
    ----------
    values : (v,) array
        The different values, rising; those that differ by rounding only are one.
    ranks : (v,) array
        Their mid-ranks: the share of what lies below, and half of what is equal.

    Examples
    --------
    >>> three = Distribution.of(np.array([1.0, 2.0, 2.0]), np.ones(3))
    >>> three.rank(np.array([0.0, 1.0, 2.0])).round(3)
    array([0.167, 0.167, 0.667])
    >>> three.quantile(np.array([0.667])).round(2)
    array([2.])
    """

    values: FloatArray
    ranks: FloatArray

    @classmethod
    def of(cls, values: FloatArray, weights: FloatArray) -> Distribution:
        """The distribution of values, (n,), with weights, (n,)."""
        order = np.argsort(values, kind="stable")
        values, share = values[order], weights[order] / weights.sum()
        # equal rows may have predictions that differ by rounding
        same = 4 * np.finfo(float).eps * (np.abs(values) + np.median(np.abs(values)))
        which = np.cumsum(np.diff(values, prepend=values[0]) > same)
        spans = np.searchsorted(which, np.arange(which[-1] + 1), side="right") - 1
        wide = values[spans] - values[np.append(0, spans[:-1] + 1)] > 2 * same[spans]
        if wide.any():  # a chain of small steps is no tie
            steps = np.diff(values, prepend=values[0]) > np.where(wide[which], 0.0, same)
            which = np.cumsum(steps)
        mass = np.bincount(which, weights=share)
        distinct = np.bincount(which, weights=share * values) / mass
        return cls(distinct, np.cumsum(mass) - mass / 2)

    def rank(self, values: FloatArray) -> FloatArray:
        """Mid-ranks of any values: (n,)."""
        return np.interp(values, self.values, self.ranks)

    def quantile(self, ranks: FloatArray) -> FloatArray:
        """Values of any mid-ranks: (n,)."""
        return np.interp(ranks, self.ranks, self.values)
