"""Everything between the constrained and the free solution of the squared error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from meanparity._typing import FloatArray
from meanparity.data.features import FeatureLayout
from meanparity.data.fit_input import check_unfairness, check_weights
from meanparity.data.rows import Rows
from meanparity.solvers.problem import Basis, Solution
from meanparity.state import stored
from meanparity.tradeoff.curve import (
    Comparison,
    CurveSums,
    TradeoffCurve,
    check_ends,
    check_positions,
)


@stored("TableFunctions")
@dataclass(frozen=True, eq=False)
class TableFunctions:
    """Functions of the rows of a table with the columns that fit saw.

    Parameters
    ----------
    layout : FeatureLayout
        The columns of X.
    functions : Basis
        Evaluates functions of the features.
    """

    layout: FeatureLayout
    functions: Basis

    def evaluate(self, X: Any, coef: FloatArray) -> FloatArray:
        """Values of the functions with coefficients coef, (p, m), at the rows of X: (n, m)."""
        return self.functions.evaluate(self.layout.read(X), coef)

    def sensitive_features(self, X: Any) -> dict[str, Any]:
        """The sensitive columns in X, if the estimator names them."""
        if not self.layout.sensitive:
            raise ValueError(
                "The groups of these rows are not known. Pass sensitive_features, as in fit."
            )
        return self.layout.sensitive_values(X)


@stored("FittedFunction")
@dataclass(frozen=True, eq=False, repr=False)
class FittedFunction:
    """A fitted function that can be evaluated at any rows.

    Parameters
    ----------
    basis : TableFunctions
        Evaluates functions from their coefficients.
    coef : (p, m) array
        Coefficients.
    intercept : (m,) array
        The constant.
    single_output : bool
        Whether predictions are (n,) instead of (n, m).
    unfairness : float or None
        Its position on the dial; None if it is not on the dial.
    """

    basis: TableFunctions
    coef: FloatArray
    intercept: FloatArray
    single_output: bool
    unfairness: float | None = None

    def __repr__(self) -> str:
        return f"FittedFunction(unfairness={self.unfairness})"

    def predict(self, X: Any) -> FloatArray:
        """Predictions for the rows of X: (n,), or (n, m) for several outputs."""
        values = self.basis.evaluate(X, self.coef) + self.intercept
        return values[:, 0] if self.single_output else values


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
        The reported gaps of both ends, on the training rows and on the pool, as far as the
        constraint holds there.
    comparison : Comparison
        How other rows are compared.
    single_output : bool
        Whether predictions are (n,) instead of (n, m).

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
    >>> round(tradeoff.for_gap(0.01).unfairness, 4)
    0.0504
    """

    solution: Solution
    basis: TableFunctions
    training: CurveSums
    gaps: FloatArray
    comparison: Comparison
    single_output: bool

    def __repr__(self) -> str:
        return f"Tradeoff(training={self.training_curve([0.0, 1.0])!r})"

    def at(self, unfairness: float) -> FittedFunction:
        """The function at one position of the dial: 0 is parity, 1 is unconstrained."""
        u = check_unfairness(unfairness)
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
        directions, free = self.solution.directions, self.solution.free
        if directions is None:
            raise ValueError(
                f"The solver returned no directions (solver_={self.solution.info.solver!r}), along "
                "which multipliers could move. Use at, for_gap or for_smd instead."
            )
        nu = np.asarray(multipliers, dtype=float)
        nu = np.broadcast_to(nu.reshape(len(nu), -1), directions.multipliers.shape)
        which = directions.penalty
        coef = free.coef - np.einsum("mpr,rm->pm", directions.coef[which], nu)
        intercept = free.intercept - np.einsum("mr,rm->m", directions.intercept[which], nu)
        return FittedFunction(self.basis, coef, intercept, self.single_output)

    def for_gap(self, max_gap: float) -> FittedFunction:
        """The position closest to the free fit at which no gap is larger, in the units of y.

        The gaps are those that the constraint is about (an estimator's `gaps_` and `pool_gaps_`):
        the distance of a group's mean from the mean of all rows (of its stratum); of conditions
        with targets, the distance from the target.

        Raises
        ------
        ValueError
            If even the constrained solution has larger gaps.
        """
        limit = _check_size(max_gap, "max_gap")
        return self._most_accurate(self.gaps.reshape(2, -1).T[:, :, None], limit)

    def for_smd(self, smd: float) -> FittedFunction:
        """The position closest to the free fit whose sum of gaps is at most `smd`.

        The sum of absolute gaps on the training rows is the paper's SMD.

        Raises
        ------
        ValueError
            If even the constrained solution has a larger sum of gaps.
        """
        limit = _check_size(smd, "smd")
        return self._most_accurate(np.moveaxis(self.training.gaps, 2, 0), limit)

    def for_loss_increase(self, share: float) -> FittedFunction:
        """The position closest to parity whose objective is at most this share above the free one.

        ``J(u) ≤ (1 + share)·J_free``: 0.05 allows five per cent. The objective is the penalised
        squared error on the training rows, see `objective`.
        """
        limit = _check_size(share, "share")
        fair, free = self.solution.fair.objective, self.solution.free.objective
        increase = np.where(fair > free, fair - free, 1.0)
        positions = 1 - np.sqrt(np.where(fair > free, limit * free, 1.0) / increase)
        return self.at(float(np.clip(positions.max(), 0.0, 1.0)))

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

    def objective(self, unfairness: float) -> Any:
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
        y, fair, free = check_ends(y, *self._ends(X))
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
        return self._curve(y, fair, free, rows, shares, unfairness)

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

    def _most_accurate(self, sums: FloatArray, limit: float) -> FittedFunction:
        """The largest u at which several sums of gaps, (s, 2, r), are at most a limit."""
        values = np.abs(self.solution.fair.cell_means).max(initial=0.0)
        spread = float(np.sqrt(self.training.variance.max()))
        rounding = 1e-10 * spread + 1e3 * np.finfo(float).eps * float(values)
        low, high = 0.0, 1.0
        for fair, free in sums:
            first, last = _allowed(np.where(np.abs(fair) > rounding, fair, 0.0), free, limit)
            low, high = max(low, first), min(high, last)
        if low > high:
            raise ValueError(
                f"No position of the dial has gaps of at most {limit:g}: the constraint leaves "
                "larger ones, because it is about something else or cannot be met. Allow more."
            )
        return self.at(high)

    def _ends(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Predictions of the constrained and of the free solution."""
        fair, free = self.solution.fair, self.solution.free
        m = fair.coef.shape[1]
        both = self.basis.evaluate(X, np.hstack([fair.coef, free.coef]))
        both += np.concatenate([fair.intercept, free.intercept])
        if self.single_output:
            return both[:, 0], both[:, 1]
        return both[:, :m], both[:, m:]


def _allowed(fair: FloatArray, free: FloatArray, limit: float) -> tuple[float, float]:
    """Where in [0, 1] ``Σ_j |(1 − u)·fair_j + u·free_j| ≤ limit``; gaps are (r,).

    The sum is convex and, between positions where a gap changes its sign, linear in u. An interval
    whose end is before its start is empty.
    """
    moves = free - fair
    crossings = -fair[moves != 0] / moves[moves != 0]
    u = np.concatenate([[0.0], np.sort(crossings[(crossings > 0) & (crossings < 1)]), [1.0]])
    sums = np.abs(fair + u[:, None] * moves).sum(axis=1)
    inside = np.flatnonzero(sums <= limit)
    if not len(inside):
        return 1.0, 0.0
    ends = []
    for i, beyond in ((inside[0], inside[0] - 1), (inside[-1], inside[-1] + 1)):
        end = u[i]
        if 0 <= beyond < len(u):
            end += (u[beyond] - u[i]) * (limit - sums[i]) / (sums[beyond] - sums[i])
        ends.append(float(end))
    return ends[0], ends[1]


def _check_size(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, bool | np.bool_ | str) or not 0.0 <= number < np.inf:
        raise ValueError(f"{name}={value!r} is not a finite number of 0 or more. Pass one.")
    return number
