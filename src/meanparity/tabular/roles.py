"""Which column of a table is what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from meanparity._typing import FloatArray
from meanparity.exceptions import did_you_mean


@dataclass(frozen=True)
class Roles:
    """The columns of a table that are not only features.

    Parameters
    ----------
    target : str or None
        What is predicted.
    sensitive, control : tuple of str
        Sensitive columns, and those inside whose values groups are compared.
    weight : str or None
        Weights.
    ignored : tuple of str
        Left out, such as numbers of people.
    exclude_sensitive : bool
        Whether sensitive columns are no features.
    """

    target: str | None
    sensitive: tuple[str, ...]
    control: tuple[str, ...] = ()
    weight: str | None = None
    ignored: tuple[str, ...] = ()
    exclude_sensitive: bool = False

    def check(self, frame: Any, name: str, *, target: bool = True) -> None:
        """Refuse a table that lacks a column, or columns with two roles."""
        wanted = [*self.sensitive, *self.control, *self.ignored]
        wanted += [self.weight] if self.weight else []
        wanted += [self.target] if target and self.target else []
        for column in wanted:
            if column not in frame.columns:
                hint = did_you_mean(column, frame.columns)
                shown = ", ".join(map(str, list(frame.columns)[:20]))
                more = ", ..." if len(frame.columns) > 20 else ""
                raise ValueError(f"{name} has no column {column!r}.{hint} It has: {shown}{more}.")
        for column in wanted:
            if wanted.count(column) > 1:
                raise ValueError(
                    f"The column {column!r} has two roles among target, sensitive, control, weight "
                    "and ignored columns. Give it one."
                )

    def features(self, frame: Any) -> list[str]:
        """The names of the features."""
        taken = {self.target, self.weight, *self.ignored}
        taken |= set(self.sensitive) if self.exclude_sensitive else set()
        found = [name for name in frame.columns if name not in taken]
        if not found:
            raise ValueError("No column is left to be a feature.")
        return found

    def numbers(self, frame: Any, column: str) -> FloatArray:
        """A column that has to hold numbers, with NaN where a cell is empty."""
        values = frame[column]
        if values.dtype.kind not in "biuf":
            import pandas as pd

            numbers = pd.to_numeric(values, errors="coerce")
            bad = values[numbers.isna() & values.notna()]
            if len(bad) or values.dtype.kind in "mM":
                example = bad.iloc[0] if len(bad) else values.iloc[0]
                raise ValueError(
                    f"The column {column!r} has to hold numbers, but has {example!r} in row "
                    f"{(bad.index[0] if len(bad) else 0) + 1}. Name another column, or turn it "
                    "into numbers."
                )
            values = numbers
        found: FloatArray = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return found

    def people(self, frame: Any) -> dict[str, Any]:
        """Sensitive and control columns, and weights, as estimators take them."""
        weights = None
        if self.weight is not None:
            weights = self.numbers(frame, self.weight)
            bad = ~(np.isfinite(weights) & (weights >= 0))
            if bad.any():
                raise ValueError(
                    f"The weight column {self.weight!r} has {float(weights[bad][0])!r}. Weights "
                    "are numbers of 0 or more."
                )
        return {
            "sensitive_features": frame[list(self.sensitive)],
            "control_features": frame[list(self.control)] if self.control else None,
            "sample_weight": weights,
        }
