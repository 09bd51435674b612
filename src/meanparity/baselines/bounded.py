"""The base of the two methods that bound R²: a first stage, and predictions that need S."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import FloatArray
from meanparity.baselines.base import READS_WITH, AwareBaseline, check_range, shares
from meanparity.baselines.two_stage import FirstStage, Part, Spectrum
from meanparity.data.fit_input import check_flag
from meanparity.data.rows import Rows, refuse_identifier

_LINEAR_ATTRIBUTES = ("coef_", "coef_sensitive_", "intercept_")
BOUNDED_PREDICTS_WITH = (
    *READS_WITH,
    "_first",
    "_of_s",
    "_of_u",
    "_mean",
    "_unit",
    *_LINEAR_ATTRIBUTES,
)


@dataclass(frozen=True, eq=False)
class SecondStage:
    """What the second stage is fitted to.

    Parameters
    ----------
    first : FirstStage
        The first stage.
    S, U : (n, e) and (n, r) arrays
        Standardised sensitive features, and standardised residuals of the other features.
    y : (n,) array
        Targets, centred and scaled.
    rows : Rows
        Sensitive values of the training rows.
    weights : (n,) array or None
        Weights of the rows.
    bound, alpha : float
        ε and λ.
    """

    first: FirstStage
    S: FloatArray
    U: FloatArray
    y: FloatArray
    rows: Rows
    weights: FloatArray | None
    bound: float
    alpha: float

    @property
    def total(self) -> float:
        """Sum of the weights; n without weights."""
        return float(len(self.y) if self.weights is None else self.weights.sum())

    def spectra(self) -> tuple[Spectrum, Spectrum]:
        """The decompositions of S and of U."""
        share = shares(self.weights, len(self.y))
        s_rounding, u_rounding = self.first.rounding
        return (
            Spectrum.from_columns(self.S, self.y, share, s_rounding),
            Spectrum.from_columns(self.U, self.y, share, u_rounding),
        )


class BoundedRegression(AwareBaseline):
    """Base class of the methods that bound the share of S in the variance of the predictions."""

    unfairness: float
    alpha: float
    fit_intercept: bool
    coef_: FloatArray
    coef_sensitive_: FloatArray
    intercept_: float
    r2_sensitive_: float
    sensitive_penalty_: float
    _first: FirstStage
    _of_s: Part
    _of_u: Part
    _mean: float
    _unit: float

    @abstractmethod
    def _solve(self, problem: SecondStage) -> tuple[Part, Part, dict[str, Any]]:
        """The parts of the predictions that depend on S and on U, and fitted attributes."""

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features.
        y : array-like of shape (n,)
            Targets.
        sensitive_features : array-like of shape (n,) or (n, r), series or data frame
            Sensitive columns, categories or numbers. Required unless `sensitive_columns` is set.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        """
        bound = check_range("unfairness", self.unfairness, 0, 1, "a number from 0 to 1")
        alpha = check_range("alpha", self.alpha, 0, np.inf, "0 (no penalty) or more")
        check_flag("fit_intercept", self.fit_intercept)
        data = self._read(X, y, sensitive_features, sample_weight)
        refuse_identifier(data.rows, "pass continuous=[its name] or bin it")
        target = self._require_single_output(data)
        share = shares(data.weights, len(target))
        mean = float(share @ target)
        unit = float(np.abs(target - mean).max()) or 1.0
        with np.errstate(over="ignore", invalid="ignore"):  # refused with a message
            first, S, U = FirstStage.fit(data.X, data.rows, share)
        scaled = (target - mean) / unit
        problem = SecondStage(first, S, U, scaled, data.rows, data.weights, bound, alpha)
        of_s, of_u, own = self._solve(problem)
        mean = mean if self.fit_intercept else 0.0
        if not of_s.kernel:
            own |= _coefficients(first, of_s, of_u, mean, unit, data.X.shape[1])
        return self._store(
            data,
            _first=first,
            _of_s=of_s,
            _of_u=of_u,
            _mean=mean,
            _unit=unit,
            r2_sensitive_=of_s.size / (of_s.size + of_u.size) if of_s.size > 0 else 0.0,
            **own,
        )

    def predict(self, X: Any, *, sensitive_features: Any = None) -> FloatArray:
        """Predict rows whose sensitive features are known.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows with the same columns as in `fit`.
        sensitive_features : array-like of shape (n,) or (n, r), series or data frame
            Sensitive columns. They are not needed where X contains them: when `sensitive_columns`
            names columns of X, or when columns of X determined the sensitive values of all
            training rows.

        Returns
        -------
        (n,) array
        """
        check_is_fitted(self, "_first")
        features, first, numbers = self._read_features(X), self._first, None
        if sensitive_features is None and not self._layout.sensitive:
            numbers = first.recover(features)
        if numbers is None:
            rows = self._read_rows(first.encoder.schema, X, sensitive_features)
            numbers = first.encoder.encode(rows)
        S, U = first.transform(features, numbers)
        return self._mean + self._unit * (self._of_s.evaluate(S) + self._of_u.evaluate(U))


def _coefficients(
    first: FirstStage, of_s: Part, of_u: Part, mean: float, unit: float, d: int
) -> dict[str, Any]:
    """The linear function in terms of S and of the d columns of X, in their own units."""
    on_kept = unit * of_u.coef / first.u_scale
    coef = np.zeros(d)
    coef[first.kept] = on_kept
    sensitive = (unit * of_s.coef - first.slopes @ on_kept) / first.s_scale
    intercept = float(mean - first.x_mean @ on_kept - first.s_mean @ sensitive)
    return {"coef_": coef, "coef_sensitive_": sensitive, "intercept_": intercept}
