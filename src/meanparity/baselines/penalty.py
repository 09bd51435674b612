"""Ridge regression with one more penalty: what the two penalty methods share."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import FloatArray
from meanparity.baselines.base import Baseline, check_range
from meanparity.constraints import Functionals
from meanparity.estimators.kernel_parameters import KernelParameters
from meanparity.estimators.ridge import LinearFunctions, centred
from meanparity.estimators.training import Training, check_alpha, read_features
from meanparity.kernels import BoundKernel, Kernel, ShiftedKernel
from meanparity.path import Basis
from meanparity.solvers import Penalty, Task, solve_penalised


class PenaltyRidge(KernelParameters, MultiOutputMixin, Baseline):  # type: ignore[misc]
    """Base of the penalty methods; subclasses say what is penalised."""

    alpha: Any
    penalty: float
    fit_intercept: bool
    _flags: ClassVar = ("fit_intercept",)

    def _fit_penalised(self, training: Training, C: FloatArray, *, orthonormal: bool) -> None:
        """Solve and store; C, (n, p), are the coefficients of what is penalised."""
        strength = check_range("penalty", self.penalty, 0, np.inf, "0 (no penalty) or more")
        kernel, m = self._kernel(), training.Y.shape[1]
        if np.ndim(self.alpha):
            raise ValueError(f"alpha has shape {np.shape(self.alpha)}. Pass one number.")
        none = Functionals.none(len(training.Y))
        task = Task(
            training.X,
            training.Y,
            check_alpha(self.alpha, m),
            none,
            bool(self.fit_intercept),
            training.weights,
        )
        is_linear, origin = isinstance(kernel, Kernel) and kernel.is_linear, np.zeros(0)
        if is_linear:
            task, origin = centred(task)

        @cache
        def bind() -> BoundKernel:
            return kernel.bind(task.X, training.table.feature_names)

        with np.errstate(over="ignore", invalid="ignore"):  # refused by name below
            coef, intercept, on_columns = solve_penalised(
                task, Penalty(C, strength, orthonormal), kernel=bind, is_linear=is_linear
            )
        if not np.isfinite(coef).all() or not np.isfinite(intercept).all():
            raise ValueError(
                "The fit overflows: squares of the numbers in X or y are too large or too small "
                "for floating point. Scale the features and the target."
            )
        self._forget("coef_", "dual_coef_", "X_fit_")
        self._functions: Basis = LinearFunctions(origin)
        self._table, self._coef, self._constant = training.table, coef, intercept
        self._single_output = training.single_output
        if on_columns:
            intercept = intercept - origin @ coef
            self.coef_ = coef[:, 0] if training.single_output else coef.T
        else:
            self._functions = ShiftedKernel(bind(), origin) if origin.any() else bind()
            self.dual_coef_ = coef[:, 0] if training.single_output else coef
            if origin.any():  # a linear kernel, and coef sums to zero
                intercept = intercept - origin @ (task.X.T @ coef)
            if not self._precomputed:
                self.X_fit_ = training.X
        self.intercept_ = float(intercept[0]) if training.single_output else intercept

    def predict(self, X: Any) -> FloatArray:
        """Predictions for the rows of X; their groups are not needed.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows, with the columns that were there in fit.

        Returns
        -------
        (n,) array, or (n, m) for several outputs
        """
        check_is_fitted(self, "intercept_")
        features = read_features(self, self._table, X, reset=False)
        values = self._functions.evaluate(features, self._coef) + self._constant
        return values[:, 0] if self._single_output else values
