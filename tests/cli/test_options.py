"""Options that reach what the package can do, and files in every layout."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from meanparity.audit import audit
from meanparity.cli.app import app
from meanparity.tables import read_frame
from tests.cli.process import call

PAY = ("--target", "pay", "--sensitive")


def people(n=240, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"self": rng.integers(0, 2, n), "age": rng.integers(18, 65, n)})
    frame["sex"], frame["hours"] = rng.choice(["F", "M"], n), rng.normal(38, 4, n).round(1)
    pay = frame["hours"] + 3 * (frame["sex"] == "M") + 0.2 * frame["age"] + rng.normal(size=n)
    frame["pay"] = pay.round(2)
    return frame


def invoke(*arguments, status=0, **more):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], **more)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == status, done.output
    return done


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A table with a column named self, and a model of it."""
    folder = tmp_path_factory.mktemp("fitted")
    people().to_csv(folder / "people.csv", index=False)
    invoke(
        *("fit", folder / "people.csv", *PAY, "sex,self", "--model", "linear"),
        *("-o", folder / "m.meanparity"),
    )
    return folder


def gaps_of(*arguments, **more):
    found = json.loads(invoke("audit", *arguments, "--json", **more).stdout)
    return {part["group"]: part["gap"] for part in found["findings"]}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("people.txt", {"sep": "\t"}),
        ("people.csv", {"sep": ";", "decimal": ","}),
        ("people.csv", {"sep": ";", "decimal": ",", "encoding": "utf-16"}),
        ("people.csv.gz", {}),
        ("people.txt.gz", {"sep": "|"}),
        ("people.xlsx", {}),
    ],
)
def test_an_audit_does_not_depend_on_how_the_table_is_written(name, options, tmp_path):
    frame, path = people(), tmp_path / name
    if name.endswith("xlsx"):
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False, **options)
    expected = {
        f.group: f.gap for f in audit(frame["pay"], sensitive_features=frame["sex"]).findings
    }
    assert gaps_of(path, *PAY, "sex") == pytest.approx(expected)
    done = invoke("audit", path, *PAY, "sex")
    assert ("is read with" in done.stderr) == bool(options.get("sep"))
    assert invoke("audit", path, *PAY, "sex", "--quiet").stderr == ""


def test_the_layout_can_be_given(tmp_path):
    path = tmp_path / "people.csv"
    frame = people().assign(sex=lambda part: part["sex"].map({"F": "Žena", "M": "Muž"}))
    frame.to_csv(path, sep=";", decimal=",", encoding="cp1250", index=False)
    given = ("--delimiter", "semicolon", "--decimal", "comma", "--encoding", "cp1250")
    done = invoke("audit", path, *PAY, "sex", *given)
    assert "Žena" in done.stdout
    assert done.stderr == ""
    guessed = invoke("audit", path, *PAY, "sex")
    assert "is not UTF-8 in line 2. It is read as cp1252 (Windows)" in guessed.stderr
    with pytest.raises(ValueError, match=r"'pay'.*contain numbers, but has '\d+,\d+'"):
        invoke("audit", path, *PAY, "sex", *given[:2], "--decimal", "point", *given[4:])


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".feather", ".xlsx"])
def test_standard_input_and_output(ending, fitted, tmp_path):
    frame = people(60, seed=1)
    path = tmp_path / f"next{ending}"
    {
        ".parquet": frame.to_parquet,
        ".feather": frame.to_feather,
        ".xlsx": lambda path: frame.to_excel(path, index=False),
    }.get(ending, lambda path: frame.to_csv(path, index=False))(path)
    invoke("predict", fitted / "m.meanparity", path, "-o", tmp_path / "scored.csv")
    with path.open("rb") as file:
        model = fitted / "m.meanparity"
        done = subprocess.run(
            [sys.executable, "-m", "meanparity", "predict", model, "-", "-o", "-"],
            stdin=file,
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
    assert done.stdout == (tmp_path / "scored.csv").read_bytes()
    assert b"60 rows with the new column 'predicted pay'" in done.stderr


def test_standard_streams_are_refused_where_they_make_no_sense(fitted):
    model = fitted / "m.meanparity"
    with pytest.raises(ValueError, match="-o - and --json both print to standard output"):
        invoke("predict", model, fitted / "people.csv", "-o", "-", "--json")
    with pytest.raises(ValueError, match="pool cannot be read from standard input"):
        invoke("fit", fitted / "people.csv", *PAY, "sex", "--pool", "-")


def test_a_file_that_is_not_there_is_named(fitted, tmp_path):
    """An error that says nothing but None, as the file to be written was not the one missing."""
    out = tmp_path / "out.csv"
    status, _, errors = call("predict", fitted / "m.meanparity", tmp_path / "nofile.csv", "-o", out)
    assert status == 1
    assert errors == f"meanparity: There is no file {str(tmp_path / 'nofile.csv')!r}.\n"
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--report", "r.pdf"), "--report r.pdf is not the name of an HTML file"),
        (("--report", "r"), "ends with .html or .htm"),
        (("-o", "model.csv"), "--output model.csv is not the name of a model file"),
        (("-o", "model"), "ends with .meanparity"),
    ],
)
def test_files_are_what_their_names_say(arguments, message, fitted):
    with pytest.raises(ValueError, match=re.escape(message)):
        invoke("fit", fitted / "people.csv", *PAY, "sex", *arguments)


