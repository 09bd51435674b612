"""Results on disk: a file for each trial, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib

import meanparity
from meanparity.experiments.declaration import Row, Task, slug
from meanparity.files import write_atomically

# What shows results is no part of what they depend on. Of the experiments, each task has its own
# declaration; besides it, these count.
_SHOWN_BY = ("cli/", "displays.py", "experiments/")
_MEASURED_BY = ("experiments/measures.py", "experiments/problems.py")


@dataclass(frozen=True)
class Result:
    """What a trial gave.

    Parameters
    ----------
    rows : list of dict
        The numbers.
    warnings : list of str
        What the library warned of.
    seconds : float
        How long it took, all in all.
    """

    rows: list[Row]
    warnings: list[str]
    seconds: float


@dataclass(frozen=True)
class Store:
    """A folder of results.

    Parameters
    ----------
    folder : Path
        Where they are. A result counts as long as the code, the libraries, the data and the
        declaration that it came from are the same.
    """

    folder: Path

    def read(self, task: Task, source: str) -> Result | None:
        """The result of a task on the table from a source, if it is there and still counts."""
        try:
            found = json.loads(self._path(task).read_text(encoding="utf-8"))
            if found["stamp"] != stamp(task, source):
                return None
            return Result(found["rows"], found["warnings"], found["seconds"])
        except (OSError, ValueError, KeyError, TypeError):  # absent, torn, or of another kind
            return None

    def write(self, task: Task, stamped: str, result: Result) -> None:
        """Keep a result with the stamp of its task; it is there as a whole or not at all."""
        content = {"stamp": stamped, **vars(result)}
        write_atomically(self._path(task), json.dumps(content))

    def _path(self, task: Task) -> Path:
        folders = (task.experiment.stem, task.dataset, slug(task.entry.name))
        return self.folder.joinpath(*folders, f"trial-{task.trial}.json")


def stamp(task: Task, source: str) -> str:
    """A digest of everything that the numbers of a task depend on."""
    measure = _source(task.experiment.measure)
    parts = (_code(), task.dataset, source, joblib.hash(task.entry), task.trial, measure)
    return _digest(parts)


@cache
def _source(measure: Any) -> str:
    try:
        return inspect.getsource(measure)
    except (OSError, TypeError):  # typed into a prompt, or an object
        return str(joblib.hash(measure))


@cache
def _code() -> str:
    root = Path(meanparity.__file__).parent
    paths = sorted([*root.rglob("*.py"), *root.rglob("*.csv.gz")])
    names = (path.relative_to(root).as_posix() for path in paths)
    counted = (n for n in names if n in _MEASURED_BY or not n.startswith(_SHOWN_BY))
    sources = (
        f"{name} {hashlib.sha256((root / name).read_bytes()).hexdigest()}" for name in counted
    )
    libraries = (f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    return _digest([*sources, *libraries])


def _digest(parts: Iterable[Any]) -> str:
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(str(part).encode("utf-8")).digest())
    return total.hexdigest()
