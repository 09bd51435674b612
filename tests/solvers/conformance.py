"""What every solver has to do: a subclass says how to build one, and inherits the whole suite.

A subclass of `SolverConformance` writes `solver(problem)` and says, in class attributes, which
kernels and penalties its solver takes, how exact it is, and which functions it runs. Its answers
are compared with the optimality conditions in 50 digits, and with a naive solution whose conditions
are spelled out row by row.
"""

from __future__ import annotations

import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from meanparity.constraints import CovarianceParity, Functionals, MeanParity, ResidualParity
from meanparity.data.groups import Cells
from meanparity.data.rows import Rows
from meanparity.kernels import Kernel
from meanparity.solvers import Dense
from meanparity.solvers.features import KernelFeatures, LinearFeatures
from meanparity.solvers.problem import ConstrainedProblem, Solver
from meanparity.solvers.solution import Solution
from tests.oracles import conditions, kkt, kkt_kernel, kkt_linear, sensitive_contrasts
from tests.problems import cases

PENALTIES = (1e-10, 1e-6, 1e-4, 1e-2, 1.0, 1e3, 1e8)  # times the mean of the kernel's diagonal
ENDS = ("fair", "free")
FEW = settings(
    max_examples=30,
    # the suite is inherited, and the profile's own suppressions are replaced
    suppress_health_check=[
        HealthCheck.differing_executors,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)


def kernel_for(kind: str, X: np.ndarray) -> Kernel:
    """A kernel whose values are neither all alike nor all zero on these rows."""
    spread = np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1))
    gamma = {"rbf": 1.0 / spread, "laplacian": 0.5 / np.sqrt(spread)}.get(kind)
    if kind == "poly":
        gamma = 1.0 / np.mean(np.sum(X**2, axis=1))
    return Kernel(kind, gamma=gamma, degree=2)


def determined(K: np.ndarray, functionals: Functionals, alpha: float, tolerance: float) -> bool:
    """Whether doubles determine the answer to the tolerance, with two digits to spare.

    The entries of K are rounded. That matters by the condition of K + λI, and by one over the
    size ε of the faintest functional compared with the kernel's own. Parity is tested without this.
    """
    C = functionals.dense()
    sizes = np.linalg.eigvalsh(C.T @ K @ C) / np.mean(np.diag(K))
    seen = sizes[sizes > 1e-15]
    spectrum = np.linalg.eigvalsh(K) + alpha
    condition = spectrum[-1] / spectrum[0]
    return bool(2e-16 * condition / seen.min(initial=1.0) < 1e-2 * tolerance)


def evaluate(solution: Solution, end: str, X: Any) -> np.ndarray:
    """Predictions, as estimators compute them: (n, m)."""
    fit = getattr(solution, end)
    return solution.basis.evaluate(X, fit.coef) + fit.intercept


def squared_norms(problem: ConstrainedProblem, basis: Any, coef: np.ndarray) -> np.ndarray:
    """‖g‖² of functions without their constants, from their coefficients alone: (m,)."""
    if isinstance(basis, LinearFeatures):
        return np.sum(coef**2, axis=0)
    points = problem.X if problem.pool_X is None else np.vstack([problem.X, problem.pool_X])
    points = basis.landmarks if isinstance(basis, KernelFeatures) else points
    return np.sum(coef * basis.evaluate(points, coef), axis=0)


def objective(
    problem: ConstrainedProblem, basis: Any, coef: np.ndarray, intercept: np.ndarray
) -> np.ndarray:
    """Σ u (y − g)² + λ‖g‖², row by row: (m,)."""
    u = np.ones(len(problem.Y)) if problem.weights is None else problem.weights
    errors = problem.Y - basis.evaluate(problem.X, coef) - intercept
    return u @ errors**2 + problem.alpha * squared_norms(problem, basis, coef)


@dataclass(frozen=True)
class Scenario:
    """What a problem has besides rows, targets and groups.

    Parameters
    ----------
    notion : {"groups", "numbers", "covariance", "residuals"}
        What has to hold.
    weighted, light : bool
        Whether rows have weights, and whether some of them are zero.
    pool, strata : bool
        Whether there is a pool, and whether groups are compared within strata.
    """

    notion: str = "groups"
    weighted: bool = False
    light: bool = False
    pool: bool = False
    strata: bool = False


SCENARIOS = {
    "groups": Scenario(),
    "weights": Scenario(weighted=True),
    "rows without weight": Scenario(weighted=True, light=True),
    "pool": Scenario(pool=True),
    "pool and weights": Scenario(pool=True, weighted=True),
    "pool and rows without weight": Scenario(pool=True, weighted=True, light=True),
    "strata": Scenario(strata=True),
    "strata, weights and a pool": Scenario(strata=True, weighted=True, pool=True),
    "groups and numbers": Scenario("numbers"),
    "numbers with weights": Scenario("numbers", weighted=True),
    "covariance": Scenario("covariance"),
    "covariance on a pool": Scenario("covariance", pool=True),
    "residuals": Scenario("residuals"),
    "residuals with weights": Scenario("residuals", weighted=True),
    "residuals in strata": Scenario("residuals", strata=True),
}


