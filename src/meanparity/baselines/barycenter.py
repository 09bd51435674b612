"""Wasserstein barycentre: a regressor's predictions, moved to one distribution for all groups."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import Columns, FloatArray
from meanparity.baselines.base import READS_WITH, AwareBaseline, check_range
from meanparity.data.groups import Groups
from meanparity.estimators._wrapped import check_regressor, fit_clone, predictions
from meanparity.exceptions import warn
from meanparity.metrics import wasserstein_gap
from meanparity.state import stored

_ROUNDING = 64 * np.finfo(float).eps  # predictions this close are equal
_LARGE_GAP = 0.25  # a gap above this share of the regressor's own causes a warning


@stored(
    "BarycenterRegressor",
    predicts_with=(*READS_WITH, "_schema", "_barycentre", "_unfairness", "estimator_"),
)
class BarycenterRegressor(AwareBaseline):
    r"""A regressor whose predictions are moved to the same distribution in every group.

    The Wasserstein barycentre of Chzhen et al. and Le Gouic et al. For a regressor f, let F_s be
    the distribution function of its predictions in group s, Q_s their quantile function, and p_s
    the share of the group. Then::

        g(x, s) = Σ_s' p_s' Q_s'(F_s(f(x)))

    is the predictor nearest to f in mean square whose distribution does not depend on the group.
    `unfairness` u moves it back towards f, ``(1 − u) g + u f``, which multiplies every Wasserstein
    distance between two groups by u. To predict a row, its group has to be known.

    Parameters
    ----------
    estimator : regressor, optional
        f, any scikit-learn regressor; `LinearRegression` by default. It gets X as it is: keep the
        sensitive columns in X if f should use them, as the authors do.
    unfairness : float, default=0.0
        u, from 0 (the same distribution in all groups) to 1 (f itself).
    sensitive_columns : int, str or list of them, optional
        Positions or names of sensitive columns of X, instead of `sensitive_features`, in `fit` and
        in `predict`. They are also used as features unless `drop_sensitive` is set.
    drop_sensitive : bool, default=False
        Do not use the sensitive columns as features. They may then hold text.

    Attributes
    ----------
    estimator_ : regressor
        The fitted f.
    group_shares_ : dict
        p, the share of each group.
    training_gap_ : float
        The Wasserstein gap that remains on the training rows; see `wasserstein_gap`.
    n_features_in_, feature_names_in_
        Number and names of the columns of X in `fit`.

    See Also
    --------
    meanparity.ParityAdjusted : Equal means by the smallest correction.

    Notes
    -----
    The distributions are those of the training rows: a value has its mid-rank among the predictions
    of its group, ranks between two of them are interpolated, and values outside their range count
    as the smallest or the largest. So a row's prediction does not depend on the other rows that
    are predicted. If few predictions are equal, the distributions on the training rows agree up to
    the grid of ranks, that is, up to 1/n for a group of n rows. The authors add a little noise to
    separate equal predictions; here they stay equal, and `training_gap_` says how large a gap that
    leaves.

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

    estimator_: Any
    group_shares_: dict[Hashable, float]
    training_gap_: float

    def __init__(
        self,
        estimator: Any = None,
        *,
        unfairness: float = 0.0,
        sensitive_columns: Columns = None,
        drop_sensitive: bool = False,
    ) -> None:
        self.estimator = estimator
        self.unfairness = unfairness
        self.sensitive_columns = sensitive_columns
        self.drop_sensitive = drop_sensitive

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> BarycenterRegressor:
        """Fit the regressor, and store the distributions of its predictions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
            Features, in any form that the regressor accepts.
        y : array-like of shape (n,)
            Targets.
        sensitive_features : array-like of shape (n,) or (n, r), series or data frame
            Sensitive columns. Every combination of values that occurs is a group. Required unless
            `sensitive_columns` is set.
        sample_weight : array-like of shape (n,), optional
            Weights in the regression and in the distributions.
        """
        unfairness = check_range("unfairness", self.unfairness, 0, 1, "a number from 0 to 1")
        if self.estimator is not None:
            check_regressor(self.estimator)
        to_numbers = self.estimator is None
        data = self._read(X, y, sensitive_features, sample_weight, to_numbers=to_numbers)
        groups, target = self._require_groups(data.rows), self._require_single_output(data)
        base = LinearRegression() if self.estimator is None else self.estimator
        model = fit_clone(base, data.X, target, data.weights)
        values = predictions(model, data.X)
        weights = np.ones(len(values)) if data.weights is None else data.weights
        barycentre = Barycentre.from_predictions(values, groups, weights)
        moved = barycentre.move(values, groups)
        between = (1 - unfairness) * moved + unfairness * values
        gap, moved_gap, base_gap = (
            wasserstein_gap(None, v, sensitive_features=groups.codes, sample_weight=weights)
            for v in (between, moved, values)
        )
        if moved_gap > _LARGE_GAP * base_gap:
            warn(
                f"A Wasserstein gap of {moved_gap:.3g} remains on the training rows, where the "
                f"regressor itself has {base_gap:.3g}: rows with equal predictions cannot be moved "
                "apart, and small groups cannot be moved to the same values. Use a regressor with "
                "fewer ties, or larger groups."
            )
        return self._store(
            data,
            to_numbers,
            _schema=data.rows.schema,
            _barycentre=barycentre,
            _unfairness=unfairness,
            estimator_=model,
            training_gap_=gap,
            group_shares_=dict(barycentre.shares),
        )

    def predict(self, X: Any, *, sensitive_features: Any = None) -> FloatArray:
        """Predict rows whose groups are known.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
            Rows with the same columns as in `fit`.
        sensitive_features : array-like of shape (n,) or (n, r), series or data frame
            Sensitive columns of the rows. Required unless `sensitive_columns` is set.

        Returns
        -------
        (n,) array
        """
        check_is_fitted(self, "estimator_")
        values = predictions(self.estimator_, self._read_features(X))
        groups = self._read_rows(self._schema, X, sensitive_features).groups
        assert groups is not None
        moved = self._barycentre.move(values, groups)
        return np.asarray((1 - self._unfairness) * moved + self._unfairness * values)


