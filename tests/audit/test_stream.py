"""Audits that are looked at again and again."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.audit_simulations import STREAMS, StreamSums, simulate_stream
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
        sizes = np.array([(s == group).sum() for group in ("a", "b")])
        means = np.array([x[s == group].mean() for group in ("a", "b")])
        far = np.maximum(x.max() - means, means - x.min())
        share, more, j = sizes / 400, 2 * far**2 / sizes, "ab".index(finding.group)
        variance = influence.var() + more[j] / share[j] - 2 * more[j] + share @ more
        error = 0.05 / 2
        rho2 = (-2 * np.log(error) + np.log(1 - 2 * np.log(error))) / 300
        width = (1 + 1 / (400 * rho2)) * (np.log(1 + 400 * rho2) - 2 * np.log(error)) / 400
        expected = np.sqrt(variance * width)
        assert finding.high - finding.gap == pytest.approx(expected, rel=0.01)
        assert finding.gap - finding.low == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("value", [0.0, 0.3, 1e6])
def test_equal_values_tell_nothing(value):
    stream = AuditStream(["a", "b", "c"]).update(np.full(200, value), ["a", "b"] * 100)
    assert [(f.low, f.high) for f in stream.findings()] == [(-np.inf, np.inf)] * 3
    stream.update([value + 1], ["a"])
    assert [bool(np.isfinite(f.high)) for f in stream.findings()] == [True, True, False]


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
@pytest.mark.parametrize(("kind", "layout"), STREAMS, ids=str)
def test_a_gap_that_is_not_there_is_hardly_ever_found_at_any_time(kind, layout):
    """In 400 streams with 24 looks; a true rate of 5 % exceeds 7.4 % in one of 80 tests."""
    found = simulate_stream(kind, layout, 400)
    assert found["ever"] <= 0.05 + 2.24 * np.sqrt(0.05 * 0.95 / 400)
    if kind == "lognormal 1":
        assert found["repeated audits"] >= 0.2


@pytest.mark.slow
def test_simulated_streams_are_streams():
    """The simulation computes the intervals of many streams at once; here beside the class."""
    rng = np.random.default_rng(3)
    x, s = rng.exponential(size=(3, 200)), rng.choice(2, (3, 200), p=[0.7, 0.3])
    sums = StreamSums(3, 2)
    sums.update(x, s)
    low, high = sums.limits()
    for i in range(3):
        found = AuditStream([0, 1]).update(x[i], s[i]).findings()
        assert low[i] == pytest.approx([f.low for f in found])
        assert high[i] == pytest.approx([f.high for f in found])
