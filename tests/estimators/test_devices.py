"""Estimators whose solvers work on a device: nothing else about them changes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from meanparity import (
    ConjugateGradient,
    Dense,
    MeanParity,
    Newton,
    Nystrom,
    ParityKernelRegressor,
    ParityKernelRidge,
    ParityKernelRidgeCV,
    ResidualParity,
)
from meanparity.linalg import device_matrix
from meanparity.linalg.device import Device, resolve_device
from meanparity.metrics import max_mean_gap
from meanparity.persistence import load, save

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def device():
    found = resolve_device("auto")
    return "torch:cpu" if found is None else found.name


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(device_matrix, "_BLOCK", 64)


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X, s = rng.standard_normal((n, 3)), np.resize(["a", "b", "c", "a"], n)
    y = np.column_stack([np.sin(X[:, 0]) + (s == "a"), X[:, 1] - (s == "b")])
    return X, y + 0.1 * rng.standard_normal((n, 2)), s


def pair(device, make, X, y, s, **fit):
    """The same fit on the CPU and on the device."""
    settings = {"kernel": "rbf", "gamma": 0.2, "fit_intercept": True}
    settings |= fit.pop("settings", {})
    return [
        ParityKernelRidge(**settings, solver=make(place)).fit(X, y, sensitive_features=s, **fit)
        for place in ("cpu", device)
    ]


SOLVERS = {
    "dense": lambda place: Dense(device=place),
    "mixed": lambda place: Dense(device=place, precision="mixed"),
    "conjugate gradients": lambda place: ConjugateGradient(device=place),
    "nystrom": lambda place: Nystrom(60, device=place),
}
FITS = {
    "plain": lambda X, s: {},
    "weights": lambda X, s: {"sample_weight": np.resize([0.5, 2.0, 0.0], len(s))},
    "pool": lambda X, s: {"pool": (X[:50] + 0.2, s[:50])},
    "strata": lambda X, s: {"control_features": np.resize(["x", "y", "y"], len(s))},
    "limit": lambda X, s: {"settings": {"max_gap": 0.05}},
    "errors": lambda X, s: {"settings": {"constraint": ResidualParity()}},
    "penalties": lambda X, s: {"settings": {"alpha": [0.1, 5.0]}},
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("fit", FITS)
def test_fits_and_predictions_are_those_of_the_cpu(device, solver, fit):
    X, y, s = table()
    on_cpu, there = pair(device, SOLVERS[solver], X, y, s, **FITS[fit](X, s))
    X_new = table(seed=1)[0]
    assert there.predict(X_new) == pytest.approx(on_cpu.predict(X_new), rel=0, abs=1e-9)
    assert there.solver_ == on_cpu.solver_
    assert there.solver_info_.device == device
    assert there.parity_residual_ <= 1e-12
    for budget in (0.02, 0.1):
        one, other = (m.tradeoff_.for_gap(budget).predict(X_new) for m in (on_cpu, there))
        assert other == pytest.approx(one, rel=0, abs=1e-8)


@pytest.mark.parametrize("fit", ["plain", "weights", "pool", "strata"])
@pytest.mark.parametrize("scale", ["score", "response"])
def test_newton_steps_are_those_of_the_cpu(device, fit, scale):
    X, y, s = table()
    counts, settings = np.random.default_rng(2).poisson(np.exp(y[:, 0] / 2)), FITS[fit](X, s)
    on_cpu, there = (
        ParityKernelRegressor(
            kernel="rbf",
            gamma=0.2,
            loss="poisson",
            solver=Newton(device=place),
            constraint=MeanParity(scale=scale),
        ).fit(X, counts, sensitive_features=s, **settings)
        for place in ("cpu", device)
    )
    X_new = table(seed=1)[0]
    assert there.predict(X_new) == pytest.approx(on_cpu.predict(X_new), rel=1e-8)
    assert there.solver_info_.device == device
    assert there.parity_residual_ <= 1e-12


def test_what_a_fit_says_about_its_precision(device):
    X, y, s = table()
    info = pair(device, SOLVERS["mixed"], X, y, s)[1].solver_info_
    assert (info.precision, info.device, info.matrix_bytes) == ("tf32", device, 8 * 300**2)
    assert 1 <= info.steps <= 10
    assert info.system_residual <= 1e-12
    info = pair(device, SOLVERS["dense"], X, y, s)[1].solver_info_
    assert (info.precision, info.steps) == ("float64", 0)
    assert info.system_residual <= 1e-12


def test_a_small_device_computes_the_matrix_anew_or_refuses(device):
    """Memory is planned, so that a fit goes on with less, and says when there is too little."""
    X, y, s = table(600)
    exact = pair(device, SOLVERS["dense"], X, y, s)[0]
    small = Device(device, limit=7 * 600**2)
    model = ParityKernelRidge(kernel="rbf", gamma=0.2, fit_intercept=True)
    model.set_params(solver=Dense(device=small, precision="mixed"))
    model.fit(X, y, sensitive_features=s)
    assert model.solver_info_.matrix_bytes == 4 * 600**2
    assert model.solver_info_.precision in ("tf32", "3×tf32")
    assert model.predict(X) == pytest.approx(exact.predict(X), rel=0, abs=1e-10)
    assert max_mean_gap(None, model.predict(X)[:, 0], sensitive_features=s) <= 1e-13
    smaller = Device(device, limit=2**18)
    for solver in (Dense(device=small), Dense(device=smaller, precision="mixed")):
        with pytest.raises(MemoryError, match=r"of 600 rows needs .* on the device, but only"):
            model.set_params(solver=solver).fit(X, y, sensitive_features=s)


@pytest.mark.parametrize("settings", [{}, {"fit_intercept": True}, {"gammas": [0.05, 0.5]}])
def test_leave_one_out_by_an_eigendecomposition_there(device, settings):
    X, y, s = table(120)
    weights = np.resize([0.5, 1.0, 2.0], 120)
    settings = {"kernel": "rbf", "alphas": [0.1, 1.0, 10.0], **settings}
    on_cpu, there = (
        ParityKernelRidgeCV(solver=Dense(device=place), **settings).fit(
            X, y[:, 0], sensitive_features=s, sample_weight=weights
        )
        for place in ("cpu", device)
    )
    assert there.alpha_ == pytest.approx(on_cpu.alpha_, rel=1e-9)
    assert there.cv_results_["mean_squared_error"] == pytest.approx(
        on_cpu.cv_results_["mean_squared_error"], rel=1e-9
    )
    assert there.solver_info_.device == device


def test_folds_are_fitted_there(device):
    X, y, s = table(120)
    on_cpu, there = (
        ParityKernelRidgeCV(kernel="rbf", cv=3, alphas=[0.1, 1.0], solver=Dense(device=place)).fit(
            X, y[:, 0], sensitive_features=s
        )
        for place in ("cpu", device)
    )
    assert there.cv_results_["mean_squared_error"] == pytest.approx(
        on_cpu.cv_results_["mean_squared_error"], rel=1e-9
    )


@pytest.mark.parametrize("solver", ["dense", "nystrom"])
def test_files_do_not_hold_the_device(device, solver, tmp_path):
    X, y, s = table()
    model = pair(device, SOLVERS[solver], X, y, s)[1]
    expected = model.predict(X)
    assert pickle.loads(pickle.dumps(model)).predict(X) == pytest.approx(expected, abs=1e-12)
    save(model, tmp_path / "m.meanparity")
    again = load(tmp_path / "m.meanparity")
    assert again.solver_info_ == model.solver_info_
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("meanparity.kernels.device.DeviceKernel.evaluate", None)  # not used
        assert again.predict(X) == pytest.approx(expected, abs=1e-11)
