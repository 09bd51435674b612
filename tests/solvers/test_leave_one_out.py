"""Leave-one-out predictions beside n fits to n − 1 rows."""

from __future__ import annotations

import numpy as np
import pytest

from meanparity import ParityKernelRidge, ParityRidge
from meanparity.constraints import CovarianceParity, Functionals, MeanParity, ResidualParity
from meanparity.constraints.left_out import LeftOut
from meanparity.data.rows import Rows
from meanparity.kernels import Kernel
from meanparity.solvers.held_out import LeaveOneOut, Smoother, _determinants
from meanparity.solvers.problem import ConstrainedProblem

KERNELS = {
    "rbf": {"kernel": "rbf", "gamma": 0.3},
    "laplacian": {"kernel": "laplacian", "gamma": 0.2},
    "polynomial": {"kernel": "polynomial", "gamma": 0.3, "degree": 2, "coef0": 1},
}

GROUPS = MeanParity(continuous=[], min_group_size=0)  # every value is a group


def problem(seed=0, n=40, sizes=(0.5, 0.3, 0.2), outputs=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    s = np.sort(rng.choice(len(sizes), p=sizes, size=n))
    s[-1] = len(sizes)  # a group of one
    Y = np.sin(X @ rng.normal(size=(3, outputs))) + 0.5 * s[:, None] + rng.normal(size=(n, outputs))
    return X, Y, s


def brute(model, X, Y, s, weights=None, control=None):
    """Both ends, each row by a fit to the others."""
    fair, free = np.empty_like(Y), np.empty_like(Y)
    for i in range(len(Y)):
        keep = np.arange(len(Y)) != i
        people = {"sensitive_features": s[keep]}
        if weights is not None:
            people["sample_weight"] = weights[keep]
        if control is not None:
            people["control_features"] = control[keep]
        model.fit(X[keep], Y[keep], **people)
        for end, u in ((fair, 0.0), (free, 1.0)):
            end[i] = model.tradeoff_.at(u).predict(X[[i]])[0]
    return fair, free


def fast(smoother, Y, s, constraint, alpha, weights=None, control=None):
    values = Y if constraint.training_only else None
    rows = Rows.from_columns(
        s, n_rows=len(Y), continuous=[], control_features=control, sample_weight=weights, y=values
    )
    left_out = LeftOut.compute(rows, constraint)
    (found,) = LeaveOneOut(smoother, Y, left_out).predict(np.array([alpha]))
    return found


def smoother_of(X, Y, weights, fit_intercept, kernel="linear", **options):
    none = Functionals.none(len(X))
    kernel = Kernel(kernel, **options)
    return Smoother.from_problem(
        ConstrainedProblem(X, Y, np.ones(Y.shape[1]), none, fit_intercept, kernel, weights)
    )


def check(found, expected, Y):
    for one, other in zip(found, expected, strict=True):
        assert np.abs(one - other).max() <= 1e-10 * Y.std()


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("alpha", [1e-2, 1.0, 100.0])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_kernel_functions(name, alpha, fit_intercept):
    X, Y, s = problem(outputs=2)
    kernel = KERNELS[name]
    model = ParityKernelRidge(alpha=alpha, fit_intercept=fit_intercept, constraint=GROUPS, **kernel)
    smoother = smoother_of(X, Y, None, fit_intercept, **kernel)
    check(fast(smoother, Y, s, GROUPS, alpha), brute(model, X, Y, s), Y)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 30.0])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_linear_functions(alpha, fit_intercept):
    X, Y, s = problem(1, n=60)
    X = np.column_stack([X, np.random.default_rng(2).normal(size=(60, 3))])
    model = ParityRidge(alpha=alpha, fit_intercept=fit_intercept, constraint=GROUPS)
    smoother = smoother_of(X, Y, None, fit_intercept)
    check(fast(smoother, Y, s, GROUPS, alpha), brute(model, X, Y, s), Y)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_weights(fit_intercept):
    X, Y, s = problem(3)
    weights = np.random.default_rng(4).choice([0.5, 1.0, 3.0], len(Y))
    model = ParityKernelRidge(
        kernel="rbf", gamma=0.3, fit_intercept=fit_intercept, constraint=GROUPS
    )
    smoother = smoother_of(X, Y, weights, fit_intercept, **KERNELS["rbf"])
    found = fast(smoother, Y, s, GROUPS, 1.0, weights=weights)
    check(found, brute(model, X, Y, s, weights=weights), Y)


