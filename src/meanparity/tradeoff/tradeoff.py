"""Everything between the constrained and the free solution of the squared error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from meanparity._typing import FloatArray, FloatOrArray
from meanparity.data.fit_input import check_unfairness, check_weights
from meanparity.data.refusals import refuse_other_order
from meanparity.data.rows import Rows
from meanparity.solvers.solution import Directions, Solution
from meanparity.state import stored
from meanparity.tradeoff.budgets import (
    Budgets,
    Kind,
    WeightedGaps,
    check_kind,
    check_limits,
    check_size,
)
from meanparity.tradeoff.curve import (
    PAPER_POSITIONS,
    Comparison,
    CurveSums,
    Frontier,
    StepSums,
    TradeoffCurve,
    check_ends,
    check_positions,
)
from meanparity.tradeoff.functions import FittedFunction, TableFunctions


@stored("Tradeoff")
@dataclass(frozen=True, eq=False, repr=False)
class Tradeoff:
    r"""The dial between parity and accuracy.

    ``g_u = (1 − u)·g_fair + u·g_free`` minimises the objective among all functions whose every gap
    is u times that of the free solution (Proposition 4 of the paper), at no further cost:

    * each gap on the training rows is ``u`` times the free gap;
    * the penalised objective is ``J(u) = J_free + (1 − u)²·(J_fair − J_free)``.

    More generally, every candidate is ``g_free − Σ_k ν_k h_k`` with the `directions` h of the
    solution; the dial is ``ν = (1 − u)·ν_fair``. See `with_multipliers`.

    Parameters
    ----------
    solution : Solution
        Both ends, and the directions between them. Values of individual rows are not kept.
    basis : TableFunctions
        Evaluates functions from their coefficients.
    training : CurveSums
        The sums from which the curve on the training rows follows.
    gaps : (2, r, m) array
        The gaps of both ends, on the training rows and on the pool, as far as the constraint holds
        there.
    comparison : Comparison
        How other rows are compared.
    single_output : bool
        Whether predictions are (n,) instead of (n, m).
    labels : tuple of str, tuple of str
        What each gap of the constraint's conditions is about, on the training rows and on the pool.
    steps : StepSums or None
        The sums from which the frontier on the training rows follows, if they are known.

    See Also
    --------
    LossTradeoff : The same for other losses.
    meanparity.displays.TradeoffDisplay : A picture of it.

    Examples
    --------
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> tradeoff = ParityRidge().fit(X, y, sensitive_features=s).tradeoff_
    >>> tradeoff.predict(X, unfairness=[0.0, 0.5, 1.0]).shape
    (3, 200)
    >>> bool(tradeoff.objective(0.0) > tradeoff.objective(0.5) > tradeoff.objective(1.0))
    True
    >>> within = tradeoff.for_gap(0.01)  # no group's mean further from the overall mean
    >>> float(np.ptp([within.predict(X)[s == group].mean() for group in set(s)])) <= 0.02
    True
    """

    solution: Solution
    basis: TableFunctions
    training: CurveSums
    gaps: FloatArray
    comparison: Comparison
    single_output: bool
    labels: tuple[tuple[str, ...], tuple[str, ...]] = field(default=((), ()), kw_only=True)
    steps: StepSums | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        return f"Tradeoff(training={self.training_curve([0.0, 1.0])!r})"

    def at(self, unfairness: float) -> FittedFunction:
        """The function at one position of the dial: 0 is parity, 1 is unconstrained."""
        return self.mixture(check_unfairness(unfairness))

    def mixture(self, u: float) -> FittedFunction:
        """The same for a position between 0 and 1 that was checked before."""
        fair, free = self.solution.fair, self.solution.free
        return FittedFunction(
            self.basis,
            (1 - u) * fair.coef + u * free.coef,
            (1 - u) * fair.intercept + u * free.intercept,
            self.single_output,
            u,
        )

    def with_multipliers(self, multipliers: Any) -> FittedFunction:
        """The function ``g_free − Σ_k ν_k h_k``.

        Parameters
        ----------
        multipliers : array-like of shape (r,) or (r, m)
            ν, for all outputs or for each. Zero is the free solution, and
            ``solution.directions.multipliers`` the one at parity.
        """
        directions, free = self._directions, self.solution.free
        nu = np.asarray(multipliers, dtype=float)
        nu = np.broadcast_to(nu.reshape(len(nu), -1), directions.multipliers.shape)
        which = directions.penalty
        coef = free.coef - np.einsum("mpr,rm->pm", directions.coef[which], nu)
        intercept = free.intercept - np.einsum("mr,rm->m", directions.intercept[which], nu)
        return FittedFunction(
            self.basis, coef, intercept, self.single_output, multipliers=np.array(nu)
        )

    def for_gap(self, max_gap: Any) -> FittedFunction:
        """The function of smallest objective of which no gap is larger, in the units of y.

        The gaps are those of the constraint's conditions, on the training rows and on the pool: for
        mean parity the distance of a group's mean from the mean of all rows (of its stratum); of
        conditions with targets, the distance from the target. Gaps that are within their limit in
        the free fit may stay as they are. If all are, nothing is changed, and the function's
        `unfairness` is 1.

        Parameters
        ----------
        max_gap : float, or mapping of str to float
            One limit for all gaps, or one for each, by the names that they have in `labels`;
            infinity is no limit.

        Raises
        ------
        ValueError
            If no function of the space has gaps as small as that.
        """
        return self.within_limits(self.limits(max_gap)[:, None])

    def within_limits(self, limits: FloatArray) -> FittedFunction:
        """The function of smallest objective of which no gap is larger than its limit.

        Parameters
        ----------
        limits : (R, 1) or (R, m) array
            The limit of each gap, for all outputs or for each.
        """

        def step(budgets: Budgets, output: int) -> FloatArray:
            allowed = limits[:, min(output, limits.shape[1] - 1)]
            if (np.abs(budgets.free) <= allowed).all():
                return np.zeros(budgets.A.shape[1])
            if allowed.max(initial=0.0) <= self._rounding:
                return budgets.met_parity(self._rounding)
            return budgets.within_limits(allowed)

        return self._function(step)

    def within_weighted(self, budget: WeightedGaps) -> FittedFunction:
        """The function of smallest objective whose weighted gaps are within a budget.

        It is the constrained function where no function is.
        """

        def step(budgets: Budgets, output: int) -> FloatArray:
            return budgets.within_weighted(budget.weights[output], float(budget.limits[output]))

        return self._function(step)

    def for_smd(self, smd: float) -> FittedFunction:
        """The function of smallest objective whose sum of absolute gaps is at most `smd`.

        For mean parity, the sum on the training rows is the paper's SMD. Where the constraint holds
        on a pool, the sum of the gaps there is at most `smd` as well.
        """
        return self._within("smd", check_size(smd, "smd"))

    def for_norm(self, norm: float) -> FittedFunction:
        """The function of smallest objective with ``√(Σ gap²)`` at most `norm`.

        It is the paper's relaxed constraint ``‖Cᵀg‖ ≤ β``, with all gaps in the units of y.
        """
        return self._within("norm", check_size(norm, "norm"))

    def along_frontier(
        self, budget: Kind, steps: int
    ) -> tuple[FloatArray, tuple[FittedFunction, ...]]:
        """Limits in equal steps from parity to the free fit, and the function within each.

        Parameters
        ----------
        budget : {"gap", "smd", "norm"}
            What is limited: the largest gap, their sum, or the root of the sum of their squares.
        steps : int
            Number of steps.

        Returns
        -------
        limits : (steps + 1,) array
            In the units of the gaps.
        functions : tuple of steps + 1 FittedFunction
            The first is the constrained one, the last the free one.
        """
        kind = check_kind(budget)
        shares = np.arange(steps + 1) / steps
        limits = self._limit_values(kind, None, shares)
        between = (self._within(kind, float(limit)) for limit in limits[1:-1])
        return limits, (self.at(0.0), *between, self.at(1.0))

    def for_loss_increase(self, share: float, budget: Kind = "gap") -> FittedFunction:
        """The function of smallest gaps whose objective is at most this share above the free one.

        Parameters
        ----------
        share : float
            0.05 allows five per cent. The objective is the penalised squared error on the training
            rows, see `objective`.
        budget : {"gap", "smd", "norm"}
            What is as small as possible: the largest gap, their sum, or the root of the sum of
            their squares.
        """
        allowed, kind = check_size(share, "share"), check_kind(budget)
        objectives = self.solution.free.objective

        def step(budgets: Budgets, output: int) -> FloatArray:
            return budgets.within_excess(kind, allowed * float(objectives[output]))

        return self._function(step)

    def training_frontier(self, budget: Kind = "gap", limits: Any = None) -> Frontier:
        """Error and gaps on the training rows of the functions of smallest objective in budgets.

        Parameters
        ----------
        budget : {"gap", "smd", "norm"}
            What is limited: the largest gap, their sum, or the root of the sum of their squares.
        limits : array-like of shape (p,), optional
            The limits, in the units of y; by default 51 from the smallest possible to the free fit.
        """
        if self.steps is None:
            raise ValueError(
                "The fit kept no sums for functions off the dial. Pass rows: frontier(X, y, ...)."
            )
        values = self._limit_values(budget, limits)
        return self.steps.frontier(budget, values, self._multipliers(budget, values))

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
        """Error and gaps on any rows of the functions of smallest objective within budgets.

        The limits are about the rows of fit; `smd` and `max_gap` of the result are those of the
        rows that are passed.

        Parameters
        ----------
        X, y, sensitive_features, control_features, sample_weight
            See `curve`.
        budget, limits
            See `training_frontier`.
        """
        values, directions = self._limit_values(budget, limits), self._directions
        if sensitive_features is None:
            sensitive_features = self.basis.sensitive_features(X)
        free, (a, r) = self.solution.free, directions.intercept.shape
        found = self.basis.evaluate(X, np.hstack([free.coef, *directions.coef]))
        found += np.concatenate([free.intercept, directions.intercept.ravel()])
        m = len(free.intercept)
        y, predicted, _ = check_ends(y, found[:, :m], found[:, :m])
        rows, shares = self._read_rows(sensitive_features, control_features, sample_weight, y)
        shares = np.full(len(y), 1 / len(y)) if shares is None else shares
        h = found[:, m:].reshape(-1, a, r)[:, directions.penalty]
        constraint = self.comparison.constraint
        between = constraint.between_groups(rows)
        errors = np.empty((m, 1 + r, 1 + r))
        for output in range(m):
            both = np.column_stack([y[:, output] - predicted[:, output], h[:, output]])
            errors[output] = both.T @ (shares[:, None] * both)
        none = between.gaps_of_zero
        sums = StepSums(
            errors,
            shares @ (y - shares @ y) ** 2,
            between.gaps(constraint.compared(predicted, y)),
            np.stack([between.gaps(h[:, output]) - none for output in range(m)]),
        )
        return sums.frontier(budget, values, self._multipliers(budget, values))

    def predict(self, X: Any, unfairness: Any) -> FloatArray:
        """Predictions at p positions of the dial, from one evaluation of the kernel.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, as the estimator takes them.
        unfairness : array-like of shape (p,)
            Positions.

        Returns
        -------
        (p, n) array, or (p, n, m) for several outputs
        """
        u = check_positions(unfairness)
        fair, free = self._ends(X)
        u = u.reshape(-1, *(1,) * fair.ndim)
        return (1 - u) * fair + u * free

    def objective(self, unfairness: float) -> FloatOrArray:
        """The objective ``J(u)``: a float, or (m,) for several outputs."""
        u = check_unfairness(unfairness)
        fair, free = self.solution.fair.objective, self.solution.free.objective
        values = free + (1 - u) ** 2 * (fair - free)
        return float(values[0]) if self.single_output else values

    def curve(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any = None,
        unfairness: Any = None,
        *,
        control_features: Any = None,
        sample_weight: Any = None,
    ) -> TradeoffCurve:
        """Error and gaps along the dial on any rows, such as held-out ones.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,) or (n, m)
            Their targets.
        sensitive_features : array-like of shape (n,) or (n, r), or data frame
            Their sensitive columns; not needed when the estimator's `sensitive_columns` says
            where they are in X.
        unfairness : array-like of shape (p,), optional
            Positions; the paper's 0, 1/50, ..., 1 by default.
        control_features : array-like or data frame, optional
            Their control columns, if fit had some.
        sample_weight : array-like of shape (n,), optional
            Weights, in the loss, in the means or in both, like those of fit.
        """
        if sensitive_features is None:
            sensitive_features = self.basis.sensitive_features(X)
        refuse_other_order(
            X=X,
            y=y,
            sensitive_features=sensitive_features,
            control_features=control_features,
            sample_weight=sample_weight,
        )
        y, fair, free = check_ends(y, *self._ends(X))
        rows, shares = self._read_rows(sensitive_features, control_features, sample_weight, y)
        return self._curve(y, fair, free, rows, shares, unfairness)

    def measure(
        self,
        function: FittedFunction,
        X: Any,
        y: Any,
        sensitive_features: Any = None,
        *,
        control_features: Any = None,
        sample_weight: Any = None,
    ) -> TradeoffCurve:
        """Error and gaps of one function on any rows, as a curve of one point.

        Parameters
        ----------
        function : FittedFunction
            A function of this tradeoff, on the dial or off it.
        X, y, sensitive_features, control_features, sample_weight
            See `curve`.
        """
        if sensitive_features is None:
            sensitive_features = self.basis.sensitive_features(X)
        refuse_other_order(
            X=X,
            y=y,
            sensitive_features=sensitive_features,
            control_features=control_features,
            sample_weight=sample_weight,
        )
        values = function.predict(X)
        y, predicted, _ = check_ends(y, values, values)
        rows, shares = self._read_rows(sensitive_features, control_features, sample_weight, y)
        return self._curve(y, predicted, predicted, rows, shares, [0.0])

    def _read_rows(
        self, sensitive_features: Any, control_features: Any, sample_weight: Any, y: FloatArray
    ) -> tuple[Rows, FloatArray | None]:
        """Rows as fit reads them, and the share of each in the loss, (n,)."""
        weights = None if sample_weight is None else check_weights(sample_weight, len(y))
        scope = self.comparison.constraint.weight_scope
        rows = self.comparison.schema.read_rows(
            sensitive_features,
            control_features=control_features,
            sample_weight=weights if scope != "loss" else None,
            y=y,
            n_rows=len(y),
        )
        shares = None
        if weights is not None and scope != "constraint":
            shares = weights / weights.sum()
        return rows, shares

    def _curve(
        self,
        y: FloatArray,
        fair: FloatArray,
        free: FloatArray,
        rows: Rows,
        shares: FloatArray | None,
        unfairness: Any,
    ) -> TradeoffCurve:
        """The curve of targets and of predictions of both ends, all (n, m)."""
        sums = CurveSums.from_predictions(y, fair, free, self.comparison, rows, shares)
        return sums.curve(unfairness)

    def training_curve(self, unfairness: Any = None) -> TradeoffCurve:
        """Error and gaps along the dial on the training rows, without evaluating the kernel again.

        Parameters
        ----------
        unfairness : array-like of shape (p,), optional
            Positions; the paper's 0, 1/50, ..., 1 by default.
        """
        return self.training.curve(unfairness)

    @property
    def _rounding(self) -> float:
        """Gaps of at most this size are nothing but rounding."""
        values = np.abs(self.solution.fair.cell_means).max(initial=0.0)
        spread = float(np.sqrt(self.training.variance.max()))
        return 1e-10 * spread + 1e3 * float(np.finfo(float).eps * values)

    @property
    def _directions(self) -> Directions:
        if self.solution.directions is None:
            raise ValueError(
                f"The solver returned no directions (solver_={self.solution.info.solver!r}), along "
                "which the free fit could give way. Use at, or another solver; without a penalty "
                "and with a pool, raise alpha."
            )
        return self.solution.directions

    @cached_property
    def _budgets(self) -> list[Budgets]:
        """The small problem of each output."""
        found = self._directions
        parts = (np.arange(found.gaps.shape[1]) >= len(self.labels[0])).astype(int)
        return [
            Budgets.from_directions(found.gram[a], found.gaps[a], free, parts)
            for a, free in zip(found.penalty, self.solution.gaps[1].T, strict=True)
        ]

    def limits(self, max_gap: Any) -> FloatArray:
        """The limit of each gap, from one number or a mapping: (R,)."""
        if not isinstance(max_gap, Mapping):
            return np.full(self.solution.gaps.shape[1], check_size(max_gap, "max_gap"))
        labels = [*self.labels[0], *self.labels[1]]
        unknown = [name for name in max_gap if name not in labels]
        missing = [name for name in labels if name not in max_gap]
        if unknown or missing:
            problem = f"has no limit for {missing[0]!r}" if missing else f"names {unknown[0]!r}"
            known = ", ".join(map(repr, dict.fromkeys(labels)))
            raise ValueError(
                f"max_gap {problem}, but the gaps are {known}. "
                "Pass one limit for each of them (float('inf') is no limit), or one number."
            )
        return np.array([check_size(max_gap[name], f"max_gap[{name!r}]", True) for name in labels])

    def _within(self, kind: Kind, limit: float) -> FittedFunction:
        return self._function(lambda budgets, output: self._step(budgets, kind, limit))

    def _step(self, budgets: Budgets, kind: Kind, limit: float) -> FloatArray:
        if limit <= self._rounding and budgets.size(kind, budgets.free) > limit:
            return budgets.met_parity(self._rounding, kind)
        return budgets.within(kind, limit)

    def _function(self, step: Callable[[Budgets, int], FloatArray]) -> FittedFunction:
        """The function after a step of each output; for two groups it is on the dial."""
        steps = [step(budgets, output) for output, budgets in enumerate(self._budgets)]
        pairs = list(zip(steps, self._budgets, strict=True))
        shares = [budgets.share_of_parity(x) for x, budgets in pairs]
        if all(share is not None and share == shares[0] for share in shares):
            return self.at(1.0 - (shares[0] or 0.0))
        return self.with_multipliers(np.stack([b.multipliers(x) for x, b in pairs], axis=1))

    def _limit_values(
        self, budget: Any, limits: Any, shares: FloatArray = PAPER_POSITIONS
    ) -> FloatArray:
        """Limits that were passed; without any, shares of the way from parity to the free fit."""
        kind = check_kind(budget)
        if limits is not None:
            return check_limits(limits)
        pairs = [(b.least(kind), b.size(kind, b.free)) for b in self._budgets]
        low, high = np.max(pairs, axis=0)
        return np.asarray(low + (high - low) * shares)

    def _multipliers(self, kind: Kind, limits: FloatArray) -> FloatArray:
        """ν of the functions within limits, (p,): (p, r, m)."""
        found = [
            np.stack(
                [b.multipliers(self._step(b, kind, float(limit))) for b in self._budgets], axis=1
            )
            for limit in limits
        ]
        return np.stack(found)

    def _ends(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Predictions of the constrained and of the free solution."""
        fair, free = self.solution.fair, self.solution.free
        m = fair.coef.shape[1]
        both = self.basis.evaluate(X, np.hstack([fair.coef, free.coef]))
        both += np.concatenate([fair.intercept, free.intercept])
        if self.single_output:
            return both[:, 0], both[:, 1]
        return both[:, :m], both[:, m:]
