"""Figures, tables and the page of small experiments."""

from __future__ import annotations

import csv
import io
import itertools
from dataclasses import replace
from html.parser import HTMLParser

import matplotlib
import matplotlib.image
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from meanparity.losses import SmoothL1
from reproduction.declaration import Claim, Entry, Verdict
from reproduction.measures import descent, predictions, proofs, sweep
from reproduction.publication import publish
from reproduction.publication.figures import draw, make
from reproduction.publication.page import _merge_similar
from reproduction.publication.tables import (
    Cell,
    ComparedCell,
    compare_with_paper,
    printed_cells,
    summary_as_text,
)
from reproduction.runner import Outcome, Plan, Sources
from tests.reproduction.conftest import small


def kinds():
    positions = (0.0, 0.5, 1.0)
    parameters = {"loss": SmoothL1(0.1), "steps": 20}
    entries = tuple(Entry(n, n, positions=positions) for n in ("Ours", "FPR-1", "FKR-1", "NRFC"))
    return {
        "boxes": small(metrics=("mse", "smd", "dpd")),
        "curves": small(entries=entries, measure=sweep, figure="curves"),
        "steps": small(
            entries=(Entry("both", "Ours", parameters=parameters),),
            measure=descent,
            figure="steps",
            metrics=("loss", "smd"),
        ),
        "distributions": small(
            entries=(Entry("Ours", "Ours"),),
            measure=predictions,
            figure="distributions",
            metrics=(),
            trials=1,
        ),
    }


def run(experiment, folder, trials=2):
    plan = Plan.make([experiment], folder, trials)
    plan.run(jobs=1)
    return plan


@pytest.fixture(scope="module", params=list(kinds()))
def outcome(request, tmp_path_factory):
    """The results of a small experiment of each kind, without claims."""
    experiment = replace(kinds()[request.param], claims=())
    (outcome,) = run(experiment, tmp_path_factory.mktemp("kind")).outcomes()
    return outcome


def test_a_figure_is_two_files_with_reproducible_bytes(outcome):
    first, second = draw(outcome), draw(outcome)
    assert list(first) == ["png", "svg"]
    assert first == second
    pixels = matplotlib.image.imread(io.BytesIO(first["png"]), format="png")
    assert pixels.shape[0] > 200
    assert pixels[..., :3].std() > 0.05  # something was drawn
    assert first["svg"].startswith(b"<?xml")


def test_a_figure_does_not_depend_on_the_users_settings(outcome):
    before = draw(outcome)
    with matplotlib.rc_context({"font.size": 30, "savefig.bbox": "tight"}):
        assert draw(outcome) == before


