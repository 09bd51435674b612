"""Factors in lower precision, answers in double precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from meanparity.exceptions import StagnationError
from meanparity.linalg.blas import NotPositiveDefiniteError
from meanparity.linalg.refinement import (
    Accuracy,
    Factorable,
    Refined,
    StoredMatrix,
    conjugate_gradients,
)
from meanparity.linalg.symmetric import SymmetricMatrix


def random_matrix(n, least=0.0, seed=0):
    """A symmetric matrix with eigenvalues from `least` to 1, spread on a log scale."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((n, n)))[0]
    values = np.geomspace(max(least, 1e-12), 1.0, n)
    K = (U * values) @ U.T
    return (K + K.T) / 2


def stored(K):
    """The matrix in an upper triangle, below which nothing may be read."""
    array = np.triu(K) + np.tril(np.full(K.shape, np.nan), -1)
    return StoredMatrix.from_matrix(SymmetricMatrix.from_upper(array))


def adjusted(K, n, rng):
    """K centred, scaled, deflated and scaled again: spelled out, and as an adjusted matrix."""
    shares, root, again = rng.uniform(0.5, 2, n), rng.uniform(0, 2, n), rng.uniform(0.5, 1, n)
    root[::5] = 0.0
    V, signs = 0.1 * rng.standard_normal((n, 3)) / np.sqrt(n), np.array([1.0, -1.0, 1.0])
    shares /= shares.sum()
    H = np.eye(n) - np.outer(np.ones(n), shares)
    expected = root[:, None] * (H @ K @ H.T) * root - (V * signs) @ V.T
    expected = again[:, None] * expected * again
    centred, row_means = stored(K).centre(shares)
    assert np.allclose(row_means, K @ shares, rtol=0, atol=1e-14)
    return expected, centred.scale(root).deflate(V, signs).scale(again)


@pytest.mark.parametrize("n", [1, 2, 5, 255, 256, 257, 700, 1300])
@pytest.mark.parametrize("single", [False, True])
def test_a_factor_in_either_precision_leaves_the_matrix_and_solves(n, single):
    """The bytes of a factor in single precision are all below the diagonal, in every row."""
    K, rng = random_matrix(n), np.random.default_rng(1)
    matrix = SymmetricMatrix.from_upper(np.triu(K) + np.tril(np.full((n, n), np.nan), -1))
    factor = matrix.cholesky(0.5, single=single)
    assert factor.array.dtype == (np.float32 if single else np.float64)
    Z = rng.standard_normal((n, 3))
    digits = 1e-5 if single else 1e-13
    assert np.allclose(np.tril(factor.array), np.linalg.cholesky(K + 0.5 * np.eye(n)), atol=digits)
    solved = factor.solve(Z)
    assert solved.dtype == np.float64
    assert np.allclose(solved, np.linalg.solve(K + 0.5 * np.eye(n), Z), rtol=0, atol=10 * digits)
    assert np.array_equal(np.triu(matrix.array, 1), np.triu(K, 1))
    assert np.allclose(matrix.times(Z), K @ Z, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [4, 300, 600])
def test_adjusted_matrices_multiply_and_solve(n):
    rng = np.random.default_rng(0)
    expected, matrix = adjusted(random_matrix(n), n, rng)
    assert np.allclose(matrix.diagonal, expected.diagonal(), rtol=0, atol=1e-14)
    Z = rng.standard_normal((n, 2))
    assert np.allclose(matrix.times(Z), expected @ Z, rtol=0, atol=1e-13)
    for name, factor in matrix.rungs(0.3):
        solved, answer = factor().solve(Z), np.linalg.solve(expected + 0.3 * np.eye(n), Z)
        digits = {"float32": 1e-5, "float64": 1e-13}[name]
        assert np.abs(solved - answer).max() <= digits * np.abs(answer).max()
    assert np.allclose(matrix.times(Z), expected @ Z, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("shift", "rung"), [(1.0, "float32"), (1e-3, "float32"), (1e-11, "float64")]
)
def test_the_answer_is_that_of_double_precision_whatever_the_condition(shift, rung):
    n, rng = 400, np.random.default_rng(2)
    K, Z = random_matrix(n), rng.standard_normal((n, 4))
    Z[:, 1], Z[:, 2] = 0.0, 1e-200 * Z[:, 2]
    refined = Refined(stored(K), shift)
    solved = refined.solve(Z)
    A = K + shift * np.eye(n)
    sizes = np.linalg.norm(Z, axis=0)
    left = np.linalg.norm(Z - A @ solved, axis=0) / np.where(sizes > 0, sizes, 1)
    accuracy = refined.accuracy
    assert accuracy.rung == rung
    assert accuracy.steps <= 1 or rung == "float32"
    assert accuracy.residual == pytest.approx(left.max(), rel=0.9, abs=3e-15)
    if rung == "float32":
        assert left.max() <= 1e-11
    exact = stored(K).stored.cholesky(shift).solve(Z)
    of_double = np.linalg.norm(Z - A @ exact, axis=0) / np.where(sizes > 0, sizes, 1)
    assert left.max() <= max(1e-11, of_double.max())
    if rung == "float32":
        assert np.allclose(A @ solved, A @ exact, rtol=0, atol=1e-10)
    assert not solved[:, 1].any()


