"""Running experiments, storing results, resuming."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from meanparity.baselines import METHODS, Method
from meanparity.files import write_atomically
from reproduction import store as store_module
from reproduction.declaration import Entry
from reproduction.measures import scores
from reproduction.runner import Plan, Sources
from reproduction.store import Result, Store, fingerprint
from tests.reproduction.conftest import small


def counted(entry, trial):
    return [{"value": float(trial.y[0])}]


def warned(entry, trial):
    warnings.warn("careful", UserWarning, stacklevel=1)
    warnings.warn("careful", UserWarning, stacklevel=1)
    return [{"value": 1.0}]


RETURNED = 0.0


def returned(entry, trial):
    return [{"value": RETURNED}]


def broken(entry, trial):
    raise ZeroDivisionError("no rows left")


def test_every_task_is_run_once_and_stored(experiment, tmp_path):
    seen = []
    plan = Plan.make([experiment], tmp_path)
    assert len(plan.tasks()) == len(plan.pending()) == 6
    plan.run(jobs=1, progress=seen.append)
    assert sorted(task.label for task in seen) == sorted(task.label for task in plan.tasks())
    assert Plan.make([experiment], tmp_path).pending() == []
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
    first, second = (
        frame.drop(columns="estimator").set_index(["dataset", "method", "trial"])
        for frame in numbers
    )
    assert (first - second).abs().max().max() < 1e-10


def test_a_run_with_more_trials_reuses_those_of_a_shorter_run(experiment, tmp_path):
    Plan.make([experiment], tmp_path, trials=1).run(jobs=1)
    assert len(Plan.make([experiment], tmp_path, trials=2).pending()) == 2
    assert len(Plan.make([experiment], tmp_path, trials=99).tasks()) == 6


def test_an_incomplete_experiment_has_no_outcome(experiment, tmp_path):
    plan = Plan.make([experiment, small(name="fig:other")], tmp_path)
    assert list(plan.outcomes()) == []
    Plan.make([experiment], tmp_path).run(jobs=1)
    assert [outcome.experiment.name for outcome in plan.outcomes()] == ["fig:small"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_names_its_task_and_the_others_run(tmp_path, jobs):
    good = small(name="good", measure=counted)
    bad = small(name="bad", measure=broken, cost=1.0)
    plan = Plan.make([good, bad], tmp_path)
    seen = []
    failures = plan.run(jobs=jobs, progress=seen.append)
    assert len(seen) == 12
    assert len(failures) == 6
    assert all(
        re.match(r"bad, synthetic, \w+, trial \d: ZeroDivisionError: no", f) for f in failures
    )
    assert [outcome.experiment.name for outcome in plan.outcomes()] == ["good"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float64("nan")])
def test_numbers_that_are_not_finite_are_a_failure(value, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "RETURNED", value)
    plan = Plan.make([small(measure=returned)], tmp_path)
    failures = plan.run(jobs=1)
    assert len(failures) == 6
    assert "ValueError: value is" in failures[0]


def test_numpy_numbers_are_stored_as_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "RETURNED", np.float32(0.5))
    plan = Plan.make([small(measure=returned)], tmp_path)
    assert plan.run(jobs=1) == []
    (outcome,) = plan.outcomes()
    assert outcome.rows[0]["value"] == 0.5


def test_warnings_are_stored_once_per_trial(tmp_path):
    plan = Plan.make([small(measure=warned)], tmp_path)
    plan.run(jobs=1)
    (outcome,) = plan.outcomes()
    assert outcome.warnings == {"careful": 6}


def test_a_data_set_that_is_not_available_is_left_out(bundled_only, tmp_path):
    experiment = small(datasets=("law_school", "synthetic"), measure=counted)
    plan = Plan.make([experiment], tmp_path)
    assert plan.sources.found == {"law_school": "", "synthetic": "paper"}
    assert "cannot be reached" in plan.sources.missing["lawschool.csv"]
    assert {task.dataset for task in plan.tasks()} == {"synthetic"}


# --- which stored results are valid


@pytest.fixture
def task(experiment):
    return next(experiment.tasks(frozenset(["synthetic"]), 1))


RESULT = Result([{"value": 0.1 + 0.2}], ["careful"], 1.5)


def test_a_result_is_read_as_it_was_written(task, tmp_path):
    store = Store(tmp_path)
    assert store.read(task, "paper") is None
    store.write(task, fingerprint(task, "paper"), RESULT)
    assert store.read(task, "paper") == RESULT


def test_a_result_of_other_data_parameters_trials_or_measures_is_not_valid(task, tmp_path):
    store = Store(tmp_path)
    store.write(task, fingerprint(task, "paper"), RESULT)
    assert store.read(task, "bundled") is None
    other = replace(task, entry=Entry("OLS", "OLS", parameters={"fit_intercept": False}))
    assert store.read(other, "paper") is None
    assert store.read(replace(task, trial=1), "paper") is None
    assert store.read(replace(task, experiment=small(measure=counted)), "paper") is None


def test_a_result_of_other_code_is_not_valid(task, tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.write(task, fingerprint(task, "paper"), RESULT)
    monkeypatch.setattr(store_module, "_code_digest", lambda: "another version")
    assert store.read(task, "paper") is None


@pytest.mark.parametrize("content", ["", '{"fingerprint": ', "[]", '{"rows": []}', "\x00", "null"])
def test_a_damaged_file_is_not_a_result(task, tmp_path, content):
    store = Store(tmp_path)
    store.write(task, fingerprint(task, "paper"), RESULT)
    (path,) = tmp_path.rglob("*.json")
    path.write_text(content)
    assert store.read(task, "paper") is None


def test_results_are_json_files_in_named_folders(task, tmp_path):
    Store(tmp_path).write(task, "x", RESULT)
    (path,) = tmp_path.rglob("*.json")
    assert path.relative_to(tmp_path) == Path("fig-small/synthetic/OLS/trial-0.json")
    assert json.loads(path.read_text())["rows"] == [{"value": 0.1 + 0.2}]


def test_names_of_methods_cannot_leave_the_folder(experiment, tmp_path):
    entry = Entry("../../../etc, with S", "OLS")
    task = next(replace(experiment, entries=(entry,)).tasks(frozenset(["synthetic"]), 1))
    Store(tmp_path / "in").write(task, "x", RESULT)
    (path,) = tmp_path.rglob("*.json")
    assert (tmp_path / "in") in path.parents


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
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
    from reproduction.runner import Plan
    from tests.reproduction.conftest import small

    out, hold = Path(sys.argv[1]), sys.argv[3] == "hold"

    def measure(entry, trial):
        if hold and len(list(out.rglob("trial-*.json"))) >= 4:
            time.sleep(2)  # time to be interrupted, on a busy machine too
        return [{"value": float(trial.y[0])}]

    plan = Plan.make([small(measure=measure, trials=10)], out)
    print(len(plan.pending()), flush=True)
    plan.run(jobs=int(sys.argv[2]))
"""


