"""The roles of the columns of a table: target, sensitive, control, weight, ignored, features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from meanparity._typing import FloatArray
from meanparity.data.rows import Rows
from meanparity.exceptions import did_you_mean, warn
from meanparity.tables.kinds import finite_numbers, parse_cells

_MOST_LISTED = 20  # columns named in an error message
_MISSING_ADVICE = (
    "Fill them, or pass --missing ignore or --missing group (missing='ignore' or 'group' in "
    "Python)."
)


@dataclass(frozen=True)
class Roles:
    """The role of each column of a table. All other columns are features.

    Parameters
    ----------
    target : str or None
        The column to predict.
    sensitive, control : sequence of str
        Sensitive columns, and control columns within whose strata groups are compared.
    weight : str or None
        The column of row weights.
    ignored : sequence of str
        Columns to leave out, such as identifiers.
    exclude_sensitive : bool
        Do not use the sensitive columns as features.
    numeric, categorical : sequence of str
        Sensitive columns that are numbers, and those of which every value is a group. Those that
        are in neither are recognised, see `continuous`.

    See Also
    --------
    fit_table : Takes them.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": [1], "sex": ["F"], "hours": [38], "pay": [20.0]})
    >>> Roles("pay", ("sex",), ignored=("id",)).features(frame)
    ['sex', 'hours']
    """

    target: str | None
    sensitive: Sequence[str]
    control: Sequence[str] = ()
    weight: str | None = None
    ignored: Sequence[str] = ()
    exclude_sensitive: bool = False
    numeric: Sequence[str] = ()
    categorical: Sequence[str] = ()

    @property
    def groups(self) -> list[str]:
        """The sensitive and control columns, whose values are read as they are written."""
        return [*self.sensitive, *self.control]

    def check(self, frame: pd.DataFrame, name: str) -> None:
        """Raise an error if a column is missing from the table, or has two roles."""
        columns = [*self.sensitive, *self.control, *self.ignored]
        columns += [column for column in (self.weight, self.target) if column]
        for column in columns:
            if column not in frame.columns:
                hint = did_you_mean(column, frame.columns)
                listed = ", ".join(map(str, list(frame.columns)[:_MOST_LISTED]))
                end = ", ..." if len(frame.columns) > _MOST_LISTED else "."
                raise ValueError(
                    f"{name} has no column {column!r}.{hint} Its columns are: {listed}{end}"
                )
            if columns.count(column) > 1:
                raise ValueError(
                    f"The column {column!r} has two roles among target, sensitive, control, weight "
                    "and ignored columns. Give it one role."
                )

    def features(self, frame: pd.DataFrame) -> list[str]:
        """Return the names of the feature columns."""
        others = {self.target, self.weight, *self.ignored}
        if self.exclude_sensitive:
            others.update(self.sensitive)
        features = [name for name in frame.columns if name not in others]
        if not features:
            raise ValueError(
                f"None of the {len(frame.columns)} columns is left as a feature. Ignore fewer "
                "columns, or keep the sensitive ones as features."
            )
        return features

    def numbers(self, frame: pd.DataFrame, column: str) -> FloatArray:
        """Return a numeric column, with NaN where a cell is empty."""
        values, bad = parse_cells(frame[column], "number")
        if values.dtype.kind in "mM":
            bad = values  # pandas would count nanoseconds
        if len(bad):
            found = sorted(map(str, frame[column].dropna().unique()[:3]))
            how = f" (0 for {found[0]!r} and 1 for {found[1]!r})" if len(found) == 2 else ""
            raise ValueError(
                f"The column {column!r} must contain numbers, but has {bad.iloc[0]!r} in row "
                f"{bad.index[0] + 1}. Choose another column, or convert this one to numbers{how}."
            )
        return finite_numbers(values, column, "The table")

    def continuous(self, frame: pd.DataFrame) -> list[str]:
        """The sensitive columns that are numbers: those named so, and those that are recognised.

        As in `MeanParity`, columns of numbers with many different values are recognised; a note
        says so.
        """
        for column in (*self.numeric, *self.categorical):
            if column not in self.sensitive:
                raise ValueError(
                    f"{column!r} is named as numeric or categorical, but is not one of the "
                    f"sensitive columns {', '.join(self.sensitive)}."
                )
            if column in self.numeric and column in self.categorical:
                raise ValueError(f"{column!r} is named as numeric and as categorical. Choose one.")
        for column in self.numeric:
            values, bad = parse_cells(frame[column], "number")
            if len(bad) or values.dtype.kind not in "iuf":
                first = bad.iloc[0] if len(bad) else frame[column].dropna().iloc[0]
                raise ValueError(
                    f"The column {column!r} is named as numeric, but contains {first!r}. Correct "
                    "the cell, or leave the column out of --numeric (numeric in Python)."
                )
        unnamed = [c for c in self.sensitive if c not in (*self.numeric, *self.categorical)]
        found: tuple[str, ...] = ()
        if unnamed:
            found = Rows.from_columns(frame[unnamed], missing="ignore").schema.continuous
        for column in found:
            warn(
                f"The sensitive column {column!r} has {frame[column].nunique():,} different "
                "numbers and is treated as a number: it has no groups, and parity means zero "
                f"covariance of the predictions with it. Pass --numeric {column} to confirm this, "
                f"or --categorical {column} to make every value a group (fields of Roles in "
                "Python)."
            )
        return [column for column in self.sensitive if column in (*self.numeric, *found)]

    def metadata(self, frame: pd.DataFrame) -> dict[str, Any]:
        """Return sensitive columns, control columns and weights as parameters of `fit`."""
        metadata = {"sensitive_features": frame[list(self.sensitive)]}
        if self.control:
            metadata["control_features"] = frame[list(self.control)]
        if self.weight is not None:
            weights = self.numbers(frame, self.weight)
            bad = ~(np.isfinite(weights) & (weights >= 0))
            if bad.any():
                raise ValueError(
                    f"The weight column {self.weight!r} contains {float(weights[bad][0])!r}. "
                    "Weights must be finite and not negative."
                )
            metadata["sample_weight"] = pd.Series(weights, frame.index)
        return metadata

    def combined(self, frame: pd.DataFrame) -> pd.Series:
        """Return the sensitive values of each row as one text, such as "F, white"."""
        if not self.sensitive:
            return pd.Series("", frame.index)
        first, *others = (frame[column].astype(object).map(str) for column in self.sensitive)
        return first.str.cat(others, sep=", ") if others else first

    def refuse_empty_cells(
        self, frame: pd.DataFrame, keep: Any = True, advice: str = _MISSING_ADVICE
    ) -> None:
        """Raise an error if a sensitive or control cell is empty in one of the rows to keep."""
        for column in (*self.sensitive, *self.control):
            empty = frame[column].isna() & keep
            if empty.any():
                n = int(empty.sum())
                raise ValueError(
                    f"The column {column!r} has {n:,} empty cell{'s'[: n != 1]} (missing values), "
                    f"the first one in row {int(empty.idxmax()) + 1}. {advice}"
                )
