"""The conditions on all rows but one, for every row."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from meanparity._typing import FloatArray, IntArray
from meanparity.constraints.base import Constraint
from meanparity.constraints.functionals import Functionals
from meanparity.data.rows import Rows

MOST_CELLS = 200


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Functionals of n − 1 rows, n times: those without row i are ``C = diag(w) T[codes]``.

    T depends on row i by its cell and its weight alone: without weights there are k of them.

    Parameters
    ----------
    codes : (n,) array of int
        The cell of each row.
    n_cells : int
        Number of cells, k.
    tables : tuple of (k, q) arrays
        T, with a row of zeros for a cell without rows; q may differ.
    which : (n,) array of int
        Which of the tables holds when a row is left out.
    targets : tuple of (q, m) or (q, 1) arrays
        The targets of each table; if errors are compared, how far they are from ``Cᵀ y``.
    compares_errors : bool
        Whether the functionals are about errors, so that ``Cᵀ y`` is added to the targets.
    """

    codes: IntArray
    n_cells: int
    tables: tuple[FloatArray, ...]
    which: IntArray
    targets: tuple[FloatArray, ...]
    compares_errors: bool

    @classmethod
    def compute(cls, rows: Rows, constraint: Constraint) -> LeftOut:
        """The functionals of all rows but one, computed once for each cell and weight."""
        _refuse_use_of_y(rows, constraint)
        k = len(rows.cells)
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
        pairs = np.stack([rows.codes.astype(float), weights], axis=1)
        _, first, which = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
        tables, targets = [], []
        for row in first:
            keep = np.arange(rows.n_rows) != row
            rest = rows.subset(keep)
            if rest.groups is not None and rest.groups.n_groups == 1:  # nothing left to compare
                tables.append(np.zeros((k, 0)))
                targets.append(np.zeros((0, 1)))
                continue
            try:
                found = constraint.functionals(rest)
            except ValueError as error:
                raise ValueError(f"Without one row, as in leave-one-out: {error}") from error
            of_cells = found.on_cells(rows.codes[keep], k, weights[keep])
            if of_cells is None:
                raise ValueError(
                    f"{type(constraint).__name__} says needs_rows = '', but rows with equal "
                    "sensitive and control values have different weights in its functionals. Say "
                    "why it needs rows, and pass cv=5 instead of leave-one-out."
                )
            tables.append(of_cells.table)
            targets.append(_fixed_targets(of_cells, rest, constraint))
        return cls(
            rows.codes,
            k,
            tuple(tables),
            np.ravel(which),
            tuple(targets),
            constraint.compares_errors,
        )


def _fixed_targets(found: Functionals, rows: Rows, constraint: Constraint) -> FloatArray:
    """The targets, minus those of y if errors are compared: what does not depend on y."""
    if not constraint.compares_errors:
        return found.targets
    assert rows.y is not None
    return found.targets - found.apply(rows.y)


def _refuse_use_of_y(rows: Rows, constraint: Constraint) -> None:
    """Refuse functionals that depend on y: the same ones would not hold without another row."""
    if rows.y is None:
        return
    other = replace(rows, y=2 * rows.y[::-1] - rows.y.min(axis=0))  # positive if y is
    found = [(part, constraint.functionals(part)) for part in (rows, other)]
    C, D = (functionals.dense() for _, functionals in found)
    t, u = (_fixed_targets(functionals, part, constraint) for part, functionals in found)
    size = np.abs(t).max(initial=0.0) + np.abs(C).sum() * np.abs(rows.y).max()
    if (
        C.shape == D.shape
        and np.abs(C - D).max(initial=0.0) <= 1e-9 * np.abs(C).max(initial=0.0)
        and np.abs(t - u).max(initial=0.0) <= 1e-9 * size
    ):
        return
    advice = "If it compares errors, say so in its class: compares_errors = True."
    if constraint.compares_errors:
        advice = "Its targets may be Cᵀy plus numbers that do not depend on y."
    raise ValueError(
        f"{type(constraint).__name__} says needs_rows = '', but its conditions change when y "
        f"changes. {advice} Otherwise say why it needs rows, and pass cv=5 instead of "
        "leave-one-out."
    )
