"""Everything between the constrained and the free minimiser of any loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from meanparity._typing import FloatArray
from meanparity.data.fit_input import check_unfairness
from meanparity.data.rows import Rows
from meanparity.losses.base import Loss
from meanparity.state import stored
from meanparity.tradeoff.curve import PAPER_POSITIONS, TradeoffCurve, check_positions
from meanparity.tradeoff.tradeoff import FittedFunction, Tradeoff, _check_size


@stored("LossTradeoff")
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
    has_pool : bool
        Whether the constraint holds on a pool, whose rows are not kept.
    classes : (2,) array or None
        The classes of a classifier, which y codes as 0 and 1.
    """

    loss: Loss
    scores: FloatArray
    rows: Rows
    y: FloatArray
    weights: FloatArray
    penalties: FloatArray
    on_response: bool
    has_pool: bool
    classes: Any = None

    def objective(self, unfairness: float) -> float:
        """The objective ``J(u) = Σ_i w_i ℓ(y_i, g_u(x_i)) + α‖g_u‖²`` with weights w."""
        u = check_unfairness(unfairness)
        share = np.array([1 - u, u])
        scores = self.scores @ share
        losses = float(self.weights @ self.loss.value(self.y, scores))
        return losses + float(share @ self.penalties @ share)

    def for_gap(self, max_gap: Any) -> FittedFunction:
        """The position of the dial nearest the free fit at which no gap is larger.

        Other functions with gaps as small may have a smaller objective.
        """
        limit = _check_size(max_gap, "max_gap")
        if self._is_linear:
            return self._nearest_free(self.gaps.reshape(2, -1).T[:, :, None], limit)
        if self.has_pool:
            raise ValueError(
                "Gaps of mean responses on a pool are not linear along the dial, and the rows of "
                "the pool are not stored. Use for_smd, or tradeoff_.curve on these rows."
            )
        return self._largest("max_gap", limit)

    def for_smd(self, smd: float) -> FittedFunction:
        """The position of the dial nearest the free fit whose sum of gaps is at most `smd`."""
        limit = _check_size(smd, "smd")
        if self._is_linear:
            return self._nearest_free(np.moveaxis(self.training.gaps, 2, 0), limit)
        return self._largest("smd", limit)

    def _nearest_free(self, sums: FloatArray, limit: float) -> FittedFunction:
        """The largest u at which several sums of gaps, (s, 2, r), are at most a limit."""
        rounding = self._rounding
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

    @property
    def _is_linear(self) -> bool:
        """Whether gaps are linear along the dial."""
        return self.loss.is_identity or not self.on_response

    def _largest(self, name: str, limit: float) -> FittedFunction:
        """The largest u up to which a column of the curve stays within a limit, by bisection."""
        u = np.linspace(0, 1, 101)
        beyond = np.flatnonzero(getattr(self.training_curve(u), name) > limit)
        if not len(beyond):
            return self.at(1.0)
        if beyond[0] == 0:
            if limit < 1e-8:
                return self.at(0.0)
            raise ValueError(
                f"No position of the dial has gaps of at most {limit:g}. Allow larger gaps."
            )
        low, high = u[beyond[0] - 1], u[beyond[0]]
        for _ in range(50):
            middle = (low + high) / 2
            fits = getattr(self.training_curve([middle]), name)[0] <= limit
            low, high = (middle, high) if fits else (low, middle)
        return self.at(float(low))

    def for_loss_increase(self, share: float, budget: Any = None) -> FittedFunction:
        """The position nearest parity whose objective is at most this share above the free one.

        `budget` is not supported for other losses than the squared one.
        """
        if budget is not None:
            raise ValueError(f"budget={budget!r} needs the squared loss. Leave it out.")
        limit = (1 + _check_size(share, "share")) * self.objective(1.0)
        if self.objective(0.0) <= limit:
            return self.at(0.0)
        if self.objective(1.0) >= limit:
            return self.at(1.0)
        return self.at(float(brentq(lambda u: self.objective(u) - limit, 0.0, 1.0)))

    def curve(self, X: Any, y: Any, *args: Any, **kwargs: Any) -> TradeoffCurve:
        """Loss, squared error of the responses and gaps on any rows; see `Tradeoff.curve`."""
        if self.classes is not None:
            y = np.asarray(y)
            unknown = ~np.isin(y, self.classes)
            if unknown.any():
                raise ValueError(
                    f"y has the class {y[unknown][0]!r}, but fit saw {self.classes.tolist()}."
                )
            y = (y == self.classes[1]).astype(float)
        return super().curve(X, y, *args, **kwargs)

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
        between = constraint.group_gaps(rows)
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
