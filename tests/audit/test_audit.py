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

from meanparity.audit import audit
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


def test_several_groups_spelled_out():
    x, s = sample(3, sizes=(30, 12, 50, 7), shift=(0.0, 0.5, -0.2))
    found = audit(x, sensitive_features=s)
    names, counts = np.unique(s, return_counts=True)
    shares = counts / len(x)
    v = np.array([x[s == name].var(ddof=1) / n for name, n in zip(names, counts, strict=True)])
    for j, finding in enumerate(found.findings):
        weights = np.where(np.arange(4) == j, 1 - shares, shares) ** 2 * v
        freedom = weights.sum() ** 2 / (weights**2 / (counts - 1)).sum()
        assert finding.group == names[j]
        assert finding.size == counts[j]
        assert finding.mean == pytest.approx(x[s == names[j]].mean())
        assert finding.gap == pytest.approx(x[s == names[j]].mean() - x.mean())
        assert finding.standard_error == pytest.approx(np.sqrt(weights.sum()))
        t = abs(finding.gap) / finding.standard_error
        assert finding.p_value == pytest.approx(2 * stats.t.sf(t, freedom), rel=1e-9)
        needed = stats.t.ppf(0.975, freedom) + stats.t.ppf(0.8, freedom)
        assert finding.detectable == pytest.approx(needed * finding.standard_error)
    assert found.smd == pytest.approx(oracle.smd(x, s))
    assert found.wasserstein == pytest.approx(oracle.dpd(x, s))
    between = sum(n * f.gap**2 for n, f in zip(counts, found.findings, strict=True))
    assert found.r_squared == pytest.approx(between / ((x - x.mean()) ** 2).sum())


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
    assert "Not compared, as they have one group: top" in str(found)


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
    assert [f.equivalent for f in found.findings] == [False, False]
    close = audit([1.0, 1.0, 1.05, 1.05], sensitive_features=list("aabb"), within=0.1)
    assert [f.equivalent for f in close.findings] == [True, True]


def test_a_group_of_one_row_does_not_spoil_the_others():
    x, s = sample(11, sizes=(40, 30))
    x, s = np.append(x, 9.0), np.append(s, "alone")
    found = {f.group: f for f in audit(x, sensitive_features=s).findings}
    assert all(np.isfinite(f.high) for f in found.values())
    assert found["alone"].standard_error > 1.0
    without = {f.group: f for f in audit(x[:-1], sensitive_features=s[:-1]).findings}
    assert found["g0"].standard_error == pytest.approx(without["g0"].standard_error, rel=0.1)


def test_only_groups_of_one_row_are_not_known_at_all():
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
        ({"method": "bayes"}, "method='bayes' is unknown"),
        (
            {"method": "resampling", "sample_weight": [1, 2, 3, 4]},
            "Resampling takes no sample_weight",
        ),
        ({"y_true": [1.0, 2.0]}, "inconsistent numbers of samples"),
        ({"sample_weight": [1, 2]}, "sample_weight"),
    ],
)
def test_wrong_use_speaks(change, message):
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


def test_it_turns_into_tables_and_json():
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


def test_numbers_of_numpy_are_fine_as_groups():
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
