"""Some rows, summed up: everything that a page shows of them, at every position of the dial."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from meanparity._typing import FloatArray, IntArray
from meanparity.audit import Audit, audit
from meanparity.constraints import ResidualParity
from meanparity.groups import Groups
from meanparity.path import Comparison, CurveSums
from meanparity.rows import Rows

STEPS = 100  # of the slider
BINS = 40
MOST_GROUPS = 50
_BANDS = 5  # of a sensitive number


@dataclass(frozen=True, eq=False)
class Part:
    """Rows with the predictions of both ends.

    Parameters
    ----------
    name : str
        What the rows are called, such as "training rows".
    fair, free : (n,) arrays
        Predictions under parity and without.
    sensitive_features : data frame, mapping or array
        Their sensitive columns.
    y : (n,) array, optional
        Outcomes, where they are known.
    control_features : data frame, mapping or array, optional
        Their control columns.
    sample_weight : (n,) array, optional
        Their weights.
    constrained : bool
        Whether parity was asked for on these rows.
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


@dataclass(frozen=True, eq=False)
class Summary:
    """What a page shows of a part.

    Parameters
    ----------
    part : Part
        The rows.
    names : tuple of str
        The groups that are shown (of each stratum), the largest if there are many.
    n_groups : int
        How many there are.
    banded : bool
        Whether the groups are bands of a sensitive number.
    about : {"prediction", "error"}
        What is compared.
    before, after : Audit
        What is known of the free predictions and of those of the model.
    outcomes : dict
        The mean outcome of each group, by its name.
    data : dict
        What the slider needs, as plain numbers.
    """

    part: Part
    names: tuple[str, ...]
    n_groups: int
    banded: bool
    about: str
    before: Audit
    after: Audit
    outcomes: dict[str, float] | None
    data: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, part: Part, comparison: Comparison, position: float) -> Summary:
        """Sum up the rows of a part."""
        # weights of the loss alone do not count in the means of groups
        no_weights = comparison.weight_scope == "loss"
        counted = replace(part, sample_weight=None) if no_weights else part
        lines = _Lines.of(part, comparison)
        counts = np.bincount(lines.codes[lines.codes >= 0], minlength=len(lines.names))
        shown = np.sort(np.argsort(-counts, kind="stable")[:MOST_GROUPS])
        place = np.full(len(lines.names) + 1, -1)
        place[shown] = np.arange(len(shown))
        codes = place[lines.codes]  # −1 stays −1
        names = tuple(lines.names[i] for i in shown)
        is_error = isinstance(comparison.constraint, ResidualParity) and part.y is not None
        off = part.y if is_error and part.y is not None else np.zeros(len(part.fair))
        values = (1 - position) * part.fair + position * part.free
        means = _means(counted, codes, len(names))
        strata = _means(counted, lines.strata, len(lines.stratum_names))
        outcomes = None if part.y is None else means(part.y)
        data = {
            "name": part.name,
            "n": len(part.fair),
            "in_no_group": int((lines.codes < 0).sum()),
            "constrained": part.constrained,
            "zero": 1e-9 * max(float(np.ptp(part.free)), float(np.ptp(part.fair))),
            "groups": list(names),
            "counts": counts[shown].tolist(),
            "fair": means(part.fair),
            "free": means(part.free),
            "stratum": lines.stratum_of[shown].tolist(),
            "strata": {"fair": strata(part.fair), "free": strata(part.free)},
            "compared": {
                "fair": means(part.fair - off),
                "free": means(part.free - off),
                "strata": {"fair": strata(part.fair - off), "free": strata(part.free - off)},
            },
            **_curve(part, comparison),
            **_histograms(part, codes, len(names)),
            "change": _changes(part, codes, len(names)),
        }
        return cls(
            part,
            names,
            len(lines.names),
            lines.banded,
            "error" if is_error else "prediction",
            _audited(counted, lines, part.free - off),
            _audited(counted, lines, values - off),
            None if outcomes is None else dict(zip(names, outcomes, strict=True)),
            data,
        )


@dataclass(frozen=True, eq=False)
class _Lines:
    """Who is in which group of which stratum.

    Parameters
    ----------
    column : str
        Names of the sensitive columns.
    names : list of str
        Groups of strata.
    codes : (n,) array
        The group of a stratum of each row, −1 for none.
    groups : (n,) array of str
        The group of each row, whatever the stratum.
    stratum_names : list of str
        Strata; one without a name if there are no control columns.
    strata : (n,) array
        The stratum of each row, −1 for rows in no group.
    stratum_of : array of int
        The stratum of each of `names`.
    banded : bool
        Whether groups are bands of a number.
    """

    column: str
    names: list[str]
    codes: IntArray
    groups: Any
    stratum_names: list[str]
    strata: IntArray
    stratum_of: IntArray
    banded: bool

    @classmethod
    def of(cls, part: Part, comparison: Comparison) -> _Lines:
        labels, codes, banded = _groups(part, comparison)
        rows = _rows(part, comparison, None)
        of_cell = np.full(len(rows.cells), -1)
        names = []
        for number, (name, cells) in enumerate(rows.strata):
            of_cell[cells] = number
            names.append(name)
        strata = np.where(codes >= 0, of_cell[rows.codes], -1)
        pairs = np.where(strata >= 0, strata * len(labels) + codes, -1)
        found, lines = np.unique(pairs[pairs >= 0], return_inverse=True)
        codes_of_lines = np.full(len(pairs), -1)
        codes_of_lines[pairs >= 0] = lines
        stratum_of, group_of = np.divmod(found, len(labels))
        both = [
            f"{names[i]}: {labels[j]}" if names[i] else labels[j]
            for i, j in zip(stratum_of, group_of, strict=True)
        ]
        people = np.array([*labels, ""], dtype=object)[codes]
        column = ", ".join(comparison.reading.sensitive)
        return cls(column, both, codes_of_lines, people, names, strata, stratum_of, banded)


