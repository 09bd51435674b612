"""The game behind the reduction: a regressor against the multipliers of its disparities.

Regression is a family of classifications, ``f(x) ≥ θ`` for thresholds θ on a grid, with costs that
add up to the squared loss. One player sets multipliers by exponentiated gradients, the other
answers with a regression (the oracle), and a linear programme finds the best mixture of all answers
so far (Agarwal et al. 2019, after Agarwal et al. 2018). An answer is described by the number of
thresholds that each row reaches, so a table of costs of n rows and m thresholds is enough.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from meanparity._typing import FloatArray, IntArray
from meanparity.linalg.memory import require_memory
from meanparity.linalg.symmetric import row_blocks
from meanparity.state import stored

_LOG = logging.getLogger(__name__)
_PRECISION = 1e-12
_ACCURACY = 0.5  # tolerance in standard errors of the cost
_FINEST = 1e-7  # smallest tolerance, for an oracle without errors
_FIRST_CHECK, _CHECK_GROWTH = 5, 1.6  # in which rounds the learning rate is checked
_SHRINK_REGRET, _SHRINK_RATE = 0.8, 0.8
_MULTIPLES = (1.0, 2.0, 5.0, 10.0)  # of the multipliers; their answers bound the value from below
_BLOCK = 2**20  # numbers in a temporary table

Oracle = Callable[[FloatArray], tuple[Any, FloatArray]]  # targets to a regressor and its values


@stored("Grid")
@dataclass(frozen=True, eq=False)
class Grid:
    """Equally spaced thresholds, (m,); predictions lie half a step above one of them."""

    thresholds: FloatArray

    @property
    def step(self) -> float:
        """Distance between two thresholds."""
        return float(self.thresholds[1] - self.thresholds[0])

    @property
    def middles(self) -> FloatArray:
        """The prediction half a step above each threshold: (m,)."""
        return self.thresholds + self.step / 2

    def reached(self, values: FloatArray) -> IntArray:
        """Number of thresholds that each of the values, (n,), reaches: (n,)."""
        return np.searchsorted(self.thresholds, values, side="right")

    def snap(self, values: FloatArray) -> FloatArray:
        """The prediction of the grid for each of the values, (n,): (n,)."""
        return self.middles[np.maximum(self.reached(values) - 1, 0)]


@dataclass(frozen=True, eq=False)
class Costs:
    """Costs and disparities of answers on the training rows.

    Parameters
    ----------
    grid : Grid
        The thresholds.
    gains : (n, m + 1) array
        How much of a row's cost is saved by reaching 0, 1, ..., m thresholds; all costs sum to one.
    base : float
        The cost of reaching no threshold.
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
    def from_targets(
        cls, grid: Grid, y: FloatArray, codes: IntArray, weights: FloatArray | None
    ) -> Costs:
        """Costs of the squared loss for targets y, (n,), of rows in groups, (n,)."""
        n, m = len(y), len(grid.thresholds)
        require_memory(
            3 * 8 * n * (m + 1),
            what=f"The table of costs for {m} thresholds on {n:,} rows",
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
        """Cost of an answer, from the number of thresholds that each row reaches, (n,)."""
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
        prices = multipliers.sum(axis=0) - multipliers / self.shares[:, None]
        prices = np.cumsum(prices, axis=1) / len(self.codes)
        best = np.empty(len(self.codes), dtype=np.intp)
        for rows in row_blocks(len(best), max(_BLOCK // prices.shape[1], 1)):
            saved = self.weights[rows, None] * prices[self.codes[rows]]
            saved += self.gains[rows, 1:]
            best[rows] = saved.argmax(axis=1)
        return self.grid.middles[best]

    def standard_error(self, reached: IntArray) -> float:
        """Standard error of an answer's mean cost over rows and thresholds."""
        n, m = len(reached), len(self.grid.thresholds)
        steps = np.diff(self.gains, axis=1)  # positive where reaching the threshold is right
        wrong = (np.arange(m) < reached[:, None]) != (steps > 0)
        return float(np.std(n * m * np.abs(steps) * wrong, ddof=1) / np.sqrt(n * m))


@dataclass(frozen=True, eq=False)
class Mixture:
    """The result of the game.

    Parameters
    ----------
    hypotheses : tuple
        The regressors that have weight.
    weights : (h,) array
        Their probabilities.
    excess_cost : float
        Upper bound on the distance from the value of the game.
    tolerance : float
        The distance at which the game ends.
    n_iter, n_oracle_calls : int
        Number of rounds, and of regressions.
    disparity : float
        Largest disparity of the mixture on the training rows.
    """

    hypotheses: tuple[Any, ...]
    weights: FloatArray
    excess_cost: float
    tolerance: float
    n_iter: int
    n_oracle_calls: int
    disparity: float


@dataclass(frozen=True, eq=False)
class _Answer:
    """A regressor of the oracle, with its cost and its disparities, (k, m)."""

    hypothesis: Any
    reached: IntArray
    error: float
    disparities: FloatArray

    def value(self, multipliers: FloatArray) -> float:
        """The cost at signed multipliers, (k, m)."""
        return self.error + float(np.sum(self.disparities * multipliers))


class _Answers:
    """The player who answers with regressors: the oracle, and its distinct answers so far."""

    def __init__(self, costs: Costs, oracle: Oracle, slack: float) -> None:
        self.costs = costs
        self.oracle = oracle
        self.slack = slack
        self.found: list[_Answer] = []
        self.n_calls = 0

    def best(self, multipliers: FloatArray) -> int:
        """Position of the best answer to signed multipliers, (k, m): a new or an earlier one."""
        hypothesis, values = self.oracle(self.costs.targets(multipliers))
        self.n_calls += 1
        reached = self.costs.grid.reached(values)
        error, disparities = self.costs.error(reached), self.costs.disparities(reached)
        answer = _Answer(hypothesis, reached, error, disparities)
        known = [earlier.value(multipliers) for earlier in self.found]
        if known and answer.value(multipliers) >= min(known) - _PRECISION:
            return int(np.argmin(known))
        self.found.append(answer)
        return len(self.found) - 1

    def regret(self, weights: FloatArray, multipliers: FloatArray, tolerance: float) -> float:
        """Distance from an equilibrium of a mixture of the first answers and signed multipliers."""
        used = self.found[: len(weights)]
        error = float(weights @ [answer.error for answer in used])
        disparities = np.tensordot(weights, np.stack([answer.disparities for answer in used]), 1)
        high = error + max(float(np.abs(disparities).max()) - self.slack, 0.0) / self.slack
        allowed = self.slack * float(np.abs(multipliers).sum())
        here = low = error + float(np.sum(disparities * multipliers)) - allowed
        for multiple in _MULTIPLES:
            best = self.best(multiple * multipliers)
            low = min(low, self.found[best].value(multipliers) - allowed)
            if max(here - low, high - here) > tolerance + _PRECISION:
                break
        return max(here - low, high - here)

    def programme(self) -> tuple[FloatArray, FloatArray] | None:
        """The best mixture of all answers and its signed multipliers; None if the solver fails."""
        errors = [answer.error for answer in self.found]
        stacked = np.stack([answer.disparities.ravel() for answer in self.found], axis=1)
        signed = np.vstack([stacked, -stacked]) - self.slack
        found = linprog(
            np.append(errors, 1 / self.slack),
            A_ub=np.column_stack([signed, -np.ones(len(signed))]),
            b_ub=np.zeros(len(signed)),
            A_eq=np.append(np.ones(len(errors)), 0.0)[None, :],
            b_eq=[1.0],
            method="highs",
        )
        if found.status != 0:
            return None
        prices = -found.ineqlin.marginals.reshape(2, *self.found[0].disparities.shape)
        weights = np.maximum(found.x[:-1], 0.0)
        return weights / weights.sum(), prices[0] - prices[1]


class _Gradients:
    """The player who sets the multipliers, by exponentiated gradients.

    Each disparity has a multiplier for being too large and one for being too small; the sum of all
    is less than `bound`. Signed multipliers, (k, m), are the differences of the two.
    """

    def __init__(self, shape: tuple[int, int], slack: float) -> None:
        self.slack = slack
        self.bound = 1 / slack
        self.logits = np.zeros((2, *shape))
        self.total = np.zeros(shape)  # sum of the signed multipliers of all rounds
        self.rate = 2.0 / self.bound
        self.n_rounds = 0
        self.least_regret = np.inf
        self.last_check: tuple[float, float] = (_FIRST_CHECK, np.inf)  # round and regret

    def multipliers(self) -> FloatArray:
        """The signed multipliers of the next round."""
        shift = max(float(self.logits.max()), 0.0)
        powers = np.exp(self.logits - shift)
        both = self.bound * powers / (np.exp(-shift) + powers.sum())
        self.total += both[0] - both[1]
        self.n_rounds += 1
        return np.asarray(both[0] - both[1])

    def update(self, disparities: FloatArray, regret: float) -> None:
        """Follow the disparities of an answer, more slowly where the regret no longer shrinks."""
        self.least_regret = min(self.least_regret, regret)
        finished, (checked, regret_then) = self.n_rounds - 1, self.last_check
        if finished >= checked * _CHECK_GROWTH:
            if self.least_regret > regret_then * _SHRINK_REGRET:
                self.rate *= _SHRINK_RATE
            self.last_check = finished, self.least_regret
        self.logits += self.rate * (np.stack([disparities, -disparities]) - self.slack)


def play(costs: Costs, oracle: Oracle, *, slack: float, max_iter: int) -> Mixture:
    """Find the mixture of regressors with the smallest cost whose disparities are at most `slack`.

    Parameters
    ----------
    costs : Costs
        The costs of answers.
    oracle : callable
        Takes targets, (n,), and returns a regressor and its values on the training rows, (n,).
    slack : float
        Largest allowed disparity, positive.
    max_iter : int
        Largest number of rounds.
    """
    shape = len(costs.shares), len(costs.grid.thresholds)
    answers, gradients = _Answers(costs, oracle, slack), _Gradients(shape, slack)
    answers.best(np.zeros(shape))
    chosen: list[int] = []  # the answer of each round
    candidates: list[tuple[float, FloatArray]] = []
    n_solved, tolerance, programme = 0, np.inf, (np.inf, np.zeros(0))
    for round_ in range(max_iter):
        chosen.append(answers.best(gradients.multipliers()))
        answer = answers.found[chosen[-1]]
        if round_ == 0:
            tolerance = max(_ACCURACY * costs.standard_error(answer.reached), _FINEST)
        average = np.bincount(chosen) / len(chosen)
        regret = answers.regret(average, gradients.total / gradients.n_rounds, tolerance)
        if round_ > 0 and n_solved != len(answers.found):  # there are new answers
            n_solved = len(answers.found)
            optimum = answers.programme()
            if optimum is not None:
                programme = answers.regret(*optimum, tolerance), optimum[0]
        candidates.append(min(programme, (regret, average), key=lambda pair: pair[0]))
        _LOG.info("round %d: regret %.3g, tolerance %.3g", round_ + 1, candidates[-1][0], tolerance)
        if candidates[-1][0] < tolerance:
            break
        gradients.update(answer.disparities, regret)
    least = min(regret for regret, _ in candidates)
    regret, weights = [pair for pair in candidates if pair[0] <= least + _PRECISION][-1]
    used = [answers.found[i] for i in np.flatnonzero(weights)]
    weights = weights[weights > 0] / weights.sum()
    # values below all thresholds are predicted half a step above the first
    snapped = np.stack([costs.disparities(np.maximum(answer.reached, 1)) for answer in used])
    return Mixture(
        tuple(answer.hypothesis for answer in used),
        weights,
        regret,
        tolerance,
        len(candidates),
        answers.n_calls,
        disparity=float(np.abs(np.tensordot(weights, snapped, 1)).max()),
    )
