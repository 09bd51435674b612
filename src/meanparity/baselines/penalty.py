"""Ridge regression with one additional penalty: the base of the two penalty methods."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import FloatArray, FloatOrArray
from meanparity.baselines.base import READS_WITH, Baseline, check_range
from meanparity.constraints import Functionals
from meanparity.data.fit_input import check_alpha, check_flag
from meanparity.data.rows import Rows
from meanparity.estimators._base import FUNCTION_ATTRIBUTES, KernelParameters, function_attributes
from meanparity.solvers.penalised import solve_penalised
from meanparity.solvers.problem import ConstrainedProblem
from meanparity.solvers.solution import Basis

PENALTY_PREDICTS_WITH = (
    *READS_WITH,
    "_single_output",
    "_basis",
    "_coef",
    "_constant",
    *FUNCTION_ATTRIBUTES,
)


class PenaltyRidge(KernelParameters, MultiOutputMixin, Baseline):  # type: ignore[misc]
    """Base class of the penalty methods. Subclasses define what is penalised."""

    _orthonormal: ClassVar[bool]  # see `solve_penalised`
    alpha: float
    penalty: float
    fit_intercept: bool
    coef_: FloatArray
    intercept_: FloatOrArray
    _single_output: bool
    _basis: Basis
    _coef: FloatArray
    _constant: FloatArray

    @abstractmethod
    def _penalised_functions(self, rows: Rows) -> FloatArray:
        """C, (n, p): what is penalised, for rows that are checked here; see `solve_penalised`."""

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features, or the (n, n) kernel matrix if the kernel is "precomputed".
        y : array-like of shape (n,) or (n, m)
            Targets.
        sensitive_features : array-like of shape (n,) or (n, r), series or data frame
            Sensitive columns. Required unless `sensitive_columns` is set.
        sample_weight : array-like of shape (n,), optional
            Weights in the loss and in the penalty.
        """
        check_flag("fit_intercept", self.fit_intercept)
        strength = check_range("penalty", self.penalty, 0, np.inf, "0 (no penalty) or more")
        if np.ndim(self.alpha):
            raise ValueError(f"alpha has shape {np.shape(self.alpha)}. Pass a single number.")
        data = self._read(X, y, sensitive_features, sample_weight)
        C = self._penalised_functions(data.rows)
        problem = ConstrainedProblem(
            data.X,
            data.Y,
            check_alpha(self.alpha, data.Y.shape[1]),
            Functionals.none(len(data.Y)),
            bool(self.fit_intercept),
            self._kernel(),
            data.weights,
            names=data.layout.feature_names,
        )
        with np.errstate(over="ignore", invalid="ignore"):  # refused with a message below
            coef, intercept, basis = solve_penalised(
                problem, C, strength, orthonormal=self._orthonormal
            )
        if not np.isfinite(coef).all() or not np.isfinite(intercept).all():
            raise ValueError(
                "The fit overflows: squares of the numbers in X or y are too large or too small "
                "for floating point. Scale the features and the target."
            )
        return self._store(
            data,
            _single_output=data.single_output,
            _basis=basis,
            _coef=coef,
            _constant=intercept,
            **function_attributes(basis, coef, intercept, data.single_output),
        )

    def predict(self, X: Any) -> FloatArray:
        """Predictions for the rows of X; their sensitive features are not needed.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows with the same columns as in `fit`.

        Returns
        -------
        (n,) array, or (n, m) for several outputs
        """
        check_is_fitted(self, "intercept_")
        values = self._basis.evaluate(self._read_features(X), self._coef) + self._constant
        return values[:, 0] if self._single_output else values
