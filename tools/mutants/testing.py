"""Runs of the tests on copies of the repository, each in a process of its own."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import itertools
import json
import os
import resource
import shutil
import signal
import sys
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from tools.mutants.mutations import Mutant, mutate
from tools.mutants.rooms import PACKAGE, ROOT, SUITE, lines_that_mention

_COPIED = ("src", "tests")  # everything else is linked
_NOT_PRELOADED = {"meanparity", "tests", "tools", "benchmarks", "reproduction", "__main__"}
_BETWEEN_TESTS = 600.0  # seconds that importing, or finishing, may take
_MEMORY = 8 * 2**30  # a mutant that asks for more is stopped
_FAILED, _NO_TESTS, _BROKEN = 1, 5, 70  # exit statuses: pytest's, and ours if the process failed
_MOST_FAILURES = 20  # while lines are recorded, which takes time and memory of its own

Lines = set[tuple[str, int]]


def preload(names: Iterable[str]) -> None:
    """Import modules here, so that the processes of later runs start with them."""
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)


@dataclass(frozen=True)
class Plan:
    """What the run without a mutant tells about each test.

    Parameters
    ----------
    seconds : dict of str to float
        How long it takes, while the lines are recorded.
    lines : dict of str to set of (file, line)
        Which lines of the package it executes.
    imported : tuple of str
        Modules of other packages that the tests imported, in order.
    digests : dict of str to str
        Checksums of the files of the package and of the tests.
    """

    seconds: dict[str, float]
    lines: dict[str, Lines]
    imported: tuple[str, ...]
    digests: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> Plan:
        """A plan from its file."""
        found = json.loads(path.read_text("utf-8"))
        lines = {test: {tuple(line) for line in seen} for test, seen in found["lines"].items()}
        return cls(found["seconds"], lines, tuple(found["imported"]), found["digests"])

    @property
    def is_of_these_sources(self) -> bool:
        """Whether the package has not changed since."""
        return _of_package(self.digests) == _of_package(digests_now())

    def stages(self, mutant: Mutant, room: Sequence[str], most: float) -> list[list[str]]:
        """The tests for a mutant: those of its room, and then the others, that reach its statement.

        Files of tests that have changed since the plan was made are named as well: their new tests
        count as such. If no test reaches the statement, or if it is outside functions, all tests of
        the room are taken. The quickest come first, and those after `most` seconds are left out.
        """
        wanted = {(mutant.file, line) for line in range(mutant.first, mutant.last + 1)}
        wanted |= lines_that_mention(mutant.names) if mutant.names else set()
        now = digests_now()
        changed = {file for file in now if now[file] != self.digests.get(file)}
        reaching = [test for test, lines in self.lines.items() if not wanted.isdisjoint(lines)]
        inside = [test for test in reaching if _is_within(test, room)]
        if mutant.names or not inside:  # what a class says about itself is read while importing
            inside = [test for test in self.seconds if _is_within(test, room)]
        elsewhere = [test for test in reaching if not _is_within(test, room)]
        first = [file for file in sorted(changed) if file.startswith("tests/")]
        first = [file for file in first if Path(file).name.startswith("test_")]
        stages = [first + self._quickest(inside, most), self._quickest(elsewhere, most)]
        return [stage for stage in stages if stage]

    def _quickest(self, tests: Iterable[str], most: float) -> list[str]:
        ordered = sorted(tests, key=lambda test: self.seconds[test])
        times = itertools.accumulate(self.seconds[test] for test in ordered)
        return [test for test, time in zip(ordered, times, strict=True) if time <= most]


def _is_within(test: str, paths: Sequence[str]) -> bool:
    return any(test == path or test.startswith((f"{path}/", f"{path}::")) for path in paths)


@cache
def digests_now() -> dict[str, str]:
    """Checksums of the files of the package and of the tests."""
    files = (file for folder in _COPIED for file in (ROOT / folder).rglob("*.py"))
    return {str(f.relative_to(ROOT)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def _of_package(digests: dict[str, str]) -> dict[str, str]:
    return {file: digest for file, digest in digests.items() if Path(file).is_relative_to(PACKAGE)}


@dataclass(frozen=True)
class Copy:
    """A copy of the repository, for one run at a time.

    Parameters
    ----------
    tree : Path
        The copy.
    originals : Path
        The sources without any change.
    notes : Path
        Prefix of the files that a run writes: its output, what it recorded,
        and the test that is running.
    """

    tree: Path
    originals: Path
    notes: Path

    @classmethod
    def make(cls, folder: Path) -> Copy:
        """Copy the sources and the tests, and link everything else."""
        tree = folder / "tree"
        tree.mkdir(parents=True)
        for entry in ROOT.iterdir():
            if entry.name in _COPIED:
                hidden = shutil.ignore_patterns("__pycache__", ".*")
                shutil.copytree(entry, tree / entry.name, ignore=hidden)
            elif not entry.name.startswith(".") and entry.name != "output":
                (tree / entry.name).symlink_to(entry)
        shutil.copytree(tree / "src", folder / "originals" / "src")
        return cls(tree, folder / "originals", folder / "notes")

    def again(self, folder: Path) -> Copy:
        """Another copy, with the compiled files of this one."""
        shutil.copytree(self.tree, folder / "tree", symlinks=True)
        return Copy(folder / "tree", self.originals, folder / "notes")

    @property
    def log(self) -> Path:
        """Output of the last run."""
        return self.notes.with_suffix(".log")

    @property
    def part(self) -> Path:
        """A file with the share of a plan that this copy recorded."""
        return self.notes.with_suffix(".json")

    @property
    def test(self) -> Path:
        """A file with the name of the last test that was started."""
        return self.notes.with_suffix(".test")

    def put(self, mutant: Mutant) -> None:
        """Make the change of a mutant in this copy."""
        path = self.tree / mutant.file
        source = (self.originals / mutant.file).read_text("utf-8")
        path.write_text(mutate(source, mutant.index), "utf-8")
        for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            stale.unlink()

    def take_back(self, mutant: Mutant) -> None:
        """Undo the change of a mutant."""
        shutil.copy2(self.originals / mutant.file, self.tree / mutant.file)


def record(copies: Sequence[Copy], path: Path) -> Plan:
    """Run the suite without a mutant, note how long each test takes and what it executes.

    Each copy runs a share of the files. Tests that fail while lines are recorded, because that
    takes time and memory, are printed and not planned. The plan is written to `path`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    files = _files_of_the_suite(copies[0].tree)
    parts = [(copy, files[i :: len(copies)]) for i, copy in enumerate(copies)]
    running = {_record_part(copy, share): copy for copy, share in parts}
    while running:
        process, status = os.wait()
        _end_group(process)
        copy = running.pop(process)
        if os.waitstatus_to_exitcode(status) not in (0, _FAILED):
            for other in running:
                _end_group(other)
            print(copy.log.read_text(errors="replace")[-5000:])
            raise SystemExit("The tests could not be run without any mutant.")
    found = [json.loads(copy.part.read_text("utf-8")) for copy in copies]
    failed = [test for part in found for test in part["failed"]]
    print("".join(f"Fails while lines are recorded: {test}\n" for test in failed), end="")
    if len(failed) > _MOST_FAILURES:
        raise SystemExit("Too many tests fail without any mutant.")
    plan = {
        "seconds": {test: time for part in found for test, time in part["seconds"].items()},
        "lines": {test: lines for part in found for test, lines in part["lines"].items()},
        "imported": list(dict.fromkeys(name for part in found for name in part["imported"])),
        "digests": digests_now(),
    }
    path.write_text(json.dumps(plan))
    return Plan.read(path)


