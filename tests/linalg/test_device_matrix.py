"""Blocked factors on a device: every precision, with the matrix stored and computed anew."""

from __future__ import annotations

import numpy as np
import pytest

from meanparity.linalg.blas import NotPositiveDefiniteError
from meanparity.linalg.device import Device, download, resolve_device
from meanparity.linalg.device_matrix import SINGLE, SPLIT, TF32, DeviceMatrix, Plan
from meanparity.linalg.refinement import DOUBLE, Refined

pytestmark = pytest.mark.torch
PRECISIONS = {TF32: 2e-2, SPLIT: 2e-5, SINGLE: 2e-5, DOUBLE: 1e-12}


@pytest.fixture(scope="module")
def device():
    return resolve_device("auto") or Device("torch:cpu")


def spread(n, least=1e-12, seed=0):
    """A symmetric matrix with eigenvalues from `least` to 1, spread on a log scale."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((n, n)))[0]
    K = (U * np.geomspace(least, 1.0, n)) @ U.T
    return (K + K.T) / 2


def on(device, K, plan, mixed=True):
    """The matrix on a device; blocks below the diagonal are not asked for."""
    values = device.upload(K)

    def block(rows, columns):
        assert columns.start >= rows.start
        return values[rows, columns].clone()

    return DeviceMatrix.compute(device, block, len(K), mixed=mixed, plan=plan)


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize(("n", "block"), [(1, 4), (4, 4), (5, 4), (50, 16), (64, 16), (70, 64)])
def test_products_and_factors_of_an_adjusted_matrix(device, n, block, stored):
    """In every precision, one after the other in the same memory, and K is still there."""
    K, rng = spread(n), np.random.default_rng(1)
    shares, root = rng.uniform(0.5, 2, n), rng.uniform(0.1, 2, n)
    root[1::5] = 0.0
    shares /= shares.sum()
    V, signs = 0.1 * rng.standard_normal((n, 3)) / np.sqrt(n), np.array([1.0, -1.0, 1.0])
    H = np.eye(n) - np.outer(np.ones(n), shares)
    expected = root[:, None] * (H @ K @ H.T) * root - (V * signs) @ V.T
    plain = on(device, K, Plan(n, block, stored))
    assert np.array_equal(plain.diagonal, K.diagonal())
    matrix, row_means = plain.centre(shares)
    matrix = matrix.scale(root).deflate(V, signs)
    assert np.allclose(row_means, K @ shares, rtol=0, atol=1e-13)
    assert np.allclose(matrix.diagonal, expected.diagonal(), rtol=0, atol=1e-13)
    Z = rng.standard_normal((n, 3))
    for name, factor in matrix.rungs(0.4):
        if name == DOUBLE and not stored:
            with pytest.raises(MemoryError, match=r"does not fit into the device's memory\. Raise"):
                factor()
            continue
        solved = factor().solve(Z)
        answer = np.linalg.solve(expected + 0.4 * np.eye(n), Z)
        assert np.abs(solved - answer).max() <= PRECISIONS[name] * np.abs(answer).max()
        assert np.allclose(matrix.times(Z), expected @ Z, rtol=0, atol=1e-12)


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize(
    ("shift", "rung"),
    [(1.0, TF32), (1e-2, TF32), (1e-5, SPLIT), (1e-11, DOUBLE)],
)
def test_the_ladder_goes_down_until_the_answer_is_exact(device, shift, rung, stored):
    n, rng = 300, np.random.default_rng(0)
    K, Z = spread(n), rng.standard_normal((n, 2))
    refined = Refined(on(device, K, Plan(n, 64, stored)), shift)
    if rung == DOUBLE and not stored:
        with pytest.raises(MemoryError, match=r"Raise alpha, fit on fewer rows, or pass solver=Ny"):
            refined.solve(Z)
        return
    solved, accuracy = refined.solve(Z), refined.accuracy
    left = np.linalg.norm(Z - K @ solved - shift * solved, axis=0) / np.linalg.norm(Z, axis=0)
    assert accuracy.rung == rung
    assert accuracy.residual == pytest.approx(left.max(), rel=0.9, abs=1e-14)
    assert left.max() <= (1e-11 if accuracy.rung != DOUBLE else 1e-15 / shift)


def test_indefinite_matrices_are_refused_in_every_precision(device):
    K = np.diag(np.linspace(-1.0, 1.0, 40))
    with pytest.raises(NotPositiveDefiniteError):
        Refined(on(device, K, Plan(40, 16, True)), 0.5).solve(np.ones((40, 1)))


def test_undefined_entries_are_refused(device):
    K = np.eye(40)
    K[3, 30] = np.nan
    with pytest.raises(ValueError, match="infinite or undefined values"):
        on(device, K, Plan(40, 16, True)).require_finite()
    K[3, 30] = 0.0
    on(device, K, Plan(40, 16, True)).require_finite()


def test_the_eigendecomposition_is_that_of_the_adjusted_matrix(device):
    K, shares = spread(50, 1e-2), np.full(50, 1 / 50)
    H = np.eye(50) - 1 / 50
    eigen = on(device, K, Plan(50, 16, True), mixed=False).centre(shares)[0].eigen()
    values = np.linalg.eigvalsh(H @ K @ H)
    assert np.allclose(eigen.values, values, rtol=0, atol=1e-13)
    again = (eigen.vectors * eigen.values) @ eigen.vectors.T
    assert np.allclose(again, H @ K @ H, rtol=0, atol=1e-13)
    little = Device(device.name, limit=2**10)
    with pytest.raises(MemoryError, match=r"The eigendecomposition of 50 rows needs .* device='c"):
        on(little, K, Plan(50, 16, True), mixed=False).eigen()


@pytest.mark.parametrize("n", [1, 40, 3000, 20_000, 100_000])
def test_plans_store_what_fits_and_compute_the_rest_anew(n):
    """As memory gets less: stored, smaller blocks, computed anew, and refused."""
    previous = Plan.make(n, 2**60, mixed=True)
    assert previous.stored
    assert Plan.make(n, 2**60, mixed=False) == previous
    free, seen = 2 * previous.total_bytes, []
    while True:
        try:
            plan = Plan.make(n, free, mixed=True)
        except MemoryError:
            break
        assert plan.total_bytes <= free
        assert plan.matrix_bytes == (8 if plan.stored else 4) * n**2
        assert (plan.stored, plan.block) <= (previous.stored, previous.block) or (
            previous.stored and not plan.stored
        )
        if plan.stored:
            assert Plan.make(n, free, mixed=False) == plan
        seen.append(plan)
        free, previous = int(free / 1.2), plan
    assert free < 4 * n**2 + 2**22 * 2
    for mixed in (False, True):
        with pytest.raises(MemoryError, match=r"on the device, but only .* or pass solver=Nystrom"):
            Plan.make(n, free, mixed=mixed)
    if n >= 3000:
        assert {plan.stored for plan in seen} == {True, False}


def test_what_is_planned_for_an_h200():
    """140 GB: 100,000 rows are stored, 170,000 are computed anew, 200,000 are refused."""
    free = 140 * 10**9
    assert Plan.make(100_000, free, mixed=True) == Plan(100_000, 4096, True)
    assert not Plan.make(170_000, free, mixed=True).stored
    with pytest.raises(MemoryError, match=r"200,000 rows needs .* Fit on fewer rows"):
        Plan.make(200_000, free, mixed=True)
    with pytest.raises(MemoryError, match=r"Fit on fewer rows, pass precision='mixed', which"):
        Plan.make(170_000, free, mixed=False)


def test_arrays_come_back_as_they_went(device):
    array = np.random.default_rng(0).standard_normal((3, 5)).T
    array.flags.writeable = False
    there = device.upload(array)
    there *= 1.0
    assert np.array_equal(download(there), array)
    assert download(device.empty(2, single=True)).dtype == np.float64
