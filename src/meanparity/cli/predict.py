"""``meanparity predict``: score the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from meanparity.cli import options
from meanparity.cli._typer import typer


def predict(
    model: Annotated[Path, typer.Argument(help="Model file written by meanparity fit.")],
    data: options.Data,
    output: Annotated[Path, options.table_file("File for the rows with one more column.")],
    unfairness: Annotated[
        float | None,
        typer.Option(
            help="Share of the unconstrained gaps to allow, from 0 to 1. By default that of the "
            "model, which is the only possible one for a minimal model file."
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Score the rows of a file with a saved model.

    The unfairness can still be changed, because the model file contains the constrained and the
    unconstrained model, unless it was written with --minimal.

    Examples
    --------
    meanparity predict model.meanparity new.csv -o scored.parquet
    meanparity predict model.meanparity new.csv -o scored.csv --unfairness 0.2
    """
    from meanparity.persistence import read
    from meanparity.tables import score_file

    options.check_can_write(output, inputs=(model, data))
    with options.working() as progress:
        saved = read(model)
        progress("predicting")
        rows = score_file(saved, data, output, unfairness=unfairness)
    column = f"predicted {saved.about['target']}"
    used = saved.about["unfairness"] if unfairness is None else unfairness
    result = {"output": str(output), "rows": rows, "column": column, "unfairness": used}
    described = "the model as it was fitted" if used is None else f"unfairness {used:.3g}"
    text = f"{rows:,} rows with the new column {column!r} ({described}): {output}"
    options.show(text, result, json)
