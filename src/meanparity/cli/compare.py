"""``meanparity compare``: our estimators beside other methods, on the user's data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from meanparity.cli.options import (
    Data,
    Exclude,
    Ignore,
    Json,
    Seed,
    Sensitive,
    Setting,
    Target,
    TestSize,
    check_can_write,
    names,
    working,
)
from meanparity.files import draft_of
from meanparity.tabular import (
    Prepared,
    Roles,
    check_output,
    choose,
    draw,
    read_table,
    write_table,
)
from meanparity.tabular import compare as compare_methods

_MOST_GROUPS = 20


def compare(
    data: Data,
    target: Target,
    sensitive: Sensitive,
    setting: Annotated[Setting, typer.Option(help="Which methods.")] = Setting.linear,
    rows: Annotated[
        int, typer.Option(min=50, help="At most so many rows: some methods are slow.")
    ] = 2_000,
    exclude_sensitive: Exclude = False,
    ignore: Ignore = None,
    test_size: TestSize = 0.2,
    seed: Seed = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The table as a file.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="The picture, such as compare.png.")] = None,
    json: Json = False,
) -> None:
    """Fit every method of the registry to the same rows: one table and one picture.

    Examples
    --------
    - `meanparity compare people.csv --target salary --sensitive sex --plot compare.png`
    """
    check_can_write(output, plot, kept=(data,))
    if plot is not None and plot.suffix.lower() != ".png":
        raise ValueError(f"--plot {plot.name} has to end with .png.")
    if output is not None:
        check_output(output)
    roles = Roles(
        target,
        names(sensitive),
        ignored=names(ignore),
        exclude_sensitive=exclude_sensitive,
    )
    with working() as tell:
        frame = read_table(data)
        whole = len(frame)
        if whole > rows:
            frame = frame.sample(rows, random_state=seed).reset_index(drop=True)
        for column in roles.sensitive:
            if column in frame.columns and frame[column].nunique() > _MOST_GROUPS:
                raise ValueError(
                    f"The column {column!r} has {frame[column].nunique()} different values, but "
                    "these methods compare groups. Cut it into bands."
                )
        prepared = Prepared.of(frame, roles, test_size=test_size, seed=seed)
        train = prepared.train
        X, y, people = prepared.X[train], prepared.y[train], prepared.people["train"]
        estimator, _ = choose(X, y, people, setting.value, seed, {})
        found, curve = compare_methods(prepared, estimator, setting=setting.value, tell=tell)
        if output is not None:
            write_table(found, output)
        if plot is not None:
            with draft_of(plot) as draft:
                draw(found, curve, draft, target)
    if json:
        # pandas writes null for what is not finite
        options = {"indent": 1, "force_ascii": False, "double_precision": 15}
        typer.echo(found.to_json(orient="records", **options))
        return
    _print(found)
    used = min(rows, whole)
    typer.echo(f"\n{used:,} of {whole:,} rows. Methods: docs/baselines.md, and the file of -o.")
    for path in (output, plot):
        if path is not None:
            typer.echo(str(path))


def _print(found: Any) -> None:
    table = Table(box=None, pad_edge=False)
    shown = [column for column in found.columns if column != "what it does"]
    for column in shown:
        left = column == "method"
        table.add_column(column, justify="left" if left else "right", no_wrap=left)
    for line in found.to_dict("records"):
        table.add_row(*(line[c] if c == "method" else f"{line[c]:.4g}" for c in shown))
    Console().print(table)
