"""The base of the two methods that bound R²: a first stage, and predictions that need S."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import FloatArray
from meanparity.baselines.base import AwareBaseline, check_range
from meanparity.baselines.two_stage import FirstStage, Spectrum
from meanparity.data.fit_input import FitInput, check_flag
from meanparity.data.rows import refuse_identifier


class StageFunction(Protocol):
    """A function of standardised S, (n, e), and U, (n, r)."""

    def evaluate(self, S: FloatArray, U: FloatArray) -> FloatArray:
        """Its values: (n,)."""
        ...


@dataclass(frozen=True, eq=False)
class LinearFunction:
    """``Sα + Uβ``.

    Parameters
    ----------
    on_sensitive, on_rest : (e,) and (r,) arrays
        α and β.
    """

    on_sensitive: FloatArray
    on_rest: FloatArray

    def evaluate(self, S: FloatArray, U: FloatArray) -> FloatArray:
        """Values at standardised S, (n, e), and U, (n, r): (n,)."""
        return np.asarray(S @ self.on_sensitive + U @ self.on_rest)

    def attributes(self, first: FirstStage, mean: float, unit: float, d: int) -> dict[str, Any]:
        """The same function of S and of the d columns of X, in their own units."""
        on_kept = unit * self.on_rest / first.u_scale
        coef = np.zeros(d)
        coef[first.kept] = on_kept
        sensitive = (unit * self.on_sensitive - first.slopes @ on_kept) / first.s_scale
        intercept = float(mean - first.x_mean @ on_kept - first.s_mean @ sensitive)
        return {"coef_": coef, "coef_sensitive_": sensitive, "intercept_": intercept}


@dataclass(frozen=True, eq=False)
class SecondStage:
    """What the second stage is fitted to.

    Parameters
    ----------
    data : FitInput
        The training set.
    first : FirstStage
        The first stage.
    S, U : (n, e) and (n, r) arrays
        Standardised sensitive features, and standardised residuals of the other features.
    y : (n,) array
        Targets, centred and divided by `unit`.
    mean, unit : float
        Mean of the targets, and the largest absolute deviation from it.
    share : (n,) array
        Weights that sum to one.
    total : float
        Sum of the weights; n without weights.
    bound, alpha : float
        ε and λ.
    """

    data: FitInput
    first: FirstStage
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
        """The decompositions of S and of U."""
        return (
            Spectrum.from_columns(self.S, self.y, self.share, self.first.s_rounding),
            Spectrum.from_columns(self.U, self.y, self.share, self.first.u_rounding),
        )


class BoundedRegression(AwareBaseline):
    """Base class of the methods that bound the share of S in the variance of the predictions."""

    unfairness: float
    alpha: float
    fit_intercept: bool

    def _second_stage(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any
    ) -> SecondStage:
        """Read the arguments of fit, and do the first stage."""
        bound = check_range("unfairness", self.unfairness, 0, 1, "a number from 0 to 1")
        alpha = check_range("alpha", self.alpha, 0, np.inf, "0 (no penalty) or more")
        check_flag("fit_intercept", self.fit_intercept)
        data = self._read(X, y, sensitive_features, sample_weight)
        refuse_identifier(data.rows, "pass continuous=[its name] or bin it")
        target, weights = self._require_single_output(data), data.weights
        total = float(len(target) if weights is None else weights.sum())
        share = np.full(len(target), 1 / total) if weights is None else weights / total
        with np.errstate(over="ignore", invalid="ignore"):  # refused with a message
            first, S, U = FirstStage.fit(data.X, data.rows, share)
        mean = float(share @ target)
        unit = float(np.abs(target - mean).max()) or 1.0
        y = (target - mean) / unit
        return SecondStage(data, first, S, U, y, mean, unit, share, total, bound, alpha)

    def _store(
        self, problem: SecondStage, function: StageFunction, sensitive: float, rest: float
    ) -> None:
        """Store the function of S and U, whose parts have the variances `sensitive` and `rest`."""
        self._layout, self._first = problem.data.layout, problem.first
        self._function, self._unit = function, problem.unit
        self._mean = problem.mean if self.fit_intercept else 0.0
        self.r2_sensitive_ = sensitive / (sensitive + rest) if sensitive > 0 else 0.0
        attributes: dict[str, Any] = {}
        if isinstance(function, LinearFunction):
            d = problem.data.X.shape[1]
            attributes = function.attributes(self._first, self._mean, self._unit, d)
        self._set_attributes(("coef_", "coef_sensitive_", "intercept_"), attributes)

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
        check_is_fitted(self, "r2_sensitive_")
        features, first = self._read_features(X), self._first
        if sensitive_features is None and not self._layout.sensitive and first.recovers:
            numbers = first.recover(features)
        else:
            rows = self._read_rows(first.encoder.schema, X, sensitive_features)
            numbers = first.encoder.encode(rows)
        S = first.sensitive(numbers)
        values = self._function.evaluate(S, first.rest(features, S))
        return self._mean + self._unit * values
