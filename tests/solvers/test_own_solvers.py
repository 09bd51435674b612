"""A user's own solver is treated like those of the package, and told what it lacks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

from meanparity import (
    Dense,
    Newton,
    Nystrom,
    ParityKernelClassifier,
    ParityKernelRegressor,
    ParityKernelRidge,
    ParityKernelRidgeCV,
    ParityRidge,
    Primal,
)
from meanparity.datasets import make_synthetic
from meanparity.solvers import Solver

X, Y, S = make_synthetic(40, 5, random_state=0)


@dataclass
class Halves:
    """Half of what another basis evaluates: coefficients are twice as large."""

    inner: Any

    def evaluate(self, rows, coef):
        return self.inner.evaluate(rows, coef / 2)


@dataclass
class HalfColumns(Halves):
    """The same of columns, which says so."""

    def as_columns(self, coef):
        theta, origin = self.inner.as_columns(coef)
        return theta / 2, origin


class Own(Solver):
    """What another solver returns, in a basis of its own."""

    def __init__(self, solver, basis):
        self.solver = solver
        self.basis = basis

    def solve(self, problem):
        found = self.solver.solve(problem)
        fair, free = (replace(fit, coef=2 * fit.coef) for fit in (found.fair, found.free))
        basis = self.basis(found.basis)
        return replace(found, fair=fair, free=free, basis=basis, directions=None)


class OwnLandmarks(Solver):
    """A user's approximation, here that of another solver, which says in which features it is."""

    exact = True

    def __init__(self, landmarks):
        self.landmarks = landmarks

    def solve(self, problem):
        return Nystrom(landmarks=self.landmarks).solve(problem)

    def solve_sums(self, problem, start):
        return Nystrom().solve_sums(problem, start)

    def feature_map(self, X, kernel, names=None):
        return Nystrom(landmarks=self.landmarks).feature_map(X, kernel, names)


@pytest.mark.parametrize("cv", [None, 4])
def test_cross_validation_is_about_the_features_of_a_solver(cv):
    """Its held-out error is that of fits without the rows, and not that of the exact kernel."""
    model = ParityKernelRidgeCV(kernel="rbf", gammas=[0.3], alphas=[0.5], cv=cv)
    errors = []
    for solver in (OwnLandmarks(X[:6]), Dense()):
        found = clone(model).set_params(solver=solver).fit(X, Y, sensitive_features=S)
        one = ParityKernelRidge(kernel="rbf", gamma=0.3, alpha=0.5, solver=solver)
        splits = KFold(len(Y) if cv is None else cv).split(X)
        squares = [
            (one.fit(X[train], Y[train], sensitive_features=S[train]).predict(X[test]) - Y[test])
            ** 2
            for train, test in splits
        ]
        errors.append(found.cv_results_["mean_squared_error"][0])
        assert errors[-1] == pytest.approx(np.concatenate(squares).mean(), rel=1e-9)
    assert abs(errors[0] - errors[1]) > 1e-3


def test_batches_and_other_losses_use_the_features_of_a_solver():
    ours, theirs = OwnLandmarks(X[:6]), Nystrom(landmarks=X[:6])
    for batch in (True, False):
        fits = []
        for solver in (ours, theirs):
            model = ParityKernelRidge(kernel="rbf", gamma=0.3, solver=solver)
            if batch:
                model.partial_fit(X, Y, sensitive_features=S)
            else:
                model = ParityKernelRegressor(loss="huber", kernel="rbf", gamma=0.3, solver=solver)
                model.fit(X, Y, sensitive_features=S)
            assert model.X_fit_.shape == (6, X.shape[1])
            fits.append(model.predict(X))
        assert np.array_equal(*fits)


class OnlySums(Primal):
    """It solves sums of columns, and says nothing about kernels."""


def test_sums_of_kernels_need_features():
    model = ParityKernelRidge(kernel="rbf", solver=OnlySums())
    with pytest.raises(ValueError, match="does not say which features stand for the kernel"):
        model.partial_fit(X, Y, sensitive_features=S)


class FromNewton(Newton):
    """A solver of other losses under another name."""


def test_subclasses_are_told_apart_as_their_bases():
    with pytest.raises(ValueError, match=r"solver=FromNewton\(\) is for other losses"):
        ParityKernelRidge(solver=FromNewton()).fit(X, Y, sensitive_features=S)


@pytest.mark.parametrize("offset", [0.0, 1e4], ids=["near", "far"])
@pytest.mark.parametrize("basis", [Halves, HalfColumns])
@pytest.mark.parametrize("solver", [Dense(), Primal()], ids=["rows", "columns"])
def test_any_basis(solver, basis, offset):
    known = ParityRidge().fit(X + offset, Y, sensitive_features=S)
    model = ParityRidge(solver=Own(solver, basis)).fit(X + offset, Y, sensitive_features=S)
    assert np.allclose(model.predict(X + offset), known.predict(X + offset), atol=1e-8)
    assert hasattr(model, "coef_") == (basis is HalfColumns)
    if basis is HalfColumns:
        assert np.allclose(model.coef_, known.coef_, atol=1e-10)
        assert model.intercept_ == pytest.approx(known.intercept_, rel=1e-8)


