"""The free and the constrained minimisation of any loss, step by step.

The solvers of other losses take four files, each of which uses only those below it:

=================== ==========================================================================
``any_loss.py``     the solvers `Newton` and `LBFGS`: settings, and whether the functions are
                    linear in columns or have one coefficient for each row
``minimisation.py`` one free and one constrained minimisation; for parity of responses, a
                    sequence of problems with linearised constraints; quantiles without a penalty
``descent.py``      the objective J with its derivatives, Newton's method, L-BFGS, line search
``spaces.py``       functions that meet the constraint, in coordinates without constraints:
                    kernel functions and linear functions of columns
=================== ==========================================================================

In all of them, the function is ``g = o + h + b·m`` and the objective is
``J = Σ u ℓ(y, g) + α‖h‖² + α‖τ − βb‖²``. The symbols and their names in the code:

======== ====================== ====================================================================
y, u     `y`, `weights`         targets and weights in the loss, (n,)
ℓ, μ     `loss`                 the loss of a score, and the response that belongs to it
α        `alpha`                penalty
o        `plane.offset`         the function of least norm that meets the targets
h        `space`                any function on which all functionals vanish
c        `c`                    coefficients of h, (p,)
b, m     `b`, `plane.constant`  intercept, and the constant 1 without its part along representers
τ, β     `plane.tau`, `.beta`   the inner products of g with the representers are ``τ − βb``, (r,)
g        `pull`                 in steps: half the derivatives of the loss, ``u ℓ'/2``, (n,)
w        `weight`               half the second derivatives, ``u ℓ''/2``, (n,)
κ, g₀    `Bend`                 curvature of the constraint times its multipliers, at scores g₀
======== ====================== ====================================================================
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from meanparity._typing import FloatArray
from meanparity.constraints.functionals import Functionals
from meanparity.data.features import stack
from meanparity.data.groups import one_cell
from meanparity.linalg.device import name_of
from meanparity.losses.base import Loss
from meanparity.losses.regression import Quantile
from meanparity.solvers.descent import Bend, Descent, DescentSettings, minimise
from meanparity.solvers.dual import evaluate
from meanparity.solvers.features import LinearFeatures
from meanparity.solvers.problem import ConstrainedProblem
from meanparity.solvers.solution import Fit, Run, Solution, SolverInfo
from meanparity.solvers.spaces import ColumnFunctions, FunctionSpace, KernelFunctions

_ROUNDS = 20  # most linearisations of the link
_FIRST = 0.25  # length of the first step towards parity of responses, as a share of the way
_SMALLEST = 1e-3  # shortest of these steps before giving up
_CONSTANT = 1e-6  # spread of scores, in units of that of the free fit, that counts as none
_MET = 1e-10  # gap of mean responses that counts as zero, in units of their spread


@dataclass(frozen=True, eq=False)
class Minimiser:
    """A minimiser: coefficients, values, the record of its steps, and Lagrange multipliers."""

    coef: FloatArray
    intercept: float
    objective: float
    fitted: FloatArray
    pool: FloatArray
    run: Run
    multipliers: FloatArray


@dataclass(frozen=True, eq=False)
class Minimisation:
    """The free and the constrained minimisation of one problem."""

    problem: ConstrainedProblem
    on_columns: bool
    settings: DescentSettings
    basis: LinearFeatures

    @property
    def function_basis(self) -> Any:
        """The basis that coefficients refer to."""
        return self.basis if self.on_columns else self.problem.expansion

    @property
    def loss(self) -> Loss:
        """The loss."""
        return self.problem.loss

    @property
    def on_response(self) -> bool:
        """Whether the constraint is about responses that differ from the scores."""
        return self.problem.on_response and not self.loss.is_identity

    @property
    def y(self) -> FloatArray:
        """The targets: (n,)."""
        return self.problem.Y[:, 0]

    @cached_property
    def weights(self) -> FloatArray:
        """The weights in the loss: (n,)."""
        return np.ones(len(self.y)) if self.problem.weights is None else self.problem.weights

    @property
    def alpha(self) -> float:
        """The penalty."""
        return float(self.problem.alpha[0])

    def solution(self, start: float) -> Solution:
        """Minimise without and with the constraint; `start` is when the solver began."""
        problem = self.problem
        runs = None if problem.earlier is None else problem.earlier.runs
        free = self.free(None if runs is None else runs[1])
        if not len(problem.functionals) and not len(problem.pool):
            fair = free
        elif self.on_response:
            fair = self._with_equal_responses(free)
        else:
            fair = self.end(problem, "constrained", free.run if runs is None else runs[0])
        return self._assembled(fair, free, start)

    def _without_conditions(self) -> ConstrainedProblem:
        problem = self.problem
        return replace(
            problem,
            functionals=Functionals.none(len(problem.Y)),
            pool=Functionals.none(problem.pool.n_rows),
        )

    def free(self, earlier: Run | None) -> Minimiser:
        """The free minimiser, from an earlier run."""
        return self.end(self._without_conditions(), "free", earlier)

    def _with_equal_responses(self, free: Minimiser) -> Minimiser:
        """The constrained minimiser if the constraint is about responses."""
        newton = replace(self, settings=replace(self.settings, optimizer="newton"))
        values = np.vstack([free.fitted, free.pool])
        joined = replace(free, fitted=values, pool=values[:0])  # the pool among the rows
        fair = newton.over_all_rows().responses(joined)
        n = len(self.y)
        fair = replace(fair, fitted=fair.fitted[:n], pool=fair.fitted[n:])
        # a constant always has parity: near it, rounding decides whether the path ends there
        constant = np.ptp(fair.fitted) <= _CONSTANT * np.ptp(free.fitted)
        if constant or not fair.run.converged:
            left = float(np.abs(self.gaps(self.problem, fair)).max(initial=0.0))
            end = "a constant" if constant else f"a gap of {left:.2g}"
            raise ValueError(
                "Parity of mean responses was not reached: following the solution from the free "
                f"fit ended at {end}. Raise alpha (now {self.alpha:g}), use fewer groups or more "
                "features, or MeanParity(scale='score')."
            )
        return fair

    def _assembled(self, fair: Minimiser, free: Minimiser, start: float) -> Solution:
        problem, pair = self.problem, (fair, free)
        norms = np.array([[self.product(p, q) for q in pair] for p in pair])
        gaps = np.stack([self.gaps(problem, end)[:, None] for end in pair])
        size = 8 * (problem.X.shape[1] if self.on_columns else len(problem.Y)) ** 2
        reason = "linear functions of columns" if self.on_columns else "one coefficient per row"
        residual = float(np.abs(gaps[0]).max(initial=0.0))
        name = "newton" if self.on_response else self.settings.optimizer
        info = SolverInfo(name, reason, time.perf_counter() - start, size, residual)
        info = replace(info, device=name_of(problem.device))
        cells = problem.cells or one_cell(len(problem.Y))
        there = problem.pool_cells or one_cell(problem.pool.n_rows)
        fits = [
            Fit(
                end.coef,
                np.array([end.intercept]),
                np.array([end.objective]),
                cells.means(self.compared(end.fitted)),
                there.means(self.compared(end.pool)) if len(end.pool) else np.zeros((0, 1)),
                end.fitted,
                end.pool,
            )
            for end in pair
        ]
        errors = np.hstack([self.loss.response(end.fitted) for end in pair]) - problem.Y
        products = np.einsum("n,na,nb->ab", problem.shares, errors, errors)[:, :, None]
        variance = problem.shares @ (problem.Y - problem.shares @ problem.Y) ** 2
        return Solution(
            fits[0],
            fits[1],
            self.function_basis,
            gaps,
            products,
            variance,
            info,
            runs=(fair.run, free.run),
            norms=norms,
        )

    def compared(self, scores: FloatArray) -> FloatArray:
        """The values that the constraint compares: scores or responses."""
        return np.asarray(self.loss.response(scores) if self.on_response else scores)

    def over_all_rows(self) -> Minimisation:
        """The same problem with the pool as training rows of weight zero.

        A constraint that is not linear can then be linearised on the pool as well.
        """
        problem = self.problem
        if problem.pool_X is None:
            return self
        p = problem.pool_X.shape[0]
        middle = np.full(
            (p, 1), np.average(self.y, weights=self.weights)
        )  # any target does, at weight zero
        X, n = problem.X, len(problem.Y)
        if problem.kernel.is_precomputed:  # kernel values, without those of the pool
            X = np.hstack([X, problem.pool_X[:, :n].T])
        whole = replace(
            problem,
            X=stack(X, problem.pool_X),
            Y=np.vstack([problem.Y, middle]),
            functionals=problem.functionals.above(problem.pool),
            weights=np.append(self.weights, np.zeros(p)),
            pool_X=None,
            pool=Functionals.none(0),
        )
        return replace(self, problem=whole)

    @property
    def is_linear_programme(self) -> bool:
        """Whether this is quantile regression without a penalty."""
        exact = isinstance(self.loss, Quantile) and not self.loss.is_smooth
        return exact and self.on_columns and self.alpha == 0

    def space(self, problem: ConstrainedProblem) -> FunctionSpace:
        """The functions that meet the functionals of a problem."""
        prepare = ColumnFunctions.prepare if self.on_columns else KernelFunctions.prepare
        return prepare(problem)

    def end(
        self,
        problem: ConstrainedProblem,
        name: str,
        earlier: Run | None,
        max_iter: int | None = None,
        bend: Bend | None = None,
        space: FunctionSpace | None = None,
    ) -> Minimiser:
        """The minimiser under the linear functionals of a problem; `space` if it is known."""
        if self.is_linear_programme:
            return self._linear_programme(problem)
        space = self.space(problem) if space is None else space
        c, b = np.zeros(space.size), 0.0
        if problem.fit_intercept:
            b = self.loss.start(self.y, self.weights)
        descent = Descent(
            space, self.loss, self.y, self.weights, self.alpha, self.watch, name, bend
        )
        settings = self.settings
        if max_iter is not None:
            settings = replace(settings, max_iter=max_iter)
        if earlier is not None and len(earlier.c) == space.size:
            with np.errstate(over="ignore", invalid="ignore"):
                warm = descent.objective(earlier.c, space.values(earlier.c), earlier.b)
                if bend is not None or warm <= descent.objective(c, space.values(c), b):
                    c, b = earlier.c, earlier.b
        run = minimise(descent, settings, c, b)
        coef, intercept = space.function(run.c, run.b)
        end = self._evaluated(coef, intercept, run)
        pulls = self.weights * self.loss.gradient(self.y, end.fitted[:, 0]) / 2
        return replace(end, multipliers=space.multipliers(run.b, pulls, self.alpha))

    def watch(self, scores: FloatArray) -> float:
        """The sum of the gaps, of scores or of responses, on the training rows."""
        functionals = self.problem.functionals
        if not len(functionals):
            return 0.0
        return float(np.abs(functionals.gaps(self.compared(scores)[:, None])).sum())

    def responses(self, free: Minimiser) -> Minimiser:
        """The minimiser whose mean responses meet the functionals on the training rows."""
        return self.toward(self.problem.functionals.targets, free)

    def toward(self, targets: FloatArray, start: Minimiser) -> Minimiser:
        """The minimiser whose mean responses have these targets, (q, 1), near another minimiser.

        The targets move there in steps that are short enough for each minimisation to start close
        to its solution. The run has not converged if a step would have to be too short.
        """
        functionals, end = self.problem.functionals, start
        first = functionals.apply(self.loss.response(start.fitted))
        record, done, step = [start.run], 0.0, _FIRST if not len(start.multipliers) else 1.0
        while done < 1 and step > _SMALLEST:
            share = min(done + step, 1.0)
            between = (1 - share) * first + share * targets
            new, runs, converged = self._sequential_programmes(
                replace(functionals, targets=between), end
            )
            record += runs
            # a jump leads to another minimum, such as a constant
            leap = np.abs(new.fitted - end.fitted).max() > np.ptp(end.fitted)
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
        value = float(self.weights @ self.loss.value(self.y, end.fitted[:, 0]))
        value += self.alpha * self.product(end, end)
        return replace(end, objective=value, run=run)

    def _sequential_programmes(
        self, functionals: Functionals, end: Minimiser
    ) -> tuple[Minimiser, list[Run], bool]:
        """Sequential quadratic programming for functionals of responses, from a nearby start.

        Near the last scores g₀ the conditions are linear, ``Cᵀ diag(μ'(g₀)) g = t − Cᵀμ(g₀) +
        Cᵀ diag(μ'(g₀)) g₀``. Their curvature, times the multipliers, is added to the objective.
        """
        runs: list[Run] = []
        problem = replace(self.problem, functionals=functionals)
        for _ in range(_ROUNDS):
            scores = end.fitted
            linear = replace(self.problem, functionals=self._linearised(functionals, scores))
            earlier = replace(end.run, c=end.coef[: len(end.run.c), 0])
            bend = self._bend(end.multipliers, scores[:, 0])
            try:
                end = self.end(linear, "constrained", earlier, 1, bend)
            except (np.linalg.LinAlgError, ValueError):
                return end, runs, False
            runs.append(end.run)
            moved, size = np.abs(end.fitted - scores).max(), np.abs(scores).max()
            with np.errstate(over="ignore", invalid="ignore"):
                spread = float(np.std(self.loss.response(end.fitted)))
                left = float(np.abs(self.gaps(problem, end)).max(initial=0.0))
            if not moved < 100 * (1 + size):
                return end, runs, False
            if left <= _MET * spread and moved <= 1e-7 * (1 + size):
                return end, runs, True
        return end, runs, False

    def _bend(self, multipliers: FloatArray, scores: FloatArray) -> Bend:
        """The curvature of the constraint at scores, (n,), times its multipliers."""
        if len(multipliers) != len(self.problem.functionals):  # the free minimiser has none
            return Bend(np.zeros_like(scores), scores)
        pull = self.problem.functionals.spread(multipliers[:, None])[:, 0]
        return Bend(-2 * pull * self.loss.bend(scores), scores)

    def _linearised(self, functionals: Functionals, scores: FloatArray) -> Functionals:
        """Functionals of responses, linearised as functionals of scores at given scores, (n, 1)."""
        slope = self.loss.slope(scores[:, 0])
        weights = slope if functionals.weights is None else functionals.weights * slope
        bent = replace(functionals, weights=weights)
        targets = functionals.targets - functionals.apply(self.loss.response(scores))
        return replace(bent, targets=targets + bent.apply(scores))

    def gaps(self, problem: ConstrainedProblem, end: Minimiser) -> FloatArray:
        """The gaps of a function, of scores or of responses: (r,)."""
        return problem.gaps(self.compared(end.fitted), self.compared(end.pool))[:, 0]

    def product(self, p: Minimiser, q: Minimiser) -> float:
        """The inner product of two functions without their intercepts."""
        if self.on_columns:
            return float(np.vdot(p.coef, q.coef))
        values = np.vstack([q.fitted, q.pool])[: len(p.coef)] - q.intercept
        return float(np.vdot(p.coef, values))

    def _evaluated(self, coef: FloatArray, intercept: float, run: Run) -> Minimiser:
        """A function with its values on all rows, computed in the same way as predictions."""
        problem = self.problem
        if self.on_columns:
            fitted = np.asarray(problem.X @ coef)
            pool = fitted[:0] if problem.pool_X is None else np.asarray(problem.pool_X @ coef)
        else:
            fitted, pool = evaluate(problem, coef)
        values = fitted + intercept, pool + intercept
        return Minimiser(coef, intercept, float(run.loss[-1]), *values, run, np.zeros(0))

    def _linear_programme(self, problem: ConstrainedProblem) -> Minimiser:
        """Quantile regression without a penalty: a linear programme."""
        X, y, u = problem.X, self.y, self.weights
        assert isinstance(self.loss, Quantile)
        (n, d), q = X.shape, self.loss.quantile
        ones = np.ones((n, 1)) if problem.fit_intercept else np.zeros((n, 0))
        eye = sparse.eye_array(n)
        blocks = [sparse.hstack([sparse.csr_array(X), ones, eye, -eye])]
        targets = [y]
        for part, points in ((problem.functionals, X), (problem.pool, problem.pool_X)):
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
        theta, b = found.x[:d, None], float(found.x[d]) if problem.fit_intercept else 0.0
        coef, b = self.space(problem).function(theta[:, 0], b)  # meet the constraint up to rounding
        run = Run(theta[:, 0], b, 1, True, np.array([found.fun]), np.zeros(1))
        end = self._evaluated(coef, b, run)
        return replace(end, run=replace(run, gap=np.array([self.watch(end.fitted.ravel())])))
