"""The problems: what the tables hold, and how they are split."""

from __future__ import annotations

import numpy as np
import pytest

from meanparity.datasets._fetched import SHA256
from meanparity.experiments.problems import DATA, Table, Trial


@pytest.mark.data
@pytest.mark.usefixtures("paper_data")
@pytest.mark.parametrize(
    ("name", "shape", "members"),
    [
        ("synthetic", (2000, 5), None),
        ("adult", (2000, 103), 604),
        ("law_school", (1000, 10), 828),
        ("communities_crime", (1994, 119), 1572),
    ],
)
def test_the_papers_tables(name, shape, members):
    table = DATA[name].table("paper")
    assert table.X.shape == shape
    assert len(np.unique(table.s)) == 2
    if members is not None:
        assert int((table.s == 1).sum()) == members


@pytest.mark.parametrize(("name", "n"), [("adult", 2000), ("communities_crime", 1993)])
def test_bundled_variants_stand_in(name, n, bundled_only):
    table = DATA[name].table("bundled")
    assert len(table.X) == len(table.y) == n
    assert np.isfinite(table.X).all()
    assert set(np.unique(table.s)) == {0.0, 1.0}


def test_every_file_is_known():
    assert {data.file for data in DATA.values()} == {"", *SHA256}


@pytest.mark.parametrize("r", [1, 2, 3, 4])
def test_several_attributes_are_cut_at_a_half(r, bundled_only):
    one = DATA["communities_crime"].table("bundled")
    table = DATA[f"communities_crime_{2**r}"].table("bundled")
    assert len(table.sensitive) == r
    s = table.s.reshape(len(table.y), -1)
    assert set(np.unique(s)) == {0.0, 1.0}
    assert np.array_equal(s[:, 0], one.s)
    assert len(np.unique(s, axis=0)) <= 2**r
    for column in table.sensitive[1:]:
        assert np.array_equal(table.X[:, column], one.X[:, column] > 0.5)
    kept = [j for j in range(one.X.shape[1]) if j not in table.sensitive]
    assert np.array_equal(table.X[:, kept], one.X[:, kept])


def test_a_split_is_four_to_one_inside_each_group():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), np.repeat([0.0, 1.0], [150, 50])])
    trial = Trial.of(Table(X, rng.normal(size=200), (1,)), 3)
    train, test = trial.parts["train"], trial.parts["test"]
    assert sorted([*train, *test]) == list(range(200))
    assert [(trial.s[test] == g).sum() for g in (0, 1)] == [30, 10]
    assert (trial.X[:, -1] == 1).all()
    other = Trial.of(Table(X, rng.normal(size=200), (1,)), 4)
    assert not np.array_equal(other.parts["test"], test)


def test_targets_are_centred_by_the_training_mean():
    trial = Trial.of(DATA["synthetic"].table("paper"), 0)
    centred = trial.centred()
    assert abs(centred.y[centred.parts["train"]].mean()) < 1e-12
    shift = trial.y[trial.parts["train"]].mean()
    assert np.allclose(trial.y - centred.y, shift, rtol=0, atol=1e-12)


def test_without_s_the_sensitive_columns_are_gone():
    trial = Trial.of(DATA["synthetic"].table("paper"), 0)
    bare = trial.without_s()
    assert bare.X.shape[1] == trial.X.shape[1] - 1
    assert np.array_equal(bare.s, trial.s)
    assert not any(np.array_equal(column, trial.s) for column in bare.X.T)
