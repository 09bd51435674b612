"""Every solver against the paper's formula and the written-out optimality conditions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from meanparity.constraints import CovarianceParity, MeanParity
from meanparity.kernels import Kernel
from meanparity.solvers import Task, solve
from tests.oracles import kkt_kernel, kkt_linear, paper_kernel, sensitive_contrasts
from tests.problems import cases

KERNELS = ["linear", "rbf", "poly", "laplacian"]
PENALTIES = [1e-4, 1e-2, 1.0, 1e3, 1e8]  # times the mean of the kernel's diagonal
TINY = [1e-10, 1e-6]
TOLERANCE = 1e-8


def bind(kind, X):
    spread = np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1))
    gamma = {"rbf": 1.0 / spread, "laplacian": 0.5 / np.sqrt(spread)}.get(kind)
    if kind == "poly":
        gamma = 1.0 / np.mean(np.sum(X**2, axis=1))
    return Kernel(kind, gamma=gamma, degree=2).bind(X)


def run(case, bound, alpha, *, functionals=None, linear=False, fit_intercept=False, solver):
    functionals = MeanParity().functionals(case.rows) if functionals is None else functionals
    task = Task(case.X, case.y[:, None], np.array([alpha]), functionals, fit_intercept)
    return solve(task, kernel=lambda: bound, is_linear=linear, solver=solver)


def determined(K, functionals, alpha):
    """Whether doubles determine the answer to the tolerance, with two digits to spare.

    The entries of K are rounded. That matters by the condition of K + λI, and by one over the
    size ε of the faintest functional beside the kernel's own. Parity is tested without this.
    """
    C = functionals.dense()
    sizes = np.linalg.eigvalsh(C.T @ K @ C) / np.mean(np.diag(K))
    seen = sizes[sizes > 1e-15]
    spectrum = np.linalg.eigvalsh(K) + alpha
    condition = spectrum[-1] / spectrum[0]
    return 2e-16 * condition / seen.min(initial=1.0) < 1e-2 * TOLERANCE


def values(bound, case, fit):
    """Predictions on the training rows and on new ones."""
    rows = np.vstack([case.X, case.X_new])
    return bound.evaluate(rows, fit.coef)[:, 0] + fit.intercept


def close(actual, expected, case):
    assert np.abs(actual - expected).max() <= TOLERANCE * case.scale


@given(
    case=cases(max_rows=14),
    kind=st.sampled_from(KERNELS),
    penalty=st.sampled_from(TINY + PENALTIES),
)
@pytest.mark.parametrize("solver", ["dense", "spectral"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_kernel_solvers_meet_the_optimality_conditions(case, kind, penalty, solver, fit_intercept):
    bound = bind(kind, case.X)
    K = bound.block(case.X)
    alpha = penalty * np.mean(np.diag(K))
    assume(determined(K, MeanParity().functionals(case.rows), alpha))
    solution = run(case, bound, alpha, fit_intercept=fit_intercept, solver=solver)
    C = sensitive_contrasts(case.codes)
    rows = np.vstack([K, bound.block(case.X_new)])

    c, b = kkt_kernel(K, case.y, C, alpha, fit_intercept=fit_intercept)
    close(values(bound, case, solution.fair), rows @ c + b, case)
    c, b = kkt_kernel(K, case.y, C[:, :0], alpha, fit_intercept=fit_intercept)
    close(values(bound, case, solution.free), rows @ c + b, case)


@given(
    case=cases(max_rows=14),
    kind=st.sampled_from(KERNELS),
    penalty=st.sampled_from(TINY + PENALTIES),
)
@pytest.mark.parametrize("solver", ["dense", "spectral"])
def test_kernel_solvers_give_the_papers_formula(case, kind, penalty, solver):
    bound = bind(kind, case.X)
    K = bound.block(case.X)
    alpha = penalty * np.mean(np.diag(K))
    assume(determined(K, MeanParity().functionals(case.rows), alpha))
    solution = run(case, bound, alpha, solver=solver)
    K_S = (case.codes[:, None] == case.codes).astype(float)
    w = paper_kernel(K, K_S, case.y, alpha)
    close(values(bound, case, solution.fair), np.vstack([K, bound.block(case.X_new)]) @ w, case)


@given(case=cases(max_rows=14), kind=st.sampled_from(["rbf", "poly", "laplacian"]))
@pytest.mark.parametrize("solver", ["auto", "spectral"])
def test_without_penalty_the_solution_of_least_norm(case, kind, solver):
    bound = bind(kind, case.X)
    K = bound.block(case.X)
    spectrum = np.linalg.eigvalsh(K) / np.linalg.norm(K, 2)
    C = MeanParity().functionals(case.rows).dense()
    sizes = np.linalg.eigvalsh(C.T @ K @ C) / np.mean(np.diag(K))
    assume(not np.any((sizes > 1e-15) & (sizes < 1e-3)))
    # where eigenvalues fade into rounding, "least norm" depends on where the line is drawn
    assume(not np.any((spectrum > 1e-15) & (spectrum < 1e-4)))
    solution = run(case, bound, 0.0, solver=solver)
    assert solution.info.solver == "spectral"
    K_S = (case.codes[:, None] == case.codes).astype(float)
    w = paper_kernel(K, K_S, case.y, 0.0)
    close(values(bound, case, solution.fair), np.vstack([K, bound.block(case.X_new)]) @ w, case)


@given(case=cases(max_rows=14), penalty=st.sampled_from([0.0, 1e-9, *PENALTIES]))
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_primal_solver_meets_the_optimality_conditions(case, penalty, fit_intercept):
    alpha = penalty * np.mean(np.sum(case.X**2, axis=1))
    solution = run(case, None, alpha, linear=True, fit_intercept=fit_intercept, solver="primal")
    C = sensitive_contrasts(case.codes)
    rows = np.vstack([case.X, case.X_new])
    for fit, contrasts in ((solution.fair, C), (solution.free, C[:, :0])):
        theta, b = kkt_linear(case.X, case.y, contrasts, alpha, fit_intercept=fit_intercept)
        close(rows @ fit.coef[:, 0] + fit.intercept, rows @ theta + b, case)


@given(case=cases(), penalty=st.sampled_from(PENALTIES))
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("solver", ["primal", "dense", "spectral"])
def test_targets_are_met_and_multipliers_are_derivatives(case, penalty, fit_intercept, solver):
    """The objective's derivative in the targets is −2ν, which a quadratic shows exactly."""
    if solver == "primal":
        bound, alpha = Kernel("linear").bind(case.X), penalty * np.mean(np.sum(case.X**2, axis=1))
    else:
        bound = bind("rbf", case.X)
        alpha = penalty
    base = MeanParity().functionals(case.rows)
    free = run(case, bound, alpha, linear=True, fit_intercept=fit_intercept, solver=solver).free
    reachable = base.apply(free.fitted)[:, 0]  # targets that the space can meet
    solutions = [
        run(
            case,
            bound,
            alpha,
            functionals=replace(base, targets=share * reachable[:, None]),
            linear=True,
            fit_intercept=fit_intercept,
            solver=solver,
        )
        for share in (0.0, 0.5, 1.0)
    ]
    for share, solution in zip((0.0, 0.5, 1.0), solutions, strict=True):
        gap = base.apply(solution.fair.fitted)[:, 0] - share * reachable
        assert np.abs(gap).max() <= 1e-10 * case.scale * np.sqrt(len(case.y))
    low, middle, high = (float(s.fair.objective[0]) for s in solutions)
    slope = -2 * float(solutions[1].multipliers[:, 0] @ reachable)
    assert abs((high - low) - slope) <= 1e-7 * max(abs(low), abs(high))
    assert middle <= max(low, high) * (1 + 1e-12)
    close(solutions[2].fair.fitted[:, 0], free.fitted[:, 0], case)


