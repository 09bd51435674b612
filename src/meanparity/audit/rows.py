"""The rows of an audit, checked: values, groups, sensitive numbers, strata and weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from meanparity._typing import FloatArray
from meanparity.data.columns import read_columns
from meanparity.data.fit_input import check_weights
from meanparity.data.groups import Groups
from meanparity.data.refusals import refuse_other_order
from meanparity.data.rows import Rows

_MOST_COUNTED = 10**9


@dataclass(frozen=True, eq=False)
class AuditRows:
    """Checked input: the rows that have positive weight.

    Parameters
    ----------
    values : (n,) array
        What is compared.
    groups : Groups or None
        Groups of the sensitive categories; None if all sensitive columns are numbers.
    numbers : dict of (n,) arrays
        Sensitive columns that are numbers.
    columns : tuple of str
        Names of the sensitive columns.
    weight : (n,) array or None
        Sampling weights.
    errors : (n,) array or None
        Values minus outcomes, if outcomes are known.
    control : Groups or None
        Strata.
    """

    values: FloatArray
    groups: Groups | None
    numbers: dict[str, FloatArray]
    columns: tuple[str, ...]
    weight: FloatArray | None
    errors: FloatArray | None
    control: Groups | None

    @classmethod
    def read(
        cls,
        y_pred: Any,
        sensitive: Any,
        y_true: Any = None,
        control: Any = None,
        sample_weight: Any = None,
        weight_kind: str = "sampling",
        continuous: Any = "auto",
    ) -> AuditRows:
        """Read and check; rows that are counted several times are repeated."""
        refuse_other_order(
            y_pred=y_pred,
            y_true=y_true,
            sensitive_features=sensitive,
            control_features=control,
            sample_weight=sample_weight,
        )
        values = single_column(y_pred, "y_pred")
        n, errors, strata = len(values), None, None
        if y_true is not None:
            truth = single_column(y_true, "y_true")
            check_consistent_length(values, truth)
            errors = values - truth
        weight = None if sample_weight is None else check_weights(sample_weight, n)
        read = Rows.from_columns(sensitive, n_rows=n, continuous=continuous)
        if control is not None:
            strata = Groups.from_columns(read_columns(control, n_rows=n, role="control"))
        numbers = {name: column[read.codes] for name, column in read.numbers.items()}
        rows = cls(values, read.groups, numbers, read.schema.sensitive, weight, errors, strata)
        if weight is None:
            return rows
        if weight_kind == "counts":
            return rows.subset(np.repeat(np.arange(n), _as_counts(weight)), weighted=False)
        return rows.subset(weight > 0)

    def subset(self, keep: Any, *, weighted: bool = True) -> AuditRows:
        """The marked or numbered rows; groups and strata that no longer occur are dropped."""
        weight, errors = (None if a is None else a[keep] for a in (self.weight, self.errors))
        groups, control = (
            None if a is None else subset_groups(a, keep) for a in (self.groups, self.control)
        )
        numbers = {name: column[keep] for name, column in self.numbers.items()}
        weight = weight if weighted else None
        return AuditRows(self.values[keep], groups, numbers, self.columns, weight, errors, control)

    def strata(self) -> Iterator[tuple[Any, AuditRows]]:
        """The key and the rows of each stratum; one stratum without a key if there are none."""
        if self.control is None:
            yield None, self
            return
        order = np.argsort(self.control.codes, kind="stable")
        ends = np.cumsum(self.control.counts)
        for key, rows in zip(self.control.keys, np.split(order, ends[:-1]), strict=True):
            yield key, self.subset(np.sort(rows))


def subset_groups(groups: Groups, keep: Any) -> Groups:
    """The groups of the marked or numbered rows, without those that no longer occur."""
    present, codes = np.unique(groups.codes[keep], return_inverse=True)
    labels = tuple(groups.labels[i] for i in present)
    return Groups(codes, labels, groups.columns, np.bincount(codes, minlength=len(labels)))


def single_column(values: Any, name: str) -> FloatArray:
    """A column of numbers, (n,)."""
    column = check_array(values, ensure_2d=False, dtype=np.float64, input_name=name)
    if column.ndim == 2 and column.shape[1] > 1:
        raise ValueError(f"{name} has {column.shape[1]} outputs. Audit one column at a time.")
    return np.reshape(column, -1)


def _as_counts(weight: FloatArray) -> Any:
    counts = np.rint(weight).astype(np.int64)
    wrong = np.abs(weight - counts) > 1e-9 * np.maximum(weight, 1)
    if wrong.any():
        raise ValueError(
            f"weight_kind='counts', but sample_weight contains {weight[wrong][0]:g}, which is not "
            "a number of rows. Pass whole numbers, or weight_kind='sampling'."
        )
    if counts.sum() > _MOST_COUNTED:
        raise ValueError(
            f"sample_weight counts {counts.sum():,} rows, and at most {_MOST_COUNTED:,} can be "
            "audited. Pass a sample of them, or weight_kind='sampling'."
        )
    return counts
