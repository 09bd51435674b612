"""Sums over rows, one block at a time: everything that the normal equations need.

For features ψ(x), (p,), and whitened ones ``φ = Wᵀψ``, (r,), of rows with weights u in the loss
and w in the constraint, the sums are ``Σu``, ``Σuψ``, ``Σuφφᵀ``, ``Σuψyᵀ``, ``Σuy``, ``Σuy²``, and
in each cell of equal sensitive and control values the number of rows, ``Σw``, ``Σwψ``, ``Σwy`` and
``Σwy²``. They are computed one block of rows at a time, in any order and on any machine, and added.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from meanparity._typing import Features, FloatArray, IntArray
from meanparity.data.groups import Cells, group_sums
from meanparity.linalg.parallel import one_thread, ordered_map
from meanparity.linalg.symmetric import row_blocks
from meanparity.solvers.features import FeatureMap, whiten
from meanparity.state import stored

BLOCK = 2**21  # features of a block (8 MiB in single precision)
COLUMN_BLOCK = 2**20  # the same where the features are columns
_FEW_COLUMNS = 64  # columns up to which one thread sums twice as many of them no slower than two
AT_ONCE = 2**18  # features computed at a time, few enough for the cache (2 MiB)
_SMALL_PRODUCT = 2**18  # multiplications for which the BLAS wakes no other threads
_TILE = 4  # products with a multiple of so many rows are faster than with one row less
_DEVICE_ROWS = 2**20  # rows whose sums stay on a device until they are complete
_FEW_CELLS = 32  # cells up to which a product with indicators is faster than sums one by one

Members = tuple[IntArray, FloatArray, int]  # cells of rows, their weights, the number of cells


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

    def block_sums(part: slice) -> tuple[LossSums | None, Any, CellSums]:
        u, w = (None if v is None else v[part] for v in (weights, cells.weights))
        return _sum_block(features, X[part], Y[part], cells.codes[part], cells.count, w, u)

    n, total = len(Y), None
    in_cells = CellSums.zeros(cells.count, features.width, Y.shape[1])
    blocks = _blocks(n, features, cells.count)
    alone = len(blocks) == 1 or features.device is not None
    found = map(block_sums, blocks) if alone else ordered_map(block_sums, blocks)
    skinny = features.width <= _FEW_COLUMNS and n * features.width**2 > _SMALL_PRODUCT
    with one_thread() if alone and skinny else nullcontext():
        for loss, there, part in found:
            assert loss is not None
            total = loss if total is None else total.add(loss)
            _add_to(in_cells, there, part)
    assert total is not None
    return total, in_cells


def sum_cells(features: FeatureMap, X: Features, cells: Cells) -> CellSums:
    """The sums in each cell of rows whose y is not known, one block at a time."""
    none = np.zeros((len(cells.codes), 0))
    in_cells = CellSums.zeros(cells.count, features.width, 0)
    for part in _blocks(len(cells.codes), features, cells.count):
        w = None if cells.weights is None else cells.weights[part]
        block = X[part], none[part], cells.codes[part], cells.count, w
        _, there, sums = _sum_block(features, *block, with_loss=False)
        _add_to(in_cells, there, sums)
    return in_cells


def _blocks(n: int, features: FeatureMap, k: int) -> list[slice]:
    if features.device is not None:
        return row_blocks(n, _DEVICE_ROWS)
    numbers = BLOCK
    if _are_columns(features, k):
        numbers = 2 * COLUMN_BLOCK if features.width <= _FEW_COLUMNS else COLUMN_BLOCK
    return list(row_blocks(n, max(numbers // features.width, 256)))


def _are_columns(features: FeatureMap, k: int) -> bool:
    """Whether the features are columns, in so few cells that products with indicators are fast."""
    return features.whitening is None and k <= _FEW_CELLS


def _add_to(total: CellSums, cells: Any, part: CellSums) -> None:
    for name, sums in vars(part).items():
        getattr(total, name)[cells] += sums


def _sum_block(
    features: FeatureMap,
    X: Features,
    Y: FloatArray,
    codes: IntArray,
    k: int,
    w: FloatArray | None,
    u: FloatArray | None = None,
    *,
    with_loss: bool = True,
) -> tuple[LossSums | None, Any, CellSums]:
    """Sums over a block of b rows that is small enough for one core.

    Parameters
    ----------
    features, X, Y
        The features, rows and targets.
    codes, k : (b,) array of int, int
        The cell of each row, and how many cells there are.
    w, u : (b,) arrays or None
        Weights in the constraint and in the loss.
    with_loss : bool
        Whether the sums over all rows are wanted.

    Returns
    -------
    sums over all rows, the cells that the others are about, sums in these cells
    """
    b, m = Y.shape
    there: Any = slice(None)
    if _are_columns(features, k):
        loss, sums = _sum_columns(features, X, Y, codes, k, w, u)
        return (loss if with_loss else None), there, sums
    if k > _FEW_CELLS:
        there, codes = np.unique(codes, return_inverse=True)
        k = len(there)
    in_cells = np.ones(b) if w is None else w
    in_loss = np.ones(b) if u is None else u
    weighted = in_loss[:, None] * Y
    factors = [in_loss[None], weighted.T] if with_loss else [np.zeros((0, b))]
    columns = np.hstack([np.ones((b, 1)), Y, Y**2])
    few = k <= _FEW_CELLS
    if few:
        member = np.zeros((k, b))
        member[codes, np.arange(b)] = in_cells
        factors = [member, *factors]
        others = member @ columns
    else:
        others = group_sums(codes, in_cells[:, None] * columns, k)
    left = np.vstack(factors)
    members = None if few else (codes, in_cells, k)
    root = np.sqrt(in_loss) if with_loss else None
    compute = _products
    if features.device is not None:
        from meanparity.solvers.device_sums import device_products  # imports torch

        compute = device_products
    products, cell_features, whitened, gram = compute(features, X, left, members, root)
    if few:
        cell_features, products = products[:k], products[k:]
    mass, targets, squares = others[:, 0], others[:, 1 : m + 1], others[:, m + 1 :]
    sums = CellSums(np.bincount(codes, minlength=k), mass, cell_features, targets, squares)
    if not with_loss:
        return None, there, sums
    loss = LossSums(
        b,
        float(in_loss.sum()),
        products[0],
        whitened,
        gram,
        products[1:].T,
        weighted.sum(axis=0),
        (weighted * Y).sum(axis=0),
    )
    return loss, there, sums


def _products(
    features: Any,
    X: Features,
    left: FloatArray,
    members: Members | None,
    root: FloatArray | None,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Products of the features of a block of b rows.

    Parameters
    ----------
    features, X
        The features and rows.
    left : (f, b) array
        What ψ is multiplied by.
    members : tuple or None
        The cell of each row, (b,), their weights, (b,), and the number of cells, to sum ψ in many
        cells.
    root : (b,) array or None
        Square roots of the weights in the loss; None if no sums of φ are wanted.

    Returns
    -------
    ``left ψ``, (f, p); sums of ψ in cells, (k, p); ``Σuφ``, (r,); ``Σuφφᵀ``, (r, r)
    """
    b, p = X.shape[0], features.width
    products = np.zeros((len(left), p))
    cell_features = np.zeros((0 if members is None else members[2], p))
    phi = np.empty((0 if root is None else b, p), features.precision(X.dtype))
    in_place = root is not None and phi.dtype == np.float64
    for part in row_blocks(b, max(AT_ONCE // p, 256)):
        psi = features.raw(X[part], phi[part] if in_place else None)
        products += left[:, part] @ psi
        if members is not None:
            codes, in_cells, k = members
            cell_features += group_sums(codes[part], in_cells[part, None] * psi, k)
        if root is not None and not np.shares_memory(psi, phi):
            phi[part] = psi
    if root is None:
        return products, cell_features, np.zeros(0), np.zeros((0, 0))
    whiten(features, phi)
    root = root.astype(phi.dtype)
    if (root != 1.0).any():
        phi *= root[:, None]
    gram = phi.T @ phi
    return products, cell_features, (root @ phi).astype(float), gram.astype(float)


def _sum_columns(
    features: FeatureMap,
    X: Features,
    Y: FloatArray,
    codes: IntArray,
    k: int,
    w: FloatArray | None,
    u: FloatArray | None,
) -> tuple[LossSums, CellSums]:
    """The same for columns in few cells: products of ψ and of ``[1, y, y², cells]``, F.

    Both are written to buffers that stay in the cache, a few rows at a time.
    """
    (b, m), p = Y.shape, features.width
    c = 1 + 2 * m
    height = -(-(c + k) // _TILE) * _TILE
    rows = min(b, max(AT_ONCE // p, 256))
    psi, F, cells = np.empty((rows, p)), np.zeros((height, rows)), np.arange(k)[:, None]
    F[0] = 1.0
    gram, sums, others = np.zeros((p, p)), np.zeros((height, p)), np.zeros((height, height))
    for part in row_blocks(b, rows):
        size = part.stop - part.start
        z, f = features.raw(X[part], psi[:size]), F[:, :size]
        f[1 : 1 + m] = Y[part].T
        np.square(f[1 : 1 + m], out=f[1 + m : c])
        np.equal(codes[part], cells, out=f[c : c + k], casting="unsafe")
        left = f
        if w is not None or u is not None:
            left = f.copy()
            left[:c] *= 1.0 if u is None else u[part]
            left[c:] *= 1.0 if w is None else w[part]
        sums += left @ z
        others += left @ f.T
        if u is not None:
            z = np.multiply(z, np.sqrt(u[part])[:, None], out=psi[:size])
        gram += z.T @ z
    y, squares, kinds = slice(1, 1 + m), slice(1 + m, c), slice(c, c + k)
    loss = LossSums(
        b, float(others[0, 0]), sums[0], sums[0], gram, sums[y].T, others[0, y], others[0, squares]
    )
    of_cells = others[kinds]
    counts = of_cells[:, 0] if w is None else np.bincount(codes, minlength=k)
    in_cells = CellSums(
        counts.astype(np.intp), of_cells[:, 0], sums[kinds], of_cells[:, y], of_cells[:, squares]
    )
    return loss, in_cells
