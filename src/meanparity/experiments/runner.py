"""Running experiments: what is not there yet, in parallel, kept as it comes."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psutil
from joblib import Parallel, cpu_count, delayed

from meanparity.experiments.declaration import Experiment, Row, Task
from meanparity.experiments.problems import DATA, Table, Trial
from meanparity.experiments.store import Result, Store

Progress = Callable[[Task], None]


@dataclass(frozen=True)
class Sources:
    """Where the tables of the problems come from.

    Parameters
    ----------
    found : mapping of str to str
        For each problem "paper", "bundled", or nothing if there is no table.
    reasons : mapping of str to str
        Why it is not the paper's.
    """

    found: Mapping[str, str]
    reasons: Mapping[str, str]

    @classmethod
    def look(cls, experiments: Sequence[Experiment]) -> Sources:
        """Look for all tables that the experiments need; those of the paper may be downloaded."""
        names = dict.fromkeys(name for e in experiments for name in e.datasets)
        both = {name: DATA[name].find() for name in names}
        return cls(
            {name: source for name, (source, _) in both.items()},
            {name: reason for name, (_, reason) in both.items() if reason},
        )

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
    trials: int = 10

    @classmethod
    def make(cls, experiments: Sequence[Experiment], folder: Path, trials: int = 10) -> Plan:
        """Look for the tables, and keep results in a folder."""
        return cls(experiments, Sources.look(experiments), Store(folder), trials)

    def tasks(self) -> list[Task]:
        """All tasks."""
        available = self.sources.available
        return [task for e in self.experiments for task in e.tasks(available, self.trials)]

    def missing(self) -> list[Task]:
        """The tasks whose results are not there; the longest ones first."""
        tasks = [task for task in self.tasks() if self._stored(task) is None]
        return sorted(tasks, key=lambda task: -task.experiment.cost)

    def run(self, jobs: int | None = None, progress: Progress = lambda task: None) -> None:
        """Run what is missing, and tell `progress` after each task.

        So many processes run side by side, by default as many as there are cores. Results are on
        disk as they come: a run that is interrupted goes on where it stopped.
        """
        missing = self.missing()
        if not missing:
            return
        jobs = min(len(missing), jobs or cpu_count())
        found = self.sources.found
        here = os.getpid()
        work = (delayed(run_task)(task, found[task.dataset], self.store, here) for task in missing)
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        for task in parallel(work):
            progress(task)

    def outcomes(self) -> Iterator[Outcome]:
        """The numbers of every experiment that was run as a whole."""
        for experiment in self.experiments:
            tasks = list(experiment.tasks(self.sources.available, self.trials))
            results = [self._stored(task) for task in tasks]
            rows: list[Row] = []
            told: Counter[str] = Counter()
            for task, result in zip(tasks, results, strict=True):
                if result is None:
                    raise RuntimeError(f"{task.words} was not run. Run the plan first.")
                key = {"dataset": task.dataset, "method": task.entry.name, "trial": task.trial}
                rows += [{**key, **row} for row in result.rows]
                told.update(set(result.warnings))
            seconds = sum(result.seconds for result in results if result is not None)
            yield Outcome(experiment, rows, told, seconds)

    def _stored(self, task: Task) -> Result | None:
        return self.store.read(task, self.sources.found[task.dataset])


def run_task(task: Task, source: str, store: Store, parent: int) -> Task:
    """Run a task for the process `parent`, and keep its result."""
    if os.getpid() != parent:
        _leave_with(parent)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            trial = Trial.of(_table(task.dataset, source), task.trial)
            rows = task.experiment.measure(task.entry, trial)
        except Exception as error:
            raise RuntimeError(f"{task.words}: {type(error).__name__}: {error}") from error
    told = list(dict.fromkeys(str(warning.message) for warning in caught))
    store.write(task, source, Result(rows, told, time.perf_counter() - start))
    return task


@cache
def _leave_with(parent: int) -> None:
    """End this worker soon after its parent, even one that was killed and could not say so."""

    def watch() -> None:
        # a dead parent is nobody's (POSIX), or its number is gone (Windows)
        while os.getppid() == parent and psutil.pid_exists(parent):
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@cache
def _table(dataset: str, source: str) -> Table:
    return DATA[dataset].table(source)
