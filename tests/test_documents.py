"""What the documents say is true of the code."""

from __future__ import annotations

import gzip
import importlib
import inspect
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import sklearn

import meanparity
from meanparity import ParityKernelRidge, baselines
from meanparity.datasets import load_adult
from tools.fill_outputs import examples, printed

ROOT = Path(__file__).parent.parent


PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    if examples(page.read_text("utf-8"))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_the_documents_run_and_print_what_the_page_shows(page):
    names: dict = {"__name__": "__main__"}
    with sklearn.config_context():  # an example may turn routing on
        for code, shown in examples(page.read_text("utf-8")):
            output = printed(code, names, page.name)
            assert shown is None or output == shown


FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMANDS = re.compile(r"^```bash\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
WITH_COMMANDS = [
    page
    for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
    if COMMANDS.search(page.read_text("utf-8"))
]
# blocks that no test of this file runs, and what does, or why nothing can
RUN_ELSEWHERE = {
    ("model-files.md", "py"): "tests/neighbours/",
    ("scikit-learn.md", "py"): "tests/neighbours/",
    ("pool.md", "py"): "one line of the examples on the page of constraints",
    ("start.md", "text"): "test_the_demo_prints_what_the_first_steps_show",
}
ROWS_OF_SLOW_COMMANDS = {"fit": 600, "compare": 600}


@pytest.mark.parametrize(
    "page", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]), ids=lambda page: page.name
)
def test_no_block_of_a_page_is_left_out(page):
    text = page.read_text("utf-8")
    shown = [part for _, part in examples(text)] + [part for _, part in COMMANDS.findall(text)]
    for tag, block in FENCE.findall(text):
        if tag in {"python", "bash", "toml"} or tag.startswith("{"):
            continue  # run by the tests, or a directive of the site
        assert (tag == "text" and block in shown) or (page.name, tag) in RUN_ELSEWHERE, block


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_the_commands_of_the_documents_run_and_print_what_the_page_shows(page, tmp_path):
    text = page.read_text("utf-8")
    people, environment = write_tables(tmp_path), with_program(tmp_path / "bin")
    for tag, block in FENCE.findall(text):
        if tag == "toml":
            (tmp_path / "study.toml").write_text(block, "utf-8")
    for block, shown in COMMANDS.findall(text):
        output = ""
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["pip"]:
                extras_exist(words)
            elif words[:1] == ["make"]:
                assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
            elif words:
                assert "meanparity" in words, line
                rows = ROWS_OF_SLOW_COMMANDS.get(words[1])
                whole = people.read_text("utf-8")
                people.write_text("".join(whole.splitlines(keepends=True)[:rows]), "utf-8")
                output += in_a_shell(line, tmp_path, environment)
                if rows:
                    people.write_text(whole, "utf-8")
        assert not shown or output == shown


def write_tables(folder: Path) -> Path:
    """The files of people that commands read; returns the one that they are fitted to."""
    adult = load_adult(as_frame=True)
    table = adult.data.join(adult.sensitive).assign(salary=1000.0 * adult.target)
    table[:2000].to_csv(folder / "people.csv", index=False)
    table[2000:2100].to_csv(folder / "new.csv", index=False)
    (folder / "new.csv.gz").write_bytes(gzip.compress((folder / "new.csv").read_bytes()))
    return folder / "people.csv"


def with_program(folder: Path) -> dict[str, str]:
    """The environment of a shell that knows the command `meanparity`."""
    folder.mkdir()
    (folder / "meanparity").write_text(f'#!/bin/sh\nexec {sys.executable} -m meanparity "$@"\n')
    (folder / "meanparity").chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def in_a_shell(line: str, folder: Path, environment: dict[str, str]) -> str:
    """What a command prints; it has to succeed, and to write the files that it names."""
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    for name in re.findall(r"(?:-o|--report|--plot|>) ([\w.]+)", line):
        assert (folder / name).stat().st_size, name
    return done.stdout


