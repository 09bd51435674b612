"""Calibration of groups with intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks.audit_simulations import CALIBRATED, simulate_calibration
from meanparity.audit import audit_calibration
from meanparity.metrics import calibration_by_group


def test_calibration_is_that_of_the_metric():
    rng = np.random.default_rng(1)
    g, s, w = rng.normal(size=200), rng.choice(["a", "b"], 200), rng.random(200)
    y = 1 + 2 * g * (s == "a") + rng.normal(size=200)
    expected = calibration_by_group(y, g, sensitive_features=s, sample_weight=w)
    found = audit_calibration(y, g, sensitive_features=s, sample_weight=w)
    for one, other in zip(found, expected, strict=True):
        assert (one.group, one.size) == (other.group, other.size)
        assert (one.bias, one.slope) == pytest.approx((other.bias, other.slope))
        assert one.bias_low < one.bias < one.bias_high
        assert one.slope_low < one.slope < one.slope_high


def test_calibration_of_few_rows_or_equal_predictions_is_not_told():
    g, y = np.repeat([1.0, 2.0], [30, 29]), np.random.default_rng(2).normal(size=59)
    g[30:] += y[30:]
    same, few = audit_calibration(y, g, sensitive_features=["a"] * 30 + ["b"] * 29)
    assert np.isfinite([same.bias_low, same.bias_high]).all()
    assert np.isnan(same.slope)
    for ends in (
        (same.slope_low, same.slope_high),
        (few.bias_low, few.bias_high),
        (few.slope_low, few.slope_high),
    ):
        assert ends == (-np.inf, np.inf)


@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_are_at_least_as_wide_as_those_of_student(weighted):
    """With Bell and McCaffrey's error of the slope, and their degrees of freedom, from matrices."""
    n, exceeded = 32, np.zeros(2, dtype=bool)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        g, w = rng.lognormal(size=n), rng.random(n) + 0.5 if weighted else np.ones(n)
        e = rng.normal(size=n) * g
        found = audit_calibration(
            g + e, g, sensitive_features=["a"] * n, sample_weight=w, confidence=0.9
        )[0]
        design = np.stack([np.ones(n), g], axis=1)
        to_line = np.linalg.solve(design.T @ (w[:, None] * design), design.T * w)
        residuals = np.eye(n) - design @ to_line
        parts = (to_line[1] / np.sqrt(np.diag(residuals)))[:, None] * residuals
        covariance = parts @ parts.T  # of what is squared and summed, if errors are even
        bias = np.average(e, weights=w)
        of_bias = np.sqrt(((w * (e - bias)) ** 2).sum() * n / (n - 1)) / w.sum()
        freedom = np.trace(covariance) ** 2 / (covariance**2).sum()
        margins = stats.t.isf(0.05, [n - 1, freedom]) * [of_bias, np.linalg.norm(parts @ e)]
        low, high = (found.bias_low, found.slope_low), (found.bias_high, found.slope_high)
        middle = np.array([bias, found.slope])
        for own in (middle - low, np.array(high) - middle):
            assert (own >= margins * (1 - 1e-9)).all()
            exceeded |= own > margins * 1.001
    assert exceeded.all()  # by the bootstrap-t, in some samples


def test_one_row_that_decides_the_slope_tells_nothing_about_it():
    y = np.random.default_rng(0).normal(size=400)
    g = np.append(np.zeros(399), 1.0)
    found = audit_calibration(y, g, sensitive_features=np.zeros(400, int))[0]
    assert (found.slope_low, found.slope_high) == (-np.inf, np.inf)
    assert np.isfinite([found.bias_low, found.bias_high]).all()


@pytest.mark.parametrize("start", [0.0, 1e9])
def test_errors_without_spread_tell_nothing(start):
    """Rounding is no spread."""
    y = np.random.default_rng(0).normal(size=90) + start
    found = audit_calibration(y, y - 0.1, sensitive_features=np.zeros(90))[0]
    for ends in ((found.bias_low, found.bias_high), (found.slope_low, found.slope_high)):
        assert ends == (-np.inf, np.inf)


@pytest.mark.parametrize("value", [1.0, 7.0])
def test_of_two_outcomes_both_have_to_occur_often(value):
    g, s = np.linspace(0.1, 0.4, 300), np.repeat(["a", "b", "c"], 100)
    y = np.zeros(300)
    y[:20], y[100:119] = value, value
    enough, few, none = audit_calibration(y, g, sensitive_features=s)
    assert np.isfinite([enough.bias_low, enough.slope_high]).all()
    for found in (few, none):
        assert (found.bias_low, found.bias_high) == (-np.inf, np.inf)
        assert (found.slope_low, found.slope_high) == (-np.inf, np.inf)


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "rows"), [(0.02, 30), (0.1, 300), (0.5, 60), (0.97, 700)])
def test_intervals_of_rates_cover_or_are_not_told(rate, rows):
    """Of 300 samples at most 5 % miss; before, half of those of 30 rows with a rate of 2 % did."""
    rng, inside = np.random.default_rng(4), np.zeros(2)
    for i in range(300):
        rare = min(rate, 1 - rate) * np.exp(0.4 * rng.normal(size=rows))
        g = np.clip(rare if rate <= 0.5 else 1 - rare, 0.001, 0.999)
        y = (rng.random(rows) < g).astype(float)
        found = audit_calibration(y, g, sensitive_features=np.zeros(rows), random_state=i)[0]
        inside += found.bias_low <= 0 <= found.bias_high, found.slope_low <= 1 <= found.slope_high
    assert (inside / 300 >= 0.94 - 2.24 * np.sqrt(0.94 * 0.06 / 300)).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_intervals_do_not_depend_on_the_unit(unit):
    rng = np.random.default_rng(3)
    g, e = rng.lognormal(size=40), rng.normal(size=40)
    one, other = (
        audit_calibration(k * (g + e), k * g, sensitive_features=np.zeros(40))[0]
        for k in (1.0, unit)
    )
    for name in ("bias", "bias_low", "bias_high"):
        assert getattr(other, name) / unit == pytest.approx(getattr(one, name))
    for name in ("slope", "slope_low", "slope_high"):
        assert getattr(other, name) == pytest.approx(getattr(one, name))


@pytest.mark.slow
@pytest.mark.parametrize("kind", CALIBRATED)
@pytest.mark.parametrize("rows", [30, 100])
def test_intervals_of_calibration_cover(kind, rows):
    """In 500 samples; the table of docs/audit.md has 2,000."""
    for found in simulate_calibration(kind, rows, 500):
        assert found >= 0.94 - 2.24 * np.sqrt(0.94 * 0.06 / 500)
