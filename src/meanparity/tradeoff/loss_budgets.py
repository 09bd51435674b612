r"""The function of smallest objective within a budget of gaps, for any loss.

With ``V(z) = min { J(g) : Cᵀg = Hz }`` (`meanparity.solvers.targets`), a budget is the problem of
smallest ``V(z)`` among the z whose gaps are within it. Each step minimises the quadratic
``V(z₀) + sᵀd + ½dᵀBd`` within the budget, which is the problem that `Budgets` solves exactly, and
searches along the line to its minimum; the derivatives at both ends of a step improve B (BFGS). V
is convex where the gaps are those of scores, and then the result is the minimum. Gaps of responses
are not linear, and the result is a stationary point that is no worse than the start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from meanparity._typing import FloatArray, IntArray
from meanparity.solvers.targets import AtTargets, TargetValues
from meanparity.tradeoff.budgets import Budgets, Kind, size_of, smallest_within

_STEPS = 200
_DECREASE = 1e-10  # of the price at the start: a smaller expected decrease ends the search
_PARITY = 1e-12  # share of the free gaps below which nothing but parity is within a limit
_MET = 1e-9  # share of the largest free gap that counts as no gap
_ROUNDING = 1e-14  # of the objective, likewise


@dataclass(frozen=True, eq=False)
class LossBudgets:
    """Answers for one problem.

    Parameters
    ----------
    values : TargetValues
        V.
    free, parity : AtTargets
        The minimiser without conditions, and the one that meets them or is closest to them.
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
        return self.gaps_of(self.free.position)

    def gaps_of(self, position: FloatArray) -> FloatArray:
        """The gaps at a position, (r,): (R,)."""
        return np.asarray(self.units @ (self.values.held @ position - self.values.conditions))

    def least(self, kind: Kind) -> float:
        """The smallest size that gaps can have."""
        return self._around_free.least(kind)

    @cached_property
    def _around_free(self) -> Budgets:
        """The problem of the smallest change of the position within a budget."""
        return self._model(self.free.position, np.eye(len(self.free.position)))

    @cached_property
    def _meets(self) -> bool:
        """Whether no gaps are left at parity, up to rounding."""
        left = np.abs(self.gaps_of(self.parity.position)).max(initial=0.0)
        return bool(left <= _MET * np.abs(self.gaps).max(initial=0.0))

    def within(self, kind: Kind, limit: float, start: AtTargets | None = None) -> AtTargets:
        """The minimiser among functions whose gaps have at most this size."""
        size = size_of(kind, self.gaps, self.parts)
        if size <= limit:
            return self.free
        share = limit / size
        if share <= _PARITY and self._meets:
            return self.parity
        found = self._minimised(lambda model: model.within(kind, limit), share, start)
        self._check(size_of(kind, self._left(found), self.parts), limit)
        return found

    def within_limits(self, limits: FloatArray) -> AtTargets:
        """The minimiser among functions of which no gap is larger than its own limit, (R,)."""
        sizes = np.abs(self.gaps)
        if (sizes <= limits).all():
            return self.free
        share = float((limits / np.where(sizes > limits, sizes, np.inf))[sizes > limits].min())
        found = self._minimised(lambda model: model.within_limits(limits), share, None)
        left = np.abs(self._left(found))
        worst = int((left - limits).argmax())
        self._check(float(left[worst]), float(limits[worst]))
        return found

    def within_weighted(self, weights: FloatArray, limit: float) -> AtTargets:
        """The minimiser among functions for which ``‖weights · gaps‖`` is at most a limit.

        Weights are (e, R). If the limit is not met at parity, it is the minimiser there.
        """
        parts = np.zeros(len(weights), dtype=int)
        weighted = replace(self, units=weights @ self.units, parts=parts)
        if size_of("norm", weighted.gaps_of(self.parity.position), parts) >= limit:
            return self.parity
        return weighted.within("norm", limit)

    def within_excess(self, kind: Kind, excess: float) -> AtTargets:
        """The minimiser with the smallest gaps whose objective exceeds the free one by this."""
        least, largest = self.least(kind), size_of(kind, self.gaps, self.parts)
        smallest = self.parity if self._meets else self.within(kind, least)
        if smallest.objective - self.free.objective <= excess:
            return smallest
        last = smallest

        def find(limit: float) -> tuple[AtTargets, float]:
            nonlocal last
            last = self.within(kind, limit, last)
            return last, last.objective - self.free.objective

        return smallest_within(find, excess, (least, largest), self.free, 1e-12)

    def _left(self, found: AtTargets) -> FloatArray:
        """The gaps of a minimiser, from its values: (R,)."""
        return np.asarray(self.units @ (self.values.functionals(found) - self.values.conditions))

    def _check(self, size: float, limit: float) -> None:
        """Refuse a size above its limit by more than rounding."""
        rounding = 1e-9 * float(np.abs(self.gaps).max(initial=0.0))
        if not size <= limit * (1 + 1e-6) + rounding:
            raise ValueError(
                f"The minimisation left gaps of {size:.6g} where the limit is {limit:.6g}. Raise "
                "alpha, or scale features that are large compared with the others."
            )

    def _minimised(
        self,
        shortest: Callable[[Budgets], FloatArray],
        share: float,
        start: AtTargets | None,
    ) -> AtTargets:
        """Minimise V where `shortest`, which solves each quadratic problem, says.

        The search starts where a share of the free gaps is left. If there are gaps at parity, it
        starts at the position within the budget that is closest to the free one. The derivatives
        at `start` are taken into account.
        """
        between = self.parity.position + share * (self.free.position - self.parity.position)
        if not self._meets:
            nearest = self._around_free.multipliers(shortest(self._around_free))
            between = self.free.position + nearest
        now = self.values.at(between, self.free) or self.values.at(between, self.parity)
        known = [self.free, self.parity]
        if start is not None and start is not self.parity:
            known.append(start)
        if now is None:
            now = self.parity
        curvature = _Curvature.between(now, known)
        least = _DECREASE * abs(now.objective - self.free.objective)
        least += _ROUNDING * abs(now.objective)
        for _ in range(_STEPS):
            step = curvature.step(now, shortest, self._model)
            slope = float(now.slope @ step)
            expected = -slope - 0.5 * float(step @ curvature.matrix @ step)
            if expected <= least:
                break
            new, length = None, 1.0
            while length > 1e-6:
                new = self.values.at(now.position + length * step, now)
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
        moved = -self.units @ self.values.held @ back
        return Budgets.from_directions(directions, moved, gaps, self.parts)


@dataclass(frozen=True, eq=False)
class _Curvature:
    """The second derivatives of V as far as steps have shown them: (r, r)."""

    matrix: FloatArray

    @classmethod
    def between(cls, now: AtTargets, others: list[AtTargets]) -> _Curvature:
        """From what the derivatives at other targets show."""
        found = cls(np.eye(len(now.position)))
        first = others[0]
        step, change = first.position - now.position, first.slope - now.slope
        if step @ change > 0:
            found = cls(float(change @ change) / float(step @ change) * found.matrix)
        for other in others:
            found = found.updated(other, now)
        return found

    def updated(self, before: AtTargets, after: AtTargets) -> _Curvature:
        """With a step and the change of the derivatives along it (Powell's damped BFGS)."""
        step, change = after.position - before.position, after.slope - before.slope
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
        centre = now.position - back @ (back.T @ now.slope)
        budgets = model(centre, back)
        x = budgets.multipliers(shortest(budgets))
        return np.asarray(centre + back @ x - now.position)
