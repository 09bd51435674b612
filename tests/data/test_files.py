"""Fits to files, by record batches."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

from meanparity import MeanParity, ParityKernelRidge, ParityRidge, Pool
from meanparity.data import files
from meanparity.data.progress import with_progress
from meanparity.solvers import Nystrom


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    n = 1000
    sex = rng.choice(["F", "M"], n)
    frame = pd.DataFrame(rng.standard_normal((n, 3)), columns=["x", "y z", "ä"])
    frame["sex"] = sex
    frame["grade"] = rng.choice([1, 2], n)
    frame["hours"] = rng.uniform(0.5, 1.0, n)
    frame["salary"] = frame["x"] + (sex == "F") + rng.standard_normal(n)
    return frame


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(files, "BATCH_ROWS", 90)


def write(frame, folder, kind):
    table = pa.Table.from_pandas(frame)
    if kind == "folder":
        (folder / "parts").mkdir()
        for i in range(3):
            part = table.slice(334 * i, 334)
            pyarrow.parquet.write_table(part, folder / "parts" / f"{i}.parquet")
        return folder / "parts"
    path = folder / f"people.{kind}"
    if kind == "parquet":
        pyarrow.parquet.write_table(table, path)
    elif kind == "feather":
        pyarrow.feather.write_feather(table, path)
    else:
        frame.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    return path


NAMES = {
    "sensitive_features": "sex",
    "control_features": ["grade"],
    "sample_weight": "hours",
}


def columns(frame):
    return {name: frame[value] for name, value in NAMES.items()}


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "feather", "folder"])
def test_files_give_the_fit_to_the_frame(kind, people, tmp_path):
    path = write(people, tmp_path, kind)
    X = people[["x", "y z", "ä"]]
    whole = ParityRidge().fit(X, people["salary"], **columns(people))
    model = ParityRidge().fit(str(path) if kind == "csv" else path, "salary", **NAMES)
    assert model.predict(X) == pytest.approx(whole.predict(X), abs=1e-9)
    assert list(model.feature_names_in_) == ["x", "y z", "ä"]
    assert model.parity_residual_ <= 1e-10
    assert model.statistics_.loss.n_rows == 1000


def test_datasets_lists_and_kernels(people, tmp_path):
    first, second = people[:400], people[400:]
    paths = []
    for i, part in enumerate((first, second)):
        (tmp_path / str(i)).mkdir()
        paths.append(write(part, tmp_path / str(i), "parquet"))
    X = people[["x", "y z", "ä"]]
    whole = ParityRidge().fit(X, people["salary"], **columns(people))
    more = people[["x", "y z", "ä", "grade", "hours"]]
    pool = Pool(more[:200], people["sex"][:200])
    for source in (paths, pa.dataset.dataset([str(path) for path in paths])):
        model = ParityRidge().fit(source, "salary", **NAMES)
        assert model.predict(X) == pytest.approx(whole.predict(X), abs=1e-9)
    kernel = ParityKernelRidge(
        kernel="rbf", gamma=0.2, solver=Nystrom(n_components=60), fit_intercept=True
    )
    kernel.fit(paths, "salary", sensitive_features=["sex", "grade"], pool=None)
    means = people.assign(g=kernel.predict(people[["x", "y z", "ä", "hours"]]))
    gaps = means.groupby(["sex", "grade"]).g.mean() - means.g.mean()
    assert np.abs(gaps).max() <= 1e-10
    both = ParityRidge().fit(paths, "salary", pool=pool, sensitive_features="sex")
    assert max(map(abs, both.pool_gaps_.values())) <= 1e-10


def test_sensitive_columns_of_files(people, tmp_path):
    path = write(people, tmp_path, "parquet")
    model = ParityRidge(sensitive_columns="sex", drop_sensitive=True)
    model.fit(path, "salary")
    assert set(model.group_means_) == {"F", "M"}
    assert "sex" in model.feature_names_in_
    two = ParityRidge().fit(path, ["salary", "hours"], sensitive_features="sex")
    assert two.coef_.shape == (2, 4)


BAD = {
    "target": ({"y": "salry"}, "y names the column 'salry'.*Did you mean 'salary'"),
    "an array": (
        {"y": [1.0, 2.0]},
        "y is a list, but the rows of X are not in memory. Pass the name of a column of X",
    ),
    "no target": ({"y": None}, "y has to name the target column"),
    "groups": ({"sensitive_features": None}, "sensitive_features has to name the columns"),
    "text": ({"y": "sex", "sensitive_features": "grade"}, "'sex' of the file has to hold numbers"),
    "twice": ({"control_features": "sex"}, "'sex' is named twice among"),
    "weights": ({"sample_weight": "wt"}, "sample_weight names the column 'wt'"),
}


@pytest.mark.parametrize(("changed", "message"), BAD.values(), ids=BAD)
def test_wrong_columns_speak(changed, message, people, tmp_path):
    path = write(people, tmp_path, "parquet")
    given = {"y": "salary", "sensitive_features": "sex", **changed}
    with pytest.raises(ValueError, match=message):
        ParityRidge().fit(path, given.pop("y"), **given)


def test_wrong_files_speak(people, tmp_path):
    def fit(path, **more):
        return ParityRidge().fit(path, "salary", sensitive_features="sex", **more)

    with pytest.raises(FileNotFoundError, match="There is no file"):
        fit(tmp_path / "nowhere.csv")
    (tmp_path / "people.xlsx").write_text("")
    with pytest.raises(ValueError, match=r"has the extension '\.xlsx'\. Known are \.parquet"):
        fit(tmp_path / "people.xlsx")
    (tmp_path / "broken.parquet").write_text("salary,sex\n1,F\n")
    with pytest.raises(ValueError, match="cannot be read as parquet"):
        fit(tmp_path / "broken.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="has no files with one of the extensions"):
        fit(tmp_path / "empty")
    people[:0].to_csv(tmp_path / "none.csv", index=False)
    with pytest.raises(ValueError, match="The files have no rows"):
        fit(tmp_path / "none.csv")
    people.loc[5, "x"] = np.nan
    with pytest.raises(ValueError, match=r"'x' of the file has empty cells \(1 in .* 1,000 rows\)"):
        fit(write(people[["x", "sex", "salary"]], tmp_path, "parquet"))
    people["job"] = "clerk"
    with pytest.raises(ValueError, match="X holds text"):
        fit(write(people[["job", "sex", "salary"]], tmp_path, "parquet"))


def test_empty_cells_are_counted_in_the_batch_that_has_them(people, tmp_path, monkeypatch):
    monkeypatch.setattr("meanparity.statistics.collect._SAMPLE", 10)
    people.loc[[996, 998], "x"] = np.nan  # in the last batch, of 10 rows
    path = write(people[["x", "sex", "salary"]], tmp_path, "parquet")
    with pytest.raises(ValueError, match=r"empty cells \(2 in a batch of 10 rows\)"):
        ParityRidge().fit(path, "salary", sensitive_features="sex")


def test_columns_may_turn_out_to_have_fractions(tmp_path):
    n = 120_000  # more than the first block that PyArrow looks at
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"u": rng.standard_normal(n), "k": np.arange(n) % 7})
    frame["sex"], frame["salary"] = rng.choice(["a", "b"], n), frame["u"] + frame["k"]
    late = frame.assign(k=frame["k"].astype(object))
    late.loc[n - 1, "k"] = 0.5
    late.to_csv(tmp_path / "late.csv", index=False)
    model = ParityRidge().fit(tmp_path / "late.csv", "salary", sensitive_features="sex")
    numbers = late[["u", "k"]].astype(float)
    whole = ParityRidge().fit(numbers, late["salary"], sensitive_features=late["sex"])
    assert model.coef_ == pytest.approx(whole.coef_, abs=1e-9)
    late.loc[n - 1, "k"] = "seven"
    late.to_csv(tmp_path / "late.csv", index=False)
    with pytest.raises(ValueError, match=r"cannot be read to their end: .*seven"):
        ParityRidge().fit(tmp_path / "late.csv", "salary", sensitive_features="sex")


def test_only_fit_reads_files(people, tmp_path):
    path = write(people, tmp_path, "parquet")
    model = ParityRidge().fit(path, "salary", sensitive_features="sex")
    with pytest.raises(TypeError, match=r"X is '.*people.parquet', but only ParityRidge\.fit and"):
        model.predict(path)


def test_folders_of_unlike_files_speak(people, tmp_path):
    def fit(path):
        return ParityRidge().fit(path, "salary", sensitive_features="sex")

    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "README.md").write_text("not a table")
    (folder / ".checkpoints").mkdir()
    (folder / ".checkpoints" / "people.parquet").write_text("hidden")
    (folder / "_people.csv").write_text("hidden")
    some = people[["x", "ä", "sex", "salary"]]
    write(some, folder, "parquet").rename(folder / "A.PARQUET")
    assert fit(folder).statistics_.loss.n_rows == 1000
    whole = some.assign(x=np.arange(1000))
    write(whole, folder, "parquet")  # whole numbers beside fractions
    assert fit(folder).statistics_.loss.n_rows == 2000
    write(some.assign(x="text"), folder, "parquet")
    with pytest.raises(ValueError, match="columns of different types"):
        fit(folder)
    write(some.assign(more=1.0), folder, "parquet")
    with pytest.raises(ValueError, match="do not have the same columns: 'more' is in one of them"):
        fit(folder)
    write(some, folder, "csv")
    with pytest.raises(ValueError, match="different formats, csv, parquet"):
        fit(folder)


def test_empty_cells_of_text_are_missing(people, tmp_path):
    people.loc[::7, "sex"] = None
    some = people[["x", "y z", "sex", "salary"]]
    for kind in ("csv", "parquet"):
        path = write(some, tmp_path, kind)
        with pytest.raises(ValueError, match="missing"):
            ParityRidge().fit(path, "salary", sensitive_features="sex")
        model = ParityRidge(constraint=MeanParity(missing="ignore")).fit(
            path, "salary", sensitive_features="sex"
        )
        assert set(model.group_means_) == {"F", "M"}


def test_dates_are_not_numbers(people, tmp_path):
    people["since"] = pd.Timestamp("2020-01-01")
    path = write(people, tmp_path, "parquet")
    for target in ("salary", "since"):
        with pytest.raises(ValueError, match=r"'since' holds timestamp.* which is not a number"):
            ParityRidge().fit(path, target, sensitive_features="sex")


def test_exact_solvers_do_not_read_files(people, tmp_path):
    path = write(people, tmp_path, "parquet")
    model = ParityKernelRidge(kernel="rbf", solver="dense")
    with pytest.raises(ValueError, match="solver='dense' needs all rows in memory"):
        model.fit(path, "salary", sensitive_features="sex")


def test_a_terminal_shows_how_far_it_is(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setattr("meanparity.data.progress._INTERVAL", 0.0)
    import sys

    assert list(with_progress([(50, "a"), (50, "b")], 100, "rows")) == ["a", "b"]
    assert "50 of 100 rows, about" in sys.stderr.getvalue()
