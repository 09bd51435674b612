"""Sums over a block of rows, whose features are computed a few rows at a time."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meanparity._typing import Features, FloatArray, IntArray
from meanparity.groups import group_sums
from meanparity.linalg import row_blocks
from meanparity.solvers.features import FeatureSpace
from meanparity.solvers.statistics import CellSums, LossSums

BLOCK = 2**21  # features of a block (8 MiB in single precision)
_AT_ONCE = 2**18  # features that are computed at a time: they stay in the cache (2 MiB)
_FEW = 32


def blocks(n: int, space: FeatureSpace) -> list[slice]:
    """N rows in blocks, of which each core holds one at a time."""
    return list(row_blocks(n, max(BLOCK // space.width, 256)))


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows, few enough for one core.

    Parameters
    ----------
    space : FeatureSpace
        The features.
    X : (b, d) array or sparse matrix
        Rows.
    Y : (b, m) array
        Targets less their origin; m is 0 where they are not known.
    values : sequence of tuples
        Sensitive and control values of all cells that there are.
    codes : (b,) array of int
        The cell of each row.
    in_cells : (b,) array or None
        w, all ones if None.
    """

    space: FeatureSpace
    X: Features
    Y: FloatArray
    values: Sequence[tuple[Hashable, ...]]
    codes: IntArray
    in_cells: FloatArray | None

    def cells(self) -> CellSums:
        """Sums in the cells that occur."""
        there, codes = np.unique(self.codes, return_inverse=True)
        features, _ = self._pass(codes, len(there), np.zeros((0, len(self.Y))), None)
        return self._cells(there, codes, features)

    def sums(self, in_loss: FloatArray | None) -> tuple[LossSums, CellSums]:
        """Sums over all rows, with the precision of the rows in the largest one, and in cells.

        `in_loss`, (b,), is u, all ones if None.
        """
        there, codes = np.unique(self.codes, return_inverse=True)
        u = np.ones(len(self.Y)) if in_loss is None else in_loss
        weighted = u[:, None] * self.Y
        phi = np.empty((len(self.Y), self.space.width), self.space.precision(self.X.dtype))
        features, more = self._pass(codes, len(there), np.vstack([u, weighted.T]), phi)
        self.space.whiten(phi)
        root = np.sqrt(u).astype(phi.dtype)
        if in_loss is not None:
            phi *= root[:, None]
        loss = LossSums(
            len(phi),
            float(u.sum()),
            more[0],
            (root @ phi).astype(float),
            (phi.T @ phi).astype(float),
            more[1:].T,
            weighted.sum(axis=0),
            (weighted * self.Y).sum(axis=0),
        )
        return loss, self._cells(there, codes, features)

    def _pass(
        self, codes: IntArray, k: int, factors: FloatArray, phi: NDArray[np.floating] | None
    ) -> tuple[FloatArray, FloatArray]:
        """Sums of features in k cells and with other factors, (f, b); features are left in phi."""
        b = len(codes)
        w = np.ones(b) if self.in_cells is None else self.in_cells
        few = k <= _FEW  # a product with indicators is faster than sums one by one
        if few:
            indicator = np.zeros((k, b))
            indicator[codes, np.arange(b)] = w
            factors = np.vstack([indicator, factors])
        in_cells, products = (np.zeros((rows, self.space.width)) for rows in (k, len(factors)))
        for part in row_blocks(b, max(_AT_ONCE // self.space.width, 256)):
            psi = self.space.raw(self.X[part])
            products += factors[:, part] @ psi
            if not few:
                in_cells += group_sums(codes[part], w[part, None] * psi, k)
            if phi is not None:
                phi[part] = psi
        return (products[:k], products[k:]) if few else (in_cells, products)

    def _cells(self, there: IntArray, codes: IntArray, features: FloatArray) -> CellSums:
        (b, m), k = self.Y.shape, len(there)
        w = np.ones(b) if self.in_cells is None else self.in_cells
        weighted = w[:, None] * self.Y
        columns = np.column_stack([w, weighted, weighted * self.Y])
        mass, targets, squares = np.split(group_sums(codes, columns, k), [1, 1 + m], axis=1)
        some = tuple(self.values[cell] for cell in there)
        counts = np.bincount(codes, minlength=k)
        return CellSums(some, counts, mass[:, 0], features, targets, squares)
