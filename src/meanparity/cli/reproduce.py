"""``meanparity reproduce``: the paper's tables and figures, beside what the paper printed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column, Table

from meanparity.exceptions import did_you_mean
from meanparity.experiments import CATALOGUE, Experiment, Plan
from meanparity.experiments.declaration import TRIALS, Task

_QUICK = 2
_STOPPED = 130  # what shells say of a program that Ctrl-C ended


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Which ones, such as fig:tradeoff tab:linear; all by default."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for the page, its files, and results to go on from.")
    ] = Path("reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="Two trials instead of ten.")] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; as many as there are cores by default.")
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="List what there is, and stop.")
    ] = False,
) -> None:
    """Compute the paper's tables and figures again, beside what the paper printed.

    Writes index.html, a CSV file for each experiment, a PNG and an SVG file for each figure. An
    interrupted run goes on where it stopped: give the same command again.

    The paper's data files are looked for in the folder that MEANPARITY_DATA names, then in the
    cache, and are else downloaded. Without them, the bundled variants are used, and Law School is
    left out.

    Examples
    --------
    - `meanparity reproduce --quick`

    - `meanparity reproduce fig:tradeoff tab:linear --out comparison`
    """
    console = Console(stderr=True)
    if show_list:
        _list(Console())
        return
    _require("jinja2", "joblib", "matplotlib", "pandas")
    experiments = choose(names or [])
    _make_folder(out)
    os.environ.setdefault("PYTHONSAFEPATH", "1")  # processes do not import files of this folder
    plan = Plan.make(experiments, out / "cache", _QUICK if quick else TRIALS)
    for reason in plan.sources.missing.values():
        console.print(reason, style="yellow", markup=False, highlight=False, soft_wrap=True)
    try:
        failures = _run(plan, jobs, console)
        _publish(plan, out, quick, console)
    except KeyboardInterrupt:
        left = len(plan.missing())
        console.print(
            f"Stopped with {left} of {len(plan.tasks())} results to go; the same command goes on "
            "from here."
        )
        raise typer.Exit(_STOPPED) from None
    if failures:
        more = f" ({len(failures) - 1} more like it)" if len(failures) > 1 else ""
        raise RuntimeError(f"{failures[0]}{more}. The page shows what is complete.")


def choose(names: Sequence[str]) -> list[Experiment]:
    """The experiments of these names, in the order of the paper; all if there are none.

    Examples
    --------
    >>> [experiment.name for experiment in choose(["tab:linear", "fig:dp"])]
    ['fig:dp', 'tab:linear']
    """
    for name in names:
        if name not in CATALOGUE:
            hint = did_you_mean(name, CATALOGUE, 0.4)
            raise ValueError(
                f"{name!r} is not an experiment.{hint} There are: {', '.join(CATALOGUE)}."
            )
    return [experiment for name, experiment in CATALOGUE.items() if not names or name in names]


def _list(console: Console) -> None:
    table = Table(Column("name", no_wrap=True), "what", "in the paper", box=None)
    for experiment in CATALOGUE.values():
        table.add_row(experiment.name, experiment.title, experiment.paper or "(ours)")
    console.print(table)


def _run(plan: Plan, jobs: int | None, console: Console) -> list[str]:
    missing, total = plan.missing(), len(plan.tasks())
    if len(missing) < total:
        console.print(f"{total - len(missing)} of {total} results are there from an earlier run.")
    with _progress(missing, console) as advance:
        return plan.run(jobs, advance)


@contextmanager
def _progress(missing: Sequence[Task], console: Console) -> Iterator[Callable[[Task], None]]:
    """A bar with the time left; where nobody can see it move, a line now and then."""
    cost = sum(task.experiment.cost for task in missing)
    columns = (
        TextColumn("{task.description:<20}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_interactive) as bar:
        whole, start, told = bar.add_task("starting", total=cost), time.monotonic(), 0
        done = 0.0

        def advance(task: Task) -> None:
            nonlocal done, told
            done += task.experiment.cost
            bar.update(whole, advance=task.experiment.cost, description=task.experiment.name)
            tenths = int(10 * done / cost + 1e-9)
            if not console.is_interactive and tenths > told:
                told, spent = tenths, time.monotonic() - start
                left = spent * (cost - done) / done
                console.print(f"{10 * tenths} % after {spent:.0f} s, about {left:.0f} s left")

        yield advance


def _publish(plan: Plan, out: Path, quick: bool, console: Console) -> None:
    """The page, with everything that is complete in the folder, from earlier runs too."""
    from meanparity.experiments.show import publish

    console.print("Drawing and writing")
    whole = Plan.make(list(CATALOGUE.values()), plan.store.folder, plan.trials)
    command = " ".join(["meanparity reproduce", *(["--quick"] if quick else [])])
    publication = publish(whole, out, command)
    within, outside = (publication.cells_that_are(status) for status in ("within", "outside"))
    few = f" ({plan.trials} of {TRIALS} trials)" if plan.trials < TRIALS else ""
    if within + outside:
        numbers = f"{within} of {within + outside} printed numbers lie within the paper's ±"
        console.print(f"{numbers}{few}.", highlight=False)
    for kind, words in (("proved", "proves"), ("observed", "reports")):
        asked = publication.statements(kind).values()
        if asked:
            held = sum(answer is True for answer in asked)
            statements = f"{held} of {len(asked)} statements hold{few}"
            console.print(f"Of what the paper {words}, {statements}.", highlight=False)
    for line in publication.substitutes:
        console.print(line, style="yellow", markup=False, highlight=False, soft_wrap=True)
    print(publication.path)


def _make_folder(out: Path) -> None:
    """The folder and its cache, or a word on why not, before anything is computed."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {str(out)!r} is a file. Pass a folder, which may be new.")
    (out / "cache").mkdir(parents=True, exist_ok=True)
    if not os.access(out / "cache", os.W_OK):
        raise ValueError(f"--out {str(out)!r} cannot be written to. Pass another folder.")


def _require(*modules: str) -> None:
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"This command needs {', '.join(missing)}. Run: pip install 'meanparity[experiments]'"
        )