def _files_of_the_suite(tree: Path) -> list[str]:
    """The files of tests, and those of the package, whose docstrings have examples.

    The large ones come first, so that shares of every n-th file take about as long.
    """
    paths = [tree / part for part in SUITE]
    files = {path for path in paths if path.is_file()}
    files |= {file for path in paths for file in path.rglob("*.py")}
    named = {f for f in files if f.name.startswith("test_") or f.is_relative_to(tree / PACKAGE)}
    return [str(f.relative_to(tree)) for f in sorted(named, key=lambda f: (-f.stat().st_size, f))]


def _record_part(copy: Copy, files: Sequence[str]) -> int:
    def work() -> int:
        signal.setitimer(signal.ITIMER_REAL, 0)
        recorder = _Recorder(copy.tree)
        code = _run_tests(copy.tree, files, [recorder], f"--maxfail={_MOST_FAILURES + 1}")
        passed = recorder.lines.keys() - recorder.failed
        found = {
            "seconds": {test: recorder.seconds[test] for test in passed},
            "lines": {test: sorted(recorder.lines[test]) for test in passed},
            "failed": sorted(recorder.failed),
            "imported": [n for n in sys.modules if n.split(".")[0] not in _NOT_PRELOADED],
        }
        copy.part.write_text(json.dumps(found))
        return code

    return _fork(copy.log, work)


