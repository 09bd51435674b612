"""The command ``python -m reproduction``, mostly in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from reproduction import CATALOGUE
from reproduction.cli import app, select_experiments

ROOT = Path(__file__).parents[2]
QUICK = ["tab:linear", "fig:dp", "--quick"]


def call(*arguments, blocked="", env=None):
    """Exit status, output and errors of the command; `blocked` is a library that is missing."""
    start = ["-m", "reproduction"]
    if blocked:
        start = [
            "-c",
            f"import sys; sys.modules[{blocked!r}] = None; "
            "from reproduction.__main__ import main; main()",
        ]
    done = subprocess.run(
        [sys.executable, *start, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=ROOT,
        env=env,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def offline(tmp_path_factory):
    """An environment without the paper's files and without a network."""
    kept = {name: value for name, value in os.environ.items() if name != "MEANPARITY_DATA"}
    cache = str(tmp_path_factory.mktemp("cache"))
    return {**kept, "XDG_CACHE_HOME": cache, "HTTPS_PROXY": "http://127.0.0.1:9"}


@pytest.fixture(scope="module")
def page(offline, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    return folder, call(*QUICK, "--out", folder, "--jobs", 2, env=offline)


def test_a_run_without_data_or_network_says_so_and_writes_the_page(page):
    folder, (status, output, errors) = page
    assert status == 0, errors
    assert output.strip() == str(folder / "index.html")
    errors = " ".join(errors.split())
    assert "Law School: left out" in errors
    assert "Adult: run on the bundled variant" in errors
    assert re.search(r"100 % after \d+ s", errors)
    names = {path.name for path in folder.iterdir()}
    files = {"tab-linear.csv", "fig-dp.csv", "fig-dp.png", "fig-dp.svg", "cells.csv"}
    assert names == {*files, "index.html", "cache"}
    text = (folder / "index.html").read_text()
    assert "not run" in text
    assert "other data" in text
    assert "<code>python -m reproduction --quick</code>" in text
    assert errors.count("communities.csv is neither") == 1
    assert "2 of 10 trials" in errors
    assert re.search(r"For \d+ of \d+ printed numbers, ours lies within the paper's ±", errors)


def test_the_same_command_again_computes_nothing(page, offline):
    folder, _ = page
    before = (folder / "index.html").read_text()
    status, _, errors = call(*QUICK, "--out", folder, env=offline)
    assert status == 0
    assert "24 of 24 results are cached from an earlier run" in " ".join(errors.split())
    assert " % after " not in errors
    assert (folder / "index.html").read_text() == before


def test_the_page_keeps_complete_experiments_of_earlier_runs(page, offline):
    folder, _ = page
    status, _, errors = call("tab:without-s", "--quick", "--out", folder, env=offline)
    assert status == 0, errors
    text = (folder / "index.html").read_text()
    assert all(f'id="{name}"' in text for name in ("tab-linear", "fig-dp", "tab-without-s"))


def test_an_unknown_name_is_one_line_with_a_hint(tmp_path):
    status, output, errors = call("tab:linaer", "--out", tmp_path / "x")
    assert (status, output) == (1, "")
    assert errors.count("\n") == 1
    assert (
        "reproduction: 'tab:linaer' is not an experiment. Did you mean 'tab:linear'? "
        "The experiments are: fig:lin" in errors
    )
    assert not (tmp_path / "x").exists()


def test_debug_shows_the_traceback(tmp_path):
    for arguments in (("--debug", "nothing"), ("nothing", "--debug")):
        status, _, errors = call(*arguments)
        assert status == 1
        assert "Traceback" in errors


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    status, output, errors = call("tab:linear", "--out", tmp_path / "file" / "x")
    assert (status, output) == (1, "")
    assert errors.startswith("reproduction: ")
    assert errors.count("\n") == 1
    status, _, errors = call("tab:linear", "--out", tmp_path / "file")
    assert status == 1
    assert "is a file. Pass a folder" in errors


def test_ctrl_c_says_how_to_resume(tmp_path, offline):
    command = [sys.executable, "-m", "reproduction", "--jobs", "2"]  # all of it takes minutes
    running = subprocess.Popen(
        [*command, "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=offline,
    )
    give_up = time.monotonic() + 60
    while not list(tmp_path.rglob("trial-*.json")) and time.monotonic() < give_up:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    output, errors = running.communicate(timeout=60)
    assert (running.returncode, output) == (130, "")
    assert "Give the same command again to resume" in " ".join(errors.split())
    assert "Traceback" not in errors
    assert not (tmp_path / "index.html").exists()


def test_an_ascii_terminal_can_show_the_help_and_the_list(offline):
    env = {**offline, "PYTHONIOENCODING": "ascii"}
    for option in ("--list", "--help"):
        status, output, errors = call(option, env=env)
        assert status == 0, errors
        assert "tab:linear" in output


def test_advice_of_the_package_is_printed_unchanged(tmp_path, offline):
    status, _, errors = call(*QUICK, "--out", tmp_path, blocked="pooch", env=offline)
    assert status == 0
    assert "pip install 'meanparity[datasets]'" in errors


def test_a_changed_data_file_is_one_line(tmp_path):
    (tmp_path / "adult_full.csv").write_text("age\n1\n")
    env = {**os.environ, "MEANPARITY_DATA": str(tmp_path)}
    status, _, errors = call("tab:linear", "--out", tmp_path / "out", env=env)
    assert status == 1
    assert "has sha256" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("module", ["typer", "rich", "matplotlib", "jinja2"])
def test_a_missing_library_is_named_with_what_to_install(module):
    status, _, errors = call("tab:linear", blocked=module)
    assert status == 1
    assert f"reproduction: {module} is not installed. Run `make reproduce`" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("jobs", ["0", "-1", "two"])
def test_jobs_must_be_a_positive_number(jobs, tmp_path):
    result = CliRunner().invoke(app, ["tab:linear", "--jobs", jobs, "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "--jobs" in result.output


def test_the_list_has_every_name():
    result = CliRunner().invoke(app, ["--list"], terminal_width=200)
    assert result.exit_code == 0
    assert all(name in result.output for name in CATALOGUE)


def test_the_help_names_both_ways_to_run():
    output = CliRunner().invoke(app, ["--help"], terminal_width=200).output
    assert "python -m reproduction --quick" in output
    assert "make reproduce ARGS=" in output


def test_experiments_come_in_the_order_of_the_paper():
    assert [e.name for e in select_experiments([])] == list(CATALOGUE)
    assert [e.name for e in select_experiments(["tab:linear", "fig:dp"])] == [
        "fig:dp",
        "tab:linear",
    ]
    with pytest.raises(ValueError, match=r"'zzz' is not an experiment. The experiments are"):
        select_experiments(["zzz"])
