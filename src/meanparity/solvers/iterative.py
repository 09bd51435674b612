"""Other losses than the squared one: the free and the constrained minimiser, step by step."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from meanparity._typing import FloatArray
from meanparity.constraints import Functionals
from meanparity.kernels import BoundKernel
from meanparity.losses import Loss, Quantile
from meanparity.solvers.descent import Bend, Method, Problem, Run, minimise
from meanparity.solvers.dual import values_on_rows
from meanparity.solvers.solution import Fit, Info
from meanparity.solvers.spaces import FeatureSpace, KernelSpace, Space
from meanparity.solvers.task import Task
from meanparity.sources import stack

_ROUNDS = 20  # linearisations of the link at most
_FIRST = 0.25  # share of the way to parity of responses that is tried first
_SMALLEST = 1e-3  # share of the way to parity of responses that is tried at least
_MET = 1e-10  # gap of mean responses that is none, in units of the spread of the responses


@dataclass(frozen=True, eq=False)
class LossSolution:
    """The constrained and the free minimiser of a loss.

    Parameters
    ----------
    fair, free : Fit
        Both functions.
    runs : Run, Run
        How they were found.
    norms : (2, 2) array
        Inner products of the two functions.
    info : Info
        Which solver ran, and what it took.
    """

    fair: Fit
    free: Fit
    runs: tuple[Run, Run]
    norms: FloatArray
    info: Info


@dataclass(frozen=True, eq=False)
class _End:
    """A function with what was needed to find it.

    `multipliers`, (q,), are those of the functionals.
    """

    fit: Fit
    run: Run
    multipliers: FloatArray


def solve_loss(
    task: Task,
    loss: Loss,
    *,
    kernel: Callable[[], BoundKernel],
    is_linear: bool,
    method: Method,
    on_response: bool,
    measured: Functionals,
    starts: tuple[Run, Run] | None,
) -> LossSolution:
    """Minimise ``Σ u ℓ(y, g) + α‖g‖²``, with and without the functionals.

    Parameters
    ----------
    task : Task
        Rows, one target, weights, α and functionals.
    loss : Loss
        ℓ.
    kernel : callable
        Gives the kernel, bound to the training rows followed by the pool, if it is needed.
    is_linear : bool
        Whether the kernel is the inner product of whole rows.
    method : Method
        How to descend.
    on_response : bool
        Whether the functionals are about the responses ``μ(g)`` instead of the scores g.
    measured : Functionals
        What the record of gaps is about, on the training rows.
    starts : (Run, Run) or None
        Earlier runs to start from.
    """
    start = time.perf_counter()
    on_columns = is_linear and task.suits_columns
    if not on_columns and not task.alpha.all():
        raise ValueError(
            "alpha=0 leaves kernel functions free to go through all targets, where losses have no "
            "best one. Pass a positive alpha."
        )
    solver = _Solver(task, loss, kernel, on_columns, method, on_response, measured)
    none = replace(
        task, functionals=Functionals.none(len(task.Y)), pool=Functionals.none(task.pool.n_rows)
    )
    free = solver.end(none, "free", None if starts is None else starts[1])
    if not len(task.functionals) and not len(task.pool):
        fair = free
    elif on_response and not loss.is_identity:
        newton = replace(solver, method=replace(method, optimizer="newton"))
        fair = newton.of_all_rows().responses(solver.over_all_rows(free))
        fair = solver.apart(fair)
        if not fair.run.converged:
            left = float(np.abs(solver.gaps(task, fair.fit)).max(initial=0.0))
            raise ValueError(
                f"Parity of mean responses was not reached: following the solution from the free "
                f"fit ended at a gap of {left:.2g}. Raise alpha (now {task.alpha[0]:g}), use fewer "
                "groups or more features, or scale='score'."
            )
    else:
        # the paper's descents, of which `history_` tells, both start at zero
        from_free = None if method.optimizer == "adam" else free.run
        first = starts[0] if starts is not None else from_free
        fair = solver.end(task, "constrained", first)
    norms = np.array([[solver.product(p.fit, q.fit) for q in (fair, free)] for p in (fair, free)])
    gaps = solver.gaps(task, fair.fit)
    size = 8 * (task.X.shape[1] if on_columns else len(task.Y)) ** 2
    reason = "linear functions of columns" if on_columns else "one coefficient for each row"
    seconds = time.perf_counter() - start
    name = "newton" if on_response and not loss.is_identity else method.optimizer
    info = Info(name, reason, seconds, size, float(np.abs(gaps).max(initial=0.0)))
    return LossSolution(fair.fit, free.fit, (fair.run, free.run), norms, info)


@dataclass(frozen=True, eq=False)
class _Solver:
    task: Task
    loss: Loss
    kernel: Callable[[], BoundKernel]
    on_columns: bool
    method: Method
    on_response: bool
    measured: Functionals

    @property
    def y(self) -> FloatArray:
        return self.task.Y[:, 0]

    @property
    def weights(self) -> FloatArray:
        return np.ones(len(self.y)) if self.task.weights is None else self.task.weights

    @property
    def alpha(self) -> float:
        return float(self.task.alpha[0])

    def of_all_rows(self) -> _Solver:
        """The same with the pool as training rows of no weight, where a constraint may bend."""
        task = self.task
        if task.points is None:
            return self
        p = task.points.shape[0]
        middle = np.full((p, 1), np.average(self.y, weights=self.weights))  # counts nothing
        X, n = task.X, len(task.Y)
        if X.shape[1] != task.points.shape[1]:  # kernel values, without those of the pool
            X = np.hstack([X, task.points[:, :n].T])
        whole = Task(
            stack(X, task.points),
            np.vstack([task.Y, middle]),
            task.alpha,
            task.functionals.above(task.pool),
            task.fit_intercept,
            np.append(self.weights, np.zeros(p)),
        )
        return replace(self, task=whole)

    def over_all_rows(self, end: _End) -> _End:
        """A function with its values on the pool among those on the training rows."""
        fit = end.fit
        values = np.vstack([fit.fitted, fit.pool])
        return replace(end, fit=replace(fit, fitted=values, pool=values[:0]))

    def apart(self, end: _End) -> _End:
        """And back."""
        n, values = len(self.y), end.fit.fitted
        return replace(end, fit=replace(end.fit, fitted=values[:n], pool=values[n:]))

    def space(self, task: Task) -> Space:
        """The functions that meet the functionals of a task."""
        if self.on_columns:
            return FeatureSpace.prepare(task)
        return KernelSpace.prepare(task, self.kernel())

    def end(
        self,
        task: Task,
        name: str,
        start: Run | None,
        max_iter: int | None = None,
        bend: Bend | None = None,
    ) -> _End:
        """The minimiser under the linear functionals of a task."""
        exact = isinstance(self.loss, Quantile) and not self.loss.is_smooth
        if exact and self.on_columns and self.alpha == 0 and self.method.optimizer != "adam":
            return self._programme(task)
        space = self.space(task)
        c, b = np.zeros(space.size), 0.0
        if task.fit_intercept and self.method.optimizer != "adam":
            b = self.loss.start(self.y, self.weights)
        problem = Problem(
            space,
            self.loss,
            self.y,
            self.weights,
            self.alpha,
            self.watch,
            name,
            bend,
        )
        method = self.method if max_iter is None else replace(self.method, max_iter=max_iter)
        if start is not None and len(start.c) == space.size:
            with np.errstate(over="ignore", invalid="ignore"):
                warm = problem.objective(start.c, space.values(start.c), start.b)
                if bend is not None or warm <= problem.objective(c, space.values(c), b):
                    c, b = start.c, start.b
        run = minimise(problem, method, c, b)
        coef, intercept = space.function(run.c, run.b)
        fit = self._fit(coef, intercept, float(run.loss[-1]))
        pulls = self.weights * self.loss.gradient(self.y, fit.fitted[:, 0]) / 2
        return _End(fit, run, space.multipliers(run.b, pulls, self.alpha))

    def watch(self, scores: FloatArray) -> float:
        """The sum of gaps of scores, or of responses."""
        values = self.loss.response(scores) if self.on_response else scores
        if not len(self.measured):
            return 0.0
        return float(np.abs(self.measured.gaps(values[: self.measured.n_rows, None])).sum())

    def responses(self, free: _End) -> _End:
        """The minimiser whose mean responses meet the functionals on the training rows.

        The targets move from what the free minimiser has to what is wanted, in steps that are
        small enough for each to start near its end.
        """
        functionals = self.task.functionals
        first = functionals.apply(self.loss.response(free.fit.fitted))
        end, record, done, step = free, [free.run], 0.0, _FIRST
        while done < 1 and step > _SMALLEST:
            share = min(done + step, 1.0)
            targets = (1 - share) * first + share * functionals.targets
            new, runs, converged = self._programmes(replace(functionals, targets=targets), end)
            record += runs
            # a leap is to another minimum, such as a constant
            leap = np.abs(new.fit.fitted - end.fit.fitted).max() > np.ptp(end.fit.fitted)
            if converged and not (leap and step > 0.01):
                end, done, step = new, share, 1.5 * step
            else:
                step /= 2
        run = Run(
            end.run.c,
            end.run.b,
            sum(run.n_iter for run in record[1:]),
            done == 1,
            np.concatenate([record[0].loss[-1:], *(run.loss[1:] for run in record[1:])]),
            np.concatenate([record[0].gap[-1:], *(run.gap[1:] for run in record[1:])]),
        )
        value = float(self.weights @ self.loss.value(self.y, end.fit.fitted[:, 0]))
        value += self.alpha * self.product(end.fit, end.fit)
        return replace(end, fit=replace(end.fit, objective=np.array([value])), run=run)

    def _programmes(self, functionals: Functionals, end: _End) -> tuple[_End, list[Run], bool]:
        """Sequential quadratic programming for functionals of responses, from a nearby start.

        They are linear in the scores near the last ones: ``Cᵀ diag(μ'(g₀)) g = t − Cᵀμ(g₀) +
        Cᵀ diag(μ'(g₀)) g₀``. What they bend besides enters the objective with its multipliers.
        """
        runs: list[Run] = []
        task = replace(self.task, functionals=functionals)
        for _ in range(_ROUNDS):
            scores = end.fit.fitted
            linear = replace(self.task, functionals=self._linearised(functionals, scores))
            start = replace(end.run, c=end.fit.coef[: len(end.run.c), 0])
            bend = self._bend(end.multipliers, scores[:, 0])
            try:
                end = self.end(linear, "constrained", start, 1, bend)
            except (np.linalg.LinAlgError, ValueError):
                return end, runs, False
            runs.append(end.run)
            moved, size = np.abs(end.fit.fitted - scores).max(), np.abs(scores).max()
            with np.errstate(over="ignore", invalid="ignore"):
                spread = float(np.std(self.loss.response(end.fit.fitted)))
                left = float(np.abs(self.gaps(task, end.fit)).max(initial=0.0))
            if not moved < 100 * (1 + size):
                return end, runs, False
            if left <= _MET * spread and moved <= 1e-7 * (1 + size):
                return end, runs, True
        return end, runs, False

    def _bend(self, multipliers: FloatArray, scores: FloatArray) -> Bend:
        """What the constraint bends near scores, (n,), times its multipliers."""
        if len(multipliers) != len(self.task.functionals):  # of the free function
            return Bend(np.zeros_like(scores), scores)
        pull = self.task.functionals.spread(multipliers[:, None])[:, 0]
        return Bend(-2 * pull * self.loss.bend(scores), scores)

    def _linearised(self, functionals: Functionals, scores: FloatArray) -> Functionals:
        """Functionals of responses as functionals of scores near some, (n, 1)."""
        slope = self.loss.slope(scores[:, 0])
        weights = slope if functionals.weights is None else functionals.weights * slope
        bent = replace(functionals, weights=weights)
        targets = functionals.targets - functionals.apply(self.loss.response(scores))
        return replace(bent, targets=targets + bent.apply(scores))

    def gaps(self, task: Task, fit: Fit) -> FloatArray:
        """Gaps that a function leaves, of scores or of responses: (r,)."""
        change = self.loss.response if self.on_response else np.asarray
        parts = ((task.functionals, fit.fitted), (task.pool, fit.pool))
        left = [part.gaps(change(values))[:, 0] for part, values in parts if len(part)]
        return np.concatenate([np.zeros(0), *left])

    def product(self, p: Fit, q: Fit) -> float:
        """The inner product of two functions, without their constants."""
        if self.on_columns:
            return float(p.coef[:, 0] @ q.coef[:, 0])
        values = np.vstack([q.fitted, q.pool])[: len(p.coef)] - q.intercept
        return float(p.coef[:, 0] @ values[:, 0])

    def _fit(self, coef: FloatArray, intercept: float, objective: float) -> Fit:
        """A function with its values, computed as real predictions."""
        task, pool = self.task, np.zeros((0, 1))
        if self.on_columns:
            fitted = np.asarray(task.X @ coef) + intercept
            if task.points is not None:
                pool = np.asarray(task.points @ coef) + intercept
        else:
            kernel, n = self.kernel(), len(self.y)
            whole = coef if task.points is None else _padded(coef, n + task.points.shape[0])
            coef = whole
            fitted = values_on_rows(kernel, task, whole) + intercept
            if task.points is not None:
                pool = kernel.evaluate(task.points, whole) + intercept
        return Fit(coef, np.array([intercept]), fitted, np.array([objective]), pool)

    def _programme(self, task: Task) -> _End:
        """Quantile regression without a penalty: a linear programme."""
        X, y, u = task.X, self.y, self.weights
        assert isinstance(self.loss, Quantile)
        (n, d), q = X.shape, self.loss.quantile
        ones = np.ones((n, 1)) if task.fit_intercept else np.zeros((n, 0))
        eye = sparse.eye_array(n)
        blocks = [sparse.hstack([sparse.csr_array(X), ones, eye, -eye])]
        targets = [y]
        for part, points in ((task.functionals, X), (task.pool, task.points)):
            if len(part):
                C = part.dense()
                seen = np.asarray(points.T @ C).T  # type: ignore[union-attr]
                constant = C.sum(axis=0)[:, None][:, : ones.shape[1]]
                rest = sparse.csr_array((len(part), 2 * n))
                blocks.append(sparse.hstack([sparse.csr_array(np.hstack([seen, constant])), rest]))
                targets.append(np.broadcast_to(part.targets, (len(part), 1))[:, 0])
        free = d + ones.shape[1]
        found = linprog(
            np.concatenate([np.zeros(free), q * u, (1 - q) * u]),
            A_eq=sparse.vstack(blocks, format="csr"),
            b_eq=np.concatenate(targets),
            bounds=[(None, None)] * free + [(0, None)] * (2 * n),
            method="highs",
        )
        if found.status != 0:
            raise ValueError(
                f"The linear programme of quantile regression has no solution ({found.message}). "
                "Pass a positive alpha, or scale the data."
            )
        theta, b = found.x[:d, None], float(found.x[d]) if task.fit_intercept else 0.0
        space = FeatureSpace.prepare(task)
        coef, b = space.function(theta[:, 0], b)  # the constraint to the last digit
        fit = self._fit(coef, b, float(found.fun))
        gap = np.array([self.watch(fit.fitted[:, 0])])
        run = Run(theta[:, 0], b, 1, True, np.array([found.fun]), gap)
        return _End(fit, run, np.zeros(0))


def _padded(coef: FloatArray, n: int) -> FloatArray:
    """Coefficients of the training rows, and zeros for those of the pool if there are none."""
    missing = np.zeros((n - len(coef), coef.shape[1]))
    return np.vstack([coef, missing])
