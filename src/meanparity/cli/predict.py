"""``meanparity predict``: score the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from meanparity.cli import options
from meanparity.cli._typer import typer


def predict(
    model: Annotated[
        Path,
        typer.Argument(
            help="Model file written by meanparity fit.", metavar="MODEL", show_default=False
        ),
    ],
    data: options.Data,
    output: Annotated[
        Path,
        options.table_file(
            "File for the rows with one more column; - prints them as CSV to standard output."
        ),
    ],
    unfairness: Annotated[
        float | None,
        typer.Option(
            help="Share of the unconstrained gaps to allow, from 0 to 1. By default that of the "
            "model, which is the only possible one for a minimal model file.",
            metavar="SHARE",
            rich_help_panel=options.MODEL,
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse rows with empty or unseen sensitive and control values. Without it they "
            "are scored, and a note counts them.",
            rich_help_panel=options.ROWS,
        ),
    ] = False,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    config: options.Config = None,
) -> None:
    """Score the rows of a file with a saved model.

    The unfairness can still be changed, because the model file contains the constrained and the
    unconstrained model, unless it was written with --minimal.

    Examples
    --------
    meanparity predict model.meanparity new.csv -o scored.parquet
    meanparity predict model.meanparity new.csv -o scored.csv --unfairness 0.2
    zcat new.csv.gz | meanparity predict model.meanparity - -o - --strict > scored.csv
    """
    from meanparity.persistence import read
    from meanparity.tables import score_file

    options.check_standard_output(output, json)
    options.check_can_write(output, inputs=(model, data))
    layout = options.layout(delimiter, decimal, encoding)
    with (
        options.working(predict, quiet) as progress,
        options.local_file(data) as file,
        options.written_file(output) as scored,
    ):
        saved = read(model)
        progress("predicting")
        rows = score_file(saved, file, scored, unfairness=unfairness, strict=strict, layout=layout)
    column = f"predicted {saved.about['target']}"
    used = saved.about["unfairness"] if unfairness is None else unfairness
    result = {"output": str(output), "rows": rows, "column": column, "unfairness": used}
    described = "the model as it was fitted" if used is None else f"unfairness {used:.3g}"
    to_stdout = output == options.STANDARD
    where = "standard output" if to_stdout else output
    text = f"{rows:,} rows with the new column {column!r} ({described}): {where}"
    if not (quiet and to_stdout):
        options.show(text, result, json, to_stderr=to_stdout)
