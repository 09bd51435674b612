"""``meanparity datasets``: write the bundled tables to files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from meanparity.cli import options
from meanparity.cli._typer import typer
from meanparity.exceptions import did_you_mean


def datasets(
    name: Annotated[
        str | None, typer.Argument(help="Name of a table. Without a name, all are listed.")
    ] = None,
    output: Annotated[
        Path | None, options.table_file("File to write the table to; - prints it as CSV.")
    ] = None,
    json: options.Json = False,
) -> None:
    """List the bundled tables, or write one of them to a file.

    Examples
    --------
    meanparity datasets
    meanparity datasets adult -o adult.csv
    """
    from meanparity.datasets import load_adult, load_communities_crime
    from meanparity.tables import write_frame

    loaders: dict[str, Callable[..., Any]] = {
        "adult": load_adult,
        "communities": load_communities_crime,
    }
    if name is not None and name not in loaders:
        hint = did_you_mean(name, loaders, 0.4)
        raise ValueError(f"There is no table {name!r}.{hint} The tables are: {', '.join(loaders)}.")
    if output is not None and name is None:
        raise ValueError("Name the table to write, as in: meanparity datasets adult -o adult.csv")
    options.check_standard_output(output, json)
    options.check_can_write(output)
    found, lines = {}, []
    for key in [name] if name else loaders:
        bunch = loaders[key](as_frame=True)
        facts = {
            "rows": len(bunch.frame),
            "columns": len(bunch.frame.columns),
            "target": bunch.target_names[0],
            "sensitive": list(bunch.sensitive_names),
        }
        lines.append(
            f"{key}: {facts['rows']:,} rows, {facts['columns']} columns; target "
            f"{facts['target']!r}, sensitive columns {', '.join(facts['sensitive'])}"
        )
        if output is not None:
            with options.written_file(output) as file:
                write_frame(bunch.frame, file)
            facts["output"] = str(output)
            lines.append(str(output))
        found[key] = facts
    if output != options.STANDARD:
        options.show("\n".join(lines), found, json)
