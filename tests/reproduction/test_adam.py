"""The paper's Adam: against a naive implementation, and its properties."""

from __future__ import annotations

import numpy as np
import pytest

from meanparity import ParityKernelRegressor
from meanparity.losses import SmoothL1
from reproduction.adam import descend
from tests.oracles.adam import adam_history
from tests.oracles.metrics import smd


def problem(groups, n=60):
    """Correlated features, among them a constant column, and targets with a few outliers."""
    rng = np.random.default_rng(groups)
    s = rng.permutation(np.arange(n) % groups).astype(float)
    X = np.column_stack([rng.normal(size=(n, 3)), np.ones(n)])
    X[:, 0] += s
    X[:, 1] += 0.5 * X[:, 0]
    y = X @ [1.0, -0.5, 0.3, 0.0] + s + 0.3 * rng.standard_t(3, size=n)
    return X, y - y.mean(), s


@pytest.mark.parametrize("fair", [False, True])
@pytest.mark.parametrize("beta", [0.1, 1.0])
@pytest.mark.parametrize("groups", [2, 3])
def test_the_history_is_that_of_the_naive_implementation(groups, beta, fair):
    X, y, s = problem(groups)
    options = {"fair": fair, "learning_rate": 1e-2, "steps": 300}
    loss, gap = adam_history(X, y, s, beta, **options)
    history = descend(X, y, s, SmoothL1(beta), **options)
    np.testing.assert_allclose(history.loss, loss, rtol=1e-10)
    np.testing.assert_allclose(history.gap, gap, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("fair", [False, True])
def test_it_starts_at_zero_and_records_every_step(fair):
    X, y, s = problem(2)
    history = descend(X, y, s, SmoothL1(0.1), fair=fair, learning_rate=1e-3, steps=300)
    assert len(history.loss) == len(history.gap) == 301
    assert history.loss[0] == pytest.approx(SmoothL1(0.1).value(y, np.zeros(60)).mean(), rel=1e-14)
    assert history.gap[0] == 0
    assert np.all(np.diff(history.loss) < 0)


@pytest.mark.parametrize("groups", [2, 3])
def test_parity_holds_at_every_step_of_fair_descent_only(groups):
    X, y, s = problem(groups)
    fair, free = (
        descend(X, y, s, SmoothL1(0.1), fair=fair, learning_rate=1e-2, steps=300)
        for fair in (True, False)
    )
    assert fair.gap.max() <= 1e-13 * y.std()
    assert free.gap[-1] > 0.1 * y.std()


def test_several_sensitive_columns_form_a_group_for_each_combination():
    X, y, s = problem(4)
    options = {"fair": True, "learning_rate": 1e-2, "steps": 50}
    together = descend(X, y, s, SmoothL1(), **options)
    columns = descend(X, y, np.column_stack([s // 2, s % 2]), SmoothL1(), **options)
    np.testing.assert_allclose(columns.loss, together.loss, rtol=1e-13)


@pytest.mark.parametrize("fair", [False, True])
def test_it_converges_to_the_optimum_of_the_estimator(fair):
    X, y, s = problem(2)
    model = ParityKernelRegressor(loss=SmoothL1(1.0), alpha=0.0, unfairness=0.0 if fair else 1.0)
    predicted = model.fit(X, y, sensitive_features=s).predict(X)
    history = descend(X, y, s, SmoothL1(1.0), fair=fair, learning_rate=1e-2, steps=1500)
    assert history.loss[-1] == pytest.approx(SmoothL1(1.0).value(y, predicted).mean(), rel=1e-6)
    assert history.gap[-1] == pytest.approx(smd(predicted, s), rel=1e-3, abs=1e-12)
