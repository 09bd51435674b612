"""Other losses under parity: robust regression, quantiles, counts, amounts, two classes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from meanparity._typing import FloatArray
from meanparity.constraints.base import Constraint
from meanparity.constraints.functionals import Functionals
from meanparity.data.fit_input import FitInput
from meanparity.estimators._base import (
    KernelParameters,
    Means,
    ParityEstimator,
    values_on_rows,
)
from meanparity.estimators._price import warn_about_loss
from meanparity.estimators._report import Reporting
from meanparity.estimators._unseen import Parts
from meanparity.exceptions import warn
from meanparity.losses.base import Loss
from meanparity.solvers.choose import resolve_loss_solver
from meanparity.solvers.problem import ConstrainedProblem
from meanparity.solvers.solution import Solution
from meanparity.tradeoff.curve import Comparison
from meanparity.tradeoff.functions import FittedFunction
from meanparity.tradeoff.loss_tradeoff import LossTradeoff, Refit

if TYPE_CHECKING:
    from meanparity.report import Slider
    from meanparity.tradeoff.budgets import Kind


class Target(NamedTuple):
    """Targets, (n,), the loss, and the two classes that 0 and 1 stand for, if there are any."""

    y: FloatArray
    loss: Loss
    classes: Any = None


@dataclass(frozen=True, eq=False, kw_only=True)
class LossInput(FitInput):
    """A checked training set, and the loss to minimise on it.

    Parameters
    ----------
    layout, X, Y, weights, sample_weight, rows, single_output, spread, pool
        See `FitInput`.
    loss : Loss
        The loss.
    on_response : bool
        Whether the constraint is about responses instead of scores.
    classes : (2,) array or None
        The classes of a classifier, which Y codes as 0 and 1.
    """

    loss: Loss
    on_response: bool
    classes: Any


class LossEstimator(Reporting, KernelParameters, ParityEstimator):
    """Base of the estimators with other losses."""

    loss: Any
    history_: dict[str, dict[str, list[float]]]
    n_iter_: int
    converged_: bool
    classes_: NDArray[Any]
    _loss: Loss
    _warn_about_price = staticmethod(warn_about_loss)

    @abstractmethod
    def _target(self, y: Any) -> Target:
        """The targets as one column of numbers, and the loss to minimise."""

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
        """Fit the constrained and the unconstrained model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features; the kernel matrix, (n, n), if the kernel is "precomputed".
        y : array-like of shape (n,)
            Targets; of a classifier, two classes.
        sensitive_features, control_features, sample_weight, pool
            See `ParityRidge.fit`.
        """
        target = self._target(y)
        if np.ndim(self.alpha):
            raise ValueError(f"alpha has shape {np.shape(self.alpha)}. Pass one number.")
        target.loss.check(target.y)
        self._fit(
            resolve_loss_solver(self.solver),
            X,
            target.y,
            target=target,
            sensitive_features=sensitive_features,
            control_features=control_features,
            sample_weight=sample_weight,
            pool=pool,
        )
        return self

    def _own_attributes(self, data: FitInput, solution: Solution) -> dict[str, Any]:
        assert isinstance(data, LossInput)
        assert solution.runs is not None
        runs = dict(zip(("constrained", "free"), solution.runs, strict=True))
        for name, run in runs.items():
            if not run.converged:
                warn(
                    f"The {name} fit did not converge in {run.n_iter} steps of "
                    f"{solution.info.solver}. Raise max_iter or alpha, or scale the features.",
                    ConvergenceWarning,
                )
        return {
            "_loss": data.loss,
            "history_": {n: {"objective": run.loss, "smd": run.gap} for n, run in runs.items()},
            "n_iter_": runs["constrained"].n_iter,
            "converged_": all(run.converged for run in runs.values()),
            **({} if data.classes is None else {"classes_": data.classes}),
        }

    def _read(  # type: ignore[override]
        self, constraint: Constraint, X: Any, y: Any, *, target: Target, **people: Any
    ) -> LossInput:
        data = super()._read(constraint, X, y, **people)
        on_response = constraint.scale == "response"
        return LossInput(
            **vars(data), loss=target.loss, on_response=on_response, classes=target.classes
        )

    def _problem(self, constraint: Constraint, data: FitInput) -> ConstrainedProblem:
        assert isinstance(data, LossInput)
        self._refuse_scale(constraint, data.loss, data.on_response)
        solver: Any = getattr(self.solver, "optimizer", None) or self.solver
        earlier = getattr(self, "tradeoff_", None) if getattr(solver, "warm_start", False) else None
        return replace(
            super()._problem(constraint, data),
            loss=data.loss,
            on_response=data.on_response,
            earlier=None if earlier is None else earlier.solution,
        )

    def _tradeoff(
        self,
        comparison: Comparison,
        between: Functionals,
        data: FitInput,
        parts: Parts,
        solution: Solution,
        problem: ConstrainedProblem | None,
    ) -> LossTradeoff:
        assert isinstance(data, LossInput)
        assert problem is not None
        found = super()._tradeoff(comparison, between, data, parts, solution, problem)
        fair, free = solution.fair.fitted, solution.free.fitted
        assert solution.norms is not None
        assert fair is not None
        assert free is not None
        return LossTradeoff(
            found.solution,
            found.basis,
            found.training,
            found.gaps,
            found.comparison,
            data.single_output,
            data.loss,
            np.hstack([fair, free]),
            data.rows,
            data.Y[:, 0],
            np.ones(len(data.Y)) if data.weights is None else data.weights,
            float(self.alpha) * solution.norms,
            data.on_response,
            data.classes,
            labels=found.labels,
            refit=Refit(replace(problem, earlier=None), resolve_loss_solver(self.solver)),
        )

    def _means(self, data: FitInput, parts: Parts, solution: Solution, u: float) -> Means:
        assert isinstance(data, LossInput)
        if not data.on_response or data.loss.is_identity or u in (0.0, 1.0):
            return super()._means(data, parts, solution, u)
        # the response of a mixture of scores is not the mixture of responses
        ends = (solution.fair, solution.free)
        fitted, pool = ([getattr(end, name) for end in ends] for name in ("fitted", "pool"))
        here, there = ((1 - u) * fair + u * free for fair, free in (fitted, pool))
        return _means_of_scores(data, parts, here, there)

    def _means_off_dial(
        self, data: FitInput, parts: Parts, solution: Solution, function: FittedFunction
    ) -> Means:
        assert isinstance(data, LossInput)
        return _means_of_scores(data, parts, *values_on_rows(data, solution.basis, function))

    def _refuse_scale(self, constraint: Constraint, loss: Loss, on_response: bool) -> None:
        """Refuse what has no meaning on the scale of the constraint."""
        if on_response and not loss.has_response:
            raise ValueError(
                "scale='response' is about probabilities, which the hinge loss does not have. Pass "
                "MeanParity(scale='score'), or loss='logistic'."
            )
        same_scale = loss.is_identity or (on_response and loss.has_response)
        if constraint.compares_errors and not same_scale:
            raise ValueError(
                f"{type(constraint).__name__} compares y with its prediction, but the scores of "
                "this loss are on another scale. Pass scale='response' to the constraint "
                "(logistic, poisson, gamma)."
            )

    def _reported(
        self, X: Any, budget: Kind | None
    ) -> tuple[Slider, FloatArray, FloatArray | None]:
        """With a link there is no model of responses between the ends: these are not mixtures."""
        from meanparity.report import Slider

        loss, tradeoff = self._loss, self.tradeoff_
        assert isinstance(tradeoff, LossTradeoff)
        if loss.is_identity:
            return super()._reported(X, budget)
        if budget is not None:
            slider = Slider.of(self, budget)
            predicted = slider.columns(self, X, loss.response)
            return slider, predicted, None if tradeoff.on_response else slider.columns(self, X)
        ends = np.asarray(tradeoff.predict(X, [0.0, 1.0])).T
        model, label = np.array([1.0, 0.0]), ""
        scores = ends
        predicted = loss.response(ends)
        if self.unfairness_ != 0.0:
            own, free = self._values(X), ends[:, 1]
            scores = np.column_stack([ends, own - free])
            predicted = np.column_stack([predicted, loss.response(own) - predicted[:, 1]])
            model = np.array([0.0, 1.0, 1.0])
            limit = f"max_gap {self.max_gap}" if self.max_gap is not None else ""
            label = limit or f"unfairness {self.unfairness_:.3g}"
        slider = Slider.pair(model, label)
        return slider, predicted, None if tradeoff.on_response else scores

    def _coded_outcomes(self, y: Any) -> Any:
        classes = getattr(self, "classes_", None)
        if y is None or classes is None:
            return y
        if not self._loss.has_response:
            return None  # scores of a margin are not comparable with outcomes
        return (np.asarray(y).reshape(-1) == classes[1]).astype(float)

    def predict_score(self, X: Any) -> FloatArray:
        """Scores g of the rows of X, before any link: (n,).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows, with the columns that were there in fit.
        """
        return self._values(X)


def _means_of_scores(data: LossInput, parts: Parts, here: FloatArray, there: FloatArray) -> Means:
    """Means and gaps of scores on the training rows and on the pool, or of their responses."""
    if data.on_response:
        here, there = data.loss.response(here), data.loss.response(there)
    gaps = [f.gaps(values) for f, values in zip(parts, (here, there), strict=True) if len(f)]
    pool_means = there[:0] if data.pool is None else data.pool.rows.cell_means(there)
    return Means((data.rows.cell_means(here), pool_means), np.vstack([there[:0], *gaps]))


def require_target(estimator: Any, y: Any) -> None:
    """Refuse a missing y, in scikit-learn's words."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y "
            "is None."
        )
