"""Everything that a report shows of one set of rows, at every position of the slider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanparity._typing import FloatArray, IntArray
from meanparity.audit import Audit, audit
from meanparity.data.groups import Groups, display_label
from meanparity.data.rows import Rows
from meanparity.report.bands import Bands, band_edges, band_names, bands_of
from meanparity.report.gaps import NamedGaps, gaps_of_groups, named_gaps
from meanparity.report.slider import Slider
from meanparity.report.small_cells import MERGED, hide_bars, hide_shares, inner_range, merge_groups
from meanparity.report.statements import Kind, Named
from meanparity.tradeoff.curve import Comparison

BINS = 40  # bars of a histogram
MOST_GROUPS = 50


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
    constrained : bool, optional
        Whether the constraint was imposed on these rows; None if that is not known.
    further : (n, c) array, optional
        Further columns, of which a `Slider` makes models.
    scores : (n, 2 + c) array, optional
        What the constraint compares in place of `fair`, `free` and `further`, such as the scores of
        a classifier that predicts probabilities.
    best : (n,) array, optional
        Predictions of the model without the constraint whose error the cost is measured against, if
        it is another one than that of `free`.
    without : str, default="without the constraint"
        What the sentence about the cost calls this model.

    See Also
    --------
    make_report : Takes them.

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
    constrained: bool | None = None
    further: FloatArray | None = None
    scores: FloatArray | None = None
    best: FloatArray | None = None
    without: str = "without the constraint"

    def __post_init__(self) -> None:
        for name in ("fair", "free", "y", "sample_weight", "further", "scores", "best"):
            value: Any = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, np.asarray(value, dtype=np.float64))

    def __len__(self) -> int:
        return len(self.fair)

    @property
    def columns(self) -> FloatArray:
        """Predictions of both models, and the further columns: (n, 2 + c)."""
        further = () if self.further is None else (self.further,)
        return np.column_stack([self.fair, self.free, *further])

    def at(self, weights: FloatArray) -> FloatArray:
        """Predictions of a model that is a sum of the columns."""
        return np.asarray(self.columns @ weights)

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
    columns, numbers, control : tuples of str
        The sensitive columns that are categories, those that are numbers, and the control columns.
    separately : bool
        Whether each of several categories is compared by itself.
    banded : bool
        Whether the groups are bands of a sensitive number, because no sensitive column is a
        category.
    quantity : str
        What is compared between groups, such as "prediction" or "prediction error".
    before, after : Audit
        Audits of the unconstrained predictions and of those of the model.
    outcomes : dict or None
        Mean outcome of each group.
    slider : Slider
        The models.
    bands : tuple of Bands
        Bands of the sensitive numbers.
    ranges : dict
        The lowest and the highest prediction of the model, of all rows under the name "", and in
        each stratum if there are several.
    data : dict
        The numbers that the page's script needs.
    min_cell : int, default=1
        The smallest number of people about whom it says anything.
    """

    predicted: PredictedRows
    names: tuple[str, ...]
    n_groups: int
    columns: tuple[str, ...]
    numbers: tuple[str, ...]
    control: tuple[str, ...]
    separately: bool
    banded: bool
    quantity: str
    before: Audit
    after: Audit
    outcomes: dict[str, float] | None
    slider: Slider
    bands: tuple[Bands, ...]
    ranges: dict[str, tuple[float, float]]
    data: dict[str, Any] = field(repr=False)
    min_cell: int = 1

    @classmethod
    def from_rows(
        cls,
        predicted: PredictedRows,
        comparison: Comparison,
        slider: Slider,
        min_cell: int = 1,
        edges: Mapping[str, FloatArray] | None = None,
    ) -> Summary:
        """Summarise a set of rows; `edges` are those of the bands of sensitive numbers."""
        rows = predicted.as_rows(comparison)
        edges = band_edges(rows) if edges is None else edges
        every = _StratifiedGroups.from_rows(rows, edges)
        table = every.merged(min_cell, f" of the {len(predicted):,} {predicted.name}")
        counts = np.bincount(table.codes[table.codes >= 0], minlength=len(table.names))
        largest = np.sort(np.argsort(-counts, kind="stable")[:MOST_GROUPS])
        place = np.full(len(table.names) + 1, -1)
        place[largest] = np.arange(len(largest))
        codes = place[table.codes]  # −1 stays −1
        names = tuple(table.names[i] for i in largest)
        k, n_strata = len(names), len(table.stratum_names)

        quantity = "prediction"
        columns = predicted.columns
        compared = _compared(comparison, predicted, columns)
        fair, free, now = compared[:, 0], compared[:, 1], compared @ slider.model
        if predicted.scores is not None:
            quantity = "score"
        elif predicted.y is not None and not np.array_equal(fair, predicted.fair):
            is_error = np.array_equal(fair, predicted.fair - predicted.y)
            quantity = "prediction error" if is_error else "compared value"

        # weights that apply to the loss alone do not count in group means
        counted = predicted
        if comparison.constraint.weight_scope == "loss":
            counted = replace(predicted, sample_weight=None)

        def all_means(values: FloatArray) -> dict[str, list[list[float]]]:
            weights = counted.sample_weight
            return {
                "means": [_means(column, codes, weights, k) for column in values.T],
                "strata": [_means(column, table.strata, weights, n_strata) for column in values.T],
            }

        outcomes = None
        if predicted.y is not None:
            means = _means(predicted.y, codes, counted.sample_weight, k)
            outcomes = dict(zip(names, means, strict=True))
        zero = _rounding(predicted.free, predicted.fair)
        gaps = _gaps(predicted, comparison, rows, compared, every)
        if table is not every and rows.groups is not None:
            weights = counted.sample_weight
            of_groups = every.gaps(compared, weights)[:, every.is_compared]
            _require_group_gaps(gaps.values, of_groups, min_cell)
            gaps = gaps_of_groups(table.names, table.gaps(compared, weights))
        elif Kind.mean not in gaps.kinds and rows.groups is not None:
            gaps = gaps_of_groups(table.names, table.gaps(compared, counted.sample_weight)) + gaps
        sums = _sums(predicted, comparison)
        data = {
            "name": predicted.name,
            "n": len(predicted),
            "in_no_group": int((table.codes < 0).sum()),
            "constrained": predicted.constrained,
            "quantity": quantity,
            "zero": zero if min_cell == 1 else float(f"{zero:.0e}"),
            "groups": list(names),
            "counts": counts[largest].tolist(),
            "stratum": table.stratum_of[largest].tolist(),
            "predicted": all_means(columns),
            "compared": all_means(compared),
            "gap_labels": list(gaps.names),
            "gap_kinds": [str(kind) for kind in gaps.kinds],
            "gaps": gaps.values.tolist(),
            **sums,
            **_histograms(columns, codes, k, slider, min_cell),
            "change": _changes(columns, codes, k, slider, min_cell),
        }
        return cls(
            predicted,
            names,
            len(table.names),
            rows.schema.categories,
            rows.schema.continuous,
            rows.schema.control,
            len(rows.schema.categories) > 1 and not rows.schema.intersectional,
            rows.groups is None,
            quantity,
            table.audit(free, counted.sample_weight),
            table.audit(now, counted.sample_weight),
            outcomes,
            slider,
            bands_of(rows, edges, compared, counted.sample_weight, slider, min_cell),
            _ranges(predicted.at(slider.model), every),
            data,
            min_cell,
        )

    @property
    def is_stratified(self) -> bool:
        """Whether groups are compared within strata."""
        return len(self.data["predicted"]["strata"][0]) > 1

    def gaps(self, weights: FloatArray) -> FloatArray:
        """The gaps of a model that is a sum of the columns."""
        return np.asarray(weights @ np.array(self.data["gaps"]))

    def gaps_of(self, kind: Kind, weights: FloatArray) -> list[Named]:
        """The gaps of one kind."""
        labels, kinds = self.data["gap_labels"], self.data["gap_kinds"]
        found = zip(labels, kinds, self.gaps(weights).tolist(), strict=True)
        return [Named(name, value) for name, own, value in found if own == kind]

    @property
    def kinds(self) -> dict[Kind, int]:
        """The kinds of gaps on these rows, and their numbers."""
        found = self.data["gap_kinds"]
        return {kind: found.count(kind) for kind in Kind if kind in found}

    def mean_squared_error(self, weights: FloatArray) -> float | None:
        """Its mean squared error, if the outcomes are known."""
        errors = self.data["errors"]
        return None if errors is None else float(weights @ np.array(errors) @ weights)

    @property
    def free_error(self) -> float | None:
        """The mean squared error of the model without the constraint, the best one if it is known.

        None if the outcomes are not known.
        """
        of_best: float | None = self.data["error_of_best"]
        return self.mean_squared_error(self.slider.weights[-1]) if of_best is None else of_best


