"""``meanparity datasets``: the bundled tables, as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meanparity.cli.options import Json, check_can_write, show
from meanparity.datasets import load_adult, load_communities_crime
from meanparity.exceptions import did_you_mean
from meanparity.tabular import check_output, write_table

LOADERS = {"adult": load_adult, "communities": load_communities_crime}


def datasets(
    name: Annotated[str | None, typer.Argument(help="Which one; all are listed without.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write it to this file.")
    ] = None,
    json: Json = False,
) -> None:
    """List the bundled tables, or write one to a file.

    Examples
    --------
    - `meanparity datasets`

    - `meanparity datasets adult -o adult.csv`
    """
    if name is not None and name not in LOADERS:
        hint = did_you_mean(name, LOADERS, 0.4)
        raise ValueError(f"There is no table {name!r}.{hint} There are: {', '.join(LOADERS)}.")
    if output is not None and name is None:
        raise ValueError("Name the table to write, as in: meanparity datasets adult -o adult.csv")
    check_can_write(output)
    found = {}
    for key in [name] if name else LOADERS:
        bunch = LOADERS[key](as_frame=True)
        found[key] = {
            "rows": len(bunch.frame),
            "columns": len(bunch.frame.columns),
            "target": bunch.target_names[0],
            "sensitive": list(bunch.sensitive_names),
        }
        if name is not None and output is not None:
            check_output(output)
            write_table(bunch.frame, output)
            found[key]["output"] = str(output)
    lines = [
        f"{key}: {facts['rows']:,} rows, {facts['columns']} columns; target {facts['target']!r}, "
        f"sensitive {', '.join(facts['sensitive'])}" + (f"\n{output}" if output else "")
        for key, facts in found.items()
    ]
    show("\n".join(lines), found, json)