def test_a_figure_names_its_axes_and_lines(outcome):
    figure = make(outcome)
    figure.draw_without_rendering()
    axes = figure.axes
    assert axes[0].get_title().strip() == "Synthetic"
    assert all(ax.get_ylabel() for ax in axes)  # one column: every axis is the first of its row
    if outcome.experiment.figure == "distributions":
        legend = axes[0].get_legend()
    else:
        (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    expected = {
        "boxes": ["train rows", "test rows"],
        "curves": ["Ours", "FPR-1", "FKR-1", "NRFC"],
        "steps": ["GD", "Fair-GD"],
        "distributions": ["S = −0.1", "S = 0.1"],
    }
    assert words == expected[outcome.experiment.figure]


def test_texts_of_a_figure_do_not_overlap(outcome):
    figure = make(outcome)
    figure.draw_without_rendering()
    renderer = FigureCanvasAgg(figure).get_renderer()
    for ax in figure.axes:
        labels = [t for t in ax.get_xticklabels() if t.get_text()]
        if any(t.get_rotation() for t in labels):  # rotated labels end inside the figure
            assert all(t.get_window_extent(renderer).x1 <= figure.bbox.x1 for t in labels)
            continue
        inside = [t.get_window_extent(renderer) for t in labels]
        low, high = ax.get_window_extent().intervalx
        inside = [box for box in inside if low - 1 <= (box.x0 + box.x1) / 2 <= high + 1]
        assert all(a.x1 < b.x0 for a, b in itertools.pairwise(inside))


def test_a_summary_has_means_and_spreads(outcome):
    header, rows = summary_as_text(outcome)
    if not outcome.experiment.metrics:
        assert (header, rows) == ([], [])
        return
    assert header[:2] == ["data", "method"]
    assert {row[0] for row in rows} == {"Synthetic"}
    assert all(len(row) == len(header) for row in rows)
    if outcome.experiment.figure == "boxes":
        assert header[2:] == [
            f"{m} {p}" for m in ("MSE", "SMD", "DPD (W₁)") for p in ("train", "test")
        ] + ["time"]
        mean = outcome.frame.query("method == 'OLS'").mse_test.mean()
        assert rows[0][3].startswith(f"{mean:.4f} ± ")
        assert rows[1][4].endswith(("e-14", "e-15", "e-16", "e-17"))  # rounding is not shown as 0
        assert rows[0][-1].endswith(" ms")


# --- printed numbers


def outcome_of(value):
    rows = [
        {"dataset": d, "method": m, "trial": t, "mse_train": value, "mse_test": value}
        for d in ("synthetic", "adult")
        for m in ("Constant", "Ours")
        for t in range(2)
    ]
    return Outcome(small(paper="Table 1 (tab::clinear)", is_printed=True), rows, {}, 1.0)


def test_cells_are_within_outside_or_not_run():
    sources = Sources({"adult": "paper", "synthetic": "bundled", "law_school": ""}, {})
    compared = compare_with_paper(outcome_of(0.1175), sources)
    assert len(compared) == 16
    status = {(c.cell.dataset, c.cell.method, c.cell.part): (c.status, c.source) for c in compared}
    assert status["adult", "Ours", "train"] == ("within", "paper")
    assert status["adult", "Ours", "test"] == ("outside", "paper")
    assert status["synthetic", "Ours", "train"] == ("other data", "bundled")
    assert status["law_school", "Ours", "train"] == ("not run", "")


@pytest.mark.parametrize(("ours", "status"), [(0.9, "within"), (1.1, "within"), (1.11, "outside")])
def test_the_edge_is_within(ours, status):
    cell = Cell("t", "d", "m", "mse", "train", 1.0, 0.1 + 1e-12)
    assert ComparedCell(cell, ours, 0.0, "paper").status == status


def test_printed_cells_are_those_of_three_tables():
    counts = [
        sum(c.table == t for c in printed_cells())
        for t in ("tab::clinear", "tab::ckernel", "tab::1")
    ]
    assert counts == [16, 16, 24]


# --- the page


class Page(HTMLParser):
    """The tags, links and texts of a page; asserts that every tag is closed."""

    VOID = ("meta", "img", "br", "link", "input")

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.texts, self.open = [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


NASTY = "<script>alert('x')</script> & \"quoted\" {{ 7 * 7 }} 🙂"


@pytest.fixture
def nasty(tmp_path):
    claims = (
        Claim(f"Held {NASTY}", lambda rows: Verdict(True, NASTY), "proved"),
        Claim("Fails", lambda rows: Verdict(False, "Because.")),
        Claim("Unasked", lambda rows: Verdict(None, "No rows.")),
    )
    experiment = small(
        title=NASTY, note=NASTY, claims=claims, entries=(Entry(NASTY, "OLS"),), figure=None
    )
    return publish(run(experiment, tmp_path / "cache"), tmp_path / "out", f"meanparity {NASTY}")


def test_all_text_on_the_page_is_escaped(nasty):
    page = Page(nasty.path.read_text())
    assert "script" not in page.tags
    assert page.text.count("<script>alert('x')</script>") >= 5
    assert "{{ 7 * 7 }}" in page.text
    assert "49" not in page.text


def test_the_page_says_what_held_and_what_did_not(nasty):
    text = Page(nasty.path.read_text()).text
    assert "What the paper proves: 1 of 1 statements hold." in text
    assert "0 of 2 statements hold, 1 could not be checked. These do not: Fails Linear" not in text
    assert "0 of 2 statements hold, 1 could not be checked. These do not: Fails" in text
    assert "– cannot be checked The paper reports: Unasked No rows." in text
    assert "✗ did not hold" in text
    assert "Because." in text
    assert "2 of 10 trials." in text
    assert nasty.statements("observed") == {"Fails": False, "Unasked": None}


def test_every_link_of_the_page_leads_somewhere(nasty):
    text = nasty.path.read_text()
    for link in Page(text).links:
        if link.startswith("#"):
            assert f'id="{link[1:]}"' in text
        else:
            assert (nasty.path.parent / link).stat().st_size > 0


def test_the_page_needs_no_network(nasty):
    text = nasty.path.read_text()
    assert "http://" not in text
    assert "https://" not in text


def test_results_are_csv_files(experiment, tmp_path):
    publication = publish(run(experiment, tmp_path / "cache"), tmp_path / "out", "x")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["fig-small.csv", "fig-small.png", "fig-small.svg", "index.html"]
    text = (tmp_path / "out" / "fig-small.csv").read_text()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 4
    (section,) = publication.sections
    assert [float(row["mse_test"]) for row in rows] == [
        row["mse_test"] for row in section.outcome.rows
    ]


def test_the_page_says_which_data_are_bundled(bundled_only, tmp_path):
    experiment = small(datasets=("communities_crime", "law_school"), claims=(), figure=None)
    publication = publish(run(experiment, tmp_path / "cache"), tmp_path / "out", "x")
    assert publication.substitutes[0].startswith("Communities & Crime: run on the bundled variant")
    assert publication.substitutes[1].startswith("Law School: left out")
    text = Page(publication.path.read_text()).text
    assert "Not the paper's data." in text
    assert all(line in text for line in publication.substitutes)


def test_proofs_have_a_table(tmp_path):
    entries = (Entry("linear", "Ours"),)
    names = ("smd", "order", "quadratic", "linear", "bound", "bound_zero")
    experiment = small(entries=entries, measure=proofs, metrics=names, figure=None, claims=())
    (outcome,) = run(experiment, tmp_path, 1).outcomes()
    header, rows = summary_as_text(outcome)
    assert header[2] == "SMD"
    assert header[-1] == "loss / E(Y²)"
    assert len(rows) == 1


def test_a_statement_that_fails_once_fails(tmp_path):
    def held_in(answer):
        return (Claim("Same", lambda rows: Verdict(answer, ".")),)

    both = [small(name=f"fig:{a}", claims=held_in(a), figure=None) for a in (True, None, False)]
    for experiments, held in ((both, False), (both[:2], True), (both[1:2], None)):
        plan = Plan.make(experiments, tmp_path / "cache", 1)
        plan.run(jobs=1)
        assert publish(plan, tmp_path, "x").statements("observed") == {"Same": held}


def test_a_check_that_raises_names_its_claim(tmp_path):
    broken = Claim("Breaks", lambda rows: 1 / 0)
    plan = run(small(claims=(broken,)), tmp_path / "cache", 1)
    with pytest.raises(RuntimeError, match="fig:small, claim 'Breaks': ZeroDivisionError"):
        publish(plan, tmp_path / "out", "x")
    assert not (tmp_path / "out").exists()


def test_printed_cells_have_their_own_file(tmp_path):
    entries = tuple(Entry(n, n) for n in ("Constant", "Ours"))
    table = small(
        paper="Table 1 (tab::clinear)", is_printed=True, entries=entries, figure=None, claims=()
    )
    publish(run(table, tmp_path / "cache"), tmp_path / "out", "x")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out" / "cells.csv").read_text())))
    assert len(rows) == 16
    assert {row["status"] for row in rows} <= {"within", "outside", "not run"}
    assert sum(row["status"] == "not run" for row in rows) == 12


def test_warnings_that_differ_in_numbers_are_shown_once():
    told = {"3 groups of fewer than 10 rows: a (2 rows)": 2, "4 groups of fewer than 10 rows: b": 5}
    assert _merge_similar({**told, "other": 1}) == [(next(iter(told)), 7), ("other", 1)]
