"""Parity on the test rows of the paper's splits: exact, and what it costs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.pool_splits import MANY, NAMES, PAPER, SETTINGS, increase, table, trials

pytestmark = [pytest.mark.data, pytest.mark.slow, pytest.mark.usefixtures("paper_data")]


@pytest.mark.parametrize("dataset", NAMES)
@pytest.mark.parametrize("setting", SETTINGS)
def test_parity_is_exact_on_train_and_pool(dataset, setting):
    numbers = trials(dataset, setting, MANY)
    assert len(numbers) == MANY >= PAPER
    for gap in ("smd train", "smd test", "residual"):
        assert (numbers[f"both: {gap}"] <= 1e-10 * numbers["sd"]).all()
    assert (numbers["train: smd train"] <= 1e-10 * numbers["sd"]).all()
    assert numbers["train: smd test"].mean() > 1e-3, "which the training rows alone do not give"


UNLUCKY = pytest.mark.xfail(
    strict=True, reason="4.5% and 5.8% on the paper's ten splits, and 1.4% on 40 of the same kind"
)


@pytest.mark.parametrize("setting", ["linear, α = 1", "RBF, α = 1"])
@pytest.mark.parametrize(
    "dataset",
    ["adult", "law_school", pytest.param("communities_crime", marks=UNLUCKY)],
)
def test_on_the_papers_splits_it_costs_two_per_cent_at_most(dataset, setting):
    assert increase(trials(dataset, setting, MANY)[:PAPER]) <= 0.02


@pytest.mark.parametrize("dataset", NAMES)
@pytest.mark.parametrize("setting", ["linear, α = 1", "RBF, α = 1"])
def test_on_many_splits_it_costs_two_per_cent_at_most(dataset, setting):
    assert increase(trials(dataset, setting, MANY)) <= 0.02


def test_the_document_shows_these_numbers():
    printed = (Path(__file__).parents[2] / "docs" / "pool.md").read_text()

    def cells(text):  # gaps due to rounding differ between machines
        return re.sub(r"\de-\d\d", "", text)

    assert cells(table()) in cells(printed)
