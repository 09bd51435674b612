r"""The function of smallest objective within a budget of gaps, for any loss.

With ``V(t) = min { J(g) : Cᵀg = t }`` (`meanparity.solvers.targets`), a budget is the problem of
smallest ``V(t)`` among the t whose gaps are within it. Each step minimises the quadratic
``V(t₀) + sᵀd + ½dᵀBd`` within the budget, which is the problem that `Budgets` solves exactly, and
searches along the line to its minimum; the derivatives at both ends of a step improve B (BFGS). V
is convex where the gaps are those of scores, and then the result is the minimum. Gaps of responses
are not linear, and the result is a stationary point that is no worse than the start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from meanparity._typing import FloatArray, IntArray
from meanparity.solvers.targets import AtTargets, TargetValues
from meanparity.tradeoff.budgets import Budgets, Kind, size_of

_STEPS = 200
_DECREASE = 1e-10  # of the price of parity: a smaller expected decrease ends the search
_PARITY = 1e-12  # share of the free gaps below which nothing but parity is within a limit
_ROUNDING = 1e-14  # of the objective, likewise


@dataclass(frozen=True, eq=False)
class LossBudgets:
    """Answers for one problem.

    Parameters
    ----------
    values : TargetValues
        V.
    free, parity : AtTargets
        The minimiser without conditions, and the one that meets them.
    parts : (R,) array of int
        Which set of rows a gap is about, numbered from 0.
    units : (R, q) array
        Takes functionals to the gaps that have a budget.
    """

    values: TargetValues
    free: AtTargets
    parity: AtTargets
    parts: IntArray
    units: FloatArray

    @property
    def gaps(self) -> FloatArray:
        """The gaps of the free minimiser: (R,)."""
        return self.gaps_of(self.free.targets)

    def gaps_of(self, targets: FloatArray) -> FloatArray:
        """The gaps of functions with these targets, (q,): (R,)."""
        return np.asarray(self.units @ (targets - self.values.conditions))

    def within(self, kind: Kind, limit: float, start: AtTargets | None = None) -> AtTargets:
        """The minimiser among functions whose gaps have at most this size."""
        size = size_of(kind, self.gaps, self.parts)
        if size <= limit:
            return self.free
        share = limit / size
        if share <= _PARITY:
            return self.parity
        return self._minimised(lambda model: model.within(kind, limit), share, start)

    def within_limits(self, limits: FloatArray) -> AtTargets:
        """The minimiser among functions of which no gap is larger than its own limit, (R,)."""
        sizes = np.abs(self.gaps)
        if (sizes <= limits).all():
            return self.free
        share = float((limits / np.where(sizes > limits, sizes, np.inf))[sizes > limits].min())
        return self._minimised(lambda model: model.within_limits(limits), share, None)

    def within_weighted(self, weights: FloatArray, limit: float) -> AtTargets:
        """The minimiser among functions for which ``‖weights · gaps‖`` is at most a limit.

        Weights are (e, R). If the limit is not met at parity, it is the minimiser there.
        """
        parts = np.zeros(len(weights), dtype=int)
        weighted = replace(self, units=weights @ self.units, parts=parts)
        if size_of("norm", weighted.gaps_of(self.parity.targets), parts) >= limit:
            return self.parity
        return weighted.within("norm", limit)

    def within_excess(self, kind: Kind, excess: float) -> AtTargets:
        """The minimiser with the smallest gaps whose objective exceeds the free one by this."""
        price = self.parity.objective - self.free.objective
        if price <= excess:
            return self.parity
        if excess <= 0:
            return self.free
        largest = size_of(kind, self.gaps, self.parts)
        found = {"": self.parity}

        def beyond(limit: float) -> float:
            found[""] = self.within(kind, limit, found[""])
            return found[""].objective - self.free.objective - excess

        limit = float(brentq(beyond, 0.0, largest, xtol=1e-12 * largest, rtol=1e-12, maxiter=100))
        return self.within(kind, limit, found[""])

    def _minimised(
        self,
        shortest: Callable[[Budgets], FloatArray],
        share: float,
        start: AtTargets | None,
    ) -> AtTargets:
        """Minimise V where `shortest`, which solves each quadratic problem, says.

        The search starts at `start`, or at the targets that leave a share of the free gaps.
        """
        between = self.parity.targets + share * (self.free.targets - self.parity.targets)
        now = self.values.at(between, self.free) or self.values.at(between, self.parity)
        known = [self.free, self.parity]
        if start is not None and start is not self.parity:
            known.append(start)
        if now is None:
            now = self.parity
        curvature = _Curvature.between(now, known)
        least = _DECREASE * abs(self.parity.objective - self.free.objective)
        least += _ROUNDING * abs(now.objective)
        for _ in range(_STEPS):
            step = curvature.step(now, shortest, self._model)
            slope = float(now.slope @ step)
            expected = -slope - 0.5 * float(step @ curvature.matrix @ step)
            if expected <= least:
                break
            new, length = None, 1.0
            while length > 1e-6:
                new = self.values.at(now.targets + length * step, now)
                if new is not None and new.objective <= now.objective + 1e-4 * length * slope:
                    break
                new, length = None, length / 2
            if new is None:
                break
            curvature = curvature.updated(now, new)
            now = new
        return now

    def _model(self, centre: FloatArray, back: FloatArray) -> Budgets:
        """The problem of the shortest x with gaps of ``centre + back x`` within a budget."""
        directions, gaps = np.eye(back.shape[1]), self.gaps_of(centre)
        return Budgets.from_directions(directions, -self.units @ back, gaps, self.parts)


@dataclass(frozen=True, eq=False)
class _Curvature:
    """The second derivatives of V as far as steps have shown them: (q, q)."""

    matrix: FloatArray

    @classmethod
    def between(cls, now: AtTargets, others: list[AtTargets]) -> _Curvature:
        """From what the derivatives at other targets show."""
        found = cls(np.eye(len(now.targets)))
        first = others[0]
        step, change = first.targets - now.targets, first.slope - now.slope
        if step @ change > 0:
            found = cls(float(change @ change) / float(step @ change) * found.matrix)
        for other in others:
            found = found.updated(other, now)
        return found

    def updated(self, before: AtTargets, after: AtTargets) -> _Curvature:
        """With a step and the change of the derivatives along it (Powell's damped BFGS)."""
        step, change = after.targets - before.targets, after.slope - before.slope
        bent = self.matrix @ step
        size = float(step @ bent)
        if size <= 0:
            return self
        seen = float(step @ change)
        if seen < 0.1 * size:  # keeps the matrix positive definite
            mixed = 0.9 * size / (size - seen)
            change = mixed * change + (1 - mixed) * bent
            seen = float(step @ change)
        matrix = self.matrix - np.outer(bent, bent) / size + np.outer(change, change) / seen
        return _Curvature((matrix + matrix.T) / 2)

    def step(
        self,
        now: AtTargets,
        shortest: Callable[[Budgets], FloatArray],
        model: Callable[[FloatArray, FloatArray], Budgets],
    ) -> FloatArray:
        """The step to the minimum of the quadratic within the budget."""
        values, vectors = np.linalg.eigh(self.matrix)
        values = np.maximum(values, 1e-12 * values.max())
        back = vectors / np.sqrt(values)
        centre = now.targets - back @ (back.T @ now.slope)
        budgets = model(centre, back)
        x = budgets.multipliers(shortest(budgets))
        return np.asarray(centre + back @ x - now.targets)
