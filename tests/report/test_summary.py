"""What a report shows of a set of rows, spelled out group by group and row by row."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from meanparity.constraints import MeanParity
from meanparity.data import Rows
from meanparity.report import PredictedRows, Slider, make_report
from meanparity.report.summary import Summary
from meanparity.tradeoff import Comparison


def comparison_of(sensitive, control=None, **options):
    """What the constraint of a model compares that was fitted to such rows."""
    constraint = MeanParity(**options)
    rows = Rows.from_columns(
        sensitive,
        control_features=control,
        continuous=constraint.continuous,
        intersectional=constraint.intersectional,
        missing=constraint.missing,
    )
    return Comparison(rows.schema, constraint)


def predictions(n, seed=1):
    rng = np.random.default_rng(seed)
    fair, free = rng.normal(size=(2, n))
    return fair, free, rng.normal(size=n)


@pytest.fixture(scope="module")
def three():
    """60 rows of three groups."""
    s = np.array(list("aaabbc") * 10)
    fair, free, y = predictions(60)
    return PredictedRows("rows", fair, free, {"s": s}, y), s


def summary_of(rows, position=0.25, **options):
    comparison = comparison_of(rows.sensitive_features, rows.control_features, **options)
    return Summary.from_rows(rows, comparison, Slider.dial(position))


# --- numbers of groups


def test_means_and_audits_of_groups(three):
    rows, s = three
    summary = summary_of(rows)
    now = 0.75 * rows.fair + 0.25 * rows.free
    for values, audited in ((rows.free, summary.before), (now, summary.after)):
        for finding in audited.findings:
            assert finding.mean == pytest.approx(values[s == finding.group].mean())
    data = summary.data
    assert summary.names == tuple(data["groups"]) == ("a", "b", "c")
    assert (summary.n_groups, summary.banded, summary.quantity) == (3, False, "prediction")
    assert data["counts"] == [30, 20, 10]
    assert (data["n"], data["in_no_group"], data["constrained"]) == (60, 0, None)
    for column, values in enumerate((rows.fair, rows.free)):
        expected = [values[s == group].mean() for group in "abc"]
        assert data["predicted"]["means"][column] == pytest.approx(expected)
        assert data["compared"]["means"][column] == pytest.approx(expected)
        assert data["predicted"]["strata"][column] == pytest.approx([values.mean()])
    assert summary.outcomes == pytest.approx({g: rows.y[s == g].mean() for g in "abc"})


def test_rounding_is_measured_by_the_range_of_the_predictions(three):
    rows, _ = three
    assert summary_of(rows).data["zero"] == 1e-9 * max(np.ptp(rows.fair), np.ptp(rows.free))
    wide = PredictedRows("rows", 7 * rows.fair, rows.free, rows.sensitive_features)
    assert summary_of(wide).data["zero"] == 1e-9 * np.ptp(7 * rows.fair)
    wide = PredictedRows("rows", rows.fair, 7 * rows.free, rows.sensitive_features)
    assert summary_of(wide).data["zero"] == 1e-9 * np.ptp(7 * rows.free)


def test_weights_count_where_they_are_meant_to(three):
    rows, s = three
    w = np.random.default_rng(2).uniform(0.5, 2, 60)
    weighted = PredictedRows("rows", rows.fair, rows.free, {"s": s}, rows.y, sample_weight=w)
    in_a = s == "a"
    for scope, means, errors in (("both", w, w), ("constraint", w, None), ("loss", None, w)):
        summary = summary_of(weighted, weight_scope=scope)
        one = np.ones(60)
        mean_weight, error_weight = (one if v is None else v for v in (means, errors))
        expected = np.average(rows.fair[in_a], weights=mean_weight[in_a])
        assert summary.data["predicted"]["means"][0][0] == pytest.approx(expected)
        free = np.average(rows.free[in_a], weights=mean_weight[in_a])
        assert summary.before.findings[0].mean == pytest.approx(free)
        outcome = np.average(rows.y[in_a], weights=mean_weight[in_a])
        assert summary.outcomes["a"] == pytest.approx(outcome)
        square = np.average((rows.fair - rows.y) ** 2, weights=error_weight)
        assert summary.data["errors"][0][0] == pytest.approx(square)
        middle = np.average(rows.y, weights=error_weight)
        variance = np.average((rows.y - middle) ** 2, weights=error_weight)
        assert summary.data["variance"] == pytest.approx(variance)


def test_groups_without_weight_are_left_out(three):
    rows, s = three
    w = np.where(s == "c", 0.0, 2.0)
    weighted = PredictedRows("rows", rows.fair, rows.free, {"s": s}, rows.y, sample_weight=w)
    summary = summary_of(weighted)
    assert summary.names == ("a", "b")
    assert summary.data["predicted"]["means"][0] == pytest.approx(
        [rows.fair[s == g].mean() for g in "ab"]
    )
    assert summary.after.n_rows == 50


def test_the_largest_fifty_groups_are_shown():
    sizes = {50: np.full(50, 2), 51: np.r_[np.full(20, 3), 2, np.full(30, 3)]}
    for k, counts in sizes.items():
        s = np.repeat([f"g{i:02}" for i in range(k)], counts)
        fair, free, _ = predictions(len(s))
        summary = summary_of(PredictedRows("rows", fair, free, {"s": s}))
        shown = [f"g{i:02}" for i in range(k) if k == 50 or i != 20]
        assert (list(summary.names), summary.n_groups) == (shown, k)
        means = [fair[s == name].mean() for name in shown]
        assert summary.data["predicted"]["means"][0] == pytest.approx(means)
        assert len(summary.data["change"][0]) == 50


def test_rows_without_a_group_are_left_out_and_counted():
    s = np.array(["a", "b", None, "a", "b", None, "b"], dtype=object)
    fair, free, y = predictions(7)
    known = s != None  # noqa: E711
    summary = summary_of(PredictedRows("rows", fair, free, {"s": s}, y), missing="ignore")
    assert summary.data["in_no_group"] == 2
    assert summary.data["counts"] == [2, 3]
    assert summary.data["predicted"]["means"][0] == pytest.approx(
        [fair[s == g].mean() for g in "ab"]
    )
    assert summary.data["predicted"]["strata"][0] == pytest.approx([fair[known].mean()])
    assert summary.after.n_rows == 5
    ends = np.concatenate([fair[known], free[known]])
    assert summary.data["range"] == [ends.min(), ends.max()]
    assert sum(summary.data["bars"][0][0]) == pytest.approx(1000, abs=2)


def test_strata_are_named_and_compared_inside():
    s, grade = np.array(list("ababab") * 4), np.repeat(["x", "y"], [10, 14])
    fair, free, y = predictions(24)
    rows = PredictedRows("rows", fair, free, {"s": s}, y, {"grade": grade})
    summary = summary_of(rows)
    names = ["grade=x: a", "grade=x: b", "grade=y: a", "grade=y: b"]
    assert list(summary.names) == names
    assert summary.data["stratum"] == [0, 0, 1, 1]
    assert summary.data["predicted"]["strata"][1] == pytest.approx(
        [free[grade == g].mean() for g in ("x", "y")]
    )
    assert [finding.name for finding in summary.before.findings] == names
    for finding in summary.before.findings:
        stratum, group = finding.name[6], finding.name[-1]
        inside = grade == stratum
        expected = free[inside & (s == group)].mean() - free[inside].mean()
        assert finding.gap == pytest.approx(expected)


# --- bands of a number


def test_bands_of_a_number_are_fifths():
    age = np.random.default_rng(3).permutation(np.arange(100) ** 1.5)
    fair, free, _ = predictions(100)
    rows = PredictedRows("rows", fair, free, {"age": age})
    summary = summary_of(rows, continuous=["age"])
    assert (summary.banded, summary.numbers) == (True, ("age",))
    edges = [round(20.0 * i) ** 1.5 for i in range(1, 5)]
    edges = [round(edge) for edge in edges]  # the range is 985
    middle = [f"age {a} to below {b}" for a, b in itertools.pairwise(edges)]
    names = [f"age below {edges[0]}", *middle, f"age {edges[-1]} or more"]
    assert list(summary.names) == names
    assert all(abs(n - 20) <= 1 for n in summary.data["counts"])
    for i, mean in enumerate(summary.data["predicted"]["means"][0]):
        low, high = [-np.inf, *edges][i], [*edges, np.inf][i]
        assert mean == pytest.approx(fair[(age >= low) & (age < high)].mean())


@pytest.mark.parametrize(
    ("values", "counts", "bands", "sizes"),
    [
        ([20, 30, 40], [20, 20, 20], ["below 30", "30 or more"], [20, 40]),
        ([20, 30, 40], [50, 3, 7], ["below 30", "30 or more"], [50, 10]),
        ([20, 30, 40], [3, 7, 50], ["below 40", "40 or more"], [10, 50]),
        ([0, 1], [30, 30], ["below 1", "1 or more"], [30, 30]),
        ([0, 1], [55, 5], ["below 1", "1 or more"], [55, 5]),
        ([0, 1], [5, 55], ["below 1", "1 or more"], [5, 55]),
    ],
)
def test_a_number_with_few_values_has_two_bands_at_least(values, counts, bands, sizes):
    fair, free, _ = predictions(60)
    age = np.repeat(np.array(values, dtype=float), counts)
    summary = summary_of(PredictedRows("rows", fair, free, {"age": age}), continuous=["age"])
    assert summary.names == tuple(f"age {band}" for band in bands)
    assert summary.data["counts"] == sizes
    assert summary.data["predicted"]["means"][0] == pytest.approx(
        [fair[: sizes[0]].mean(), fair[sizes[0] :].mean()]
    )


def test_bands_are_named_with_the_digits_that_their_width_needs():
    fair, free, _ = predictions(60)
    comparison = comparison_of({"age": np.linspace(0, 1, 60)}, continuous=["age"])

    def names(age):
        rows = PredictedRows("rows", fair, free, {"age": age})
        return Summary.from_rows(rows, comparison, Slider.dial(0.5)).names

    found = names(np.repeat([1.23456, 98765.0, 98765.4], [30, 15, 15]))
    assert found == ("age below 98765", "age 98765 or more")
    assert names(np.linspace(0, 1, 60))[1] == "age 0.2 to below 0.41"
    with pytest.raises(ValueError, match=r"All 60 rows are in one group \(age 12\.35\)"):
        names(np.full(60, 12.3456))


def test_rows_whose_number_is_not_known_are_in_no_band():
    age = np.arange(50.0)
    age[[3, 30]] = np.nan
    fair, free, _ = predictions(50)
    rows = PredictedRows("rows", fair, free, {"age": age})
    summary = summary_of(rows, continuous=["age"], missing="ignore")
    assert summary.data["in_no_group"] == 2
    assert sum(summary.data["counts"]) == 48
    assert summary.names[0] == "age below 11"
    assert summary.data["predicted"]["means"][0][0] == pytest.approx(fair[age < 11].mean())


# --- bars


def bars_of(rows, step, group, low, high):
    """Thousandths of the rows of a group in each of 40 bars."""
    inside = rows.sensitive_features["s"] == group
    u = step / 100
    found = [0] * 40
    for value in ((1 - u) * rows.fair + u * rows.free)[inside]:
        found[min(39, math.floor(40 * (value - low) / (high - low)))] += 1
    return [round(1000 * count / inside.sum()) for count in found]


def test_bars_at_every_position(three):
    rows, _ = three
    data = summary_of(rows).data
    low, high = data["range"]
    both = np.concatenate([rows.fair, rows.free])
    assert (low, high) == (both.min(), both.max())
    assert len(data["bars"]) == 102  # the model comes last
    for step in (0, 1, 25, 50, 99, 100):
        for i, group in enumerate("abc"):
            assert data["bars"][step][i] == bars_of(rows, step, group, low, high)


def test_bars_of_constant_predictions_are_in_the_middle():
    s = np.array(list("aabb"))
    rows = PredictedRows("rows", np.full(4, 3.0), np.full(4, 3.0), {"s": s})
    data = summary_of(rows).data
    assert data["range"] == [2.5, 3.5]
    for bars in data["bars"]:
        for group in bars:
            assert group == [0] * 20 + [1000] + [0] * 19


# --- changes


def test_changes_of_groups(three):
    rows, s = three
    for group, change in zip("abc", summary_of(rows).data["change"][0], strict=True):
        moved = (rows.fair - rows.free)[s == group]
        assert change["low"] == pytest.approx(np.quantile(moved, 0.1))
        assert change["high"] == pytest.approx(np.quantile(moved, 0.9))
        assert change["up"] == np.mean(moved > 0)
        assert change["down"] == np.mean(moved < 0)


def test_changes_that_are_rounding_are_none():
    """Relative to the range of the changes, here 2."""
    s, free = np.array(list("ab") * 5), np.zeros(10)
    fair = np.array([1.0, -1.0, 1e-9, -1e-9, 3e-9, -3e-9, 0.0, 0.0, 0.0, 0.0])
    first, second = summary_of(PredictedRows("rows", fair, free, {"s": s})).data["change"][0]
    assert (first["up"], first["down"]) == (0.4, 0.0)
    assert (second["up"], second["down"]) == (0.0, 0.4)


def test_no_change_at_all_is_no_change(three):
    rows, _ = three
    same = PredictedRows("rows", rows.fair, rows.fair, rows.sensitive_features)
    for change in summary_of(same).data["change"][0]:
        assert set(change.values()) == {0.0}


# --- columns


def columns_of(n, k, seed=4):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, k)), columns=[f"c{j}" for j in range(k)])


def report_of(rows, frame, position=0.0, **more):
    comparison = comparison_of(rows.sensitive_features)
    return make_report(
        [rows], comparison=comparison, position=position, columns=(frame, rows), **more
    )


def r_squared(x, y):
    return np.corrcoef(x, y)[0, 1] ** 2


def test_drivers_explain_either_prediction_best():
    frame = columns_of(300, 14)
    weights = np.arange(14.0)
    free, fair = frame.to_numpy() @ weights, frame.to_numpy() @ weights[::-1]
    s = np.where(frame["c3"] + frame["c4"] > 0, "a", "b")
    rows = PredictedRows("rows", fair, free, {"s": s})
    report = report_of(rows, frame, 0.25)
    now = 0.75 * fair + 0.25 * free
    expected = {name: (r_squared(frame[name], free), r_squared(frame[name], now)) for name in frame}
    assert len(report.drivers) == 12
    for name, before, after in report.drivers:
        assert (before, after) == pytest.approx(expected[name])
    best = sorted(expected, key=lambda name: -max(expected[name]))[:12]
    assert [name for name, _, _ in report.drivers] == best
    told = report.proxies.columns
    assert [name for name, _ in told][:2] == (["c3", "c4"] if told[0][0] == "c3" else ["c4", "c3"])
    assert len(told) == 14
    for name, share in told:
        assert share == pytest.approx(r_squared(frame[name], s == "a"))
    assert report.column_rows == "300 rows"


def test_constant_columns_explain_nothing():
    frame = columns_of(200, 1).assign(huge=1e9 / 3, negative=-1e9 / 3, zero=0.0)
    frame["tiny"] = 1e-12 * frame["c0"]
    s = np.where(frame["c0"] > 0, "a", "b")
    rows = PredictedRows("rows", frame["c0"] ** 3, frame["c0"], {"s": s})
    drivers = {name: before for name, before, _ in report_of(rows, frame).drivers}
    constants = {"huge": 0.0, "negative": 0.0, "zero": 0.0}
    assert drivers == pytest.approx({"c0": 1.0, "tiny": 1.0, **constants})
    told = dict(report_of(rows, frame).proxies.columns)
    assert {name: told[name] for name in constants} == constants


def test_columns_of_many_rows_are_judged_by_twenty_thousand():
    s = np.tile(["a", "b"], 10_001)
    frame = pd.DataFrame({"c0": np.where(s == "a", 1.0, -1.0)})
    rows = PredictedRows("training rows", frame["c0"], frame["c0"], {"s": s})
    assert report_of(rows, frame).column_rows == "20,000 of 20,002 training rows"
    fewer = PredictedRows("training rows", *[frame["c0"][2:]] * 2, {"s": s[2:]})
    assert report_of(fewer, frame[2:]).column_rows == "20,000 training rows"


def test_rows_of_one_group_have_no_proxies():
    frame = columns_of(40, 2)
    rows = PredictedRows("rows", frame["c0"], frame["c1"], {"s": np.array(["a", "b"] * 20)})
    alone = PredictedRows("rows", frame["c0"][:20], frame["c1"][:20], {"s": np.array(["a"] * 20)})
    comparison = comparison_of(rows.sensitive_features)
    report = make_report([rows], comparison=comparison, position=0.0, columns=(frame[:20], alone))
    assert report.proxies is None
    assert report.column_rows == "20 rows"
    assert make_report([rows], comparison=comparison, position=0.0).drivers == ()


def test_sensitive_columns_are_no_proxies_of_themselves():
    frame = columns_of(40, 1).assign(s=np.tile([0.0, 1.0], 20))
    rows = PredictedRows("rows", frame["c0"], frame["s"], {"s": np.tile([0.0, 1.0], 20)})
    report = report_of(rows, frame)
    assert {name for name, _, _ in report.drivers} == {"c0", "s"}
    assert [name for name, _ in report.proxies.columns] == ["c0"]
    assert report_of(rows, frame[["s"]]).proxies is None


def test_a_page_in_a_notebook_cannot_leave_its_frame(three):
    rows, _ = three
    named = PredictedRows('"<rows>"', rows.fair, rows.free, rows.sensitive_features)
    report = make_report(
        [named], comparison=comparison_of(rows.sensitive_features), position=0.0, target='"y"'
    )
    shown = report._repr_html_()
    inside = shown.split('srcdoc="')[1].split('" style="')[0]
    assert '"' not in inside
    assert "<" not in inside
    assert repr(report) == 'Report(60 "<rows>")'
    assert report.facts == {}
