"""The conditions on all rows but one, for every row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanparity._typing import FloatArray, IntArray
from meanparity.constraints.base import Constraint
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
        The targets of each table, unless errors are compared.
    compares_errors : bool
        Whether the functionals are about errors, so that their targets are those of y.
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
            found = constraint.functionals(rest)
            C = found.dense() / weights[keep, None]
            table = np.zeros((k, C.shape[1]))
            table[rows.codes[keep]] = C  # rows of one cell share their row of T
            if np.abs(table[rows.codes[keep]] - C).max(initial=0.0) > 1e-9 * np.abs(C).max():
                raise ValueError(
                    f"{type(constraint).__name__} says needs_rows = '', but rows with equal "
                    "sensitive and control values have different weights in its functionals. Say "
                    "why it needs rows, and pass cv=5 instead of leave-one-out."
                )
            tables.append(table)
            targets.append(found.targets)
        return cls(
            rows.codes,
            k,
            tuple(tables),
            np.ravel(which),
            tuple(targets),
            constraint.compares_errors,
        )
