"""Sums over rows, one block at a time: everything that the normal equations need.

For features ψ(x), (p,), and whitened ones ``φ = Wᵀψ``, (r,), of rows with weights u in the loss
and w in the constraint, the sums are ``Σu``, ``Σuψ``, ``Σuφφᵀ``, ``Σuψyᵀ``, ``Σuy``, ``Σuy²``, and
in each cell of equal sensitive and control values the number of rows, ``Σw``, ``Σwψ``, ``Σwy`` and
``Σwy²``. They are computed one block of rows at a time, in any order and on any machine, and added.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from meanparity._typing import Features, FloatArray, IntArray
from meanparity.data.groups import Cells, group_sums
from meanparity.linalg.parallel import ordered_map
from meanparity.linalg.symmetric import row_blocks
from meanparity.solvers.features import FeatureMap
from meanparity.state import stored

BLOCK = 2**21  # features of a block (8 MiB in single precision)
AT_ONCE = 2**18  # features computed at a time, few enough for the cache (2 MiB)
_FEW_CELLS = 32  # cells up to which a product with indicators is faster than sums one by one


@stored("LossSums")
@dataclass(frozen=True, eq=False, repr=False)
class LossSums:
    """Sums over all rows that the squared error needs.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    mass : float
        Sum of the weights.
    features : (p,) array
        Weighted sum of the features ψ.
    whitened : (r,) array
        Weighted sum of φ, with the rounding of `gram`.
    gram : (r, r) array
        Weighted sum of ``φφᵀ``.
    cross : (p, m) array
        Weighted sum of ``ψyᵀ``.
    targets, squares : (m,) arrays
        Weighted sums of y minus its origin, and of the squares.
    """

    n_rows: int
    mass: float
    features: FloatArray
    whitened: FloatArray
    gram: FloatArray
    cross: FloatArray
    targets: FloatArray
    squares: FloatArray

    def add(self, other: LossSums, sign: int = 1) -> LossSums:
        """The sums over the rows of both; with sign −1, without the rows of the other."""
        return LossSums(*(mine + sign * vars(other)[name] for name, mine in vars(self).items()))

    def shift(self, features: FloatArray, targets: FloatArray) -> LossSums:
        """The same sums about origins that are further by (p,) and (m,), for ψ equal to φ."""
        s, t, n = self.features, self.targets, self.mass
        cross = self.cross - np.outer(features, t) - np.outer(s, targets)
        gram = self.gram - np.outer(s, features) - np.outer(features, s)
        return replace(
            self,
            features=s - n * features,
            whitened=self.whitened - n * features,
            gram=gram + n * np.outer(features, features),
            cross=cross + n * np.outer(features, targets),
            targets=t - n * targets,
            squares=self.squares - 2 * t * targets + n * targets**2,
        )


@stored("CellSums")
@dataclass(frozen=True, eq=False, repr=False)
class CellSums:
    """Sums over the rows of each of k cells.

    Parameters
    ----------
    counts : (k,) array of int
        Number of rows.
    mass : (k,) array
        Sums of the weights in the constraint.
    features : (k, p) array
        Weighted sums of the features ψ.
    targets, squares : (k, m) arrays
        Weighted sums of y minus its origin, and of the squares; m is 0 where y is not known.
    """

    counts: IntArray
    mass: FloatArray
    features: FloatArray
    targets: FloatArray
    squares: FloatArray

    @classmethod
    def zeros(cls, k: int, p: int, m: int) -> CellSums:
        """Sums over no rows."""
        none = np.zeros((k, m))
        return cls(np.zeros(k, np.intp), np.zeros(k), np.zeros((k, p)), none, none.copy())

    def shift(self, features: FloatArray, targets: FloatArray) -> CellSums:
        """The same sums about origins that are further by (p,) and (m,)."""
        mass = self.mass[:, None]
        return replace(
            self,
            features=self.features - mass * features,
            targets=self.targets - mass * targets,
            squares=self.squares - 2 * self.targets * targets + mass * targets**2,
        )

    @property
    def means(self) -> FloatArray:
        """Mean features of each cell, zero where there is no weight: (k, p)."""
        return self.mean(self.features)

    def mean(self, sums: FloatArray) -> FloatArray:
        """Sums over the rows of each cell, divided by its weight, zero where there is none."""
        mass = np.where(self.mass > 0, self.mass, 1.0)
        return np.asarray(sums / mass[:, None])


def sum_rows(
    features: FeatureMap,
    X: Features,
    Y: FloatArray,
    cells: Cells,
    weights: FloatArray | None,
) -> tuple[LossSums, CellSums]:
    """The sums over n rows, one block at a time on each core.

    Parameters
    ----------
    features : FeatureMap
        The features.
    X : (n, d) array or sparse matrix
        Rows.
    Y : (n, m) array
        Targets minus their origin.
    cells : Cells
        The cell of each row, and its weight in the constraint.
    weights : (n,) array or None
        Weights in the loss.
    """

    def block_sums(part: slice) -> tuple[LossSums, IntArray, CellSums]:
        u, w = (None if v is None else v[part] for v in (weights, cells.weights))
        return _Block(features, X[part], Y[part], cells.codes[part], w).sums(u)

    n, total = len(Y), None
    in_cells = CellSums.zeros(cells.count, features.width, Y.shape[1])
    blocks = _blocks(n, features)
    found = map(block_sums, blocks) if len(blocks) == 1 else ordered_map(block_sums, blocks)
    for loss, there, part in found:
        total = loss if total is None else total.add(loss)
        _add_to(in_cells, there, part)
    assert total is not None
    return total, in_cells


def sum_cells(features: FeatureMap, X: Features, cells: Cells) -> CellSums:
    """The sums in each cell of rows whose y is not known, one block at a time."""
    none = np.zeros((len(cells.codes), 0))
    in_cells = CellSums.zeros(cells.count, features.width, 0)
    for part in _blocks(len(cells.codes), features):
        w = None if cells.weights is None else cells.weights[part]
        _add_to(in_cells, *_Block(features, X[part], none[part], cells.codes[part], w).cells())
    return in_cells


def _blocks(n: int, features: FeatureMap) -> list[slice]:
    return list(row_blocks(n, max(BLOCK // features.width, 256)))


def _add_to(total: CellSums, cells: IntArray, part: CellSums) -> None:
    for name, sums in vars(part).items():
        getattr(total, name)[cells] += sums


@dataclass(frozen=True, eq=False)
class _Block:
    """A block of rows, small enough for one core."""

    features: FeatureMap
    X: Features
    Y: FloatArray
    codes: IntArray
    in_cells: FloatArray | None

    def cells(self) -> tuple[IntArray, CellSums]:
        """The cells that occur, and the sums in them."""
        there, codes = np.unique(self.codes, return_inverse=True)
        features, _ = self._pass(codes, len(there), np.zeros((0, len(self.Y))), None)
        return there, self._cell_sums(codes, features)

    def sums(self, in_loss: FloatArray | None) -> tuple[LossSums, IntArray, CellSums]:
        """Sums over all rows, the cells that occur, and the sums in them."""
        there, codes = np.unique(self.codes, return_inverse=True)
        u = np.ones(len(self.Y)) if in_loss is None else in_loss
        weighted = u[:, None] * self.Y
        phi = np.empty((len(self.Y), self.features.width), self.features.precision(self.X.dtype))
        features, more = self._pass(codes, len(there), np.vstack([u, weighted.T]), phi)
        self.features.whiten(phi)
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
        return loss, there, self._cell_sums(codes, features)

    def _pass(
        self, codes: IntArray, k: int, factors: FloatArray, phi: NDArray[np.floating] | None
    ) -> tuple[FloatArray, FloatArray]:
        """Sums of features in k cells and with other factors, (f, b); features are left in phi."""
        b = len(codes)
        w = np.ones(b) if self.in_cells is None else self.in_cells
        few = k <= _FEW_CELLS
        if few:
            indicator = np.zeros((k, b))
            indicator[codes, np.arange(b)] = w
            factors = np.vstack([indicator, factors])
        in_cells, products = (np.zeros((rows, self.features.width)) for rows in (k, len(factors)))
        for part in row_blocks(b, max(AT_ONCE // self.features.width, 256)):
            psi = self.features.raw(self.X[part])
            products += factors[:, part] @ psi
            if not few:
                in_cells += group_sums(codes[part], w[part, None] * psi, k)
            if phi is not None:
                phi[part] = psi
        return (products[:k], products[k:]) if few else (in_cells, products)

    def _cell_sums(self, codes: IntArray, features: FloatArray) -> CellSums:
        (b, m), k = self.Y.shape, len(features)
        w = np.ones(b) if self.in_cells is None else self.in_cells
        weighted = w[:, None] * self.Y
        columns = np.column_stack([w, weighted, weighted * self.Y])
        mass, targets, squares = np.split(group_sums(codes, columns, k), [1, 1 + m], axis=1)
        return CellSums(np.bincount(codes, minlength=k), mass[:, 0], features, targets, squares)
