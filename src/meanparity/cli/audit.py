"""``meanparity audit``: what outcomes, or predictions of any model, say about groups."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from meanparity.audit import audit as compare_groups
from meanparity.cli.options import (
    Control,
    Data,
    Json,
    Missing,
    MissingCells,
    Sensitive,
    Weight,
    names,
    show,
    working,
)
from meanparity.tabular import Roles, read_table

NOT_SHOWN = 3  # exit status: gaps are not shown to be within what was asked


def audit(
    data: Data,
    target: Annotated[str | None, typer.Option(help="The column with the outcome.")] = None,
    sensitive: Sensitive = [],  # noqa: B006
    control: Control = None,
    prediction: Annotated[
        str | None, typer.Option(help="The column with a model's predictions.")
    ] = None,
    weight: Weight = None,
    within: Annotated[
        float | None,
        typer.Option(help="A harmless gap: status 3 unless all are shown to be within ± this."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    missing: Missing = MissingCells.error,
    json: Json = False,
) -> None:
    """Compare the mean outcome, or prediction, of every group with that of all.

    Examples
    --------
    - `meanparity audit people.csv --target salary --sensitive sex,race`

    - `meanparity audit scored.parquet --prediction score --sensitive sex --within 0.02`

    Exit status: 0; 1 if something is wrong with the data; 2 with the command; 3 if --within was
    asked for and not shown for every group.
    """
    if target is None and prediction is None:
        raise ValueError("Name the outcome with --target, or predictions with --prediction.")
    if not names(sensitive):
        raise ValueError("Name the sensitive columns with --sensitive.")
    with working():
        roles = Roles(target, names(sensitive), names(control), weight)
        wanted = [target, prediction, weight, *roles.sensitive, *roles.control]
        frame = read_table(data, [column for column in wanted if column is not None])
        roles.check(frame, data.name)
        if prediction is not None:
            Roles(prediction, ()).check(frame, data.name)
        values = roles.numbers(frame, str(prediction or target))
        y = None if prediction is None or target is None else roles.numbers(frame, target)
        keep = np.isfinite(values) & (True if y is None else np.isfinite(y))
        who = [*roles.sensitive, *roles.control]
        if missing == "ignore":
            keep &= frame[who].notna().all(axis=1).to_numpy()
        elif missing == "error":
            _refuse_missing(frame, keep, roles)
        frame, values, y = frame[keep], values[keep], None if y is None else y[keep]
        if missing == "group":
            known = {name: frame[name].astype(object) for name in who}
            frame = frame.assign(
                **{name: column.where(column.notna(), "(empty)") for name, column in known.items()}
            )
        people: dict[str, Any] = roles.people(frame)
        found = compare_groups(
            values,
            y_true=y,
            confidence=confidence,
            within=within,
            **people,
        )
    left_out = int((~keep).sum())
    what = f"{'Predictions' if prediction else 'Outcomes'}: {prediction or target}"
    text = f"{what}\n\n{found}"
    text += f"\n{left_out:,} rows with empty cells were left out." if left_out else ""
    import json as json_module

    show(text, json_module.loads(found.to_json()) | {"rows_left_out": left_out}, json)
    if within is not None and not all(finding.equivalent for finding in found.findings):
        raise typer.Exit(NOT_SHOWN)


def _refuse_missing(frame: Any, keep: Any, roles: Roles) -> None:
    for column in (*roles.sensitive, *roles.control):
        empty = frame[column].isna() & keep
        if empty.any():
            raise ValueError(
                f"The column {column!r} has {int(empty.sum()):,} empty cells, the first in row "
                f"{int(empty.idxmax()) + 1}. Fill them, or pass --missing ignore or group."
            )
