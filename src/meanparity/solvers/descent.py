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
from meanparity.solvers.problem import Run
from meanparity.solvers.spaces import FunctionSpace

Vector = tuple[FloatArray, FloatArray, float]  # coefficients, values on the rows, constant
_MEMORY = 20  # pairs of steps and gradient changes that L-BFGS keeps
_FINEST = 1e-7  # last smoothing of a loss with kinks, in units of the spread of y


@dataclass(frozen=True, eq=False)
class Method:
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


def minimise(problem: Descent, method: Method, c: FloatArray, b: float) -> Run:
    """Minimise J from a starting point. A loss with kinks is smoothed less and less."""
    loss, descend = problem.loss, _RUNS[method.optimizer]
    if not isinstance(loss, Rounded):
        return descend(problem, method, c, b)
    spread = 1.0 if loss.is_binary else float(np.std(problem.y)) or 1.0
    last = loss.smoothing if loss.is_smooth else spread * _FINEST
    # the first smoothing is so wide that the loss of every row has curvature
    widths = [width for width in 4 * spread * 10.0 ** -np.arange(20) if width > 2 * last]
    runs: list[Run] = []
    for width in (*widths, last):
        runs.append(descend(replace(problem, loss=loss.rounded(float(width))), method, c, b))
        c, b = runs[-1].c, runs[-1].b
    return Run(
        c,
        b,
        sum(run.n_iter for run in runs),
        runs[-1].converged,
        np.concatenate([run.loss for run in runs]),
        np.concatenate([run.gap for run in runs]),
    )


class _Record:
    """Objective and sum of gaps after each step."""

    def __init__(self, problem: Descent, method: Method) -> None:
        self.problem, self.method = problem, method
        self.loss: list[float] = []
        self.gap: list[float] = []

    def add(self, c: FloatArray, h: FloatArray, b: float) -> float:
        """Record a point, and return its objective."""
        value = self.problem.objective(c, h, b)
        self.loss.append(value)
        self.gap.append(self.problem.watch(self.problem.scores(h, b)))
        if self.method.verbose:
            step = len(self.loss) - 1
            print(f"{self.problem.name} {step}: objective {value:.8g}, gaps {self.gap[-1]:.3g}")
        return value

    def run(self, c: FloatArray, b: float, converged: bool) -> Run:
        """The result of the descent, which ended at c and b."""
        return Run(c, b, len(self.loss) - 1, converged, np.array(self.loss), np.array(self.gap))


def _newton(problem: Descent, method: Method, c: FloatArray, b: float) -> Run:
    space, record = problem.space, _Record(problem, method)
    h = space.values(c)
    value = record.add(c, h, b)
    for _ in range(method.max_iter):
        g, w = problem.pull(h, b), problem.weight(h, b)
        if not w.max() > 0:  # no curvature here: use a small one for all rows
            w = np.full_like(w, 1e-3 * np.abs(g).max() / (np.abs(problem.y).max() or 1.0))
        dc, db = space.newton(c, b, g, w, problem.alpha)
        dh = space.values(dc)
        expected = -_slope(problem, c, h, b, g, dc, dh, db)
        if problem.bend is not None:  # a step of sequential quadratic programming
            t = 1.0
        else:
            t = _line_search(problem, (c, h, b), (dc, dh, db)) if expected > 0 else 0.0
        c, h, b = c + t * dc, h + t * dh, b + t * db
        new = record.add(c, h, b)
        done = expected <= method.tol * abs(value) or new >= value - 1e-16 * abs(value)
        value = new
        if done:
            return record.run(c, b, _small(expected, value, method))
    return record.run(c, b, False)


def _small(expected: float, value: float, method: Method) -> bool:
    """Whether the decrease that is expected of a step is zero up to rounding."""
    return bool(expected <= max(1e3 * method.tol, 1e-12) * max(abs(value), 1e-300))


