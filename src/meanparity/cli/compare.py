"""``meanparity compare``: compare this package with other methods on the user's data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from meanparity.cli import options
from meanparity.cli._typer import typer


def compare(
    data: options.Data,
    target: options.Target,
    sensitive: options.Sensitive,
    setting: Annotated[
        options.Setting, typer.Option(help="Compare linear or kernel methods.")
    ] = options.Setting.linear,
    rows: Annotated[
        int, typer.Option(min=50, help="Largest number of rows to use. Some methods are slow.")
    ] = 2_000,
    exclude_sensitive: options.Exclude = False,
    ignore: options.Ignore = None,
    test_size: options.TestSize = 0.2,
    seed: options.Seed = 0,
    output: Annotated[Path | None, options.table_file("File for the table of results.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="PNG file for a plot, such as compare.png.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Fit this package's model and all other methods to the same rows, and compare them.

    Examples
    --------
    meanparity compare people.csv --target salary --sensitive sex --plot compare.png
    """
    from meanparity.files import draft_of
    from meanparity.tables import (
        Roles,
        compare_methods,
        plot_comparison,
        read_frame,
        write_frame,
    )

    options.check_can_write(output, plot, inputs=(data,))
    if plot is not None and plot.suffix.lower() != ".png":
        raise ValueError(f"--plot {plot.name} is not a PNG file. Name a file that ends with .png.")
    roles = Roles(target, sensitive, (), None, ignore or (), exclude_sensitive)
    with options.working() as progress:
        frame = read_frame(data, as_written=roles.groups)
        n_rows = len(frame)
        if n_rows > rows:
            frame = frame.sample(rows, random_state=seed)
        results, curve = compare_methods(
            frame, roles, setting=setting.value, test_size=test_size, seed=seed, progress=progress
        )
        if output is not None:
            write_frame(results, output)
        if plot is not None:
            with draft_of(plot) as draft:
                plot_comparison(results, curve, draft, target)
    if json:
        # pandas writes null for infinite numbers
        layout = {"indent": 1, "force_ascii": False, "double_precision": 15}
        typer.echo(results.to_json(orient="records", **layout))
        return
    shown = results.drop(columns="description").set_index("method")
    from rich.console import Console
    from rich.table import Column, Table

    headers = [Column(name, justify="right") for name in shown.columns]
    table = Table(Column("method", no_wrap=True), *headers, box=None, pad_edge=False)
    for method, *numbers in shown.itertuples():
        table.add_row(method, *(f"{number:.4g}" for number in numbers))
    Console().print(table)
    typer.echo(
        f"\n{min(rows, n_rows):,} of {n_rows:,} rows. A gap is the difference between a group's "
        "mean prediction and the overall mean. The methods are described in docs/baselines.md."
    )
    for path in (output, plot):
        if path is not None:
            typer.echo(str(path))
