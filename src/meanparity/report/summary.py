"""Everything that a report shows of one set of rows, at every position of the slider."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from meanparity._typing import FloatArray, IntArray
from meanparity.audit import Audit, audit
from meanparity.data.groups import Groups
from meanparity.data.rows import Rows
from meanparity.tradeoff.curve import Comparison, CurveSums

STEPS = 100  # positions of the slider
BINS = 40  # bars of a histogram
MOST_GROUPS = 50
_BANDS = 5  # bands into which a sensitive number is divided


@dataclass(frozen=True, eq=False)
class PredictedRows:
    """A set of rows with the predictions of the constrained and of the unconstrained model.

    Parameters
    ----------
    name : str
        What to call the rows, such as "training rows".
    fair, free : (n,) arrays
        Predictions of the constrained and of the unconstrained model.
    sensitive_features : data frame, mapping or array
        Sensitive columns of the rows.
    y : (n,) array, optional
        Outcomes, if they are known.
    control_features : data frame, mapping or array, optional
        Control columns of the rows.
    sample_weight : (n,) array, optional
        Weights of the rows.
    constrained : bool, default=False
        Whether the constraint was imposed on these rows.

    Examples
    --------
    >>> PredictedRows("held-out rows", [1.0, 2.0], [0.5, 2.5], ["a", "b"]).fair
    array([1., 2.])
    """

    name: str
    fair: FloatArray
    free: FloatArray
    sensitive_features: Any
    y: FloatArray | None = None
    control_features: Any = None
    sample_weight: FloatArray | None = None
    constrained: bool = False

    def __post_init__(self) -> None:
        for name in ("fair", "free", "y", "sample_weight"):
            value: Any = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, np.asarray(value, dtype=np.float64))

    def __len__(self) -> int:
        return len(self.fair)

    def at(self, position: float) -> FloatArray:
        """Predictions between the constrained (0) and the unconstrained model (1)."""
        return (1 - position) * self.fair + position * self.free

    def as_rows(self, comparison: Comparison) -> Rows:
        """The rows as a constraint reads them."""
        return comparison.schema.read_rows(
            self.sensitive_features,
            control_features=self.control_features,
            sample_weight=self.sample_weight
            if comparison.constraint.weight_scope != "loss"
            else None,
            y=None if self.y is None else self.y[:, None],
            n_rows=len(self),
        )


@dataclass(frozen=True, eq=False)
class Summary:
    """What a report shows of one set of rows.

    Parameters
    ----------
    predicted : PredictedRows
        The rows.
    names : tuple of str
        The groups that are shown, each with its stratum; the largest ones if there are many.
    n_groups : int
        Number of groups, those that are not shown included.
    numbers : tuple of str
        The sensitive columns that are numbers.
    banded : bool
        Whether the groups are bands of a sensitive number, because no sensitive column is a
        category.
    quantity : str
        What is compared between groups, such as "prediction" or "prediction error".
    before, after : Audit
        Audits of the unconstrained predictions and of those of the model.
    outcomes : dict or None
        Mean outcome of each group.
    data : dict
        The numbers that the page's script needs.
    """

    predicted: PredictedRows
    names: tuple[str, ...]
    n_groups: int
    numbers: tuple[str, ...]
    banded: bool
    quantity: str
    before: Audit
    after: Audit
    outcomes: dict[str, float] | None
    data: dict[str, Any] = field(repr=False)

    @classmethod
    def from_rows(
        cls, predicted: PredictedRows, comparison: Comparison, position: float
    ) -> Summary:
        """Summarise a set of rows."""
        rows = predicted.as_rows(comparison)
        table = _StratifiedGroups.from_rows(rows)
        counts = np.bincount(table.codes[table.codes >= 0], minlength=len(table.names))
        largest = np.sort(np.argsort(-counts, kind="stable")[:MOST_GROUPS])
        place = np.full(len(table.names) + 1, -1)
        place[largest] = np.arange(len(largest))
        codes = place[table.codes]  # −1 stays −1
        names = tuple(table.names[i] for i in largest)
        k, n_strata = len(names), len(table.stratum_names)

        quantity = "prediction"
        fair, free, now = (
            _compared(comparison, predicted, values)
            for values in (predicted.fair, predicted.free, predicted.at(position))
        )
        if predicted.y is not None and not np.array_equal(fair, predicted.fair):
            is_error = np.array_equal(fair, predicted.fair - predicted.y)
            quantity = "prediction error" if is_error else "compared value"

        # weights that apply to the loss alone do not count in group means
        counted = predicted
        if comparison.constraint.weight_scope == "loss":
            counted = replace(predicted, sample_weight=None)

        def both_means(ends: tuple[FloatArray, FloatArray]) -> dict[str, Any]:
            weights = counted.sample_weight
            found: dict[str, Any] = {"strata": {}}
            for name, values in zip(("fair", "free"), ends, strict=True):
                found[name] = _means(values, codes, weights, k)
                found["strata"][name] = _means(values, table.strata, weights, n_strata)
            return found

        outcomes = None
        if predicted.y is not None:
            means = _means(predicted.y, codes, counted.sample_weight, k)
            outcomes = dict(zip(names, means, strict=True))
        data = {
            "name": predicted.name,
            "n": len(predicted),
            "in_no_group": int((table.codes < 0).sum()),
            "constrained": predicted.constrained,
            "quantity": quantity,
            "zero": 1e-9 * max(float(np.ptp(predicted.free)), float(np.ptp(predicted.fair))),
            "groups": list(names),
            "counts": counts[largest].tolist(),
            "stratum": table.stratum_of[largest].tolist(),
            **both_means((predicted.fair, predicted.free)),
            "compared": both_means((fair, free)),
            **_curve(predicted, comparison, rows),
            **_histograms(predicted, codes, k),
            "change": _changes(predicted, codes, k),
        }
        return cls(
            predicted,
            names,
            len(table.names),
            rows.schema.continuous,
            rows.groups is None,
            quantity,
            table.audit(free, counted.sample_weight),
            table.audit(now, counted.sample_weight),
            outcomes,
            data,
        )


@dataclass(frozen=True, eq=False)
class _StratifiedGroups:
    """The group and the stratum of each row.

    Parameters
    ----------
    column, control : str
        Names of the sensitive and of the control columns.
    names : list of str
        The groups that occur in each stratum.
    codes : (n,) array
        Position of each row's group in `names`, −1 for none.
    groups : (n,) array of str
        Group of each row, whatever the stratum.
    stratum_names : list of str
        Strata; one without a name if there are no control columns.
    strata : (n,) array
        Stratum of each row, −1 for rows in no group.
    stratum_of : array of int
        Stratum of each of `names`.
    """

    column: str
    control: str
    names: list[str]
    codes: IntArray
    groups: Any
    stratum_names: list[str]
    strata: IntArray
    stratum_of: IntArray

    @classmethod
    def from_rows(cls, rows: Rows) -> _StratifiedGroups:
        if rows.groups is None:
            labels, codes = _bands(rows)
        else:
            labels, codes = _labels(rows.groups), np.asarray(rows.groups.codes)
        stratum_of_cell = np.full(len(rows.cells), -1)
        for number, (_, cells) in enumerate(rows.strata):
            stratum_of_cell[cells] = number
        stratum_names = [name for name, _ in rows.strata]
        strata = np.where(codes >= 0, stratum_of_cell[rows.codes], -1)
        pairs = np.where(strata >= 0, strata * len(labels) + codes, -1)
        found, members = np.unique(pairs[pairs >= 0], return_inverse=True)
        both_codes = np.full(len(pairs), -1)
        both_codes[pairs >= 0] = members
        stratum_of, group_of = np.divmod(found, len(labels))
        names = [
            f"{stratum_names[i]}: {labels[j]}" if stratum_names[i] else labels[j]
            for i, j in zip(stratum_of, group_of, strict=True)
        ]
        groups = np.array([*labels, ""], dtype=object)[codes]
        column, control = ", ".join(rows.schema.sensitive), ", ".join(rows.schema.control)
        return cls(column, control, names, both_codes, groups, stratum_names, strata, stratum_of)

    def audit(self, values: FloatArray, weights: FloatArray | None) -> Audit:
        """Audit values of the rows that are in a group."""
        inside = self.codes >= 0
        control = None
        if len(self.stratum_names) > 1:
            names = np.array([*self.stratum_names, ""], dtype=object)
            control = {self.control: names[self.strata][inside]}
        return audit(
            values[inside],
            sensitive_features={self.column: self.groups[inside]},
            control_features=control,
            sample_weight=None if weights is None else weights[inside],
        )


def _labels(groups: Groups) -> list[str]:
    return [", ".join(map(str, label)) for label in groups.labels]


def _bands(rows: Rows) -> tuple[list[str], IntArray]:
    """Names of the bands of the first sensitive number, and the band of each row, −1 for none."""
    name, cell_values = next(iter(rows.numbers.items()))
    values = np.asarray(cell_values)[rows.codes]
    known = np.isfinite(values)
    edges = np.unique(np.quantile(values[known], np.linspace(0, 1, _BANDS + 1)))
    if len(edges) == 2:  # most rows have the smallest value, or the largest: a band of its own
        low, high = edges
        above = values[known & (values > low)]
        edges = np.array([low, above.min() if 2 * len(above) < known.sum() else high, high])
    codes = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, max(len(edges) - 2, 0))
    bands = [f"{name} {low:.4g} to {high:.4g}" for low, high in pairwise(edges)]
    return bands or [f"{name} {edges[0]:.4g}"], np.where(known, codes, -1)


def _compared(comparison: Comparison, predicted: PredictedRows, values: FloatArray) -> FloatArray:
    """What the constraint compares between groups: predictions, or errors if y is known."""
    if predicted.y is None:
        return values
    return comparison.constraint.compared(values[:, None], predicted.y[:, None])[:, 0]


def _curve(predicted: PredictedRows, comparison: Comparison, rows: Rows) -> dict[str, Any]:
    """The sums from which errors and gaps follow at every position."""
    known = predicted.y is not None
    y = predicted.y if predicted.y is not None else np.zeros(len(predicted))
    shares = None
    if predicted.sample_weight is not None and comparison.constraint.weight_scope != "constraint":
        shares = predicted.sample_weight / predicted.sample_weight.sum()
    Y, fair, free = (values.reshape(-1, 1) for values in (y, predicted.fair, predicted.free))
    sums = CurveSums.from_predictions(Y, fair, free, comparison, rows, shares)
    return {
        "errors": sums.products[:, :, 0].tolist() if known else None,
        "variance": float(sums.variance[0]) if known else None,
        "gap_labels": list(comparison.constraint.group_gaps(rows).labels),
        "gaps": sums.gaps[:, :, 0].tolist(),
    }


def _means(values: FloatArray, codes: IntArray, weights: FloatArray | None, k: int) -> list[float]:
    """Mean of the values in each of k groups; 0 for groups without weight."""
    inside = codes >= 0
    weights = np.ones(len(codes)) if weights is None else weights
    mass = np.bincount(codes[inside], weights[inside], minlength=k)
    sums = np.bincount(codes[inside], (weights * values)[inside], minlength=k)
    means: list[float] = (sums / np.where(mass > 0, mass, 1.0)).tolist()
    return means


def _histograms(predicted: PredictedRows, codes: IntArray, k: int) -> dict[str, Any]:
    """Share of each group in each bar, in thousandths, at every position of the slider."""
    inside = codes >= 0
    codes, fair, free = codes[inside], predicted.fair[inside], predicted.free[inside]
    low, high = float(min(fair.min(), free.min())), float(max(fair.max(), free.max()))
    if not high > low:
        low, high = low - 0.5, high + 0.5
    counts = np.maximum(np.bincount(codes, minlength=k), 1)
    scale = BINS / (high - low)
    start, change = (fair - low) * scale, (free - fair) * scale
    bars = []
    for step in range(STEPS + 1):
        bin_of_row = np.clip((start + step / STEPS * change).astype(np.intp), 0, BINS - 1)
        found = np.bincount(codes * BINS + bin_of_row, minlength=k * BINS).reshape(k, BINS)
        bars.append(np.rint(1000 * found / counts[:, None]).astype(int).tolist())
    return {"range": [low, high], "bars": bars}


def _changes(predicted: PredictedRows, codes: IntArray, k: int) -> list[dict[str, float]]:
    """How much the constraint changes the predictions of each group."""
    change = predicted.fair - predicted.free
    negligible = 1e-9 * (float(np.ptp(change)) or 1.0)
    found = []
    for group in range(k):
        changes = change[codes == group]
        low, high = np.quantile(changes, [0.1, 0.9])
        found.append(
            {
                "low": float(low),
                "high": float(high),
                "up": float(np.mean(changes > negligible)),
                "down": float(np.mean(changes < -negligible)),
            }
        )
    return found
