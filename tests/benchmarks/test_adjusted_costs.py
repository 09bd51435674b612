"""What docs/scikit-learn.md says about the cost of corrections."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.adjusted_costs import WAYS, costs

pytestmark = pytest.mark.slow


def printed_table():
    """Pairs of error and gap in the table of the document, by way."""
    text = (Path(__file__).parents[2] / "docs" / "scikit-learn.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if ", gap " in line]
    words = {sentence: way for way, sentence in WAYS.items()}
    numbers = [[tuple(map(float, cell.split(", gap "))) for cell in cells] for _, *cells in rows]
    return dict(zip((words[first] for first, *_ in rows), numbers, strict=True))


def test_the_document_shows_these_numbers():
    table = printed_table()
    assert set(table) == set(WAYS)
    for way, cells in table.items():
        numbers = costs().xs(way, level="way")
        for (mse, gap), (_, row) in zip(cells, numbers.iterrows(), strict=True):
            assert row.mse == pytest.approx(mse, rel=0.02)
            assert row.gap == pytest.approx(gap, rel=0.1, abs=1e-3 if gap else 1e-10)


def test_what_the_document_says_about_them():
    by_way = {way: costs().xs(way, level="way") for way in WAYS}
    assert (by_way["scored"].gap < 1e-10).all()
    for way in ("train", "scored"):
        assert ((by_way[way].mse / by_way["others"].mse - 1).abs() < 0.05).all()
    assert (by_way["groups"].mse < by_way["others"].mse).all()
    for way in ("train", "others", "groups"):
        assert (by_way[way].gap < 0.15 * by_way["none"].gap).all()
