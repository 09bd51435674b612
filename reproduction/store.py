"""Results on disk: one file per trial, so that an interrupted run can be resumed."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib

import meanparity
from meanparity.baselines import Method
from meanparity.files import write_atomically
from reproduction.declaration import Entry, Row, Task, slug

# Results do not depend on these parts of the package, which only display them. Of this folder, they
# depend on these modules, and each on its own declaration.
_DISPLAY_CODE = ("cli/", "displays", "report/")
_MEASURING_CODE = ("adam.py", "datasets.py", "measures.py")


@dataclass(frozen=True)
class Result:
    """The result of a trial.

    Parameters
    ----------
    rows : list of dict
        The numbers.
    warnings : list of str
        Warnings of the package, each once.
    seconds : float
        Total time.
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
        Where the results are. A result is valid as long as the code, the libraries, the data and
        the declaration that produced it are unchanged.
    """

    folder: Path

    def read(self, task: Task, source: str) -> Result | None:
        """The stored result of a task on the data from a source; None if not valid or absent."""
        try:
            stored = json.loads(self._path(task).read_text(encoding="utf-8"))
            if stored["fingerprint"] != fingerprint(task, source):
                return None
            return Result(stored["rows"], stored["warnings"], stored["seconds"])
        except (OSError, ValueError, KeyError, TypeError):  # absent, truncated or not a result
            return None

    def write(self, task: Task, fingerprint: str, result: Result) -> None:
        """Store a result with the fingerprint of its task, atomically."""
        content = {"fingerprint": fingerprint, **vars(result)}
        write_atomically(self._path(task), json.dumps(content))

    def _path(self, task: Task) -> Path:
        folders = (task.experiment.stem, task.dataset, slug(task.entry.name))
        return self.folder.joinpath(*folders, f"trial-{task.trial}.json")


def fingerprint(task: Task, source: str) -> str:
    """A digest of everything that the numbers of a task depend on."""
    measure = _source_code(task.experiment.measure)
    return _digest(
        (_code_digest(), task.dataset, source, _entry_digest(task.entry), task.trial, measure)
    )


def _entry_digest(entry: Entry) -> str:
    """A digest of an entry, and of the code of a method that is not in the registry."""
    method = entry.method
    if not isinstance(method, Method):
        return str(joblib.hash(entry))
    facts = (method.name, method.dial, method.centred, method.is_random)
    named = joblib.hash(replace(entry, method=method.name))
    return _digest((named, facts, *map(_own_code, (method.linear, method.kernel))))


def _own_code(make: Any) -> str:
    """The file that defines what makes an estimator, and the parameters that it is given."""
    if isinstance(make, partial):
        return _defining_code(make.func) + str(joblib.hash((make.args, make.keywords)))
    return _defining_code(make)


@cache
def _defining_code(function: Any) -> str:
    if function is None:
        return ""
    try:
        inspect.getsource(function)
        return inspect.getsource(sys.modules[function.__module__])
    except (OSError, TypeError):  # defined in a prompt: results hold as long as it is open
        return uuid.uuid4().hex


@cache
def _source_code(measure: Any) -> str:
    try:
        return inspect.getsource(measure)
    except (OSError, TypeError):  # defined in a prompt, or not a function
        return str(joblib.hash(measure))


@cache
def _code_digest() -> str:
    """A digest of the package, its bundled data, the measurements, and the libraries."""
    libraries = (f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    return _digest([*_package_files(), *_measuring_files(), *libraries])


def _package_files() -> Iterator[str]:
    root = Path(meanparity.__file__).parent
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.csv.gz")]):
        name = path.relative_to(root).as_posix()
        if not name.startswith(_DISPLAY_CODE):
            yield f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def _measuring_files() -> Iterator[str]:
    for name in _MEASURING_CODE:
        content = Path(__file__).with_name(name).read_bytes()
        yield f"{name} {hashlib.sha256(content).hexdigest()}"


def _digest(parts: Iterable[Any]) -> str:
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(str(part).encode("utf-8")).digest())
    return total.hexdigest()
