"""The game behind the reduction: a regressor against multipliers of its disparities.

Regression is a family of classifications, ``f(x) ≥ θ`` for thresholds θ on a grid, with costs that
add up to the squared loss. The multipliers' player uses exponentiated gradients, the regressor's
player answers with an oracle, and a linear programme finds the best mixture of all answers so far
(Agarwal et al. 2019, after Agarwal et al. 2018). All that is known of an answer is, for each row,
how many thresholds it reaches, so an n × m table of costs is all that is kept.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import linprog

from meanparity._typing import FloatArray, IntArray
from meanparity.linalg import require_memory, row_blocks

_LOG = logging.getLogger(__name__)
_PRECISION = 1e-12
_ACCURACY = 0.5  # tolerance in standard errors of the cost
_FINEST = 1e-7  # the tolerance of an oracle that makes no errors
_FIRST_CHECK, _CHECK_GROWTH = 5, 1.6  # when the learning rate is looked at
_SHRINK_REGRET, _SHRINK_RATE = 0.8, 0.8
_MULTIPLES = (1.0, 2.0, 5.0, 10.0)  # of the multipliers, whose answers bound the value from below
_BLOCK = 2**20  # numbers of a temporary table

Oracle = Callable[[FloatArray], tuple[Any, FloatArray]]


@dataclass(frozen=True, eq=False)
class Grid:
    """Thresholds at equal steps, (m,); predictions are the middles of the steps above them."""

    thresholds: FloatArray

    @property
    def step(self) -> float:
        """Distance of two thresholds."""
        return float(self.thresholds[1] - self.thresholds[0])

    @property
    def middles(self) -> FloatArray:
        """What is predicted above each threshold: (m,)."""
        return self.thresholds + self.step / 2

    def reached(self, values: FloatArray) -> IntArray:
        """How many thresholds values, (n,), reach: (n,)."""
        return np.searchsorted(self.thresholds, values, side="right")

    def snap(self, values: FloatArray) -> FloatArray:
        """Values, (n,), moved to the middles."""
        return self.middles[np.maximum(self.reached(values) - 1, 0)]


@dataclass(frozen=True, eq=False)
class Costs:
    """Costs and disparities of answers on the training rows.

    Parameters
    ----------
    grid : Grid
        The thresholds.
    gains : (n, m + 1) array
        What reaching 0, 1, ..., m thresholds saves of each row's cost; all costs sum to one.
    base : float
        The cost of reaching none.
    codes : (n,) array of int
        Group of each row.
    weights : (n,) array
        Weight of each row, with mean one.
    shares : (k,) array
        Share of each group.
    """

    grid: Grid
    gains: FloatArray
    base: float
    codes: IntArray
    weights: FloatArray
    shares: FloatArray

    @classmethod
    def of(cls, grid: Grid, y: FloatArray, codes: IntArray, weights: FloatArray | None) -> Costs:
        """Costs of the squared loss for targets y, (n,)."""
        n, m = len(y), len(grid.thresholds)
        require_memory(
            3 * 8 * n * (m + 1),
            what=f"Costs of {m} thresholds on {n:,} rows",
            advice="Use fewer thresholds or fewer rows.",
        )
        weights = np.ones(n) if weights is None else weights * (n / weights.sum())
        # (θ + step/2 − y)² − (θ − step/2 − y)² is 2·step·(θ − y)
        rises = (grid.thresholds - y[:, None]) / grid.step
        rises *= weights[:, None]
        rises /= np.abs(rises).sum()
        gains = np.zeros((n, m + 1))
        np.cumsum(-rises, axis=1, out=gains[:, 1:])
        shares = np.bincount(codes, weights=weights) / n
        base = float(-np.minimum(rises, 0.0).sum())
        return cls(grid, gains, base, codes, weights, shares)

    def error(self, reached: IntArray) -> float:
        """Cost of an answer that reaches so many thresholds in each row, (n,)."""
        return self.base - float(self.gains[np.arange(len(reached)), reached].sum())

    def disparities(self, reached: IntArray) -> FloatArray:
        """``P(f ≥ θ | group) − P(f ≥ θ)`` for each group and threshold: (k, m)."""
        k, m = len(self.shares), len(self.grid.thresholds)
        cells = np.bincount(
            self.codes * (m + 1) + reached, weights=self.weights, minlength=k * (m + 1)
        ).reshape(k, m + 1)
        above = np.cumsum(cells[:, ::-1], axis=1)[:, ::-1][:, 1:]
        joint = above / len(self.codes)
        return np.asarray(joint / self.shares[:, None] - joint.sum(axis=0))

    def targets(self, multipliers: FloatArray) -> FloatArray:
        """The best prediction of each row on the grid, (n,), at signed multipliers, (k, m)."""
        toll = multipliers.sum(axis=0) - multipliers / self.shares[:, None]
        toll = np.cumsum(toll, axis=1) / len(self.codes)
        best = np.empty(len(self.codes), dtype=np.intp)
        for rows in row_blocks(len(best), max(_BLOCK // toll.shape[1], 1)):
            saved = self.weights[rows, None] * toll[self.codes[rows]]
            saved += self.gains[rows, 1:]
            best[rows] = saved.argmax(axis=1)
        return self.grid.middles[best]

    def standard_error(self, reached: IntArray) -> float:
        """Standard error of the mean cost over rows and thresholds of an answer."""
        n, m = len(reached), len(self.grid.thresholds)
        steps = np.diff(self.gains, axis=1)  # positive where reaching the threshold is right
        wrong = (np.arange(m) < reached[:, None]) != (steps > 0)
        return float(np.std(n * m * np.abs(steps) * wrong, ddof=1) / np.sqrt(n * m))


@dataclass(frozen=True, eq=False)
class Mixture:
    """What the game ends with.

    Parameters
    ----------
    hypotheses : tuple
        The oracle's answers that have weight.
    weights : (h,) array
        Their probabilities.
    gap : float
        Distance from the value of the game, at most.
    tolerance : float
        The distance at which it was to end.
    n_iter, n_oracle_calls : int
        Rounds, and answers that were asked for.
    disparity : float
        Largest disparity of the mixture on the training rows.
    """

    hypotheses: tuple[Any, ...]
    weights: FloatArray
    gap: float
    tolerance: float
    n_iter: int
    n_oracle_calls: int
    disparity: float


@dataclass(eq=False)
class _Answers:
    """The oracle's different answers so far, with their costs and disparities."""

    costs: Costs
    oracle: Oracle
    slack: float
    bound: float
    hypotheses: list[Any] = field(default_factory=list)
    reached: list[IntArray] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    disparities: list[FloatArray] = field(default_factory=list)
    n_calls: int = 0

    def best(self, multipliers: FloatArray) -> int:
        """The best answer to signed multipliers, (k, m): a new one, or one that was there."""
        hypothesis, values = self.oracle(self.costs.targets(multipliers))
        self.n_calls += 1
        reached = self.costs.grid.reached(values)
        error, disparities = self.costs.error(reached), self.costs.disparities(reached)
        known = [
            old + float(np.sum(gaps * multipliers))
            for old, gaps in zip(self.errors, self.disparities, strict=True)
        ]
        value = error + float(np.sum(disparities * multipliers))
        if known and value >= min(known) - _PRECISION:
            return int(np.argmin(known))
        self.hypotheses.append(hypothesis)
        self.reached.append(reached)
        self.errors.append(error)
        self.disparities.append(disparities)
        return len(self.errors) - 1

    def mixed(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Cost and disparities of a mixture of the first answers."""
        error = float(weights @ self.errors[: len(weights)])
        return error, np.tensordot(weights, np.stack(self.disparities[: len(weights)]), 1)

    def gap(self, weights: FloatArray, multipliers: FloatArray, tolerance: float) -> float:
        """How far a mixture and signed multipliers are from an equilibrium."""

        def value(error: float, disparities: FloatArray) -> float:
            toll = self.slack * float(np.abs(multipliers).sum())
            return error + float(np.sum(multipliers * disparities)) - toll

        error, disparities = self.mixed(weights)
        here = low = value(error, disparities)
        high = error + self.bound * max(float(np.abs(disparities).max()) - self.slack, 0.0)
        for multiple in _MULTIPLES:
            best = self.best(multiple * multipliers)
            low = min(low, value(self.errors[best], self.disparities[best]))
            if max(here - low, high - here) > tolerance + _PRECISION:
                break
        return max(here - low, high - here)

    def programme(self) -> tuple[FloatArray, FloatArray] | None:
        """The best mixture of all answers and the multipliers of its disparities, if found."""
        gaps = np.stack(self.disparities, axis=-1).reshape(-1, len(self.errors))
        signed = np.vstack([gaps, -gaps]) - self.slack
        found = linprog(
            np.append(self.errors, self.bound),
            A_ub=np.column_stack([signed, -np.ones(len(signed))]),
            b_ub=np.zeros(len(signed)),
            A_eq=np.append(np.ones(len(self.errors)), 0.0)[None, :],
            b_eq=[1.0],
            method="highs",
        )
        if found.status != 0:
            return None
        prices = -found.ineqlin.marginals.reshape(2, *self.disparities[0].shape)
        weights = np.maximum(found.x[:-1], 0.0)
        return weights / weights.sum(), prices[0] - prices[1]


def play(costs: Costs, oracle: Oracle, *, slack: float, max_iter: int) -> Mixture:
    """Find a mixture of regressors of least cost whose disparities are at most `slack`.

    Parameters
    ----------
    costs : Costs
        What answers cost.
    oracle : callable
        Takes targets, (n,), to a regressor and its values on the training rows, (n,).
    slack : float
        The largest allowed disparity, positive.
    max_iter : int
        Rounds at most.
    """
    shape = len(costs.shares), len(costs.grid.thresholds)
    bound = 1 / slack
    answers = _Answers(costs, oracle, slack, bound)
    answers.best(np.zeros(shape))
    logits, rate = np.zeros((2, *shape)), 2.0 / bound
    total, counts = np.zeros(shape), np.zeros(0)
    tolerance = np.inf
    candidates: list[tuple[float, FloatArray]] = []
    gradient_gaps: list[float] = []
    checked, last_gap = float(_FIRST_CHECK), np.inf
    solved, programme = 0, (np.inf, np.zeros(0))
    for round_ in range(max_iter):
        shift = max(float(logits.max()), 0.0)
        powers = np.exp(logits - shift)
        prices = bound * powers / (np.exp(-shift) + powers.sum())
        total += prices[0] - prices[1]
        best = answers.best(prices[0] - prices[1])
        if round_ == 0:
            tolerance = max(_ACCURACY * costs.standard_error(answers.reached[best]), _FINEST)
        counts = np.pad(counts, (0, max(best + 1 - len(counts), 0)))
        counts[best] += 1
        average = counts / counts.sum()
        gradient_gaps.append(answers.gap(average, total / (round_ + 1), tolerance))
        if round_ > 0 and solved != len(answers.errors):
            solved = len(answers.errors)
            best_of_all = answers.programme()
            if best_of_all is not None:
                programme = answers.gap(*best_of_all, tolerance), best_of_all[0]
        candidates.append(min(programme, (gradient_gaps[-1], average), key=lambda pair: pair[0]))
        _LOG.info("round %d: gap %.3g, to be %.3g", round_ + 1, candidates[-1][0], tolerance)
        if candidates[-1][0] < tolerance:
            break
        if round_ >= checked * _CHECK_GROWTH:
            if min(gradient_gaps) > last_gap * _SHRINK_REGRET:
                rate *= _SHRINK_RATE
            checked, last_gap = float(round_), min(gradient_gaps)
        disparities = answers.disparities[best]
        logits += rate * (np.stack([disparities, -disparities]) - slack)
    least = min(gap for gap, _ in candidates)
    gap, weights = [pair for pair in candidates if pair[0] <= least + _PRECISION][-1]
    there = np.flatnonzero(weights > 0)
    # what is below all thresholds is predicted as the middle above the first
    snapped = [costs.disparities(np.maximum(answers.reached[i], 1)) for i in there]
    disparity = float(np.abs(np.tensordot(weights[there], np.stack(snapped), 1)).max())
    return Mixture(
        tuple(answers.hypotheses[i] for i in there),
        weights[there] / weights.sum(),
        gap,
        tolerance,
        len(candidates),
        answers.n_calls,
        disparity,
    )
