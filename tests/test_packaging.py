"""The package as others get it: metadata, what a core installation can import, the conda recipe."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement

import meanparity

ROOT = Path(__file__).parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = SETTINGS["project"]


def names(requirements):
    return {Requirement(one).name for one in requirements}


def test_a_core_installation_imports_every_module_or_says_what_to_install():
    """With imports of everything else refused, as if it were not installed."""
    needed = names(PROJECT["dependencies"]) | {"joblib", "meanparity"}  # joblib by scikit-learn
    needed |= {"cloudpickle"}  # by joblib
    homes = packages_distributions()
    others = sorted({top for top, found in homes.items() if not needed & set(found)})
    blocked = (
        "import runpy, sys\n"
        f"others = set({others!r})\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in others:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        f"runpy.run_path({str(ROOT / 'tools' / 'import_all.py')!r}, run_name='__main__')\n"
    )
    run = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    told = dict(line.split(": ", 1) for line in run.stdout.splitlines())
    assert told["meanparity.estimators.ridge"] == "imported"
    assert told["meanparity.cli.fit"].endswith("pip install 'meanparity[cli]'")
    without = {name for name, text in told.items() if text != "imported"}
    assert {name.split(".")[1] for name in without} == {"cli", "tables"}


def test_what_is_installed_together_is_declared_once():
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    assert Requirement(everything).extras == set(extras) - {"all", "gpu"}  # torch is large
    for requirements in (PROJECT["dependencies"], *extras.values()):
        for one in map(Requirement, requirements):
            assert one.name == "meanparity" or str(one.specifier).startswith(">="), one
    assert "version" in PROJECT["dynamic"]
    assert not re.search(r"^version", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)


def test_owner_of_the_repository_is_stated_in_one_place():
    """Whoever publishes the package replaces OWNER in `project.urls`, and nowhere else."""
    places = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob(".github/**/*.y*ml")]
    places += [*ROOT.glob("src/**/*.py"), *ROOT.glob("conda/*"), ROOT / "CITATION.cff"]
    for path in places:
        text = path.read_text("utf-8")
        assert "OWNER/" not in text, path
    assert all("/meanparity" in address for address in PROJECT["urls"].values())


def test_links_of_the_readme_work_on_an_index_page():
    sys.path.insert(0, str(ROOT))
    try:
        hook = importlib.import_module("hatch_build")
    finally:
        sys.path.remove(str(ROOT))
    text = (ROOT / "README.md").read_text("utf-8")
    relative = [
        target for target in re.findall(r"\]\(([^)\s]+)\)", text) if not target.startswith("http")
    ]
    assert relative
    for target in relative:
        assert target.startswith("#") or (ROOT / target.partition("#")[0]).exists(), target
    shown = hook.absolute_links(text, "https://host/owner/meanparity")
    targets = re.findall(r"\]\(([^)\s]+)\)", shown)
    assert all(target.startswith(("https://", "#")) for target in targets)
    assert len(targets) == len(re.findall(r"\]\(([^)\s]+)\)", text))
    assert "https://host/owner/meanparity/raw/main/docs/images/tradeoff.png" in targets


def test_the_conda_recipe_has_the_same_versions():
    text = (ROOT / "conda" / "recipe.yaml").read_text("utf-8")
    assert f'version: "{meanparity.__version__}"' in text
    assert f'python_min: "{PROJECT["requires-python"].removeprefix(">=")}"' in text
    assert PROJECT["license"] in text
    run = re.findall(r"^    - ([a-z0-9-]+) >=([0-9.]+)$", text.split("  run:")[1], re.MULTILINE)
    stated = dict(run)
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"]]
    for extra in ("cli", "datasets", "files", "plot", "report"):
        wanted += extras[extra]
    other = {"matplotlib": "matplotlib-base"}
    expected = {
        other.get(one.name, one.name): str(one.specifier).removeprefix(">=")
        for one in map(Requirement, wanted)
        if one.name != "meanparity"
    }
    assert stated == expected
