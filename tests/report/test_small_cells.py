"""Reports that show nothing about fewer people than a stated number."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meanparity import MeanParity, ParityRidge
from meanparity.report.small_cells import MERGED, merge_groups
from meanparity.tables import Roles, fit_table
from tests.cli.process import call
from tests.cli.test_commands import run

RNG = np.random.default_rng(0)
N = 400
X = pd.DataFrame(RNG.normal(size=(N, 12)), columns=[f"x{i}" for i in range(12)])
PLACE = RNG.choice(["a", "b", "c", "d", "e"], N, p=[0.5, 0.3, 0.17, 0.02, 0.01])
GRADE = RNG.choice(["low", "high"], N)
Y = X["x0"] + (PLACE == "a") + RNG.normal(size=N)


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=12),
    strata=st.integers(1, 3),
    least=st.integers(1, 25),
)
def test_merged_groups_are_large_enough_and_large_groups_stay(sizes, strata, least):
    stratum_of = np.sort(np.arange(len(sizes)) % strata)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    merged, new_strata, origin = merge_groups(codes, stratum_of, least)
    counts = np.bincount(merged[merged >= 0], minlength=len(origin))
    assert (counts >= least).all()
    for row, group in enumerate(merged):
        if group >= 0:
            assert new_strata[group] == stratum_of[codes[row]]
            assert origin[group] in (-1, codes[row])
    for stratum in range(strata):
        rows = stratum_of[codes] == stratum
        inside = merged[rows]
        if rows.sum() >= least:
            assert (inside >= 0).all()
        else:
            assert (inside < 0).all()
    if min(sizes) >= least:
        assert origin == list(range(len(sizes)))


def page_data(report):
    text = re.search(r'id="data">(.*?)</script>', report.to_html(), re.DOTALL).group(1)
    return json.loads(text)


def report_of(least, control=None, constraint=None, sensitive=PLACE):
    model = ParityRidge(constraint=constraint or MeanParity())
    model.fit(X, Y, sensitive_features=sensitive, control_features=control)
    return model.report(
        X, Y, sensitive_features=sensitive, control_features=control, min_cell=least
    )


@pytest.mark.parametrize("control", [None, GRADE])
@pytest.mark.parametrize("least", [10, 25])
def test_no_cell_of_a_report_has_fewer_people(least, control):
    report = report_of(least, control)
    part = page_data(report)["parts"][0]
    counts = np.array(part["counts"])
    assert (counts >= least).all()
    bars = np.array(part["bars"]) * counts[:, None] / 1000
    assert ((bars == 0) | (bars > least - 1)).all()
    assert len(part["gaps"][0]) == len(part["gap_labels"]) == len(part["groups"]) == len(counts)
    for position in part["change"]:
        for count, change in zip(counts, position, strict=True):
            assert (change["low"] is None) == (0.1 * count < least)
            for name in ("up", "down"):
                people = (change[name] or 0.0) * count
                assert people == 0 or least - 0.5 < people < count - least + 0.5 or people == count
    for summary in report.summaries:
        assert min(finding.size for finding in summary.after.findings) >= least
    page = report.to_html()
    assert MERGED in page
    assert f"Nothing is shown about fewer than {least} people" in page
    assert not re.search(r"<th scope=\"row\">(low: |high: )?[de]</th>", page)


def test_gaps_of_merged_groups_are_those_of_their_people():
    report = report_of(25)
    summary = report.summaries[0]
    free = summary.predicted.free
    small = np.isin(PLACE, ["d", "e"]) | (
        (PLACE == "c") if np.isin(PLACE, ["d", "e"]).sum() < 25 else False
    )
    expected = {name: free[name == PLACE].mean() - free.mean() for name in "ab"}
    expected[MERGED] = free[small].mean() - free.mean()
    found = dict(zip(summary.data["gap_labels"], summary.gaps([0.0, 1.0]), strict=True))
    assert found == pytest.approx(expected)
    edges = summary.data["range"]
    ordered = np.sort(np.concatenate([free, summary.predicted.fair]))
    assert edges[0] > ordered[0]
    assert edges[1] < ordered[-1]


def test_a_report_of_large_groups_stays_as_it_is():
    large = np.where(np.isin(PLACE, ["d", "e"]), "c", PLACE)
    first, second = report_of(1, sensitive=large), report_of(10, sensitive=large)
    for name in ("groups", "counts", "gap_labels", "gaps", "predicted"):
        assert page_data(first)["parts"][0][name] == page_data(second)["parts"][0][name]


def test_what_cannot_be_merged_is_refused():
    for least in (0, 1.5, True, "5"):
        with pytest.raises(ValueError, match="is not a number of people"):
            report_of(least)
    with pytest.raises(ValueError, match=r"leaves 1 of 5 groups|leaves 0 of 5 groups"):
        report_of(300)
    both = pd.DataFrame({"place": PLACE, "grade": GRADE})
    with pytest.raises(ValueError, match="this constraint compares something else"):
        report_of(25, constraint=MeanParity(intersectional=False), sensitive=both)


def test_the_command_line_shows_no_cell_of_fewer_people(tmp_path):
    X.assign(place=PLACE, y=Y).to_csv(tmp_path / "a.csv", index=False)
    command = ("fit", tmp_path / "a.csv", "--target", "y", "--sensitive", "place")
    more = ("--model", "linear", "--report", tmp_path / "r.html", "--min-cell", "12", "--json")
    status, output = run(*command, *more)
    assert status == 0
    found = json.loads(output)
    for part in found["parts"]:
        for audited in (part["before"], part["after"]):
            sizes = [finding["size"] for finding in audited["findings"]]
            assert min(sizes) >= 12
    assert MERGED in (tmp_path / "r.html").read_text("utf-8")


def table_of_small_groups(tmp_path):
    """A rare group of three people, and a stratum of three others."""
    rng = np.random.default_rng(1)
    sex = rng.choice(["F", "M"], 400).astype(object)
    region = rng.choice(["north", "south"], 400).astype(object)
    sex[:3], region[3:6] = "Xrare", "tiny"
    x = rng.normal(size=400)
    frame = pd.DataFrame({"sex": sex, "region": region, "x": x, "pay": x + rng.normal(size=400)})
    frame.to_csv(tmp_path / "a.csv", index=False)
    return "fit", tmp_path / "a.csv", "--target", "pay", "--sensitive", "sex", "--model", "linear"


def test_notes_of_the_command_line_say_nothing_about_few_people(tmp_path):
    fit = (*table_of_small_groups(tmp_path), "--control", "region", "--test-size", "0.5")
    status, printed, errors = call(*fit, "--min-cell", "10")
    assert status == 0
    assert (
        "There are no groups to compare in 1 stratum, so nothing is equalised there. Use" in errors
    )
    assert "1 group of fewer than 10 rows. Parity moves the mean of a small group" in errors
    for text in (printed, errors):
        assert "Xrare" not in text
        assert "tiny" not in text
        assert not re.search(r"\((\d) rows?[,)]", text)
        assert "whose group is known" not in text
    assert "the 199 of 200 training rows in groups of at least 10 people" in printed
    status, printed, errors = call(*fit)
    assert re.search(r"group of fewer than 10 rows: Xrare in region=\w+ \(\d rows?, sta", errors)
    assert (
        "there are no groups to compare in 1 stratum, so nothing is equalised there: region=tiny"
        in (errors.lower())
    )
    assert "the 200 training rows" in printed


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--test-size", "0.01"), "--min-cell 10 leaves 0 of 2 groups of the 4 held-out rows, so"),
        (("--control", "x"), "--min-cell 10 leaves 0 of 320 groups of the 320 training rows, so"),
    ],
)
def test_too_few_rows_for_a_report_are_refused_before_the_fit(more, message, tmp_path):
    fit = table_of_small_groups(tmp_path)
    status, _, errors = call(*fit, "--min-cell", "10", *more, "-o", tmp_path / "m.meanparity")
    assert status == 1
    assert errors.startswith("meanparity: ")
    assert message in errors
    assert not (tmp_path / "m.meanparity").exists()
    frame = pd.read_csv(tmp_path / "a.csv")
    roles = Roles("pay", ("sex",))
    heard = []
    with pytest.raises(ValueError, match=r"min_cell=10 leaves \d of 3 groups of the 8 rows of the"):
        fit_table(frame, roles, pool=frame[:8], min_cell=10, progress=heard.append)
    assert heard == ["encoding the columns"]
