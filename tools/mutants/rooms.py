"""The rooms of the package: their sources, their tests, and mutants known to be equivalent."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.mutants.mutations import Mutant, mutants

ROOT = Path(__file__).parent.parent.parent
PACKAGE = Path("src/meanparity")
EQUIVALENT = Path(__file__).with_name("equivalent.toml")


@dataclass(frozen=True)
class Room:
    """Sources of a part of the package, and its tests, the most specific ones first.

    Parameters
    ----------
    sources : tuple of str
        Files and folders of the package; those that do not exist are left out.
    tests : tuple of str
        Files and folders of tests, likewise. The examples in the docstrings of the sources are
        run as well.
    """

    sources: tuple[str, ...]
    tests: tuple[str, ...]


ROOMS = {
    "solvers": Room(
        ("solvers",),
        (
            "tests/solvers",
            "tests/estimators/test_twins.py",
            "tests/estimators/test_pool.py",
            "tests/estimators/test_weights.py",
            "tests/estimators/test_kernel_losses.py",
            "tests/baselines/test_penalties.py",
        ),
    ),
    "statistics": Room(
        ("statistics",), ("tests/statistics", "tests/estimators", "tests/distributed")
    ),
    "constraints": Room(
        ("constraints",),
        (
            "tests/constraints",
            "tests/estimators",
            "tests/solvers/test_leave_one_out.py",
        ),
    ),
    "tradeoff": Room(
        ("tradeoff",),
        ("tests/tradeoff", "tests/test_displays.py", "tests/estimators"),
    ),
    "estimators": Room(("estimators",), ("tests/estimators",)),
    "baselines": Room(("baselines",), ("tests/baselines",)),
    "audit": Room(("audit",), ("tests/audit",)),
    "report": Room(("report",), ("tests/report",)),
    "tables": Room(("tables",), ("tests/tables", "tests/cli")),
    "metrics": Room(("metrics",), ("tests/metrics", "tests/audit")),
    "data": Room(("data",), ("tests/data", "tests/estimators", "tests/distributed")),
    "kernels": Room(("kernels",), ("tests/kernels",)),
    "losses": Room(("losses",), ("tests/losses",)),
    "linalg": Room(("linalg",), ("tests/linalg",)),
    "persistence": Room(("persistence",), ("tests/persistence",)),
}
# Tests that also run on what survives those of its room: all but the tests of the reproduction, the
# benchmarks and the documents, which take long and compare few numbers.
SUITE = (
    *(
        f"tests/{name}"
        for name in (
            "audit",
            "baselines",
            "cli",
            "constraints",
            "data",
            "datasets",
            "distributed",
            "estimators",
            "kernels",
            "linalg",
            "losses",
            "metrics",
            "persistence",
            "report",
            "solvers",
            "statistics",
            "tables",
            "tradeoff",
            "test_defaults.py",
            "test_displays.py",
        )
    ),
    str(PACKAGE),
)
DEFAULTS = "tests/test_defaults.py"  # has a test for each part of the package
DEFAULT_ROOMS = ("solvers", "constraints", "tradeoff", "audit", "report", "tables")


def existing_rooms(asked: Sequence[str] | None = None) -> dict[str, Room]:
    """The rooms that were asked for, with the sources and tests that exist.

    Without a choice these are `DEFAULT_ROOMS`, and those without sources are left out.
    """
    found = {}
    for name in asked or DEFAULT_ROOMS:
        if name not in ROOMS:
            raise SystemExit(f"There is no room {name!r}. Choose from {', '.join(ROOMS)}.")
        room = Room(
            _present(PACKAGE / source for source in ROOMS[name].sources),
            _present(map(Path, ROOMS[name].tests)),
        )
        if not room.sources and asked is None:
            print(f"Room {name!r} has no sources and is left out.")
            continue
        if not (room.sources and room.tests):
            missing = "tests" if room.sources else "sources"
            raise SystemExit(f"Room {name!r} has no {missing}. Edit ROOMS in {__file__}.")
        found[name] = Room(room.sources, (*room.tests, *_tests_of_defaults(room.sources)))
    return found


def _tests_of_defaults(sources: Iterable[str]) -> tuple[str, ...]:
    test = f"{DEFAULTS}::test_defaults_are_those_of_the_docstrings"
    parts = {Path(source).relative_to(PACKAGE).with_suffix("").parts[0] for source in sources}
    return tuple(f"{test}[{part}]" for part in sorted(parts)) if (ROOT / DEFAULTS).exists() else ()


def _present(paths: Iterable[Path]) -> tuple[str, ...]:
    return tuple(str(path) for path in paths if (ROOT / path).exists())


def all_mutants(sources: Iterable[str]) -> list[Mutant]:
    """Every mutant of some files and folders."""
    found = []
    for source in sources:
        path = ROOT / source
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            found += mutants(file.read_text("utf-8"), str(file.relative_to(ROOT)))
    return found


def lines_that_mention(names: Iterable[str]) -> set[tuple[str, int]]:
    """The lines of the package with one of these names."""
    word = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")
    return {
        (str(file.relative_to(ROOT)), number)
        for file in (ROOT / PACKAGE).rglob("*.py")
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if word.search(line)
    }


@dataclass(frozen=True)
class Equivalents:
    """Known mutants that no test could notice, with the reasons."""

    entries: tuple[dict[str, Any], ...]

    @classmethod
    def read(cls) -> Equivalents:
        """The list beside this file."""
        if not EQUIVALENT.exists():
            return cls(())
        return cls(tuple(tomllib.loads(EQUIVALENT.read_text("utf-8")).get("mutant", [])))

    def reason(self, mutant: Mutant) -> str:
        """Why a mutant is equivalent, or an empty text."""
        for entry in self.entries:
            if _matches(entry, mutant):
                return str(entry["reason"])
        return ""

    def stale(self, possible: Sequence[Mutant]) -> list[dict[str, Any]]:
        """Entries for files that were looked at, but with no such mutant."""
        files = {mutant.file for mutant in possible}
        return [
            entry
            for entry in self.entries
            if str(PACKAGE / entry["file"]) in files
            and not any(_matches(entry, mutant) for mutant in possible)
        ]


def _matches(entry: dict[str, Any], mutant: Mutant) -> bool:
    key = (str(PACKAGE / entry["file"]), entry["line"], entry["before"], entry["after"])
    return key == mutant.key and entry.get("nth", mutant.nth) == mutant.nth
