"""``meanparity compare``: compare this package with other methods on the user's data."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Annotated, Any

from meanparity.cli import options
from meanparity.cli._typer import typer


def compare(
    data: options.Data,
    target: options.Target,
    sensitive: options.Sensitive,
    control: options.Control = None,
    exclude_sensitive: options.Exclude = False,
    ignore: options.Ignore = None,
    setting: Annotated[
        options.Setting,
        typer.Option(help="Compare linear or kernel methods.", rich_help_panel=options.MODEL),
    ] = options.Setting.linear,
    rows: Annotated[
        int,
        typer.Option(
            min=50,
            help="Largest number of rows to use. Some methods are slow.",
            metavar="NUMBER",
            rich_help_panel=options.ROWS,
        ),
    ] = 2_000,
    test_size: options.TestSize = 0.2,
    seed: options.Seed = 0,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    output: Annotated[Path | None, options.table_file("File for the table of results.")] = None,
    plot: Annotated[
        Path | None,
        options.file_of_kind(
            "--plot",
            ".png",
            what="a PNG file",
            help_text="PNG file for a plot, such as compare.png.",
        ),
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    config: options.Config = None,
) -> None:
    """Fit this package's model and all other methods to the same rows, and compare them.

    The settings of this package's model are selected on the training rows, and again for the model
    without the constraint; the other methods, and a third model of this package, have those of the
    paper. With --control, gaps are measured
    within strata; the other methods equalise them over all rows, as they have no control columns.

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

    options.check_standard_output(output, json)
    options.check_can_write(output, plot, inputs=(data,))
    roles = Roles(target, sensitive, control or (), None, ignore or (), exclude_sensitive)
    layout = options.layout(delimiter, decimal, encoding)
    with options.working(compare, quiet) as progress, options.local_file(data) as file:
        frame = read_frame(file, as_written=roles.groups, layout=layout)
        n_rows = len(frame)
        if n_rows > rows:
            frame = frame.sample(rows, random_state=seed)
        results, curve = compare_methods(
            frame, roles, setting=setting.value, test_size=test_size, seed=seed, progress=progress
        )
        if output is not None:
            with options.written_file(output) as table_file:
                write_frame(results, table_file)
        if plot is not None:
            with draft_of(plot) as draft:
                plot_comparison(results, curve, draft, target)
    if output == options.STANDARD:
        return
    if json:
        # pandas writes null for infinite numbers
        form = {"indent": 1, "force_ascii": False, "double_precision": 15}
        typer.echo(results.to_json(orient="records", **form))
        return
    used = f"{min(rows, n_rows):,} of {n_rows:,} rows"
    text = [_SETTINGS[setting], "", *_lines(results), "", _notes(used, roles.control, test_size)]
    text += [str(path) for path in (output, plot) if path is not None]
    typer.echo("\n".join(text))


_SETTINGS = {
    options.Setting.linear: (
        "Only the first two lines were tuned to this table (the penalty of each, on the\n"
        "training rows); all other lines, 'meanparity, untuned' among them, have the\n"
        "paper's settings, which were not tuned to this table: no penalty but that of\n"
        "the method itself."
    ),
    options.Setting.kernel: (
        "Only the first two lines were tuned to this table (penalty and kernel width of\n"
        "each, on the training rows); all other lines, 'meanparity, untuned' among them,\n"
        "have the paper's settings, which were not tuned to this table: an RBF kernel\n"
        "with gamma 0.1 and penalty 1, on standardised columns."
    ),
}
_ROUNDING = 1e-12  # of the largest number in a column
_COLUMNS = {
    "test MSE": ("test", "MSE"),
    "test R²": ("test", "R²"),
    "sum of gaps, training": ("gaps,", "training"),
    "sum of gaps, test": ("gaps,", "test"),
    "Wasserstein gap, test": ("W gap,", "test"),
    "seconds": ("", "seconds"),
}


def _lines(results: Any) -> list[str]:
    """The results as a table of at most 80 letters per line."""
    cells = [["", *(top for top, _ in _COLUMNS.values())]]
    cells.append(["method", *(bottom for _, bottom in _COLUMNS.values())])
    largest = results[list(_COLUMNS)].abs().max()
    for line in results.to_dict("records"):
        shown = (_number(line[name], name, largest[name]) for name in _COLUMNS)
        cells.append([line["method"], *shown])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in cells
    ]


def _number(value: float, column: str, largest: float) -> str:
    """A number in at most seven letters; what rounding leaves of zero is 0."""
    if abs(value) <= _ROUNDING * largest:
        return "0"
    if column == "test R²" and abs(value) < 100:
        return f"{value:.3f}"
    if 1e4 <= abs(value) < 1e6:
        return f"{value:.0f}"
    digits = 2 if column == "seconds" else 4
    return f"{value:.{digits}g}" if 1e-3 <= abs(value) < 1e4 else f"{value:.2g}"


def _notes(used: str, control: Any, test_size: float) -> str:
    where = f", in each stratum of {', '.join(control)}" if control else ""
    text = (
        f"{used}, of which a share of {test_size:g} is held out (test). Gaps: sum over the groups "
        f"of the distance between the group's mean prediction and the overall mean{where} (the "
        "paper's SMD). W gap: sum over the groups of the Wasserstein distance between the "
        "predictions in the group and all predictions (its DPD). docs/baselines.md describes the "
        "methods."
    )
    if control:
        text += (
            " Only the models of meanparity take control columns into account; the other methods "
            "equalise over all rows."
        )
    return "\n".join(textwrap.wrap(text, 79))
