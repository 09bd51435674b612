"""``meanparity predict``: score the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meanparity.cli.options import Json, check_can_write, show, working
from meanparity.persistence import read
from meanparity.tabular import check_output, score_file


def predict(
    model: Annotated[Path, typer.Argument(help="A file that meanparity fit wrote.")],
    data: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or Feather file.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Where: the rows with one more column.")
    ],
    unfairness: Annotated[
        float | None, typer.Option(help="Turn the dial: 0 is parity, 1 is unconstrained.")
    ] = None,
    json: Json = False,
) -> None:
    """Predict the rows of a file with a saved model; the dial can still be turned.

    Examples
    --------
    - `meanparity predict model.skops new.csv -o scored.parquet`

    - `meanparity predict model.skops new.csv -o scored.csv --unfairness 0.2`
    """
    check_can_write(output, kept=(model, data))
    check_output(output)
    with working() as tell:
        saved = read(model)
        tell("predicting")
        rows = score_file(saved, data, output, unfairness=unfairness)
    column = f"predicted {saved.about['target']}"
    dial = saved.about["unfairness"] if unfairness is None else unfairness
    data_out = {"output": str(output), "rows": rows, "column": column, "unfairness": dial}
    show(f"{rows:,} rows with {column!r}, dial at {dial:.3g}: {output}", data_out, json)
