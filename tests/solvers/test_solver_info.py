"""What a fit says about the solver that ran, and why it ran."""

from __future__ import annotations

import re

import pytest
from sklearn.base import clone

from meanparity import ParityKernelRegressor, ParityKernelRidge, ParityRidge, ParityWarning
from meanparity.solvers import conjugate_gradient
from meanparity.solvers.choose import resolve_loss_solver, resolve_solver
from tests.statistics.streams import table

CG = "conjugate_gradient"
RIDGE = {"auto", "primal", "dense", "spectral", CG, "nystrom"}
LOSS = {"auto", "newton", "lbfgs", "nystrom"}


def test_auto_takes_landmarks_where_an_exact_fit_is_out_of_reach(monkeypatch):
    X, y, s = table(14)
    model = ParityKernelRidge(kernel="rbf")
    assert model.fit(X, y, sensitive_features=s).solver_ == "dense"
    monkeypatch.setattr("meanparity.solvers.choose.MOST_EXACT_ROWS", 100)
    with pytest.warns(ParityWarning, match="with 500 landmarks, because an exact fit to 120"):
        model.fit(X, y, sensitive_features=s)
    assert model.solver_ == "nystrom"
    assert "because an exact fit to 120 rows takes long" in model.solver_info_.reason
    assert ParityKernelRidge().fit(X, y, sensitive_features=s).solver_ == "primal"
    dense = ParityKernelRidge(kernel="rbf", solver="dense").fit(X, y, sensitive_features=s)
    assert dense.solver_ == "dense"
    monkeypatch.undo()
    monkeypatch.setattr("meanparity.solvers.choose.available_bytes", lambda: 100_000)
    assert model.fit(X, y, sensitive_features=s).solver_ == "dense"  # 16 MiB are always there
    many, targets, groups = table(14, 1440)
    with pytest.warns(ParityWarning, match=r"of 1,440 rows does not fit into 97\.66 KiB"):
        model.fit(many, targets, sensitive_features=groups)
    assert model.solver_ == "nystrom"
    explicit = clone(model).set_params(solver="nystrom").fit(X, y, sensitive_features=s)
    assert explicit.solver_info_.reason.endswith(", asked for")


def test_conjugate_gradients_that_converge():
    X, y, s = table(0, 400)
    model = ParityKernelRidge(kernel="rbf", gamma=0.3, solver=CG).fit(X, y, sensitive_features=s)
    info = model.solver_info_
    assert (model.solver_, info.solver, info.reason) == (CG, CG, "asked for")
    assert info.matrix_bytes == 8 * 400 * 80  # a preconditioner of rank 4·√n, and no n × n matrix


def test_conjugate_gradients_that_give_up(monkeypatch):
    """The solver that ran is named, with its matrix and with why it was not the one asked for."""
    X, y, s = table(1)
    monkeypatch.setattr(conjugate_gradient, "_PATIENCE", 0)
    model = ParityKernelRidge(kernel="rbf", gamma=0.3, solver=CG)
    with pytest.warns(ParityWarning, match="It is factored instead"):
        model.fit(X, y, sensitive_features=s)
    info = model.solver_info_
    assert (model.solver_, info.solver) == ("dense", "dense")
    assert info.reason == "conjugate gradients did not converge"
    assert info.matrix_bytes == 8 * 120**2


@pytest.mark.filterwarnings("ignore:The kernel matrix is indefinite", "ignore:A gap of")
def test_conjugate_gradients_of_an_indefinite_kernel():
    X, y, s = table(2)
    model = ParityKernelRidge(kernel="sigmoid", gamma=2.0, coef0=-1.0, solver=CG, alpha=0.1)
    with pytest.warns(ParityWarning, match="It is factored instead"):
        model.fit(X, y, sensitive_features=s)
    info = model.solver_info_
    assert info.solver == "spectral"
    assert info.reason == (
        "conjugate gradients did not converge; K + alpha·I is singular or indefinite"
    )
    assert info.matrix_bytes == 8 * 120**2


@pytest.mark.parametrize(
    ("model", "resolve", "names"),
    [
        (ParityRidge(), resolve_solver, RIDGE),
        (ParityKernelRidge(kernel="rbf"), resolve_solver, RIDGE),
        (ParityKernelRegressor(), resolve_loss_solver, LOSS),
    ],
    ids=["columns", "kernel", "loss"],
)
def test_an_unknown_solver_is_answered_with_all_known_ones(model, resolve, names):
    X, y, s = table(3)
    with pytest.raises(ValueError, match="solver='magic' is not known here") as error:
        clone(model).set_params(solver="magic").fit(X, y, sensitive_features=s)
    assert set(re.findall(r"'(\w+)'", str(error.value))) == {"magic", *names}
    for name in names:
        assert resolve(name).name == name
