"""Running experiments in parallel, with every result stored as soon as it is computed."""

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

import pandas as pd
import psutil
from joblib import Parallel, cpu_count, delayed
from threadpoolctl import threadpool_limits

from meanparity.datasets import fetch_file
from meanparity.exceptions import DataUnavailableError
from reproduction.datasets import DATASETS, Dataset, Trial
from reproduction.declaration import TRIALS, Experiment, Row, Task
from reproduction.store import Result, Store, fingerprint

Progress = Callable[[Task], None]


@dataclass(frozen=True)
class Sources:
    """Where the data sets come from.

    Parameters
    ----------
    found : mapping of str to str
        The source of each data set: "paper", "bundled", or "" if it is not available.
    missing : mapping of str to str
        For each of the paper's files that is not available, the reason.
    """

    found: Mapping[str, str]
    missing: Mapping[str, str]

    @classmethod
    def find(cls, experiments: Sequence[Experiment]) -> Sources:
        """Find the files that the experiments need, and download those that are not here."""
        names = dict.fromkeys(name for e in experiments for name in e.datasets)
        missing = {}
        for file in dict.fromkeys(DATASETS[name].file for name in names if DATASETS[name].file):
            try:
                fetch_file(file)
            except DataUnavailableError as error:
                missing[file] = str(error)
        found = dict.fromkeys(names, "paper")
        for name in names:
            if DATASETS[name].file in missing:
                found[name] = "bundled" if DATASETS[name].load_bundled else ""
        return cls(found, missing)

    @property
    def available(self) -> frozenset[str]:
        """The data sets that are available."""
        return frozenset(name for name, source in self.found.items() if source)


@dataclass(frozen=True)
class Outcome:
    """The results of an experiment.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    rows : list of dict
        One row per measurement, with data set, method and trial.
    warnings : mapping of str to int
        Warnings of the package, each with the number of trials that emitted it.
    seconds : float
        Total time of all trials.
    """

    experiment: Experiment
    rows: list[Row]
    warnings: Mapping[str, int]
    seconds: float

    @property
    def frame(self) -> Any:
        """The rows as a pandas data frame."""
        return pd.DataFrame(self.rows)


@dataclass(frozen=True)
class Plan:
    """The experiments to run, and the results that are stored already.

    Parameters
    ----------
    experiments : sequence of Experiment
        In the order of the page.
    sources : Sources
        Where the data sets come from.
    store : Store
        Where results are stored.
    trials : int
        Largest number of trials of an experiment.
    """

    experiments: Sequence[Experiment]
    sources: Sources
    store: Store
    trials: int = TRIALS

    @classmethod
    def make(cls, experiments: Sequence[Experiment], folder: Path, trials: int = TRIALS) -> Plan:
        """Find the data sets, and plan to store results in a folder."""
        stems = [experiment.stem for experiment in experiments]
        if len(set(stems)) < len(stems):
            raise ValueError(
                f"Two experiments have the same file name: {', '.join(stems)}. Rename one of them."
            )
        if trials < 1:
            raise ValueError(f"trials={trials!r}. Pass 1 or more.")
        return cls(experiments, Sources.find(experiments), Store(Path(folder)), trials)

    def tasks(self) -> list[Task]:
        """All tasks."""
        available = self.sources.available
        return [task for e in self.experiments for task in e.tasks(available, self.trials)]

    def pending(self) -> list[Task]:
        """The tasks without a valid result, the longest ones first."""
        tasks = [task for task in self.tasks() if self._stored(task) is None]
        return sorted(tasks, key=lambda task: -task.experiment.cost)

    def run(self, jobs: int | None = None, progress: Progress = lambda task: None) -> list[str]:
        """Run the pending tasks.

        Parameters
        ----------
        jobs : int, optional
            Number of processes. Default: one per core.
        progress : callable
            Called with each task that has been run.

        Returns
        -------
        list of str
            A message for each task that failed.
        """
        pending = self.pending()
        if not pending:
            return []
        jobs = min(len(pending), jobs or cpu_count())
        calls = (delayed(run_task)(task, *self._worker_arguments(task)) for task in pending)
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        failures = []
        try:
            for task, failure in parallel(calls):
                failures += [failure] if failure else []
                progress(task)
        except BrokenExecutor as error:
            raise RuntimeError(
                "A process was killed, perhaps because memory ran out. Pass a smaller number of "
                "jobs. Finished results are stored, and the same command resumes the run."
            ) from error
        return failures

    def _worker_arguments(self, task: Task) -> tuple[str, Store, str, int]:
        """What a worker process needs besides its task."""
        source = self.sources.found[task.dataset]
        return source, self.store, fingerprint(task, source), os.getpid()

    def outcomes(self) -> Iterator[Outcome]:
        """The results of every experiment whose trials are all stored."""
        for experiment in self.experiments:
            tasks = list(experiment.tasks(self.sources.available, self.trials))
            results = [result for result in map(self._stored, tasks) if result is not None]
            if not tasks or len(results) < len(tasks):
                continue
            rows: list[Row] = []
            warned: Counter[str] = Counter()
            for task, result in zip(tasks, results, strict=True):
                key = {"dataset": task.dataset, "method": task.entry.name, "trial": task.trial}
                rows += [
                    {**key, "estimator": task.entry.resolved.name, **row} for row in result.rows
                ]
                warned.update(set(result.warnings))
            yield Outcome(experiment, rows, warned, sum(result.seconds for result in results))

    def _stored(self, task: Task) -> Result | None:
        return self.store.read(task, self.sources.found[task.dataset])


def run_task(
    task: Task, source: str, store: Store, task_fingerprint: str, parent: int
) -> tuple[Task, str]:
    """Run a task for the process `parent` and store its result.

    Returns the task, and a message if it failed, otherwise "".
    """
    if os.getpid() != parent:
        _exit_with_parent(parent)
    start = time.perf_counter()
    # one thread for every method, so that their times can be compared
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            trial = Trial.from_dataset(_load(task.dataset, source), task.trial)
            rows = [_checked(row) for row in task.experiment.measure(task.entry, trial)]
        except Exception as error:
            return task, f"{task.label}: {type(error).__name__}: {error}"
    messages = list(dict.fromkeys(str(warning.message) for warning in caught))
    store.write(task, task_fingerprint, Result(rows, messages, time.perf_counter() - start))
    return task, ""


def _checked(row: Row) -> Row:
    """The row as Python numbers. NaN and infinity are refused: claims compare the numbers."""
    plain = {name: getattr(value, "tolist", lambda v=value: v)() for name, value in row.items()}
    for name, value in plain.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name} is {value}, not a finite number.")
    return plain


@cache
def _exit_with_parent(parent: int) -> None:
    """End this worker process soon after its parent, even if the parent was killed."""

    def watch() -> None:
        # if the parent is dead, it is no longer our parent (POSIX) or does not exist (Windows)
        while os.getppid() == parent and psutil.pid_exists(parent):
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C


@cache
def _load(dataset: str, source: str) -> Dataset:
    return DATASETS[dataset].load(source)
