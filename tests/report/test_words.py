"""The sentences of the page: every number in them, and where one sentence gives way to another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from meanparity.audit import audit
from meanparity.audit.checks import format_number
from meanparity.report import PredictedRows
from meanparity.report.slider import Slider
from meanparity.report.summary import Summary
from meanparity.report.words import describe_gap, format_share, group_table, verdict
from tests.sentences import numbers


def summed_up(sizes, means, free_means, *, position=0.0, constrained=False, y=None, seed=0):
    """Rows with groups of given sizes and given mean predictions of both ends."""
    rng = np.random.default_rng(seed)
    s = np.repeat(list("abcdef")[: len(sizes)], sizes)
    noise = rng.standard_normal(len(s))
    for group in np.unique(s):
        inside = s == group
        noise[inside] -= noise[inside].mean()
    fair, free = (noise + np.repeat(m, sizes) for m in (means, free_means))
    rows = PredictedRows("new rows", fair, free, {"group": s}, y, constrained=constrained)
    now = (1 - position) * fair + position * free
    before, after = audit(free, sensitive_features=s), audit(now, sensitive_features=s)
    data = {
        "zero": 1e-9,
        "in_no_group": 0,
        "predicted": {"strata": [[0.0]]},
        "gaps": [
            [f.gap for f in audit(end, sensitive_features=s).findings] for end in (fair, free)
        ],
    }
    names = tuple(np.unique(s))
    data["gap_labels"] = list(names)
    slider = Slider.dial(position)
    return Summary(
        rows, names, len(names), (), False, "prediction", before, after, None, slider, data
    )


def with_errors(fair, free, *, product=0.0, variance=1.0):
    """A summary whose mean squared errors at both ends are given."""
    summary = summed_up([20, 20], [0.0, 0.0], [1.0, -1.0], y=np.zeros(40))
    errors = [[fair, product], [product, free]]
    return replace(summary, data={**summary.data, "errors": errors, "variance": variance})


def test_shares_have_as_many_digits_as_their_size_needs():
    found = [format_share(value) for value in (0.0, 0.0009, 0.001, 0.0123, 0.094, 0.1, 0.255, 1.0)]
    assert found == ["0%", "under 0.1%", "0.1%", "1.2%", "9.4%", "10%", "26%", "100%"]


# --- the error


def price(summary, position=0.0):
    return verdict([replace(summary, slider=Slider.dial(position))], "pay")[-1]


def test_the_price_has_root_mean_squared_errors_and_their_ratio():
    assert numbers(price(with_errors(4.0, 2.25))) == sorted(["2", "33%", "1.5"])
    assert numbers(price(with_errors(1.0, 1.5625))) == sorted(["1", "20%", "1.25"])
    # at position 0.25: 0.75² · 4 + 2 · 0.25 · 0.75 · 3 + 0.25² · 2.25
    halfway = 0.5625 * 4 + 0.375 * 3 + 0.0625 * 2.25
    sentence = price(with_errors(4.0, 2.25, product=3.0), 0.25)
    assert numbers(sentence) == sorted([f"{halfway**0.5:.4g}", "25%", "1.5"])


def test_more_and_less_error_are_told_apart():
    more, less = price(with_errors(4.0, 2.25)), price(with_errors(2.25, 4.0))
    assert "pay" in more
    assert "higher" in more
    assert "lower" in less
    assert "lower" not in more


def test_a_change_below_half_a_thousandth_is_none():
    for ratio in (1 + 4e-4, 1 - 4e-4, 1.0):
        found = numbers(price(with_errors(4.0 * ratio**2, 4.0)))
        assert found == sorted([f"{2 * ratio:.4g}", "0.05%"])
    for ratio in (1 + 6e-4, 1 - 6e-4):
        found = numbers(price(with_errors(4.0 * ratio**2, 4.0)))
        assert found == sorted([f"{2 * ratio:.4g}", "0.1%", "2"])


def test_without_an_error_to_compare_with_there_is_only_the_error():
    """Free predictions that are the outcomes: the ratio of errors would be rounding."""
    assert numbers(price(with_errors(6.25, 1e-12, variance=1.0))) == ["2.5"]
    assert numbers(price(with_errors(6.25, 9e-13, variance=1.0))) == ["2.5"]
    assert len(numbers(price(with_errors(6.25, 2e-12, variance=1.0)))) == 3
    assert numbers(price(with_errors(6.25, 2e-12, variance=100.0))) == ["2.5"]


def test_the_price_is_that_of_rows_that_were_not_constrained():
    held, other = with_errors(4.0, 1.0), with_errors(9.0, 1.0)
    held = replace(held, predicted=replace(held.predicted, constrained=True))
    assert "3" in numbers(verdict([held, other], "pay")[-1])
    assert "2" in numbers(verdict([held], "pay")[-1])
    unknown = replace(other, predicted=replace(other.predicted, y=None))
    assert "2" in numbers(verdict([held, unknown], "pay")[-1])
    assert len(verdict([unknown], "pay")) == 1


# --- rows where parity was asked for


def imposed(gaps, position=0.0, sizes=(1500, 30)):
    """The sentence about rows with given gaps of both ends, of groups P, Q, R."""
    summary = summed_up(sizes, [0.0, 0.0], [0.25, -0.25], position=position, constrained=True)
    summary.data.update(gaps=gaps, gap_labels=list("PQR")[: len(gaps[0])])
    sentence, explanation = verdict([summary], "pay")
    assert explanation == describe_gap(summary)
    return sentence


def test_no_gaps_where_the_constraint_was_imposed():
    sentence = imposed([[3e-17, -2e-17], [0.2, -0.25]])
    assert numbers(sentence) == sorted(["1,530", "3e-17", "0.25"])
    assert "(Q)" in sentence
    assert "(P)" not in sentence
    # at the limit of rounding
    assert numbers(imposed([[-1e-9, 0.0], [0.1, -0.25]])) == sorted(["1,530", "1e-09", "0.25"])


def test_gaps_that_are_left():
    gaps = [[0.0, 0.04, 0.0], [0.2, 0.0, -1.0]]
    sentence = imposed(gaps, 0.125)
    assert numbers(sentence) == sorted(["1,530", "0.125", "1"])
    assert sentence.count("(R)") == 2
    sentence = imposed(gaps)
    assert numbers(sentence) == sorted(["1,530", "0.04", "1"])
    assert "(Q)" in sentence
    assert numbers(imposed([[2e-9], [1.0]])) == sorted(["1,530", "2e-09", "1"])
    # between the ends, gaps of opposite signs cancel
    assert numbers(imposed([[-0.5], [0.5]], 0.5)) == sorted(["1,530", "0e+00", "0.5"])


def test_a_constraint_without_contrasts_leaves_no_gap():
    assert numbers(imposed([[], []])) == sorted(["1,530", "0e+00", "0"])


def test_rows_without_a_group_are_counted():
    summary = summed_up([700, 600], [0.0, 0.0], [0.25, -0.25], constrained=True)
    known = numbers(verdict([summary], "pay")[0])
    summary.data["in_no_group"] = 100
    found = numbers(verdict([summary], "pay")[0])
    assert "1,300" in known
    assert "1,200" not in known
    assert {"1,200", "1,300"} <= set(found)
    assert len(found) == len(known) + 1


def test_strata_and_sensitive_numbers_have_words_of_their_own():
    plain = summed_up([30, 30], [0.0, 0.0], [0.25, -0.25], constrained=True)
    strata = replace(plain, data={**plain.data, "predicted": {"strata": [[0.0, 0.0]]}})
    both = replace(plain, numbers=("age",))
    bands = replace(plain, numbers=("age", "pay"), banded=True)
    words = ["stratum", "overall mean", "covariance"]
    for summary, expected in (
        (plain, ["overall mean"]),
        (strata, ["stratum"]),
        (both, ["overall mean", "covariance"]),
        (bands, ["covariance"]),
    ):
        _, explanation = verdict([summary], "pay")
        assert explanation == describe_gap(summary)
        assert [word for word in words if word in explanation] == expected
        for name in summary.numbers:
            assert name in explanation


def test_what_a_gap_is_is_said_once():
    """Two sets of rows with the same gaps share one explanation; other gaps have their own."""
    first = summed_up([30, 30], [0.0, 0.0], [0.25, -0.25], constrained=True)
    strata = replace(first, data={**first.data, "predicted": {"strata": [[0.0, 0.0]]}})
    assert verdict([first, first], "pay")[2:] == [describe_gap(first)]
    assert verdict([first, strata], "pay")[2:] == [describe_gap(first), describe_gap(strata)]


# --- rows that the constraint does not know


def finding(audited, group):
    return next(found for found in audited.findings if found.group == group)


def test_the_largest_gap_elsewhere():
    summary = summed_up([700, 300, 200], [0.1, 0.0, -0.6], [0.5, 0.0, -0.7])
    (sentence,) = verdict([summary], "pay")
    now, before = finding(summary.after, "c"), finding(summary.before, "c")
    written = [f"{value:.4g}" for value in (now.gap, now.low_all, now.high_all, before.gap)]
    found = sum(f.p_adjusted <= 0.05 for f in summary.after.findings)
    assert 0 < found < 3
    assert numbers(sentence) == sorted(["1,200", "95%", str(found), "3", "5%", *written])
    assert "(c;" in sentence


def test_no_gap_that_chance_does_not_explain():
    summary = summed_up([70, 50], [0.1, -0.1], [0.5, -0.4])
    (sentence,) = verdict([summary], "pay")
    now, before = finding(summary.after, "b"), finding(summary.before, "b")
    written = [f"{value:.4g}" for value in (now.gap, now.low_all, now.high_all, before.gap)]
    assert numbers(sentence) == sorted(["120", "95%", "2", "5%", *written])


def test_significance_is_judged_at_the_level_of_the_audit():
    summary = summed_up([70, 50], [0.1, -0.1], [0.5, -0.4])
    for p, found in ((0.05 - 1e-9, ["1", "2"]), (0.05 + 1e-9, ["2"])):
        first, second = summary.after.findings
        audited = replace(
            summary.after, findings=(replace(first, p_adjusted=p), replace(second, p_adjusted=0.9))
        )
        sentence = verdict([replace(summary, after=audited)], "pay")[0]
        assert [n for n in numbers(sentence) if n in ("1", "2")] == found
    cautious = replace(summary.after, confidence=0.99)
    sentence = verdict([replace(summary, after=cautious)], "pay")[0]
    assert {"99%", "1%"} <= set(numbers(sentence))


def test_groups_of_too_few_rows_are_not_judged():
    summary = summed_up([10, 4, 40], [0.1, 5.0, 0.0], [0.1, 5.0, 0.0])
    (sentence,) = verdict([summary], "pay")
    assert finding(summary.after, "b").too_few_rows
    now = finding(summary.after, "c")
    assert abs(now.gap) > abs(finding(summary.after, "a").gap)
    assert f"{now.gap:.4g}" in numbers(sentence)
    assert sentence.endswith("In 1 other group there are too few rows to tell.")
    assert " of 2 groups" in sentence
    table = {line["group"]: line for line in group_table(summary)}
    assert table["b"]["after_interval"] == "too few rows to tell"
    none = summed_up([4, 4], [0.1, -5.0], [0.1, 5.0])
    assert numbers(verdict([none], "pay")[0]) == ["8"]
    assert "every group has too few rows to tell" in verdict([none], "pay")[0]


def test_gaps_elsewhere_that_are_rounding():
    summary = summed_up([20, 30], [0.0, 0.0], [0.2, 0.1])
    assert numbers(verdict([summary], "pay")[0]) == ["50"]
    gaps = [abs(f.gap) for f in summed_up([20, 30], [0.2, 0.1], [0.2, 0.1]).after.findings]
    summary = summed_up([20, 30], [0.2, 0.1], [0.2, 0.1])
    summary.data["zero"] = max(gaps)
    assert numbers(verdict([summary], "pay")[0]) == ["50"]
    summary.data["zero"] = min(gaps)
    assert len(numbers(verdict([summary], "pay")[0])) > 2


# --- the table


def test_the_table_of_groups():
    summary = summed_up([1200, 300], [0.1, 0.0], [0.5, -0.7])
    summary = replace(summary, outcomes={"a": 12_345.6, "b": 0.123456})
    first, second = group_table(summary)
    assert (first["group"], first["n"], first["outcome"]) == ("a", "1,200", "12,346")
    assert (second["group"], second["n"], second["outcome"]) == ("b", "300", "0.1235")
    for name, audited in (("before", summary.before), ("after", summary.after)):
        found = finding(audited, "a")
        assert first[f"{name}_mean"] == format_number(found.mean)
        assert first[f"{name}_gap"] == format_number(found.gap)
        assert numbers(first[f"{name}_interval"]) == sorted(
            [format_number(found.low), format_number(found.high)]
        )
    assert "outcome" not in group_table(replace(summary, outcomes=None))[0]
    assert [row["group"] for row in group_table(replace(summary, names=("b",)))] == ["b"]


def test_rounding_in_the_table_is_zero():
    summary = summed_up([20, 30], [0.0, 0.0], [0.2, 0.1])
    summary.data["zero"] = 10.0
    for row in group_table(summary):
        for name in ("before", "after"):
            assert row[f"{name}_gap"] == row[f"{name}_mean"] == "0"
            assert set(numbers(row[f"{name}_interval"])) == {"0"}


def test_groups_of_strata_are_named_by_both():
    x, s, grade = np.arange(8.0), list("abababab"), list("xxxxyyyy")
    audited = audit(x, sensitive_features=s, control_features={"grade": grade})
    summary = summed_up([4, 4], [0.0, 0.0], [0.2, 0.1])
    names = ("x: a", "x: b", "y: a", "y: b")
    summary = replace(summary, before=audited, after=audited, names=names)
    assert [row["group"] for row in group_table(summary)] == list(names)
