from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_squared_error, r2_score

from meanparity import (
    MeanParity,
    ParityKernelRidge,
    ParityRidge,
    Primal,
)
from meanparity.datasets import make_synthetic
from meanparity.metrics import max_mean_gap, mean_parity_gap
from meanparity.tradeoff.curve import check_unfairness, curve_sums
from tests.problems import cases


@pytest.mark.filterwarnings("ignore:Only a constant")
@given(case=cases(), u=st.floats(0, 1), alpha=st.sampled_from([0.0, 0.1, 1.0, 100.0]))
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_objective_is_the_papers_quadratic_for_ridge(case, u, alpha, fit_intercept):
    model = ParityRidge(alpha=alpha, fit_intercept=fit_intercept, unfairness=u)
    model.fit(case.X, case.y, sensitive_features=case.codes)
    residual = case.y - model.predict(case.X)
    actual = residual @ residual + alpha * model.coef_ @ model.coef_
    assert abs(model.tradeoff_.objective(u) - actual) <= 1e-10 * (case.y @ case.y)
    if alpha == 0:  # then it is the squared error itself, label pro::relax_sol of the paper
        curve = model.tradeoff_.training_curve([u])
        assert abs(curve.mse[0] * len(case.y) - actual) <= 1e-10 * (case.y @ case.y)


@pytest.mark.filterwarnings("ignore:Only a constant")
@given(case=cases(), u=st.floats(0, 1), alpha=st.sampled_from([0.01, 1.0, 100.0]))
def test_the_objective_is_the_papers_quadratic_for_kernels(case, u, alpha):
    gamma = 1 / case.X.var() if case.X.var() > 0 else 1.0
    model = ParityKernelRidge(kernel="rbf", gamma=gamma, alpha=alpha, unfairness=u)
    model.fit(case.X, case.y, sensitive_features=case.codes)
    distances = ((case.X[:, None] - case.X) ** 2).sum(axis=2)
    K, c = np.exp(-gamma * distances), model.dual_coef_
    residual = case.y - K @ c
    actual = residual @ residual + alpha * c @ K @ c
    assert abs(model.tradeoff_.objective(u) - actual) <= 1e-10 * (case.y @ case.y)


@pytest.fixture
def fitted():
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((120, 3)), rng.integers(0, 3, 120)
    Y = np.stack([X[:, 0] + s, np.sin(X[:, 1]) - s], axis=1) + 0.1 * rng.standard_normal((120, 2))
    return X, Y, s


@pytest.mark.parametrize("outputs", [1, 2])
def test_predictions_along_the_dial(outputs, fitted):
    X, Y, s = fitted
    Y = Y[:, 0] if outputs == 1 else Y
    positions = [0.0, 0.25, 1.0]
    tradeoff = ParityKernelRidge(kernel="rbf").fit(X, Y, sensitive_features=s).tradeoff_
    together = tradeoff.predict(X[:7], unfairness=positions)
    assert together.shape == ((3, 7) if outputs == 1 else (3, 7, 2))
    for u, values in zip(positions, together, strict=True):
        refit = ParityKernelRidge(kernel="rbf", unfairness=u).fit(X, Y, sensitive_features=s)
        assert np.allclose(values, refit.predict(X[:7]), rtol=1e-12, atol=1e-12)
        assert np.allclose(values, tradeoff.at(u).predict(X[:7]), rtol=1e-12, atol=1e-12)
    assert tradeoff.predict(X[:7], unfairness=0.5).shape[0] == 1
    assert np.shape(tradeoff.objective(0.5)) == (() if outputs == 1 else (2,))


def test_many_positions_cost_one_evaluation(fitted):
    X, Y, s = fitted
    calls = []

    def kernel(a, b):
        calls.append(1)
        return float(a @ b)

    tradeoff = ParityKernelRidge(kernel=kernel).fit(X, Y, sensitive_features=s).tradeoff_
    calls.clear()
    tradeoff.predict(X[:5], unfairness=np.linspace(0, 1, 51))
    assert len(calls) == 5 * len(X)
    calls.clear()
    tradeoff.training_curve()
    assert not calls