@dataclass(frozen=True)
class Task:
    """A mutant and the tests that may notice it, in stages."""

    mutant: Mutant
    room: str
    stages: Sequence[Sequence[str]]
    seconds: dict[str, float]


@dataclass(frozen=True)
class Result:
    """What became of a task: which test failed (none, if the mutant survived), and after when."""

    task: Task
    killed_by: str | None
    seconds: float


def run(tasks: Sequence[Task], copies: Sequence[Copy]) -> Iterator[Result]:
    """The results as they come, with as many runs at a time as there are copies."""
    waiting, free = list(reversed(tasks)), list(copies)
    running: dict[int, tuple[Copy, Task, int, float]] = {}
    while waiting or running:
        while waiting and free:
            copy, task = free.pop(), waiting.pop()
            copy.put(task.mutant)
            running[_start(copy, task, 0)] = (copy, task, 0, time.perf_counter())
        process, status = os.wait()
        _end_group(process)
        copy, task, stage, began = running.pop(process)
        code = os.waitstatus_to_exitcode(status)
        if code in (_NO_TESTS, _BROKEN):
            print(copy.log.read_text(errors="replace")[-5000:])
            raise SystemExit(f"The tests could not be run (exit status {code}): {task.mutant}")
        if code == 0 and stage + 1 < len(task.stages):
            running[_start(copy, task, stage + 1)] = (copy, task, stage + 1, began)
            continue
        copy.take_back(task.mutant)
        free.append(copy)
        yield Result(task, _killer(code, copy), time.perf_counter() - began)


def _killer(code: int, copy: Copy) -> str | None:
    if code == 0:
        return None
    test = copy.test.read_text() or "import of the package"
    return f"{test}, ended by signal {-code}" if code < 0 else test


def _start(copy: Copy, task: Task, stage: int) -> int:
    tests = task.stages[stage]

    def work() -> int:
        sys.dont_write_bytecode = True
        files = list(dict.fromkeys(map(_file, tests)))
        return _run_tests(copy.tree, files, [_Conductor(tests, task.seconds, copy.test)], "-x")

    copy.test.write_text("")
    return _fork(copy.log, work)


