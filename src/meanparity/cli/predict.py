"""``meanparity predict``: score the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meanparity.cli.options import Data, Json, check_can_write, show, working


def predict(
    model: Annotated[Path, typer.Argument(help="Model file written by meanparity fit.")],
    data: Data,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="File for the rows with one more column."),
    ],
    unfairness: Annotated[
        float | None,
        typer.Option(
            help="Share of the unconstrained gaps to allow, from 0 to 1. By default that of the "
            "model."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Score the rows of a file with a saved model.

    The unfairness can still be changed, because the model file contains the constrained and the
    unconstrained model.

    Examples
    --------
    - `meanparity predict model.meanparity new.csv -o scored.parquet`

    - `meanparity predict model.meanparity new.csv -o scored.csv --unfairness 0.2`
    """
    from meanparity.persistence import read
    from meanparity.tables import score_file
    from meanparity.tables.reading import file_format

    check_can_write(output, inputs=(model, data))
    file_format(output)
    with working() as progress:
        saved = read(model)
        progress("predicting")
        rows = score_file(saved, data, output, unfairness=unfairness)
    column = f"predicted {saved.about['target']}"
    used = saved.about["unfairness"] if unfairness is None else unfairness
    result = {"output": str(output), "rows": rows, "column": column, "unfairness": used}
    text = f"{rows:,} rows with the new column {column!r} (unfairness {used:.3g}): {output}"
    show(text, result, json)