@dataclass(frozen=True, eq=False)
class Stated:
    """A problem, and the same conditions spelled out row by row.

    Parameters
    ----------
    problem : ConstrainedProblem
        The problem.
    C : (n + p, q) array
        Weights of the training rows and then of the pool in each condition.
    targets : (q, m) array
        Targets of the conditions.
    X_new : (k, d) array
        Other rows.
    """

    problem: ConstrainedProblem
    C: np.ndarray
    targets: np.ndarray
    X_new: np.ndarray

    def values(self, alpha: float, *, free: bool) -> np.ndarray:
        """Values of a naive solution on the training rows and on the pool: (n + p, m)."""
        problem, C = self.problem, self.C
        points = problem.X if problem.pool_X is None else np.vstack([problem.X, problem.pool_X])
        if problem.kernel.is_linear and problem.fit_intercept:
            points = points - points.mean(axis=0)  # the same functions, and fewer digits lost
        q = 0 if free else C.shape[1]
        return kkt(
            problem.kernel.bind(points).block(points),
            len(problem.Y),
            problem.Y,
            C[:, :q],
            self.targets[:q],
            alpha,
            weights=problem.weights,
            fit_intercept=problem.fit_intercept,
        )


def _columns(rng: np.random.Generator, n: int, scenario: Scenario) -> dict[str, dict[str, list]]:
    """Sensitive columns and maybe control columns of n rows."""
    groups = ["a", "b", "c", "a"]
    sensitive: dict[str, list] = {"group": [groups[i % 4] for i in range(n)]}
    if scenario.notion == "numbers":
        sensitive["age"] = rng.normal(40, 9, n).tolist()
    if scenario.notion == "covariance":
        sensitive = {"band": rng.permutation(np.arange(n) % 5).astype(float).tolist()}
    found = {"sensitive": sensitive}
    if scenario.strata:
        found["control"] = {"grade": ["low" if i % 3 else "high" for i in range(n)]}
    return found


def _stated_rows(
    scenario: Scenario, columns: dict[str, dict[str, list]], weights: Any, y: Any
) -> tuple[Functionals, Cells, np.ndarray]:
    """Functionals and cells of rows, and the conditions spelled out."""
    sensitive, control = columns["sensitive"], columns.get("control")
    rows = Rows.from_columns(
        sensitive,
        control_features=control,
        sample_weight=weights,
        y=y,
        continuous=["age"] if scenario.notion == "numbers" else [],
    )
    kind = {"covariance": CovarianceParity, "residuals": ResidualParity}
    functionals = kind.get(scenario.notion, MeanParity)().functionals(rows)
    numbers = {"numbers": ("age",), "covariance": ("band",)}.get(scenario.notion, ())
    C = conditions(sensitive, control=control, weights=weights, numbers=numbers)
    return functionals, Cells(rows.codes, len(rows.cells), rows.weights), C


def state(
    kind: str,
    scenario: Scenario = SCENARIOS["groups"],
    *,
    n: int = 26,
    alpha: Any = 0.5,
    outputs: int = 1,
    fit_intercept: bool = True,
    seed: int = 0,
) -> Stated:
    """A problem with three unlike groups of n rows in all, and its conditions row by row."""
    rng = np.random.default_rng(seed)
    p = 17 if scenario.pool else 0
    columns = _columns(rng, n, scenario)
    at = np.resize([0.0, 1.0, -0.5], n)
    X = rng.standard_normal((n, 4)) + at[:, None]
    Y = np.sin(X @ rng.standard_normal((4, outputs))) + 2 * at[:, None] + rng.normal(size=(n, 1))
    weights = rng.uniform(0.2, 3.0, n) if scenario.weighted else None
    if scenario.light:
        weights[2::5] = 0.0
    targets_of = Y if scenario.notion == "residuals" else None
    functionals, cells, C = _stated_rows(scenario, columns, weights, targets_of)
    targets = np.zeros((C.shape[1], outputs))
    if targets_of is not None:
        targets = C.T @ Y
    problem = ConstrainedProblem(
        X,
        Y,
        np.broadcast_to(np.asarray(alpha, dtype=float), (outputs,)).copy(),
        functionals,
        fit_intercept,
        kernel_for(kind, X),
        weights,
        cells=cells,
    )
    if scenario.pool:
        pool_X = rng.standard_normal((p, 4)) + 0.3
        heavy = rng.uniform(0.5, 2.0, p) if scenario.weighted else None
        there = _stated_rows(scenario, _columns(rng, p, scenario), heavy, None)
        problem = replace(problem, pool_X=pool_X, pool=there[0], pool_cells=there[1])
        below = np.zeros((n, there[2].shape[1]))
        C = np.block([[C, below], [np.zeros((p, C.shape[1])), there[2]]])
        targets = np.zeros((C.shape[1], outputs))
    return Stated(problem, C, targets, rng.standard_normal((9, 4)))


