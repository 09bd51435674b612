"""``meanparity audit``: compare the mean outcome or prediction of groups."""

from __future__ import annotations

import json as json_module
from typing import Annotated

from meanparity.cli import options
from meanparity.cli._typer import typer

_NOT_EQUIVALENT = 3  # exit status


def audit(
    data: options.Data,
    sensitive: options.Sensitive,
    target: Annotated[str | None, typer.Option(help="Numeric outcome column.")] = None,
    control: options.Control = None,
    prediction: Annotated[
        str | None, typer.Option(help="Column with the predictions of any model.")
    ] = None,
    weight: options.Weight = None,
    within: Annotated[
        float | None,
        typer.Option(
            help="Largest gap that would be negligible. The exit status is 3 unless every gap is "
            "shown to be within ± this value."
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option(help="Confidence level of the intervals and of --within.")
    ] = 0.95,
    missing: options.Missing = options.MissingCells.error,
    json: options.Json = False,
) -> None:
    """Compare the mean outcome or prediction of every group with the overall mean.

    Rows without an outcome or prediction are left out.

    The exit status is 0 on success; 1 if something is wrong with the data; 2 if something is wrong
    with the command; 3 if --within was given and a gap was not shown to be within it.

    Examples
    --------
    meanparity audit people.csv --target salary --sensitive sex,race
    meanparity audit scored.parquet --prediction score --sensitive sex --within 0.02
    """
    import numpy as np

    from meanparity.audit import audit as audit_values
    from meanparity.tables import Roles, read_frame

    if target is None and prediction is None:
        raise ValueError("Name the outcome with --target, or predictions with --prediction.")
    roles = Roles(target, sensitive, control or (), weight)
    with options.working():
        group_columns = roles.groups
        used = [target, prediction, weight, *group_columns]
        needed = [column for column in used if column is not None]
        frame = read_frame(data, needed, as_written=group_columns)
        roles.check(frame, data.name)
        if prediction is not None:
            Roles(prediction, ()).check(frame, data.name)
        values = roles.numbers(frame, str(prediction or target))
        y = roles.numbers(frame, target) if prediction and target else None
        keep = np.isfinite(values) & (True if y is None else np.isfinite(y))
        if missing == "error":
            roles.refuse_empty_cells(frame, keep)
        elif missing == "ignore":
            keep &= frame[group_columns].notna().all(axis=1).to_numpy()
        else:
            cells = frame[group_columns].astype(object)
            frame = frame.assign(**cells.where(cells.notna(), "(empty)"))
        found = audit_values(
            values[keep],
            y_true=None if y is None else y[keep],
            confidence=confidence,
            within=within,
            **roles.metadata(frame[keep]),
        )
    left_out = int((~keep).sum())
    text = f"{'Predictions' if prediction else 'Outcomes'}: {prediction or target}\n\n{found}"
    text += f"\n{left_out:,} rows with empty cells were left out." if left_out else ""
    options.show(text, json_module.loads(found.to_json()) | {"rows_left_out": left_out}, json)
    if within is not None and not all(finding.equivalent for finding in found.findings):
        raise typer.Exit(_NOT_EQUIVALENT)
