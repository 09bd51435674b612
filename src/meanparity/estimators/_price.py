"""What parity costs on the rows of fit, said when it is much more than it has to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar

from meanparity._typing import FloatArray
from meanparity.constraints.functionals import Functionals
from meanparity.data.fit_input import FitInput
from meanparity.data.groups import group_sums
from meanparity.data.rows import Rows
from meanparity.exceptions import warn
from meanparity.losses.base import Loss
from meanparity.solvers.solution import Solution

_LOST = 1 / 3  # share of the explained variance that is lost
_EXPLAINED = 0.1  # share of the variance below which a model explains nothing worth losing
_KEPT = 0.05  # share of the variance below which there is not much to keep
_OUTSIDE = 0.5  # of the range of y, beyond which predictions are out of place
_STEPS = 50  # of Newton's method, which takes about five
_FUNCTIONS = "No small change of these functions closes the gaps. Add the sensitive columns to the "
_ADJUSTED = "use ParityAdjusted(correction='groups') if groups are known when you predict, "
_OTHERS = "try another kernel, or leave part of the gaps with max_gap or unfairness"
_ADVICE = f"{_FUNCTIONS}features, {_ADJUSTED}{_OTHERS}"
_ADVICE_WITHOUT_GROUPS = f"{_FUNCTIONS}features, {_OTHERS}"


@dataclass(frozen=True)
class Price:
    """Shares of the variance of y that models explain on the rows of fit.

    Parameters
    ----------
    free, now : float
        Without the constraint, and with it.
    least : float
        With the least change of the free predictions that meets it, which a shift of each group is.
    loss : str
        Name of another loss than the squared error. The shares are then those by which it is below
        the loss of the best constant.
    numbers : tuple of str
        Sensitive numbers, on whose values such a change depends as well.
    has_groups : bool
        Whether it depends on groups.
    """

    free: float
    now: float
    least: float
    loss: str = ""
    numbers: tuple[str, ...] = ()
    has_groups: bool = True

    @property
    def is_high(self) -> bool:
        """Whether more than twice as much is lost as has to be, or less than half is kept."""
        lost, needed = self.free - self.now, max(self.free - self.least, 0.0)
        return lost > 2 * needed or self.least - max(self.now, 0.0) > max(self.now, _KEPT)

    def __str__(self) -> str:
        if self.loss:
            now = f"{100 * self.now:.0f}% below" if self.now > 0 else "above"
            return (
                f"Parity costs much: on the rows of fit the mean {self.loss} loss of the model is "
                f"{now} that of the best constant, and without the constraint "
                f"{100 * self.free:.0f}% below it. With {self._shift} it would be "
                f"{100 * self.least:.0f}% below"
            )
        now = (
            f"{100 * self.now:.0f}% of the variance of y"
            if self.now > 0
            else ("less than a constant does")
        )
        return (
            f"Parity costs much: on the rows of fit the model explains {now}, and without the "
            f"constraint {100 * self.free:.0f}%. {self._shift.capitalize()} would keep "
            f"{100 * self.least:.0f}%"
        )

    @property
    def _shift(self) -> str:
        if not self.numbers:
            return "a shift of each group"
        values = f"a shift for each value of {', '.join(self.numbers)}"
        return f"{values} in each group" if self.has_groups else values


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
    if not _is_much(errors, variance) or rows.y is None or not _are_shifts(rows, functionals):
        return
    mass = rows.mass / rows.mass.sum()
    sums = np.asarray(functionals.table.T @ (rows.mass * (free - mass @ free)))
    shift = -np.asarray(functionals.table @ sums)
    residual = rows.cell_means(rows.y)[:, 0] - free
    least = errors[1] + mass @ (shift**2 - 2 * residual * shift)
    price = _price((errors[1], errors[0], float(least)), variance, rows)
    if price.is_high:
        warn(f"{price}. {_ADVICE_WITHOUT_GROUPS if price.numbers else _ADVICE}.")


def _price(
    errors: tuple[float, float, float], of_constant: float, rows: Rows, loss: str = ""
) -> Price:
    """The price from the errors of the free model, of this one and with a shift of each group."""
    free, now, least = (1 - error / of_constant for error in errors)
    schema = rows.schema
    grouped = bool(schema.categories or schema.control)
    return Price(free, now, least, loss, schema.continuous, grouped)


def _are_shifts(rows: Rows, functionals: Functionals) -> bool:
    """Whether the least change of predictions that meets a constraint is a shift of each group."""
    alike = functionals.table.shape[0] == len(rows.cells)
    return bool(functionals.count and alike and not functionals.targets.any())


def _is_much(errors: tuple[float, float], variance: float) -> bool:
    """Whether a third of what the free model explains is lost, if it explains anything."""
    explained, lost = variance - errors[1], errors[0] - errors[1]
    return explained > 0 and explained >= _EXPLAINED * variance and lost >= _LOST * explained


def warn_about_loss(data: Any, functionals: Functionals, solution: Solution, u: float) -> None:
    """The same for models of another loss."""
    loss, on_response = data.loss, data.on_response
    if solution.fair.fitted is None or solution.free.fitted is None:
        return
    y, fair, free = data.Y[:, 0], solution.fair.fitted[:, 0], solution.free.fitted[:, 0]

    def mean_loss(score: FloatArray) -> float:
        with np.errstate(over="ignore"):
            return float(np.average(loss.value(y, score), weights=data.weights))

    errors = mean_loss((1 - u) * fair + u * free), mean_loss(free)
    # the constant's loss is at least that of the free fit, and nearly always more
    if errors[0] - errors[1] >= _LOST * _EXPLAINED * errors[1]:
        start = loss.start(y, np.ones_like(y) if data.weights is None else data.weights)
        best = minimize_scalar(
            lambda c: mean_loss(np.full_like(y, c)), bracket=(start, start + y.std())
        )
        shifts = best.fun > 0 and _is_much(errors, best.fun) and _are_shifts(data.rows, functionals)
        scores = _shifted(functionals, free, loss, on_response) if shifts else None
        if scores is not None:
            losses = errors[1], errors[0], mean_loss(scores)
            price = _price(losses, best.fun, data.rows, loss.name or type(loss).__name__)
            if price.is_high:
                warn(f"{price}. {_ADVICE_WITHOUT_GROUPS}.")
    if u == 0.0 and loss.has_response and not loss.is_binary:
        now, before = loss.response(fair), loss.response(free)
        warn_about_range(now, before, y, _ADVICE_WITHOUT_GROUPS)


def _shifted(
    functionals: Functionals, score: FloatArray, loss: Loss, on_response: bool
) -> FloatArray | None:
    """Scores, (n,), shifted in each group until nothing is left of the gaps, by Newton's method.

    The gaps are the gradient of a convex function of the shifts, so halved steps reach zero.
    """
    table, codes = functionals.table, functionals.codes
    weights = np.ones_like(score) if functionals.weights is None else functionals.weights

    def shifted(size: FloatArray) -> FloatArray:
        return np.asarray(score + (table @ size)[codes])

    def gaps(size: FloatArray) -> FloatArray:
        values = loss.response(shifted(size)) if on_response else shifted(size)
        return functionals.apply(values[:, None])[:, 0]

    size = np.zeros(functionals.count)
    left = gaps(size)
    enough = 1e-9 * np.linalg.norm(left)
    for _ in range(_STEPS):
        if np.linalg.norm(left) <= enough:
            return shifted(size)
        slope = loss.slope(shifted(size)) if on_response else np.ones_like(score)
        mass = group_sums(codes, (weights * slope)[:, None], table.shape[0])[:, 0]
        system = table.T @ (sparse.diags_array(mass) @ table)
        system = system.toarray() if sparse.issparse(system) else system
        step, length = np.linalg.lstsq(system, left, rcond=None)[0], 1.0
        while length > 1e-6 and np.linalg.norm(gaps(size - length * step)) > np.linalg.norm(left):
            length /= 2
        size = size - length * step
        left = gaps(size)
    return None


def warn_about_range(
    now: FloatArray, free: FloatArray, y: FloatArray, advice: str = _ADVICE
) -> None:
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
            f"furthest is {values:.4g}, much further than without the constraint. {advice}."
        )
