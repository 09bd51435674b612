"""The command line.

    python -m tools.mutants --seed 0 --sample 200
    python -m tools.mutants --rooms audit report --sample 40 --jobs 2
    python -m tools.mutants --again output/mutants.json     # the survivors of an earlier run

The exit status is 1 if fewer than 95 % of the sample were killed, or if a survivor has no reason in
`equivalent.toml`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tools.mutants import testing
from tools.mutants.mutations import Mutant
from tools.mutants.rooms import ROOMS, ROOT, Equivalents, all_mutants, existing_rooms


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant.

    Parameters
    ----------
    room : str
        Its room.
    mutant : Mutant
        The change.
    status : {"killed", "equivalent", "survived"}
        Whether a test failed, or else whether there is a reason that none does.
    killed_by : str or None
        The test that failed.
    reason : str
        Why no test can notice the mutant, if it is known as equivalent.
    seconds : float
        Time of the run.
    """

    room: str
    mutant: Mutant
    status: str
    killed_by: str | None
    reason: str
    seconds: float

    @classmethod
    def of(cls, result: testing.Result, known: Equivalents) -> Outcome:
        """The outcome of a run."""
        mutant, room = result.task.mutant, result.task.room
        reason = "" if result.killed_by else known.reason(mutant)
        status = "killed" if result.killed_by else "equivalent" if reason else "survived"
        return cls(room, mutant, status, result.killed_by, reason, result.seconds)

    def __str__(self) -> str:
        by = f"  [{self.killed_by}]" if self.killed_by else ""
        return f"{self.status:10} {self.seconds:5.1f} s  {self.mutant}{by}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    options = _options(arguments)
    rooms = existing_rooms(options.rooms)
    everything = [(room, m) for room, place in rooms.items() for m in all_mutants(place.sources)]
    sample = _sample(options, everything)
    if options.list:
        print("\n".join(f"{room:12} {mutant}" for room, mutant in sample))
        return 0
    known = Equivalents.read()
    print(f"{len(sample)} of {len(everything):,} mutants", flush=True)
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        first = testing.Copy.make(Path(folder) / "0")
        copies = [first, *(first.again(Path(folder) / str(i)) for i in range(1, options.jobs))]
        plan = _plan(options.plan, copies)
        testing.preload(plan.imported)
        tasks = []
        for name, mutant in sample:
            paths = (*rooms[name].tests, *rooms[name].sources)
            stages = plan.stages(mutant, paths, options.seconds)
            tasks.append(testing.Task(mutant, name, stages, plan.seconds))
        for result in testing.run(tasks, copies):
            outcomes.append(Outcome.of(result, known))
            print(outcomes[-1], flush=True)
            _save(outcomes, options)
    _show(outcomes)
    for entry in known.stale([mutant for _, mutant in everything]):
        print(f"No longer a mutant, in equivalent.toml: {entry}")
    return _status(outcomes, options)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tools.mutants")
    parser.add_argument("--rooms", nargs="+", metavar="ROOM", help=f"some of {', '.join(ROOMS)}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sample", type=int, default=200, help="number of mutants (default 200)")
    parser.add_argument("--file", default="", help="only files whose path contains this text")
    parser.add_argument("--again", type=Path, help="instead, the survivors in a file of results")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time (default 1)")
    parser.add_argument(
        "--seconds", type=float, default=300.0, help="most time of the tests of a stage, as planned"
    )
    parser.add_argument("--plan", type=Path, default=ROOT / "output" / "mutants_plan.json")
    parser.add_argument("--json", type=Path, default=ROOT / "output" / "mutants.json")
    parser.add_argument("--at-least", type=float, default=95.0, help="per cent (default 95)")
    parser.add_argument("--list", action="store_true", help="show the sample and stop")
    return parser.parse_args(arguments)


def _plan(path: Path, copies: Sequence[testing.Copy]) -> testing.Plan:
    """What each test executes, from a file as long as the package is the same."""
    if path.exists():
        plan = testing.Plan.read(path)
        if plan.is_of_these_sources:
            return plan
    print("The suite runs once without a mutant; this takes minutes.", flush=True)
    plan = testing.record(copies, path)
    seconds = sum(plan.seconds.values())
    print(f"{len(plan.seconds):,} tests take {seconds:.0f} s", flush=True)
    return plan


def _sample(
    options: argparse.Namespace, everything: Sequence[tuple[str, Mutant]]
) -> list[tuple[str, Mutant]]:
    chosen = [pair for pair in everything if options.file in pair[1].file]
    if options.again is None:
        drawn = sorted(chosen, key=lambda pair: _lot(options.seed, pair[1]))[: options.sample]
        kept = {(*mutant.key, mutant.nth) for _, mutant in drawn}
        return [(room, mutant) for room, mutant in chosen if (*mutant.key, mutant.nth) in kept]
    found = json.loads(options.again.read_text())["mutants"]
    names = ("file", "text", "before", "after", "nth")
    left = {tuple(m["mutant"][name] for name in names) for m in found if m["status"] != "killed"}
    return [(room, mutant) for room, mutant in chosen if (*mutant.key, mutant.nth) in left]


def _lot(seed: int, mutant: Mutant) -> bytes:
    """What decides whether a mutant is drawn.

    It does not depend on the other mutants, so that after a change of one line nearly the same
    sample is drawn.
    """
    text = "\0".join((str(seed), *mutant.key, str(mutant.nth)))
    return hashlib.sha256(text.encode()).digest()


def _save(outcomes: Sequence[Outcome], options: argparse.Namespace) -> None:
    results: dict[str, Any] = {"seed": options.seed, "mutants": [asdict(o) for o in outcomes]}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=1) + "\n")


def _show(outcomes: Sequence[Outcome]) -> None:
    for status in ("equivalent", "survived"):
        for outcome in outcomes:
            if outcome.status == status:
                print(f"\n{status}: {outcome.mutant}\n    {outcome.mutant.text}")
                if outcome.reason:
                    print(f"    reason: {outcome.reason}")
    print(f"\n{'room':12} {'mutants':>8} {'killed':>8} {'equivalent':>11} {'survived':>9}")
    for room in [*dict.fromkeys(outcome.room for outcome in outcomes), "all"]:
        statuses = [outcome.status for outcome in outcomes if room in (outcome.room, "all")]
        killed, equivalent, survived = map(statuses.count, ("killed", "equivalent", "survived"))
        share = killed / max(len(statuses), 1)
        print(f"{room:12} {len(statuses):8} {share:8.1%} {equivalent:11} {survived:9}")


def _status(outcomes: Sequence[Outcome], options: argparse.Namespace) -> int:
    statuses = [outcome.status for outcome in outcomes]
    too_few = 100 * statuses.count("killed") < options.at_least * len(statuses)
    return int("survived" in statuses or (too_few and options.again is None))


if __name__ == "__main__":
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    raise SystemExit(main())
