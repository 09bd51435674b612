"""Audits that are looked at again and again."""

from __future__ import annotations

import numpy as np
import pytest

from meanparity.audit import AuditStream, audit


def test_gaps_are_those_of_all_rows_together():
    rng = np.random.default_rng(0)
    s, x = rng.choice(list("abc"), 500), 1e6 + rng.normal(size=500)
    stream = AuditStream(["a", "b", "c"])
    for part in np.array_split(np.arange(500), 7):
        stream.update(x[part], s[part])
    whole = audit(x, sensitive_features=s).findings
    for one, other in zip(stream.findings(), whole, strict=True):
        assert (one.group, one.size) == (other.group, other.size)
        assert one.gap == pytest.approx(other.gap, abs=1e-9)
        assert one.low < other.low_all
        assert one.high > other.high_all


def test_the_width_spelled_out():
    rng = np.random.default_rng(1)
    s, x = rng.choice(["a", "b"], 400, p=[0.8, 0.2]), rng.exponential(size=400)
    x[s == "b"] += 2
    found = AuditStream(["a", "b"], focus=300).update(x, s).findings()
    for finding in found:
        inside = s == finding.group
        influence = inside * (x - x[inside].mean()) / inside.mean() - (x - x.mean())
        error = 0.05 / 2
        rho2 = (-2 * np.log(error) + np.log(1 - 2 * np.log(error))) / 300
        width = (1 + 1 / (400 * rho2)) * (np.log(1 + 400 * rho2) - 2 * np.log(error)) / 400
        expected = influence.std() * np.sqrt(width)
        assert finding.high - finding.gap == pytest.approx(expected, rel=0.01)
        assert finding.gap - finding.low == pytest.approx(expected, rel=0.01)


def test_few_rows_and_wrong_groups_are_said():
    stream = AuditStream(["a", "b"])
    assert all(np.isnan(f.gap) and f.high == np.inf for f in stream.findings())
    stream.update(np.arange(60.0), ["a"] * 31 + ["b"] * 29)
    assert "a (31 rows): gap -14.5, too few rows to tell" in str(stream)
    stream.update([3.0], ["b"])
    assert all(np.isfinite(f.high) for f in stream.findings())
    assert str(stream).startswith("61 rows so far. Intervals hold at all times together with 95 %")
    with pytest.raises(ValueError, match="has the group 'c', which is not among the groups"):
        stream.update([1.0], ["c"])
    with pytest.raises(ValueError, match="Pass at least two groups"):
        AuditStream(["a", "a"])
    with pytest.raises(ValueError, match="focus=0 is not a number of rows"):
        AuditStream("ab", focus=0)
    with pytest.raises(ValueError, match="confidence=2 is not between"):
        AuditStream("ab", confidence=2)


@pytest.mark.slow
def test_a_gap_that_is_not_there_is_hardly_ever_found_at_any_time():
    """60 looks at 50 rows each: repeated audits find one in a third of 300 streams or more."""
    rng = np.random.default_rng(2)
    alarms = {"stream": 0, "naive": 0}
    for _ in range(300):
        s, x = (
            rng.choice(["a", "b", "c"], (60, 50), p=[0.6, 0.3, 0.1]),
            rng.exponential(size=(60, 50)),
        )
        stream, found, naive = AuditStream(["a", "b", "c"], focus=500), False, False
        for values, groups in zip(x, s, strict=True):
            for f in stream.update(values, groups).findings():
                found |= f.low > 0 or f.high < 0
                middle, half = (f.low + f.high) / 2, (f.high - f.low) / 2
                naive |= np.isfinite(half) and abs(middle) > 0.55 * half
        alarms["stream"] += found
        alarms["naive"] += bool(naive)
    assert alarms["stream"] <= 0.05 * 300
    assert alarms["naive"] >= 0.3 * 300
