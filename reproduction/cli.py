"""``python -m reproduction``: the paper's tables and figures, beside what the paper printed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column, Table

from meanparity.cli.app import run
from meanparity.exceptions import did_you_mean
from reproduction.catalogue import CATALOGUE
from reproduction.declaration import TRIALS, Experiment, Task
from reproduction.publication import publish
from reproduction.runner import Plan

_QUICK = 2
_INTERRUPTED = 130  # the exit status that shells give a program ended by Ctrl-C

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode="markdown")


def main() -> None:
    """Run the command; an error is one line on stderr and status 1, unless --debug is given."""
    run(app, "reproduction")


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Experiments, such as fig:tradeoff tab:linear. Default: all."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for the page, its files and the cached results.")
    ] = Path("output/reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="Run 2 trials instead of 10.")] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Number of processes. Default: one per core.")
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="List the experiments and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Recompute the paper's tables and figures and compare them with what the paper printed.

    Writes index.html, a CSV file for each experiment, and a PNG and an SVG file for each figure.
    To resume an interrupted run, give the same command again.

    The paper's data files are taken from the folder named by MEANPARITY_DATA or from the cache,
    and downloaded if they are in neither. If that fails, the bundled variants of Adult and
    Communities & Crime are used, and Law School is left out.

    Examples
    --------
    - `python -m reproduction --quick`

    - `make reproduce ARGS="fig:tradeoff tab:linear --out comparison"`
    """
    console = Console(stderr=True)
    if show_list:
        _print_list(Console())
        return
    experiments = select_experiments(names or [])
    _make_folder(out)
    plan = Plan.make(experiments, out / "cache", _QUICK if quick else TRIALS)
    for reason in plan.sources.missing.values():
        console.print(reason, style="yellow", markup=False, highlight=False, soft_wrap=True)
    try:
        failures = _run(plan, jobs, console)
        _publish(plan, out, quick, console)
    except KeyboardInterrupt:
        pending, total = len(plan.pending()), len(plan.tasks())
        console.print(
            f"Interrupted: {pending} of {total} results are still missing. Give the same command "
            "again to resume."
        )
        raise typer.Exit(_INTERRUPTED) from None
    if failures:
        others = f" ({len(failures) - 1} more tasks failed)" if len(failures) > 1 else ""
        raise RuntimeError(f"{failures[0]}{others}. The page shows the complete experiments.")


def select_experiments(names: Sequence[str]) -> list[Experiment]:
    """The experiments with the given names, in the paper's order; all if no name is given.

    Examples
    --------
    >>> [experiment.name for experiment in select_experiments(["tab:linear", "fig:dp"])]
    ['fig:dp', 'tab:linear']
    """
    for name in names:
        if name not in CATALOGUE:
            hint = did_you_mean(name, CATALOGUE, 0.4)
            raise ValueError(
                f"{name!r} is not an experiment.{hint} The experiments are: {', '.join(CATALOGUE)}."
            )
    return [experiment for name, experiment in CATALOGUE.items() if not names or name in names]


def _print_list(console: Console) -> None:
    table = Table(Column("name", no_wrap=True), "title", "in the paper", box=None)
    for experiment in CATALOGUE.values():
        table.add_row(experiment.name, experiment.title, experiment.paper or "(ours)")
    console.print(table)


def _run(plan: Plan, jobs: int | None, console: Console) -> list[str]:
    pending, total = plan.pending(), len(plan.tasks())
    if len(pending) < total:
        console.print(f"{total - len(pending)} of {total} results are cached from an earlier run.")
    with _progress(pending, console) as advance:
        return plan.run(jobs, advance)


@contextmanager
def _progress(pending: Sequence[Task], console: Console) -> Iterator[Callable[[Task], None]]:
    """Progress with the remaining time: a bar on a terminal, otherwise a line every 10 %."""
    cost = sum(task.experiment.cost for task in pending)
    columns = (
        TextColumn("{task.description:<20}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_interactive) as bar:
        bar_task, start = bar.add_task("starting", total=cost), time.monotonic()
        done, printed_tenths = 0.0, 0

        def advance(task: Task) -> None:
            nonlocal done, printed_tenths
            done += task.experiment.cost
            bar.update(bar_task, advance=task.experiment.cost, description=task.experiment.name)
            tenths = int(10 * done / cost + 1e-9)
            if not console.is_interactive and tenths > printed_tenths:
                printed_tenths, elapsed = tenths, time.monotonic() - start
                left = elapsed * (cost - done) / done
                console.print(f"{10 * tenths} % after {elapsed:.0f} s, about {left:.0f} s left")

        yield advance


def _publish(plan: Plan, out: Path, quick: bool, console: Console) -> None:
    """Write the page with every complete experiment in the folder, earlier runs included."""
    console.print("Writing the page")
    everything = Plan.make(list(CATALOGUE.values()), plan.store.folder, plan.trials)
    command = "python -m reproduction --quick" if quick else "python -m reproduction"
    publication = publish(everything, out, command)
    within, outside = (publication.count_cells(status) for status in ("within", "outside"))
    few = f" ({plan.trials} of {TRIALS} trials)" if plan.trials < TRIALS else ""
    if within + outside:
        numbers = (
            f"For {within} of {within + outside} printed numbers, ours lies within the paper's ±"
        )
        console.print(f"{numbers}{few}.", highlight=False)
    for kind, verb in (("proved", "proves"), ("observed", "reports")):
        answers = publication.statements(kind).values()
        if answers:
            held = sum(answer is True for answer in answers)
            statements = f"{held} of {len(answers)} statements hold{few}"
            console.print(f"Of what the paper {verb}, {statements}.", highlight=False)
    for line in publication.substitutes:
        console.print(line, style="yellow", markup=False, highlight=False, soft_wrap=True)
    print(publication.path)


def _make_folder(out: Path) -> None:
    """Create the folder and its cache, or fail before anything is computed."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {str(out)!r} is a file. Pass a folder; it need not exist yet.")
    (out / "cache").mkdir(parents=True, exist_ok=True)
    if not os.access(out / "cache", os.W_OK):
        raise ValueError(f"--out {str(out)!r} is not writable. Pass another folder.")
