"""Paths of ridge solutions from singular values, against one dense system."""

from __future__ import annotations

import numpy as np
import pytest

from meanparity.solvers.orthogonal import RidgePath


@pytest.mark.parametrize("rank", [2, 4])
def test_minimisers_and_directions_are_those_of_the_normal_equations(rank):
    """Even if no row sees some of the directions that the constraint sees."""
    rng = np.random.default_rng(0)
    d, r, m = 4, 2, 3
    R = rng.standard_normal((7, rank)) @ rng.standard_normal((rank, d))
    RY, target = rng.standard_normal((7, m)), rng.standard_normal((r, m))
    Q = np.linalg.qr(rng.standard_normal((d, r)))[0]
    path = RidgePath.from_triangle(R, RY, Q, target, 1e-12)
    for alpha in (0.2, 3.0):
        A, at = R.T @ R + alpha * np.eye(d), np.array([alpha])
        system = np.block([[A, Q], [Q.T, np.zeros((r, r))]])
        expected = np.linalg.solve(system, np.vstack([R.T @ RY, target]))
        assert path.free(at)[0] == pytest.approx(np.linalg.solve(A, R.T @ RY))
        assert path.fair(at)[0] == pytest.approx(expected[:d])
        along, multipliers = path.directions(alpha)
        assert along == pytest.approx(np.linalg.solve(A, Q))
        assert multipliers == pytest.approx(expected[d:])


def test_without_a_penalty_directions_that_no_row_sees_have_no_price():
    rng = np.random.default_rng(1)
    R, RY = rng.standard_normal((7, 3)), rng.standard_normal((7, 1))
    Q, target = np.eye(3)[:, :1], np.zeros((1, 1))
    seen = RidgePath.from_triangle(R, RY, Q, target, 1e-12)
    assert seen.directions(0.0)[0] == pytest.approx(np.linalg.solve(R.T @ R, Q))
    R[:, 0] = 0.0
    unseen = RidgePath.from_triangle(R, RY, Q, target, 1e-12)
    assert unseen.directions(0.0) is None
    assert unseen.directions(0.5)[0][:, 0] == pytest.approx([2.0, 0.0, 0.0])
