"""What both estimators that choose their penalty have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import FloatArray
from meanparity.estimators.features import in_features, space_of
from meanparity.estimators.problem import Problem, read_problem
from meanparity.estimators.reporting import Reporting
from meanparity.estimators.selection import (
    Candidate,
    SmallestLoss,
    check_alphas,
    default_alphas,
    fits_columns,
    folds,
    is_linear,
    leave_one_out,
    linear_folds,
    require_leave_one_out,
    select,
    split,
)
from meanparity.estimators.state import PlainState
from meanparity.linalg import SymmetricMatrix
from meanparity.path import check_unfairness
from meanparity.solvers.leave_one_out import Smoother, centred_columns, centred_kernel


class CrossValidated(Reporting, MultiOutputMixin, RegressorMixin, PlainState):  # type: ignore[misc]
    """Base: candidates, their held-out predictions, the choice, and a fit to all rows."""

    __metadata_request__fit: ClassVar = {
        "sensitive_features": True,
        "control_features": True,
        "pool": True,
    }
    alphas: Any
    cv: Any
    fit_intercept: bool
    scoring: SmallestLoss | None
    unfairness: float

    @abstractmethod
    def _model(self, **parameters: Any) -> Any:
        """The estimator that is chosen, not fitted."""

    @abstractmethod
    def _spaces(self) -> list[Candidate]:
        """What besides the penalty is to be chosen, such as gammas."""

    @abstractmethod
    def _matrix(self, model: Any, problem: Problem) -> FloatArray | SymmetricMatrix:
        """The columns of a model that is linear in them, (n, d); else its kernel matrix, (n, n)."""

    def _smoother(self, model: Any, problem: Problem) -> Smoother:
        """The matrix that takes targets to fitted values in the space of a model."""
        settings = problem.task.weights, bool(self.fit_intercept)
        matrix = self._matrix(model, problem)
        if isinstance(matrix, SymmetricMatrix):
            return Smoother.of_kernel(matrix, *settings)
        return Smoother.of_columns(matrix, *settings)

    def _scale(self, model: Any, problem: Problem) -> float:
        """The mean of a model's kernel of rows with themselves, by which penalties are scaled."""
        settings = problem.task.weights, bool(self.fit_intercept)
        matrix = self._matrix(model, problem)
        if isinstance(matrix, SymmetricMatrix):
            return float(centred_kernel(matrix, *settings).diagonal.mean())
        return float((centred_columns(matrix, *settings) ** 2).sum()) / len(matrix)

    def _search(self, X: Any, y: Any, **people: Any) -> Any:
        """Choose, and fit to all rows."""
        scoring = SmallestLoss() if self.scoring is None else self.scoring
        if not isinstance(scoring, SmallestLoss):
            raise ValueError(
                f"scoring={scoring!r} is unknown. Pass None, or SmallestLoss(max_gap=...)."
            )
        check_unfairness(self.unfairness)
        model = self._model(alpha=1.0, **self._spaces()[0])
        problem = read_problem(model, X, y, precomputed=_is_precomputed(model), **people)
        if self.cv is None:
            require_leave_one_out(model, problem)
            tried = self._left_out(problem)
        else:
            tried = self._folds(X, y, problem, people)
        found = select(problem, tried, scoring)
        best = found.candidates[found.best]
        self.best_estimator_ = self._model(**best).fit(X, y, **people)
        for name, value in vars(self.best_estimator_).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)
        self.cv_results_ = found.results
        self.best_index_ = found.best
        self.best_score_ = -float(found.losses[found.best])
        for name, value in best.items():
            setattr(self, f"{name}_", value)
        return self

    def _left_out(self, problem: Problem) -> Iterator[tuple[Candidate, FloatArray]]:
        for space in self._spaces():
            model = self._model(alpha=1.0, **space)
            rows = _featured(model, problem)
            smoother = self._smoother(model, rows)
            scale = float(smoother.values.sum()) / len(problem.task.Y)
            alphas = default_alphas(scale) if self.alphas is None else check_alphas(self.alphas)
            for alpha, predicted in leave_one_out(rows, smoother, alphas, self.unfairness):
                yield {"alpha": alpha, **space}, predicted

    def _folds(
        self, X: Any, y: Any, problem: Problem, people: dict[str, Any]
    ) -> Iterator[tuple[Candidate, FloatArray]]:
        splits = split(X, y, self.cv)
        for space in self._spaces():
            model = self._model(alpha=1.0, **space)
            rows = _featured(model, problem)
            if self.alphas is None:
                alphas = default_alphas(self._scale(model, rows))
            else:
                alphas = check_alphas(self.alphas)
            if is_linear(model) and fits_columns(model, rows, splits):
                for alpha, predicted in linear_folds(rows, splits, alphas, self.unfairness):
                    yield {"alpha": alpha, **space}, predicted
            else:
                candidates = [{"alpha": float(alpha), **space} for alpha in alphas]
                # which columns are numbers is settled on all rows, not in each fold anew
                model.set_params(continuous=list(problem.rows.reading.continuous))
                yield from folds(model, X, y, splits, candidates, people)

    def predict(self, X: Any) -> FloatArray:
        """Predictions for the rows of X, by the estimator that was chosen.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows, with the columns that were there in fit.
        """
        check_is_fitted(self)
        predicted: FloatArray = self.best_estimator_.predict(X)
        return predicted

    def has_seen(self, X: Any) -> NDArray[np.bool_]:
        """Whether rows equal to those of X were there in fit: (n,)."""
        check_is_fitted(self)
        seen: NDArray[np.bool_] = self.best_estimator_.has_seen(X)
        return seen

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        model = self._model(alpha=1.0, **self._spaces()[0]).__sklearn_tags__()
        tags.input_tags = model.input_tags
        tags.target_tags = model.target_tags
        return tags


def _featured(model: Any, problem: Problem) -> Problem:
    """The problem in the features of a model's landmarks, if it has any."""
    space = space_of(model, problem.task, problem.table.feature_names)
    if space is None:
        return problem
    return replace(problem, task=in_features(problem.task, space))


def _is_precomputed(model: Any) -> bool:
    return bool(getattr(model, "_precomputed", False))