@stored("Barycentre")
@dataclass(frozen=True, eq=False)
class Barycentre:
    """The distribution to which the predictions of k groups are moved.

    Parameters
    ----------
    shares : dict
        The share of each group in the weight; see `Groups.keys`.
    distributions : dict
        The `Distribution` of the predictions of each group.
    """

    shares: dict[Hashable, float]
    distributions: dict[Hashable, Distribution]

    @classmethod
    def from_predictions(
        cls, values: FloatArray, groups: Groups, weights: FloatArray
    ) -> Barycentre:
        """The barycentre of predictions, (n,), with weights, (n,)."""
        found = cls({}, {})
        for code, key in enumerate(groups.keys):
            rows = groups.codes == code
            found.shares[key] = float(weights[rows].sum() / weights.sum())
            found.distributions[key] = Distribution.from_values(values[rows], weights[rows])
        return found

    def move(self, values: FloatArray, groups: Groups) -> FloatArray:
        """Move predictions, (n,), of rows in these groups to the barycentre: (n,)."""
        moved = np.empty_like(values)
        for code, key in enumerate(groups.keys):
            if key not in self.shares:
                raise ValueError(
                    f"The distribution of group {key!r} is not known, because fit did not see this "
                    f"group. It saw {len(self.shares)} groups, such as "
                    f"{next(iter(self.shares))!r}. Leave such rows out."
                )
            rows = groups.codes == code
            ranks = self.distributions[key].rank(values[rows])
            # added in the same order for every batch of rows
            moved[rows] = sum(
                share * self.distributions[other].quantile(ranks)
                for other, share in self.shares.items()
            )
        return moved


@stored("Distribution")
@dataclass(frozen=True, eq=False)
class Distribution:
    """A distribution on finitely many values, with interpolated ranks and quantiles.

    Parameters
    ----------
    values : (v,) array
        The distinct values in ascending order; those that differ only by rounding count as one.
    ranks : (v,) array
        Their mid-ranks: the share of smaller values plus half the share of equal ones.

    Examples
    --------
    >>> three = Distribution.from_values(np.array([1.0, 2.0, 2.0]), np.ones(3))
    >>> three.rank(np.array([0.0, 1.0, 2.0])).round(3)
    array([0.167, 0.167, 0.667])
    >>> three.quantile(np.array([0.667])).round(2)
    array([2.])
    """

    values: FloatArray
    ranks: FloatArray

    @classmethod
    def from_values(cls, values: FloatArray, weights: FloatArray) -> Distribution:
        """The distribution of values, (n,), with weights, (n,)."""
        order = np.argsort(values, kind="stable")
        values, share = values[order], weights[order] / weights.sum()
        # predictions of equal rows may differ by rounding
        same = _ROUNDING * (np.abs(values) + np.median(np.abs(values)))
        which = np.cumsum(np.diff(values, prepend=values[0]) > same)
        spans = np.searchsorted(which, np.arange(which[-1] + 1), side="right") - 1
        wide = values[spans] - values[np.append(0, spans[:-1] + 1)] > 2 * same[spans]
        if wide.any():  # a chain of small steps is not a tie
            steps = np.diff(values, prepend=values[0]) > np.where(wide[which], 0.0, same)
            which = np.cumsum(steps)
        mass = np.bincount(which, weights=share)
        distinct = np.bincount(which, weights=share * values) / mass
        return cls(distinct, np.cumsum(mass) - mass / 2)

    def rank(self, values: FloatArray) -> FloatArray:
        """Interpolated mid-ranks of values, (n,): (n,)."""
        return np.interp(values, self.values, self.ranks)

    def quantile(self, ranks: FloatArray) -> FloatArray:
        """Interpolated values at mid-ranks, (n,): (n,)."""
        return np.interp(ranks, self.ranks, self.values)
