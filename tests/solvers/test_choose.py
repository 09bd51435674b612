"""Which solver runs, what it reports, and that large problems survive."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from meanparity import ParityKernelRidge, ParityRidge, ParityWarning
from meanparity.solvers import choose

RNG = np.random.default_rng(0)
TALL, WIDE = RNG.standard_normal((40, 3)), RNG.standard_normal((20, 30))


@pytest.mark.filterwarnings("ignore:The kernel matrix is indefinite", "ignore:alpha=1e-300 is")
@pytest.mark.parametrize(
    ("estimator", "X", "solver", "reason"),
    [
        (ParityRidge(), TALL, "primal", "linear functions of 3 columns on 40 rows"),
        (ParityRidge(alpha=0.0), TALL, "primal", "linear functions"),
        (ParityRidge(), WIDE, "dense", "one Cholesky factorisation"),
        (ParityRidge(alpha=0.0), WIDE, "primal", "linear functions"),
        (ParityRidge(solver="spectral"), TALL, "spectral", "asked for"),
        (ParityKernelRidge(), TALL, "primal", "linear functions"),
        (ParityKernelRidge(kernel="rbf"), TALL, "dense", "alpha > 0 on 40 rows"),
        (ParityKernelRidge(kernel="rbf", alpha=0.0), TALL, "spectral", "least-norm"),
        (ParityKernelRidge(kernel="poly", degree=1, alpha=1e-300), TALL, "spectral", "singular"),
        (ParityKernelRidge(kernel="sigmoid", alpha=0.1), TALL, "spectral", "indefinite"),
    ],
    ids=lambda value: str(value) if not isinstance(value, np.ndarray) else str(value.shape),
)
def test_auto(estimator, X, solver, reason):
    s = np.arange(len(X)) % 3
    y = X[:, 0] + s
    model = estimator.fit(X, y, sensitive_features=s)
    assert model.solver_ == solver
    info = model.solver_info_
    assert reason in info.reason
    assert info.seconds > 0
    assert info.matrix_bytes == 8 * (X.shape[1] if solver == "primal" else len(X)) ** 2
    assert info.residual <= 1e-10 * y.std()
    assert model.parity_residual_ <= 1e-10 * y.std()
    assert np.isclose(info.residual, model.parity_residual_, rtol=0, atol=1e-13)


def test_what_the_spectral_solver_warns_of():
    s = np.arange(40) % 3
    with pytest.warns(ParityWarning, match="alpha=1e-300 is negligible compared with the largest"):
        ParityKernelRidge(kernel="poly", degree=1, alpha=1e-300).fit(
            TALL, TALL[:, 0] + s, sensitive_features=s
        )
    with pytest.warns(ParityWarning, match="indefinite: K .* has an eigenvalue of -"):
        ParityKernelRidge(kernel="sigmoid", alpha=0.1).fit(TALL, TALL[:, 0], sensitive_features=s)


def test_a_fit_of_many_blocks():
    """Several blocks of the factorisation, against LAPACK on the whole matrix."""
    n = 2500
    X, s = RNG.standard_normal((n, 4)), RNG.integers(0, 5, n)
    y = X[:, 0] + 0.1 * s
    model = ParityKernelRidge(kernel="rbf", gamma=0.2, alpha=0.5, fit_intercept=True)
    model.fit(X, y, sensitive_features=s)
    K = np.exp(-0.2 * ((X**2).sum(1)[:, None] + (X**2).sum(1) - 2 * X @ X.T))
    C = np.stack([(s == g) / np.sum(s == g) - 1 / n for g in range(4)], axis=1)
    A = K + 0.5 * np.eye(n)
    border = np.column_stack([np.ones(n), C])
    top = np.linalg.solve(A, np.column_stack([y, border]))
    small = np.vstack([np.ones(n), C.T @ K]) @ top
    multipliers = np.linalg.solve(small[:, 1:], small[:, 0])
    c = top[:, 0] - top[:, 1:] @ multipliers
    assert np.allclose(model.predict(X), K @ c + multipliers[0], atol=1e-9)
    assert model.parity_residual_ <= 1e-12


@pytest.mark.slow
def test_more_rows_than_openblas_survives():
    """In a process of its own: a crash there would take the test run with it."""
    code = """
import numpy as np
from meanparity import ParityKernelRidge
rng = np.random.default_rng(0)
X, s = rng.standard_normal((16_500, 5)), rng.integers(0, 3, 16_500)
y = X[:, 0] + s
model = ParityKernelRidge(kernel="rbf").fit(X, y, sensitive_features=s)
assert model.solver_ == "dense"
assert model.parity_residual_ <= 1e-10 * y.std()
predicted = model.predict(X)
gap = max(abs(predicted[s == g].mean() - predicted.mean()) for g in range(3))
assert gap <= 1e-10 * y.std(), gap
print("survived")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "survived\n", done.stderr


def test_exact_kernel_fits_end_after_25000_rows_or_where_memory_ends(monkeypatch):
    monkeypatch.setattr(choose, "available_bytes", lambda: 2**60)
    assert choose._landmark_reason(25_000) is None
    assert choose._landmark_reason(25_001) == "an exact fit to 25,001 rows takes long"
    needed = 88 * 2000**2 // 10  # the matrix, and a tenth of it
    monkeypatch.setattr(choose, "available_bytes", lambda: needed)
    assert choose._landmark_reason(2000) is None
    monkeypatch.setattr(choose, "available_bytes", lambda: needed - 1)
    assert "of 2,000 rows does not fit" in choose._landmark_reason(2000)
