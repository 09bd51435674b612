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
    g, y = np.repeat([1.0, 2.0], [12, 9]), np.random.default_rng(2).normal(size=21)
    g[12:] += y[12:]
    same, few = audit_calibration(y, g, sensitive_features=["a"] * 12 + ["b"] * 9)
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
    """With HC3 errors of the slope: residuals from the line through all other rows, one by one."""
    exceeded, quantiles = np.zeros(2, dtype=bool), stats.t.isf(0.05, [11, 10])
    for seed in range(10):
        rng = np.random.default_rng(seed)
        g, w = rng.lognormal(size=12), rng.random(12) + 0.5 if weighted else np.ones(12)
        e = rng.normal(size=12) * g
        found = audit_calibration(
            g + e, g, sensitive_features=["a"] * 12, sample_weight=w, confidence=0.9
        )[0]
        bias, mean = np.average(e, weights=w), np.average(g, weights=w)
        meat = 0.0
        for i in range(12):
            others = np.arange(12) != i
            line = np.polyfit(g[others], e[others], 1, w=np.sqrt(w[others]))
            meat += (w[i] * (g[i] - mean) * (e[i] - np.polyval(line, g[i]))) ** 2
        of_slope = np.sqrt(meat) / (w @ (g - mean) ** 2)
        of_bias = np.sqrt(((w * (e - bias)) ** 2).sum() * 12 / 11) / w.sum()
        low, high = (found.bias_low, found.slope_low), (found.bias_high, found.slope_high)
        middle = np.array([bias, found.slope])
        margins = quantiles * [of_bias, of_slope]
        for own, student in ((middle - low, margins), (np.array(high) - middle, margins)):
            assert (own >= student * (1 - 1e-9)).all()
            exceeded |= own > student * 1.001
    assert exceeded.all()  # by the bootstrap-t, in some samples


def test_one_row_that_decides_the_slope_tells_nothing_about_it():
    y = np.random.default_rng(0).normal(size=400)
    g = np.append(np.zeros(399), 1.0)
    found = audit_calibration(y, g, sensitive_features=np.zeros(400, int))[0]
    assert (found.slope_low, found.slope_high) == (-np.inf, np.inf)
    assert np.isfinite([found.bias_low, found.bias_high]).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", CALIBRATED)
@pytest.mark.parametrize("rows", [10, 30, 100])
def test_intervals_of_calibration_cover(kind, rows):
    """In 500 samples, 93.5 %; the mean of lognormal errors, of which ten rows show few, 90 %."""
    bias, slope = simulate_calibration(kind, rows, 500)
    of_bias = 0.9 if (kind, rows) == ("lognormal errors", 10) else 0.935
    for found, least in ((bias, of_bias), (slope, 0.935)):
        assert found >= least - 2.24 * np.sqrt(least * (1 - least) / 500)
