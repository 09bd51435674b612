"""The command, from the outside."""

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

from meanparity.cli.app import app
from meanparity.cli.reproduce import choose
from meanparity.experiments import CATALOGUE

QUICK = ["reproduce", "tab:linear", "fig:dp", "--quick"]


def call(*arguments, blocked="", **more):
    """A real process, in which a module may be missing: its exit status, output and errors."""
    block = f"import sys; sys.modules[{blocked!r}] = None; " if blocked else ""
    code = f"{block}from meanparity.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **more,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def offline(tmp_path_factory):
    """Nothing but the bundled tables."""
    names = ("MEANPARITY_DATA",)
    cache = str(tmp_path_factory.mktemp("cache"))
    more = {"XDG_CACHE_HOME": cache, "HTTPS_PROXY": "http://127.0.0.1:9"}
    return {**{k: v for k, v in os.environ.items() if k not in names}, **more}


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
    assert errors.count("communities.csv is neither") == 1
    assert "2 of 10 trials" in errors
    assert "printed numbers" in errors


def test_the_same_again_computes_nothing(page, offline):
    folder, _ = page
    before = (folder / "index.html").read_text()
    status, _, errors = call(*QUICK, "--out", folder, env=offline)
    assert status == 0
    assert "24 of 24 results are there from an earlier run" in " ".join(errors.split())
    assert " % after " not in errors
    assert (folder / "index.html").read_text() == before


def test_a_part_keeps_what_is_complete_on_the_page(page, offline):
    folder, _ = page
    status, _, errors = call("reproduce", "tab:without-s", "--quick", "--out", folder, env=offline)
    assert status == 0, errors
    text = (folder / "index.html").read_text()
    assert all(f'id="{name}"' in text for name in ("tab-linear", "fig-dp", "tab-without-s"))


def test_a_wrong_name_is_one_line_that_helps(tmp_path):
    status, output, errors = call("reproduce", "tab:linaer", "--out", tmp_path / "x")
    assert (status, output) == (1, "")
    assert errors.count("\n") == 1
    assert (
        "'tab:linaer' is not an experiment. Did you mean 'tab:linear'? There are: fig:lin" in errors
    )
    assert not (tmp_path / "x").exists()


def test_debug_shows_where(tmp_path):
    for arguments in (("--debug", "reproduce", "nothing"), ("reproduce", "nothing", "--debug")):
        status, _, errors = call(*arguments)
        assert status == 1
        assert "Traceback" in errors


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    status, output, errors = call("reproduce", "tab:linear", "--out", tmp_path / "file" / "x")
    assert (status, output) == (1, "")
    assert errors.startswith("meanparity: ")
    assert errors.count("\n") == 1
    status, _, errors = call("reproduce", "tab:linear", "--out", tmp_path / "file")
    assert status == 1
    assert "is a file. Pass a folder" in errors


def test_ctrl_c_says_how_to_go_on(tmp_path, offline):
    code = "from meanparity.cli import main; main()"
    running = subprocess.Popen(
        [
            sys.executable,
            "-c",
            code,
            "reproduce",
            "fig:linear",
            "--out",
            str(tmp_path),
            "--jobs",
            "2",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=offline,
    )
    give_up = time.monotonic() + 60
    while not list(tmp_path.rglob("trial-*.json")) and time.monotonic() < give_up:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    output, errors = running.communicate(timeout=60)
    assert (running.returncode, output) == (130, "")
    assert "the same command goes on from here" in " ".join(errors.split())
    assert "Traceback" not in errors
    assert not (tmp_path / "index.html").exists()


def test_files_of_the_current_folder_are_not_imported(tmp_path, offline):
    (tmp_path / "random.py").write_text("raise RuntimeError('not me')")
    script = Path(sys.executable).with_name("meanparity")
    done = subprocess.run(
        [script, "reproduce", "tab:linear", "--quick", "--jobs", "2"],
        cwd=tmp_path,
        env=offline,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reproduction" / "index.html").exists()


def test_a_terminal_without_greek_letters_is_served(offline):
    env = {**offline, "PYTHONIOENCODING": "ascii"}
    for arguments in (("reproduce", "--list"), ("reproduce", "--help")):
        status, output, errors = call(*arguments, env=env)
        assert status == 0, errors
        assert "tab:linear" in output


def test_advice_is_printed_as_it_is(tmp_path, offline):
    status, _, errors = call(*QUICK, "--out", tmp_path, blocked="pooch", env=offline)
    assert status == 0
    assert "pip install 'meanparity[datasets]'" in errors


def test_a_changed_data_file_is_one_line(tmp_path):
    (tmp_path / "adult_full.csv").write_text("age\n1\n")
    env = {**os.environ, "MEANPARITY_DATA": str(tmp_path)}
    status, _, errors = call("reproduce", "tab:linear", "--out", tmp_path / "out", env=env)
    assert status == 1
    assert "has sha256" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("jobs", ["0", "-1", "two"])
def test_jobs_are_a_count(jobs, tmp_path):
    result = CliRunner().invoke(app, ["reproduce", "tab:linear", "--jobs", jobs, "--out", tmp_path])
    assert result.exit_code == 2
    assert "--jobs" in result.output


def test_the_list_has_every_name():
    result = CliRunner().invoke(app, ["reproduce", "--list"], terminal_width=200)
    assert result.exit_code == 0
    assert all(name in result.output for name in CATALOGUE)


def test_version_and_help():
    assert re.fullmatch(
        r"meanparity \d+\.\d+\.\d+\n", CliRunner().invoke(app, ["--version"]).output
    )
    for arguments in ([], ["--help"], ["reproduce", "--help"]):
        output = CliRunner().invoke(app, arguments).output
        assert "reproduce" in output
    assert "meanparity reproduce --quick" in output


def test_experiments_come_in_the_order_of_the_paper():
    assert [e.name for e in choose([])] == list(CATALOGUE)
    with pytest.raises(ValueError, match=r"'zzz' is not an experiment. There are"):
        choose(["zzz"])


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_without_the_extra_it_says_what_to_install(module):
    status, _, errors = call("reproduce", blocked=module)
    assert status == 1
    assert f"needs {module}, which is not installed. Run: pip install 'meanparity[cli]'" in errors
    assert "Traceback" not in errors


def test_without_the_experiments_extra_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr("meanparity.cli.reproduce.find_spec", lambda name: None)
    result = CliRunner().invoke(app, ["reproduce", "tab:linear", "--out", str(tmp_path)])
    assert isinstance(result.exception, ImportError)
    assert "pip install 'meanparity[experiments]'" in str(result.exception)
