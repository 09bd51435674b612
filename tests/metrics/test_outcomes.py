"""Errors, calibration, separation and sufficiency by group."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error, mean_pinball_loss, mean_squared_error

from meanparity.metrics import (
    calibration_by_group,
    max_error_gap,
    parity_scorer,
    prediction_errors,
    separation_information,
    sufficiency_information,
)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    s = rng.choice(list("abc"), 200)
    y = rng.normal(size=200)
    return y, y + rng.normal(size=200) * (1 + (s == "b")), s, rng.uniform(0.5, 2, 200)


@pytest.mark.parametrize(
    ("error", "peer"),
    [
        ("squared", mean_squared_error),
        ("absolute", mean_absolute_error),
        (0.8, lambda y, g: mean_pinball_loss(y, g, alpha=0.8)),
        ("signed", lambda y, g: np.mean(g - y)),
    ],
)
def test_errors_are_those_of_scikit_learn(data, error, peer):
    y, g, s, _ = data
    assert prediction_errors(y, g, error).mean() == pytest.approx(peer(y, g))
    expected = max(abs(peer(y[s == j], g[s == j]) - peer(y, g)) for j in "abc")
    assert max_error_gap(y, g, sensitive_features=s, error=error) == pytest.approx(expected)
    scorer = parity_scorer("max_error_gap", sensitive_columns=0, error=error)

    class Given(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            return self

        def predict(self, X):
            return g

    X = np.column_stack([np.searchsorted(list("abc"), s), g])
    assert scorer(Given(), X, y) == pytest.approx(-expected)


def test_weights_count_in_errors_and_calibration(data):
    y, g, s, w = data
    whole = np.rint(3 * w).astype(int)
    again = [np.repeat(part, whole) for part in (y, g, s)]
    assert max_error_gap(y, g, sensitive_features=s, sample_weight=whole) == pytest.approx(
        max_error_gap(*again[:2], sensitive_features=again[2])
    )
    one = calibration_by_group(y, g, sensitive_features=s, sample_weight=whole, n_bins=1)
    other = calibration_by_group(*again[:2], sensitive_features=again[2], n_bins=1)
    for a, b in zip(one, other, strict=True):
        assert (a.bias, a.slope) == pytest.approx((b.bias, b.slope))
        assert a.bins[0][:2] == pytest.approx(b.bins[0][:2])


def test_calibration_is_a_regression_in_each_group(data):
    y, g, s, _ = data
    found = calibration_by_group(y, g, sensitive_features=s)
    for part in found:
        rows = s == part.group
        line = LinearRegression().fit(g[rows, None], y[rows])
        assert part.slope == pytest.approx(line.coef_[0])
        assert part.bias == pytest.approx((y - g)[rows].mean())
        assert part.size == rows.sum() == sum(n for _, _, n in part.bins)
        assert sum(n * m for _, m, n in part.bins) == pytest.approx(y[rows].sum())
        assert [p for p, _, _ in part.bins] == sorted(p for p, _, _ in part.bins)
    constant = calibration_by_group(y, np.full(200, 0.1), sensitive_features=s)
    assert all(np.isnan(part.slope) and len(part.bins) == 1 for part in constant)


def test_information_of_normal_values_is_the_one_of_the_formula():
    """For ŷ = y + d·s + noise, the classes differ by a shift d of unit variance given y."""
    rng = np.random.default_rng(1)
    n, d = 40_000, 1.0
    s, y = rng.integers(0, 2, n), rng.normal(size=n)
    g = y + d * s + rng.normal(size=n)
    t = d * s + rng.normal(size=n)  # what ŷ adds to y
    p = 1 / (1 + np.exp(-(d * t - d * d / 2)))
    expected = 1 + np.mean(np.where(s, np.log(p), np.log(1 - p))) / np.log(2)
    assert separation_information(y, g, sensitive_features=s) == pytest.approx(expected, abs=0.01)
    assert sufficiency_information(g, y, sensitive_features=s) == pytest.approx(expected, abs=0.01)


def test_each_notion_may_hold_without_the_other():
    rng = np.random.default_rng(2)
    s = rng.integers(0, 3, 6000)
    y = rng.normal(size=6000) + 1.5 * (s == 2)
    g = y + rng.normal(size=6000)  # depends on y alone
    assert separation_information(y, g, sensitive_features=s) < 0.005
    assert sufficiency_information(y, g, sensitive_features=s) > 0.03
    y, g = g, y  # y depends on ŷ alone
    assert sufficiency_information(y, g, sensitive_features=s) < 0.005
    assert separation_information(y, g, sensitive_features=s) > 0.03


def test_units_and_weights_of_separation(data):
    y, g, s, w = data
    one = separation_information(y, g, sensitive_features=s)
    assert separation_information(1e5 * y + 3, 1e-4 * g, sensitive_features=s) == pytest.approx(one)
    equal = separation_information(y, g, sensitive_features=s, sample_weight=np.ones(200))
    assert equal == pytest.approx(one)
    assert separation_information(y, g, sensitive_features=s, sample_weight=w) != one


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0], [1.0, 2.0], "cubic"), "error='cubic' is not known"),
        (([0.0, 1.0], [1.0, 2.0], 1.5), "error=1.5 is not known"),
        ((np.ones((2, 2)), [1.0, 2.0], "squared"), "y_true has 2 outputs"),
        (([0.0], [1.0, 2.0], "squared"), "inconsistent numbers of samples"),
    ],
)
def test_wrong_errors_are_explained(arguments, message):
    with pytest.raises(ValueError, match=message):
        prediction_errors(*arguments)


def test_groups_that_are_too_small_are_explained():
    y = np.arange(30.0)
    with pytest.raises(ValueError, match="Group 'b' has 9 rows, too few"):
        separation_information(y, y, sensitive_features=["a"] * 21 + ["b"] * 9)
    with pytest.raises(ValueError, match=r"All rows are in one group \(a\)"):
        sufficiency_information(y, y, sensitive_features=["a"] * 30)
