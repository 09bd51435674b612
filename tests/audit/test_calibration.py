"""Calibration of groups with intervals."""

from __future__ import annotations

import numpy as np
import pytest

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


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "exponential", "uneven"])
@pytest.mark.parametrize("n", [30, 200])
def test_intervals_of_calibration_cover(kind, n):
    """In 200 samples; at 30 rows of skewed or uneven errors 92 % is enough."""
    rng = np.random.default_rng([6, n])
    inside = np.zeros(2)
    for i in range(200):
        g = rng.normal(size=n)
        noise = rng.normal(size=n) if kind != "exponential" else rng.exponential(size=n) - 1
        y = 0.5 + 0.7 * g + noise * (1 + np.abs(g) if kind == "uneven" else 1.0)
        found = audit_calibration(y, g, sensitive_features=np.zeros(n, int), random_state=i)[0]
        # the mean of y - g in the population is 1/2
        inside += (
            found.bias_low <= 0.5 <= found.bias_high,
            found.slope_low <= 0.7 <= found.slope_high,
        )
    least = 0.92 if n == 30 else 0.94
    assert (inside / 200 >= least - 2.24 * np.sqrt(least * (1 - least) / 200)).all()