@given(case=cases(), penalty=st.sampled_from([0.0, *PENALTIES]), kind=st.sampled_from(KERNELS))
@pytest.mark.parametrize(
    "constraint", [MeanParity(), CovarianceParity("rbf"), CovarianceParity("poly", degree=2)]
)
def test_parity_is_exact(case, penalty, kind, constraint):
    bound = bind(kind, case.X)
    alpha = penalty * np.mean(bound.diagonal(case.X))
    functionals = constraint.functionals(case.rows)
    solution = run(
        case, bound, alpha, functionals=functionals, linear=kind == "linear", solver="auto"
    )
    predicted = (
        case.X @ solution.fair.coef
        if solution.info.solver == "primal"
        else bound.evaluate(case.X, solution.fair.coef)
    )
    assert np.abs(functionals.gaps(predicted)).max() <= 1e-10 * case.y.std()
    assert np.abs(functionals.gaps(solution.fair.fitted)).max() <= 1e-10 * case.y.std()


@pytest.mark.filterwarnings("ignore:The kernel matrix is indefinite")
@given(case=cases(), coef0=st.sampled_from([-0.5, 0.0, 0.5]), alpha=st.sampled_from([0.1, 3.0]))
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_indefinite_kernels_get_a_stationary_point_with_parity(case, coef0, alpha, fit_intercept):
    gamma = 1.0 / np.mean(np.sum(case.X**2, axis=1))
    bound = Kernel("sigmoid", gamma=gamma, coef0=coef0).bind(case.X)
    K = bound.block(case.X)
    H = np.eye(len(K)) - fit_intercept / len(K)
    spectrum = np.linalg.eigvalsh(H @ K @ H + alpha * np.eye(len(K)))
    C = MeanParity().functionals(case.rows).dense()
    sizes = np.abs(np.linalg.eigvalsh(C.T @ K @ C))
    # neither the matrix nor a functional may be on the edge between positive and negative
    assume(np.abs(spectrum).min() > 1e-2)
    assume(sizes.min() > 1e-3)
    solution = run(case, bound, alpha, fit_intercept=fit_intercept, solver="auto")
    fit = solution.fair
    predicted = bound.evaluate(case.X, fit.coef)[:, 0] + fit.intercept
    assert np.abs(C.T @ predicted).max() <= 1e-9 * case.scale
    # A c = y − b − Cν for some ν: what is left of it is at right angles to all that is not C
    left = case.y - predicted - alpha * fit.coef[:, 0]
    assert np.abs(left - C @ (C.T @ left)).max() <= 1e-7 * case.scale
    assert abs(fit.coef.sum()) <= 1e-9 * np.abs(fit.coef).sum() or not fit_intercept


@given(case=cases(), solver=st.sampled_from(["dense", "spectral", "primal"]))
def test_each_output_has_its_own_penalty(case, solver):
    bound = Kernel("linear").bind(case.X)
    size = np.mean(bound.diagonal(case.X))
    Y = np.stack([case.y, case.y**2 / case.scale, -case.y, case.y + 1], axis=1)
    alpha = size * np.array([1.0, 0.1, 1.0, 10.0])
    functionals = MeanParity().functionals(case.rows)

    def run_outputs(Y, alpha):
        task = Task(case.X, Y, alpha, functionals, True)
        return solve(task, kernel=lambda: bound, is_linear=True, solver=solver)

    together = run_outputs(Y, alpha)
    for j in range(4):
        alone = run_outputs(Y[:, [j]], alpha[[j]])
        for side in ("fair", "free"):
            both, one = getattr(together, side), getattr(alone, side)
            close(both.fitted[:, j], one.fitted[:, 0], case)
            assert np.isclose(both.objective[j], one.objective[0], rtol=1e-9)
        assert np.allclose(
            together.multipliers[:, j], alone.multipliers[:, 0], rtol=1e-6, atol=1e-8 * case.scale
        )