def start(tmp_path, jobs, hold=False):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    command = [sys.executable, str(script), str(tmp_path / "out"), str(jobs)]
    command += ["hold"] if hold else ["go"]
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
def test_a_killed_run_is_resumed(tmp_path, jobs, how):
    running = start(tmp_path, jobs, hold=True)
    done = tmp_path / "out"
    give_up = time.monotonic() + 60
    while len(list(done.rglob("trial-*.json"))) < 4 and time.monotonic() < give_up:
        time.sleep(0.01)
    running.send_signal(how)
    running.communicate(timeout=30)  # which returns only if the workers end too
    assert running.returncode != 0
    kept = len(list(done.rglob("trial-*.json")))
    assert 4 <= kept < 20
    again = start(tmp_path, jobs)
    output, errors = again.communicate(timeout=120)
    assert again.returncode == 0, errors
    # a worker may have finished what it had in hand
    assert 20 - kept - jobs <= int(output) <= 20 - kept
    assert len(list(done.rglob("trial-*.json"))) == 20


def test_each_file_is_fetched_once(monkeypatch):
    asked = []
    monkeypatch.setattr("reproduction.runner.fetch_file", asked.append)
    names = tuple(f"communities_crime_{k}" for k in (2, 4, 8, 16))
    found = Sources.find([small(datasets=("synthetic", *names)), small(name="b", datasets=names)])
    assert asked == ["communities.csv"]
    assert found.available == {"synthetic", *names}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"datasets": ("adlut",)}, "'adlut' is not a data set. The data sets are: synthetic"),
        ({"entries": (Entry("a", "OSL"),)}, "'OSL' is not a method. The methods are: Constant"),
        ({"entries": (Entry("a", "OLS"),) * 2}, "entry 'a' is empty or not unique"),
        (
            {"entries": (Entry("a b", "OLS"), Entry("a-b", "OLS"))},
            "entry 'a b' is empty or not unique",
        ),
        ({"entries": (Entry("..", "OLS"),)}, "entry '..' is empty or not unique"),
        ({"entries": (Entry("a", "OLS", positions=(0.0,)),)}, "OLS has no tradeoff parameter"),
        ({"entries": ()}, "needs a name, at least one data set, one entry and one trial"),
        ({"trials": 0}, "one entry and one trial"),
    ],
)
def test_an_invalid_declaration_is_refused(change, message):
    with pytest.raises(ValueError, match=f"fig:small.*{re.escape(message)}"):
        small(**change)


