"""Types as users see them: mypy and Pyright find the mistakes in a user's script, and no others."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from meanparity import _typing, baselines, estimators
from meanparity.constraints import base
from meanparity.data import columns
from meanparity.kernels.spec import KERNEL_NAMES
from meanparity.losses.resolve import LOSSES
from meanparity.solvers import choose, factored

SCRIPT = Path(__file__).parent / "user_script.py"
ROOT = Path(__file__).parent.parent.parent


def marked_lines():
    lines = SCRIPT.read_text("utf-8").splitlines()
    return {i for i, line in enumerate(lines, 1) if line.endswith("  # wrong")}


def told_lines(printed):
    found = re.findall(r"user_script\.py:(\d+): error: (.*)", printed)
    return {int(number): text for number, text in found}


@pytest.mark.slow
def test_mypy_finds_the_mistakes_in_a_users_script(tmp_path):
    """Without the package's own settings, and as strict as it gets."""
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy]\nstrict = True\nignore_missing_imports = True\n")
    command = [sys.executable, "-m", "mypy", "--config-file", str(settings)]
    command += ["--cache-dir", str(tmp_path / "cache"), str(SCRIPT)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    told = told_lines(run.stdout)
    assert set(told) == marked_lines(), run.stdout + run.stderr


def errors_of_pyright(script, folder):
    """The lines in which Pyright finds errors, and what it says."""
    settings = {
        "include": [str(script)],
        "typeCheckingMode": "standard",  # as in Pyright
        "pythonVersion": "3.11",
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
    run = subprocess.run(
        [*command, "--project", str(folder)], capture_output=True, text=True, cwd=folder
    )
    found = json.loads(run.stdout)["generalDiagnostics"]
    return {
        one["range"]["start"]["line"] + 1: one["message"]
        for one in found
        if one["severity"] == "error"
    }


@pytest.mark.slow
def test_pyright_finds_the_mistakes_in_a_users_script(tmp_path):
    told = errors_of_pyright(SCRIPT, tmp_path)
    assert set(told) == marked_lines(), told


def documented_attributes(cls):
    """The fitted attributes that a docstring describes."""
    part = inspect.getdoc(cls).partition("\nAttributes\n----------\n")[2]
    part = re.split(r"\n\w[\w ]+\n---", part)[0]
    lines = [line.partition(" : ")[0] for line in part.split("\n") if line[:1].strip()]
    return [name for line in lines for name in re.findall(r"\w+_\b", line)]


@pytest.mark.slow
def test_fitted_attributes_that_are_documented_are_known_to_pyright(tmp_path):
    homes = (estimators, baselines)
    classes = [getattr(home, name) for home in homes for name in home.__all__]
    names = {
        f"{cls.__module__.split('.')[1]}.{cls.__name__}": documented_attributes(cls)
        for cls in classes
        if hasattr(cls, "get_params")
    }
    assert all(len(own) > 2 for own in names.values()), names
    script = tmp_path / "attributes.py"
    script.write_text(
        "from meanparity import baselines, estimators\n"
        + "".join(
            f"def show_{number}(model: {cls}) -> None:\n    print({own})\n"
            for number, (cls, own) in enumerate(
                (cls, ", ".join(f"model.{name}" for name in own)) for cls, own in names.items()
            )
        )
        + "def wrong(model: estimators.ParityRidge) -> None:\n    print(model.coeff_)\n"
    )
    told = errors_of_pyright(script, tmp_path)
    assert len(told) == 1, told
    assert "coeff_" in told.popitem()[1]


@pytest.mark.parametrize(
    ("names", "accepted"),
    [
        (_typing.KernelName, KERNEL_NAMES),
        (_typing.RidgeSolverName, ("auto", *choose._RIDGE)),
        (_typing.LossSolverName, ("auto", *choose._LOSS)),
        (_typing.RegressionLossName, [n for n, kind in LOSSES.items() if not kind.is_binary]),
        (_typing.ClassificationLossName, [n for n, kind in LOSSES.items() if kind.is_binary]),
        (_typing.MissingValues, columns.MISSING),
        (_typing.Scale, base._CHOICES["scale"]),
        (_typing.ParityOn, base._CHOICES["parity_on"]),
        (_typing.WeightScope, base._CHOICES["weight_scope"]),
        (_typing.Precision, factored.PRECISIONS),
    ],
)
def test_the_names_in_types_are_those_that_are_accepted(names, accepted):
    different = set(get_args(names)) ^ set(accepted)
    assert not different, f"{different}: the names in _typing.py are not those in the code."


def test_the_names_of_constraints_are_those_that_are_accepted():
    with pytest.raises(ValueError, match="Pass one of") as refused:
        base.resolve_constraint("none of them")
    listed = str(refused.value).partition("Pass one of")[2].partition(", or an object")[0]
    names = re.findall(r"'(\w+)'", listed)
    different = set(get_args(_typing.ConstraintName)) ^ set(names)
    assert not different, f"{different}: the names in _typing.py are not those in the code."
    assert all(base.resolve_constraint(name).name == name for name in names)


def test_the_marker_of_types_is_in_the_package():
    assert (ROOT / "src" / "meanparity" / "py.typed").exists()
    assert len(marked_lines()) > 20