def _run_tests(tree: Path, paths: Sequence[str], plugins: list[Any], *others: str) -> int:
    os.chdir(tree)
    places = [str(tree / "src"), str(tree)]
    sys.path[:0] = places
    inherited = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    os.environ["PYTHONPATH"] = os.pathsep.join([*places, *inherited])
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    left_out = ["slow", "browser", "neighbours"]
    left_out += [] if os.environ.get("MEANPARITY_DATA") else ["data"]
    left_out += [] if importlib.util.find_spec("torch") else ["torch"]
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", *others]
    options += [f"--hypothesis-profile={os.environ.get('MUTANTS_PROFILE', 'default')}"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what was preloaded
    options += ["-m", " and ".join(f"not {mark}" for mark in left_out)]
    import pytest

    return int(pytest.main([*options, *paths], plugins=[_QuickFailures(), *plugins]))


def _fork(log: Path, work: Callable[[], int]) -> int:
    """Start a process that exits with the number that `work()` returns."""
    sys.stdout.flush()
    process = os.fork()
    if not process:
        _be_child(log, work)
    return process


def _be_child(log: Path, work: Callable[[], int]) -> NoReturn:
    code = _BROKEN
    try:
        os.setpgid(0, 0)
        signal.setitimer(signal.ITIMER_REAL, _BETWEEN_TESTS)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        code = work()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _end_group(process: int) -> None:
    """End what a run of the tests may have left behind."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)


# --- pytest plugins


class _Recorder:
    """Notes how long each test takes and which lines of the package it executes."""

    def __init__(self, tree: Path) -> None:
        self._folder = f"{tree / PACKAGE}{os.sep}"
        self._start = len(str(tree)) + 1
        self._seen: Lines = set()
        self._prepared: dict[str, Lines] = defaultdict(set)
        self._began = 0.0
        self.seconds: dict[str, float] = {}
        self.lines: dict[str, Lines] = {}
        self.failed: set[str] = set()

    def _trace(self, frame: Any, event: str, argument: Any) -> Any:
        path = frame.f_code.co_filename
        if not path.startswith(self._folder):
            return None
        file, seen = path[self._start :], self._seen

        def note(frame: Any, event: str, argument: Any) -> Any:
            if event == "line":
                seen.add((file, frame.f_lineno))
            return note

        return note

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._seen = set()
        self._began = time.perf_counter()
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.add(report.nodeid)
        if report.when == "setup":  # a fixture may serve the other tests of the file as well
            self._prepared[_file(report.nodeid)] |= self._seen

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        sys.settrace(None)
        threading.settrace(None)
        self.seconds[nodeid] = time.perf_counter() - self._began
        self.lines[nodeid] = self._seen

    def pytest_sessionfinish(self) -> None:
        for test, seen in self.lines.items():
            seen |= self._prepared[_file(test)]


def _file(test: str) -> str:
    return test.split("::")[0]


class _Conductor:
    """Leaves the tests that may notice a mutant, the quickest file first, and limits their time.

    `tests` are their names, and those of files whose unknown tests may notice it, too.
    """

    def __init__(self, tests: Sequence[str], seconds: dict[str, float], note: Path) -> None:
        self._tests, self._seconds, self._note = set(tests), seconds, note

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if self._has(item.nodeid)]
        quickest: dict[str, float] = {}
        for item in items:
            file, seconds = _file(item.nodeid), self._seconds.get(item.nodeid, 0.0)
            quickest[file] = min(seconds, quickest.get(file, seconds))

        def place(item: Any) -> tuple[Any, ...]:
            file = _file(item.nodeid)
            return quickest[file], file, self._seconds.get(item.nodeid, 0.0)

        items.sort(key=place)

    def _has(self, test: str) -> bool:
        return test in self._tests or (_file(test) in self._tests and test not in self._seconds)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._note.write_text(nodeid)
        # Without a handler a signal ends the process, even inside compiled code. The limit is of
        # processor time, as other work may slow a test down; one that only waits ends much later.
        limit = 5 + 5 * self._seconds.get(nodeid, 10.0)
        signal.setitimer(signal.ITIMER_PROF, limit)
        signal.setitimer(signal.ITIMER_REAL, 60 + 10 * limit)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, _BETWEEN_TESTS)


class _QuickFailures:
    """Keeps hypothesis from looking for the simplest example that fails."""

    def pytest_configure(self) -> None:
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", settings(), phases=phases, report_multiple_bugs=False)
        settings.load_profile("mutants")
