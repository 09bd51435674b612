"""The audit beside SciPy's tests and beside itself spelled out."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from meanparity.audit import audit, resample
from meanparity.audit.gaps import _holm
from meanparity.audit.moments import Moments
from meanparity.data import Groups
from tests.oracles import metrics as oracle


def sample(seed=0, sizes=(40, 25), spread=(1.0, 2.0), shift=(0.0, 0.7)):
    rng = np.random.default_rng(seed)
    parts = [
        shift[j % len(shift)] + spread[j % len(spread)] * rng.normal(size=n)
        for j, n in enumerate(sizes)
    ]
    return np.concatenate(parts), np.repeat([f"g{j}" for j in range(len(sizes))], sizes)


def test_two_groups_are_welchs_test():
    x, s = sample()
    found = audit(x, sensitive_features=s, within=1.0)
    a, b = x[s == "g0"], x[s == "g1"]
    test = stats.ttest_ind(a, b, equal_var=False)
    interval = test.confidence_interval(0.95)
    for finding, sign, other in zip(found.findings, (1, -1), (25 / 65, 40 / 65), strict=True):
        assert finding.p_value == pytest.approx(test.pvalue, rel=1e-10)
        assert finding.gap == pytest.approx(sign * other * (a.mean() - b.mean()), rel=1e-12)
        ends = sorted(sign * other * end for end in interval)
        assert (finding.low, finding.high) == pytest.approx(ends, rel=1e-10)


def test_equivalence_is_two_one_sided_tests():
    x, s = sample(1, shift=(0.0, 0.1))
    a, b = x[s == "g0"], x[s == "g1"]
    within = 0.4
    found = audit(x, sensitive_features=s, within=within).findings[0]
    limit = within / (25 / 65)  # of the difference of the two means
    sides = [
        stats.ttest_ind(a + limit, b, equal_var=False, alternative="greater").pvalue,
        stats.ttest_ind(a - limit, b, equal_var=False, alternative="less").pvalue,
    ]
    assert found.p_outside == pytest.approx(max(sides), rel=1e-10)
    assert found.equivalent == (max(sides) <= 0.05)


def test_a_harmless_gap_can_be_shown_only_with_enough_rows():
    few, many = (sample(2, sizes=(n, n), spread=(1.0,), shift=(0.0,)) for n in (20, 2000))
    for (x, s), expected in ((few, False), (many, True)):
        found = audit(x, sensitive_features=s, within=0.1)
        assert [finding.equivalent for finding in found.findings] == [expected] * 2


@pytest.mark.parametrize("sizes", [(30, 12, 50, 7), (30, 12, 2, 1), (4, 2, 1, 1)])
def test_several_groups_spelled_out(sizes):
    """A group of one row has the variance, and the degrees of freedom, of all groups together."""
    x, s = sample(3, sizes=sizes, shift=(0.0, 0.5, -0.2))
    found = audit(x, sensitive_features=s)
    names, counts = np.unique(s, return_counts=True)
    shares = counts / len(x)
    inside = [x[s == name] for name in names]
    left = len(x) - 4
    pooled = sum(((part - part.mean()) ** 2).sum() for part in inside) / left
    v = np.array([part.var(ddof=1) / len(part) if len(part) > 1 else pooled for part in inside])
    below = np.where(counts > 1, counts - 1, left)
    for j, finding in enumerate(found.findings):
        weights = np.where(np.arange(4) == j, 1 - shares, shares) ** 2 * v
        freedom = weights.sum() ** 2 / (weights**2 / below).sum()
        assert finding.group == names[j]
        assert finding.size == counts[j]
        assert finding.mean == pytest.approx(inside[j].mean())
        assert finding.gap == pytest.approx(inside[j].mean() - x.mean())
        assert finding.standard_error == pytest.approx(np.sqrt(weights.sum()))
        t = abs(finding.gap) / finding.standard_error
        assert finding.p_value == pytest.approx(2 * stats.t.sf(t, freedom), rel=1e-9)
        needed = stats.t.ppf(0.975, freedom) + stats.t.ppf(0.8, freedom)
        assert finding.detectable == pytest.approx(needed * finding.standard_error)
        half = stats.t.ppf(0.975, freedom) * finding.standard_error
        ends = (finding.gap - half, finding.gap + half)
        assert (finding.low, finding.high) == pytest.approx(ends)
    assert found.smd == pytest.approx(oracle.smd(x, s))
    assert found.max_gap == pytest.approx(max(abs(part.mean() - x.mean()) for part in inside))
    assert found.wasserstein == pytest.approx(oracle.dpd(x, s))
    between = sum(n * f.gap**2 for n, f in zip(counts, found.findings, strict=True))
    assert found.r_squared == pytest.approx(between / ((x - x.mean()) ** 2).sum())


def test_moments_ignore_rows_without_weight():
    x, s = sample(13, sizes=(9, 5))
    weight = np.tile([0.0, 1.0, 2.5], 5)[:14]
    every = Moments.from_values(x, Groups.from_columns(s), weight)
    some = weight > 0
    without = Moments.from_values(x[some], Groups.from_columns(s[some]), weight[some])
    for name in ("counts", "shares", "means", "variances"):
        assert getattr(every, name) == pytest.approx(getattr(without, name))
    # with no row beside the first in the second group, its variance is the pooled one
    weight[11:] = 0.0
    every = Moments.from_values(x, Groups.from_columns(s), weight)
    some = weight > 0
    without = Moments.from_values(x[some], Groups.from_columns(s[some]), weight[some])
    assert without.counts.tolist() == [6, 1]
    assert every.variances == pytest.approx(without.variances)


def test_adjusted_p_values_spelled_out():
    x, s = sample(4, sizes=(30, 25, 50, 20, 9), shift=(0.0, 0.5, -0.2))
    found = audit(x, sensitive_features=s).findings
    p = sorted((finding.p_value, finding.p_holm, finding.p_bh) for finding in found)
    k, holm = len(p), 0.0
    for i, (raw, adjusted, _) in enumerate(p):
        holm = max(holm, min(1.0, (k - i) * raw))
        assert adjusted == pytest.approx(holm)
    bh = 1.0
    for i, (raw, _, adjusted) in reversed(list(enumerate(p))):
        bh = min(bh, raw * k / (i + 1))
        assert adjusted == pytest.approx(bh)


def test_adjusted_p_values_end_at_one():
    assert _holm(np.array([0.6, 0.7])).tolist() == [1.0, 1.0]
    assert _holm(np.array([0.3, 0.2])) == pytest.approx([0.4, 0.4])
    assert _holm(np.array([0.9, 0.01, 0.3])) == pytest.approx([0.9, 0.03, 0.6])


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e9])
def test_differences_that_are_rounding_explain_no_variance(scale):
    s = np.repeat(["a", "b"], 500)
    for relative, expected in ((0.5e-13, 0.0), (3e-13, 1.0)):
        x = scale * (1 + relative * np.where(s == "a", 1, -1))
        found = audit(x, sensitive_features=s).r_squared
        assert found == pytest.approx(expected, abs=0.01)
        assert (found == 0) == (expected == 0)


def test_the_largest_quantile_gap_spelled_out():
    x, s = sample(5, sizes=(200, 90))
    found = audit(x, sensitive_features=s)
    levels = np.arange(5, 96) / 100
    apart = [
        np.abs(
            np.quantile(x[s == g], levels, method="inverted_cdf")
            - np.quantile(x, levels, method="inverted_cdf")
        )
        for g in ("g0", "g1")
    ]
    assert found.quantile_gap == pytest.approx(np.max(apart))
    assert found.quantile in levels[np.max(apart, axis=0) == np.max(apart)]


@pytest.mark.parametrize(("end", "level", "n_moved"), [(-1, 0.05, 5), (1, 0.95, 6)])
def test_quantiles_are_compared_from_5_to_95_per_cent(end, level, n_moved):
    """Of 100 rows, the 5 % quantile is the 5th from below, the 95 % quantile the 6th from above."""
    s = np.repeat(["a", "b"], 100)
    for moved, expected in ((n_moved - 1, False), (n_moved, True)):
        x = np.tile(np.arange(100.0), 2)
        tail = slice(100, 100 + moved) if end < 0 else slice(200 - moved, 200)
        x[tail] = 1000 * end
        found = audit(x, sensitive_features=s)
        assert (found.quantile_gap > 900) == expected
        assert (found.quantile == level) == expected


def test_without_a_difference_the_quantile_is_the_median():
    found = audit([0.1, 0.2] * 6, sensitive_features=list("aabbccaabbcc"))
    assert (found.quantile_gap, found.quantile) == (0.0, 0.5)
    apart = audit([0.0, 1.0, 0.0, 1.25] * 3, sensitive_features=list("aabb") * 3)
    assert apart.quantile_gap == 0.25


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_units_and_origin_do_not_matter(origin, unit):
    x, s = sample(6, sizes=(12, 9, 15))
    one = audit(x, sensitive_features=s)
    other = audit(origin + unit * x, sensitive_features=s)
    close = 1e-9 + 1e-15 * abs(origin) / unit * 1e3
    for a, b in zip(one.findings, other.findings, strict=True):
        assert b.p_value == pytest.approx(a.p_value, rel=1e-6, abs=10 * close)
        assert b.gap / unit == pytest.approx(a.gap, abs=10 * close)
    assert other.r_squared == pytest.approx(one.r_squared, abs=10 * close)


def test_whole_weights_move_means_as_repeated_rows_do():
    x, s = sample(7)
    weight = np.random.default_rng(0).integers(0, 4, len(x))
    found = audit(x, sensitive_features=s, sample_weight=weight, y_true=x / 2)
    repeated = audit(
        np.repeat(x, weight),
        sensitive_features=np.repeat(s, weight),
        y_true=np.repeat(x, weight) / 2,
    )
    for a, b in zip(found.findings, repeated.findings, strict=True):
        assert a.gap == pytest.approx(b.gap)
        assert a.mean_error == pytest.approx(b.mean_error)
        assert a.size == (weight[s == a.group] > 0).sum()
        assert a.standard_error > b.standard_error  # repeating people tells nothing new
    for name in ("smd", "wasserstein", "r_squared", "quantile_gap", "mean"):
        assert getattr(found, name) == pytest.approx(getattr(repeated, name))


def test_errors_of_groups():
    x, s = sample(8)
    y = x - np.where(s == "g0", 0.25, -0.5)
    found = audit(x, sensitive_features=s, y_true=y)
    assert [f.mean_error for f in found.findings] == pytest.approx([0.25, -0.5])
    assert "mean error" in str(found)
    assert "mean error" not in str(audit(x, sensitive_features=s))


def test_strata_are_audits_of_their_own():
    x, s = sample(9, sizes=(30, 30))
    grade = np.tile(["low", "high", "top"], 20)
    grade[s == "g1"] = np.where(grade[s == "g1"] == "top", "low", grade[s == "g1"])
    found = audit(x, sensitive_features=s, control_features={"grade": grade})
    assert found.left_out == ("top",)
    assert found.control == ("grade",)
    for stratum in ("high", "low"):
        inside = grade == stratum
        alone = audit(x[inside], sensitive_features=s[inside])
        rows = [f for f in found.findings if f.stratum == stratum]
        assert [f.gap for f in rows] == pytest.approx([f.gap for f in alone.findings])
        assert [f.p_value for f in rows] == pytest.approx([f.p_value for f in alone.findings])
    assert len(found.findings) == 4
    assert "Not compared, because they contain only one group: top." in str(found)


def test_what_ignores_the_strata_says_so():
    x, s = sample(9, sizes=(30, 30))
    grade = np.tile(["low", "high", "top"], 20)
    found = audit(x, sensitive_features=s, control_features={"grade": grade})
    assert found.r_squared == audit(x, sensitive_features=s).r_squared
    assert "\nIgnoring grade: Wasserstein gap" in str(found)
    assert "Ignoring" not in str(audit(x, sensitive_features=s))
    assert f"Sum of absolute gaps {sum(abs(f.gap) for f in found.findings):.4g}." in str(found)


def test_strata_of_one_group_may_come_first():
    x, s = np.arange(12.0), list("aaa") + list("aab") * 3
    grade = np.repeat(["1", "2", "3", "4"], 3)
    found = audit(x, sensitive_features=s, control_features={"grade": grade})
    assert found.left_out == ("1",)
    assert [f.stratum for f in found.findings] == ["2", "2", "3", "3", "4", "4"]


def test_groups_without_weight_are_ignored():
    x, s = np.arange(9.0), list("aaabbbccc")
    found = audit(x, sensitive_features=s, sample_weight=[1, 2, 0, 1, 1, 1, 0, 0, 0])
    assert [(f.group, f.size) for f in found.findings] == [("a", 2), ("b", 3)]
    assert found.n_rows == 5
    assert found.mean == pytest.approx((0 + 2 * 1 + 3 + 4 + 5) / 6)


def test_a_column_is_as_good_as_a_list():
    x, s = sample(14)
    plain = audit(x, sensitive_features=s, y_true=x + 1)
    assert audit(x[:, None], sensitive_features=s, y_true=(x + 1)[:, None]) == plain


def test_permutations_are_those_of_all_orders():
    x, s = np.array([1.0, 4.0, 2.0, 7.0, 9.0, 3.0]), np.array(list("aabbbb"))
    found = audit(x, sensitive_features=s, method="resampling", n_resamples=9999, random_state=0)

    def t(pair):
        return abs(stats.ttest_ind(x[list(pair)], np.delete(x, pair), equal_var=False).statistic)

    as_large = [t(pair) >= t((0, 1)) - 1e-12 for pair in itertools.combinations(range(6), 2)]
    assert found.findings[0].p_value == pytest.approx(np.mean(as_large))


def test_the_bootstrap_agrees_with_the_formula_for_many_rows():
    x, s = sample(10, sizes=(300, 200, 150))
    one = audit(x, sensitive_features=s)
    other = audit(x, sensitive_features=s, method="resampling", n_resamples=2000, random_state=1)
    assert other.method == "resampling"
    for a, b in zip(one.findings, other.findings, strict=True):
        width = a.high - a.low
        assert (b.low, b.high) == pytest.approx((a.low, a.high), abs=0.1 * width)
        assert b.p_value == pytest.approx(a.p_value, abs=0.03)
    again = audit(x, sensitive_features=s, method="resampling", n_resamples=2000, random_state=1)
    assert again == other


def test_resampled_rows_take_at_most_256_mebibytes_at_a_time():
    assert 8 * 2**15 * resample._batch_size(np.zeros(2**15), 9999) == 256 * 2**20
    assert resample._batch_size(np.zeros(2**15), 1000) == 1000
    assert resample._batch_size(np.zeros(3 * 2**13), 9999) == 1365
    assert resample._batch_size(np.broadcast_to(0.0, 2**26), 9999) == 1


def test_all_batches_of_resamples_together_are_one(monkeypatch):
    x, s = sample(15, sizes=(9, 8, 7))
    options = {"method": "resampling", "n_resamples": 200, "random_state": 2}
    whole = audit(x, sensitive_features=s, **options)
    monkeypatch.setattr(resample, "_BATCH_BYTES", 8 * 24 * 70)
    parts = audit(x, sensitive_features=s, **options)
    for a, b in zip(whole.findings, parts.findings, strict=True):
        assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=0.5 * (a.high - a.low))
        assert a.p_value == pytest.approx(b.p_value, abs=0.15)


# --- odd input


@pytest.mark.parametrize("value", [0.0, 1.0, 1e12, -3e-7])
@pytest.mark.parametrize("method", ["analytic", "resampling"])
def test_constant_predictions_have_no_gap(value, method):
    options = {"n_resamples": 99, "random_state": 0} if method == "resampling" else {}
    found = audit([value] * 7, sensitive_features=list("aaabbcc"), method=method, **options)
    for finding in found.findings:
        assert finding.gap == pytest.approx(0.0, abs=1e-15 * abs(value))
        assert finding.p_value == 1.0
    assert found.r_squared == 0.0


def test_groups_without_spread_that_differ_surely_differ():
    found = audit([1.0, 1.0, 2.0, 2.0], sensitive_features=list("aabb"), within=0.1)
    assert [f.p_value for f in found.findings] == [0.0, 0.0]
    assert [f.p_outside for f in found.findings] == [1.0, 1.0]
    assert [f.equivalent for f in found.findings] == [False, False]
    close = audit([1.0, 1.0, 1.05, 1.05], sensitive_features=list("aabb"), within=0.1)
    assert [f.equivalent for f in close.findings] == [True, True]


@pytest.mark.parametrize(
    ("means", "p"),
    [([-1.0, -1.0 - 1e-14], 1.0), ([-1.0, -1.0 - 1e-12], 0.0), ([1e-20, 2e-20], 0.0)],
)
def test_without_spread_rounding_decides_relative_to_the_means(means, p):
    half = np.array([0.5, 0.5])
    moments = Moments(np.array([3.0, 3.0]), half, np.array(means), np.zeros(2))
    assert moments.p_values().tolist() == [p, p]


def test_a_gap_at_the_limit_is_as_likely_outside_as_inside():
    found = audit([0.0, 0.0, 1.0, 1.0], sensitive_features=list("aabb"), within=0.5, confidence=0.5)
    assert [f.p_outside for f in found.findings] == [0.5, 0.5]
    assert [f.equivalent for f in found.findings] == [True, True]


def test_a_group_of_one_row_does_not_spoil_the_others():
    x, s = sample(11, sizes=(40, 30))
    x, s = np.append(x, 9.0), np.append(s, "alone")
    found = {f.group: f for f in audit(x, sensitive_features=s).findings}
    assert all(np.isfinite(f.high) for f in found.values())
    assert found["alone"].standard_error > 1.0
    without = {f.group: f for f in audit(x[:-1], sensitive_features=s[:-1]).findings}
    assert found["g0"].standard_error == pytest.approx(without["g0"].standard_error, rel=0.1)


def test_with_one_row_in_each_group_nothing_is_known():
    found = audit([1.0, 2.0, 4.0], sensitive_features=list("abc"))
    assert [f.p_value for f in found.findings] == [1.0] * 3
    assert json.loads(found.to_json())["findings"][0]["standard_error"] is None


def test_one_group_is_explained():
    with pytest.raises(ValueError, match=r"All 2 rows are in one group \(a\), so there is"):
        audit([1.0, 2.0], sensitive_features=["a", "a"])
    with pytest.raises(ValueError, match="No stratum has more than one group"):
        audit([1.0, 2.0], sensitive_features=["a", "b"], control_features=["x", "y"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confidence": 95}, "confidence=95 is not between 0 and 1"),
        ({"power": 0.0}, "power=0.0 is not between"),
        ({"within": -1.0}, "within=-1.0 is not a positive number"),
        ({"within": True}, "within=True is not a positive number"),
        ({"within": 0.0}, "within=0.0 is not a positive number"),
        ({"within": np.inf}, "within=inf is not a positive number"),
        ({"within": np.nan}, "within=nan is not a positive number"),
        ({"control_features": [1, 2]}, "control_features has 2 rows"),
        ({"method": "bayes"}, "method='bayes' is not known"),
        (
            {"method": "resampling", "sample_weight": [1, 2, 3, 4]},
            "method='resampling' does not support sample_weight",
        ),
        ({"y_true": [1.0, 2.0]}, "inconsistent numbers of samples"),
        ({"sample_weight": [1, 2]}, "sample_weight"),
    ],
)
def test_wrong_arguments_are_explained(change, message):
    with pytest.raises(ValueError, match=message):
        audit([1.0, 2.0, 3.0, 5.0], sensitive_features=list("aabb"), **change)


def test_one_row_cannot_be_resampled():
    with pytest.raises(ValueError, match="Group 'c' has one row, which cannot be resampled"):
        audit([1.0, 2.0, 3.0, 5.0, 6.0], sensitive_features=list("aabbc"), method="resampling")


def test_several_outputs_and_missing_numbers_are_refused():
    with pytest.raises(ValueError, match=r"y_pred has 2 outputs. Audit one column at a time"):
        audit(np.zeros((4, 2)), sensitive_features=list("aabb"))
    with pytest.raises(ValueError, match="contains NaN"):
        audit([1.0, np.nan, 3.0, 5.0], sensitive_features=list("aabb"))


# --- what it turns into


def test_conversion_to_tables_and_json():
    x, s = sample(12)
    frame = pd.DataFrame({"sex": s, "origin": np.tile(["n", "s", "e", "w", "n"], 13)})
    found = audit(x, sensitive_features=frame, within=0.5, y_true=x)
    table = found.to_pandas()
    assert list(table.group) == [f.group for f in found.findings]
    assert table.gap.tolist() == [f.gap for f in found.findings]
    loaded = json.loads(found.to_json(indent=1))
    assert loaded["columns"] == ["sex", "origin"]
    assert loaded["findings"][0]["group"] == ["g0", "e"]
    assert loaded["smd"] == found.smd
    columns = pl.DataFrame(frame.to_dict("list"))
    assert found == audit(x, sensitive_features=columns, within=0.5, y_true=x)
    lines = str(found).splitlines()
    assert lines[0].startswith("sex, origin")
    assert lines[1].startswith("g0, e")
    assert len({len(line) for line in lines[:9]}) == 1
    with pytest.raises(AttributeError):
        found.smd = 0.0


def test_numbers_are_written_with_four_digits_or_as_whole_numbers():
    found = audit([9999.6, 9999.6, 123.456, 123.456], sensitive_features=list("aabb"))
    first, second = str(found).splitlines()[1:3]
    assert first.split()[:4] == ["a", "2", "10,000", "4938"]
    assert second.split()[:4] == ["b", "2", "123.5", "-4938"]


def test_numpy_numbers_can_be_groups():
    found = audit([1.0, 2.0, 3.0, 5.0], sensitive_features=np.array([0, 0, 1, 1]))
    assert json.loads(found.to_json())["findings"][1]["group"] == 1


# --- statistics


@pytest.mark.slow
@pytest.mark.parametrize("skewed", [False, True])
def test_intervals_cover(skewed):
    """Nominal 95 %: between 93 and 97 % of 2000 data sets of 300 rows in unequal groups."""
    rng = np.random.default_rng(0)
    sizes = (200, 70, 30)
    s = np.repeat(["a", "b", "c"], sizes)
    level = np.repeat([0.0, 0.3, -0.4], sizes)
    truth = np.array([0.0, 0.3, -0.4]) - level.mean()
    inside = np.zeros(3)
    for _ in range(2000):
        noise = rng.gamma(4.0, 0.5, 300) if skewed else rng.normal(size=300)
        x = level + np.repeat([1.0, 2.0, 0.5], sizes) * (noise - (2.0 if skewed else 0.0))
        found = audit(x, sensitive_features=s).findings
        inside += [f.low <= t <= f.high for f, t in zip(found, truth, strict=True)]
    assert (inside / 2000 >= 0.93).all()
    assert (inside / 2000 <= 0.97).all()


def test_means_are_equal_up_to_rounding_of_the_largest_number_of_either_sign():
    zero = np.array([-1000.0, 500.0, 500.0])
    for other in (zero, -zero):
        for gap, equal in ((0.7e-10, True), (1.5e-10, False)):
            near = np.array([gap, gap, gap])
            assert (resample._welch(near, other, 0) == 0) == equal
            assert (resample._welch(other, near, 0) == 0) == equal


def test_what_is_within_the_limit_is_printed():
    x, s = sample(sizes=(4000, 4000), spread=(1.0, 1.0), shift=(0.0, 0.4))
    assert audit(x, sensitive_features=s, within=0.3).findings[0].equivalent
    assert str(audit(x, sensitive_features=s, within=0.3)).split("\n")[1].endswith(" yes")
    assert str(audit(x, sensitive_features=s, within=0.1)).split("\n")[1].endswith(" not shown")
