"""What the estimators share: reading the input, storing the solution, predicting."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from meanparity._typing import Features, FloatArray
from meanparity.constraints import Functionals, resolve_constraint
from meanparity.exceptions import ParityWarning
from meanparity.groups import Groups
from meanparity.path import Basis, CurveSums, Tradeoff, check_unfairness
from meanparity.solvers import Solution
from meanparity.sources import Table


@dataclass(frozen=True, eq=False)
class TableFunctions:
    """Functions of the rows of a table that looks like the one seen in fit."""

    table: Table
    functions: Basis

    def evaluate(self, X: Any, coef: FloatArray) -> FloatArray:
        """Values of the functions with coefficients coef, (p, m), at the rows of X: (n, m)."""
        return self.functions.evaluate(self.table.features(X), coef)

    def sensitive_features(self, X: Any) -> dict[str, Any]:
        """The sensitive columns in X, if the estimator said which they are."""
        if not self.table.sensitive:
            raise ValueError(
                "The groups of these rows are not known. Pass sensitive_features, as in fit."
            )
        return self.table.sensitive_values(X)


@dataclass(frozen=True, eq=False)
class Problem:
    """A checked training set."""

    table: Table
    X: Features
    Y: FloatArray
    alpha: FloatArray
    groups: Groups
    functionals: Functionals


class ParityRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators; subclasses solve."""

    # a fit cannot do without it, so it is asked for wherever metadata are routed
    __metadata_request__fit: ClassVar = {"sensitive_features": True}

    def _fit(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        solve: Callable[[Problem], tuple[Solution, Basis]],
    ) -> Problem:
        """Check the input, solve, and store what all estimators have in common."""
        unfairness = check_unfairness(self.unfairness)
        problem, single_output = self._problem(X, y, sensitive_features)
        with np.errstate(over="ignore", invalid="ignore"):  # refused by name below
            solution, functions = solve(problem)
        _refuse_overflow(solution)

        fair, free = solution.fair.fitted, solution.free.fitted
        fitted = (1 - unfairness) * fair + unfairness * free
        gaps = problem.functionals.gaps(fitted) - unfairness * problem.functionals.gaps(free)
        self.parity_residual_ = float(np.abs(gaps).max())
        _warn_of_gap(np.abs(gaps).max(axis=0), problem.Y)
        _warn_of_constants(fair, free, problem.functionals)

        means = problem.groups.means(fitted)
        means = means[:, 0] if single_output else means
        self.unfairness_ = unfairness
        self.groups_ = problem.groups
        self.group_means_ = dict(zip(problem.groups.keys, means.tolist(), strict=True))
        self.implies_mean_parity_ = problem.functionals.implies_mean_parity
        self.solver_ = solution.info.solver
        self.solver_info_ = solution.info
        self.tradeoff_ = Tradeoff(
            solution,
            TableFunctions(problem.table, functions),
            CurveSums.of(problem.Y, fair, free, problem.groups),
            single_output,
        )
        self._function = self.tradeoff_.at(unfairness)
        self._table, self._functions = problem.table, functions
        return problem

    def predict(self, X: Any) -> FloatArray:
        """Predictions for the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows, with the columns that were there in fit; those that `drop_sensitive` takes out
            may be missing.

        Returns
        -------
        (n,) array, or (n, m) for several outputs
        """
        check_is_fitted(self, "tradeoff_")
        features = self._read(self._table, X, reset=False)
        return replace(self._function, basis=self._functions).predict(features)

    def _problem(self, X: Any, y: Any, sensitive_features: Any) -> tuple[Problem, bool]:
        """The training set, checked, and whether y has one dimension."""
        name = type(self).__name__
        if y is None:
            raise ValueError(
                f"This {name} estimator requires y to be passed, but the target y is None."
            )
        for flag in ("fit_intercept", "drop_sensitive"):
            if not isinstance(getattr(self, flag), bool | np.bool_):
                raise ValueError(f"{flag}={getattr(self, flag)!r}. Pass True or False.")
        if self.drop_sensitive and self.sensitive_columns is None:
            raise ValueError(
                "drop_sensitive=True takes sensitive_columns out of the features, but "
                "sensitive_columns is None. Name the columns."
            )
        table = Table.like(X, self.sensitive_columns, bool(self.drop_sensitive))
        features = self._read(table, X, reset=True)
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", estimator=name)
        check_consistent_length(X, y)
        Y = y.reshape(len(y), -1)
        groups = self._groups(table, X, sensitive_features, len(Y))
        functionals = resolve_constraint(self.constraint).functionals(groups)
        alpha = _check_alpha(self.alpha, Y.shape[1])
        return Problem(table, features, Y, alpha, groups, functionals), y.ndim == 1

    def _read(self, table: Table, X: Any, *, reset: bool) -> Features:
        """Features of X; names and number of columns are compared the way scikit-learn does."""
        name = type(self).__name__
        if reset:
            features = table.features(X, estimator=name, min_rows=2)
            validate_data(self, X, skip_check_array=True)
            return features
        named = hasattr(X, "columns")
        if named and not table.drop_sensitive:  # scikit-learn says which names are wrong
            validate_data(self, X, reset=False, skip_check_array=True)
        features = table.features(X, estimator=name)
        if not named and not table.drop_sensitive:  # and that there are none
            validate_data(self, X, reset=False, skip_check_array=True)
        return features

    def _groups(self, table: Table, X: Any, sensitive_features: Any, n_rows: int) -> Groups:
        """The groups, from wherever the sensitive columns travel."""
        if table.sensitive and sensitive_features is not None:
            raise ValueError(
                f"Both sensitive_features and sensitive_columns={self.sensitive_columns!r} say "
                "what is sensitive. Pass one of them."
            )
        if _are_names(sensitive_features, table.names, n_rows):
            raise ValueError(
                f"sensitive_features={sensitive_features!r} names columns of X. Pass the columns "
                f"themselves, or {type(self).__name__}(sensitive_columns={sensitive_features!r})."
            )
        if sensitive_features is not None:
            return Groups.from_columns(sensitive_features, n_rows=n_rows)
        if table.sensitive:
            return Groups.from_columns(table.sensitive_values(X), n_rows=n_rows)
        raise ValueError(
            f"{type(self).__name__} needs to know who is in which group. Pass "
            "fit(X, y, sensitive_features=...), or, if the sensitive columns are in X, name them: "
            f"{type(self).__name__}(sensitive_columns=[...])."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _are_names(values: Any, names: tuple[str, ...] | None, n_rows: int) -> bool:
    """Whether a list holds names of columns instead of a column."""
    if not isinstance(values, list | tuple) or len(values) in (0, n_rows):
        return False
    return all(isinstance(value, str) and value in (names or ()) for value in values)


def _refuse_overflow(solution: Solution) -> None:
    numbers = (solution.info.residual, solution.fair.objective, solution.free.objective)
    if not all(np.isfinite(value).all() for value in numbers):
        raise ValueError(
            "The fit overflows: squares of the numbers in X or y are too large or too small for "
            "floating point. Scale the features and the target."
        )


def _check_alpha(alpha: Any, n_outputs: int) -> FloatArray:
    """The penalty of each output: (m,)."""
    try:
        values = np.asarray(alpha, dtype=float)
    except (TypeError, ValueError, OverflowError):
        values = np.array(np.nan)
    if isinstance(alpha, bool | str) or not np.isfinite(values).all():
        raise ValueError(f"alpha={alpha!r} is not a finite number. Pass 0 or more.")
    if (values < 0).any():
        raise ValueError(f"alpha={alpha!r} is negative. Pass 0 (no penalty) or more.")
    if values.ndim > 1 or values.size not in (1, n_outputs):
        raise ValueError(
            f"alpha has shape {values.shape}, but y has {n_outputs} output(s). "
            "Pass one number, or one for each output."
        )
    return np.broadcast_to(values, n_outputs).copy()


def _warn_of_gap(gaps: FloatArray, Y: FloatArray) -> None:
    share = gaps / np.where(Y.std(axis=0) > 0, Y.std(axis=0), np.inf)
    if share.max() > 1e-10:
        warnings.warn(
            f"A gap of {share.max():.1g} standard deviations of y is left on the training rows: "
            "alpha is so small beside the kernel values that rounding shows. Raise alpha, or scale "
            "the features.",
            ParityWarning,
            stacklevel=4,
        )


def _warn_of_constants(fair: FloatArray, free: FloatArray, functionals: Functionals) -> None:
    if np.any(np.ptp(fair, axis=0) < 1e-8 * np.ptp(free, axis=0)):
        warnings.warn(
            f"Nothing but a constant meets all {len(functionals)} conditions "
            f"({len(functionals.labels)} groups or sensitive features): the model at parity "
            "predicts the same for everybody. Use fewer groups, more features or another kernel.",
            ParityWarning,
            stacklevel=4,
        )
