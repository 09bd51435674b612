"""Conjugate gradients: what is stored, and parity however far the steps came."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from meanparity import ParityKernelRidge, ParityWarning
from meanparity.metrics import max_mean_gap
from meanparity.solvers import conjugate_gradient

CG = "conjugate_gradient"


def table(seed, n=80):
    rng = np.random.default_rng(seed)
    s = np.resize(["a", "b", "c"], n)
    X = rng.standard_normal((n, 3)) + (s == "b")[:, None]
    return X, np.sin(X[:, 0]) + (s == "c") + 0.2 * rng.standard_normal(n), s


def test_parity_holds_however_far_the_steps_came(monkeypatch):
    monkeypatch.setattr(conjugate_gradient, "_TOLERANCE", 0.3)
    X, y, s = table(0, n=300)
    rows = {"kernel": "laplacian", "gamma": 0.5, "alpha": 1e-3}
    model = ParityKernelRidge(solver=CG, **rows).fit(X, y, sensitive_features=s)
    exact = ParityKernelRidge(**rows).fit(X, y, sensitive_features=s)
    assert np.abs(model.predict(X) - exact.predict(X)).max() > 1e-3  # it did stop early
    assert max_mean_gap(None, model.predict(X), sensitive_features=s) <= 1e-10 * y.std()


def test_no_matrix_of_all_pairs_is_stored(monkeypatch):
    X, y, s = table(1, n=600)
    largest = []
    times = conjugate_gradient.KernelOperator.plain_times

    def watch(self, Z):
        largest.append(Z.size)
        return times(self, Z)

    def never(*args, **kwargs):
        raise AssertionError("a matrix was allocated")

    monkeypatch.setattr(conjugate_gradient.KernelOperator, "plain_times", watch)
    monkeypatch.setattr("meanparity.linalg.symmetric.SymmetricMatrix.allocate", never)
    model = ParityKernelRidge(kernel="rbf", gamma=0.3, solver=CG)
    model.fit(csr_matrix(X), y, sensitive_features=s)
    assert largest
    assert max(largest) <= 600 * 6
    assert model.dual_coef_.shape == (600,)


def test_steps_that_come_no_closer_are_told(monkeypatch):
    monkeypatch.setattr(conjugate_gradient, "_PATIENCE", 0)
    X, y, s = table(2)
    model = ParityKernelRidge(kernel="rbf", gamma=0.3, solver=CG)
    with pytest.warns(ParityWarning, match=r"do not come closer than .* It is factored instead"):
        model.fit(X, y, sensitive_features=s)
    assert model.solver_ == "dense"
    exact = ParityKernelRidge(kernel="rbf", gamma=0.3).fit(X, y, sensitive_features=s)
    assert np.array_equal(model.predict(X), exact.predict(X))


@pytest.mark.filterwarnings("ignore:The kernel matrix is indefinite", "ignore:A gap of")
def test_indefinite_kernels_are_told():
    X, y, s = table(3)
    model = ParityKernelRidge(kernel="sigmoid", gamma=2.0, coef0=-1.0, solver=CG, alpha=0.1)
    with pytest.warns(ParityWarning, match="not positive definite.* It is factored instead"):
        model.fit(X, y, sensitive_features=s)
    assert model.solver_ == "spectral"


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_steps_stop_at_a_share_of_the_targets_whatever_their_unit(unit):
    """A laplacian kernel needs many steps, so that where they stop decides the digits."""
    X, y, s = table(4, n=400)
    settings = {"kernel": "laplacian", "gamma": 0.5, "alpha": 1e-3}
    model = ParityKernelRidge(solver=CG, **settings).fit(X, unit * y, sensitive_features=s)
    exact = ParityKernelRidge(**settings).fit(X, unit * y, sensitive_features=s)
    assert np.abs(model.predict(X) - exact.predict(X)).max() <= 1e-7 * unit
