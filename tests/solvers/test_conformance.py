"""Every solver passes the suite of tests/solvers/conformance.py."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse

from meanparity import ParityWarning
from meanparity.kernels import Kernel
from meanparity.linalg.blas import NotPositiveDefiniteError
from meanparity.solvers import (
    LBFGS,
    ConjugateGradient,
    Dense,
    Newton,
    Nystrom,
    Primal,
    Spectral,
    choose,
    primal,
)
from meanparity.solvers.any_loss import InFeatures
from meanparity.solvers.choose import Auto
from tests.solvers import conformance
from tests.solvers.conformance import (
    SCENARIOS,
    LossConformance,
    RidgeConformance,
    SolverConformance,
    evaluate,
    plain_problem,
    state,
)
from tests.test_suite import Module

SYMMETRIC = "meanparity.linalg.symmetric.SymmetricMatrix"
ALLOCATE, CHOLESKY, EIGEN = (f"{SYMMETRIC}.{name}" for name in ("allocate", "cholesky", "eigen"))
FROM_SUMS = "meanparity.solvers.nystrom.solve_sums"
BY_SUMS, BY_ROTATIONS = (f"meanparity.solvers.primal.{n}" for n in ("_from_sums", "_orthogonal"))
SPACE = "meanparity.solvers.spaces.KernelFunctions"
NEWTON, GRADIENTS = f"{SPACE}.newton", f"{SPACE}.conditioner"
REFINED = "meanparity.linalg.refinement.Refined.solve"
STEPS = "meanparity.solvers.conjugate_gradient._Steps.solve"


class TestDense(RidgeConformance):
    info_name = "dense"
    runs = (ALLOCATE, CHOLESKY)
    never_runs = (EIGEN, STEPS, FROM_SUMS)

    def solver(self, problem):
        return Dense()

    @pytest.mark.parametrize(("kind", "alpha"), [("linear", 0.0), ("sigmoid", 0.1)])
    def test_singular_and_indefinite_matrices_are_refused(self, kind, alpha):
        problem = plain_problem(40, 3, Kernel(kind), alpha)
        message = rf"cannot factor K \+ alpha·I with alpha={alpha:g}: .* or solver='spectral'"
        with pytest.raises(NotPositiveDefiniteError, match=message):
            self.solve(problem)


class TestMixedDense(TestDense):
    runs = (ALLOCATE, CHOLESKY, REFINED)

    def solver(self, problem):
        return Dense(precision="mixed")

    def test_an_unknown_precision_is_refused(self):
        with pytest.raises(
            ValueError, match=r"precision='float16' is not known\. Pass 'float64' o"
        ):
            Dense(precision="float16").solve(plain_problem(40, 3, Kernel("rbf")))


class TestSpectral(RidgeConformance):
    parity_penalties = (0.0, *RidgeConformance.parity_penalties)
    info_name = "spectral"
    runs = (ALLOCATE, EIGEN)
    never_runs = (CHOLESKY, STEPS, FROM_SUMS)

    def solver(self, problem):
        return Spectral()

    @pytest.mark.parametrize("name", ["groups", "weights", "strata", "residuals"])
    def test_directions_without_a_penalty(self, name):
        problem = state("laplacian", SCENARIOS[name], outputs=2, alpha=0.0).problem
        self.check_directions(problem, self.solve(problem))

    def test_without_a_penalty_a_pool_costs_nothing(self):
        """Functions that are zero on all training rows take any gap off, so nothing is traded."""
        problem = state("laplacian", SCENARIOS["pool"], alpha=0.0).problem
        solution = self.solve(problem)
        assert solution.directions is None
        assert np.abs(solution.gaps[0]).max() <= 1e-12 * np.abs(problem.Y).max()
        assert evaluate(solution, "free", problem.X) == pytest.approx(problem.Y, abs=1e-9)


class TestPrimal(RidgeConformance):
    kernels = ("linear",)
    penalties = (0.0, 1e-9, *RidgeConformance.penalties)
    parity_penalties = (0.0, *RidgeConformance.parity_penalties)
    always_determined = True
    precomputed_message = undefined_message = "only the kernel 'linear' has"
    info_name = "primal"
    runs = (BY_SUMS, CHOLESKY)
    never_runs = (ALLOCATE, EIGEN, STEPS, FROM_SUMS, BY_ROTATIONS)
    too_large = r"Solving for 900 columns needs 18\.54 MiB"

    def solver(self, problem):
        return Primal()

    def matrix_bytes(self, problem):
        return 8 * problem.X.shape[1] ** 2

    def large_problem(self):
        return plain_problem(1000, 900, Kernel("linear"))

    @pytest.mark.parametrize("name", ["weights", "pool", "strata", "residuals"])
    def test_directions_without_a_penalty(self, name):
        problem = state("linear", SCENARIOS[name], outputs=2, alpha=0.0).problem
        self.check_directions(problem, self.solve(problem))

    def test_columns_that_depend_on_each_other_are_rotated(self, monkeypatch):
        """The normal equations would square the condition number."""
        called = []
        original = primal._orthogonal
        monkeypatch.setattr(BY_ROTATIONS, lambda p: called.append(p) or original(p))
        problem = plain_problem(40, 3, Kernel("linear"), 1e-9)
        X = np.column_stack([problem.X, problem.X[:, 0] + 1e-7 * problem.X[:, 1]])
        solution = self.solve(replace(problem, X=X))
        assert len(called) == 1
        assert solution.info.residual <= 1e-12


class TestNystrom(RidgeConformance):
    penalties = (1e-4, 1e-2, 1.0, 1e3, 1e8)  # normal equations square the condition number
    single_digits = 1e-5  # features of rows in single precision are in single precision, too
    precomputed_message = "does not allow"
    info_name = "nystrom"
    info_reason = "sums over 26 rows of a kernel at 26 landmarks, asked for"
    runs = (FROM_SUMS, CHOLESKY)
    never_runs = (ALLOCATE, EIGEN, STEPS)
    too_large = r"A kernel at 1,500 landmarks needs 68\.66 MiB"

    def solver(self, problem):
        return Nystrom(landmarks=all_points(problem))

    def is_exact_for(self, K):
        return no_faint_landmark(K)

    def test_infinite_kernel_values_of_chosen_landmarks_are_refused(self):
        problem = plain_problem(40, 3, Kernel("poly"))
        problem = replace(problem, X=1e200 * problem.X)
        for how in ("rpcholesky", "uniform"):
            with pytest.raises(ValueError, match=r"infinite or undefined values\. Scale the"):
                Nystrom(10, landmarks=how).solve(problem)

    def test_fewer_landmarks_are_further_away_and_hold_parity(self):
        problem = replace(plain_problem(200, 3, Kernel("rbf")), fit_intercept=True)
        exact, errors = Dense().solve(problem), []
        for count in (5, 40, 200):
            solution = Nystrom(count).solve(problem)
            assert solution.info.reason == f"sums over 200 rows of {solution.basis}, asked for"
            assert solution.info.matrix_bytes == 8 * solution.basis.width**2
            assert solution.info.residual <= 1e-12
            fitted = evaluate(solution, "fair", problem.X)
            assert np.abs(problem.functionals.gaps(fitted)).max() <= 1e-12
            errors.append(np.abs(fitted - exact.fair.fitted).max())
        assert errors[0] > 10 * errors[1] > 1e-3 * errors[1] > errors[2]


class TestConjugateGradient(RidgeConformance):
    penalties = (1e-2, 1.0, 1e3)
    parity_penalties = (1e-2, 1.0, 1e3)
    info_name = "conjugate_gradient"
    runs = (STEPS,)
    never_runs = (ALLOCATE, CHOLESKY, EIGEN, FROM_SUMS)
    too_large = r"A preconditioner of rank 226 needs 16\.55 MiB"

    def solver(self, problem):
        return ConjugateGradient()

    def large_problem(self):
        return plain_problem(3200, 2, Kernel("rbf"))

    def test_without_a_penalty_there_are_no_steps(self):
        with pytest.raises(ValueError, match=r"needs a positive alpha\. Pass one, or solver='sp"):
            self.solve(plain_problem(40, 3, Kernel("rbf"), 0.0))


class TestAuto(RidgeConformance):
    parity_penalties = (0.0, *RidgeConformance.parity_penalties)
    info_name = "dense"
    info_reason = "alpha > 0 on 26 rows: one Cholesky factorisation"
    runs = (ALLOCATE, CHOLESKY)
    never_runs = (EIGEN, STEPS, FROM_SUMS)
    too_large = r"The kernel matrix of 1,500 rows needs 17\.17 MiB"

    def solver(self, problem):
        return Auto()

    def large_problem(self):
        return plain_problem(1500, 2000, Kernel("linear"))  # which is never approximated

    def test_kernel_matrices_that_do_not_fit_are_approximated_with_a_warning(self, monkeypatch):
        problem = plain_problem(1500, 2, Kernel("rbf"))
        monkeypatch.setattr(choose, "available_bytes", lambda: 2**20)
        why = r"a kernel matrix of 1,500 rows does not fit into 1\.00 MiB"
        with pytest.warns(ParityWarning, match=rf"with 500 landmarks, because {why}\. The const"):
            solution = self.solve(problem)
        assert solution.info.solver == "nystrom"
        assert solution.info.reason.endswith("because " + why.replace("\\", ""))
        assert solution.info.residual <= 1e-12

    def test_too_many_rows_are_approximated_with_a_warning(self, monkeypatch):
        monkeypatch.setattr(choose, "MOST_EXACT_ROWS", 99)
        with pytest.warns(ParityWarning, match="because an exact fit to 100 rows takes long"):
            solution = self.solve(plain_problem(100, 2, Kernel("rbf")))
        assert solution.info.solver == "nystrom"
        linear = self.solve(plain_problem(100, 2, Kernel("linear")))
        assert linear.info.solver == "primal"

    def test_directions_without_a_penalty(self):
        for kind in ("laplacian", "linear"):
            problem = state(kind, SCENARIOS["weights"], outputs=2, alpha=0.0).problem
            self.check_directions(problem, self.solve(problem))


class TestNewton(LossConformance):
    penalties = (1e-4, 1e-2, 1.0, 1e3)
    info_name = "newton"
    info_reason = "one coefficient per row"
    runs = (ALLOCATE, CHOLESKY, NEWTON)
    never_runs = (EIGEN, STEPS, FROM_SUMS, GRADIENTS)

    def solver(self, problem):
        return Newton(tol=1e-15)

    def test_kernel_functions_need_a_penalty(self):
        with pytest.raises(ValueError, match="alpha=0 lets kernel functions fit all targets"):
            self.solve(plain_problem(40, 3, Kernel("rbf"), 0.0))


class TestLBFGS(LossConformance):
    penalties = (1e-2, 1.0, 1e3)
    parity_penalties = (1e-2, 1.0, 1e3)
    digits = 1e-7
    single_digits = 1e-7
    info_name = "lbfgs"
    info_reason = "one coefficient per row"
    runs = (ALLOCATE, GRADIENTS)
    never_runs = (CHOLESKY, EIGEN, STEPS, FROM_SUMS, NEWTON)

    def solver(self, problem):
        return LBFGS(tol=1e-15)


class TestNewtonInFeatures(LossConformance):
    penalties = (1e-4, 1e-2, 1.0, 1e3)
    single_digits = 1e-5
    precomputed_message = "does not allow"
    info_name = "nystrom"
    info_reason = "newton in 26 features"
    runs = (ALLOCATE, CHOLESKY, NEWTON)
    never_runs = (EIGEN, STEPS, FROM_SUMS, GRADIENTS)
    too_large = r"A kernel at 1,500 landmarks needs 68\.66 MiB"
    one_step: ClassVar[dict] = {"optimizer": Newton(1)}

    def solver(self, problem):
        return InFeatures(Nystrom(landmarks=all_points(problem), optimizer=Newton(tol=1e-15)))

    def is_exact_for(self, K):
        return no_faint_landmark(K)


def all_points(problem):
    """The training rows and the pool, at which landmarks make the solution exact."""
    parts = [problem.X]
    if problem.pool_X is not None and not problem.kernel.is_precomputed:
        parts.append(problem.pool_X)
    return np.vstack([part.toarray() if sparse.issparse(part) else part for part in parts])


def no_faint_landmark(K):
    """Whether no landmark is left out that depends on the others only almost."""
    sizes = np.linalg.eigvalsh(K) / np.linalg.norm(K, 2)
    return not np.any((sizes > 1e-15) & (sizes < 1e-9))


SUITES = [kind for kind in vars().copy().values() if isinstance(kind, type)]


def test_every_solver_of_the_package_passes_the_suite():
    named = {kind.__name__ for kind in [*choose._RIDGE.values(), *choose._LOSS.values(), Auto]}
    tested = {suite.__name__ for suite in SUITES if issubclass(suite, SolverConformance)}
    assert {f"Test{name}" for name in named} <= tested


def test_every_test_of_the_suite_can_fail():
    module = Module(Path(conformance.__file__))
    tests = [function for name, function in module.functions.items() if name.startswith("test")]
    assert len(tests) > 20
    assert [function.name for function in tests if not module.can_fail(function)] == []
