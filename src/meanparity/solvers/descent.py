"""Newton's method and L-BFGS for a convex loss, in coordinates in which nothing is constrained.

They minimise ``J = Σ u ℓ(y, o + h + b m) + α‖h‖² + α‖τ − βb‖²`` over h and b. Newton's method is
iteratively reweighted least squares; L-BFGS uses the inner product of the space. Every iterate
meets the constraint. The symbols are listed in `meanparity.solvers.minimisation`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from meanparity._typing import FloatArray
from meanparity.losses.base import Loss, Rounded
from meanparity.solvers.solution import Run
from meanparity.solvers.spaces import FunctionSpace

Point = tuple[FloatArray, FloatArray, float]  # coefficients, values on the rows, constant
Pair = tuple[FloatArray, FloatArray, float]  # a step, the change of the gradient, 1 / product
_MEMORY = 20  # pairs of steps and gradient changes that L-BFGS keeps
_FINEST = 1e-7  # last smoothing of a loss with kinks, in units of the spread of y


@dataclass(frozen=True, eq=False)
class DescentSettings:
    """Which method of descent, and when it stops.

    Parameters
    ----------
    optimizer : {"newton", "lbfgs"}
        Name of the method.
    max_iter : int
        Largest number of steps (for a loss with kinks: at each smoothing).
    tol : float
        Relative decrease of the objective at which to stop.
    verbose : bool
        Whether to print every step.
    """

    optimizer: str
    max_iter: int
    tol: float
    verbose: bool = False


@dataclass(frozen=True, eq=False)
class Bend:
    """``½ Σ κ (g − g₀)²``: the curvature of a nonlinear constraint at g₀, times its multipliers.

    Parameters
    ----------
    kappa, around : (n,) arrays
        Curvatures κ, of either sign, and scores g₀.
    """

    kappa: FloatArray
    around: FloatArray


@dataclass(frozen=True, eq=False)
class Descent:
    """The objective J, its first and its second derivatives.

    Parameters
    ----------
    space : FunctionSpace
        The functions h.
    loss : Loss
        The loss ℓ, without kinks.
    y, weights : (n,) arrays
        Targets y and weights u.
    alpha : float
        Penalty α.
    watch : callable
        Returns the sum of the gaps of scores, (n,), which is recorded after each step.
    name : str
        Name of the minimisation, for printing.
    bend : Bend or None
        An additional quadratic term.
    """

    space: FunctionSpace
    loss: Loss
    y: FloatArray
    weights: FloatArray
    alpha: float
    watch: Callable[[FloatArray], float]
    name: str
    bend: Bend | None = None

    def scores(self, h: FloatArray, b: float) -> FloatArray:
        """``o + h + b m`` on the training rows: (n,)."""
        plane = self.space.plane
        scores = plane.offset + h
        return scores if plane.constant is None else scores + b * plane.constant

    def objective(self, c: FloatArray, h: FloatArray, b: float) -> float:
        """The objective J."""
        scores = self.scores(h, b)
        losses = float(self.weights @ self.loss.value(self.y, scores))
        if self.bend is not None:
            losses += float(self.bend.kappa @ (scores - self.bend.around) ** 2) / 2
        norm = self.space.product(c, c, h) + self.space.plane.penalty(b)
        return losses + self.alpha * norm

    def pull(self, h: FloatArray, b: float) -> FloatArray:
        """Half the derivative of the loss with respect to each score, ``u ℓ'/2``: (n,)."""
        scores = self.scores(h, b)
        g: FloatArray = self.weights * self.loss.gradient(self.y, scores) / 2
        if self.bend is not None:
            g = g + self.bend.kappa * (scores - self.bend.around) / 2
        return g

    def weight(self, h: FloatArray, b: float) -> FloatArray:
        """Half the second derivative of the loss with respect to each score, ``u ℓ''/2``: (n,)."""
        w: FloatArray = self.weights * self.loss.curvature(self.y, self.scores(h, b)) / 2
        return w if self.bend is None else w + self.bend.kappa / 2

    def slope_b(self, g: FloatArray, b: float) -> float:
        """Half the derivative of J with respect to b."""
        plane = self.space.plane
        if plane.constant is None:
            return 0.0
        return float(plane.constant @ g) + self.alpha * plane.penalty_slope(b)