def extras_exist(words: list[str]) -> None:
    """Installing needs the network: the extras are those of the package, at least."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for named in re.findall(r"\[([^]]*)\]", " ".join(words)):
        assert set(named.split(",")) <= set(extras["optional-dependencies"]), named


@pytest.mark.parametrize("document", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/*.md")))
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), target


def test_the_demo_prints_what_the_first_steps_show(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "demo.py"],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    table = re.search(
        r"(training rows  .*?)```", (ROOT / "docs" / "start.md").read_text(), re.DOTALL
    )
    assert table is not None
    assert table[1].strip() in done.stdout
    for name in ("tradeoff", "distributions"):
        picture = tmp_path / "output" / f"{name}.png"
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert str(picture) in done.stdout
    assert done.stdout.splitlines()[-1].endswith(str(tmp_path / "output" / "report.html"))
    assert "held-out rows" in (tmp_path / "output" / "report.html").read_text("utf-8")
    page = (tmp_path / "output" / "report.html").read_text("utf-8")
    assert "No: largest share is not among the columns from which the model predicts." in page


ROOMS = [
    "audit",
    "baselines",
    "constraints",
    "data",
    "datasets",
    "displays",
    "kernels",
    "losses",
    "metrics",
    "persistence",
    "report",
    "solvers",
    "statistics",
    "tables",
    "tradeoff",
]
# shown on pages of the guide, with what surrounds them
SHOWN_ON_PAGES = {
    "ConstrainedProblem",
    "Ends",
    "LinearFeatures",
    "Slider",
    "TableModel",
    "evaluated_solution",
    "export_onnx",
    "solve_each_penalty",
    "stored",
}


@pytest.mark.parametrize("room", ["", *ROOMS])
def test_every_public_name_is_in_the_reference_with_an_example(room):
    module = importlib.import_module(f"meanparity.{room}".strip("."))
    pages = " ".join(page.read_text("utf-8") for page in (ROOT / "docs" / "api").glob("*.md"))
    for name in module.__all__:
        public = getattr(module, name)
        if not (inspect.isclass(public) or inspect.isfunction(public)):
            continue
        listed = re.search(rf"^   {name}$", pages, re.MULTILINE) is not None
        assert listed, f"{name} of {module.__name__} is public. Add it to a page in docs/api."
        text = inspect.getdoc(public)  # Python 3.13 takes off indentation, and 3.12 does not
        assert "\nSee Also\n" in text, f"{name} has no See Also."
        shown = "\nExamples\n" in text or name in SHOWN_ON_PAGES
        assert shown, f"{name} has no example."


def test_the_reference_has_no_names_that_are_gone():
    for page in sorted((ROOT / "docs" / "api").glob("*.md")):
        text = page.read_text("utf-8")
        module = re.search(r"currentmodule:: (\S+)", text)
        for name in re.findall(r"^   (\w+)$", text, re.MULTILINE) if module else []:
            assert hasattr(importlib.import_module(module[1]), name), f"{page.name}: {name}"


def test_the_readme_is_short_enough_to_be_read():
    words = re.sub(r"```.*?```", " ", (ROOT / "README.md").read_text("utf-8"), flags=re.DOTALL)
    assert len(words.split()) <= 500


def test_layers_import_only_downwards():
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert "3 kept, 0 broken" in done.stdout, done.stdout + done.stderr


def test_heavy_libraries_are_not_imported_with_the_package():
    code = (
        "import sklearn.kernel_ridge, sklearn.linear_model, sys; before = set(sys.modules);"
        "import meanparity, meanparity.metrics, meanparity.displays, meanparity.datasets;"
        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before}))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    added = {name for name in done.stdout.split() if not name.startswith("_")}
    assert not added & {"matplotlib", "torch", "dask", "pyarrow", "plotly", "polars"}


def test_every_public_docstring_documents_its_parameters():
    theirs = [getattr(baselines, name) for name in baselines.__all__ if name[0] != "M"]
    assert len(theirs) == 5
    for estimator in (
        meanparity.ParityRidge,
        ParityKernelRidge,
        meanparity.ParityKernelRegressor,
        meanparity.ParityKernelClassifier,
        baselines.MeanPenaltyRidge,
        *theirs,
    ):
        documented = estimator.__doc__
        for parameter in estimator().get_params():
            assert parameter in documented, parameter