def test_numbers_beyond_single_precision_are_left_to_double_precision():
    K, Z = 1e60 * random_matrix(300), np.random.default_rng(0).standard_normal((300, 2))
    refined = Refined(stored(K), 1e59)
    expected = np.linalg.solve(K + 1e59 * np.eye(300), Z)
    assert np.abs(refined.solve(Z) - expected).max() <= 1e-12 * np.abs(expected).max()
    assert refined.accuracy.rung == "float64"


def test_matrices_that_are_not_positive_definite_are_refused_in_every_precision():
    K = np.diag(np.linspace(-1.0, 1.0, 300))
    with pytest.raises(NotPositiveDefiniteError):
        Refined(stored(K), 0.5).solve(np.ones((300, 1)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Poor(Factorable):
    """A matrix without a factor that is worth anything."""

    K: np.ndarray
    matrix_bytes: int = 0

    def require_finite(self):
        assert np.isfinite(self.K).all()

    def plain_times(self, Z):
        return self.K @ Z

    def rungs(self, shift):
        yield "bad", lambda: Useless(self.K)
        yield "worse", lambda: Useless(-self.K)


@dataclass(frozen=True)
class Useless:
    factor: np.ndarray

    def solve(self, rhs):
        return np.sin(1e3 * np.arange(len(rhs)))[:, None] ** 2 * rhs + 1e-3 * self.factor @ rhs


def test_an_answer_that_is_not_exact_is_never_returned():
    K = random_matrix(200)
    poor = Refined(Poor(diagonal=K.diagonal(), K=K), 1e-9)
    with pytest.raises(NotPositiveDefiniteError, match=r"gradients|residual|definite"):
        poor.solve(np.random.default_rng(0).standard_normal((200, 2)))
    assert poor.accuracy is None


def test_steps_that_would_be_too_many_are_foreseen():
    """Without a preconditioner a condition of 1e6 needs hundreds of steps: eight show that."""
    K, calls = random_matrix(300, 1e-6), []

    def times(Z):
        calls.append(Z)
        return K @ Z

    rhs = np.random.default_rng(0).standard_normal((300, 2))
    goal = 1e-12 * np.linalg.norm(rhs, axis=0)
    with pytest.raises(StagnationError, match="do not come closer than"):
        conjugate_gradients(times, lambda R: R, rhs, goal, patience=60, most=36)
    assert len(calls) <= 9
    calls.clear()
    with pytest.raises(StagnationError):
        conjugate_gradients(times, lambda R: R, rhs, goal, patience=60, most=5)
    assert len(calls) == 5
    easy, steps = conjugate_gradients(
        lambda Z: K @ Z + 10 * Z, lambda R: R, rhs, goal, patience=60, most=36
    )
    assert steps <= 12
    assert np.allclose(K @ easy + 10 * easy, rhs, rtol=0, atol=1e-10)


def test_systems_together_are_as_exact_as_the_worst():
    easy, hard = Accuracy("float32", 4, 1e-14), Accuracy("float64", 0, 1e-13)
    assert Accuracy.worst([easy, easy]) == Accuracy("float32", 8, 1e-14)
    assert Accuracy.worst([hard, easy]) == Accuracy("float64", 4, 1e-13)