def test_rows_become_columns():
    """Coefficients of rows of a linear kernel, with and without an origin."""
    for fit_intercept in (True, False):
        model = ParityRidge(solver=Dense(), fit_intercept=fit_intercept)
        model.fit(X + 10, Y, sensitive_features=S)
        known = ParityRidge(fit_intercept=fit_intercept).fit(X + 10, Y, sensitive_features=S)
        assert np.allclose(model.coef_, known.coef_, atol=1e-10)
        assert model.intercept_ == pytest.approx(known.intercept_, abs=1e-8)
        rows = ParityKernelRidge(solver=Dense(), fit_intercept=fit_intercept)
        rows.fit(X + 10, Y, sensitive_features=S)
        values = (X + 10) @ (rows.X_fit_.T @ rows.dual_coef_) + rows.intercept_
        assert np.allclose(values, rows.predict(X + 10), atol=1e-8)
        assert not hasattr(rows, "coef_")


class Nothing(Solver):
    """It returns nothing."""

    any_loss = True

    def solve(self, problem):
        return None


class TwoOutputs(Primal):
    """It returns coefficients for another number of outputs."""

    def solve(self, problem):
        found = super().solve(problem)
        return replace(found, free=replace(found.free, coef=np.hstack([found.free.coef] * 2)))


@pytest.mark.parametrize(
    "model",
    [
        ParityRidge(solver=Nothing()),
        ParityKernelRidge(kernel="rbf", solver=Nothing()),
        ParityKernelRegressor(solver=Nothing()),
        ParityKernelRegressor(kernel="rbf", solver=Nystrom(10, optimizer=Nothing())),
    ],
    ids=lambda model: f"{type(model).__name__}-{type(model.solver).__name__}",
)
def test_what_is_no_solution(model):
    with pytest.raises(TypeError, match=r"Nothing\(\).solve returned NoneType. Return a Solution"):
        model.fit(X, Y, sensitive_features=S)


def test_coefficients_of_other_outputs():
    with pytest.raises(ValueError, match=r"shapes \(5, 1\) and \(5, 2\). Return one column"):
        ParityRidge(solver=TwoOutputs()).fit(X, Y, sensitive_features=S)


def test_names_are_those_of_classes_unless_stated():
    class Unnamed(Dense):
        pass

    assert (Nothing.name, Own.name, Unnamed.name) == ("nothing", "own", "dense")


class Namesake(Solver):
    """A solver of the name of another."""

    name = "newton"

    def solve(self, problem):
        return Primal().solve(problem)


def test_a_name_of_ours_does_not_matter():
    model = ParityRidge(solver=Namesake()).fit(X, Y, sensitive_features=S)
    assert model.solver_ == "primal"
    with pytest.raises(ValueError, match=r"solver=Newton\(\) is for other losses"):
        ParityRidge(solver=Newton()).fit(X, Y, sensitive_features=S)
    with pytest.raises(ValueError, match=r"solver=Dense\(\) minimises the squared error alone"):
        ParityKernelRegressor(solver=Dense()).fit(X, Y, sensitive_features=S)


@pytest.mark.parametrize("model", [ParityKernelRegressor(), ParityKernelClassifier()])
def test_solvers_of_the_squared_error_are_refused_for_other_losses(model):
    y = (np.median(Y) < Y).astype(float)
    with pytest.raises(ValueError, match=r"Namesake\(\) minimises the squared error alone") as told:
        model.set_params(solver=Namesake()).fit(X, y, sensitive_features=S)
    assert "say so in its class: any_loss = True" in str(told.value)
    model.set_params(kernel="rbf", solver=Nystrom(10, optimizer=Namesake()))
    with pytest.raises(ValueError, match=r"optimizer=Namesake\(\) does not minimise losses other"):
        model.fit(X, y, sensitive_features=S)
    with pytest.raises(ValueError, match=r"optimizer=Nystrom\(\) does not minimise losses other"):
        model.set_params(solver=Nystrom(10, optimizer=Nystrom())).fit(X, y, sensitive_features=S)


class Steps(Solver):
    """Newton's method, by another class; without some of what belongs to a solution."""

    any_loss = True

    def __init__(self, without=(), basis=None):
        self.without = without
        self.basis = basis

    def solve(self, problem):
        found = Newton().solve(problem)
        found = replace(found, **dict.fromkeys(self.without))
        return found if self.basis is None else replace(found, basis=self.basis(found.basis))


@pytest.mark.parametrize("approximate", [False, True], ids=["all rows", "landmarks"])
def test_own_solvers_of_any_loss(approximate):
    def fit(solver):
        solver = Nystrom(10, optimizer=solver) if approximate else solver
        model = ParityKernelRegressor(loss="huber", kernel="rbf", gamma=0.1, solver=solver)
        return model.fit(X, Y, sensitive_features=S)

    assert np.array_equal(fit(Steps()).predict(X), fit(Newton()).predict(X))
    for without, names in ((("runs",), "runs"), (("runs", "norms"), "runs and norms")):
        with pytest.raises(ValueError, match=f"Steps.solve returned a Solution without {names}"):
            fit(Steps(without))
    if approximate:
        with pytest.raises(ValueError, match="returned functions of Halves, which are not known"):
            fit(Steps(basis=Halves))
