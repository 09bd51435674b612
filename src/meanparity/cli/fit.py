"""``meanparity fit``: from a table to a model file and a report."""

from __future__ import annotations

import datetime
import platform
import shlex
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

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
    names,
    show,
    working,
)
from meanparity.persistence import save
from meanparity.report import Report
from meanparity.report.words import mean_squared_error, verdict
from meanparity.tabular import (
    Roles,
    TableModel,
    fingerprint,
    fit_file,
    fit_table,
    is_large,
    read_table,
)


def fit(
    data: Data,
    target: Target,
    sensitive: Sensitive,
    control: Control = None,
    pool: Annotated[
        Path | None, typer.Option(help="People to be scored: parity holds on them as well.")
    ] = None,
    max_gap: Annotated[
        float | None, typer.Option(help="The largest gap that is allowed, in units of the target.")
    ] = None,
    unfairness: Annotated[
        float, typer.Option(help="The dial: 0 is parity, 1 is unconstrained.")
    ] = 0.0,
    model: Model = ModelKind.auto,
    exclude_sensitive: Exclude = False,
    weight: Weight = None,
    ignore: Ignore = None,
    missing: Missing = MissingCells.error,
    test_size: TestSize = 0.2,
    seed: Seed = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The model file, such as model.skops.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="The page about it, such as report.html.")
    ] = None,
    json: Json = False,
) -> None:
    """Fit a model whose mean prediction is the same in every group, and audit it.

    Splits the rows, chooses penalty and kernel on the training rows, fits, and looks at training
    rows, held-out rows and the pool. The model file holds the fits with and without the constraint.

    Examples
    --------
    - `meanparity fit people.csv --target salary --sensitive sex,race --report report.html`

    - `meanparity fit people.csv --target salary --sensitive sex --control grade --max-gap 500`

    - `meanparity fit people.csv --target salary --sensitive sex --pool next.csv -o model.skops`
    """
    if max_gap is not None and unfairness:
        raise ValueError("Pass --max-gap or --unfairness, not both: each sets the dial.")
    check_can_write(output, report, kept=(data, pool))
    roles = Roles(
        target, names(sensitive), names(control), weight, names(ignore), exclude_sensitive
    )
    if not roles.sensitive:
        raise ValueError("Name the sensitive columns with --sensitive.")
    with working() as tell:
        people = None if pool is None else read_table(pool)
        fit_rows, rows = (fit_file, data) if is_large(data) else (fit_table, read_table(data))
        fitted = fit_rows(
            rows,
            roles,
            pool=people,
            model=model.value,
            unfairness=unfairness,
            max_gap=max_gap,
            missing=missing.value,
            test_size=test_size,
            seed=seed,
            tell=tell,
        )
        page = fitted.report(_facts(data, pool, fitted))
        if output is not None:
            tell("saving the model")
            save(fitted.pipeline, output, about=_about(data, fitted))
        if report is not None:
            tell("writing the report")
            page.save(report)
    show(_text(page, fitted, output, report), _data(page, fitted, output, report), json)


def _facts(data: Path, pool: Path | None, fitted: TableModel) -> dict[str, str]:
    n = sum(len(part.fair) for part in fitted.parts if part.y is not None) + fitted.n_dropped
    facts = {
        "data": f"{data.name}, {n:,} rows, SHA-256 {fingerprint(data)}",
        "rows without a target": f"{fitted.n_dropped:,}, left out",
    }
    if not fitted.n_dropped:
        facts.pop("rows without a target")
    if pool is not None:
        facts["pool"] = f"{pool.name}, SHA-256 {fingerprint(pool)}"
    roles = fitted.roles
    words = "no features" if roles.exclude_sensitive else "features as well"
    facts["sensitive columns"] = f"{', '.join(roles.sensitive)} ({words})"
    if roles.control:
        facts["control columns"] = ", ".join(roles.control)
    packages = ("meanparity", "numpy", "scikit-learn", "skrub")
    facts["versions"] = ", ".join(f"{name} {version(name)}" for name in packages)
    facts["versions"] += f", Python {platform.python_version()}"
    facts["date"] = datetime.date.today().isoformat()
    facts["command"] = shlex.join(["meanparity", *sys.argv[1:]])
    return facts


def _about(data: Path, fitted: TableModel) -> dict[str, Any]:
    roles = fitted.roles
    return {
        "target": str(roles.target),
        "sensitive": list(roles.sensitive),
        "control": list(roles.control),
        "columns": list(fitted.columns),
        "kinds": fitted.kinds,
        "categories": fitted.categories,
        "model": fitted.chosen,
        "unfairness": float(fitted.estimator.unfairness_),
        "data": data.name,
        "sha256": fingerprint(data),
    }


def _text(page: Report, fitted: TableModel, output: Path | None, report: Path | None) -> str:
    lines = [f"Model: {fitted.chosen}."]
    if fitted.n_dropped:
        lines.append(f"{fitted.n_dropped:,} rows without {page.target} were left out.")
    lines.append("")
    lines += verdict(page.summaries, page.target, page.position)
    for summary in page.summaries:
        if not summary.part.constrained:
            lines += ["", f"{summary.part.name.capitalize()}:", str(summary.after)]
    lines += [""] if output or report else []
    lines += [f"Model file: {output}"] if output else []
    lines += [f"Report: {report}"] if report else []
    return "\n".join(lines)


def _data(page: Report, fitted: TableModel, output: Path | None, report: Path | None) -> Any:
    import json

    parts = []
    for summary in page.summaries:
        errors, mse = summary.data["errors"], None
        if errors is not None:
            positions = {"now": page.position, "fair": 0.0, "free": 1.0}
            mse = {name: mean_squared_error(errors, u) for name, u in positions.items()}
        parts.append(
            {
                "rows": summary.part.name,
                "n": len(summary.part.fair),
                "constrained": summary.part.constrained,
                "mse": mse,
                "before": json.loads(summary.before.to_json()),
                "after": json.loads(summary.after.to_json()),
            }
        )
    return {
        "model": fitted.chosen,
        "unfairness": page.position,
        "verdict": verdict(page.summaries, page.target, page.position),
        "parts": parts,
        "output": None if output is None else str(output),
        "report": None if report is None else str(report),
    }
