"""``meanparity compare``: compare this package with other methods on the user's data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

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
    split_names,
    working,
)

_MOST_GROUPS = 20


def compare(
    data: Data,
    target: Target,
    sensitive: Sensitive,
    setting: Annotated[
        Setting, typer.Option(help="Compare linear or kernel methods.")
    ] = Setting.linear,
    rows: Annotated[
        int, typer.Option(min=50, help="Largest number of rows to use. Some methods are slow.")
    ] = 2_000,
    exclude_sensitive: Exclude = False,
    ignore: Ignore = None,
    test_size: TestSize = 0.2,
    seed: Seed = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File for the table of results.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="PNG file for a plot, such as compare.png.")
    ] = None,
    json: Json = False,
) -> None:
    """Fit this package's model and all other methods to the same rows, and compare them.

    Examples
    --------
    - `meanparity compare people.csv --target salary --sensitive sex --plot compare.png`
    """
    from meanparity.files import draft_of
    from meanparity.tables import (
        EncodedTable,
        Roles,
        compare_methods,
        plot_comparison,
        read_frame,
        write_frame,
    )
    from meanparity.tables.reading import file_format
    from meanparity.tables.selecting import FitSettings, select_estimator

    check_can_write(output, plot, inputs=(data,))
    if plot is not None and plot.suffix.lower() != ".png":
        raise ValueError(f"--plot {plot.name} is not a PNG file. Name a file that ends with .png.")
    if output is not None:
        file_format(output)
    roles = Roles(
        target,
        split_names(sensitive),
        ignored=split_names(ignore),
        exclude_sensitive=exclude_sensitive,
    )
    with working() as progress:
        frame = read_frame(data)
        n_rows = len(frame)
        if n_rows > rows:
            frame = frame.sample(rows, random_state=seed).reset_index(drop=True)
        for column in roles.sensitive:
            if column in frame.columns and frame[column].nunique() > _MOST_GROUPS:
                raise ValueError(
                    f"The column {column!r} has {frame[column].nunique()} different values, but "
                    f"these methods compare at most {_MOST_GROUPS} groups. Divide it into bands."
                )
        table = EncodedTable.from_frame(frame, roles, test_size=test_size, seed=seed)
        settings = FitSettings(model=setting.value, seed=seed)
        estimator, _ = select_estimator(table.train, settings)
        results, curve = compare_methods(table, estimator, setting=setting.value, progress=progress)
        if output is not None:
            write_frame(results, output)
        if plot is not None:
            with draft_of(plot) as draft:
                plot_comparison(results, curve, draft, target)
    if json:
        # pandas writes null for infinite numbers
        options = {"indent": 1, "force_ascii": False, "double_precision": 15}
        typer.echo(results.to_json(orient="records", **options))
        return
    _print_results(results)
    typer.echo(
        f"\n{min(rows, n_rows):,} of {n_rows:,} rows. A gap is the difference between a group's "
        "mean prediction and the overall mean. The methods are described in docs/baselines.md."
    )
    for path in (output, plot):
        if path is not None:
            typer.echo(str(path))


def _print_results(results: Any) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    columns = [column for column in results.columns if column != "description"]
    for column in columns:
        is_name = column == "method"
        table.add_column(column, justify="left" if is_name else "right", no_wrap=is_name)
    for line in results.to_dict("records"):
        table.add_row(*(line[c] if c == "method" else f"{line[c]:.4g}" for c in columns))
    Console().print(table)
