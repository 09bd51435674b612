"""Columns mean the same wherever they come from, and wherever in a file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from meanparity import ParityWarning
from meanparity.cli.options import check_can_write
from meanparity.persistence import Saved, read, save
from meanparity.tables import (
    Roles,
    fit_table,
    read_frame,
    reading,
    score_file,
    write_frame,
)
from meanparity.tables.reading import TableFile
from tests.cli.test_commands import run, table


def coded(n=400, seed=0, noise=0.1):
    """Codes 1, 2 and A, of which each has an effect."""
    rng = np.random.default_rng(seed)
    code = rng.choice(["1", "2", "A"], n)
    frame = pd.DataFrame({"code": code, "x": rng.standard_normal(n)})
    frame["sex"] = rng.choice(["F", "M"], n)
    effect = pd.Series(code).map({"1": 0.0, "2": 3.0, "A": 6.0})
    frame["y"] = effect + frame["x"] + noise * rng.standard_normal(n)
    return frame


def saved(fitted, path):
    save(fitted.pipeline, path, about=fitted.about())
    return read(path)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    fitted = fit_table(coded(), Roles("y", ("sex",)), model="linear")
    return saved(fitted, tmp_path_factory.mktemp("model") / "m.meanparity")


def test_codes_that_look_like_numbers_stay_codes(model, tmp_path):
    new = coded(60, seed=1)
    new = new[new["code"] != "A"].reset_index(drop=True)
    new.loc[3, "code"] = None  # pandas reads 1.0 and 2.0
    new.to_csv(tmp_path / "new.csv", index=False)
    score_file(model, tmp_path / "new.csv", tmp_path / "scored.parquet", unfairness=1.0)
    scored = pd.read_parquet(tmp_path / "scored.parquet")
    known = scored["code"].notna()
    assert np.abs(scored["predicted y"] - new["y"])[known].max() < 0.6
    numbers = new.assign(code=pd.to_numeric(new["code"]))
    numbers.to_parquet(tmp_path / "new.parquet")
    score_file(model, tmp_path / "new.parquet", tmp_path / "again.parquet", unfairness=1.0)
    again = pd.read_parquet(tmp_path / "again.parquet")
    assert again["predicted y"].to_numpy() == pytest.approx(scored["predicted y"].to_numpy())


def test_all_parts_of_a_file_have_the_same_kinds(monkeypatch, tmp_path):
    monkeypatch.setattr(reading, "_BATCH_ROWS", 50)
    frame = pd.DataFrame(
        {
            "code": ["1", "2"] * 50 + ["A"] * 50,
            "whole": [1] * 100 + [None] * 50,
            "note": [None] * 100 + ["hello"] * 50,
            "number": np.arange(150) / 2,
            "flag": [0, 1] * 75,
        }
    )
    frame.to_csv(tmp_path / "a.csv", index=False)
    parts = list(TableFile(tmp_path / "a.csv").batches())
    assert len(parts) == 3
    for part in parts:
        assert part.dtypes.to_dict() == parts[0].dtypes.to_dict()
    whole = pd.concat(parts)
    assert sorted(whole["code"].unique()) == ["1", "2", "A"]
    assert whole["flag"].sum() == 75
    monkeypatch.setattr(reading, "LARGE", 0)
    assert sorted(read_frame(tmp_path / "a.csv", ["code"])["code"].unique()) == ["1", "2", "A"]


@pytest.mark.parametrize("form", ["parquet", "feather", "csv"])
def test_columns_that_change_midway_are_written(model, form, monkeypatch, tmp_path):
    monkeypatch.setattr(reading, "_BATCH_ROWS", 50)
    new = coded(150, seed=2).drop(columns="y")
    new["note"] = [None] * 100 + ["hello"] * 50
    new["count"] = [1] * 120 + [None] * 30
    new.to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / f"scored.{form}"
    assert score_file(model, tmp_path / "new.csv", out) == 150
    assert len(read_frame(out)) == 150
    assert read_frame(out)["note"].notna().sum() == 50


@pytest.mark.parametrize("form", ["parquet", "feather"])
@pytest.mark.parametrize("first", [0, 100])
def test_whole_numbers_with_gaps_in_some_batches_are_written(
    model, form, first, monkeypatch, tmp_path
):
    monkeypatch.setattr(reading, "_BATCH_ROWS", 50)
    new = coded(150, seed=2).drop(columns="y")
    new["count"] = pd.array(np.arange(150), dtype="Int64")
    new.loc[first : first + 9, "count"] = pd.NA  # in the first batch, or in the last one
    new.to_parquet(tmp_path / "new.parquet")
    out = tmp_path / f"scored.{form}"
    assert score_file(model, tmp_path / "new.parquet", out) == 150
    counts = read_frame(out)["count"]
    assert counts.isna().sum() == 10
    assert counts.dropna().tolist() == new["count"].dropna().tolist()


def test_groups_of_a_large_file_stay_whole(monkeypatch, tmp_path):
    monkeypatch.setattr(reading, "_BATCH_ROWS", 100)
    monkeypatch.setattr(reading, "LARGE", 0)
    frame = coded(600, noise=3.0).rename(columns={"code": "place"})
    frame = frame.sort_values("place", ignore_index=True)  # A comes last
    frame.to_csv(tmp_path / "a.csv", index=False)
    fitted = fit_table(tmp_path / "a.csv", Roles("y", ("place",)), model="kernel")
    assert fitted.report().summaries[0].names == ("1", "2", "A")


def test_cells_of_another_kind_are_refused(model, tmp_path):
    for cell, message in (
        ("1.2kg", "has '1.2kg' in the column 'x', row 5, but the model was fitted to numbers"),
        ("inf", "has inf in the column 'x', row 5"),
    ):
        new = coded(20, seed=3).drop(columns="y").astype({"x": object})
        new.loc[4, "x"] = cell
        new.to_csv(tmp_path / "new.csv", index=False)
        with pytest.raises(ValueError, match=message):
            score_file(model, tmp_path / "new.csv", tmp_path / "out.csv")
    with pytest.raises(ValueError, match="'x' contains cells of type list"):
        fit_table(coded().assign(x=[[1, 2]] * 400), Roles("y", ("sex",)))
    with pytest.raises(ValueError, match="has inf in the column 'x', row 1"):
        fit_table(coded().assign(x=np.inf), Roles("y", ("sex",)))
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("cell", ["1.2kg", "inf"])
def test_rows_are_counted_from_the_start_of_the_file(model, cell, monkeypatch, tmp_path):
    monkeypatch.setattr(reading, "_BATCH_ROWS", 50)
    new = coded(150, seed=3).drop(columns="y").astype({"x": object})
    new.loc[120, "x"] = cell
    new.to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(ValueError, match="in the column 'x', row 121"):
        score_file(model, tmp_path / "new.csv", tmp_path / "out.csv")
    frame = coded()
    frame.loc[:9, "y"] = np.nan  # rows without a target are left out, but count
    frame.loc[20, "x"] = np.inf
    with pytest.raises(ValueError, match="has inf in the column 'x', row 21"):
        fit_table(frame, Roles("y", ("sex",)))


def test_new_categories_are_noted(model, tmp_path):
    new = coded(20, seed=3).assign(code="Z").drop(columns="y")
    new.to_csv(tmp_path / "new.csv", index=False)
    with pytest.warns(
        ParityWarning, match="has 1 value of 'code' that did not occur .* such as 'Z'"
    ):
        score_file(model, tmp_path / "new.csv", tmp_path / "out.csv")
    with pytest.raises(ValueError, match="already has a column 'predicted y'"):
        score_file(model, tmp_path / "out.csv", tmp_path / "again.csv")


def test_other_models_are_no_models_of_tables(model, tmp_path):
    for about in ({"columns": ["x"]}, {}, "text"):
        with pytest.raises(ValueError, match="does not contain a model of a table"):
            score_file(Saved(model.model, about), tmp_path / "a.csv", tmp_path / "b.csv")


def test_codes_of_a_pool_are_the_codes_of_the_table():
    frame = coded(noise=3.0).rename(columns={"sex": "who", "code": "sex"})
    pool = coded(80, seed=5).rename(columns={"sex": "who", "code": "sex"})
    pool = pool[pool["sex"] != "A"].assign(sex=lambda part: pd.to_numeric(part["sex"]))
    fitted = fit_table(frame, Roles("y", ("sex",)), model="kernel", pool=pool)
    assert fitted.report().summaries[2].names == ("1", "2")


def test_empty_groups_time_zones_and_numbers_can_be_saved(tmp_path):
    frame = table(300).assign(hired=lambda part: part["hired"].dt.tz_localize("Europe/Paris"))
    frame.loc[::9, "sex"] = None
    frame["age"] = np.random.default_rng(0).normal(40, 9, 300)
    roles = Roles("salary", ("sex",), ignored=("id",))
    fitted = fit_table(frame, roles, model="linear", missing="group")
    back = saved(fitted, tmp_path / "m.meanparity").model
    rows = frame[list(fitted.columns)]
    assert back.predict(rows) == pytest.approx(fitted.pipeline.predict(rows))
    with pytest.warns(
        ParityWarning, match="'age' has 300 different numbers and is treated as a number"
    ):
        numbers = fit_table(frame, Roles("salary", ("age",), ignored=("id", "sex")))
    assert numbers.report().summaries[0].banded


def test_weights_have_to_be_weights():
    for bad in (-1.0, np.nan):
        frame = coded().assign(w=1.0)
        frame.loc[7, "w"] = bad
        with pytest.raises(ValueError, match="Weights must be finite and not negative"):
            fit_table(frame, Roles("y", ("sex",), weight="w"))


def test_nothing_is_overwritten(tmp_path):
    write_frame(table(60), tmp_path / "p.csv")
    before = (tmp_path / "p.csv").read_bytes()
    fit = ("fit", tmp_path / "p.csv", "--target", "salary", "--sensitive", "sex")
    for more in (
        ("-o", tmp_path / "p.csv"),
        ("--report", tmp_path / "p.csv"),
    ):
        with pytest.raises(ValueError, match=r"p\.csv is not the name of an? "):
            run(*fit, *more)
    compare, same = ("compare", *fit[1:], "-o"), "is also the name of another input or output file"
    with pytest.raises(ValueError, match=same):
        run(*compare, tmp_path / "p.csv")
    with pytest.raises(ValueError, match=same):
        check_can_write(tmp_path / "new", tmp_path / "new")
    assert (tmp_path / "p.csv").read_bytes() == before
    with pytest.raises(
        ValueError, match=r"not the name of a PNG file\. Name a file that ends with \.png"
    ):
        run("compare", *fit[1:], "--plot", tmp_path / "a.pdf")
    with pytest.raises(ValueError, match="Name the table to write"):
        run("datasets", "-o", tmp_path / "a.csv")
    (tmp_path / "semi.csv").write_text("a;b\n1;2\n")
    with (
        pytest.warns(ParityWarning, match="read with semicolons between fields"),
        pytest.raises(ValueError, match="has no column 'sex'"),
    ):
        fit_table(tmp_path / "semi.csv", Roles("salary", ("sex",)))
