"""The statements one by one, and the tables: every number, and where one gives way to another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from meanparity.audit import audit
from meanparity.audit.checks import format_interval, format_number
from meanparity.constraints import MeanParity
from meanparity.data import Rows
from meanparity.report import PredictedRows, report
from meanparity.report.slider import Slider
from meanparity.report.statements import (
    Compared,
    Evidence,
    GroupUse,
    Kind,
    LargestGap,
    LeftInBands,
    Named,
    Price,
    RowSet,
    SamePrediction,
    format_share,
)
from meanparity.report.summary import Summary
from meanparity.report.words import answers, group_table, largest_gap
from meanparity.tradeoff import Comparison
from tests.sentences import numbers

HELD_OUT = RowSet("held-out rows", 1200, 1200, False)


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
    comparison = Comparison(Rows.from_columns({"group": s}).schema, MeanParity())
    return Summary.from_rows(rows, comparison, Slider.dial(position))


def test_shares_have_as_many_digits_as_their_size_needs():
    found = [format_share(value) for value in (0.0, 0.0009, 0.001, 0.0123, 0.094, 0.1, 0.255, 1.0)]
    assert found == ["0%", "under 0.1%", "0.1%", "1.2%", "9.4%", "10%", "26%", "100%"]


# --- gaps


def gap(now, free, **changes):
    named = Named("b", now), None if free is None else Named("c", free)
    zero = 1e-9
    basis = LargestGap(HELD_OUT, Kind.mean, "prediction", "the overall mean", 3, (), *named, zero)
    return replace(basis, **changes)


def test_a_gap_says_on_which_side_it_is_and_of_how_many():
    text = str(gap(-2.5, 4.0))
    assert "the largest of 3 gaps of the mean prediction is 2.5 (b, below the overall" in text
    assert "the largest gap would be 4 (c, above the overall mean)" in text
    assert numbers(text) == ["1,200", "2.5", "3", "4"]
    assert "Without" not in str(gap(-2.5, None))
    same = "Without the constraint at the same penalty"
    assert same not in text
    assert f"{same}, the largest gap would be 4 (c" in str(gap(-2.5, 4.0, same_penalty=True))
    assert f"{same} there would be none either." in str(gap(0.0, 0.0, same_penalty=True))


def test_zero_is_rounding_error_and_not_a_number():
    text = str(gap(-1e-9, 4.0))
    assert "all 3 groups have the same mean prediction, up to rounding error" in text
    assert numbers(text) == ["1,200", "3", "4"]
    assert "both groups have" in str(gap(0.0, 4.0, considered=2))
    assert "rounding" not in str(gap(-1.1e-9, 4.0))
    strata = gap(0.0, 4.0, reference="the mean of its stratum")
    assert "within each stratum, all 3 groups have the same mean prediction" in str(strata)
    assert str(gap(0.0, 1e-10)).endswith("Without the constraint there would be none either.")


def test_a_gap_that_grew_and_a_group_of_few_rows():
    assert "Here the largest gap is larger with the constraint" in str(gap(4.5, -4.0))
    assert "larger with" not in str(gap(4.0, -4.0))
    for untold in ("too few rows", "no spread"):
        assert f"b has {untold} to tell this gap from chance" in str(gap(4.0, 4.0, untold=untold))
        assert untold not in str(gap(0.0, 4.0, untold=untold))


def test_covariances_and_conditions_have_words_of_their_own():
    one = gap(-2.5, 4.0, kind=Kind.covariance, numbers=("age",), considered=1)
    line = "is one standard deviation higher, along the straight line that fits best"
    assert f"the predictions are 2.5 lower where b {line}. Without the constraint, they" in str(one)
    assert str(one).endswith("they would be 4 higher.")
    for value, words in ((0.3, "0.3 higher"), (-0.3, "0.3 lower")):
        assert f"the predictions are {words} where b {line}" in str(
            replace(one, now=Named("b", value))
        )
    many = replace(one, considered=3)
    assert f"are 2.5 lower where b {line} (the largest of 3 such differences)." in str(many)
    assert str(many).endswith("Without the constraint, the largest would be 4 higher (c).")
    none = replace(many, now=Named("b", 0.0))
    assert "all 3 covariances of the predictions with age are zero" in str(none)
    assert str(none).endswith(f"the predictions would be 4 higher where c {line}.")
    grown = replace(many, now=Named("b", 4.5))
    assert "Here the largest difference is larger with the constraint" in str(grown)
    other = gap(-2.5, 4.0, kind=Kind.condition)
    assert "the largest deviation from 3 conditions is -2.5 (b)" in str(other)
    for statement in (one, many, none, other):
        assert "mean" not in str(statement)


def test_one_and_two_are_words():
    for kind, of_one, of_two in (
        (Kind.mean, "the group has", "both groups have"),
        (Kind.covariance, "the covariance of the", "both covariances of the"),
        (Kind.condition, "the condition of the constraint is", "both conditions of the"),
    ):
        none = gap(0.0, 4.0, kind=kind, numbers=("age",))
        assert of_one in str(replace(none, considered=1))
        assert of_two in str(replace(none, considered=2))
    assert "the gap of the mean prediction is 2.5" in str(gap(2.5, None, considered=1))
    one = gap(2.5, None, kind=Kind.condition, considered=1)
    assert "the deviation from the condition is 2.5" in str(one)


def test_groups_without_spread_are_not_said_to_have_few_rows():
    parts = {"assessed": 0, "significant": 0, "largest": None, "low": 0.0, "high": 0.0}
    parts |= {"rows": HELD_OUT, "confidence": 0.95}
    flat = str(Evidence(too_few=0, flat=3, **parts))
    assert flat.startswith("All 3 groups have no spread in the 1,200 held-out rows to tell")
    mixed = str(Evidence(too_few=1, flat=1, **parts))
    assert mixed.startswith("Both groups have too few rows or no spread in the 1,200 held-out")
    parts |= {"assessed": 2, "largest": Named("b", 2.5), "too_few": 0}
    some = str(Evidence(flat=2, **parts))
    assert some.endswith("2 other groups have no spread to tell.")
    assert "too few" not in some


def test_what_is_said_of_people_if_the_model_is_a_constant():
    use = GroupUse(features=("sex", "grade"), left_out=("race",))
    same = SamePrediction((HELD_OUT,), 13.06)
    assert str(same).endswith("everybody gets the same prediction, 13.06: the model is a constant.")
    text = str(replace(use, same=same))
    assert "two people get the same prediction, even if they differ in sex, grade and race" in text
    strata = SamePrediction((HELD_OUT,), np.nan, ("grade",))
    assert "everybody of the same grade gets the same prediction" in str(strata)
    text = str(replace(use, same=strata))
    assert (
        "two people of the same grade get the same prediction, even if they differ in sex" in text
    )
    assert "sex and race" in text
    assert "nan" not in str(strata)


def test_rows_without_a_group_are_counted():
    some = replace(gap(1.0, 2.0), rows=RowSet("training rows", 1300, 1200, True))
    assert str(some).startswith("On the 1,200 of 1,300 training rows whose group is known, ")


def test_gaps_between_the_ends_are_those_of_the_model():
    found = summed_up([40, 20], [0.2, -0.4], [-0.2, 0.4], position=0.5, constrained=True)
    assert largest_gap(found, Kind.mean).is_zero
    found = summed_up([40, 20], [0.2, -0.4], [-0.2, 0.4], position=0.25, constrained=True)
    statement = largest_gap(found, Kind.mean)
    assert statement.now == Named("b", pytest.approx(-0.2))
    assert statement.free == Named("b", pytest.approx(0.4))


# --- the error


def test_the_price_has_root_mean_squared_errors_and_their_ratio():
    assert numbers(str(Price(HELD_OUT, "pay", 2.0, 1.5, 4.0))) == ["1,200", "1.5", "2", "33%"]
    less = str(Price(HELD_OUT, "pay", 1.0, 1.25, 4.0))
    assert numbers(less) == ["1", "1,200", "1.25", "20%"]
    assert "20% less than without" in less
    assert "33% more than without" in str(Price(HELD_OUT, "pay", 2.0, 1.5, 4.0))
    assert numbers(str(Price(HELD_OUT, "pay", 2.0, None, 4.0))) == ["1,200", "2"]
    # free predictions that are the outcomes: the ratio of errors would be rounding
    assert numbers(str(Price(HELD_OUT, "pay", 2.0, 1e-9, 4.0))) == ["1,200", "2"]


def test_a_change_below_half_a_thousandth_is_none():
    for ratio in (1 + 4e-4, 1 - 4e-4, 1.0):
        found = numbers(str(Price(HELD_OUT, "pay", 2 * ratio, 2.0, 4.0)))
        assert found == sorted(["1,200", f"{2 * ratio:.4g}", "0.05%"])
    for ratio in (1 + 6e-4, 1 - 6e-4):
        found = numbers(str(Price(HELD_OUT, "pay", 2 * ratio, 2.0, 4.0)))
        assert found == sorted(["1,200", f"{2 * ratio:.4g}", "0.1%", "2"])


def test_a_model_that_is_no_better_than_a_constant_is_called_so():
    assert "off by 4, which is no worse" in str(Price(HELD_OUT, "pay", 4.0, 1.0, 4.0))
    assert "no worse" not in str(Price(HELD_OUT, "pay", 3.99, 1.0, 4.0))
    assert "no worse" not in str(Price(HELD_OUT, "pay", 0.0, 0.0, 0.0))


def test_the_price_is_that_of_rows_that_were_not_constrained():
    use = GroupUse(unknown=("group",))
    y = np.zeros(1000)
    held = summed_up([600, 400], [0.0, 0.0], [1.0, -1.0], y=y, constrained=True)
    other = summed_up([600, 400], [0.0, 0.0], [1.0, -1.0], y=y, seed=1)

    def priced(*summaries):
        found = [s for a in answers(summaries, "pay", use) for s in a.statements]
        return [s.rows.constrained for s in found if isinstance(s, Price)]

    assert priced(held, other) == priced(other, held) == [False]
    assert priced(held) == [True]
    unknown = replace(other, predicted=replace(other.predicted, y=None))
    assert priced(held, unknown) == [True]
    assert priced(unknown) == []


# --- rows that the constraint does not know


def finding(audited, group):
    return next(found for found in audited.findings if found.group == group)


def evidence(summary):
    use = GroupUse(unknown=("group",))
    found = [s for a in answers([summary], "pay", use) for s in a.statements]
    (statement,) = [s for s in found if isinstance(s, Evidence)]
    return statement


def test_the_largest_gap_elsewhere():
    summary = summed_up([700, 300, 200], [0.1, 0.0, -0.6], [0.5, 0.0, -0.7])
    now = finding(summary.after, "c")
    found = sum(f.p_adjusted <= 0.05 for f in summary.after.findings)
    assert 0 < found < 3
    written = [f"{value:.3f}" for value in (now.low_all, now.high_all)]  # a width of 0.19
    text = str(evidence(summary))
    assert numbers(text) == sorted(["1,200", "95%", str(found), "3", "5%", *written])
    assert "the gap of c is likely between" in text


def test_significance_is_judged_at_the_level_of_the_audit():
    summary = summed_up([70, 50], [0.1, -0.1], [0.5, -0.4])
    for p, found in ((0.05 - 1e-9, "The gap of 1 of 2 groups is"), (0.05 + 1e-9, "No gap among")):
        first, second = summary.after.findings
        audited = replace(
            summary.after, findings=(replace(first, p_adjusted=p), replace(second, p_adjusted=0.9))
        )
        assert f"{found} " in str(evidence(replace(summary, after=audited)))
    cautious = replace(summary.after, confidence=0.99)
    assert {"99%", "1%"} <= set(numbers(str(evidence(replace(summary, after=cautious)))))


def test_groups_of_too_few_rows_are_not_judged():
    summary = summed_up([10, 4, 40], [0.1, 5.0, 0.0], [0.1, 5.0, 0.0])
    assert finding(summary.after, "b").too_few_rows
    text = str(evidence(summary))
    assert text.endswith("1 other group has too few rows to tell.")
    assert " 2 groups is larger than chance" in text
    # but the largest gap is the largest, as in the tile beside it
    assert largest_gap(summary, Kind.mean).now.name == "b"
    assert "b has too few rows to tell this gap from chance" in str(largest_gap(summary, Kind.mean))
    table = {line["group"]: line for line in group_table(summary)}
    assert table["b"]["after_interval"] == "too few rows to tell"
    none = evidence(summed_up([4, 4], [0.1, -5.0], [0.1, 5.0]))
    assert str(none).startswith("Both groups have too few of the 8 new rows to tell")


def test_gaps_elsewhere_that_are_rounding_need_no_evidence():
    summary = summed_up([20, 30], [0.0, 0.0], [0.2, 0.1])
    found = [s for a in answers([summary], "pay", GroupUse()) for s in a.statements]
    assert not [s for s in found if isinstance(s, Evidence)]
    assert largest_gap(summary, Kind.mean).is_zero


def test_conditions_that_are_met_make_a_sentence():
    several = str(gap(0.0, 4.0, kind=Kind.condition))
    assert "all 3 conditions of the constraint are met, up to rounding error." in several
    one = str(gap(0.0, 4.0, kind=Kind.condition, considered=1))
    assert "the condition of the constraint is met, up to rounding error." in one


def test_equal_predictions_have_no_gaps_and_equal_outcomes_no_spread():
    s = np.repeat(list("abc"), 20)
    equal = report(None, np.full(60, 0.1), s)
    assert "all 3 groups have the same mean prediction" in "\n".join(equal.sentences)
    text = "\n".join(report(np.full(60, 0.1), np.arange(60.0), s).sentences)
    assert "would be off by" not in text


# --- who, and how


def test_groups_are_counted_and_listed():
    few = Compared(("sex",), (("M", 1200), ("F", 1)), (), (), False, HELD_OUT)
    assert str(few) == "2 groups of sex in the 1,200 held-out rows: M (1,200 rows); F (1 row)."
    many = tuple((f"g{i}", 50 - i) for i in range(40))
    text = str(Compared(("a", "b"), many, ("age",), ("grade",), True, HELD_OUT))
    assert "from g0 (50 rows), the largest, to g39 (11 rows)" in text
    assert "of the same grade" in text
    assert "compared separately" in text
    alone = str(Compared((), (), ("age",), (), False, HELD_OUT))
    assert alone == "People of different age, as a number in the 1,200 held-out rows."
    both = str(Compared((), (), ("age", "height"), (), False, HELD_OUT))
    assert both == "People of different age and height, as numbers in the 1,200 held-out rows."


def test_the_use_of_groups_is_said_column_by_column():
    text = str(GroupUse(features=("sex",), left_out=("race", "age")))
    assert text.startswith("Yes: sex is among the columns")
    assert "But not all: race and age are not among the columns" in text
    assert str(GroupUse(unknown=("sex",))).startswith("That is not known")
    assert "shifted by an amount that depends on sex" in str(GroupUse(shifted=("sex",)))


def test_bands_suggest_a_degree_only_if_much_is_left():
    named = Named("age below 30", -2.5), Named("age 60 or more", 4.0)
    text = str(LeftInBands(HELD_OUT, "age", "prediction", 5, *named, True))
    assert numbers(text) == sorted(["1,200", "2.5", "30", "4", "60", "5", "3"])
    assert "(age below 30, below)" in text
    assert "higher degree" in text
    assert "degree" not in str(LeftInBands(HELD_OUT, "age", "prediction", 5, *named, False))


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
        assert numbers(first[f"{name}_interval"]) == sorted(format_interval(found.low, found.high))
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
    names = ("grade=x: a", "grade=x: b", "grade=y: a", "grade=y: b")
    summary = replace(summary, before=audited, after=audited, names=names)
    assert [row["group"] for row in group_table(summary)] == list(names)
