"""``meanparity fit``: from a table to a model file and a report."""

from __future__ import annotations

import datetime
import json as json_module
import platform
import shlex
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meanparity.cli.options import (
    Control,
    Data,
    Exclude,
    Ignore,
    Json,
    Missing,
    MissingCells,
    Model,
    ModelKind,
    Seed,
    Sensitive,
    Target,
    TestSize,
    Weight,
    check_can_write,
    show,
    split_names,
    working,
)

if TYPE_CHECKING:
    from meanparity.report import Report
    from meanparity.tables import TableModel


def fit(
    data: Data,
    target: Target,
    sensitive: Sensitive,
    control: Control = None,
    pool: Annotated[
        Path | None,
        typer.Option(help="File of rows to be scored, on which the constraint holds as well."),
    ] = None,
    max_gap: Annotated[
        float | None,
        typer.Option(
            help="Largest gap to allow between a group's mean prediction and the overall mean, in "
            "the units of the target."
        ),
    ] = None,
    unfairness: Annotated[
        float,
        typer.Option(
            help="Share of the unconstrained gaps to allow: 0 enforces equal means, 1 drops the "
            "constraint."
        ),
    ] = 0.0,
    model: Model = ModelKind.auto,
    exclude_sensitive: Exclude = False,
    weight: Weight = None,
    ignore: Ignore = None,
    missing: Missing = MissingCells.error,
    test_size: TestSize = 0.2,
    seed: Seed = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Model file, such as model.meanparity.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="HTML file for the report, such as report.html.")
    ] = None,
    json: Json = False,
) -> None:
    """Fit a model whose mean prediction is the same in every group, and audit it.

    The command holds out some rows, selects penalty and kernel on the others, fits the model, and
    audits training rows, held-out rows and the pool. The model file contains the constrained and
    the unconstrained model.

    Examples
    --------
    - `meanparity fit people.csv --target salary --sensitive sex,race --report report.html`

    - `meanparity fit people.csv --target salary --sensitive sex --control grade --max-gap 500`

    - `meanparity fit people.csv --target salary --sensitive sex --pool next.csv -o model.meanparity`
    """
    from meanparity.persistence import save
    from meanparity.tables import Roles, fit_table, read_frame
    from meanparity.tables.reading import file_sha256

    if max_gap is not None and unfairness:
        raise ValueError(
            f"--max-gap {max_gap:g} and --unfairness {unfairness:g} both limit the gaps. Pass one "
            "of them, not both."
        )
    check_can_write(output, report, inputs=(data, pool))
    roles = Roles(
        target,
        split_names(sensitive),
        split_names(control),
        weight,
        split_names(ignore),
        exclude_sensitive,
    )
    if not roles.sensitive:
        raise ValueError("Name the sensitive columns with --sensitive.")
    with working() as progress:
        fitted = fit_table(
            data,
            roles,
            pool=None if pool is None else read_frame(pool),
            model=model.value,
            unfairness=unfairness,
            max_gap=max_gap,
            missing=missing.value,
            test_size=test_size,
            seed=seed,
            progress=progress,
        )
        page = fitted.report(_facts(data, pool, fitted))
        if output is not None:
            progress("saving the model")
            source = {"data": data.name, "sha256": file_sha256(data)}
            save(fitted.pipeline, output, about={**fitted.about(), **source})
        if report is not None:
            progress("writing the report")
            page.save(report)
    files = {"Model file": output, "Report": report}
    show(_as_text(page, fitted, files), _as_data(page, fitted, files), json)


def _facts(data: Path, pool: Path | None, fitted: TableModel) -> dict[str, str]:
    """What the last section of the report says about data and software."""
    from meanparity.tables.reading import file_sha256

    roles = fitted.table.roles
    n = sum(len(rows) for rows in fitted.row_sets if rows.y is not None) + fitted.n_dropped
    facts = {"data": f"{data.name}, {n:,} rows, SHA-256 {file_sha256(data)}"}
    if fitted.n_dropped:
        facts["rows without a target"] = f"{fitted.n_dropped:,}, left out"
    if pool is not None:
        facts["pool"] = f"{pool.name}, SHA-256 {file_sha256(pool)}"
    use = "not used as features" if roles.exclude_sensitive else "also used as features"
    facts["sensitive columns"] = f"{', '.join(roles.sensitive)} ({use})"
    if roles.control:
        facts["control columns"] = ", ".join(roles.control)
    packages = ("meanparity", "numpy", "scikit-learn", "skrub")
    versions = [f"{name} {version(name)}" for name in packages]
    facts["versions"] = ", ".join([*versions, f"Python {platform.python_version()}"])
    facts["date"] = datetime.date.today().isoformat()
    facts["command"] = shlex.join(["meanparity", *sys.argv[1:]])
    return facts


def _as_text(page: Report, fitted: TableModel, files: dict[str, Path | None]) -> str:
    from meanparity.report.words import verdict

    lines = [f"Model: {fitted.selection}."]
    if fitted.n_dropped:
        lines.append(f"{fitted.n_dropped:,} rows without {page.target} were left out.")
    lines += [page.lead, "", *verdict(page.summaries, page.target, page.position)]
    for summary in page.summaries:
        if not summary.predicted.constrained:
            lines += ["", f"{summary.predicted.name.capitalize()}:", str(summary.after)]
    written = [f"{name}: {path}" for name, path in files.items() if path is not None]
    return "\n".join([*lines, "", *written] if written else lines)


def _as_data(page: Report, fitted: TableModel, files: dict[str, Path | None]) -> Any:
    from meanparity.report.words import mean_squared_error, verdict

    parts = []
    for summary in page.summaries:
        errors, mse = summary.data["errors"], None
        if errors is not None:
            positions = {"now": page.position, "fair": 0.0, "free": 1.0}
            mse = {name: mean_squared_error(errors, u) for name, u in positions.items()}
        parts.append(
            {
                "rows": summary.predicted.name,
                "n": len(summary.predicted),
                "constrained": summary.predicted.constrained,
                "mse": mse,
                "before": json_module.loads(summary.before.to_json()),
                "after": json_module.loads(summary.after.to_json()),
            }
        )
    output, report = (None if path is None else str(path) for path in files.values())
    return {
        "model": fitted.selection,
        "unfairness": page.position,
        "constraint": page.constraint,
        "verdict": verdict(page.summaries, page.target, page.position),
        "parts": parts,
        "output": output,
        "report": report,
    }
