"""Solvers that factor the kernel matrix, and the paper's formula; and kernels that are none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from meanparity.constraints import MeanParity
from meanparity.kernels import Kernel
from meanparity.solvers import ConstrainedProblem, Dense, Spectral
from meanparity.solvers.choose import Auto
from tests.oracles import paper_kernel
from tests.problems import cases
from tests.solvers.conformance import PENALTIES, determined, evaluate, kernel_for

KERNELS = ["linear", "rbf", "poly", "laplacian"]
TOLERANCE = 1e-8


def problem_of(case, kernel, alpha, fit_intercept=False):
    functionals = MeanParity().functionals(case.rows)
    return ConstrainedProblem(
        case.X, case.y[:, None], np.array([alpha]), functionals, fit_intercept, kernel
    )


def check_papers_formula(case, problem, solution):
    """At the training rows and at new ones."""
    bound, rows = problem.kernel.bind(case.X), np.vstack([case.X, case.X_new])
    K_S = (case.codes[:, None] == case.codes).astype(float)
    w = paper_kernel(bound.block(case.X), K_S, case.y, problem.alpha[0])
    found = evaluate(solution, "fair", rows)[:, 0]
    assert np.abs(found - bound.block(rows) @ w).max() <= TOLERANCE * case.scale


@given(case=cases(max_rows=14), kind=st.sampled_from(KERNELS), penalty=st.sampled_from(PENALTIES))
@pytest.mark.parametrize("solver", [Dense(), Spectral()], ids=str)
def test_with_a_penalty(case, kind, penalty, solver):
    kernel = kernel_for(kind, case.X)
    K = kernel.bind(case.X).block(case.X)
    problem = problem_of(case, kernel, penalty * np.mean(np.diag(K)))
    assume(determined(K, problem.functionals, problem.alpha[0], TOLERANCE))
    check_papers_formula(case, problem, solver.solve(problem))


@given(case=cases(max_rows=14), kind=st.sampled_from(["rbf", "poly", "laplacian"]))
@pytest.mark.parametrize("solver", [Auto(), Spectral()], ids=str)
def test_without_a_penalty_the_solution_of_least_norm(case, kind, solver):
    kernel = kernel_for(kind, case.X)
    K = kernel.bind(case.X).block(case.X)
    spectrum = np.linalg.eigvalsh(K) / np.linalg.norm(K, 2)
    problem = problem_of(case, kernel, 0.0)
    C = problem.functionals.dense()
    sizes = np.linalg.eigvalsh(C.T @ K @ C) / np.mean(np.diag(K))
    assume(not np.any((sizes > 1e-15) & (sizes < 1e-3)))
    # where eigenvalues fade into rounding, "least norm" depends on where the line is drawn
    assume(not np.any((spectrum > 1e-15) & (spectrum < 1e-4)))
    solution = solver.solve(problem)
    assert solution.info.solver == "spectral"
    check_papers_formula(case, problem, solution)


@pytest.mark.filterwarnings("ignore:The kernel matrix is indefinite")
@given(case=cases(), coef0=st.sampled_from([-0.5, 0.0, 0.5]), alpha=st.sampled_from([0.1, 3.0]))
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_indefinite_kernels_get_a_stationary_point_with_parity(case, coef0, alpha, fit_intercept):
    gamma = 1.0 / np.mean(np.sum(case.X**2, axis=1))
    kernel = Kernel("sigmoid", gamma=gamma, coef0=coef0)
    K = kernel.bind(case.X).block(case.X)
    H = np.eye(len(K)) - fit_intercept / len(K)
    spectrum = np.linalg.eigvalsh(H @ K @ H + alpha * np.eye(len(K)))
    problem = problem_of(case, kernel, alpha, fit_intercept)
    C = problem.functionals.dense()
    sizes = np.abs(np.linalg.eigvalsh(C.T @ K @ C))
    # neither the matrix nor a functional may be on the edge between positive and negative
    assume(np.abs(spectrum).min() > 1e-2)
    assume(sizes.min() > 1e-3)
    solution = Auto().solve(problem)
    coef, predicted = solution.fair.coef[:, 0], evaluate(solution, "fair", case.X)[:, 0]
    assert np.abs(C.T @ predicted).max() <= 1e-9 * case.scale
    # A c = y − b − Cν for some ν: what is left of it is at right angles to all that is not C
    left = case.y - predicted - alpha * coef
    assert np.abs(left - C @ (C.T @ left)).max() <= 1e-7 * case.scale
    assert abs(coef.sum()) <= 1e-9 * np.abs(coef).sum() or not fit_intercept
