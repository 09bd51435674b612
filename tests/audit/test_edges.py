"""What an audit says at the edges: thresholds, one side only, one group with a spread."""

from __future__ import annotations

import numpy as np
import pytest

from meanparity.audit import audit, parity_certificate
from meanparity.audit.certificate import betting_bounds
from meanparity.audit.comparisons import is_two_valued
from meanparity.audit.draws import Pool
from meanparity.audit.moments import Moments
from meanparity.audit.proxies import explained_share
from meanparity.audit.rows import AuditRows
from meanparity.data import Groups


class Given:
    """A model whose prediction is the first column."""

    def predict(self, X):
        return np.asarray(X)[:, 0]


def test_bounds_of_three_groups_share_the_error():
    """Each of three bounds may fail with a third of the error, the largest one with all of it."""
    x, s = np.random.default_rng(9).random(120), np.repeat(["a", "b", "c"], 40)
    found = parity_certificate(
        Given(), x[:, None], s, unseen=True, bounds=(0, 1), confidence=0.9, random_state=4
    )
    groups = Groups.from_columns(s)
    rows, moments = (
        AuditRows(x, groups, {}, ("s",), None, None, None),
        Moments.from_values(x, groups),
    )
    each = betting_bounds(rows, moments, 1.0, 0.1 / 3, 4)
    alone = betting_bounds(rows, moments, 1.0, 0.1, 4)
    assert [bound for _, bound in found.bounds] == pytest.approx(each.tolist())
    assert found.bound == pytest.approx(alone.max())
    assert (each > alone).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_the_observed_gap_is_the_largest_size(sign):
    x, s = np.random.default_rng(9).random(90), np.repeat(["a", "b"], [70, 20])
    x = sign * (x + 0.5 * (s == "b"))
    found = parity_certificate(Given(), x[:, None], s, unseen=True)
    gaps = [x[s == name].mean() - x.mean() for name in ("a", "b")]
    assert found.observed == pytest.approx(sign * gaps[1])
    assert found.observed > abs(gaps[0])


def test_any_two_numbers_are_proportions_from_ten_rows_on():
    assert is_two_valued(np.tile([2.0, 3.0], 5))
    assert not is_two_valued(np.append(np.tile([2.0, 3.0], 4), 2.0))


def test_one_group_with_a_spread_among_constant_ones_is_not_told():
    """The others say nothing about how much their mean varies."""
    rng = np.random.default_rng(0)
    x = np.append(rng.normal(size=30), np.repeat([0.5, 0.7], 20))
    found = audit(x, sensitive_features=np.repeat(["a", "b", "c"], [30, 20, 20]))
    assert [finding.too_few_rows for finding in found.findings] == [True, True, True]


def test_where_only_a_larger_proportion_is_possible_it_is_the_detectable_one():
    x = np.zeros(240)
    x[:2] = x[200] = 1.0
    s = np.repeat(["a", "b"], [200, 40])
    found = audit(x, sensitive_features=s)
    for finding in found.findings:
        others = s != finding.group
        difference = finding.detectable / others.mean()  # of the group's proportion and the others'
        assert x[others].mean() < difference < 1 - x[others].mean()  # more below is not possible


def test_intervals_of_a_covariance_are_those_of_normal_statistics_for_many_rows():
    rng = np.random.default_rng(1)
    age = rng.uniform(20, 60, 3000)
    finding = audit(0.01 * age + rng.normal(size=3000), sensitive_features=age).findings[0]
    error = finding.standard_error
    assert (finding.high - finding.gap) / error == pytest.approx(1.96, abs=0.1)
    assert (finding.gap - finding.low) / error == pytest.approx(1.96, abs=0.1)


def test_the_spread_of_a_group_counts_as_far_as_it_is_known():
    """Fifty rows of normal values are worth as much as what all groups show together."""
    pool = Pool(
        np.random.default_rng(0).normal(size=400), None, spread=1.0, skewness=0.0, kurtosis=3.0
    )
    groups = Groups.from_columns(np.repeat(["a", "b"], [51, 151]))
    x = np.concatenate([np.tile([-1.0, 1.0], 26)[:51], np.tile([-1.0, 1.0], 76)[:151]])
    moments = Moments.from_values(3 * x, groups)
    own = moments.variances
    expected = [(50 * own[0] + 50) / 100, (150 * own[1] + 50) / 200]
    assert pool.scales(moments) ** 2 == pytest.approx(expected)


def test_weighted_groups_have_effective_sizes():
    """(Σw)² / Σw² rows of equal weight (Kish)."""
    w = np.array([1.0, 2.0, 3.0, 0.5, 0.5])
    moments = Moments.from_values(np.arange(5.0), Groups.from_columns(list("aaabb")), w)
    assert moments.sizes == pytest.approx([36 / 14, 2.0])


def test_a_group_of_one_row_has_the_pooled_variance():
    """``Σ (n_j − 1) s_j² / Σ (n_j − 1)`` over the groups of at least two rows."""
    parts = [np.array([0.0, 1.0]), np.array([0.0, 2.0, 7.0]), np.array([5.0])]
    s = np.repeat(["a", "b", "c"], [2, 3, 1])
    moments = Moments.from_values(np.concatenate(parts), Groups.from_columns(s))
    pooled = (0.5 + 2 * np.var(parts[1], ddof=1)) / 3
    assert moments.variances == pytest.approx([0.5, np.var(parts[1], ddof=1), pooled])


def test_dependent_columns_explain_no_more_than_independent_ones():
    rng = np.random.default_rng(0)
    X, targets = rng.normal(size=(2, 40, 3))
    X, targets = X - X.mean(axis=0), targets - targets.mean(axis=0)
    twice = np.hstack([X, X[:, :2] - 3 * X[:, 1:]])
    assert explained_share(twice, targets) == pytest.approx(explained_share(X, targets), rel=1e-9)
