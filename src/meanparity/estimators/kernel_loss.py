"""Other losses under parity: robust regression, quantiles, counts, amounts, two classes."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d

from meanparity._typing import FloatArray
from meanparity.constraints import ResidualParity
from meanparity.estimators.base import ParityModel, TableFunctions
from meanparity.estimators.features import from_features, in_features, space_of
from meanparity.estimators.kernel_parameters import KernelParameters
from meanparity.estimators.problem import Problem
from meanparity.estimators.ridge import LinearFunctions, centred
from meanparity.kernels import BoundKernel, Kernel, ShiftedKernel
from meanparity.losses import Hinge, Loss
from meanparity.path import Basis, Comparison, CurveSums, LossTradeoff, Tradeoff
from meanparity.solvers import (
    OPTIMIZERS,
    LossSolution,
    Method,
    Solution,
    choose_optimizer,
    solve_loss,
)
from meanparity.solvers.features import FourierSpace, KernelSpace
from meanparity.sources import stack

SCALES = ("score", "response")
_STEPS = {"newton": 100, "lbfgs": 5000, "adam": 10_000}


class LossModel(KernelParameters, ParityModel):
    """Base of the estimators with other losses."""

    loss: Any
    alpha: float
    scale: str
    optimizer: str
    max_iter: int | None
    tol: float
    learning_rate: float
    warm_start: bool
    verbose: bool
    solver: str

    def _fit_loss(self, X: Any, y: FloatArray, loss: Loss, **people: Any) -> Self:
        """Check, minimise twice, store."""
        self._check()
        loss.check(y)
        self._loss = loss
        solutions: list[LossSolution] = []

        def minimise(problem: Problem) -> tuple[Solution, Basis]:
            found, basis = self._minimise(problem, loss)
            solutions.append(found)
            return Solution(found.fair, found.free, None, found.info, found.norms), basis

        problem = self._fit(X, y, minimise, precomputed=self._precomputed, **people)
        found = solutions[-1]
        self._runs = found.runs
        names = ("constrained", "free")
        self.history_ = {
            name: {"objective": run.loss, "gap": run.gap}
            for name, run in zip(names, found.runs, strict=True)
        }
        self.n_iter_ = found.runs[0].n_iter
        self.converged_ = all(run.converged for run in found.runs)
        for name, run in zip(names, found.runs, strict=True):
            if not run.converged and self.optimizer != "adam":
                warnings.warn(
                    f"The {name} fit did not converge in {run.n_iter} steps of "
                    f"{found.info.solver}. Raise max_iter or alpha, or scale the features.",
                    ConvergenceWarning,
                    stacklevel=4,
                )
        for left_over in {"coef_", "dual_coef_", "X_fit_"} & set(vars(self)):
            delattr(self, left_over)
        coef, intercept = self._function.coef, self._function.intercept
        if isinstance(self._functions, LinearFunctions | FourierSpace):
            if isinstance(self._functions, LinearFunctions):
                intercept = intercept - self._functions.origin @ coef
            self.coef_ = coef[:, 0]
        else:
            self.dual_coef_ = coef[:, 0]
            if isinstance(self._functions, KernelSpace):
                self.X_fit_ = self._functions.landmarks
            elif not self._precomputed:
                self.X_fit_ = stack(problem.task.X, problem.task.points)
            if isinstance(self._functions, ShiftedKernel):  # a linear one
                intercept = intercept - self._functions.origin @ (self.X_fit_.T @ coef)
        self.intercept_ = float(intercept[0])
        return self

    def _minimise(self, problem: Problem, loss: Loss) -> tuple[LossSolution, Basis]:
        kernel = self._kernel()
        is_linear = isinstance(kernel, Kernel) and kernel.is_linear
        self._refuse_errors_of_scores(problem, loss)
        task, origin = problem.task, np.zeros(0)
        names = problem.table.feature_names
        space = space_of(self, task, names)
        if space is not None:
            task, is_linear = in_features(task, space), True
            kernel, names = Kernel("linear"), None
        if is_linear:
            task, origin = centred(task)

        @cache
        def bind() -> BoundKernel:
            points = task.X if self._precomputed else stack(task.X, task.points)
            return kernel.bind(points, names)

        optimizer = self.optimizer
        if optimizer == "auto":
            optimizer = choose_optimizer(task, is_linear=is_linear)
        steps = _STEPS[optimizer] if self.max_iter is None else int(self.max_iter)
        method = Method(
            optimizer, steps, float(self.tol), float(self.learning_rate), bool(self.verbose)
        )
        starts = getattr(self, "_runs", None) if self.warm_start else None
        found = solve_loss(
            task,
            loss,
            kernel=bind,
            is_linear=is_linear,
            method=method,
            on_response=self._on_response,
            measured=problem.measured[0],
            starts=starts,
        )
        if space is not None:
            fair, free = (
                from_features(fit, problem.task, task, space, origin)
                for fit in (found.fair, found.free)
            )
            return replace(found, fair=fair, free=free), space
        if is_linear and task.suits_columns:
            return found, LinearFunctions(origin)
        bound = bind()
        return found, ShiftedKernel(bound, origin) if origin.any() else bound

    @property
    def _on_response(self) -> bool:
        return self.scale == "response"

    def _compared(self, values: FloatArray) -> FloatArray:
        return self._loss.response(values) if self._on_response else values

    def _tradeoff(
        self,
        problem: Problem,
        solution: Solution,
        basis: TableFunctions,
        sums: CurveSums,
        gaps: FloatArray,
        comparison: Comparison,
    ) -> Tradeoff:
        task = problem.task
        assert solution.norms is not None
        return LossTradeoff(
            solution,
            basis,
            replace(sums, gaps=gaps[:, : len(problem.measured[0].labels)]),
            gaps,
            comparison,
            problem.single_output,
            self._loss,
            problem.rows,
            task.Y[:, 0],
            np.ones(len(task.Y)) if task.weights is None else task.weights,
            float(task.alpha[0]) * solution.norms,
            self._on_response,
            getattr(self, "classes_", None),
        )

    def predict_score(self, X: Any) -> FloatArray:
        """Scores g of the rows of X, before any link: (n,).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows, with the columns that were there in fit.
        """
        return self._values(X)

    def _check(self) -> None:
        if self.scale not in SCALES:
            raise ValueError(f"scale={self.scale!r} is not known. Pass 'score' or 'response'.")
        if self.optimizer not in ("auto", *OPTIMIZERS):
            names = ", ".join(("auto", *OPTIMIZERS))
            raise ValueError(f"optimizer={self.optimizer!r} is not known. Pass one of {names}.")
        steps: Any = self.max_iter
        whole = isinstance(steps, Integral) and steps is not True
        if steps is not None and (not whole or steps < 1):
            raise ValueError(f"max_iter={steps!r}. Pass a whole number of 1 or more, or None.")
        for name in ("tol", "learning_rate"):
            value: Any = getattr(self, name)
            if not isinstance(value, Real) or value is True or not 0 < float(value) < np.inf:
                raise ValueError(f"{name}={value!r} is not a positive number. Pass one.")
        for name in ("warm_start", "verbose"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name}={getattr(self, name)!r}. Pass True or False.")
        if self.solver not in ("exact", "nystrom"):
            raise ValueError(f"solver={self.solver!r} is not known. Pass 'exact' or 'nystrom'.")
        if np.ndim(self.alpha):
            raise ValueError(f"alpha has shape {np.shape(self.alpha)}. Pass one number.")

    def _refuse_errors_of_scores(self, problem: Problem, loss: Loss) -> None:
        """Refuse what has no meaning on the scale that was asked for."""
        if self._on_response and isinstance(loss, Hinge):
            raise ValueError(
                "scale='response' is about probabilities, which the hinge loss has not. Pass "
                "scale='score', or loss='logistic'."
            )
        if isinstance(problem.constraint, ResidualParity) and (
            isinstance(loss, Hinge) or not (loss.is_identity or self._on_response)
        ):
            raise ValueError(
                "Residual parity compares y with what is predicted of it, but scores of this loss "
                "are on another scale. Pass scale='response' (logistic, poisson, gamma)."
            )
        if self.max_gap is not None and self._on_response and not loss.is_identity:
            raise ValueError(
                "max_gap needs gaps that grow evenly along the dial, which those of responses do "
                "not. Pass unfairness, and look at tradeoff_.training_curve()."
            )


def require_target(estimator: Any, y: Any) -> None:
    """Refuse a y that is not there, in scikit-learn's words."""
    if y is None:
        name = type(estimator).__name__
        raise ValueError(
            f"This {name} estimator requires y to be passed, but the target y is None."
        )


def single_target(estimator: Any, y: Any) -> FloatArray:
    """Targets as one column of numbers."""
    require_target(estimator, y)
    values: FloatArray = column_or_1d(y, warn=True, dtype=np.float64)
    return values
