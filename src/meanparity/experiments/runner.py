"""Running experiments: what is not there yet, in parallel, kept as it comes."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psutil
from joblib import Parallel, cpu_count, delayed
from threadpoolctl import threadpool_limits

from meanparity.datasets import fetch_file
from meanparity.exceptions import DataUnavailableError
from meanparity.experiments.declaration import TRIALS, Experiment, Row, Task
from meanparity.experiments.problems import DATA, Table, Trial
from meanparity.experiments.store import Result, Store, stamp

Progress = Callable[[Task], None]


@dataclass(frozen=True)
class Sources:
    """Where the tables of the problems come from.

    Parameters
    ----------
    found : mapping of str to str
        For each problem "paper", "bundled", or nothing if there is no table.
    missing : mapping of str to str
        For each file of the paper's that there is not, why.
    """

    found: Mapping[str, str]
    missing: Mapping[str, str]

    @classmethod
    def look(cls, experiments: Sequence[Experiment]) -> Sources:
        """Look for all files that the experiments need; those of the paper may be downloaded."""
        names = dict.fromkeys(name for e in experiments for name in e.datasets)
        missing = {}
        for file in dict.fromkeys(DATA[name].file for name in names if DATA[name].file):
            try:
                fetch_file(file)
            except DataUnavailableError as error:
                missing[file] = str(error)
        found = dict.fromkeys(names, "paper")
        for name in names:
            if DATA[name].file in missing:
                found[name] = "bundled" if DATA[name].bundled else ""
        return cls(found, missing)

    @property
    def available(self) -> frozenset[str]:
        """The problems that there is a table of."""
        return frozenset(name for name, source in self.found.items() if source)


@dataclass(frozen=True)
class Outcome:
    """The numbers of an experiment.

    Parameters
    ----------
    experiment : Experiment
        What was run.
    rows : list of dict
        A row for each measurement, with data set, method and trial.
    warnings : mapping of str to int
        What the library warned of, and in how many trials.
    seconds : float
        Time of all its trials together.
    """

    experiment: Experiment
    rows: list[Row]
    warnings: Mapping[str, int]
    seconds: float

    @property
    def frame(self) -> Any:
        """The rows as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame(self.rows)


@dataclass(frozen=True)
class Plan:
    """What has to be run, and what is there from an earlier run.

    Parameters
    ----------
    experiments : sequence of Experiment
        In this order.
    sources : Sources
        Where tables come from.
    store : Store
        Where results are kept.
    trials : int
        At most so many of each experiment's.
    """

    experiments: Sequence[Experiment]
    sources: Sources
    store: Store
    trials: int = TRIALS

    @classmethod
    def make(cls, experiments: Sequence[Experiment], folder: Path, trials: int = TRIALS) -> Plan:
        """Look for the tables, and keep results in a folder."""
        stems = [experiment.stem for experiment in experiments]
        if len(set(stems)) < len(stems):
            raise ValueError(f"Experiments share names: {', '.join(stems)}. Rename some.")
        if trials < 1:
            raise ValueError(f"trials={trials!r}. Pass 1 or more.")
        return cls(experiments, Sources.look(experiments), Store(Path(folder)), trials)

    def tasks(self) -> list[Task]:
        """All tasks."""
        available = self.sources.available
        return [task for e in self.experiments for task in e.tasks(available, self.trials)]

    def missing(self) -> list[Task]:
        """The tasks whose results are not there; the longest ones first."""
        tasks = [task for task in self.tasks() if self._stored(task) is None]
        return sorted(tasks, key=lambda task: -task.experiment.cost)

    def run(self, jobs: int | None = None, progress: Progress = lambda task: None) -> list[str]:
        """Run what is missing, tell `progress` after each task, and return what failed, in words.

        So many processes run side by side, by default as many as there are cores. Results are on
        disk as they come: a run that is interrupted goes on where it stopped.
        """
        missing = self.missing()
        if not missing:
            return []
        jobs = min(len(missing), jobs or cpu_count())
        work = (delayed(run_task)(task, *self._told(task)) for task in missing)
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        failures = []
        try:
            for task, failure in parallel(work):
                failures += [failure] if failure else []
                progress(task)
        except BrokenExecutor as error:
            raise RuntimeError(
                "A process was killed, perhaps for lack of memory. Use fewer of them; what is done "
                "is kept, and the same command goes on from there."
            ) from error
        return failures

    def _told(self, task: Task) -> tuple[str, Store, str, int]:
        """What a process has to know besides its task."""
        source = self.sources.found[task.dataset]
        return source, self.store, stamp(task, source), os.getpid()

    def outcomes(self) -> Iterator[Outcome]:
        """The numbers of every experiment of which all trials are there."""
        for experiment in self.experiments:
            tasks = list(experiment.tasks(self.sources.available, self.trials))
            results = [result for result in map(self._stored, tasks) if result is not None]
            if not tasks or len(results) < len(tasks):
                continue
            rows: list[Row] = []
            told: Counter[str] = Counter()
            for task, result in zip(tasks, results, strict=True):
                key = {"dataset": task.dataset, "method": task.entry.name, "trial": task.trial}
                rows += [{**key, "estimator": task.entry.method, **row} for row in result.rows]
                told.update(set(result.warnings))
            yield Outcome(experiment, rows, told, sum(result.seconds for result in results))

    def _stored(self, task: Task) -> Result | None:
        return self.store.read(task, self.sources.found[task.dataset])


def run_task(task: Task, source: str, store: Store, stamped: str, parent: int) -> tuple[Task, str]:
    """Run a task for the process `parent`, and keep its result; in words, what failed, if so."""
    if os.getpid() != parent:
        _leave_with(parent)
    start = time.perf_counter()
    # one thread for everybody, so that times can be compared
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            trial = Trial.of(_table(task.dataset, source), task.trial)
            rows = [_plain(row) for row in task.experiment.measure(task.entry, trial)]
        except Exception as error:
            return task, f"{task.words}: {type(error).__name__}: {error}"
    told = list(dict.fromkeys(str(warning.message) for warning in caught))
    store.write(task, stamped, Result(rows, told, time.perf_counter() - start))
    return task, ""


def _plain(row: Row) -> Row:
    """Numbers of Python; those that are none would pass every comparison."""
    plain = {name: getattr(value, "tolist", lambda v=value: v)() for name, value in row.items()}
    for name, value in plain.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name} is {value}")
    return plain


@cache
def _leave_with(parent: int) -> None:
    """End this worker soon after its parent, even one that was killed and could not say so."""

    def watch() -> None:
        # a dead parent is nobody's (POSIX), or its number is gone (Windows)
        while os.getppid() == parent and psutil.pid_exists(parent):
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of which the parent makes the best


@cache
def _table(dataset: str, source: str) -> Table:
    return DATA[dataset].table(source)
