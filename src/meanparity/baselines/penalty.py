"""Ridge regression with one additional penalty: the base of the two penalty methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import FloatArray
from meanparity.baselines.base import Baseline, check_range
from meanparity.constraints import Functionals
from meanparity.data.fit_input import FitInput, check_alpha, check_flag
from meanparity.estimators._base import KernelParameters, function_attributes
from meanparity.solvers.penalised import Penalty, solve_penalised
from meanparity.solvers.problem import ConstrainedProblem


class PenaltyRidge(KernelParameters, MultiOutputMixin, Baseline):  # type: ignore[misc]
    """Base class of the penalty methods. Subclasses define what is penalised."""

    alpha: float
    penalty: float
    fit_intercept: bool

    def _fit_penalised(self, data: FitInput, C: FloatArray, *, orthonormal: bool) -> None:
        """Solve and store; see `Penalty` for C, (n, p), and `orthonormal`."""
        check_flag("fit_intercept", self.fit_intercept)
        strength = check_range("penalty", self.penalty, 0, np.inf, "0 (no penalty) or more")
        if np.ndim(self.alpha):
            raise ValueError(f"alpha has shape {np.shape(self.alpha)}. Pass a single number.")
        n, m = data.Y.shape
        problem = ConstrainedProblem(
            data.X,
            data.Y,
            check_alpha(self.alpha, m),
            Functionals.none(n),
            bool(self.fit_intercept),
            self._kernel(),
            data.weights,
            names=data.layout.feature_names,
        )
        with np.errstate(over="ignore", invalid="ignore"):  # refused with a message below
            coef, intercept, basis = solve_penalised(problem, Penalty(C, strength, orthonormal))
        if not np.isfinite(coef).all() or not np.isfinite(intercept).all():
            raise ValueError(
                "The fit overflows: squares of the numbers in X or y are too large or too small "
                "for floating point. Scale the features and the target."
            )
        self._layout, self._single_output = data.layout, data.single_output
        self._basis, self._coef, self._constant = basis, coef, intercept
        points = None if problem.kernel.is_precomputed else data.X
        attributes = function_attributes(basis, coef, intercept, data.single_output, points)
        self._set_attributes(("coef_", "dual_coef_", "X_fit_", "intercept_"), attributes)

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