def require_groups(row_sets: Mapping[str, Rows], min_cell: int) -> None:
    """Refuse sets of rows, by name, of which a report could show fewer than two groups.

    The sensitive numbers of all are divided into the bands of the first.
    """
    edges = band_edges(next(iter(row_sets.values())))
    for name, rows in row_sets.items():
        where = f" of the {rows.n_rows:,} {name}"
        _StratifiedGroups.from_rows(rows, edges).merged(min_cell, where)


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
    def from_rows(cls, rows: Rows, edges: Mapping[str, FloatArray]) -> _StratifiedGroups:
        if rows.groups is None:
            name, cell_values = next(iter(rows.numbers.items()))
            labels, codes = band_names(name, edges[name], np.asarray(cell_values)[rows.codes])
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
        column = ", ".join(rows.schema.categories or rows.schema.sensitive)
        control = ", ".join(rows.schema.control)
        return cls(column, control, names, both_codes, groups, stratum_names, strata, stratum_of)

    @property
    def is_compared(self) -> NDArray[np.bool_]:
        """Whether each group has others in its stratum."""
        return np.bincount(self.stratum_of)[self.stratum_of] > 1

    def merged(self, min_cell: int, where: str = "") -> _StratifiedGroups:
        """With groups of fewer rows merged; itself if there are none. `where` is for messages."""
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.names))
        if (counts >= min_cell).all():
            return self
        codes, stratum_of, origin = merge_groups(self.codes, self.stratum_of, min_cell)
        if len(origin) < 2:
            raise ValueError(
                f"min_cell={min_cell} leaves {len(origin)} of {len(self.names)} groups{where}, so "
                "there is nothing to compare. Pass a smaller number."
            )
        merged = np.array([group < 0 for group in origin] + [False])
        strata = np.append(stratum_of, -1)[codes]
        in_stratum = [self.stratum_names[i] for i in stratum_of]
        names = [
            self.names[group] if group >= 0 else f"{name}: {MERGED}" if name else MERGED
            for group, name in zip(origin, in_stratum, strict=True)
        ]
        groups = np.where(merged[codes], MERGED, self.groups)
        return replace(
            self, names=names, codes=codes, groups=groups, strata=strata, stratum_of=stratum_of
        )

    def gaps(self, values: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Group means minus the means of their strata, of columns of values: (c, k)."""
        k, n_strata = len(self.names), len(self.stratum_names)
        return np.array(
            [
                np.array(_means(column, self.codes, weights, k))
                - np.array(_means(column, self.strata, weights, n_strata))[self.stratum_of]
                for column in values.T
            ]
        )

    def audit(self, values: FloatArray, weights: FloatArray | None) -> Audit:
        """Audit values of the rows that are in a group."""
        inside = self.codes >= 0
        control = None
        if len(self.stratum_names) > 1:
            control = {self.control: self.strata[inside]}
        elif len(self.names) == 1:
            raise ValueError(
                f"All {inside.sum()} rows are in one group ({self.names[0]}), so there is nothing "
                "to compare it with. Pass rows of at least two groups."
            )
        codes, first = np.unique(self.codes[inside], return_index=True)
        names = self.groups[inside][first].tolist()  # the same in several strata
        number = {name: at for at, name in enumerate(dict.fromkeys(names))}
        group = np.array([number[name] for name in names])
        found = audit(
            values[inside],
            sensitive_features={self.column: group[np.searchsorted(codes, self.codes[inside])]},
            control_features=control,
            sample_weight=None if weights is None else weights[inside],
            continuous=[],
        )
        strata = self.strata[inside][first] if control else [None] * len(codes)
        place = {pair: at for at, pair in enumerate(zip(strata, group, strict=True))}
        label: dict[Any, Any] = {at: name for name, at in number.items()}
        ordered = sorted(found.findings, key=lambda f: place[f.stratum, f.group])

        def stratum(code: Any) -> Any:
            return None if control is None else self.stratum_names[code]

        return replace(
            found,
            findings=tuple(
                replace(
                    f,
                    group=label[f.group],
                    label="",
                    stratum=stratum(f.stratum),
                    stratum_label="",
                )
                for f in ordered
            ),
            left_out=tuple(stratum(code) for code in found.left_out),
            left_out_labels=(),
        )


def _labels(groups: Groups) -> list[str]:
    return [display_label(groups.columns, label) for label in groups.labels]


def _compared(comparison: Comparison, predicted: PredictedRows, columns: FloatArray) -> FloatArray:
    """What the constraint compares between groups: predictions, or errors if y is known.

    Models are sums of the columns, (n, c), in which the shares of the first two add up to 1. What
    is compared is the same sum of the columns here.
    """
    if predicted.scores is not None:
        return predicted.scores
    if predicted.y is None:
        return columns
    y, free = predicted.y[:, None], columns[:, 1:2]
    ends = [comparison.constraint.compared(columns[:, i : i + 1], y) for i in (0, 1)]
    further = (
        comparison.constraint.compared(free + columns[:, i : i + 1], y) - ends[1]
        for i in range(2, columns.shape[1])
    )
    return np.hstack([*ends, *further])


def _gaps(
    predicted: PredictedRows,
    comparison: Comparison,
    rows: Rows,
    compared: FloatArray,
    table: _StratifiedGroups,
) -> NamedGaps:
    """The gaps of all models, as the constraint has them, under the names of the table."""
    between = comparison.constraint.between_groups(rows)
    gaps = between.gaps(compared).T
    gaps[2:] -= between.gaps_of_zero.T  # a target counts once
    return named_gaps(between, rows, gaps, table.names, table.codes)


def _sums(predicted: PredictedRows, comparison: Comparison) -> dict[str, Any]:
    """The sums from which errors of all models follow."""
    if predicted.y is None:
        return {"errors": None, "variance": None, "error_of_best": None}
    shares = np.full(len(predicted), 1 / len(predicted))
    if predicted.sample_weight is not None and comparison.constraint.weight_scope != "constraint":
        shares = predicted.sample_weight / predicted.sample_weight.sum()
    errors = predicted.columns
    errors[:, :2] -= predicted.y[:, None]
    products = errors.T @ (shares[:, None] * errors)
    variance = 0.0  # of equal outcomes, also where rounding would leave a little
    if np.ptp(predicted.y) > 0:
        variance = float(shares @ (predicted.y - shares @ predicted.y) ** 2)
    of_best = None
    if predicted.best is not None:
        of_best = float(shares @ (predicted.best - predicted.y) ** 2)
    return {"errors": products.tolist(), "variance": variance, "error_of_best": of_best}


def _ranges(values: FloatArray, table: _StratifiedGroups) -> dict[str, tuple[float, float]]:
    """The lowest and the highest value, of all rows and in each stratum."""
    found = {"": (float(values.min()), float(values.max()))}
    if len(table.stratum_names) > 1:
        for at, name in enumerate(table.stratum_names):
            inside = values[table.strata == at]
            if len(inside):
                found[name] = float(inside.min()), float(inside.max())
    return found


def _rounding(*predictions: FloatArray) -> float:
    """The size of gaps that are rounding error, also where all predictions are equal."""
    return max(max(1e-9 * float(np.ptp(p)), 1e-14 * float(np.abs(p).max())) for p in predictions)


def _means(values: FloatArray, codes: IntArray, weights: FloatArray | None, k: int) -> list[float]:
    """Mean of the values in each of k groups; 0 for groups without weight."""
    inside = codes >= 0
    weights = np.ones(len(codes)) if weights is None else weights
    mass = np.bincount(codes[inside], weights[inside], minlength=k)
    sums = np.bincount(codes[inside], (weights * values)[inside], minlength=k)
    means: list[float] = (sums / np.where(mass > 0, mass, 1.0)).tolist()
    return means


def _require_group_gaps(found: FloatArray, of_groups: FloatArray, min_cell: int) -> None:
    """Refuse gaps that are not between the groups of the table, and might be of fewer people."""
    same = found.shape == of_groups.shape and np.allclose(
        np.sort(np.abs(found), axis=1),
        np.sort(np.abs(of_groups), axis=1),
        rtol=1e-6,
        atol=1e-9 * np.abs(of_groups).max(initial=0.0),
    )
    if not same:
        raise ValueError(
            f"min_cell={min_cell} needs gaps between combinations of categories, and this "
            "constraint compares something else. Merge small groups before the fit, or leave "
            "min_cell out."
        )


def _histograms(
    columns: FloatArray, codes: IntArray, k: int, slider: Slider, min_cell: int
) -> dict[str, Any]:
    """Share of each group in each bar, in thousandths, at every position; the model comes last."""
    inside = codes >= 0
    codes, columns = codes[inside], columns[inside]
    ends = columns @ np.stack([*slider.weights[[0, -1]], slider.model], axis=1)
    low, high = inner_range(ends, min_cell)
    if not high > low:
        low, high = low - 0.5, high + 0.5
    counts = np.maximum(np.bincount(codes, minlength=k), 1)
    scale, bars = BINS / (high - low), []
    fair, free, *further = columns.T
    start, steps = (fair - low) * scale, np.array([free - fair, *further]) * scale
    for weights in (*slider.weights, slider.model):  # the first two shares add up to 1
        places = start + weights[1:] @ steps
        bin_of_row = np.clip(places, 0, BINS - 1).astype(np.intp)
        found = np.bincount(codes * BINS + bin_of_row, minlength=k * BINS).reshape(k, BINS)
        found = hide_bars(found, min_cell)
        bars.append(np.rint(1000 * found / counts[:, None]).astype(int).tolist())
    return {"range": [low, high], "bars": bars}


def _changes(
    columns: FloatArray, codes: IntArray, k: int, slider: Slider, min_cell: int
) -> list[list[dict[str, float | None]]]:
    """How much each model changes the free predictions of each group; the model comes last."""
    free = slider.weights[-1]
    whole = slider.weights[0] - free
    negligible = 1e-9 * (float(np.ptp(columns @ whole)) or 1.0)
    groups = [columns[codes == group] for group in range(k)]
    at_parity = [_change(part @ whole, negligible) for part in groups]
    found = []
    for weights in (*slider.weights, slider.model):
        step = weights - free
        share = float(step @ whole) / (float(whole @ whole) or 1.0)
        if np.allclose(step, share * whole, rtol=0, atol=1e-12):  # as along the dial
            scale = {"low": share, "high": share, "up": share > 0, "down": share > 0}
            these = [{n: v * scale[n] for n, v in one.items()} for one in at_parity]
        else:
            these = [_change(part @ step, negligible) for part in groups]
        pairs = zip(these, groups, strict=True)
        found.append([hide_shares(one, part, min_cell) for one, part in pairs])
    return found


def _change(changes: FloatArray, negligible: float) -> dict[str, float]:
    low, high = np.quantile(changes, [0.1, 0.9])
    return {
        "low": float(low),
        "high": float(high),
        "up": float(np.mean(changes > negligible)),
        "down": float(np.mean(changes < -negligible)),
    }