def test_experiments_with_the_same_file_name_are_refused(tmp_path):
    with pytest.raises(ValueError, match="have the same file name: fig-a, fig-a"):
        Plan.make([small(name="fig:a"), small(name="fig a")], tmp_path)
    with pytest.raises(ValueError, match=r"trials=0. Pass 1 or more"):
        Plan.make([small()], tmp_path, trials=0)
    assert small(name="../../x").stem == "x"
    with pytest.raises(ValueError, match=r"features='without'. Pass one of all, without S"):
        Entry("a", "OLS", features="without")


def test_a_changed_measure_is_run_again(tmp_path, monkeypatch):
    plan = Plan.make([small(measure=counted)], tmp_path)
    plan.run(jobs=1)
    assert plan.pending() == []
    monkeypatch.setattr(store_module, "_source_code", lambda measure: "another body")
    assert len(plan.pending()) == 6


class Doubled(LinearRegression):
    """A regressor of the user's own."""


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_method_of_ones_own_runs_beside_those_of_the_paper(jobs, tmp_path):
    own = Method("Slopes", "least squares", partial(Doubled, fit_intercept=False), None)
    entries = (Entry("OLS", "OLS"), Entry("Slopes", own), Entry("again", METHODS["OLS"]))
    plan = Plan.make([small(entries=entries, measure=scores)], tmp_path)
    assert plan.run(jobs=jobs) == []
    assert plan.pending() == []
    (outcome,) = plan.outcomes()
    rows = outcome.frame.groupby("method")
    assert rows.estimator.first().to_dict() == {"OLS": "OLS", "Slopes": "Slopes", "again": "OLS"}
    errors = rows.mse_test.mean()
    assert errors["again"] == errors["OLS"] != errors["Slopes"]


def test_a_method_of_ones_own_is_run_again_when_it_changes(tmp_path):
    def plan(**parameters):
        own = Method("Slopes", "least squares", partial(Doubled, **parameters), None)
        return Plan.make([small(entries=(Entry("a", own),), measure=scores)], tmp_path)

    plan().run(jobs=1)
    assert plan().pending() == []
    assert len(plan(positive=True).pending()) == 3


def test_the_code_of_a_method_of_ones_own_counts(task):
    def defined(body):
        names = {"__name__": "__main__"}
        exec(f"class Own:\n    def fit(self, X, y):\n        return {body}", names)
        return replace(task, entry=Entry("a", Method("Own", "mine", names["Own"], None)))

    one = defined(1)
    assert fingerprint(one, "paper") == fingerprint(one, "paper")
    assert fingerprint(one, "paper") != fingerprint(defined(2), "paper")
    in_a_file = replace(task, entry=Entry("a", Method("Own", "mine", Doubled, None)))
    again = replace(task, entry=Entry("a", Method("Own", "mine", Doubled, None)))
    assert fingerprint(in_a_file, "paper") == fingerprint(again, "paper")


def test_a_method_of_ones_own_needs_a_name_of_its_own():
    own = Method("OLS", "not that of the registry", LinearRegression, None)
    with pytest.raises(ValueError, match="a: the registry has another method 'OLS'"):
        Entry("a", own)
    dial = Entry("a", replace(own, name="Own"), positions=(0.0,))
    with pytest.raises(ValueError, match="Own has no tradeoff parameter"):
        small(entries=(dial,))


def test_every_element_of_an_array_parameter_counts(task, tmp_path):
    store = Store(tmp_path)
    one, other = np.zeros(5000), np.zeros(5000)
    other[2500] = 1.0  # where a printed array has dots
    first = replace(task, entry=Entry("OLS", "OLS", parameters={"x": one}))
    store.write(first, fingerprint(first, "paper"), RESULT)
    assert (
        store.read(replace(task, entry=Entry("OLS", "OLS", parameters={"x": other})), "paper")
        is None
    )
    again = replace(task, entry=Entry("OLS", "OLS", parameters={"x": one.copy()}))
    assert store.read(again, "paper") == RESULT