def take_rows(problem: ConstrainedProblem, rows: Any, codes: Any, weights: Any = None) -> Any:
    """The problem on a choice of its rows, whose groups are `codes` of all rows."""
    w = None if weights is None else np.asarray(weights, dtype=float)[rows]
    found = Rows.from_columns(np.asarray(codes)[rows], sample_weight=w, continuous=[])
    return replace(
        problem,
        X=problem.X[rows],
        Y=problem.Y[rows],
        weights=w,
        functionals=MeanParity().functionals(found),
        cells=Cells(found.codes, len(found.cells), found.weights),
    )


def plain_problem(n: int, d: int, kernel: Kernel, alpha: float = 1.0) -> ConstrainedProblem:
    """Two groups of n random rows in d columns, with an intercept."""
    rng = np.random.default_rng(0)
    X, codes = rng.standard_normal((n, d)), np.arange(n) % 2
    functionals = MeanParity().functionals(Rows.from_columns(codes))
    y = (X[:, 0] + codes)[:, None]
    return ConstrainedProblem(X, y, np.array([alpha]), functionals, True, kernel)


class SolverConformance(ABC):
    """The suite for all solvers.

    Attributes
    ----------
    kernels : tuple of str
        Kernels that the solver takes; the first one serves where one is enough.
    penalties : tuple of float
        Penalties that it takes, relative to the mean of the kernel's diagonal.
    parity_penalties : tuple of float
        Penalties for which parity holds to the last digits, whatever the rows.
    digits : float
        How exact its answers are, relative to the largest target.
    single_digits : float
        The same for rows in single precision.
    always_determined : bool
        Whether it is as exact where the kernel matrix is close to singular.
    precomputed_message : str
        What it says about kernel values instead of rows; empty if it takes them.
    info_name, info_reason : str
        What it says about itself; the reason is a part of the sentence.
    runs, never_runs : tuples of str
        Functions of the package that it calls, and that it must not call, by their address.
    """

    kernels: ClassVar[tuple[str, ...]] = ("rbf", "linear", "poly", "laplacian")
    penalties: ClassVar[tuple[float, ...]] = PENALTIES
    parity_penalties: ClassVar[tuple[float, ...]] = (1e-4, 1e-2, 1.0, 1e3, 1e8)
    digits: ClassVar[float] = 1e-9
    single_digits: ClassVar[float] = 1e-9
    always_determined: ClassVar[bool] = False
    precomputed_message: ClassVar[str] = ""
    info_name: ClassVar[str]
    info_reason: ClassVar[str] = "asked for"
    runs: ClassVar[tuple[str, ...]]
    never_runs: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def solver(self, problem: ConstrainedProblem) -> Solver:
        """A solver for this problem."""

    def is_exact_for(self, K: np.ndarray) -> bool:
        """Whether the solver is meant to be exact for this kernel matrix, if doubles are."""
        return True

    def matrix_bytes(self, problem: ConstrainedProblem) -> int:
        """The size of the largest matrix that the solver stores for this problem."""
        return 8 * len(problem.Y) ** 2

    def solve(self, problem: ConstrainedProblem) -> Solution:
        return self.solver(problem).solve(problem)

    def check_close(self, found: np.ndarray, expected: np.ndarray, scale: float) -> None:
        assert found.shape == expected.shape
        assert np.abs(found - expected).max(initial=0.0) <= self.digits * scale

    def check_same_function(
        self, one: Solution, other: Solution, problem: ConstrainedProblem, X: np.ndarray
    ) -> None:
        """Both ends of two solutions are the same functions."""
        for end in ENDS:
            found, expected = evaluate(one, end, X), evaluate(other, end, X)
            self.check_close(found, expected, np.abs(problem.Y).max())

    # --- exactness ---------------------------------------------------------------------------

    @FEW
    @given(data=st.data(), case=cases(max_rows=14), fit_intercept=st.booleans())
    def test_both_minimisers_meet_the_optimality_conditions(self, data, case, fit_intercept):
        """Hostile rows, compared with 50 digits, at training rows and at new ones."""
        kind = data.draw(st.sampled_from(self.kernels), label="kernel")
        penalty = data.draw(st.sampled_from(self.penalties), label="penalty")
        kernel, rows = kernel_for(kind, case.X), np.vstack([case.X, case.X_new])
        bound = kernel.bind(case.X)
        K = bound.block(case.X)
        alpha, functionals = penalty * np.mean(np.diag(K)), MeanParity().functionals(case.rows)
        assume(self.always_determined or determined(K, functionals, alpha, 10 * self.digits))
        assume(self.is_exact_for(K))
        problem = ConstrainedProblem(
            case.X, case.y[:, None], np.array([alpha]), functionals, fit_intercept, kernel
        )
        solution, C = self.solve(problem), sensitive_contrasts(case.codes)
        for end, contrasts in (("fair", C), ("free", C[:, :0])):
            if kind == "linear":
                c, b = kkt_linear(case.X, case.y, contrasts, alpha, fit_intercept=fit_intercept)
                expected = rows @ c + b
            else:
                c, b = kkt_kernel(K, case.y, contrasts, alpha, fit_intercept=fit_intercept)
                expected = bound.block(rows) @ c + b
            found = evaluate(solution, end, rows)[:, 0]
            assert np.abs(found - expected).max() <= 10 * self.digits * case.scale

    @pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "intercept"])
    @pytest.mark.parametrize("name", SCENARIOS)
    def test_every_kind_of_problem(self, name, fit_intercept):
        """Conditions row by row and one dense system, for every kernel."""
        for kind in self.kernels:
            stated = state(kind, SCENARIOS[name], fit_intercept=fit_intercept)
            problem, n = stated.problem, len(stated.problem.Y)
            solution, scale = self.solve(problem), np.abs(stated.problem.Y).max()
            for end in ENDS:
                expected = stated.values(0.5, free=end == "free")
                self.check_close(evaluate(solution, end, problem.X), expected[:n], scale)
                if problem.pool_X is not None:
                    self.check_close(evaluate(solution, end, problem.pool_X), expected[n:], scale)
            self.check_consistent(problem, solution)

    def check_consistent(self, problem: ConstrainedProblem, solution: Solution) -> None:
        """Everything that a solution says about itself follows from its two functions."""
        n, m = problem.Y.shape
        u = np.ones(n) if problem.weights is None else problem.weights
        shares, scale = u / u.sum(), np.abs(problem.Y).max()
        close = {"rtol": 0, "atol": 1e-11 * scale}
        errors = []
        for i, end in enumerate(ENDS):
            fit = getattr(solution, end)
            here, there = evaluate(solution, end, problem.X), np.zeros((0, m))
            if problem.pool_X is not None:
                there = evaluate(solution, end, problem.pool_X)
            errors.append(here - problem.Y)
            if fit.fitted is not None:
                assert np.allclose(fit.fitted, here, **close)
                assert np.allclose(fit.pool, there, **close)
            for cells, means, values in (
                (problem.cells, fit.cell_means, here),
                (problem.pool_cells, fit.pool_cell_means, there),
            ):
                if cells is None:
                    assert means.shape == (0, m)
                    continue
                w = np.ones(len(values)) if cells.weights is None else cells.weights
                for cell in range(cells.count):
                    inside = cells.codes == cell
                    mean = np.average(values[inside], axis=0, weights=w[inside])
                    assert np.allclose(means[cell], mean, **close)
            assert np.allclose(solution.gaps[i], problem.gaps(here, there), **close)
            expected = objective(problem, solution.basis, fit.coef, fit.intercept)
            assert np.allclose(fit.objective, expected, rtol=1e-10, atol=0)
        for i in range(2):
            for j in range(2):
                products = shares @ (errors[i] * errors[j])
                assert np.allclose(solution.errors[i, j], products, rtol=1e-10, atol=1e-10)
        variance = shares @ (problem.Y - shares @ problem.Y) ** 2
        assert np.allclose(solution.variance, variance, rtol=1e-12, atol=0)
        assert solution.info.residual == np.abs(solution.gaps[0]).max(initial=0.0)
        assert solution.rounding <= 1e-10 * scale
        assert solution.fair.objective >= solution.free.objective * (1 - 1e-12)

    @FEW
    @given(
        data=st.data(),
        case=cases(),
        constraint=st.sampled_from(
            [MeanParity(), CovarianceParity("rbf"), CovarianceParity("poly", degree=2)]
        ),
    )
    def test_parity_is_exact(self, data, case, constraint):
        """However ill conditioned: gaps of predictions are rounding."""
        kind = data.draw(st.sampled_from(self.kernels), label="kernel")
        penalty = data.draw(st.sampled_from(self.parity_penalties), label="penalty")
        kernel, functionals = kernel_for(kind, case.X), constraint.functionals(case.rows)
        alpha = np.array([penalty * np.mean(kernel.bind(case.X).diagonal(case.X))])
        problem = ConstrainedProblem(case.X, case.y[:, None], alpha, functionals, False, kernel)
        solution = self.solve(problem)
        gaps = functionals.gaps(evaluate(solution, "fair", case.X))
        assert np.abs(gaps).max() <= 1e-10 * case.y.std()
        assert np.abs(solution.gaps[0]).max() <= 1e-10 * case.y.std()

    @FEW
    @given(data=st.data(), case=cases(), fit_intercept=st.booleans())
    def test_targets_are_met(self, data, case, fit_intercept):
        """Any share of the gaps of the free minimiser; with all of them it is the minimiser."""
        kind = data.draw(st.sampled_from(self.kernels), label="kernel")
        penalty = data.draw(st.sampled_from([p for p in self.penalties if 1e-4 <= p <= 1e3]))
        kernel, base = kernel_for(kind, case.X), MeanParity().functionals(case.rows)
        alpha = np.array([penalty * np.mean(kernel.bind(case.X).diagonal(case.X))])
        problem = ConstrainedProblem(
            case.X, case.y[:, None], alpha, base, fit_intercept, kernel, cells=None
        )
        free = evaluate(self.solve(problem), "free", case.X)
        reachable = base.apply(free)
        for share in (0.5, 1.0):
            functionals = replace(base, targets=share * reachable)
            solution = self.solve(replace(problem, functionals=functionals))
            fair = evaluate(solution, "fair", case.X)
            left = np.abs(base.apply(fair) - share * reachable).max()
            assert left <= 1e-10 * case.scale * np.sqrt(len(case.y))
        assert np.abs(fair - free).max() <= 10 * self.digits * case.scale

    # --- equivalent problems -----------------------------------------------------------------

    @pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "intercept"])
    def test_whole_weights_are_repeated_rows(self, fit_intercept):
        for kind in self.kernels:
            stated = state(kind, fit_intercept=fit_intercept)
            n = len(stated.problem.Y)
            codes, weights = np.arange(n) % 3, np.resize([1.0, 3.0, 2.0, 0.0, 1.0], n)
            weighted = take_rows(stated.problem, np.arange(n), codes, weights)
            repeated = take_rows(
                stated.problem, np.repeat(np.arange(n), weights.astype(int)), codes
            )
            solutions = self.solve(weighted), self.solve(repeated)
            self.check_same_function(*solutions, weighted, stated.X_new)
            for end in ENDS:
                one, other = (getattr(solution, end).objective for solution in solutions)
                assert np.allclose(one, other, rtol=100 * self.digits, atol=0)

    @pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "intercept"])
    def test_rows_without_weight_are_absent(self, fit_intercept):
        for kind in self.kernels:
            stated = state(kind, fit_intercept=fit_intercept)
            n = len(stated.problem.Y)
            codes, weights = np.arange(n) % 3, np.resize([1.5, 0.0, 0.3, 2.0], n)
            whole = take_rows(stated.problem, np.arange(n), codes, weights)
            part = take_rows(stated.problem, np.flatnonzero(weights), codes, weights)
            self.check_same_function(self.solve(whole), self.solve(part), whole, stated.X_new)

    def test_the_order_of_rows_and_the_names_of_groups_change_nothing(self):
        for kind in self.kernels:
            stated = state(kind)
            n, problem = len(stated.problem.Y), stated.problem
            codes, order = np.arange(n) % 3, np.random.default_rng(1).permutation(n)
            first = self.solve(take_rows(problem, np.arange(n), codes))
            permuted = self.solve(take_rows(problem, order, codes))
            named = self.solve(take_rows(problem, np.arange(n), np.array(["z", "x", "y"])[codes]))
            for other in (permuted, named):
                self.check_same_function(first, other, problem, stated.X_new)
                assert np.abs(other.gaps[0]).max() <= 1e-12 * np.abs(problem.Y).max()

    def test_features_of_other_types(self):
        """Sparse rows, and rows in single precision, are the same rows."""
        for kind in self.kernels:
            stated = state(kind, SCENARIOS["pool"])
            X, pool_X = (
                part.astype(np.float32).astype(float)
                for part in (stated.problem.X, stated.problem.pool_X)
            )
            problem = replace(stated.problem, X=X, pool_X=pool_X)
            exact = self.solve(problem)
            if kind != "laplacian":  # of which scikit-learn has no sparse version for two sets
                scattered = replace(problem, X=sparse.csr_array(X), pool_X=sparse.csr_array(pool_X))
                found = self.solver(problem).solve(scattered)
                self.check_same_function(found, exact, problem, stated.X_new)
            single = replace(problem, X=X.astype(np.float32), pool_X=pool_X.astype(np.float32))
            found = self.solve(single)
            for end in ENDS:
                expected = evaluate(exact, end, stated.X_new)
                left = np.abs(evaluate(found, end, stated.X_new) - expected).max()
                assert left <= self.single_digits * np.abs(problem.Y).max()
            gaps = problem.gaps(
                evaluate(found, "fair", problem.X), evaluate(found, "fair", problem.pool_X)
            )
            assert np.abs(gaps).max() <= 1e-10 * np.abs(problem.Y).max()

    @pytest.mark.parametrize("name", ["weights", "pool and weights"])
    def test_kernel_values_instead_of_rows(self, name):
        stated = state("rbf", SCENARIOS[name])
        n, problem = len(stated.problem.Y), stated.problem
        points = problem.X if problem.pool_X is None else np.vstack([problem.X, problem.pool_X])
        bound = problem.kernel.bind(points)
        K = bound.block(points)
        values = replace(
            problem,
            X=K[:n, :n],
            pool_X=None if problem.pool_X is None else K[n:],
            kernel=Kernel("precomputed"),
        )
        if self.precomputed_message:
            with pytest.raises(ValueError, match=self.precomputed_message):
                self.solve(values)
            return
        found, exact = self.solve(values), Dense().solve(problem)
        for end in ENDS:
            self.check_close(
                evaluate(found, end, bound.block(stated.X_new)),
                evaluate(exact, end, stated.X_new),
                np.abs(problem.Y).max(),
            )
        assert np.abs(found.gaps[0]).max() <= 1e-12 * np.abs(problem.Y).max()

    def test_without_conditions_both_ends_are_one(self):
        for kind in self.kernels:
            stated = state(kind)
            problem = replace(stated.problem, functionals=Functionals.none(len(stated.problem.Y)))
            solution = self.solve(problem)
            fair, free = (evaluate(solution, end, stated.X_new) for end in ENDS)
            self.check_close(fair, free, np.abs(problem.Y).max())
            expected = self.solve(stated.problem)
            self.check_close(
                free, evaluate(expected, "free", stated.X_new), np.abs(problem.Y).max()
            )
            assert solution.gaps.shape == (2, 0, 1)
            assert solution.info.residual == 0.0

    # --- what a caller relies on -------------------------------------------------------------

    def test_the_same_bits_twice(self):
        for kind in self.kernels:
            stated = state(kind, SCENARIOS["strata, weights and a pool"])
            one, other = (self.solve(stated.problem) for _ in range(2))
            for end in ENDS:
                first, second = getattr(one, end), getattr(other, end)
                assert np.array_equal(first.coef, second.coef)
                assert np.array_equal(first.intercept, second.intercept)
                assert np.array_equal(first.objective, second.objective)
            assert np.array_equal(one.gaps, other.gaps)

    def test_the_problem_is_not_modified(self):
        for kind in self.kernels:
            problem = state(kind, SCENARIOS["strata, weights and a pool"]).problem
            arrays = [problem.X, problem.Y, problem.alpha, problem.weights, problem.pool_X]
            before = [array.copy() for array in arrays]
            for array in arrays:
                array.setflags(write=False)
            solution = self.solve(problem)
            for array, copy in zip(arrays, before, strict=True):
                assert np.array_equal(array, copy)
            assert np.isfinite(solution.fair.coef).all()

    def test_what_the_solver_says_about_itself(self):
        problem = state(self.kernels[0]).problem
        info = self.solve(problem).info
        assert info.solver == self.info_name
        assert self.info_reason in info.reason
        assert info.seconds > 0
        assert info.matrix_bytes == self.matrix_bytes(problem)
        assert 0 <= info.residual <= 1e-12 * np.abs(problem.Y).max()

    def test_which_way_is_taken(self, monkeypatch):
        called = []

        def watch(address: str) -> None:
            original: Callable[..., Any] = pkgutil.resolve_name(address)

            def watched(*args: Any, **kwargs: Any) -> Any:
                called.append(address)
                return original(*args, **kwargs)

            monkeypatch.setattr(address, watched)

        for address in (*self.runs, *self.never_runs):
            watch(address)
        self.solve(state(self.kernels[0], SCENARIOS["weights"]).problem)
        assert set(called) == set(self.runs)

    # --- what is refused ---------------------------------------------------------------------

    @pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
    @pytest.mark.parametrize("size", [1e200, 1e154])
    @pytest.mark.parametrize("groups", [2, 6])
    def test_infinite_kernel_values_are_refused(self, groups, size):
        """However many conditions look at them first."""
        for kind in set(self.kernels) & {"linear", "poly"}:
            problem = state(kind).problem
            problem = take_rows(problem, np.arange(26), np.arange(26) % groups)
            problem = replace(problem, X=size * problem.X, kernel=Kernel(kind, gamma=1.0))
            with pytest.raises(ValueError, match="infinite") as caught:
                self.solve(problem)
            assert "Scale the features" in str(caught.value)

    @pytest.mark.parametrize("groups", [2, 6])
    def test_undefined_kernel_values_are_refused(self, groups):
        """Of one pair of rows, neither of which is among those that are tried first."""
        problem = take_rows(state("rbf").problem, np.arange(26), np.arange(26) % groups)
        pair = {problem.X[20].tobytes(), problem.X[21].tobytes()}

        def kernel(a: np.ndarray, b: np.ndarray) -> float:
            return (
                np.nan if {a.tobytes(), b.tobytes()} == pair else float(np.exp(-(a - b) @ (a - b)))
            )

        with pytest.raises(ValueError, match=self.undefined_message):
            self.solve(replace(problem, kernel=Kernel(kernel)))

    undefined_message: ClassVar[str] = "infinite or undefined values"
    too_large: ClassVar[str] = r"The kernel matrix of 1,500 rows needs 17\.17 MiB"

    def large_problem(self) -> ConstrainedProblem:
        """A problem for which the solver needs more than the 16 MiB that always fit."""
        return plain_problem(1500, 2, Kernel("rbf"))

    # where free bytes are looked up
    memories: ClassVar[tuple[str, ...]] = ("meanparity.linalg.memory.available_bytes",)

    def test_too_little_memory_is_refused(self, monkeypatch):
        problem = self.large_problem()
        for place in self.memories:
            monkeypatch.setattr(place, lambda *_: 2**20)
        with pytest.raises(MemoryError, match=self.too_large) as caught:
            self.solve(problem)
        assert "but only 1.00 MiB are free. " in str(caught.value)