def minimise(problem: Descent, settings: DescentSettings, c: FloatArray, b: float) -> Run:
    """Minimise J from a starting point. A loss with kinks is smoothed less and less."""
    loss, descend = problem.loss, _RUNS[settings.optimizer]
    if not isinstance(loss, Rounded):
        return descend(problem, settings, c, b)
    spread = 1.0 if loss.is_binary else float(np.std(problem.y)) or 1.0
    last = loss.smoothing if loss.is_smooth else spread * _FINEST
    # the first smoothing is so wide that the loss of every row has curvature
    widths = [width for width in 4 * spread * 10.0 ** -np.arange(20) if width > 2 * last]
    runs: list[Run] = []
    for width in (*widths, last):
        run = descend(replace(problem, loss=loss.rounded(float(width))), settings, c, b)
        c, b = run.c, run.b
        runs.append(run)
    return replace(
        run,
        n_iter=sum(run.n_iter for run in runs),
        loss=np.concatenate([run.loss for run in runs]),
        gap=np.concatenate([run.gap for run in runs]),
    )


class _Record:
    """Objective and sum of gaps after each step."""

    def __init__(self, problem: Descent, settings: DescentSettings) -> None:
        self.problem, self.verbose = problem, settings.verbose
        self.loss: list[float] = []
        self.gap: list[float] = []

    def add(self, c: FloatArray, h: FloatArray, b: float) -> float:
        """Record a point, and return its objective."""
        value = self.problem.objective(c, h, b)
        self.loss.append(value)
        self.gap.append(self.problem.watch(self.problem.scores(h, b)))
        if self.verbose:
            step = len(self.loss) - 1
            print(f"{self.problem.name} {step}: objective {value:.8g}, gaps {self.gap[-1]:.3g}")
        return value

    def run(self, c: FloatArray, b: float, converged: bool) -> Run:
        """The result of the descent, which ended at c and b."""
        return Run(c, b, len(self.loss) - 1, converged, np.array(self.loss), np.array(self.gap))


def _newton(problem: Descent, settings: DescentSettings, c: FloatArray, b: float) -> Run:
    space, record = problem.space, _Record(problem, settings)
    h = space.values(c)
    value = record.add(c, h, b)
    for _ in range(settings.max_iter):
        g, w = problem.pull(h, b), problem.weight(h, b)
        if not w.max() > 0:  # no curvature here: use a small one for all rows
            w = np.full_like(w, 1e-3 * np.abs(g).max() / (np.abs(problem.y).max() or 1.0))
        dc, db = space.newton(c, b, g, w, problem.alpha)
        dh = space.values(dc)
        expected = -float(g @ dh) - problem.alpha * space.product(c, dc, dh)
        expected -= db * problem.slope_b(g, b)
        if problem.bend is not None:  # a step of sequential quadratic programming
            t = 1.0
        else:
            t = _line_search(problem, (c, h, b), (dc, dh, db)) if expected > 0 else 0.0
        c, h, b = c + t * dc, h + t * dh, b + t * db
        before, value = value, record.add(c, h, b)
        if expected <= settings.tol * abs(before) or value >= before:
            return record.run(c, b, _small(expected, value, settings))
    return record.run(c, b, False)


def _small(expected: float, value: float, settings: DescentSettings) -> bool:
    """Whether the decrease that is expected of a step is zero up to rounding."""
    return bool(expected <= max(1e3 * settings.tol, 1e-12) * max(abs(value), 1e-300))