@pytest.mark.parametrize("outputs", [1, 2])
def test_curve_is_what_the_metrics_say(outputs, fitted):
    X, Y, s = fitted
    Y = Y[:, 0] if outputs == 1 else Y
    tradeoff = ParityRidge().fit(X[:80], Y[:80], sensitive_features=s[:80]).tradeoff_
    for rows in (slice(0, 80), slice(80, 120)):
        curve = tradeoff.curve(X[rows], Y[rows], s[rows])
        assert np.allclose(curve.unfairness, np.arange(51) / 50, rtol=0, atol=1e-15)
        for i in (0, 13, 50):
            values = tradeoff.at(curve.unfairness[i]).predict(X[rows])
            assert np.isclose(curve.mse[i], mean_squared_error(Y[rows], values))
            assert np.isclose(curve.r2[i], r2_score(Y[rows], values))
            smd = np.max(mean_parity_gap(None, values, sensitive_features=s[rows]))
            gap = np.max(max_mean_gap(None, values, sensitive_features=s[rows]))
            assert np.isclose(curve.smd[i], smd, atol=1e-12)
            assert np.isclose(curve.max_gap[i], gap, atol=1e-12)
    training, there = tradeoff.training_curve(), tradeoff.curve(X[:80], Y[:80], s[:80])
    for name in ("unfairness", "mse", "r2", "smd", "max_gap"):
        assert np.allclose(getattr(training, name), getattr(there, name), atol=1e-12)
    assert training.smd[0] <= 1e-12
    assert np.allclose(training.smd, training.unfairness * training.smd[-1], atol=1e-12)


def test_curve_prints_in_a_line_and_turns_into_a_frame(fitted):
    X, Y, s = fitted
    model = ParityRidge().fit(X, Y, sensitive_features=s)
    curve = model.tradeoff_.training_curve()
    frame = curve.to_frame()
    assert frame.shape == (51, 6)
    assert frame["mse"].tolist() == curve.mse.tolist()
    assert repr(curve).startswith("TradeoffCurve(51 points; unfairness 0 to 1; mse ")
    for shown in (curve, model.tradeoff_, model.tradeoff_.at(0.3)):
        assert len(repr(shown)) < 250


def test_curve_of_a_constant_target_has_no_r2():
    curve = curve_sums([1.0, 1.0], [1.0, 2.0], [1.0, 1.0], ["a", "b"]).curve([0.0])
    assert np.isnan(curve.r2[0])
    assert curve.mse[0] == 0.5


@pytest.mark.parametrize("wrong", [-0.1, 1.1, np.nan, np.inf, "a", "0.5", None, True, [0.5, 2.0]])
def test_positions_outside_the_dial(wrong, fitted):
    X, Y, s = fitted
    with pytest.raises(ValueError, match="is not a number between 0 and 1"):
        check_unfairness(wrong)
    tradeoff = ParityRidge().fit(X, Y, sensitive_features=s).tradeoff_
    with pytest.raises(ValueError, match="is not a number between 0 and 1"):
        tradeoff.predict(X, unfairness=wrong)


def test_curve_refuses_what_does_not_fit_together(fitted):
    X, Y, s = fitted
    tradeoff = ParityRidge().fit(X, Y, sensitive_features=s).tradeoff_
    with pytest.raises(ValueError, match=r"y has shape \(119, 2\), but the predictions"):
        tradeoff.curve(X, Y[1:], s)
    with pytest.raises(ValueError, match="has 119 rows, but the data have 120"):
        tradeoff.curve(X, Y, s[1:])
    with pytest.raises(ValueError, match="unfairness is empty"):
        tradeoff.curve(X, Y, s, [])
    with pytest.raises(ValueError, match="groups of these rows are not known"):
        tradeoff.curve(X, Y)


