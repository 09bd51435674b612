"""Everything between the constrained and the free minimiser of any loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from meanparity._typing import FloatArray
from meanparity.data.fit_input import check_unfairness
from meanparity.data.rows import Rows
from meanparity.losses.base import Loss
from meanparity.solvers.problem import ConstrainedProblem
from meanparity.solvers.targets import AtTargets
from meanparity.state import stored
from meanparity.tradeoff.budgets import (
    Kind,
    WeightedGaps,
    check_kind,
    check_limits,
    check_size,
    size_of,
)
from meanparity.tradeoff.curve import (
    PAPER_POSITIONS,
    Frontier,
    TradeoffCurve,
    check_positions,
)
from meanparity.tradeoff.functions import FittedFunction
from meanparity.tradeoff.loss_budgets import LossBudgets
from meanparity.tradeoff.tradeoff import Tradeoff


@dataclass(frozen=True, eq=False)
class Refit:
    """What budgets need in order to minimise again.

    Parameters
    ----------
    problem : ConstrainedProblem
        The problem of the fit, with the training rows and the pool.
    solver : Solver
        A solver for any loss, with a method ``target_values(problem)``.
    """

    problem: ConstrainedProblem
    solver: Any


@stored("LossTradeoff", left_out=("refit",))
@dataclass(frozen=True, eq=False, repr=False)
class LossTradeoff(Tradeoff):
    r"""The dial between parity and accuracy for any loss, on the scale of the score.

    ``g_u = (1 − u)·g_fair + u·g_free``: every gap of scores on the training rows is ``u`` times the
    free gap, and the objective ``J(u)`` is convex and falls with u. Functions predict scores.

    Parameters
    ----------
    solution, basis, training, gaps, comparison, single_output
        See `Tradeoff`.
    loss : Loss
        The loss ℓ.
    scores : (n, 2) array
        Scores of both ends on the training rows.
    rows : Rows
        The training rows.
    y, weights : (n,) arrays
        Their targets and weights in the loss.
    penalties : (2, 2) array
        α times the inner products of both ends.
    on_response : bool
        Whether gaps are those of mean responses.
    classes : (2,) array or None
        The classes of a classifier, which y codes as 0 and 1.
    refit : Refit or None
        What budgets need. Model files do not hold it.

    See Also
    --------
    Tradeoff : The same for the squared error.

    Examples
    --------
    >>> from meanparity import ParityKernelRegressor
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> model = ParityKernelRegressor(loss="huber").fit(X, y, sensitive_features=s)
    >>> model.tradeoff_.at(0.5)
    FittedFunction(unfairness=0.5)
    """

    loss: Loss
    scores: FloatArray
    rows: Rows
    y: FloatArray
    weights: FloatArray
    penalties: FloatArray
    on_response: bool
    classes: Any = None
    refit: Refit | None = field(default=None, kw_only=True)

    def objective(self, unfairness: float) -> float:
        """The objective ``J(u) = Σ_i w_i ℓ(y_i, g_u(x_i)) + α‖g_u‖²`` with weights w."""
        u = check_unfairness(unfairness)
        share = np.array([1 - u, u])
        scores = self.scores @ share
        losses = float(self.weights @ self.loss.value(self.y, scores))
        return losses + float(share @ self.penalties @ share)

    def for_gap(self, max_gap: Any) -> FittedFunction:
        """The function of smallest objective of which no gap is larger, in the units of the gaps.

        For gaps of scores the problem is convex. With a smooth loss, the result agrees with a
        general solver to 1e-5 of its price (the objective above the free one). Losses with kinks,
        such as quantiles, are minimised with the kinks rounded off: the price is then up to half a
        per cent above the optimum. Gaps of responses are not linear in the function: then the
        result is a stationary point, that is, no small change within the limits has a smaller
        objective. If the free fit meets the limits, nothing is changed, and the function's
        `unfairness` is 1.

        Raises
        ------
        ValueError
            If no function of the space has gaps as small as that.

        Parameters
        ----------
        max_gap : float, or mapping of str to float
            One limit for all gaps, or one for each, by its name; see `Tradeoff.for_gap`.
        """
        return self.within_limits(self.limits(max_gap)[:, None])

    def within_limits(self, limits: FloatArray) -> FittedFunction:
        """The function of smallest objective of which no gap is larger than its limit, (R, 1)."""

        def find(budgets: LossBudgets) -> AtTargets:
            return budgets.within_limits(limits[:, 0])

        return self._found(find, limits[:, 0])

    def within_weighted(self, budget: WeightedGaps) -> FittedFunction:
        """The function of smallest objective whose weighted gaps are within a budget."""

        def find(budgets: LossBudgets) -> AtTargets:
            return budgets.within_weighted(budget.weights[0], float(budget.limits[0]))

        return self._found(find, np.array([np.inf]))

    def _within(self, kind: Kind, limit: float) -> FittedFunction:
        def find(budgets: LossBudgets) -> AtTargets:
            return budgets.within(kind, limit)

        return self._found(find, np.array([limit]))

    def for_loss_increase(self, share: float, budget: Kind = "gap") -> FittedFunction:
        """The function of smallest gaps whose objective is at most this share above the free one.

        Parameters
        ----------
        share : float
            0.05 allows five per cent.
        budget : {"gap", "smd", "norm"}
            What is as small as possible, see `Tradeoff.for_loss_increase`.
        """
        allowed, kind = check_size(share, "share"), check_kind(budget)
        excess = allowed * abs(float(self.solution.free.objective[0]))

        def find(budgets: LossBudgets) -> AtTargets:
            return budgets.within_excess(kind, excess)

        return self._found(find, np.array([np.inf]))

    def _found(
        self, find: Callable[[LossBudgets], AtTargets], limits: FloatArray
    ) -> FittedFunction:
        """The function that a search finds; an end of the dial if it is one."""
        if limits.max(initial=0.0) <= self._rounding:
            left = float(np.abs(self.solution.gaps[0]).max(initial=0.0))
            if left <= max(self._rounding, float(limits.min(initial=0.0))):
                return self.at(0.0)
        with np.errstate(over="ignore", invalid="ignore"):  # steps that lead too far are undone
            budgets = self._loss_budgets()
            found = find(budgets)
        return self._function_at(budgets, found)

    def _function_at(self, budgets: LossBudgets, found: AtTargets) -> FittedFunction:
        if found is budgets.free or found is budgets.parity:
            return self.at(1.0 if found is budgets.free else 0.0)
        coef, intercept = budgets.values.function(found)
        return FittedFunction(self.basis, coef, intercept, self.single_output)

    def training_frontier(self, budget: Kind = "gap", limits: Any = None) -> Frontier:
        """Error and gaps on the training rows of the functions within budgets.

        Parameters
        ----------
        budget : {"gap", "smd", "norm"}
            What is limited: the largest gap, their sum, or the root of the sum of their squares.
        limits : array-like of shape (p,), optional
            The limits; by default 11 from the smallest possible to the free fit. Each is a
            minimisation.
        """
        values, functions = self._within_each(budget, limits)
        assert self.refit is not None
        X, shares = self.refit.problem.X, self.weights / self.weights.sum()
        points = []
        for function in functions:
            scores = self.basis.functions.evaluate(X, function.coef) + function.intercept
            points.append(self._curve(self.y[:, None], scores, scores, self.rows, shares, [0.0]))
        return _frontier(budget, values, points)

    def frontier(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any = None,
        budget: Kind = "gap",
        limits: Any = None,
        *,
        control_features: Any = None,
        sample_weight: Any = None,
    ) -> Frontier:
        """Error and gaps on any rows of the functions within budgets; see `Tradeoff.frontier`."""
        values, functions = self._within_each(budget, limits)
        people = {"control_features": control_features, "sample_weight": sample_weight}
        points = [
            self.measure(function, X, coded(y, self.classes), sensitive_features, **people)
            for function in functions
        ]
        return _frontier(budget, values, points)

    def along_frontier(
        self, budget: Kind, steps: int
    ) -> tuple[FloatArray, tuple[FittedFunction, ...]]:
        """Limits in equal steps, and the function within each; see `Tradeoff.along_frontier`.

        Each function between both ends is a new minimisation.
        """
        values, found = self._within_each(budget, None, steps)
        return values, (self.at(0.0), *found[1:-1], self.at(1.0))

    def _within_each(
        self, budget: Any, limits: Any, steps: int = 10
    ) -> tuple[FloatArray, list[FittedFunction]]:
        """Limits, (p,), and the functions within them."""
        kind = check_kind(budget)
        with np.errstate(over="ignore", invalid="ignore"):
            budgets = self._loss_budgets()
            if limits is None:
                largest = size_of(kind, budgets.gaps, budgets.parts)
                values = np.linspace(budgets.least(kind), largest, steps + 1)
            else:
                values = check_limits(limits)
            found = [budgets.within(kind, float(limit)) for limit in values]
        return values, [self._function_at(budgets, one) for one in found]

    def _loss_budgets(self) -> LossBudgets:
        if self.refit is None:
            raise ValueError(
                "Budgets of losses other than the squared error are new minimisations, and a model "
                "that was loaded does not have the problem and the solver of its fit. Fit the "
                "model again (max_gap in fit), use tradeoff_.at, or leave budget out of a report."
            )
        runs = self.solution.runs
        assert runs is not None
        values = self.refit.solver.target_values(self.refit.problem)
        free = values.free(runs[1])
        parity = values.parity(free)
        parts = (np.arange(len(values.units)) >= len(self.labels[0])).astype(int)
        return LossBudgets(values, free, parity, parts, values.units)

    def curve(self, X: Any, y: Any, *args: Any, **kwargs: Any) -> TradeoffCurve:
        """Loss, squared error of the responses and gaps on any rows; see `Tradeoff.curve`."""
        return super().curve(X, coded(y, self.classes), *args, **kwargs)

    def training_curve(self, unfairness: Any = None) -> TradeoffCurve:
        """Loss, squared error of the responses and gaps along the dial on the training rows."""
        fair, free = self.scores[:, :1], self.scores[:, 1:]
        shares = self.weights / self.weights.sum()
        return self._curve(self.y[:, None], fair, free, self.rows, shares, unfairness)

    def _curve(
        self,
        y: FloatArray,
        fair: FloatArray,
        free: FloatArray,
        rows: Rows,
        shares: FloatArray | None,
        unfairness: Any,
    ) -> TradeoffCurve:
        u = PAPER_POSITIONS if unfairness is None else check_positions(unfairness)
        shares = np.full(len(y), 1 / len(y)) if shares is None else shares
        self.loss.check(y[:, 0])
        constraint = self.comparison.constraint
        between = constraint.between_groups(rows)
        variance = float(shares @ (y[:, 0] - shares @ y[:, 0]) ** 2)
        columns = []
        for position in u:
            scores = (1 - position) * fair + position * free
            response = self.loss.response(scores)
            values = response if self.on_response else scores
            gaps = np.abs(between.gaps(constraint.compared(values, y)))
            mse = float(shares @ (y - response)[:, 0] ** 2)
            loss = float(shares @ self.loss.value(y[:, 0], scores[:, 0]))
            sizes = gaps.sum(), gaps.max(initial=0.0), np.linalg.norm(gaps)
            columns.append((mse, *sizes, loss))
        mse, smd, largest, norm, loss = np.array(columns).T
        r2 = 1 - mse / variance if variance > 0 else np.full_like(mse, np.nan)
        return replace(TradeoffCurve(u, mse, r2, smd, largest, norm), loss=loss)


def _frontier(budget: str, limits: FloatArray, points: list[TradeoffCurve]) -> Frontier:
    """Points on any rows as a frontier."""
    names = ("mse", "r2", "smd", "max_gap", "norm")
    columns = (np.concatenate([getattr(point, name) for point in points]) for name in names)
    return Frontier(budget, limits, *columns)


def coded(y: Any, classes: Any) -> Any:
    """Classes as 0 and 1; targets as they are if there are no classes."""
    if classes is None:
        return y
    y = np.asarray(y)
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(
            f"y contains {y[unknown].tolist()[0]!r}, but the classes are {classes.tolist()}. Pass "
            "outcomes of these classes."
        )
    return (y == classes[1]).astype(float)
