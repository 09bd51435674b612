"""Large files: some rows at a time, with the same promises."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from meanparity.metrics import mean_parity_gap
from meanparity.tables import Roles, fit_table, large_files, read_frame, reading
from tests.cli.test_commands import table

ROLES = Roles("salary", ("sex", "race"), ignored=("id",))


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(reading, "_BATCH_ROWS", 150)
    monkeypatch.setattr(reading, "LARGE", 0)


@pytest.fixture(params=["csv", "parquet"])
def path(request, tmp_path):
    frame = table(1000)
    frame.loc[::50, "salary"] = np.nan
    path = tmp_path / f"people.{request.param}"
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    return path


@pytest.mark.parametrize("model", ["linear", "kernel"])
def test_parity_is_exact_on_all_rows_that_were_fitted(small_batches, path, model, monkeypatch):
    monkeypatch.setattr(large_files, "SAMPLE_ROWS", 400)
    pool = table(80, seed=3)
    fitted = fit_table(path, ROLES, model=model, pool=pool)
    train, test, scored = fitted.row_sets
    assert (len(train.fair), len(test.fair), fitted.n_dropped) == (980 - len(test.fair), 79, 20)
    spread = np.std(train.y)
    for part in (train, scored):
        gap = mean_parity_gap(None, part.fair, sensitive_features=part.sensitive_features)
        assert gap < 1e-9 * spread
        assert part.constrained
    frame = read_frame(path)
    predicted = fitted.pipeline.predict(frame[list(fitted.columns)])
    rows = np.flatnonzero(frame["salary"].notna())
    assert np.isin(train.fair.round(6), predicted[rows].round(6)).all()
    assert "landmarks" in fitted.selection or model == "linear"
    assert fitted.report().summaries[0].n_groups == 4


def test_progress_says_how_many_rows_are_done_and_what_is_left(small_batches, path, monkeypatch):
    monkeypatch.setattr(large_files, "SAMPLE_ROWS", 400)
    said = []
    fit_table(path, ROLES, model="linear", progress=said.append)
    passes = {"fitting": [], "predicting": []}
    for message in said:
        found = re.fullmatch(
            r"step \d of 3: (\w+): ([\d,]+) of 1,000 rows, about \d+ s left", message
        )
        if found:
            passes[found[1]].append(int(found[2].replace(",", "")))
    for done in passes.values():
        assert done == sorted(set(done))
        assert len(done) > 2
        assert done[-1] == 1000


def test_a_sample_of_everything_gives_the_fit_in_memory(small_batches, path):
    streamed = fit_table(path, ROLES, model="linear")
    whole = fit_table(read_frame(path), ROLES, model="linear")
    names = list(whole.columns)
    frame = table(50, seed=5)[names]
    assert streamed.pipeline.predict(frame) == pytest.approx(whole.pipeline.predict(frame))
    for mine, theirs in zip(streamed.row_sets, whole.row_sets, strict=True):
        assert mine.fair == pytest.approx(theirs.fair)
        assert mine.name == theirs.name


def test_the_sample_is_uniform_and_knows_its_places(small_batches, path, monkeypatch):
    monkeypatch.setattr(large_files, "SAMPLE_ROWS", 200)
    whole = read_frame(path)
    counts = np.zeros(1000)
    for seed in range(60):
        sample, total = large_files.sample_rows(reading.TableFile(path), seed)
        assert total == 1000
        assert len(sample) == len(set(sample.index)) == 200
        pd.testing.assert_series_equal(
            sample["id"], whole["id"].iloc[sample.index], check_dtype=False
        )
        counts[sample.index] += 1
    assert abs(counts[:500].mean() - counts[500:].mean()) < 1.0  # 12 each, ± 0.2


def test_of_large_files_only_named_columns_are_kept(small_batches, path):
    frame = read_frame(path, ["salary", "sex", "nowhere"])
    assert list(frame.columns) == ["salary", "sex"]
    assert len(frame) == 1000


def test_weights_and_controls_of_a_large_file(small_batches, path):
    frame = read_frame(path).assign(w=np.arange(1000) % 3 + 1.0)
    frame.to_parquet(path.with_name("weighted.parquet"))
    roles = Roles("salary", ("sex",), ("grade",), "w", ignored=("id",))
    streamed = fit_table(path.with_name("weighted.parquet"), roles, model="linear")
    whole = fit_table(frame, roles, model="linear")
    for mine, theirs in zip(streamed.row_sets, whole.row_sets, strict=True):
        assert mine.fair == pytest.approx(theirs.fair)
        assert mine.sample_weight == pytest.approx(theirs.sample_weight)
        assert list(mine.control_features["grade"]) == list(theirs.control_features["grade"])


def test_a_bad_cell_of_a_large_file_is_named_by_its_row(small_batches, tmp_path, monkeypatch):
    monkeypatch.setattr(large_files, "SAMPLE_ROWS", 400)
    frame = table(1000)
    frame.loc[700:, "hours"] = np.inf
    frame.to_parquet(tmp_path / "people.parquet")
    with pytest.raises(ValueError, match=r"has inf in the column 'hours', row 70\d"):
        fit_table(tmp_path / "people.parquet", ROLES, model="linear")


def test_a_file_of_as_many_rows_as_the_sample_is_kept_whole(small_batches, path, monkeypatch):
    monkeypatch.setattr(large_files, "SAMPLE_ROWS", 1000)
    sample, total = large_files.sample_rows(reading.TableFile(path), 0)
    assert (sample.index.tolist(), total) == (list(range(1000)), 1000)


def test_predictions_without_a_constraint_of_a_large_file(small_batches, path):
    streamed = fit_table(path, ROLES, model="linear")
    whole = fit_table(read_frame(path), ROLES, model="linear")
    for mine, theirs in zip(streamed.row_sets, whole.row_sets, strict=True):
        assert mine.free == pytest.approx(theirs.free)
        assert mine.free != pytest.approx(mine.fair)


def test_a_limit_for_two_groups_has_the_numbers_of_its_model(small_batches, path):
    """One direction: the report has one column besides both ends."""
    roles = Roles("salary", ("sex",), ignored=("id", "race"))
    fitted = fit_table(path, roles, model="linear", max_gap=0.1)
    train = fitted.row_sets[0]
    assert train.columns.shape[1] == 3
    summary = fitted.report().summaries[0]
    assert np.abs(summary.gaps(summary.slider.model)).max() == pytest.approx(0.1, rel=1e-6)


@pytest.mark.parametrize("as_file", [True, False])
def test_a_pool_that_is_the_data_is_noticed(as_file, tmp_path):
    frame = table(200)
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_csv(tmp_path / "copy.csv", index=False)
    data, pool = frame, frame.copy()
    if as_file:
        data, pool = tmp_path / "people.csv", tmp_path / "copy.csv"
    with pytest.warns(UserWarning, match="The pool is the same table as the data. The means are"):
        fitted = fit_table(data, ROLES, model="linear", pool=pool)
    assert [rows.constrained for rows in fitted.row_sets] == [True, True, True]
    text = " ".join(fitted.report().sentences)
    assert "held-out rows, on which the constraint was imposed" in text
    assert "Among other people" not in text
    _, _, whole = fitted.row_sets
    gap = mean_parity_gap(None, whole.fair, sensitive_features=whole.sensitive_features)
    assert gap < 1e-9 * np.std(frame["salary"])


def test_another_pool_is_not_the_data(tmp_path):
    fitted = fit_table(table(200), ROLES, model="linear", pool=table(80, seed=3))
    assert [rows.constrained for rows in fitted.row_sets] == [True, False, True]
    assert "Among other people" in " ".join(fitted.report().sentences)
