"""What an audit found: frozen, printable, convertible."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True)
class GroupFinding:
    """One group, compared with everybody (of its stratum).

    Parameters
    ----------
    group : hashable
        Its sensitive value, or the tuple of its values.
    stratum : hashable or None
        Where it was compared, with control features.
    size : int
        Rows (of positive weight).
    mean, gap : float
        Its mean prediction, and that less the mean of all.
    standard_error : float
        Of the gap.
    low, high : float
        Confidence interval of the gap.
    p_value : float
        Of no gap.
    p_holm, p_bh : float
        The same adjusted over all groups: for the chance of any false alarm (Holm), and for the
        expected share of false alarms (Benjamini and Hochberg).
    detectable : float
        The smallest gap that such a sample would have shown, with the power that was asked for.
    p_outside : float or None
        Of a gap larger than `within`, if that was asked.
    equivalent : bool or None
        Whether the gap is within ± `within` at the confidence that was asked for.
    mean_error : float or None
        Mean of prediction less outcome, if outcomes are known.
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


@dataclass(frozen=True)
class Audit:
    """What predictions say about groups, with uncertainty.

    Parameters
    ----------
    findings : tuple of GroupFinding
        One for each group, or for each group of each stratum.
    columns, control : tuple of str
        Names of the sensitive and of the control columns.
    n_rows : int
        Rows.
    mean : float
        Mean prediction of all.
    smd, max_gap : float
        Sum and maximum of the sizes of the gaps.
    wasserstein : float
        Sum over groups of the distance between its distribution and that of all (the paper's DPD).
    quantile_gap, quantile : float
        The largest difference between a quantile of a group and that of all, and which quantile.
    r_squared : float
        Share of the variance of the predictions that lies between groups.
    confidence, power : float
        As asked for.
    within : float or None
        The gap that was asked about.
    method : str
        "analytic" or "resampling".
    left_out : tuple
        Strata with one group, in which nothing can be compared.
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
        """All numbers as plain Python objects."""
        return {
            **{f.name: getattr(self, f.name) for f in fields(self) if f.name != "findings"},
            "findings": [asdict(finding) for finding in self.findings],
        }

    def to_json(self, **options: Any) -> str:
        """All numbers as JSON, null where there is none; options are those of `json.dumps`."""
        return json.dumps(_finite(self.to_dict()), default=_plain, allow_nan=False, **options)

    def to_pandas(self) -> Any:
        """The findings as a pandas data frame, one row each."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("pandas is missing: pip install pandas") from error
        return pd.DataFrame([asdict(finding) for finding in self.findings])

    def __str__(self) -> str:
        first = ", ".join(self.columns) or "group"
        header = [
            first,
            "n",
            "mean",
            "gap",
            f"{100 * self.confidence:g} % interval",
            "p",
            "p (Holm)",
        ]
        header += ["detectable"]
        header += [f"within ±{self.within:g}"] if self.within is not None else []
        has_errors = any(f.mean_error is not None for f in self.findings)
        header += ["mean error"] if has_errors else []
        table = [header]
        for f in self.findings:
            name = _name(f.group) if f.stratum is None else f"{_name(f.stratum)}: {_name(f.group)}"
            cells = [name, f"{f.size:,}", _number(f.mean), _number(f.gap)]
            cells += [f"{_number(f.low)} to {_number(f.high)}", _p(f.p_value), _p(f.p_holm)]
            cells += [_number(f.detectable)]
            cells += ["yes" if f.equivalent else "not shown"] if self.within is not None else []
            cells += [_number(f.mean_error)] if f.mean_error is not None else []
            table.append(cells)
        widths = [max(len(row[i]) for row in table) for i in range(len(header))]
        lines = []
        for name, *cells in table:
            aligned = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
            lines.append("  ".join([name.ljust(widths[0]), *aligned]))
        lines += [
            "",
            f"{self.n_rows:,} rows, mean {_number(self.mean)}; SMD {_number(self.smd)}, "
            f"Wasserstein gap {_number(self.wasserstein)}, largest quantile gap "
            f"{_number(self.quantile_gap)} (at {100 * self.quantile:.0f} %), "
            f"R² of the groups {self.r_squared:.3g}",
        ]
        if self.left_out:
            names = ", ".join(_name(stratum) for stratum in self.left_out)
            lines.append(f"Not compared, as they have one group: {names}")
        return "\n".join(lines)


def _name(label: Any) -> str:
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def _p(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def _plain(value: Any) -> Any:
    """What json does not know: numbers of NumPy as numbers, all else as text."""
    return value.item() if hasattr(value, "item") else str(value)


def _finite(value: Any) -> Any:
    """The same with None for what is infinite, as is the error of a single row."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