@pytest.mark.parametrize(
    "constraint",
    [
        GROUPS,
        CovarianceParity("linear", continuous=[], min_group_size=0),
        CovarianceParity("rbf", gamma=0.5, continuous=[], min_group_size=0),
        ResidualParity(continuous=[], min_group_size=0),
    ],
)
def test_notions(constraint):
    X, Y, s = problem(5)
    model = ParityKernelRidge(kernel="rbf", gamma=0.3, constraint=constraint)
    smoother = smoother_of(X, Y, None, False, **KERNELS["rbf"])
    check(fast(smoother, Y, s, constraint, 1.0), brute(model, X, Y, s), Y)


@pytest.mark.filterwarnings("ignore::meanparity.ParityWarning")
def test_strata():
    X, Y, s = problem(6, sizes=(0.6, 0.4))
    control = np.random.default_rng(7).choice(["low", "high"], len(Y))
    model = ParityKernelRidge(kernel="rbf", gamma=0.3, constraint=GROUPS)
    smoother = smoother_of(X, Y, None, False, **KERNELS["rbf"])
    found = fast(smoother, Y, s, GROUPS, 1.0, control=control)
    check(found, brute(model, X, Y, s, control=control), Y)


def test_duplicated_rows_and_two_groups():
    X, Y, s = problem(8, n=30, sizes=(0.5, 0.5))
    s = np.minimum(s, 1)
    X[5:10] = X[0]
    model = ParityKernelRidge(kernel="rbf", gamma=0.3, constraint=GROUPS)
    smoother = smoother_of(X, Y, None, True, **KERNELS["rbf"])
    check(
        fast(smoother, Y, s, GROUPS, 1.0),
        brute(model.set_params(fit_intercept=True), X, Y, s),
        Y,
    )


def test_the_fixed_constraint_is_another_number():
    """The textbook's formula, which keeps the constraint of all rows, is not this one."""
    X, Y, s = problem(9)
    smoother = smoother_of(X, Y, None, False, **KERNELS["rbf"])
    fair, free = fast(smoother, Y, s, GROUPS, 1.0)
    model = ParityKernelRidge(kernel="rbf", gamma=0.3, constraint=GROUPS)
    model.fit(X, np.eye(len(Y)), sensitive_features=s)
    hat = model.predict(X)
    fixed = Y - (Y - hat @ Y) / (1 - np.diag(hat)[:, None])
    assert np.abs(fixed - fair).max() > 1e-3
    assert np.abs(free - fair).max() > 1e-3


def test_without_its_only_member_a_second_group_asks_for_nothing():
    X, Y, s = problem(10, n=20, sizes=(1.0,))
    assert (np.bincount(s) == [19, 1]).all()
    smoother = smoother_of(X, Y, None, False, **KERNELS["rbf"])
    fair, free = fast(smoother, Y, s, GROUPS, 1.0)
    assert np.array_equal(fair[-1], free[-1])
    assert np.abs(fair - free)[:-1].min() > 0


@pytest.mark.filterwarnings("ignore:Only a constant meets")
def test_more_conditions_than_functions():
    X, Y, s = problem(11, n=30)
    X = X[:, :1]
    model = ParityRidge(constraint=GROUPS)
    smoother = smoother_of(X, Y, None, True)
    check(fast(smoother, Y, s, GROUPS, 1.0), brute(model, X, Y, s), Y)


def test_determinants_do_not_depend_on_units():
    """Of matrices scaled to diagonals of one; without a diagonal there is nothing to scale."""
    gram = np.array([[[4.0, 1.0], [1.0, 9.0]], [[1e-20, 0.0], [0.0, 1e20]], np.zeros((2, 2))])
    assert _determinants(gram) == pytest.approx([1 - 1 / 36, 1.0, 0.0])