class RidgeConformance(SolverConformance):
    """The suite for solvers of the squared error, which have several outputs and directions."""

    @pytest.mark.parametrize("name", ["weights", "pool", "residuals"])
    @pytest.mark.parametrize("alpha", [0.5, (0.5, 0.1, 0.5, 20.0)], ids=["one", "several"])
    def test_outputs_are_solved_as_if_alone(self, name, alpha):
        for kind in self.kernels:
            stated = state(kind, SCENARIOS[name], outputs=4, alpha=alpha)
            problem, together = stated.problem, self.solve(stated.problem)
            self.check_consistent_outputs(stated, together)
            for j in range(4):
                alone = self.solve(problem.take_outputs(np.arange(4) == j))
                for end in ENDS:
                    both, one = getattr(together, end), getattr(alone, end)
                    self.check_close(
                        evaluate(together, end, stated.X_new)[:, [j]],
                        evaluate(alone, end, stated.X_new),
                        np.abs(problem.Y).max(),
                    )
                    assert np.allclose(both.objective[j], one.objective, rtol=1e-9, atol=0)

    def check_consistent_outputs(self, stated: Stated, solution: Solution) -> None:
        problem, scale = stated.problem, np.abs(stated.problem.Y).max()
        for j, alpha in enumerate(problem.alpha):
            for end in ENDS:
                expected = stated.values(alpha, free=end == "free")[: len(problem.Y), [j]]
                found = evaluate(solution, end, problem.X)[:, [j]]
                self.check_close(found, expected, scale)
        for i, end in enumerate(ENDS):
            fit = getattr(solution, end)
            expected = objective(problem, solution.basis, fit.coef, fit.intercept)
            assert np.allclose(fit.objective, expected, rtol=1e-10, atol=0)
            values = [
                evaluate(solution, end, X) for X in (problem.X, problem.pool_X) if X is not None
            ]
            gaps = problem.gaps(values[0], values[-1])
            assert np.allclose(solution.gaps[i], gaps, rtol=0, atol=1e-11 * scale)

    @pytest.mark.parametrize("alpha", [0.5, (0.5, 0.1)], ids=["one", "several"])
    @pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "intercept"])
    @pytest.mark.parametrize("name", SCENARIOS)
    def test_directions(self, name, fit_intercept, alpha):
        """Excess objective νᵀMν and gaps of the free minimiser less Nν, for the end and any ν."""
        for kind in self.kernels:
            stated = state(
                kind, SCENARIOS[name], outputs=2, alpha=alpha, fit_intercept=fit_intercept
            )
            self.check_directions(stated.problem, self.solve(stated.problem))

    def check_directions(self, problem: ConstrainedProblem, solution: Solution) -> None:
        """Both ends and any function between are where the directions say."""
        found, free, basis = solution.directions, solution.free, solution.basis
        assert found is not None
        (r, m), scale = found.multipliers.shape, np.abs(problem.Y).max()
        assert np.array_equal(np.unique(problem.alpha)[found.penalty], problem.alpha)
        random = np.random.default_rng(0).standard_normal((r, m))
        for nu in (found.multipliers, random, np.zeros((r, m))):
            coef, intercept = free.coef.copy(), free.intercept.copy()
            excess, gaps = np.empty(m), np.empty_like(solution.gaps[1])
            for j, which in enumerate(found.penalty):
                coef[:, j] -= found.coef[which] @ nu[:, j]
                intercept[j] -= found.intercept[which] @ nu[:, j]
                excess[j] = nu[:, j] @ found.gram[which] @ nu[:, j]
                gaps[:, j] = solution.gaps[1][:, j] - found.gaps[which] @ nu[:, j]
            reached = objective(problem, basis, coef, intercept)
            size = np.sum(problem.Y**2, axis=0) + np.abs(reached)
            assert np.all(np.abs(reached - free.objective - excess) <= self.digits * size)
            values, there = basis.evaluate(problem.X, coef) + intercept, np.zeros((0, m))
            if problem.pool_X is not None:
                there = basis.evaluate(problem.pool_X, coef) + intercept
            largest = max(scale, np.abs(values).max())
            assert np.abs(problem.gaps(values, there) - gaps).max() <= self.digits * largest
            if nu is found.multipliers:
                self.check_close(values, evaluate(solution, "fair", problem.X), scale)
                assert np.abs(gaps).max() <= self.digits * scale
        for M in found.gram:
            assert np.allclose(M, M.T, rtol=0, atol=1e-10 * np.abs(M).max())
            assert np.linalg.eigvalsh((M + M.T) / 2).min() >= -1e-10 * np.abs(M).max()

    @FEW
    @given(data=st.data(), case=cases(), fit_intercept=st.booleans())
    def test_the_constrained_minimiser_is_reached_along_directions(self, data, case, fit_intercept):
        """On hostile problems: the multipliers are the derivatives of the objective in targets."""
        kind = data.draw(st.sampled_from(self.kernels), label="kernel")
        penalty = data.draw(st.sampled_from([p for p in self.penalties if 1e-2 <= p <= 1e3]))
        kernel, base = kernel_for(kind, case.X), MeanParity().functionals(case.rows)
        alpha = np.array([penalty * np.mean(kernel.bind(case.X).diagonal(case.X))])
        problem = ConstrainedProblem(case.X, case.y[:, None], alpha, base, fit_intercept, kernel)
        solution = self.solve(problem)
        found, fair, free = solution.directions, solution.fair, solution.free
        assert found is not None
        nu = found.multipliers[:, 0]
        excess = float(nu @ found.gram[0] @ nu)
        assert fair.objective[0] - free.objective[0] == pytest.approx(
            excess, rel=1e-6, abs=1e-9 * free.objective[0]
        )
        left = solution.gaps[1][:, 0] - found.gaps[0] @ nu
        assert np.abs(left).max() <= 10 * self.digits * case.scale


