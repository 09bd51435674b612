"""What the two methods with a bound on R² share: two stages, and predictions that need S."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import FloatArray
from meanparity.baselines.base import AwareBaseline, check_range, require_single_output
from meanparity.baselines.two_stage import Spectrum, TwoStage
from meanparity.estimators.training import Training, read_features, read_people, refuse_identifier


@dataclass(frozen=True, eq=False)
class Prepared:
    """What the second stage starts from.

    Parameters
    ----------
    training : Training
        What fit got.
    stages : TwoStage
        The first stage.
    S, U : (n, e) and (n, d) arrays
        Sensitive features and what they leave of the others, both standardised.
    y, mean, unit : (n,) array, float, float
        Targets less their mean, in units of the largest, and both of these.
    share : (n,) array
        Share of each row in all weight.
    total : float
        All weight; n without weights.
    bound, alpha : float
        ε and λ.
    """

    training: Training
    stages: TwoStage
    S: FloatArray
    U: FloatArray
    y: FloatArray
    mean: float
    unit: float
    share: FloatArray
    total: float
    bound: float
    alpha: float

    def spectra(self) -> tuple[Spectrum, Spectrum]:
        """Of S and of U."""
        return (
            Spectrum.of(self.S, self.y, self.share, self.stages.s_rounding),
            Spectrum.of(self.U, self.y, self.share, self.stages.u_rounding),
        )


class BoundedRegression(AwareBaseline):
    """Base of the methods that bound the share of S in the variance of the predictions."""

    unfairness: float
    alpha: float
    fit_intercept: bool
    continuous: Any
    _flags: ClassVar = ("fit_intercept",)

    def _prepare(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Prepared:
        """Check what fit got, and do the first stage."""
        bound = check_range("unfairness", self.unfairness, 0, 1, "a number from 0 to 1")
        alpha = check_range("alpha", self.alpha, 0, np.inf, "0 (no penalty) or more")
        training = self._read(X, y, sensitive_features, sample_weight, continuous=self.continuous)
        refuse_identifier(training.rows)
        target, weights = require_single_output(training, type(self).__name__), training.weights
        total = float(len(target) if weights is None else weights.sum())
        share = np.full(len(target), 1 / total) if weights is None else weights / total
        with np.errstate(over="ignore", invalid="ignore"):  # refused by name
            stages, S, U = TwoStage.fit(training.X, training.rows, share)
        mean = float(share @ target)
        unit = float(np.abs(target - mean).max()) or 1.0
        y = (target - mean) / unit
        return Prepared(training, stages, S, U, y, mean, unit, share, total, bound, alpha)

    def predict(self, X: Any, *, sensitive_features: Any = None) -> FloatArray:
        """Predictions for rows whose sensitive features are known.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows, with the columns that were there in fit.
        sensitive_features : array-like of shape (n,) or (n, r), series or data frame
            Their sensitive columns. Not needed where columns of X hold them: those that
            `sensitive_columns` names, or columns that tell the groups of all training rows.

        Returns
        -------
        (n,) array
        """
        check_is_fitted(self, "r2_sensitive_")
        features = read_features(self, self._table, X, reset=False)
        if sensitive_features is None and not self._table.sensitive and self._stages.is_told:
            numbers = self._stages.recover(features)
        else:
            encoder = self._stages.encoder
            people = self._table, encoder.reading, X, sensitive_features, features.shape[0]
            numbers = encoder.encode(read_people(self, *people))
        S = self._stages.sensitive(numbers)
        return self._mean + self._unit * self._evaluate(S, self._stages.rest(features, S))

    def _evaluate(self, S: FloatArray, U: FloatArray) -> FloatArray:
        """Predictions less the mean of y, in its unit, from both kinds of features."""
        return np.asarray(S @ self._on_sensitive + U @ self._on_rest)

    def _store(self, problem: Prepared, sensitive: float, rest: float) -> None:
        """Store what predictions need, and the variances that S and U have in them."""
        self._table, self._stages = problem.training.table, problem.stages
        self._mean, self._unit = problem.mean if self.fit_intercept else 0.0, problem.unit
        self.r2_sensitive_ = sensitive / (sensitive + rest) if sensitive > 0 else 0.0

    def _store_linear(
        self, problem: Prepared, on_sensitive: FloatArray, on_rest: FloatArray
    ) -> None:
        """Store coefficients of standardised S, (e,), and U, (r,), and in the units of X and S."""
        stages = self._stages
        self._on_sensitive, self._on_rest = on_sensitive, on_rest
        coef = self._unit * on_rest / stages.u_scale
        self.coef_ = np.zeros(problem.training.X.shape[1])
        self.coef_[stages.kept] = coef
        self.coef_sensitive_ = (self._unit * on_sensitive - stages.slopes @ coef) / stages.s_scale
        self.intercept_ = float(
            self._mean - stages.x_mean @ coef - stages.s_mean @ self.coef_sensitive_
        )
