"""``meanparity fit``: from a table to a model file and a report."""

from __future__ import annotations

import datetime
import json as json_module
import platform
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from meanparity.cli import options
from meanparity.cli._typer import typer

if TYPE_CHECKING:
    from meanparity._typing import MissingValues
    from meanparity.report import Report
    from meanparity.tables import TableModel
    from meanparity.tradeoff.budgets import Kind


def fit(
    data: options.Data,
    target: options.Target,
    sensitive: options.Sensitive,
    control: options.Control = None,
    numeric: options.Numeric = None,
    categorical: options.Categorical = None,
    exclude_sensitive: options.Exclude = False,
    weight: options.Weight = None,
    ignore: options.Ignore = None,
    missing: options.Missing = options.MissingCells.error,
    test_size: options.TestSize = 0.2,
    seed: options.Seed = 0,
    pool: Annotated[
        Path | None,
        typer.Option(
            help="File of rows to be scored, on which the constraint holds as well.",
            metavar="FILE",
            rich_help_panel=options.ROWS,
        ),
    ] = None,
    model: options.Model = options.ModelKind.auto,
    loss: Annotated[
        options.Loss,
        typer.Option(
            help="What is minimised. 'auto' recognises outcomes of 0 and 1 (logistic), counts "
            "(poisson) and positive amounts with a long tail (gamma), and takes this loss if its "
            "squared error on left-out rows is smaller. Predictions are then probabilities or "
            "positive numbers.",
            rich_help_panel=options.MODEL,
        ),
    ] = options.Loss.auto,
    max_gap: Annotated[
        float | None,
        typer.Option(
            help="Largest gap to allow between a group's mean prediction and the overall mean, in "
            "the units of the target.",
            metavar="GAP",
            rich_help_panel=options.MODEL,
        ),
    ] = None,
    unfairness: Annotated[
        float,
        typer.Option(
            help="Share of the unconstrained gaps to allow: 0 enforces equal means, 1 drops the "
            "constraint.",
            metavar="SHARE",
            rich_help_panel=options.MODEL,
        ),
    ] = 0.0,
    degree: Annotated[
        int,
        typer.Option(
            min=1,
            max=10,
            metavar="NUMBER",
            help="For sensitive numbers: zero covariance with all powers up to this one.",
            rich_help_panel=options.MODEL,
        ),
    ] = 1,
    min_group_size: Annotated[
        int,
        typer.Option(
            min=1,
            help="Groups of fewer rows cause a note.",
            metavar="ROWS",
            rich_help_panel=options.MODEL,
        ),
    ] = 10,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    output: Annotated[
        Path | None,
        options.file_of_kind(
            "--output",
            ".meanparity",
            short="-o",
            what="a model file",
            help_text="Model file, such as model.meanparity.",
        ),
    ] = None,
    minimal: Annotated[
        bool,
        typer.Option(
            "--minimal",
            help="Save only what predicting needs: no results about groups, and one model, so that "
            "meanparity predict cannot change the unfairness.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = False,
    report: Annotated[
        Path | None,
        options.file_of_kind(
            "--report",
            ".html",
            ".htm",
            what="an HTML file",
            help_text="HTML file for the report, such as report.html.",
        ),
    ] = None,
    frontier: Annotated[
        options.Budget | None,
        typer.Option(
            help="What the slider of the report limits: the largest gap, the sum of gaps (smd), or "
            "the root of the sum of their squares (norm). By default the largest gap with "
            "--max-gap and a squared error, and otherwise a share of every gap.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    min_cell: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="PEOPLE",
            help="Smallest number of people about whom results are shown. Smaller groups are "
            "merged; bars and shares of fewer people are left out of the report.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = 1,
    json: options.Json = False,
    quiet: options.Quiet = False,
    config: options.Config = None,
) -> None:
    """Fit a model whose mean prediction is the same in every group, and audit it.

    The command holds out some rows, selects penalty and kernel on the others, fits the model, and
    audits training rows, held-out rows and the pool. The model file contains the constrained and
    the unconstrained model, unless --minimal is given.

    Examples
    --------
    meanparity fit people.csv --target salary --sensitive sex,race --report report.html
    meanparity fit people.csv --target salary --sensitive sex --control grade --max-gap 500
    meanparity fit people.csv --target salary --sensitive sex --pool next.csv -o m.meanparity
    """
    from meanparity.persistence import describe_rows, save
    from meanparity.tables import Roles, fit_table
    from meanparity.tables.reading import file_sha256

    if max_gap is not None and unfairness:
        raise ValueError(
            f"--max-gap {max_gap:g} and --unfairness {unfairness:g} both limit the gaps. Pass one "
            "of them, not both."
        )
    if minimal and output is None:
        raise ValueError("--minimal applies to the model file. Name a file with -o.")
    options.check_can_write(output, report, inputs=(data, pool))
    roles = Roles(
        target,
        sensitive,
        control or (),
        weight,
        ignore or (),
        exclude_sensitive,
        numeric or (),
        categorical or (),
    )
    if pool == options.STANDARD:
        raise ValueError("The pool cannot be read from standard input. Name a file.")
    layout = options.layout(delimiter, decimal, encoding)
    with (
        options.working(fit, quiet, brief=min_cell > 1) as progress,
        options.local_file(data) as file,
    ):
        fitted = fit_table(
            file,
            roles,
            pool=pool,
            model=model.value,
            unfairness=unfairness,
            max_gap=max_gap,
            budget=None if frontier is None else cast("Kind", frontier.value),
            loss=loss.value,
            missing=cast("MissingValues", missing.value),
            degree=degree,
            min_group_size=min_group_size,
            layout=layout,
            test_size=test_size,
            min_cell=min_cell,
            seed=seed,
            progress=progress,
        )
        digests = {path: file_sha256(path) for path in (file, pool) if path is not None}
        facts = _facts(fitted, file, pool, digests)
        if config is not None:
            facts["options from a file"] = f"{config.name}, SHA-256 {file_sha256(config)}"
        page = fitted.report(facts, min_cell=min_cell)
        if output is not None:
            progress("saving the model")
            about = fitted.about()
            if not minimal:
                about |= {"data": file.name, "sha256": digests[file]}
            save(fitted.pipeline, output, about=about, minimal=minimal)
        if report is not None:
            progress("writing the report")
            page.save(report)
    sentences = page.sentences
    lines = _as_lines(fitted, page)
    holds = "" if output is None else describe_rows(fitted.pipeline, minimal=minimal)
    if holds:
        lines += ["", f"{holds} See docs/privacy.md."]
    written = {"Model file": output, "Report": report}
    if output or report:
        lines += ["", *(f"{name}: {path}" for name, path in written.items() if path)]
    found = _as_data(fitted, page, sentences)
    found |= {"output": output, "report": report, "rows_in_model_file": holds}
    options.show("\n".join(lines), found, json)


def _facts(
    fitted: TableModel, data: Path, pool: Path | None, digests: dict[Path, str]
) -> dict[str, str]:
    """What the last section of the report says about data and software."""
    roles = fitted.table.roles
    n = sum(len(rows) for rows in fitted.row_sets if rows.y is not None) + fitted.n_dropped
    facts = {"data": f"{data.name}, {n:,} rows, SHA-256 {digests[data]}"}
    if fitted.n_dropped:
        facts["rows without a target"] = f"{fitted.n_dropped:,}, left out"
    if pool is not None:
        facts["pool"] = f"{pool.name}, SHA-256 {digests[pool]}"
    use = "not used as features" if roles.exclude_sensitive else "also used as features"
    facts["sensitive columns"] = f"{', '.join(roles.sensitive)} ({use})"
    if roles.control:
        facts["control columns"] = ", ".join(roles.control)
    packages = ("meanparity", "numpy", "scikit-learn", "skrub")
    from importlib.metadata import version

    versions = [f"{name} {version(name)}" for name in packages]
    facts["versions"] = ", ".join([*versions, f"Python {platform.python_version()}"])
    facts["date"] = datetime.date.today().isoformat()
    facts["command"] = shlex.join(["meanparity", *sys.argv[1:]])
    return facts


def _as_lines(fitted: TableModel, page: Report) -> list[str]:
    lines = [f"Model: {fitted.selection}."]
    if fitted.n_dropped:
        lines.append(f"{fitted.n_dropped:,} rows without {page.target} were left out.")
    lines.append(page.lead)
    for answer in page.answers:
        lines += ["", answer.question, *map(str, answer.statements)]
    for summary in page.summaries:
        if not summary.predicted.constrained:
            lines += ["", f"{summary.predicted.name.capitalize()}:", str(summary.after)]
    return lines


def _as_data(fitted: TableModel, page: Report, verdict: list[str]) -> dict[str, Any]:
    slider = page.slider
    models = {"now": slider.model, "fair": slider.weights[0], "free": slider.weights[-1]}
    parts = []
    for summary in page.summaries:
        parts.append(
            {
                "rows": summary.predicted.name,
                "n": len(summary.predicted),
                "constrained": summary.predicted.constrained,
                "mse": None
                if summary.predicted.y is None
                else {name: summary.mean_squared_error(w) for name, w in models.items()},
                "before": json_module.loads(summary.before.to_json()),
                "after": json_module.loads(summary.after.to_json()),
            }
        )
    return {
        "model": fitted.selection,
        "unfairness": fitted.estimator.unfairness_,
        "constraint": page.constraint,
        "verdict": verdict,
        "parts": parts,
    }