def _lbfgs(problem: Descent, method: Method, c: FloatArray, b: float) -> Run:
    space, record = problem.space, _Record(problem, method)
    unit, none = max(float(np.mean(problem.weights)), 1e-300), np.zeros(0)

    def inner(p: Vector, q: Vector) -> float:
        return space.product(p[0], q[0], q[1]) + p[2] * q[2]

    def gradient(c: FloatArray, h: FloatArray, b: float) -> Vector:
        g = problem.pull(h, b)
        direction = space.representer(g) + problem.alpha * c
        values = space.values(direction) if space.needs_values else none
        return direction, values, problem.slope_b(g, b)

    condition = space.conditioner(problem.alpha)

    def shaped(p: Vector) -> Vector:
        """A gradient, preconditioned."""
        return condition(p[0]), p[1] / len(problem.y), p[2] / len(problem.y)

    h = space.values(c)
    value, slope = record.add(c, h, b), gradient(c, h, b)
    pairs: list[tuple[Vector, Vector, float]] = []
    quiet, fresh = 0, False
    for _ in range(method.max_iter):
        q, weights = slope, []
        for s, y, rho in reversed(pairs):
            weights.append(rho * inner(s, q))
            q = _add(q, y, -weights[-1])
        if pairs:
            s, y, rho = pairs[-1]
            q = _times(1 / (rho * max(inner(y, shaped(y)), 1e-300)), shaped(q))
        else:
            q = _times(1 / unit, shaped(q))
        for (s, y, rho), weight in zip(pairs, reversed(weights), strict=True):
            q = _add(q, s, weight - rho * inner(y, q))
        step = _times(-1.0, q)
        expected = -inner(slope, step)
        if not expected > 0:
            pairs, step = [], _times(-1 / unit, shaped(slope))
            expected = -inner(slope, step)
        if not space.needs_values:
            step = step[0], space.values(step[0]), step[2]
        t = _line_search(problem, (c, h, b), step) if expected > 0 else 0.0
        move = _times(t, step)
        c, h, b = _add((c, h, b), move, 1.0)
        move = move if space.needs_values else (move[0], none, move[2])
        new, after = record.add(c, h, b), gradient(c, h, b)
        change = _add(after, slope, -1.0)
        curved = inner(move, change)
        if curved > 1e-300:
            pairs = [*pairs[1 - _MEMORY :], (move, change, 1 / curved)]
        slope = after
        # a single small decrease may be chance, or due to the stored pairs: try again without them
        quiet = quiet + 1 if value - new <= method.tol * abs(value) else 0
        value = new
        if quiet >= 3 or t == 0.0:
            if not pairs or fresh:
                return record.run(c, b, _small(expected, value, method))
            pairs, quiet, fresh = [], 0, True
        elif quiet == 0:
            fresh = False
    return record.run(c, b, False)


_RUNS = {"newton": _newton, "lbfgs": _lbfgs}


def _add(p: Vector, q: Vector, scale: float) -> Vector:
    return p[0] + scale * q[0], p[1] + scale * q[1], p[2] + scale * q[2]


def _times(scale: float, p: Vector) -> Vector:
    return scale * p[0], scale * p[1], scale * p[2]


def _slope(
    problem: Descent,
    c: FloatArray,
    h: FloatArray,
    b: float,
    g: FloatArray,
    dc: FloatArray,
    dh: FloatArray,
    db: float,
) -> float:
    """Half the derivative of J along a direction."""
    along = float(g @ dh) + problem.alpha * problem.space.product(c, dc, dh)
    return along + db * problem.slope_b(g, b)


def _line_search(problem: Descent, point: Vector, step: Vector) -> float:
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
    start = problem.objective(c, h, b)

    def is_good(t: float, found: float) -> bool:
        """Whether the slope is small there, and J is not above its value at the start."""
        if abs(found) > -0.1 * first:
            return False
        with np.errstate(over="ignore", invalid="ignore"):
            return found <= 0 or problem.objective(c + t * dc, h + t * dh, b + t * db) <= start

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
