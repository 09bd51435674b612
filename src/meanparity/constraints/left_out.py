"""The conditions on all rows but one, for every row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from meanparity._typing import FloatArray, IntArray
from meanparity.constraints.functionals import Functionals
from meanparity.rows import Rows

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
    of_errors : bool
        Whether the functionals are about errors, that is, their targets are those of y.
    """

    codes: IntArray
    n_cells: int
    tables: tuple[FloatArray, ...]
    which: IntArray
    of_errors: bool

    @classmethod
    def of(
        cls, rows: Rows, functionals: Callable[[Rows], Functionals], *, of_errors: bool
    ) -> LeftOut:
        """Ask for the functionals of all rows but one, once for each cell and weight."""
        k = len(rows.cells)
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
        pairs = np.stack([rows.codes.astype(float), weights], axis=1)
        _, first, which = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
        tables = []
        for row in first:
            keep = np.arange(rows.n_rows) != row
            rest = rows.some(keep)
            if rest.groups is not None and rest.groups.n_groups == 1:  # nothing left to compare
                tables.append(np.zeros((k, 0)))
                continue
            found = functionals(rest)
            C = found.dense()
            if found.weights is not None:
                C = C / found.weights[:, None]
            table = np.zeros((k, C.shape[1]))
            table[rows.codes[keep]] = C  # rows of one cell share their row of T
            tables.append(table)
        return cls(rows.codes, k, tuple(tables), np.ravel(which), of_errors)
