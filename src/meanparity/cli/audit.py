"""``meanparity audit``: compare the mean outcome or prediction of groups."""

from __future__ import annotations

import json as json_module
import textwrap
from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from meanparity.cli import options
from meanparity.cli._typer import typer

if TYPE_CHECKING:
    from meanparity.audit import Audit

_NOT_EQUIVALENT = 3  # exit status
_COMPARISON = "Comparison"


class WeightKind(StrEnum):
    """What weights mean."""

    sampling = "sampling"
    counts = "counts"


def audit(
    data: options.Data,
    sensitive: options.Sensitive,
    target: Annotated[
        str | None,
        typer.Option(
            help="Numeric outcome column.", metavar="COLUMN", rich_help_panel=options.COLUMNS
        ),
    ] = None,
    prediction: Annotated[
        str | None,
        typer.Option(
            help="Column with the predictions of any model.",
            metavar="COLUMN",
            rich_help_panel=options.COLUMNS,
        ),
    ] = None,
    control: options.Control = None,
    numeric: options.Numeric = None,
    categorical: options.Categorical = None,
    weight: options.Weight = None,
    weight_kind: Annotated[
        WeightKind,
        typer.Option(
            help="sampling: each row is one person, who stands for others. counts: each row stands "
            "for as many people, all of them observed.",
            rich_help_panel=_COMPARISON,
        ),
    ] = WeightKind.sampling,
    shares: Annotated[
        str,
        typer.Option(
            help="sampled: the rows are a random sample, so the groups' shares are estimates. "
            "fixed: the shares in the data are those of interest. Or the shares themselves, such "
            "as F=0.5,M=0.5 (for one sensitive column).",
            metavar="WORD OR SHARES",
            rich_help_panel=_COMPARISON,
        ),
    ] = "sampled",
    within: Annotated[
        float | None,
        typer.Option(
            help="Largest gap that would be negligible. The exit status is 3 unless every gap is "
            "shown to be within ± this value.",
            metavar="GAP",
            rich_help_panel=_COMPARISON,
        ),
    ] = None,
    confidence: Annotated[
        float,
        typer.Option(
            help="Confidence level of the intervals and of --within.",
            metavar="LEVEL",
            rich_help_panel=_COMPARISON,
        ),
    ] = 0.95,
    missing: options.Missing = options.MissingCells.error,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    config: options.Config = None,
) -> None:
    """Compare the mean outcome or prediction of every group with the overall mean.

    Rows without an outcome or prediction are left out.

    The exit status is 0 on success; 1 if something is wrong with the data; 2 if something is wrong
    with the command; 3 if --within was given and a gap was not shown to be within it.

    Examples
    --------
    meanparity audit people.csv --target salary --sensitive sex,race
    meanparity audit scored.parquet --prediction score --sensitive sex --within 0.02
    zcat people.txt.gz | meanparity audit - --target salary --sensitive sex
    """
    import numpy as np

    from meanparity.audit import audit as audit_values
    from meanparity.data.rows import Rows, warn_about_labels
    from meanparity.tables import Roles, read_frame
    from meanparity.tables.kinds import with_columns

    if target is None and prediction is None:
        raise ValueError("Name the outcome with --target, or predictions with --prediction.")
    roles = Roles(
        target,
        sensitive,
        control or (),
        weight,
        numeric=numeric or (),
        categorical=categorical or (),
    )
    layout = options.layout(delimiter, decimal, encoding)
    with options.working(audit, quiet), options.local_file(data) as file:
        group_columns = roles.groups
        used = [target, prediction, weight, *group_columns]
        needed = [column for column in used if column is not None]
        frame = read_frame(file, needed, as_written=group_columns, layout=layout)
        roles.check(frame, file.name)
        if prediction is not None:
            Roles(prediction, ()).check(frame, file.name)
        values = roles.numbers(frame, str(prediction or target))
        y = roles.numbers(frame, target) if prediction and target else None
        keep = np.isfinite(values) & (True if y is None else np.isfinite(y))
        continuous = roles.continuous(frame[keep])
        people = frame.loc[keep, sensitive]
        warn_about_labels(Rows.from_columns(people, missing="ignore", continuous=continuous))
        if missing == "error":
            roles.refuse_empty_cells(frame, keep)
        elif missing == "ignore":
            keep &= frame[group_columns].notna().all(axis=1).to_numpy()
        else:
            cells = frame[[c for c in group_columns if c not in continuous]].astype(object)
            frame = with_columns(frame, cells.where(cells.notna(), "(empty)"))
        found = audit_values(
            values[keep],
            y_true=None if y is None else y[keep],
            confidence=confidence,
            within=within,
            continuous=continuous,
            weight_kind=weight_kind.value,
            shares=_read_shares(shares, frame.loc[keep, sensitive]),
            **roles.metadata(frame[keep]),
        )
    left_out = int((~keep).sum())
    text = f"{'Predictions' if prediction else 'Outcomes'}: {prediction or target}\n\n{found}"
    text += f"\n{left_out:,} rows with empty cells were left out." if left_out else ""
    text += f"\n\n{_legend(found)}"
    options.show(text, json_module.loads(found.to_json()) | {"rows_left_out": left_out}, json)
    if within is not None and not all(finding.equivalent for finding in found.findings):
        raise typer.Exit(_NOT_EQUIVALENT)


def _legend(found: Audit) -> str:
    """What the columns of the table are, for people who do not know statistics."""
    reference = "mean of the stratum" if found.control else "overall mean"
    level = f"{100 * found.confidence:g} %"
    of_groups = any(not finding.is_number for finding in found.findings)
    gap = f"gap: a group's mean minus the {reference}. " if of_groups else ""
    text = (
        f"{gap}{level} interval: where this gap is likely to "
        "lie among all people whom the rows stand for. p: how often chance would show such a gap "
        "in so many rows if there were none; (adjusted): the same, corrected for the number of "
        "gaps. detectable: the smallest gap that so many rows tell from chance "
        f"{100 * found.power:g} % of the time."
    )
    if found.within is not None:
        text += f" within: whether the gap is shown to lie within ±{found.within:g}."
    return "\n".join(textwrap.wrap(f"{text} More: docs/audit.md.", 79))


def _read_shares(text: str, sensitive: Any) -> Any:
    """The option --shares: a word, or a mapping from the groups of one column to their shares."""
    if "=" not in text:
        return text
    if sensitive.shape[1] > 1:
        raise ValueError(
            f"--shares {text} names the groups of one column, but --sensitive has "
            f"{sensitive.shape[1]}. Name one, or pass --shares sampled or fixed."
        )
    groups: Iterable[Any] = sensitive.iloc[:, 0].unique()
    by_name = {str(group): group for group in groups}
    shares = {}
    for part in text.split(","):
        name, _, share = part.rpartition("=")
        try:
            shares[by_name.get(name.strip(), name.strip())] = float(share)
        except ValueError as error:
            raise ValueError(
                f"--shares {text}: {share!r} is not a number. Pass shares such as F=0.5,M=0.5."
            ) from error
    return shares
