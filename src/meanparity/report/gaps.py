"""Which gap is the gap of a group's mean, which a covariance, and which another condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from meanparity._typing import FloatArray, IntArray
from meanparity.constraints.functionals import Functionals
from meanparity.data.rows import Rows
from meanparity.report.statements import Kind

_SAME = 1e-8  # relative difference of weights that are the same up to rounding


@dataclass(frozen=True, eq=False)
class NamedGaps:
    """Gaps of several models.

    Parameters
    ----------
    names : tuple of r str
        What each is about.
    kinds : tuple of r Kind
        What each is a gap of.
    values : (c, r) array
        The gaps of each column of predictions.
    """

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    values: FloatArray

    def __add__(self, other: NamedGaps) -> NamedGaps:
        values = np.hstack([self.values, other.values])
        return NamedGaps(self.names + other.names, self.kinds + other.kinds, values)


def gaps_of_groups(names: Sequence[str], values: FloatArray) -> NamedGaps:
    """Gaps, (c, k), that are those of the means of k groups."""
    return NamedGaps(tuple(names), (Kind.mean,) * len(names), values)


def named_gaps(
    between: Functionals, rows: Rows, values: FloatArray, names: Sequence[str], codes: IntArray
) -> NamedGaps:
    """The gaps of functionals, (c, r), with the names of groups where they are about these.

    A gap is that of a group's mean if its weights say so: ``1/M − 1/T`` for the rows of the group
    and −1/T for all others that count, where M and T are the sums of their weights. `codes`, (n,),
    has the group of each row, −1 for none, and `names` what they are called.
    """
    of_cells = np.full(len(rows.cells), -1)
    of_cells[rows.codes] = codes
    numbers = Kind.covariance if rows.schema.continuous else Kind.condition
    found = []
    on_cells = between.codes is rows.codes or np.array_equal(between.codes, rows.codes)
    weights = _weights(between) if on_cells and between.table.shape[0] == len(rows.cells) else None
    for j, label in enumerate(between.labels):
        members = None if weights is None else _group(weights[j], rows.mass)
        if members is None:
            found.append((label, numbers))
            continue
        code = of_cells[np.argmax(members)]
        same = code >= 0 and np.array_equal(members, (of_cells == code) & (rows.mass > 0))
        found.append((names[code] if same else label, Kind.mean))
    return NamedGaps(tuple(name for name, _ in found), tuple(kind for _, kind in found), values)


def _weights(between: Functionals) -> FloatArray:
    """How much a row of each cell counts in each gap: (r, k)."""
    product: Any = between.units @ between.table.T
    return np.asarray(product.toarray() if sparse.issparse(product) else product)


def _group(weights: FloatArray, mass: FloatArray) -> Any:
    """The cells of the group whose mean a gap is about, (k,); None if it is about no group."""
    size = np.abs(weights).max(initial=0.0)
    inside = (np.abs(weights) > _SAME * size) & (mass > 0)
    members = inside & (weights > 0)
    if not members.any() or members.sum() == inside.sum():
        return None
    total, own = mass[inside].sum(), mass[members].sum()
    expected = np.where(members, 1 / own, 0.0) - inside / total
    return members if np.abs(weights - expected)[mass > 0].max() <= _SAME * size else None
