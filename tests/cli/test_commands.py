"""From a file to a decision: the commands, as a user gives them."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from typer.testing import CliRunner

from meanparity import ParityRidge, ParityWarning
from meanparity import __version__ as version
from meanparity.cli.app import app
from meanparity.cli.fit import fit
from meanparity.cli.options import working
from meanparity.metrics import mean_parity_gap
from meanparity.persistence import load, read
from tests.cli.process import call

FIT = ("--target", "salary", "--sensitive", "sex,race")


def table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "hours": rng.normal(38, 4, n).round(1),
            "grade": rng.choice(["a", "b", "c"], n),
            "hired": pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, n), "D"),
            "sex": rng.choice(["F", "M"], n),
            "race": rng.choice(["x", "y"], n),
        }
    )
    pay = 1000 + 20 * frame["hours"] + 150 * (frame["grade"] == "c") + 90 * (frame["sex"] == "M")
    frame["salary"] = (pay + rng.normal(0, 60, n)).round(2)
    frame.loc[frame.index[::17], "hours"] = np.nan
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table and what one command made of it."""
    folder = tmp_path_factory.mktemp("people")
    table().to_csv(folder / "people.csv", index=False)
    table(200, seed=1).drop(columns="salary").to_parquet(folder / "next.parquet")
    arguments = ["fit", folder / "people.csv", *FIT, "--ignore", "id", "--pool"]
    arguments += [folder / "next.parquet", "-o", folder / "model.meanparity"]
    status, output, errors = call(*arguments, "--report", folder / "report.html")
    assert status == 0, errors
    (folder / "output.txt").write_text(output)
    return folder


