"""Running, keeping, going on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from meanparity.experiments import store as store_module
from meanparity.experiments.declaration import Entry
from meanparity.experiments.runner import Plan, Sources
from meanparity.experiments.store import Result, Store, write_atomically
from tests.experiments.conftest import small


def counted(entry, trial):
    return [{"value": float(trial.y[0])}]


def warned(entry, trial):
    warnings.warn("careful", UserWarning, stacklevel=1)
    warnings.warn("careful", UserWarning, stacklevel=1)
    return [{"value": 1.0}]


def broken(entry, trial):
    raise ZeroDivisionError("no rows left")


def test_every_task_is_run_once_and_kept(experiment, tmp_path):
    seen = []
    plan = Plan.make([experiment], tmp_path)
    assert len(plan.tasks()) == len(plan.missing()) == 6
    plan.run(jobs=1, progress=seen.append)
    assert sorted(task.words for task in seen) == sorted(task.words for task in plan.tasks())
    assert Plan.make([experiment], tmp_path).missing() == []
    plan.run(jobs=1, progress=seen.append)
    assert len(seen) == 6
    (outcome,) = plan.outcomes()
    keys = [(row["dataset"], row["method"], row["trial"]) for row in outcome.rows]
    assert keys == [("synthetic", name, i) for name in ("OLS", "Ours") for i in range(3)]
    assert outcome.seconds > 0


def test_processes_give_the_same_numbers(experiment, tmp_path):
    numbers = []
    for jobs in (1, 2):
        plan = Plan.make([experiment], tmp_path / str(jobs))
        plan.run(jobs=jobs)
        (outcome,) = plan.outcomes()
        numbers.append(outcome.frame.drop(columns="seconds"))
    first, second = (frame.set_index(["dataset", "method", "trial"]) for frame in numbers)
    assert (first - second).abs().max().max() < 1e-10


def test_fewer_trials_are_a_part_of_all(experiment, tmp_path):
    Plan.make([experiment], tmp_path, trials=1).run(jobs=1)
    assert len(Plan.make([experiment], tmp_path, trials=2).missing()) == 2
    assert len(Plan.make([experiment], tmp_path, trials=99).tasks()) == 6


def test_numbers_before_the_run_are_refused(experiment, tmp_path):
    with pytest.raises(RuntimeError, match="fig:small, synthetic, OLS, trial 0 was not run"):
        list(Plan.make([experiment], tmp_path).outcomes())


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_says_where_and_keeps_the_rest(tmp_path, jobs):
    good = small(name="good", measure=counted)
    bad = small(name="bad", measure=broken, cost=0.01)
    plan = Plan.make([good, bad], tmp_path)
    with pytest.raises(RuntimeError, match=r"bad, synthetic, \w+, trial \d: ZeroDivisionError: no"):
        plan.run(jobs=jobs)
    assert Plan.make([good], tmp_path).missing() == []


def test_warnings_are_kept_once_a_trial(tmp_path):
    plan = Plan.make([small(measure=warned)], tmp_path)
    plan.run(jobs=1)
    (outcome,) = plan.outcomes()
    assert outcome.warnings == {"careful": 6}


def test_what_there_is_no_table_of_is_left_out(bundled_only, tmp_path):
    experiment = small(datasets=("law_school", "synthetic"), measure=counted)
    plan = Plan.make([experiment], tmp_path)
    assert plan.sources.found == {"law_school": "", "synthetic": "paper"}
    assert "lawschool.csv" in plan.sources.reasons["law_school"]
    assert {task.dataset for task in plan.tasks()} == {"synthetic"}


# --- what counts as the same


@pytest.fixture
def task(experiment):
    return next(experiment.tasks(frozenset(["synthetic"]), 1))


RESULT = Result([{"value": 0.1 + 0.2}], ["careful"], 1.5)


def test_a_result_comes_back_bit_by_bit(task, tmp_path):
    store = Store(tmp_path)
    assert store.read(task, "paper") is None
    store.write(task, "paper", RESULT)
    assert store.read(task, "paper") == RESULT


def test_a_result_of_other_data_parameters_trials_or_measures_does_not_count(task, tmp_path):
    store = Store(tmp_path)
    store.write(task, "paper", RESULT)
    assert store.read(task, "bundled") is None
    other = replace(task, entry=Entry("OLS", "OLS", parameters={"fit_intercept": False}))
    assert store.read(other, "paper") is None
    assert store.read(replace(task, trial=1), "paper") is None
    assert store.read(replace(task, experiment=small(measure=counted)), "paper") is None


def test_a_result_of_other_code_does_not_count(task, tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.write(task, "paper", RESULT)
    monkeypatch.setattr(store_module, "_code", lambda: "another version")
    assert store.read(task, "paper") is None


@pytest.mark.parametrize("content", ["", '{"stamp": ', "[]", '{"rows": []}', "\x00", "null"])
def test_a_torn_file_is_run_again(task, tmp_path, content):
    store = Store(tmp_path)
    store.write(task, "paper", RESULT)
    (path,) = tmp_path.rglob("*.json")
    path.write_text(content)
    assert store.read(task, "paper") is None


def test_the_folder_can_be_read_by_people(task, tmp_path):
    Store(tmp_path).write(task, "paper", RESULT)
    (path,) = tmp_path.rglob("*.json")
    assert path.relative_to(tmp_path) == Path("fig-small/synthetic/OLS/trial-0.json")
    assert json.loads(path.read_text())["rows"] == [{"value": 0.1 + 0.2}]


def test_names_of_methods_cannot_leave_the_folder(experiment, tmp_path):
    entry = Entry("../../../etc, with S", "OLS")
    task = next(replace(experiment, entries=(entry,)).tasks(frozenset(["synthetic"]), 1))
    Store(tmp_path / "in").write(task, "paper", RESULT)
    (path,) = tmp_path.rglob("*.json")
    assert (tmp_path / "in") in path.parents


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    write_atomically(path, "first")

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, "second")
    assert [found.name for found in tmp_path.iterdir()] == ["page.html"]
    assert path.read_text() == "first"


# --- interrupted

SCRIPT = """
    import sys, time
    from pathlib import Path
    from meanparity.experiments.runner import Plan
    from tests.experiments.conftest import small

    def slow(entry, trial):
        time.sleep(0.2)
        return [{"value": float(trial.y[0])}]

    plan = Plan.make([small(measure=slow, trials=10)], Path(sys.argv[1]))
    print(len(plan.missing()), flush=True)
    plan.run(jobs=int(sys.argv[2]))
"""


def start(tmp_path, jobs):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    command = [sys.executable, str(script), str(tmp_path / "out"), str(jobs)]
    path = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_goes_on_where_it_stopped(tmp_path, jobs, how):
    running = start(tmp_path, jobs)
    done = tmp_path / "out"
    give_up = time.monotonic() + 60
    while len(list(done.rglob("trial-*.json"))) < 4 and time.monotonic() < give_up:
        time.sleep(0.01)
    running.send_signal(how)
    running.communicate(timeout=30)  # the workers leave too, or it would not end
    assert running.returncode != 0
    kept = len(list(done.rglob("trial-*.json")))
    assert 4 <= kept < 20
    again = start(tmp_path, jobs)
    output, errors = again.communicate(timeout=120)
    assert again.returncode == 0, errors
    # a worker may have finished what it had in hand
    assert 20 - kept - jobs <= int(output) <= 20 - kept
    assert len(list(done.rglob("trial-*.json"))) == 20


def test_sources_are_looked_up_once_a_name(bundled_only):
    found = Sources.look([small(datasets=("synthetic",)), small(name="b")])
    assert found.available == {"synthetic"}