def test_audit_and_fit_read_sensitive_numbers_alike(tmp_path):
    """A number has more than 20 values in the table, but fewer in the training rows."""
    frame = people(60)
    frame["age"] = np.r_[np.arange(21), np.zeros(39, dtype=int)]
    frame.to_csv(tmp_path / "a.csv", index=False)
    words = "The sensitive column 'age' has 21 different numbers and is treated as a number"
    for command in ("audit", "fit"):
        more = ("--model", "linear") if command == "fit" else ()
        done = invoke(command, tmp_path / "a.csv", *PAY, "age", *more)
        assert done.stderr.count(words) == 1
        assert ("age (covariance)" if command == "audit" else "covariance with age") in done.stdout
        assert not re.search(r"continuous|MeanParity\(", done.stderr)
        assert words not in invoke(command, tmp_path / "a.csv", *PAY, "age", *more, "-q").stderr
        confirmed = ("--numeric", "age")
        assert (
            words not in invoke(command, tmp_path / "a.csv", *PAY, "age", *more, *confirmed).stderr
        )
        groups = invoke(command, tmp_path / "a.csv", *PAY, "age", *more, "--categorical", "age")
        assert words not in groups.stderr
        assert "covariance" not in groups.stdout
    for more, message in (
        (("--numeric", "sex"), "'sex' is named as numeric or categorical, but is not one of"),
        (("--numeric", "age", "--categorical", "age"), "named as numeric and as categorical"),
    ):
        with pytest.raises(ValueError, match=message):
            invoke("audit", tmp_path / "a.csv", *PAY, "age", *more)
    with pytest.raises(ValueError, match=r"'sex' is named as numeric, but contains '[FM]'"):
        invoke("audit", tmp_path / "a.csv", *PAY, "sex", "--numeric", "sex")


def test_the_degree_of_numbers_is_met_on_the_training_rows(tmp_path):
    frame = people(300)
    frame["pay"] += 0.01 * (frame["age"] - 40.0) ** 2
    frame.to_csv(tmp_path / "a.csv", index=False)
    from meanparity.tables import Roles, fit_table

    roles = Roles("pay", ("age",), numeric=("age",))
    left = {}
    for degree in (1, 2):
        fitted = fit_table(tmp_path / "a.csv", roles, model="kernel", degree=degree)
        rows = fitted.row_sets[0]
        age = rows.sensitive_features["age"].to_numpy(dtype=float)
        powers = [(age - age.mean()) ** power for power in (1, 2)]
        left[degree] = [abs(np.cov(rows.fair, power)[0, 1] / power.std()) for power in powers]
    spread = frame["pay"].std()
    assert left[1][0] < 1e-8 * spread
    assert left[1][1] > 1e-3 * spread
    assert max(left[2]) < 1e-8 * spread
    done = invoke("fit", tmp_path / "a.csv", *PAY, "age", "--numeric", "age", "--degree", "2")
    assert "powers up to 2 of age" in done.stdout


