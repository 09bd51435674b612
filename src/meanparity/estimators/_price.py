"""What parity costs on the rows of fit, said when it is much more than it has to be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanparity._typing import FloatArray
from meanparity.constraints.functionals import Functionals
from meanparity.data.fit_input import FitInput
from meanparity.data.rows import Rows
from meanparity.exceptions import warn
from meanparity.solvers.problem import Solution

_LOST = 1 / 3  # share of the explained variance that is lost
_EXPLAINED = 0.1  # share of the variance below which a model explains nothing worth losing
_OUTSIDE = 0.5  # of the range of y, beyond which predictions are out of place
_ADVICE = (
    "No small change of these functions closes the gaps. Add the sensitive columns to the "
    "features, use ParityAdjusted(correction='groups') if groups are known when you predict, try a "
    "kernel, or leave part of the gaps with max_gap or unfairness"
)


@dataclass(frozen=True)
class Price:
    """Shares of the variance of y that models explain on the rows of fit.

    Parameters
    ----------
    free, now : float
        Without the constraint, and with it.
    least : float
        With the least change of the free predictions that meets it, which a shift of each group is.
    """

    free: float
    now: float
    least: float

    @property
    def is_high(self) -> bool:
        """Whether more than twice as much is lost as has to be."""
        return self.free - self.now > 2 * max(self.free - self.least, 0.0)

    def __str__(self) -> str:
        now = (
            f"{100 * self.now:.0f}% of the variance of y"
            if self.now > 0
            else ("less than a constant does")
        )
        return (
            f"Parity costs much: on the rows of fit the model explains {now}, and without the "
            f"constraint {100 * self.free:.0f}%. A shift of each group would keep "
            f"{100 * self.least:.0f}%"
        )


def warn_about_cost(data: FitInput, functionals: Functionals, solution: Solution, u: float) -> None:
    """A ridge model at u of the dial that lost much accuracy, or left the range of y, avoidably."""
    share = np.array([1 - u, u])
    errors = float(share @ solution.errors[:, :, 0] @ share), float(solution.errors[1, 1, 0])
    if _is_much(errors, variance := float(solution.variance[0])):
        warn_about_price(data.rows, functionals, solution.free.cell_means[:, 0], errors, variance)
    fair, free = solution.fair.fitted, solution.free.fitted
    if u == 0.0 and fair is not None and free is not None and data.rows.sizes is None:
        warn_about_range(fair[:, 0], free[:, 0], data.Y[:, 0])


def warn_about_price(
    rows: Rows,
    functionals: Functionals,
    free: FloatArray,
    errors: tuple[float, float],
    variance: float,
) -> None:
    """A model that explains much less than without the constraint, where that can be avoided.

    Parameters
    ----------
    rows : Rows
        The rows of fit, with y.
    functionals : Functionals
        The constraint on them.
    free : (k,) array
        Means of the free predictions in the cells of the rows.
    errors : (float, float)
        Mean squared errors of the model and of the free one.
    variance : float
        Variance of y.
    """
    if not _is_much(errors, variance) or rows.y is None or not functionals.count:
        return
    if functionals.targets.any() or functionals.table.shape[0] != len(rows.cells):
        return
    mass = rows.mass / rows.mass.sum()
    sums = np.asarray(functionals.table.T @ (rows.mass * (free - mass @ free)))
    shift = -np.asarray(functionals.table @ sums)
    residual = rows.cell_means(rows.y)[:, 0] - free
    least = errors[1] + mass @ (shift**2 - 2 * residual * shift)
    price = Price(*(float(1 - value / variance) for value in (errors[1], errors[0], least)))
    if price.is_high:
        warn(f"{price}. {_ADVICE}.")


def _is_much(errors: tuple[float, float], variance: float) -> bool:
    """Whether a third of what the free model explains is lost, if it explains anything."""
    explained, lost = variance - errors[1], errors[0] - errors[1]
    return explained > 0 and explained >= _EXPLAINED * variance and lost >= _LOST * explained


def warn_about_range(now: FloatArray, free: FloatArray, y: FloatArray) -> None:
    """Predictions, (n,), far outside the range of y because of the constraint."""
    low, high = float(y.min()), float(y.max())
    span = high - low
    beyond, before = (
        float(np.maximum(low - values, values - high).max(initial=0.0)) for values in (now, free)
    )
    if span > 0 and beyond > _OUTSIDE * span and beyond > 2 * max(before, 0.0):
        values = now[np.argmax(np.maximum(low - now, now - high))]
        n = int(((now < low) | (now > high)).sum())
        warn(
            f"With parity, {n:,} prediction{'s'[: n != 1]} for the rows of fit "
            f"{'lies' if n == 1 else 'lie'} outside the range of y, {low:.4g} to {high:.4g}; the "
            f"furthest is {values:.4g}, much further than without the constraint. {_ADVICE}."
        )
