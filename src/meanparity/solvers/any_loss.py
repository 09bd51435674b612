"""Solvers for losses other than the squared error: Newton's method and L-BFGS."""

from __future__ import annotations

import time
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from meanparity.data.columns import is_position
from meanparity.data.fit_input import check_flag
from meanparity.linalg.device import CPU, resolve_device
from meanparity.solvers.descent import DescentSettings
from meanparity.solvers.features import LinearFeatures
from meanparity.solvers.minimisation import Minimisation
from meanparity.solvers.nystrom import from_features, in_features
from meanparity.solvers.problem import ConstrainedProblem, Solver, check_solution
from meanparity.solvers.solution import Solution
from meanparity.solvers.targets import TargetValues
from meanparity.state import stored


class _Optimizer(Solver):
    """Base of the solvers for any loss."""

    def __init__(
        self,
        max_iter: int | None = None,
        *,
        tol: float = 1e-10,
        warm_start: bool = False,
        verbose: bool = False,
        device: str = CPU,
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.device = device

    any_loss = True
    _steps: ClassVar[int]

    def solve(self, problem: ConstrainedProblem) -> Solution:
        """The constrained and the free minimiser."""
        start = time.perf_counter()
        return self._minimisation(problem).solution(start)

    def target_values(self, problem: ConstrainedProblem) -> TargetValues:
        """The least objective for any targets of the functionals."""
        return TargetValues.from_minimisation(self._minimisation(problem))

    def _minimisation(self, problem: ConstrainedProblem) -> Minimisation:
        problem = problem.in_double_precision()
        if problem.Y.shape[1] != 1:
            raise ValueError(
                f"{type(self).__name__}() minimises for one output, but Y has "
                f"{problem.Y.shape[1]}. Solve for each output separately."
            )
        on_columns = problem.prefers_columns
        if not on_columns and not problem.alpha.all():
            raise ValueError(
                "alpha=0 lets kernel functions fit all targets, where losses have no unique "
                "minimum. Pass a positive alpha."
            )
        device = resolve_device(self.device)
        if device is not None and not on_columns:  # a matrix of columns is small
            problem = replace(problem, device=device)
        settings, basis = self._settings(), LinearFeatures(np.zeros(problem.X.shape[1]))
        if on_columns and problem.origin is not None:  # rows about their mean save digits
            basis = LinearFeatures(problem.origin)
            problem = replace(
                problem,
                X=basis.raw(problem.X),
                pool_X=None if problem.pool_X is None else basis.raw(problem.pool_X),
            )
        return Minimisation(problem, on_columns, settings, basis)

    def _settings(self) -> DescentSettings:
        steps: Any = self._steps if self.max_iter is None else self.max_iter
        if not is_position(steps) or steps < 1:
            raise ValueError(f"max_iter={steps!r}. Pass an integer of 1 or more, or None.")
        tol: Any = self.tol
        if not isinstance(tol, Real) or tol is True or not 0 < float(tol) < np.inf:
            raise ValueError(f"tol={tol!r} is not a positive number. Pass one.")
        for name in ("warm_start", "verbose"):
            check_flag(name, getattr(self, name))
        return DescentSettings(self.name, int(steps), float(tol), bool(self.verbose))


@stored("Newton")
class Newton(_Optimizer):
    """Newton's method (iteratively reweighted least squares): one factorisation for each step.

    Parameters
    ----------
    max_iter : int, optional
        Largest number of steps, 100 by default. A loss with kinks takes this many for each
        smoothing on its way; parity of responses has steps of its own.
    tol : float, default=1e-10
        Relative decrease of the objective at which to stop.
    warm_start : bool, default=False
        Whether a fit starts from the previous one.
    verbose : bool, default=False
        Whether to print every step.
    device : str, default="cpu"
        Where the kernel matrix and its factors are: "cpu", "cuda" or "cuda:1" for a GPU, or "auto"
        for a GPU if torch sees one.

    See Also
    --------
    LBFGS : Steps that solve no linear system.
    Nystrom : Features of landmarks, for more rows.

    Examples
    --------
    >>> from meanparity import Newton, ParityKernelRegressor
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> model = ParityKernelRegressor(loss="huber", solver=Newton(tol=1e-10))
    >>> model.fit(X, y, sensitive_features=s).solver_
    'newton'
    """

    name = "newton"
    _steps = 100


@stored("LBFGS")
class LBFGS(_Optimizer):
    """L-BFGS: many cheap steps, each of which needs only products with the kernel matrix.

    Parameters
    ----------
    max_iter : int, optional
        Largest number of steps, 5000 by default.
    tol, warm_start, verbose, device
        See `Newton`.

    See Also
    --------
    Newton : Steps that solve a linear system; fewer, and dearer.
    Nystrom : Features of landmarks, for more rows.

    Examples
    --------
    >>> from meanparity import LBFGS, ParityKernelRegressor
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> model = ParityKernelRegressor(loss="huber", solver=LBFGS(max_iter=500))
    >>> model.fit(X, y, sensitive_features=s).solver_
    'lbfgs'
    """

    name = "lbfgs"
    _steps = 5000


class InFeatures(Solver):
    """An optimiser in the features of a solver that approximates, such as `Nystrom`.

    Parameters
    ----------
    approximation : Solver
        It has a `feature_map`, and may have an `optimizer`; by default the one that suits the
        number of features.
    """

    any_loss = True

    def __init__(self, approximation: Any) -> None:
        self.approximation = approximation

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the approximation."""
        return str(self.approximation.name)

    @property
    def _optimizer(self) -> AnyLoss:
        return AnyLoss(getattr(self.approximation, "optimizer", None))

    def _features(self, problem: ConstrainedProblem) -> Any:
        return self.approximation.feature_map(problem.X, problem.kernel, problem.names)

    def solve(self, problem: ConstrainedProblem) -> Solution:
        """The constrained and the free minimiser."""
        if problem.kernel.is_linear:
            return self._optimizer.solve(problem)
        features = self._features(problem)
        inner = in_features(problem, features)
        solution = self._optimizer.solve(inner)
        solution = from_features(solution, problem, features)
        info = replace(
            solution.info,
            solver=self.name,
            reason=f"{solution.info.solver} in {features.width} features",
        )
        return replace(solution, info=info)

    def target_values(self, problem: ConstrainedProblem) -> TargetValues:
        """The least objective for any targets of the functionals."""
        solver = self._optimizer
        if problem.kernel.is_linear:
            return solver.target_values(problem)
        features = self._features(problem)
        inner = solver.target_values(in_features(problem, features))
        return replace(inner, features=features)


class AnyLoss(Solver):
    """An optimiser, which may be a user's own, whose solution is refused if it lacks something.

    Parameters
    ----------
    optimizer : Solver or None
        The optimiser; None for Newton's method, or L-BFGS where the matrix of Newton's method
        would be large.
    """

    any_loss = True

    def __init__(self, optimizer: Any = None) -> None:
        self.optimizer = optimizer

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the optimiser."""
        return "auto" if self.optimizer is None else str(self.optimizer.name)

    def solve(self, problem: ConstrainedProblem) -> Solution:
        """The constrained and the free minimiser."""
        optimizer = _choose_optimizer(problem, self.optimizer)
        solution = optimizer.solve(problem)
        check_solution(solution, optimizer, problem.Y.shape[1])
        needed = {
            "runs": solution.runs,
            "norms": solution.norms,
            "fair.fitted": solution.fair.fitted,
            "free.fitted": solution.free.fitted,
        }
        missing = [name for name, value in needed.items() if value is None]
        if missing:
            raise ValueError(
                f"{type(optimizer).__name__}.solve returned a Solution without "
                f"{' and '.join(missing)}. Estimators of losses other than the squared error "
                "report them: the course of both minimisations, the inner products of both "
                "functions, and their values on the training rows."
            )
        return solution

    def target_values(self, problem: ConstrainedProblem) -> TargetValues:
        """The least objective for any targets of the functionals."""
        optimizer: Any = _choose_optimizer(problem, self.optimizer)
        if not hasattr(optimizer, "target_values"):
            raise ValueError(
                "Budgets of losses other than the squared error need a solver with a method "
                f"target_values, which {type(optimizer).__name__} does not have. Use Newton(), "
                "LBFGS() or Nystrom(), or the dial."
            )
        found: TargetValues = optimizer.target_values(problem)
        return found


def _choose_optimizer(problem: ConstrainedProblem, optimizer: Any) -> Solver:
    """The given optimiser; by default Newton's method, unless its matrix would be large."""
    if isinstance(optimizer, Solver) and optimizer.any_loss:
        return optimizer
    if optimizer is not None:
        raise ValueError(
            f"optimizer={optimizer!r} does not minimise losses other than the squared error. Pass "
            "Newton(), LBFGS() or None. If it is your own solver and minimises problem.loss, say "
            "so in its class: any_loss = True."
        )
    small = problem.X.shape[1] <= 2000 if problem.prefers_columns else len(problem.Y) <= 6000
    return Newton() if small else LBFGS()
