"""What both estimators that choose their penalty have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import FloatArray
from meanparity.estimators.problem import Problem, read_problem
from meanparity.estimators.selection import (
    Candidate,
    SmallestLoss,
    check_alphas,
    default_alphas,
    fits_columns,
    folds,
    leave_one_out,
    linear_folds,
    require_leave_one_out,
    select,
    split,
)
from meanparity.linalg import SymmetricMatrix
from meanparity.path import check_unfairness
from meanparity.solvers.leave_one_out import Smoother, centred_columns, centred_kernel


class CrossValidated(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
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
    def _is_linear(self, model: Any) -> bool:
        """Whether the functions of a model are linear ones of the columns."""

    @abstractmethod
    def _gram(self, model: Any, problem: Problem) -> SymmetricMatrix:
        """The kernel matrix of a model: (n, n)."""

    def _columns(self, model: Any, problem: Problem) -> FloatArray | None:
        """The columns of linear functions, if there are fewer of them than rows: (n, d)."""
        X = problem.task.X
        if not self._is_linear(model) or X.shape[0] <= X.shape[1]:
            return None
        return X.toarray() if sparse.issparse(X) else np.asarray(X)

    def _smoother(self, model: Any, problem: Problem) -> Smoother:
        """The matrix that takes targets to fitted values in the space of a model."""
        settings = problem.task.weights, bool(self.fit_intercept)
        X = self._columns(model, problem)
        if X is not None:
            return Smoother.of_columns(X, *settings)
        return Smoother.of_kernel(self._gram(model, problem), *settings)

    def _scale(self, model: Any, problem: Problem) -> float:
        """The mean of a model's kernel of rows with themselves, by which penalties are scaled."""
        settings = problem.task.weights, bool(self.fit_intercept)
        X = self._columns(model, problem)
        if X is not None:
            return float((centred_columns(X, *settings) ** 2).sum()) / len(X)
        return float(centred_kernel(self._gram(model, problem), *settings).diagonal.mean())

    def _search(self, X: Any, y: Any, **people: Any) -> Any:
        """Choose, and fit to all rows."""
        scoring = SmallestLoss() if self.scoring is None else self.scoring
        if not isinstance(scoring, SmallestLoss):
            raise ValueError(
                f"scoring={scoring!r} is unknown. Pass None, or SmallestLoss(max_gap=...)."
            )
        if not scoring.max_gap >= 0:
            raise ValueError(f"scoring={scoring!r}: pass a max_gap of 0 or more, in units of y.")
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
            smoother = self._smoother(self._model(alpha=1.0, **space), problem)
            scale = float(smoother.values.sum()) / len(problem.task.Y)
            alphas = default_alphas(scale) if self.alphas is None else check_alphas(self.alphas)
            for alpha, predicted in leave_one_out(problem, smoother, alphas, self.unfairness):
                yield {"alpha": alpha, **space}, predicted

    def _folds(
        self, X: Any, y: Any, problem: Problem, people: dict[str, Any]
    ) -> Iterator[tuple[Candidate, FloatArray]]:
        splits = split(X, y, self.cv)
        for space in self._spaces():
            model = self._model(alpha=1.0, **space)
            if self.alphas is None:
                alphas = default_alphas(self._scale(model, problem))
            else:
                alphas = check_alphas(self.alphas)
            if self._is_linear(model) and fits_columns(model, problem, splits):
                for alpha, predicted in linear_folds(problem, splits, alphas, self.unfairness):
                    yield {"alpha": alpha, **space}, predicted
            else:
                candidates = [{"alpha": float(alpha), **space} for alpha in alphas]
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


def _is_precomputed(model: Any) -> bool:
    return bool(getattr(model, "_precomputed", False))