def test_the_smallest_group_that_is_not_noted(tmp_path):
    frame = people(200)
    frame.loc[:5, "sex"] = "X"
    frame.to_csv(tmp_path / "a.csv", index=False)
    fit = ("fit", tmp_path / "a.csv", *PAY, "sex", "--model", "linear")
    note = invoke(*fit).stderr
    assert "of fewer than 10 rows: X (" in note
    assert "--min-group-size" in note
    assert "min_group_size" not in note
    assert "fewer than" not in invoke(*fit, "--min-group-size", "2").stderr


def test_rows_in_no_group_of_the_fit_are_counted_or_refused(fitted, tmp_path):
    frame = people(50, seed=3)
    frame["self"] = frame["self"].astype(object)
    frame.loc[[4, 7], "sex"] = None
    frame.loc[5, "self"] = 2
    frame.to_csv(tmp_path / "next.csv", index=False)
    predict = ("predict", fitted / "m.meanparity", tmp_path / "next.csv", "-o")
    out = tmp_path / "out.csv"
    note = " ".join(invoke(*predict, out).stderr.split())
    assert (
        "next.csv has 2 rows with an empty sensitive or control cell and 1 row in a group that no "
        "row of the fit was in (the first one, row 5, has an empty cell in 'sex'). Equal means "
        "concern the groups of the fit, and say nothing about these rows."
    ) in note
    assert len(pd.read_csv(out)) == 50
    out.unlink()
    with pytest.raises(ValueError, match=r"2 rows with an empty .* or predict without --strict"):
        invoke(*predict, out, "--strict")
    assert not out.exists()
    frame.drop(index=[4, 5, 7]).to_csv(tmp_path / "next.csv", index=False)
    assert invoke(*predict, out, "--strict").stderr == ""


def test_empty_cells_that_are_a_group_are_known(tmp_path):
    frame = people(200)
    frame.loc[::5, "sex"] = None
    frame.to_csv(tmp_path / "a.csv", index=False)
    fit = ("fit", tmp_path / "a.csv", *PAY, "sex", "--model", "linear", "--exclude-sensitive")
    model, out = tmp_path / "m.meanparity", tmp_path / "out.csv"
    for missing, known in (("group", True), ("ignore", False)):
        invoke(*fit, "--missing", missing, "-o", model)
        done = invoke("predict", model, tmp_path / "a.csv", "-o", out)
        assert ("40 rows with an empty sensitive" in done.stderr) != known
    frame.drop(columns="sex").to_csv(tmp_path / "b.csv", index=False)  # excluded, so not needed
    assert invoke("predict", model, tmp_path / "b.csv", "-o", out).stderr == ""
    with pytest.raises(ValueError, match="has no column 'sex', so the groups of its rows cannot"):
        invoke("predict", model, tmp_path / "b.csv", "-o", out, "--strict")


def test_options_come_from_a_file_and_the_command_line_comes_first(fitted, tmp_path):
    people_file, config = fitted / "people.csv", tmp_path / "study.toml"
    config.write_text('target = "pay"\nsensitive = ["sex"]\n[fit]\nmodel = "linear"\nmax-gap = 1\n')
    found = json.loads(invoke("audit", people_file, "--config", config, "--json").stdout)
    assert [part["group"] for part in found["findings"]] == ["F", "M"]
    found = json.loads(invoke("fit", people_file, "--config", config, "--json").stdout)
    assert found["model"].startswith("linear")
    gaps = [abs(part["gap"]) for part in found["parts"][0]["after"]["findings"]]
    assert max(gaps) == pytest.approx(1.0)
    more = ("--max-gap", "0.5", "--sensitive", "self", "--report", tmp_path / "r.html")
    found = json.loads(invoke("fit", people_file, "--config", config, "--json", *more).stdout)
    parts = found["parts"][0]["after"]["findings"]
    assert max(abs(part["gap"]) for part in parts) <= 0.5 + 1e-9
    assert "study.toml, SHA-256" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "targt = 'pay'",
            "study.toml has an option 'targt' that is not known. Did you mean 'target'",
        ),
        ("[fit]\nprediction = 'pay'", "[fit] in study.toml has an option 'prediction'"),
        ("[fitt]\nseed = 1", "has a table [fitt], but the commands are audit, fit"),
        ("target = ['pay']", "target in study.toml is ['pay']. Pass one value"),
        ("sensitive = 3", "sensitive in study.toml is 3. Pass a list or text"),
        ("json = 1", "json in study.toml is 1. Pass true or false"),
        ("target = pay", "study.toml is not a TOML file"),
        ("debug = true", "an option 'debug' that is not known"),
    ],
)
def test_mistakes_in_a_file_of_options_are_named(text, message, fitted, tmp_path):
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(ValueError, match=re.escape(message)):
        invoke("fit", fitted / "people.csv", *PAY, "sex", "--config", tmp_path / "study.toml")
    with pytest.raises(ValueError, match="There is no configuration file"):
        invoke("fit", fitted / "people.csv", *PAY, "sex", "--config", tmp_path / "none.toml")


