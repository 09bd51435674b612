"""What parity costs, said when it is much."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
_ROUNDING = 1e-9  # of the variance: what a constant explains on the rows of fit
_OUTSIDE = 0.5  # of the range of y, beyond which predictions are out of place
_STEPS = 50  # of Newton's method, which takes about five
_FUNCTIONS = "No small change of these functions closes the gaps. Add the sensitive columns to the "
_ADJUSTED = "use ParityAdjusted(correction='groups') if groups are known when you predict, "
_LEAVE = "or leave part of the gaps with max_gap or unfairness"
_OTHERS = f"try another kernel, {_LEAVE}"
_ADVICE = f"{_FUNCTIONS}features, {_ADJUSTED}{_OTHERS}"
_ADVICE_WITHOUT_GROUPS = f"{_FUNCTIONS}features, {_OTHERS}"
_NEEDED = (
    "At least half of what is lost is the price of parity itself. To lose less, add the "
    f"sensitive columns to the features if they are not among them, {_LEAVE}"
)
_UNKNOWN = f"Add the sensitive columns to the features if they are not among them, {_OTHERS}"
_OF_CONSTANT = (
    "Use fewer groups or strata, more features (a linear model needs more of them than there are "
    "conditions) or a kernel"
)


@dataclass(frozen=True)
class Price:
    """Shares of the variance of y that models explain.

    Parameters
    ----------
    free, now : float
        Without the constraint, and with it.
    least : float or None
        With the least change of the free predictions that meets it, which a shift of each group is;
        None if that is not known.
    loss : str
        Name of another loss than the squared error. The shares are then those by which it is below
        the loss of the best constant.
    numbers : tuple of str
        Sensitive numbers, on whose values such a change depends as well.
    has_groups : bool
        Whether it depends on groups.
    where : str
        The rows.
    without : str
        What the model is compared with.
    rounding : float
        A share within this distance of zero is that of a constant.
    """

    free: float
    now: float
    least: float | None = None
    loss: str = ""
    numbers: tuple[str, ...] = ()
    has_groups: bool = True
    where: str = "on the rows of fit"
    without: str = "without the constraint, at the same penalty,"
    rounding: float = _ROUNDING

    @property
    def is_much(self) -> bool:
        """Whether a third of what the free model explains is lost, if it explains anything."""
        return _is_much(self.free, self.now)

    @property
    def is_avoidable(self) -> bool:
        """Whether more than twice as much is lost as has to be, or less than half is kept."""
        if self.least is None:
            return False
        lost, needed = self.free - self.now, max(self.free - self.least, 0.0)
        return lost > 2 * needed or self.least - max(self.now, 0.0) > max(self.now, _KEPT)

    def __str__(self) -> str:
        if self.loss:
            if self.now > self.rounding:
                now = f"{100 * self.now:.0f}% below"
            else:
                now = "no less than" if self.now >= -self.rounding else "above"
            text = (
                f"{self.where} the mean {self.loss} loss of the model is {now} that of the best "
                f"constant, and {self.without} {100 * self.free:.0f}% below it"
            )
            if self.least is not None:
                text += f". With {self._shift} it would be {100 * self.least:.0f}% below"
            return text
        if self.now > self.rounding:
            now = f"{100 * self.now:.0f}% of the variance of y"
        else:
            now = "nothing" if self.now >= -self.rounding else "less than a constant does"
        text = f"{self.where} the model explains {now}, and {self.without} {100 * self.free:.0f}%"
        if self.least is not None:
            text += f". {self._shift.capitalize()} would keep {100 * self.least:.0f}%"
        return text

    def note(self, constant: str = "") -> str:
        """The warning about it, empty if not much is lost.

        `constant` says that the model is a constant, and why, which is a warning by itself.
        """
        if constant:
            told = str(replace(self, now=max(self.now, 0.0)))  # less is chance
            of_price = f"{told[0].upper()}{told[1:]}. " if self.is_much else ""
            return f"{constant}. {of_price}{_OF_CONSTANT}."
        if not self.is_much:
            return ""
        advice = _NEEDED
        if self.is_avoidable:
            advice = _ADVICE_WITHOUT_GROUPS if self.numbers or self.loss else _ADVICE
        elif self.least is None:
            advice = _UNKNOWN
        return f"Parity costs much: {self}. {advice}."

    @property
    def _shift(self) -> str:
        if not self.numbers:
            return "a shift of each group"
        values = f"a shift for each value of {', '.join(self.numbers)}"
        return f"{values} in each group" if self.has_groups else values


def warn_about_cost(
    data: FitInput,
    functionals: Functionals,
    solution: Solution,
    u: float,
    constant: str = "",
    price: Price | None = None,
) -> None:
    """A ridge model at u of the dial that lost much accuracy, or left the range of y.

    `price` is that on held-out rows, if it was measured there, and `constant` as in `Price.note`.
    """
    if price is None:
        share, variance = np.array([1 - u, u]), float(solution.variance[0])
        now, free = float(share @ solution.errors[:, :, 0] @ share), float(solution.errors[1, 1, 0])
        if constant or (variance > 0 and _is_much(1 - free / variance, 1 - now / variance)):
            cells = solution.free.cell_means[:, 0]
            price = price_of(data.rows, functionals, cells, (now, free), variance)
    if price is not None and (told := price.note(constant)):
        warn(told)
    at_parity, before = solution.fair.fitted, solution.free.fitted
    if u == 0.0 and at_parity is not None and before is not None and data.rows.sizes is None:
        warn_about_range(at_parity[:, 0], before[:, 0], data.Y[:, 0])


def price_of(
    rows: Rows,
    functionals: Functionals,
    free: FloatArray,
    errors: tuple[float, float],
    variance: float,
    **words: Any,
) -> Price:
    """How much less a model explains than without the constraint.

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
    **words
        `where`, `without` and `rounding` of the price.
    """
    if not variance > 0:
        return Price(0.0, 0.0)
    price = Price(1 - errors[1] / variance, 1 - errors[0] / variance, **words)
    if not price.is_much or rows.y is None or not _are_shifts(rows, functionals):
        return price
    mass = rows.mass / rows.mass.sum()
    sums = np.asarray(functionals.table.T @ (rows.mass * (free - mass @ free)))
    shift = -np.asarray(functionals.table @ sums)
    residual = rows.cell_means(rows.y)[:, 0] - free
    least = errors[1] + mass @ (shift**2 - 2 * residual * shift)
    return _with_least(price, float(1 - least / variance), rows)


def _with_least(price: Price, least: float, rows: Rows) -> Price:
    """The price with what the least change of the free predictions would keep."""
    schema = rows.schema
    grouped = bool(schema.categories or schema.control)
    return replace(price, least=least, numbers=schema.continuous, has_groups=grouped)


def _is_much(free: float, now: float) -> bool:
    """Whether a third of what the free model explains is lost, if it explains anything."""
    return free >= _EXPLAINED and free - now >= _LOST * free


def _are_shifts(rows: Rows, functionals: Functionals) -> bool:
    """Whether the least change of predictions that meets a constraint is a shift of each group."""
    alike = functionals.table.shape[0] == len(rows.cells)
    return bool(functionals.count and alike and not functionals.targets.any())


def warn_about_loss(
    data: Any,
    functionals: Functionals,
    solution: Solution,
    u: float,
    constant: str = "",
    _: Price | None = None,
) -> None:
    """The same for models of another loss, on the rows of fit."""
    loss, on_response = data.loss, data.on_response
    assert solution.fair.fitted is not None
    assert solution.free.fitted is not None
    y, fair, free = data.Y[:, 0], solution.fair.fitted[:, 0], solution.free.fitted[:, 0]

    def mean_loss(score: FloatArray) -> float:
        with np.errstate(over="ignore"):
            return float(np.average(loss.value(y, score), weights=data.weights))

    errors = mean_loss((1 - u) * fair + u * free), mean_loss(free)
    price = Price(0.0, 0.0)
    # the constant's loss is at least that of the free fit, and nearly always more
    if errors[0] - errors[1] >= _LOST * _EXPLAINED * errors[1]:
        start = loss.start(y, np.ones_like(y) if data.weights is None else data.weights)
        best = minimize_scalar(
            lambda c: mean_loss(np.full_like(y, c)), bracket=(start, start + y.std())
        )
        if best.fun > 0:
            name = loss.name or type(loss).__name__
            price = Price(1 - errors[1] / best.fun, 1 - errors[0] / best.fun, loss=name)
        shifts = price.is_much and _are_shifts(data.rows, functionals)
        scores = _shifted(functionals, free, loss, on_response) if shifts else None
        if scores is not None:
            price = _with_least(price, 1 - mean_loss(scores) / best.fun, data.rows)
    if told := price.note(constant):
        warn(told)
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