def _lbfgs(problem: Descent, settings: DescentSettings, c: FloatArray, b: float) -> Run:
    """Vectors are the coefficients, the values on the rows if these are needed, and the constant.

    Three steps in a row that decrease J by next to nothing may be chance, or due to the stored
    pairs: the pairs are dropped, and the descent ends only after three more such steps.
    """
    space, record, p = problem.space, _Record(problem, settings), len(c)
    condition = space.conditioner(problem.alpha)
    unit = max(float(np.mean(problem.weights)), 1e-300)

    def inner(first: FloatArray, second: FloatArray) -> float:
        along = space.product(first[:p], second[:p], second[p:-1])
        return along + float(first[-1] * second[-1])

    def gradient() -> FloatArray:
        g = problem.pull(h, b)
        direction = space.representer(g) + problem.alpha * c
        values = space.values(direction) if space.needs_values else direction[:0]
        return np.concatenate([direction, values, [problem.slope_b(g, b)]])

    def shaped(vector: FloatArray) -> FloatArray:
        """A gradient, preconditioned."""
        return np.concatenate([condition(vector[:p]), vector[p:] / len(problem.y)])

    h = space.values(c)
    value, slope = record.add(c, h, b), gradient()
    pairs: list[Pair] = []
    quiet = 0  # steps in a row that decreased J by next to nothing
    for _ in range(settings.max_iter):
        step = -_two_loops(pairs, slope, inner, shaped, unit)
        expected = -inner(slope, step)
        if not expected > 0:
            pairs, step = [], -shaped(slope) / unit
            expected = -inner(slope, step)
        dc, db = step[:p], float(step[-1])
        dh = step[p:-1] if space.needs_values else space.values(dc)
        t = _line_search(problem, (c, h, b), (dc, dh, db)) if expected > 0 else 0.0
        c, h, b = c + t * dc, h + t * dh, b + t * db
        before, value, last, slope = value, record.add(c, h, b), slope, gradient()
        curved = inner(t * step, slope - last)
        if curved > 1e-300:
            pairs = [*pairs[1 - _MEMORY :], (t * step, slope - last, 1 / curved)]
        quiet = quiet + 1 if before - value <= settings.tol * abs(before) else 0
        if quiet >= 6 or (t == 0.0 and (quiet > 3 or not pairs)):
            return record.run(c, b, _small(expected, value, settings))
        if quiet == 3 or t == 0.0:
            pairs, quiet = [], 3
    return record.run(c, b, False)


def _two_loops(
    pairs: list[Pair],
    slope: FloatArray,
    inner: Callable[[FloatArray, FloatArray], float],
    shaped: Callable[[FloatArray], FloatArray],
    unit: float,
) -> FloatArray:
    """The gradient times the inverse of the second derivative that the pairs suggest."""
    q, weights, scale = slope, [], 1 / unit
    for s, y, rho in reversed(pairs):
        weights.append(rho * inner(s, q))
        q = q - weights[-1] * y
    if pairs:
        _, y, rho = pairs[-1]
        scale = 1 / (rho * max(inner(y, shaped(y)), 1e-300))
    q = scale * shaped(q)
    for (s, y, rho), weight in zip(pairs, reversed(weights), strict=True):
        q = q + (weight - rho * inner(y, q)) * s
    return q


_RUNS = {"newton": _newton, "lbfgs": _lbfgs}


def _line_search(problem: Descent, point: Point, step: Point) -> float:
    """The length of a step at which the slope of J is at most a tenth of that at the start.

    J is convex along the step, and each evaluation costs one pass over the rows.
    """
    (c, h, b), (dc, dh, db) = point, step
    space, alpha = problem.space, problem.alpha
    with np.errstate(over="ignore", invalid="ignore"):  # a step that rounding made endless
        flat, bend = space.product(c, dc, dh), space.product(dc, dc, dh)

    def slope(t: float) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            g = problem.pull(h + t * dh, b + t * db)
            value = float(g @ dh) + alpha * (flat + t * bend)
            value += db * problem.slope_b(g, b + t * db)
        return value if np.isfinite(value) else np.inf

    first = slope(0.0)
    if first >= 0:
        return 0.0
    before = problem.objective(c, h, b)

    def is_good(t: float, found: float) -> bool:
        """Whether the slope is small there, and J is not larger than before."""
        if abs(found) > -0.1 * first:
            return False
        with np.errstate(over="ignore", invalid="ignore"):
            return found <= 0 or problem.objective(c + t * dc, h + t * dh, b + t * db) <= before

    low, low_slope, high = 0.0, first, 1.0
    high_slope = slope(high)
    while high_slope < 0.1 * first and high < 1e12:
        low, low_slope, high = high, high_slope, 4 * high
        high_slope = slope(high)
    for _ in range(60):
        if is_good(high, high_slope):
            return high
        between = (low + high) / 2
        if low_slope < high_slope < np.inf:  # zero of the line through both slopes
            share = low_slope / (low_slope - high_slope)
            between = low + float(np.clip(share, 0.1, 0.9)) * (high - low)
        found = slope(between)
        if is_good(between, found):
            return between
        if found < 0:
            low, low_slope = between, found
        else:
            high, high_slope = between, found
    return low