def test_help_in_groups_fits_eighty_columns():
    assert invoke("-V").stdout == invoke("--version").stdout
    assert invoke("-h").stdout == invoke("--help").stdout
    for command in ("audit", "fit", "predict", "compare", "datasets"):
        text = invoke(command, "-h", env={"COLUMNS": "80"}).stdout
        assert text == invoke(command, "--help", env={"COLUMNS": "80"}).stdout
        options = text.partition("Arguments:")[2]
        assert max(map(len, options.splitlines())) <= 80
        groups = re.findall(r"^(\w.*):$", text, re.MULTILINE)
        if command == "fit":
            assert groups[:4] == ["Arguments", "Columns", "Rows", "Model and constraint"]
            assert groups[4:] == ["Text files", "Output", "Options"]
        assert "list[str]" not in text


def test_compare_is_readable_at_eighty_columns_and_says_how_methods_were_set(fitted, tmp_path):
    frame = people(300).assign(grade=lambda part: np.where(part["hours"] > 38, "a", "b"))
    frame["pay"] *= 1e6
    frame.to_csv(tmp_path / "a.csv", index=False)
    arguments = ("compare", tmp_path / "a.csv", *PAY, "sex")
    for more in ((), ("--setting", "kernel"), ("--control", "grade")):
        output = invoke(*arguments, *more, "--rows", "120", "-o", tmp_path / "m.csv").stdout
        lines = output.splitlines()
        assert max(map(len, lines[:-1])) <= 80
        said = " ".join(" ".join(lines[:4]).split(": ")[0].split())
        assert said.startswith("Only the first two lines were tuned to this table (")
        assert said.endswith("the paper's settings, which were not tuned to this table")
        assert "'meanparity, untuned' among them" in said
        found = read_frame(tmp_path / "m.csv").set_index("method")
        for method, row in found.iterrows():
            shown = next(line for line in lines if line.startswith(f"{method}  "))
            numbers = [float(cell) for cell in shown[len(method) :].split()]
            expected = row.drop("description").astype(float)
            assert numbers == pytest.approx(expected.tolist(), rel=0.06, abs=6e-4)
        assert found.loc["meanparity, untuned", "sum of gaps, training"] < 1e-6
    assert "in each stratum of grade" in " ".join(output.split())
    assert found.loc["meanparity, unfairness 0", "sum of gaps, training"] < 1e-6
    assert found.loc["Barycenter", "sum of gaps, training"] > 1e4  # equal over all rows, not there


def test_audit_points_out_identifiers_and_lists_no_more_than_a_few(tmp_path):
    frame = people(100)
    frame["who"] = [f"p{i}" for i in range(len(frame))]
    frame.to_csv(tmp_path / "a.csv", index=False)
    found = invoke("audit", tmp_path / "a.csv", "--target", "pay", "--sensitive", "who")
    assert "'who' has 100 different texts in 100 rows, so most groups have one row" in found.stderr
    assert ", and 80 more." in found.stdout
    assert "gap: a group's mean minus the overall mean." in found.stdout
    more = ("--control", "sex", "--within", "1")
    arguments = ("audit", tmp_path / "a.csv", "--target", "pay", "--sensitive", "who", *more)
    text = invoke(*arguments, status=3)
    assert "minus the mean of the stratum" in text.stdout
