"""The result of an audit: frozen, printable, and convertible to tables and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from meanparity.audit.checks import format_interval, format_number
from meanparity.audit.table import text_table
from meanparity.exceptions import import_pandas

if TYPE_CHECKING:
    import pandas as pd

_MOST_LISTED = 20  # names in a sentence


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
    low_all, high_all : float
        Simultaneous confidence interval: those of all findings of the audit contain their gaps
        together with the stated confidence.
    p_value : float
        p-value of the hypothesis of no gap.
    p_adjusted : float
        The p-value adjusted for the number of findings, which controls the probability of any
        false positive. For two groups it is the p-value itself: they are one comparison.
    detectable : float
        Smallest gap that would have been significant by itself with the requested power.
    too_few_rows : bool
        Whether nothing can be told, because there are too few rows or no spread. The intervals are
        then infinite, and p-values NaN.
    no_spread : bool
        Whether that is because all predictions of the group, or of all others, are the same.
    equivalent : bool or None
        Whether the gap is shown to lie within ± `within` at the requested confidence.
    mean_error : float or None
        Mean of prediction minus outcome, if outcomes are known.
    is_number : bool
        Whether this is a sensitive number and not a group: `group` is then the name of its column,
        `gap` the covariance of the predictions with it, divided by its standard deviation, and
        `mean` the mean over all rows.
    label : str
        The group as text, such as "F" or "male=0, black=1".
    stratum_label : str
        The stratum as text.

    See Also
    --------
    audit : Makes them, one for each group.

    Examples
    --------
    >>> import numpy as np
    >>> from meanparity.audit import audit
    >>> finding = audit(np.arange(60.0), sensitive_features=np.arange(60) % 2).findings[0]
    >>> bool(finding.low < finding.gap < finding.high)
    True
    """

    group: Hashable
    stratum: Hashable | None
    size: int
    mean: float
    gap: float
    standard_error: float
    low: float
    high: float
    low_all: float
    high_all: float
    p_value: float
    p_adjusted: float
    detectable: float
    too_few_rows: bool
    equivalent: bool | None = None
    mean_error: float | None = None
    is_number: bool = False
    label: str = ""
    stratum_label: str = ""
    no_spread: bool = False

    @property
    def untold(self) -> str:
        """Why nothing can be told, in a few words; empty if there is an interval."""
        if not self.too_few_rows:
            return ""
        return "no spread" if self.no_spread else "too few rows to tell"

    @property
    def name(self) -> str:
        """The group, and its stratum if there is one, as text."""
        group = f"{self.group} (covariance)" if self.is_number else self.label or _label(self.group)
        if self.stratum is None:
            return group
        return f"{self.stratum_label or _label(self.stratum)}: {group}"


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
        Sum of the absolute gaps of all groups, and the largest of all findings. The paper calls
        the sum SMD; it is not a standardised mean difference.
    wasserstein : float or None
        Sum over groups of the 1-Wasserstein distance between the distribution of the group's
        predictions and that of all predictions (the paper's DPD). Strata are ignored.
    quantile_gap, quantile : float or None
        Largest difference between a quantile of a group and that of all rows, and the level of
        that quantile. Strata are ignored.
    r_squared : float or None
        Share of the variance of the predictions that lies between groups. Strata are ignored.
    confidence, power : float
        The requested confidence level and power.
    within : float or None
        The largest negligible gap, if equivalence tests were requested.
    shares : {"sampled", "fixed", "given"}
        What the overall mean is a mean over: see `audit`.
    weight_kind : {"sampling", "counts"} or None
        What the weights were said to mean, if there were any.
    left_out : tuple
        Strata that contain only one group, in which nothing can be compared.
    left_out_labels : tuple of str
        These strata as text.

    See Also
    --------
    audit : Makes one.

    Examples
    --------
    >>> from meanparity.audit import audit
    >>> import numpy as np
    >>> found = audit(np.arange(60.0), sensitive_features=np.arange(60) % 2)
    >>> [finding.size for finding in found.findings]
    [30, 30]
    """

    findings: tuple[GroupFinding, ...]
    columns: tuple[str, ...]
    control: tuple[str, ...]
    n_rows: int
    mean: float
    smd: float
    max_gap: float
    wasserstein: float | None
    quantile_gap: float | None
    quantile: float | None
    r_squared: float | None
    confidence: float
    power: float
    within: float | None
    shares: str
    weight_kind: str | None
    left_out: tuple[Hashable, ...] = ()
    left_out_labels: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain Python objects."""
        return {
            **{f.name: getattr(self, f.name) for f in fields(self) if f.name != "findings"},
            "findings": [asdict(finding) for finding in self.findings],
        }

    def to_json(self, **options: Any) -> str:
        """Return all numbers as JSON, with null for infinite and undefined ones.

        Keyword arguments are passed to `json.dumps`.
        """
        return json.dumps(_json_ready(self.to_dict()), default=str, allow_nan=False, **options)

    def to_frame(self) -> pd.DataFrame:
        """Return the findings as a pandas data frame, one row each."""
        return import_pandas().DataFrame([asdict(finding) for finding in self.findings])

    def __str__(self) -> str:
        return "\n".join([*self._table(), "", *self._sentences()])

    def _table(self) -> list[str]:
        found, number = self.findings, format_number
        told = [not f.too_few_rows for f in found]

        def column(title: str, cells: list[str]) -> list[str]:
            return [title, *(cell if t else "" for cell, t in zip(cells, told, strict=True))]

        intervals = [f.untold or " to ".join(format_interval(f.low, f.high)) for f in found]
        columns = [
            [", ".join(self.columns) or "group", *(f.name for f in found)],
            ["n", *(f"{f.size:,}" for f in found)],
            ["mean", *(number(f.mean) for f in found)],
            ["gap", *(number(f.gap) for f in found)],
            [f"{100 * self.confidence:g} % interval", *intervals],
        ]
        if self.within is not None:
            shown = ["yes" if f.equivalent else "not shown" for f in found]
            columns.append([f"within\n±{self.within:g}", *shown])
        columns += [
            column("p", [_format_p(f.p_value) for f in found]),
            column("p\n(adjusted)", [_format_p(f.p_adjusted) for f in found]),
            column("detect-\nable", [number(f.detectable) for f in found]),
        ]
        if any(f.mean_error is not None for f in found):
            errors = ["" if f.mean_error is None else number(f.mean_error) for f in found]
            columns.append(["mean\nerror", *errors])
        return text_table(columns, beside=4 if self.within is None else 5)

    def _sentences(self) -> list[str]:
        lines = [f"{self.n_rows:,} rows, overall mean {format_number(self.mean)}."]
        if self.wasserstein is not None and self.quantile_gap is not None:
            lines[0] += f" Sum of absolute gaps {format_number(self.smd)}."
            overall = f"Ignoring {', '.join(self.control)}: " if self.control else ""
            lines.append(
                f"{overall}Wasserstein gap {format_number(self.wasserstein)}, largest quantile gap "
                f"{format_number(self.quantile_gap)} (at {100 * (self.quantile or 0):.0f} %), "
                f"R² of the groups {self.r_squared:.3g}."
            )
            lines.append(_SHARES[self.shares])
        if self.weight_kind is not None:
            lines.append(_WEIGHTS[self.weight_kind])
        if any(f.is_number for f in self.findings):
            lines.append(
                "A gap marked (covariance) is how much higher the values are, along the straight "
                "line that fits best, where the number is higher by one standard deviation."
            )
        few = [f.name for f in self.findings if f.too_few_rows and not f.no_spread]
        if few:
            lines.append(f"Too few rows, or hardly any spread: {_listed(few)}.")
        flat = [f.name for f in self.findings if f.no_spread]
        if flat:
            lines.append(
                f"No spread in the values of the group, or of all others: {_listed(flat)}."
            )
        if self.left_out:
            names = list(self.left_out_labels or map(_label, self.left_out))
            lines.append(f"Not compared, because they contain only one group: {_listed(names)}.")
        return lines


_SHARES = {
    "sampled": "Shares of the groups in the population are estimated from these rows.",
    "fixed": "Shares of the groups are taken as they are in these rows.",
    "given": "Shares of the groups are those that were given.",
}
_WEIGHTS = {
    "sampling": "Weights are sampling weights: each row is one observation.",
    "counts": "Weights are counts: each row stands for as many observations.",
}


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_LISTED
    return ", ".join(names[:_MOST_LISTED]) + (f", and {more} more" if more > 0 else "")


def _label(label: Any) -> str:
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _format_p(value: float) -> str:
    return "< 0.001" if value < 1e-3 else f"{value:.3f}"


def _json_ready(value: Any) -> Any:
    """Replace NumPy scalars by Python numbers, and infinite numbers by None."""
    if isinstance(value, dict):
        return {name: _json_ready(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_json_ready(part) for part in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
