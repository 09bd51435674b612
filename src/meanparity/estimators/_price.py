"""What parity costs on the rows of fit, said when it is much more than it has to be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanparity._typing import FloatArray
from meanparity.constraints.functionals import Functionals
from meanparity.data.rows import Rows
from meanparity.exceptions import warn

_LOST = 1 / 3  # share of the explained variance that is lost
_EXPLAINED = 0.05  # share of the variance below which a model explains nothing worth losing
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
        """Whether a third of what is explained is lost, and more than twice what has to be."""
        lost, needed = self.free - self.now, self.free - self.least
        return self.free >= _EXPLAINED and lost >= _LOST * self.free and lost > 2 * max(needed, 0.0)

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


def price_of(
    rows: Rows,
    functionals: Functionals,
    free: FloatArray,
    errors: tuple[float, float],
    variance: float,
) -> Price | None:
    """The price on the rows of fit; None if nothing can be said.

    Parameters
    ----------
    rows : Rows
        The rows, with y.
    functionals : Functionals
        The constraint on them.
    free : (k,) array
        Means of the free predictions in the cells of the rows.
    errors : (float, float)
        Mean squared errors of the model and of the free one.
    variance : float
        Variance of y.
    """
    if not variance > 0 or rows.y is None or not functionals.count:
        return None
    if functionals.targets.any() or functionals.table.shape[0] != len(rows.cells):
        return None
    mass = rows.mass / rows.mass.sum()
    sums = np.asarray(functionals.table.T @ (rows.mass * (free - mass @ free)))
    shift = -np.asarray(functionals.table @ sums)
    residual = rows.cell_means(rows.y)[:, 0] - free
    least = errors[1] + mass @ (shift**2 - 2 * residual * shift)
    return Price(*(float(1 - value / variance) for value in (errors[1], errors[0], least)))


def warn_about_price(price: Price | None) -> None:
    """A model that explains much less than without the constraint, where that can be avoided."""
    if price is not None and price.is_high:
        warn(f"{price}. {_ADVICE}.")


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
            f"Parity moves {n:,} prediction{'s'[: n != 1]} for the rows of fit out of the range of "
            f"y, {low:.4g} to {high:.4g}, as far as {values:.4g}. {_ADVICE}."
        )