def test_curve_finds_the_sensitive_columns_in_x(fitted):
    X, Y, s = fitted
    X = np.column_stack([X, s])
    model = ParityRidge(sensitive_columns=-1).fit(X, Y[:, 0])
    inside, outside = model.tradeoff_.curve(X, Y[:, [0]]), model.tradeoff_.curve(X, Y[:, 0], s)
    assert np.array_equal(inside.smd, outside.smd)
    assert np.array_equal(inside.mse, outside.mse)
    dropped = ParityRidge(sensitive_columns=-1, drop_sensitive=True).fit(X, Y[:, 0])
    assert np.allclose(dropped.predict(X), dropped.predict(X[:, :3]), rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="the sensitive ones among them"):
        dropped.tradeoff_.curve(X[:, :3], Y[:, 0])
    assert dropped.tradeoff_.curve(X[:, :3], Y[:, 0], s).smd[0] <= 1e-12


@pytest.mark.filterwarnings("ignore:Only a constant", "ignore:The unconstrained fit meets")
@given(case=cases(), share=st.floats(0, 1.2), alpha=st.sampled_from([0.0, 1.0]))
def test_the_dial_in_the_users_units(case, share, alpha):
    model = ParityRidge(alpha=alpha).fit(case.X, case.y, sensitive_features=case.codes)
    tradeoff = model.tradeoff_
    free = tradeoff.at(1.0).predict(case.X)
    by = {"sensitive_features": case.codes}
    limit = share * max_mean_gap(None, free, **by)
    function = tradeoff.for_gap(limit)
    assert max_mean_gap(None, function.predict(case.X), **by) <= limit + 1e-8 * case.scale
    limited = ParityRidge(alpha=alpha, max_gap=limit)
    limited.fit(case.X, case.y, **by)
    predicted = limited.predict(case.X)
    assert limited.unfairness_ == function.unfairness
    assert np.allclose(predicted, function.predict(case.X))
    sizes = [abs(gap) for gap in limited.gaps_.values()]
    largest = max_mean_gap(None, predicted, **by)
    assert max(sizes, default=0.0) == pytest.approx(largest, abs=1e-9 * case.scale)


def test_ends_of_the_dial_in_the_users_units(fitted):
    X, Y, s = fitted
    for y in (Y[:, 0], Y):
        tradeoff = ParityRidge().fit(X, y, sensitive_features=s).tradeoff_
        assert tradeoff.for_gap(0).unfairness == 0.0
        assert tradeoff.for_smd(0).unfairness == 0.0
        assert tradeoff.for_gap(1e6).unfairness == 1.0
        assert tradeoff.for_smd(1e6).unfairness == 1.0
        assert tradeoff.for_loss_increase(0).unfairness == 1.0
        assert tradeoff.for_loss_increase(1e6).unfairness == 0.0
        assert repr(tradeoff.for_gap(0)) == "FittedFunction(unfairness=0.0)"
    for find in (tradeoff.for_gap, tradeoff.for_smd, tradeoff.for_loss_increase):
        for wrong in (-1, np.nan, np.inf, "1", None, True):
            with pytest.raises(ValueError, match="is not a finite number of 0 or more"):
                find(wrong)


def test_means_that_the_constraint_does_not_equalise(fitted):
    """Zero covariance leaves three means apart; gaps and budgets are about the covariances."""
    X, Y, s = fitted
    uncorrelated = ParityRidge(constraint="covariance_parity")
    tradeoff = uncorrelated.fit(X, Y[:, 0], sensitive_features=s).tradeoff_
    curve = tradeoff.training_curve(np.linspace(0, 1, 1001))
    least, most = curve.max_gap.min(), curve.max_gap[-1]
    assert least > 1e-3 * most
    limited = ParityRidge(constraint="covariance_parity", max_gap=0.0)
    assert limited.fit(X, Y[:, 0], sensitive_features=s).unfairness_ == 0.0
    assert max(map(abs, limited.gaps_.values())) < 1e-12
    means = list(limited.group_means_.values())
    assert max(means) - min(means) > 1e-3 * most
    name, free = next(iter(uncorrelated.gaps_)), tradeoff.solution.gaps[1, 0, 0]
    halved = limited.set_params(max_gap={name: abs(free) / 2}).fit(X, Y[:, 0], sensitive_features=s)
    assert halved.gaps_ == pytest.approx({name: free / 2})
    assert tradeoff.for_gap(0.0).unfairness == tradeoff.for_smd(0.0).unfairness == 0.0


