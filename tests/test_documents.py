"""What the documents say is true of the code."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn

import meanparity
from meanparity import ParityKernelRidge, baselines
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
        assert "\n    See Also\n" in public.__doc__, f"{name} has no See Also."
        shown = "\n    Examples\n" in public.__doc__ or name in SHOWN_ON_PAGES
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