def _audited(part: Part, lines: _Lines, values: FloatArray) -> Audit:
    control, inside = None, lines.codes >= 0
    if len(lines.stratum_names) > 1:
        names = np.array([*lines.stratum_names, ""], dtype=object)
        control = {"stratum": names[lines.strata][inside]}
    return audit(
        values[inside],
        sensitive_features={lines.column: lines.groups[inside]},
        control_features=control,
        sample_weight=None if part.sample_weight is None else part.sample_weight[inside],
    )


def _groups(part: Part, comparison: Comparison) -> tuple[list[str], IntArray, bool]:
    """Names of the groups, the group of each row (−1 for none), and whether they are bands."""
    reading = comparison.reading
    groups: Groups | None = reading.groups(part.sensitive_features)
    if groups is not None:
        names = [", ".join(map(str, label)) for label in groups.labels]
        return names, np.asarray(groups.codes), False
    rows = _rows(part, comparison, None)
    name, values = next(iter(rows.numbers.items()))
    values = np.asarray(values)[rows.codes]
    known = np.isfinite(values)
    edges = np.unique(np.quantile(values[known], np.linspace(0, 1, _BANDS + 1)))
    codes = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, max(len(edges) - 2, 0))
    bands = [f"{name} {low:.4g} to {high:.4g}" for low, high in pairwise(edges)]
    return bands or [f"{name} {edges[0]:.4g}"], np.where(known, codes, -1), True


def _rows(part: Part, comparison: Comparison, y: FloatArray | None) -> Rows:
    weights = part.sample_weight if comparison.weight_scope != "loss" else None
    return comparison.reading.rows(
        part.sensitive_features,
        control_features=part.control_features,
        sample_weight=weights,
        y=y,
        n_rows=len(part.fair),
    )


def _curve(part: Part, comparison: Comparison) -> dict[str, Any]:
    """What error and gaps follow from, at every position."""
    known = part.y is not None
    y = part.y if part.y is not None else np.zeros(len(part.fair))
    Y, fair, free = (values.reshape(-1, 1) for values in (y, part.fair, part.free))
    rows = _rows(part, comparison, Y if known else None)
    shares = None
    if part.sample_weight is not None and comparison.weight_scope != "constraint":
        shares = part.sample_weight / part.sample_weight.sum()
    sums = CurveSums.of(Y, fair, free, comparison, rows, shares)
    labels = comparison.constraint.contrasts(rows).labels
    return {
        "errors": sums.products[:, :, 0].tolist() if known else None,
        "variance": float(sums.variance[0]) if known else None,
        "gap_labels": list(labels),
        "gaps": sums.gaps[:, :, 0].tolist(),
    }


def _means(part: Part, codes: IntArray, k: int) -> Any:
    """A function that gives the mean of values in each of k groups."""
    weights = np.ones(len(codes)) if part.sample_weight is None else part.sample_weight
    inside = codes >= 0
    mass = np.bincount(codes[inside], weights[inside], minlength=k)

    def means(values: FloatArray) -> list[float]:
        sums = np.bincount(codes[inside], (weights * values)[inside], minlength=k)
        found: list[float] = (sums / np.where(mass > 0, mass, 1.0)).tolist()
        return found

    return means


def _histograms(part: Part, codes: IntArray, k: int) -> dict[str, Any]:
    """Thousandths of each group in each bar, at every position of the slider."""
    inside = codes >= 0
    codes, fair, free = codes[inside], part.fair[inside], part.free[inside]
    low, high = (float(f([f(fair), f(free)])) for f in (np.min, np.max))
    if not high > low:
        low, high = low - 0.5, high + 0.5
    counts = np.maximum(np.bincount(codes, minlength=k), 1)
    start, move = (fair - low) * (BINS / (high - low)), (free - fair) * (BINS / (high - low))
    bars = []
    for step in range(STEPS + 1):
        place = np.clip((start + step / STEPS * move).astype(np.intp), 0, BINS - 1)
        found = np.bincount(codes * BINS + place, minlength=k * BINS).reshape(k, BINS)
        bars.append(np.rint(1000 * found / counts[:, None]).astype(int).tolist())
    return {"range": [low, high], "bars": bars}


def _changes(part: Part, codes: IntArray, k: int) -> list[dict[str, Any]]:
    """How much parity moves the predictions of each group."""
    change = part.fair - part.free
    spread = float(np.ptp(change)) or 1.0
    found = []
    for group in range(k):
        some = change[codes == group]
        low, middle, high = np.quantile(some, [0.1, 0.5, 0.9])
        found.append(
            {
                "low": float(low),
                "middle": float(middle),
                "high": float(high),
                "up": float(np.mean(some > 1e-9 * spread)),
                "down": float(np.mean(some < -1e-9 * spread)),
            }
        )
    return found
