"""What the estimators that choose their penalty have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from meanparity._documentation import Documented
from meanparity._typing import FloatArray
from meanparity.constraints.base import Constraint
from meanparity.constraints.left_out import LeftOut
from meanparity.data.fit_input import FitInput, check_unfairness
from meanparity.estimators._base import FIT_METADATA, PREDICTS_WITH, store_fitted
from meanparity.estimators._messages import refuse_given
from meanparity.estimators._report import Reporting
from meanparity.estimators.selection import (
    Candidate,
    Found,
    SmallestLoss,
    Splits,
    Tried,
    check_alphas,
    closed_folds,
    default_alphas,
    folds,
    has_closed_folds,
    leave_one_out,
    require_leave_one_out,
    select,
    split,
)
from meanparity.solvers.choose import resolve_solver
from meanparity.solvers.held_out import Smoother, kernel_scale
from meanparity.solvers.nystrom import in_solver_features
from meanparity.solvers.problem import ConstrainedProblem

if TYPE_CHECKING:
    from meanparity.report import Slider
    from meanparity.tradeoff.budgets import Kind

CV_PREDICTS_WITH = (*PREDICTS_WITH, "best_estimator_", "alpha_", "gamma_")
_SEARCH = ("alphas", "gammas", "cv", "scoring")


class CrossValidated(Reporting, Documented, MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Base: candidates, their held-out predictions, the choice, and a fit to all rows."""

    __metadata_request__fit: ClassVar = FIT_METADATA

    alphas: Any
    cv: Any
    fit_intercept: bool
    scoring: SmallestLoss | None
    unfairness: float
    alpha_: float
    gamma_: float | None
    cv_results_: dict[str, NDArray[Any]]
    best_estimator_: Any
    best_index_: int
    best_score_: float

    @abstractmethod
    def _model(self, **parameters: Any) -> Any:
        """The estimator that is chosen, not fitted."""

    def _own(self) -> dict[str, Any]:
        """The parameters that the chosen estimator has, too."""
        return {n: v for n, v in self.get_params(deep=False).items() if n not in _SEARCH}

    def _spaces(self) -> list[Candidate]:
        """What is chosen besides the penalty, such as gammas."""
        return [{}]

    def _choose(self, X: Any, y: Any, **people: Any) -> tuple[Constraint, FitInput, Found]:
        """The choice by predictions for held-out rows; nothing is fitted to all rows."""
        scoring = SmallestLoss() if self.scoring is None else self.scoring
        if not isinstance(scoring, SmallestLoss):
            raise ValueError(
                f"scoring={scoring!r} is unknown. Pass None, or SmallestLoss(max_gap=...)."
            )
        check_unfairness(self.unfairness)
        model = self._model(alpha=1.0, **self._spaces()[0])
        constraint = model._checked_constraint()
        data = model._read(constraint, X, y, **people)
        settled = constraint.settle(data.rows)
        if self.cv is None:
            require_leave_one_out(settled, data, model.max_gap, resolve_solver(model.solver))
            tried = self._left_out(settled, data)
        else:
            tried = self._folds(constraint, settled, data, split(X, y, self.cv))
        return settled, data, select(settled, data, tried, scoring)

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        pool: Any = None,
    ) -> Self:
        """Choose by predictions for held-out rows, and fit to all rows.

        Parameters
        ----------
        X, y, sensitive_features, control_features, sample_weight, pool
            See `ParityRidge.fit`.
        """
        people = {"sensitive_features": sensitive_features, "control_features": control_features}
        constraint, data, found = self._choose(
            X, y, **people, sample_weight=sample_weight, pool=pool
        )
        best = found.candidates[found.best]
        best_estimator = self._model(**best)
        best_estimator._fit_input(best_estimator._solver(), constraint, data, found.price)
        fitted = {name: value for name, value in vars(best_estimator).items() if name[-1] == "_"}
        fitted |= {f"{name}_": value for name, value in best.items()}
        if "gamma" in best and best["gamma"] is None:
            fitted["gamma_"] = best_estimator._kernel().settled_gamma(data.X.shape[1])
        chosen = {
            "best_estimator_": best_estimator,
            "cv_results_": found.results,
            "best_index_": found.best,
            "best_score_": -float(found.losses[found.best]),
        }
        store_fitted(self, data.layout, chosen | fitted)
        return self

    def _candidates(
        self, constraint: Constraint, data: FitInput
    ) -> Iterator[tuple[Candidate, Any, ConstrainedProblem]]:
        """For each space, the model and its problem, in the features that its solver uses."""
        problem = None
        for space in self._spaces():
            model = self._model(alpha=1.0, **space)
            if problem is None:
                problem = model._problem(constraint, data)
            else:  # the functionals do not depend on the kernel
                problem = replace(problem, kernel=model._kernel())
            found = in_solver_features(resolve_solver(model.solver), problem)
            yield space, model, found.in_double_precision()

    def _left_out(self, constraint: Constraint, data: FitInput) -> Iterator[Tried]:
        left_out = LeftOut.compute(data.rows, constraint)  # the same for every kernel
        for space, model, problem in self._candidates(constraint, data):
            smoother = Smoother.from_problem(problem, resolve_solver(model.solver))
            scale = float(smoother.values.sum()) / len(problem.Y)
            tried = leave_one_out(left_out, problem, smoother, self._alphas(scale), self.unfairness)
            for alpha, predicted, free in tried:
                yield {"alpha": alpha, **space}, predicted, free

    def _folds(
        self, constraint: Constraint, settled: Constraint, data: FitInput, splits: Splits
    ) -> Iterator[Tried]:
        """The constraint is settled again in each fold."""
        for space, model, problem in self._candidates(settled, data):
            alphas = self._alphas(kernel_scale(problem) if self.alphas is None else 1.0)
            whole = model.max_gap is None and constraint.pooling is None
            exact = resolve_solver(model.solver).exact
            if whole and exact and has_closed_folds(problem, splits):
                tried = closed_folds(constraint, data, problem, splits, alphas, self.unfairness)
            else:
                tried = folds(model, constraint, data, splits, alphas)
            for alpha, predicted, free in tried:
                yield {"alpha": float(alpha), **space}, predicted, free

    def _alphas(self, scale: float) -> FloatArray:
        return default_alphas(scale) if self.alphas is None else check_alphas(self.alphas)

    def predict(self, X: Any, **given: Any) -> FloatArray:
        """Predictions for the rows of X, by the estimator that was chosen.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows, with the columns that were there in fit.
        **given
            Refused: predictions depend on X alone.
        """
        if given:
            refuse_given(self, given)
        check_is_fitted(self)
        predicted: FloatArray = self.best_estimator_.predict(X)
        return predicted

    def _reported(
        self, X: Any, budget: Kind | None
    ) -> tuple[Slider, FloatArray, FloatArray | None]:
        found: tuple[Slider, FloatArray, FloatArray | None]
        found = self.best_estimator_._reported(X, budget)
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        model = self._model(alpha=1.0, **self._spaces()[0]).__sklearn_tags__()
        tags.input_tags = model.input_tags
        tags.target_tags = model.target_tags
        return tags