@pytest.mark.filterwarnings("ignore:No function of this space")
@given(seed=st.integers(0, 10**6), share=st.floats(0.0, 1.5), outputs=st.integers(1, 2))
def test_limits_hold_where_not_all_conditions_can_be_met(seed, share, outputs):
    """After a compromise a gap may grow towards the free solution, or shrink, or change sign."""
    rng = np.random.default_rng(seed)
    X, s = rng.standard_normal((60, 2)), rng.integers(0, 5, 60)
    Y = rng.standard_normal((60, outputs)) + rng.standard_normal((5, outputs))[s]
    model = ParityRidge(constraint="residual_parity").fit(X, Y, sensitive_features=s)
    tradeoff = model.tradeoff_
    grid = np.linspace(0, 1, 401)
    errors = tradeoff.predict(X, grid).reshape(401, 60, outputs) - Y

    def largest(values):  # (p, 60, m): of the outputs the largest, for each of p
        flat = values.transpose(1, 0, 2).reshape(60, -1)
        return max_mean_gap(None, flat, sensitive_features=s).reshape(-1, outputs).max(axis=1)

    sizes = largest(errors)
    limit = share * sizes.max()
    allowed = sizes <= limit
    try:
        function = tradeoff.for_gap(limit)
    except ValueError:
        assert not allowed.any()
        return
    found = function.predict(X).reshape(1, 60, outputs) - Y
    assert largest(found)[0] <= limit + 1e-9


def test_a_limit_of_zero_where_there_is_no_gap(fitted):
    X, Y, _ = fitted
    twice, s = np.vstack([X, X]), np.repeat(["a", "b"], 120)
    for y in (np.tile(Y[:, 0], 2), np.tile(Y[:, 0], 2) + 1e6):
        model = ParityRidge(max_gap=0.0).fit(twice, y, sensitive_features=s)
        assert model.parity_residual_ <= 1e-8
        assert model.tradeoff_.for_smd(0.0).unfairness <= 1.0
    flat = np.column_stack([Y[:, 0], np.ones(120)])
    ParityRidge(max_gap=0.0).fit(X, flat, sensitive_features=np.arange(120) % 3)


@pytest.mark.parametrize("scope", ["both", "loss", "constraint"])
def test_curves_of_the_training_rows_agree_in_every_scope(scope, fitted):
    X, Y, s = fitted
    weights = np.random.default_rng(0).uniform(0, 2, 120)
    model = ParityRidge(constraint=MeanParity(weight_scope=scope))
    model.fit(X, Y[:, 0], sensitive_features=s, sample_weight=weights)
    there = model.tradeoff_.curve(X, Y[:, 0], s, sample_weight=weights)
    here = model.tradeoff_.training_curve()
    for name in ("mse", "r2", "smd", "max_gap"):
        assert np.allclose(getattr(here, name), getattr(there, name), atol=1e-12), name


def test_curves_between_predictions_compare_groups():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 25, 400)  # numbers with many values, but here each is a group
    y = rng.standard_normal(400)
    curve = curve_sums(y, y, y + codes, codes).curve([1.0])
    assert curve.smd[0] == pytest.approx(mean_parity_gap(None, y + codes, sensitive_features=codes))


class NoDirections(Primal):
    """A user's solver, which returns both ends and nothing else."""

    def solve(self, problem):
        return replace(super().solve(problem), directions=None)


def test_multipliers_need_directions():
    X, y, s = make_synthetic(60, 4, random_state=0)
    model = ParityRidge(solver=NoDirections()).fit(X, y, sensitive_features=s)
    with pytest.raises(
        ValueError, match=r"^The solver returned no directions .*Use at, or another solver"
    ):
        model.tradeoff_.with_multipliers([1.0])