class LossConformance(SolverConformance):
    """The suite for solvers of any loss, which take steps and have a single output."""

    def test_several_outputs_are_refused(self):
        problem = state(self.kernels[0], outputs=2).problem
        with pytest.raises(ValueError, match=r"one output, but Y has 2\. Solve for each"):
            self.solve(problem)

    @pytest.mark.parametrize("name", ["weights", "pool"])
    def test_steps_are_recorded(self, name):
        for kind in self.kernels:
            problem = state(kind, SCENARIOS[name]).problem
            solution = self.solve(problem)
            assert solution.directions is None
            assert solution.runs is not None
            for run, end, gaps in zip(solution.runs, ENDS, solution.gaps, strict=True):
                assert run.converged
                assert len(run.loss) == len(run.gap) == run.n_iter + 1 > 1
                assert (np.diff(run.loss) <= 1e-12 * run.loss[0]).all(), "no step goes up"
                reached = getattr(solution, end).objective[0]
                assert run.loss[-1] == pytest.approx(reached, rel=1e-10)
                here = np.abs(gaps[: len(problem.functionals.labels)]).sum()
                assert run.gap[-1] == pytest.approx(here, abs=1e-7)
            fits = solution.fair, solution.free
            norms = [squared_norms(problem, solution.basis, fit.coef)[0] for fit in fits]
            assert np.allclose(np.diag(solution.norms), norms, rtol=1e-9, atol=0)
            assert np.allclose(solution.norms, solution.norms.T, rtol=1e-9, atol=0)

    def test_an_earlier_solution_saves_steps(self):
        for kind in self.kernels:
            stated = state(kind, SCENARIOS["weights"])
            first = self.solve(stated.problem)
            again = self.solve(replace(stated.problem, earlier=first))
            self.check_same_function(first, again, stated.problem, stated.X_new)
            assert sum(run.n_iter for run in again.runs) <= sum(run.n_iter for run in first.runs)

    def test_too_few_steps_are_told(self):
        problem = state("rbf").problem
        short = self.solver(problem)
        getattr(short, "approximation", short).set_params(**self.one_step)
        solution = short.solve(problem)
        assert [run.n_iter for run in solution.runs] == [1, 1]
        assert np.abs(solution.gaps[0]).max() <= 1e-12 * np.abs(problem.Y).max()

    one_step: ClassVar[dict[str, Any]] = {"max_iter": 1}