def run(*arguments):
    """In this process, for speed: status and output; errors go through as exceptions."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout


def test_one_command_makes_a_model_and_a_report(folder):
    output = " ".join((folder / "output.txt").read_text().split())
    for rows in ("480 training rows", "200 rows of the pool"):
        assert f"{rows}, on which the constraint was imposed" in output
        assert f"On the {rows}, all 4 groups have the same mean prediction, up to" in output
    assert "120 held-out rows, on which it was not." in output
    assert "On the 120 held-out rows, the largest of 4 gaps of the mean prediction is" in output
    assert "Yes: sex and race are among the columns from which the model predicts" in output
    assert output.endswith(
        f"Model file: {folder / 'model.meanparity'} Report: {folder / 'report.html'}"
    )
    page = (folder / "report.html").read_text("utf-8")
    assert "SHA-256" in page
    assert "meanparity fit" in page
    saved = read(folder / "model.meanparity")
    assert saved.about["target"] == "salary"
    assert saved.about["columns"] == ["hours", "grade", "hired", "sex", "race"]
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []


def test_people_who_are_scored_have_equal_means(folder, tmp_path):
    status, output = run(
        "predict",
        folder / "model.meanparity",
        folder / "next.parquet",
        "-o",
        tmp_path / "scored.csv",
    )
    assert status == 0
    assert "200 rows with the new column 'predicted salary'" in output
    scored = pd.read_csv(tmp_path / "scored.csv")
    people = scored[["sex", "race"]]
    gap = mean_parity_gap(None, scored["predicted salary"], sensitive_features=people)
    assert gap < 1e-8
    run(
        *("predict", folder / "model.meanparity", folder / "next.parquet"),
        *("-o", tmp_path / "free.feather", "--unfairness", "1"),
    )
    free = pd.read_feather(tmp_path / "free.feather")
    assert mean_parity_gap(None, free["predicted salary"], sensitive_features=people) > 20
    model = load(folder / "model.meanparity")
    rows = pd.read_parquet(folder / "next.parquet")
    expected = model[-1].tradeoff_.at(1.0).predict(model[:-1].transform(rows.drop(columns="id")))
    assert free["predicted salary"].to_numpy() == pytest.approx(expected)


@pytest.mark.parametrize("model", ["linear", "kernel"])
def test_a_minimal_file_predicts_the_same_and_cannot_change_the_unfairness(folder, tmp_path, model):
    fit = ("fit", folder / "people.csv", *FIT, "--ignore", "id", "--model", model)
    fit += ("--unfairness", "0.25", "-o")
    assert run(*fit, tmp_path / "whole.meanparity")[0] == 0
    assert run(*fit, tmp_path / "minimal.meanparity", "--minimal")[0] == 0
    scored = {}
    for name in ("whole", "minimal"):
        path = tmp_path / f"{name}.parquet"
        predict = ("predict", tmp_path / f"{name}.meanparity", folder / "next.parquet", "-o", path)
        assert "(unfairness 0.25)" in run(*predict)[1]
        scored[name] = pd.read_parquet(path)
    pd.testing.assert_frame_equal(scored["whole"], scored["minimal"], rtol=1e-12)
    saved = read(tmp_path / "minimal.meanparity")
    assert saved.minimal
    assert not hasattr(saved.model[-1], "tradeoff_")
    assert not {"data", "sha256"} & set(saved.about)  # they say which rows it was fitted to
    message = (
        "The unfairness of a minimal model file cannot be changed, because the file contains one "
        "model only, with unfairness 0.25. Predict without --unfairness, or fit the model again "
        "without --minimal"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        run(*predict, "--unfairness", "0.5")


def test_audit_of_outcomes_and_of_predictions(folder, tmp_path):
    status, output = run("audit", folder / "people.csv", *FIT)
    assert status == 0
    assert output.startswith("Outcomes: salary")
    assert "sex=F, race=x" in output
    frame = table().assign(score=lambda part: part["salary"] + 5)
    frame.to_parquet(tmp_path / "scored.parquet")
    options = ("--prediction", "score", "--target", "salary", "--sensitive", "sex", "--json")
    status, output = run("audit", tmp_path / "scored.parquet", *options)
    found = json.loads(output)
    assert [finding["group"] for finding in found["findings"]] == ["F", "M"]
    assert found["findings"][0]["mean_error"] == pytest.approx(5)
    assert run("audit", tmp_path / "scored.parquet", *options, "--within", "500")[0] == 0
    assert run("audit", tmp_path / "scored.parquet", *options, "--within", "1")[0] == 3


def test_audit_with_shares_and_counts(folder, tmp_path):
    frame = table().assign(people=2)
    frame.to_parquet(tmp_path / "people.parquet")
    asked = (tmp_path / "people.parquet", "--target", "salary", "--sensitive", "sex", "--json")
    found = {}
    for shares in ("sampled", "fixed", "F=0.3, M=0.7"):
        status, output = run("audit", *asked, "--shares", shares)
        assert status == 0
        found[shares] = json.loads(output)
    assert [part["shares"] for part in found.values()] == ["sampled", "fixed", "given"]
    means = {part["group"]: part["mean"] for part in found["fixed"]["findings"]}
    overall = 0.3 * means["F"] + 0.7 * means["M"]
    assert found["F=0.3, M=0.7"]["mean"] == pytest.approx(overall)
    weights = ("--weight", "people", "--weight-kind")
    counts, sampling = (
        json.loads(run("audit", *asked, *weights, kind)[1]) for kind in ("counts", "sampling")
    )
    assert counts["n_rows"] == 2 * sampling["n_rows"]
    assert counts["findings"][0]["standard_error"] < sampling["findings"][0]["standard_error"]
    with pytest.raises(ValueError, match=r"'half' is not a number\. Pass shares such as F=0\.5"):
        run("audit", *asked, "--shares", "F=half,M=0.5")
    with pytest.raises(ValueError, match="shares='census' is not known"):
        run("audit", *asked, "--shares", "census")
    with pytest.raises(ValueError, match="--sensitive has 2"):
        run("audit", folder / "people.csv", *FIT, "--shares", "F=0.5,M=0.5")


def test_fit_says_it_in_json_too(folder):
    status, output = run(
        *("fit", folder / "people.csv", *FIT, "--ignore", "id", "--model", "linear"),
        *("--max-gap", "10", "--json", "--exclude-sensitive", "--control", "grade"),
    )
    assert status == 0
    found = json.loads(output)
    assert found["unfairness"] is None  # the limit leads off the dial
    assert [part["rows"] for part in found["parts"]] == ["training rows", "held-out rows"]
    assert found["parts"][0]["mse"]["free"] <= found["parts"][0]["mse"]["now"] + 1e-9
    gaps = [abs(finding["gap"]) for finding in found["parts"][0]["after"]["findings"]]
    assert len(gaps) == 12  # four groups in each of three grades
    assert max(gaps) == pytest.approx(10)
    assert found["model"].startswith("linear")


def test_compare_is_a_table_and_a_picture(folder, tmp_path):
    status, output = run(
        *("compare", folder / "people.csv", *FIT, "--ignore", "id", "--rows", "300"),
        *("-o", tmp_path / "methods.csv", "--plot", tmp_path / "methods.png"),
    )
    assert status == 0
    assert "FPR-3" in output
    found = pd.read_csv(tmp_path / "methods.csv").set_index("method")
    assert found.loc["meanparity, unfairness 0", "sum of gaps, training"] < 1e-8
    assert found.loc["OLS", "sum of gaps, training"] > 10
    assert (tmp_path / "methods.png").read_bytes().startswith(b"\x89PNG")


def test_compare_writes_strict_json(folder):
    def refuse(constant):
        raise AssertionError(constant)

    few = ("--rows", "50", "--test-size", "0.02", "--json")  # one row has no variance
    _, output = run("compare", folder / "people.csv", *FIT, "--ignore", "id", *few)
    found = json.loads(output, parse_constant=refuse)
    assert found[0]["method"] == "meanparity, unfairness 0"
    assert found[0]["test R²"] is None


def test_datasets_and_version(tmp_path):
    assert "adult: 30,162 rows" in run("datasets")[1]
    assert run("datasets", "communities", "-o", tmp_path / "crime.parquet")[0] == 0
    assert len(pd.read_parquet(tmp_path / "crime.parquet")) == 1993
    assert run("--version")[1].strip() == f"meanparity {version}"
    for command in ("audit", "fit", "predict", "compare", "datasets"):
        status, output = run(command, "--help")
        assert status == 0
        assert f"meanparity {command}" in output


def test_every_warning_is_shown_once_and_in_words(capsys):
    def work():
        for _ in range(2):
            warnings.warn("The fit did not\nconverge.", ConvergenceWarning, stacklevel=1)
            warnings.warn("A group is small.", ParityWarning, stacklevel=1)
            warnings.warn("Division by zero.", RuntimeWarning, stacklevel=1)
        warnings.warn("An old name.", DeprecationWarning, stacklevel=1)  # Python hides these too
        raise ValueError("later")

    with pytest.raises(ValueError, match="later"), working(fit):
        work()
    assert capsys.readouterr().err.splitlines() == [
        "meanparity: warning (ConvergenceWarning): The fit did not converge.",
        "meanparity: note: A group is small.",
        "meanparity: warning (RuntimeWarning): Division by zero.",
    ]


def test_a_command_shows_warnings_of_other_libraries(folder, tmp_path, monkeypatch):
    def loud(*arguments, **options):
        warnings.warn("lbfgs failed to converge", ConvergenceWarning, stacklevel=1)
        return original(*arguments, **options)

    original = ParityRidge._fit
    monkeypatch.setattr(ParityRidge, "_fit", loud)
    arguments = ["fit", folder / "people.csv", *FIT, "--ignore", "id", "--model", "linear"]
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0
    shown = "meanparity: warning (ConvergenceWarning): lbfgs failed to converge\n"
    assert done.stderr.count(shown) == 1
    assert "lbfgs" not in done.stdout


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("audit", "meanparity.audit.audit"),
        ("compare", "meanparity.tables.compare_methods"),
        ("predict", "meanparity.tables.score_file"),
    ],
)
def test_every_command_shows_warnings_of_other_libraries(
    folder, tmp_path, monkeypatch, name, function
):
    def loud(*arguments, **options):
        warnings.warn("overflow encountered in exp", RuntimeWarning, stacklevel=1)
        return original(*arguments, **options)

    module, attribute = function.rsplit(".", 1)
    original = getattr(sys.modules[module], attribute)
    monkeypatch.setattr(function, loud)
    arguments = {
        "audit": [folder / "people.csv", *FIT],
        "compare": [folder / "people.csv", *FIT, "--ignore", "id", "--rows", "60"],
        "predict": [folder / "model.meanparity", folder / "next.parquet", "-o", tmp_path / "s.csv"],
    }[name]
    done = CliRunner().invoke(app, [name, *map(str, arguments)])
    assert done.exit_code == 0
    assert "meanparity: warning (RuntimeWarning): overflow encountered in exp" in done.stderr


def csv(path, text):
    path.write_text(text, encoding="utf-8")
    return path


ROWS = "".join(f"{i},{'FM'[i % 2]},{i % 7}\n" for i in range(40))
BAD_FILES = {
    "nothing.csv": (None, "There is no file"),
    "empty.csv": ("", "is empty"),
    "header.csv": ("salary,sex,x\n", "has columns but no rows"),
    "data.xls": ("salary,sex,x\n" + ROWS, "has the extension '.xls'. Use one of .parquet"),
    "data.xlsx": ("salary,sex,x\n" + ROWS, "cannot be read as xlsx"),
    "data.csv.gz": ("salary,sex,x\n" + ROWS, "cannot be decompressed"),
    "broken.parquet": ("salary,sex,x\n" + ROWS, "cannot be read as parquet"),
    "broken.feather": ("salary,sex,x\n" + ROWS, "cannot be read as feather"),
    "twice.csv": ("salary,sex,sex\n" + ROWS, "has 2 columns named 'sex'"),
    "latin.csv": (b"salary,sex,x\n1,\xff\x81,2\n", "cannot be read as text in UTF-8: line 2"),
    "text.csv": ("salary,sex,x\n" + "a,F,1\nb,M,2\n" * 9, "'salary' must contain numbers"),
    "one.csv": ("salary,sex,x\n" + "1,F,1\n2,F,2\n" * 9, "'sex' has one value in all 18 rows"),
    "few.csv": ("salary,sex,x\n1,F,1\n2,M,2\n", "2 rows have a 'salary', which is too few"),
    "holes.csv": ("salary,sex,x\n" + ROWS + "5,,1\n" * 3, "missing"),
    "names.csv": ("salry,sex,x\n" + ROWS, "has no column 'salary'. Did you mean 'salry'?"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_one_line(name, tmp_path):
    content, message = BAD_FILES[name]
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        csv(path, content)
    before = sorted(tmp_path.iterdir())
    out = tmp_path / "model.meanparity"
    status, output, errors = call(
        *("fit", path, "--target", "salary", "--sensitive", "sex", "-o", out),
        *("--report", tmp_path / "report.html"),
    )
    assert status == 1
    assert output == ""
    lines = [line for line in errors.splitlines() if ": note: " not in line]
    assert len(lines) == 1, errors
    assert lines[0].startswith("meanparity: ")
    assert message in lines[0]
    assert sorted(tmp_path.iterdir()) == before


def test_a_pool_may_have_values_that_are_new(folder, tmp_path):
    pool = table(50, seed=2).assign(grade="z")
    pool.to_csv(tmp_path / "new.csv", index=False)
    arguments = ("fit", folder / "people.csv", *FIT, "--ignore", "id", "--pool")
    model = tmp_path / "m.meanparity"
    done = CliRunner().invoke(
        app, [*map(str, arguments), str(tmp_path / "new.csv"), "-o", str(model)]
    )
    assert done.exit_code == 0, done.exception
    assert "The pool has 1 value of 'grade' that did not occur in the training rows" in done.stderr
    out = tmp_path / "scored.csv"
    run("predict", model, tmp_path / "new.csv", "-o", out)
    scored = pd.read_csv(out)
    means = scored.groupby("sex").mean(numeric_only=True).iloc[:, -1]
    assert np.ptp(means) < 1e-9 * scored.iloc[:, -1].std() + 1e-9


def test_bad_pools_speak(folder, tmp_path):
    pool = table(50, seed=2)
    arguments = ("fit", folder / "people.csv", *FIT, "--ignore", "id", "--pool")
    pool.drop(columns="grade").to_csv(tmp_path / "lacks.csv", index=False)
    with pytest.raises(ValueError, match="The pool lacks the column 'grade'"):
        run(*arguments, tmp_path / "lacks.csv")
    pool.drop(columns="sex").to_csv(tmp_path / "nosex.csv", index=False)
    with pytest.raises(ValueError, match="The pool has no column 'sex'"):
        run(*arguments, tmp_path / "nosex.csv")


def test_bad_settings_speak(folder, tmp_path):
    people = folder / "people.csv"
    for more, message in (
        (("--max-gap", "5", "--unfairness", "0.5"), "not both"),
        (("--unfairness", "2"), "unfairness=2.0 is not a number between 0 and 1"),
        (("--test-size", "1.5"), "not a share between 0 and 1"),
        (("--control", "sex"), "'sex' has two roles"),
        (("-o", tmp_path / "no" / "m.meanparity"), "does not exist. Create it"),
        (("-o", tmp_path), "is a folder. Name a file"),
        (("--minimal",), "--minimal applies to the model file"),
    ):
        with pytest.raises(ValueError, match=message):
            run("fit", people, *FIT, *more)
    with pytest.raises(ValueError, match=r"'scored\.ods' has the extension '\.ods'"):
        run("predict", folder / "model.meanparity", people, "-o", tmp_path / "scored.ods")
    csv(tmp_path / "people.csv", "a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"people\.csv lacks the column 'hours'"):
        run(
            "predict",
            folder / "model.meanparity",
            tmp_path / "people.csv",
            "-o",
            tmp_path / "s.csv",
        )
    with pytest.raises(ValueError, match="is not a model file of meanparity"):
        run("predict", people, people, "-o", tmp_path / "s.csv")
    with pytest.raises(FileNotFoundError, match=r"^There is no model file 'nomodel'\.$"):
        run("predict", "nomodel", people, "-o", tmp_path / "s.csv")
    with pytest.raises(ValueError, match=r"is a folder\. Pass a model file\.$"):
        run("predict", tmp_path, people, "-o", tmp_path / "s.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_unknown_choices_are_mistakes_of_the_command(folder):
    for more in (("--model", "forest"), ("--missing", "foo"), ("--nowhere",)):
        assert run("fit", folder / "people.csv", *FIT, *more)[0] == 2
    for command in ("fit", "audit", "compare"):
        assert run(command, folder / "people.csv", "--target", "salary")[0] == 2
        with pytest.raises(ValueError, match="Name the sensitive columns with --sensitive"):
            run(command, folder / "people.csv", "--target", "salary", "--sensitive", ",")


def test_an_altered_model_is_refused(folder, tmp_path):
    data = bytearray((folder / "model.meanparity").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "model.meanparity").write_bytes(bytes(data))
    status, _, errors = call(
        *("predict", tmp_path / "model.meanparity", folder / "people.csv"),
        *("-o", tmp_path / "scored.csv"),
    )
    assert status == 1
    assert "was changed after it was written" in errors
    assert not (tmp_path / "scored.csv").exists()


def test_a_full_disk_leaves_nothing(folder, tmp_path, monkeypatch):
    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match=r"No space left on device: .*model\.meanparity"):
        run(
            "fit",
            folder / "people.csv",
            *FIT,
            "-o",
            tmp_path / "model.meanparity",
            "--model",
            "linear",
        )
    assert list(tmp_path.iterdir()) == []


def test_formulas_are_not_exported_as_formulas(folder, tmp_path):
    people = table(20, seed=3).assign(id=lambda frame: "=cmd|' /C calc'!A" + frame["id"])
    people.to_parquet(tmp_path / "people.parquet")
    run(
        *("predict", folder / "model.meanparity", tmp_path / "people.parquet"),
        *("-o", tmp_path / "scored.csv"),
    )
    assert pd.read_csv(tmp_path / "scored.csv")["id"].str.startswith("'=cmd").all()


def test_a_folder_that_cannot_be_written(folder, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(stat.S_IRUSR | stat.S_IXUSR)
    all_powerful = os.access(locked, os.W_OK)  # root may write everywhere but there
    target = "/proc/model.meanparity" if all_powerful else locked / "model.meanparity"
    status, _, errors = call("fit", folder / "people.csv", *FIT, "--model", "linear", "-o", target)
    assert status == 1
    assert len([line for line in errors.splitlines() if ": note: " not in line]) == 1, errors


def test_help_lists_the_commands():
    for arguments in ([], ["--help"]):
        output = CliRunner().invoke(app, arguments).output
        assert all(name in output for name in ("audit", "fit", "predict", "compare", "datasets"))
        assert "reproduce" not in output


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["fit", "--help"]])
def test_help_starts_without_heavy_imports(arguments):
    code = (
        "import sys\n"
        f"sys.argv = ['meanparity', *{arguments!r}]\n"
        "from meanparity.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pandas', 'pyarrow'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "[]", done.stderr
    assert done.stdout


def test_completion_starts_without_heavy_imports():
    code = (
        "import sys\n"
        "sys.argv = ['meanparity']\n"
        "from meanparity.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(sorted({'numpy', 'sklearn', 'pandas'} & set(sys.modules)), file=sys.stderr)"
    )
    asked = {
        "_MEANPARITY_COMPLETE": "complete_bash",
        "COMP_WORDS": "meanparity fit --mo",
        "COMP_CWORD": "2",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **asked}
    )
    assert "--model" in done.stdout
    assert done.stderr.splitlines()[-1] == "[]", done.stderr


@pytest.mark.parametrize("module", ["typer", "rich", "pandas"])
def test_a_missing_library_is_named_with_what_to_install(module, folder):
    status, _, errors = call("audit", folder / "people.csv", *FIT, blocked=module)
    assert status == 1
    assert f"needs {module}, which is not installed. Run: pip install 'meanparity[cli]'" in errors
    assert "Traceback" not in errors


def test_debug_shows_the_traceback(tmp_path):
    for arguments in (("--debug", "audit"), ("audit", "--debug")):
        status, _, errors = call(*arguments, tmp_path / "none.csv", *FIT)
        assert status == 1
        assert "Traceback" in errors


def test_files_of_the_current_folder_are_not_imported(folder, tmp_path):
    (tmp_path / "random.py").write_text("raise RuntimeError('imported by mistake')")
    script = Path(sys.executable).with_name("meanparity")
    done = subprocess.run(
        [script, "audit", folder / "people.csv", *FIT],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Outcomes: salary")
