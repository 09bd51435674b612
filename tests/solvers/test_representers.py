"""Representers of functionals: which of them count, whatever the unit of the kernel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from meanparity.constraints import Functionals, MeanParity
from meanparity.data.rows import Rows
from meanparity.kernels import Kernel
from meanparity.solvers import Dense, Newton
from meanparity.solvers.problem import ConstrainedProblem


def stated(pool, light, unit=1.0):
    """Five groups in a space of two columns, so that conditions depend on each other."""
    rng = np.random.default_rng(0)
    n, p = 40, 20
    X, Y, codes = rng.standard_normal((n, 2)), rng.standard_normal((n, 1)), np.arange(n) % 5
    X[:, 0] += codes
    weights = rng.uniform(0.5, 2.0, n)
    if light:
        weights[3::7] = 0.0

    def functionals(codes, weights):
        return MeanParity().functionals(Rows.from_columns(codes, sample_weight=weights))

    # the weights count in the loss; in the constraint, all rows do
    problem = ConstrainedProblem(
        unit * X, Y, np.array([0.3 * unit**2]), functionals(codes, None), True, Kernel(), weights
    )
    if pool:
        there = rng.integers(0, 3, p)
        problem = replace(
            problem,
            pool_X=unit * (rng.standard_normal((p, 2)) + 0.1 * there[:, None]),
            pool=functionals(there, None),
        )
    return problem


def values(problem, solver):
    found = solver.solve(problem)
    return [
        np.vstack([fit.fitted, fit.pool]) if problem.pool_X is not None else fit.fitted
        for fit in (found.fair, found.free)
    ]


@pytest.mark.parametrize("pool", [True, False])
@pytest.mark.parametrize("light", [True, False])
@pytest.mark.parametrize(
    ("solver", "power"), [(Dense(), -70), (Dense(), 70), (Newton(), -30), (Newton(), 30)]
)
def test_the_unit_of_the_columns_does_not_matter(pool, light, solver, power):
    """Powers of two are exact, so that nothing is left to rounding."""
    here, there = (values(stated(pool, light, unit), solver) for unit in (1.0, 2.0**power))
    for mine, theirs in zip(here, there, strict=True):
        assert np.abs(mine - theirs).max() <= 1e-9


@pytest.mark.parametrize("size", [1e-2, 1e-4])
def test_faint_functionals_are_given_their_values(size):
    """Up to a millionth of the norm of the others."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((12, 20)), rng.standard_normal((12, 1))
    X[:, 1] = 0.0
    X[:2], X[2:4] = 0.0, 0.0
    X[0, 0], X[1, 0] = 1.0, -1.0
    X[2, 1], X[3, 1] = size, -size
    C = np.zeros((12, 2))
    C[[0, 1], 0], C[[2, 3], 1] = (1.0, -1.0), (1.0, -1.0)
    functionals = Functionals.from_weights(C, targets=[3.0, 2.0 * size])
    problem = ConstrainedProblem(X, Y, np.array([1e-3]), functionals, True, Kernel())
    found = Dense().solve(problem).fair.fitted
    assert (C.T @ found)[:, 0] == pytest.approx([3.0, 2.0 * size], rel=1e-6)
