"""The result of an audit: frozen, printable, and convertible to tables and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable
from dataclasses import asdict, dataclass, fields
from typing import Any

from meanparity.audit.checks import format_number, import_pandas


@dataclass(frozen=True)
class GroupFinding:
    """One group compared with all rows, or with all rows of its stratum.

    Parameters
    ----------
    group : hashable
        The group's sensitive value, or the tuple of its values.
    stratum : hashable or None
        The stratum in which the group was compared, if there are control features.
    size : int
        Number of rows with positive weight.
    mean, gap : float
        Mean prediction of the group, and its difference from the overall mean.
    standard_error : float
        Standard error of the gap.
    low, high : float
        Confidence interval of the gap.
    p_value : float
        p-value of the hypothesis of no gap.
    p_holm, p_bh : float
        The p-value adjusted for the number of groups: by Holm's method, which controls the
        probability of any false positive, and by that of Benjamini and Hochberg, which controls
        the expected share of false positives.
    detectable : float
        Smallest gap that would have been significant with the requested power.
    p_outside : float or None
        p-value of the hypothesis that the gap is larger than `within`, if that was requested.
    equivalent : bool or None
        Whether the gap is shown to lie within ± `within` at the requested confidence.
    mean_error : float or None
        Mean of prediction minus outcome, if outcomes are known.
    """

    group: Hashable
    stratum: Hashable | None
    size: int
    mean: float
    gap: float
    standard_error: float
    low: float
    high: float
    p_value: float
    p_holm: float
    p_bh: float
    detectable: float
    p_outside: float | None = None
    equivalent: bool | None = None
    mean_error: float | None = None

    @property
    def name(self) -> str:
        """The group, and its stratum if there is one, as text."""
        group = _label(self.group)
        return group if self.stratum is None else f"{_label(self.stratum)}: {group}"


@dataclass(frozen=True)
class Audit:
    """Gaps between groups with their uncertainty.

    Parameters
    ----------
    findings : tuple of GroupFinding
        One finding for each group, or for each group of each stratum.
    columns, control : tuple of str
        Names of the sensitive and of the control columns.
    n_rows : int
        Number of rows with positive weight.
    mean : float
        Mean prediction over all rows.
    smd, max_gap : float
        Sum and maximum of the absolute gaps of all findings. The paper calls the sum SMD; it is
        not a standardised mean difference.
    wasserstein : float
        Sum over groups of the 1-Wasserstein distance between the distribution of the group's
        predictions and that of all predictions (the paper's DPD). Strata are ignored.
    quantile_gap, quantile : float
        Largest difference between a quantile of a group and that of all rows, and the level of
        that quantile. Strata are ignored.
    r_squared : float
        Share of the variance of the predictions that lies between groups. Strata are ignored.
    confidence, power : float
        The requested confidence level and power.
    within : float or None
        The largest negligible gap, if equivalence tests were requested.
    method : {"analytic", "resampling"}
        How intervals and p-values were computed.
    left_out : tuple
        Strata that contain only one group, in which nothing can be compared.
    """

    findings: tuple[GroupFinding, ...]
    columns: tuple[str, ...]
    control: tuple[str, ...]
    n_rows: int
    mean: float
    smd: float
    max_gap: float
    wasserstein: float
    quantile_gap: float
    quantile: float
    r_squared: float
    confidence: float
    power: float
    within: float | None
    method: str
    left_out: tuple[Hashable, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain Python objects."""
        return {
            **{f.name: getattr(self, f.name) for f in fields(self) if f.name != "findings"},
            "findings": [asdict(finding) for finding in self.findings],
        }

    def to_json(self, **options: Any) -> str:
        """Return all numbers as JSON, with null for infinite ones.

        Keyword arguments are passed to `json.dumps`.
        """
        return json.dumps(_json_ready(self.to_dict()), default=str, allow_nan=False, **options)

    def to_pandas(self) -> Any:
        """Return the findings as a pandas data frame, one row each."""
        return import_pandas().DataFrame([asdict(finding) for finding in self.findings])

    def __str__(self) -> str:
        found, number = self.findings, format_number
        columns = [
            [", ".join(self.columns) or "group", *(f.name for f in found)],
            ["n", *(f"{f.size:,}" for f in found)],
            ["mean", *(number(f.mean) for f in found)],
            ["gap", *(number(f.gap) for f in found)],
            [
                f"{100 * self.confidence:g} % interval",
                *(f"{number(f.low)} to {number(f.high)}" for f in found),
            ],
            ["p", *(_format_p(f.p_value) for f in found)],
            ["p (Holm)", *(_format_p(f.p_holm) for f in found)],
            ["detectable", *(number(f.detectable) for f in found)],
        ]
        if self.within is not None:
            shown = ("yes" if f.equivalent else "not shown" for f in found)
            columns.append([f"within ±{self.within:g}", *shown])
        errors = [number(f.mean_error) for f in found if f.mean_error is not None]
        if errors:
            columns.append(["mean error", *errors])
        for i, cells in enumerate(columns):
            width, adjust = max(map(len, cells)), str.rjust if i else str.ljust
            columns[i] = [adjust(cell, width) for cell in cells]
        lines = ["  ".join(cells) for cells in zip(*columns, strict=True)]
        overall = f"Ignoring {', '.join(self.control)}: " if self.control else ""
        lines += [
            "",
            f"{self.n_rows:,} rows, overall mean {format_number(self.mean)}. "
            f"Sum of absolute gaps {format_number(self.smd)}.",
            f"{overall}Wasserstein gap {format_number(self.wasserstein)}, largest quantile gap "
            f"{format_number(self.quantile_gap)} (at {100 * self.quantile:.0f} %), "
            f"R² of the groups {self.r_squared:.3g}.",
        ]
        if self.left_out:
            names = ", ".join(_label(stratum) for stratum in self.left_out)
            lines.append(f"Not compared, because they contain only one group: {names}.")
        return "\n".join(lines)


def _label(label: Any) -> str:
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _format_p(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def _json_ready(value: Any) -> Any:
    """Replace NumPy scalars by Python numbers, and infinite numbers by None."""
    if isinstance(value, dict):
        return {name: _json_ready(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_json_ready(part) for part in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
