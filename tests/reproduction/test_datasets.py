"""The data sets and how they are split."""

from __future__ import annotations

import numpy as np
import pytest

from meanparity.datasets._fetched import SHA256
from reproduction.datasets import DATASETS, Dataset, Trial


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
def test_the_papers_data_sets(name, shape, members):
    dataset = DATASETS[name].load("paper")
    assert dataset.X.shape == shape
    assert len(np.unique(dataset.s)) == 2
    if members is not None:
        assert int((dataset.s == 1).sum()) == members


@pytest.mark.parametrize(("name", "n"), [("adult", 2000), ("communities_crime", 1993)])
def test_bundled_variants_replace_missing_files(name, n, bundled_only):
    dataset = DATASETS[name].load("bundled")
    assert len(dataset.X) == len(dataset.y) == n
    assert np.isfinite(dataset.X).all()
    assert set(np.unique(dataset.s)) == {0.0, 1.0}


def test_every_file_is_known():
    assert {loader.file for loader in DATASETS.values()} == {"", *SHA256}


@pytest.mark.parametrize("r", [1, 2, 3, 4])
def test_several_attributes_are_cut_at_a_half(r, bundled_only):
    one = DATASETS["communities_crime"].load("bundled")
    dataset = DATASETS[f"communities_crime_{2**r}"].load("bundled")
    assert len(dataset.sensitive) == r
    s = dataset.s.reshape(len(dataset.y), -1)
    assert set(np.unique(s)) == {0.0, 1.0}
    assert np.array_equal(s[:, 0], one.s)
    assert len(np.unique(s, axis=0)) <= 2**r
    for column in dataset.sensitive[1:]:
        assert np.array_equal(dataset.X[:, column], one.X[:, column] > 0.5)
    kept = [j for j in range(one.X.shape[1]) if j not in dataset.sensitive]
    assert np.array_equal(dataset.X[:, kept], one.X[:, kept])


def test_a_split_is_four_to_one_within_each_group():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), np.repeat([0.0, 1.0], [150, 50])])
    trial = Trial.from_dataset(Dataset(X, rng.normal(size=200), (1,)), 3)
    train, test = trial.parts["train"], trial.parts["test"]
    assert sorted([*train, *test]) == list(range(200))
    assert [(trial.s[test] == g).sum() for g in (0, 1)] == [30, 10]
    assert (trial.X[:, -1] == 1).all()
    other = Trial.from_dataset(Dataset(X, rng.normal(size=200), (1,)), 4)
    assert not np.array_equal(other.parts["test"], test)


def test_targets_are_centred_by_the_training_mean():
    trial = Trial.from_dataset(DATASETS["synthetic"].load("paper"), 0)
    centred = trial.centred()
    assert abs(centred.y[centred.parts["train"]].mean()) < 1e-12
    shift = trial.y[trial.parts["train"]].mean()
    assert np.allclose(trial.y - centred.y, shift, rtol=0, atol=1e-12)


def test_without_s_the_sensitive_columns_are_gone():
    trial = Trial.from_dataset(DATASETS["synthetic"].load("paper"), 0)
    bare = trial.without_sensitive()
    assert bare.X.shape[1] == trial.X.shape[1] - 1
    assert np.array_equal(bare.s, trial.s)
    assert not any(np.array_equal(column, trial.s) for column in bare.X.T)
