"""Contrasts of group means, and covariances with numbers, as functionals.

Everything happens on cells: rows of equal sensitive and control values. In each stratum of the
control columns the conditions are collected, each with features that are centred on the cells it
is about, and an orthonormal basis of all of them is the stratum's block of the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from meanparity._typing import FloatArray, IntArray
from meanparity.constraints.functionals import Functionals
from meanparity.constraints.numbers import NumberFunctions
from meanparity.data.rows import Rows
from meanparity.linalg.memory import SMALL, require_memory

_RANK = 1e-10  # singular values below this share of the largest are dependent conditions
_LINEAR = NumberFunctions()


@dataclass(frozen=True, eq=False)
class Block:
    """The conditions on the k cells of one stratum.

    Parameters
    ----------
    stratum : str
        Its name; empty if there are no control columns.
    cells : (k,) array of int
        Which cells these are.
    table : (k, q) array
        An orthonormal basis of the conditions; q may be zero.
    units : (r, q) array
        Takes values of the q functionals to r gaps.
    labels : r texts
        What each gap is about.
    """

    stratum: str
    cells: IntArray
    table: FloatArray
    units: FloatArray
    labels: tuple[str, ...]


class _Piece(NamedTuple):
    """Conditions of one kind on the k cells of a stratum."""

    features: FloatArray  # (k, p) centred functions that predictions have zero covariance with
    gaps: FloatArray  # (k, p) turns weighted sums of the cells into gaps in the units of the values
    labels: tuple[str, ...]  # what each gap is about


def mean_contrasts(rows: Rows, functions: NumberFunctions = _LINEAR) -> Functionals:
    """Differences of group means, and covariances with numbers; there may be none.

    The `gaps` of values are the mean of each group minus the mean of all groups (of its stratum),
    and the covariance with each function of a sensitive number, scaled to variance one.
    """
    groupings, blocks = rows.groupings, []
    only_groups = len(groupings) == 1 and not rows.schema.continuous
    for stratum, cells in rows.strata:
        mass = rows.mass[cells]
        if only_groups:
            found = _reflection(mass, groupings[0].codes[cells], groupings[0].names)
        else:
            empty = np.zeros((len(cells), 0))
            pieces = [_Piece(empty, empty, ()), *_pieces(rows, cells, mass, functions)]
            table = orthonormal(mass, np.hstack([piece.features for piece in pieces]))
            units = (mass[:, None] * np.hstack([piece.gaps for piece in pieces])).T @ table
            found = table, units, tuple(label for piece in pieces for label in piece.labels)
        blocks.append(Block(stratum, cells, *found))
    implied = True if only_groups and not rows.schema.control else None
    return assemble(rows, blocks, tuple(_without_comparison(rows)), implied)


def _without_comparison(rows: Rows) -> Iterator[tuple[str, int]]:
    """The strata in which a set of groups has one group only, and their numbers of rows."""
    for stratum, cells in rows.strata if rows.schema.control else ():
        for groups in rows.groupings:
            codes = groups.codes[cells]
            if len(np.unique(codes[codes >= 0])) < 2:
                what = f"{', '.join(groups.columns)} in " if len(rows.groupings) > 1 else ""
                yield what + stratum, int(rows.counts[cells].sum())


def assemble(
    rows: Rows,
    blocks: Iterable[Block],
    unconstrained: tuple[tuple[str, int], ...] = (),
    implied: bool | None = None,
) -> Functionals:
    """Functionals from the blocks of all strata.

    `implied` says whether they span all contrasts of group means; None if that is not known.
    """
    blocks = [block for block in blocks if block.table.shape[1]]
    k, q = len(rows.cells), sum(block.table.shape[1] for block in blocks)
    table, units = np.zeros((0, 0)), np.zeros((0, 0))
    if len(blocks) > 1:  # the conditions of a stratum are about its own cells
        order = np.concatenate([block.cells for block in blocks])
        entries = np.ones(len(order)), (order, np.arange(len(order)))
        in_order = sparse.csr_array(entries, shape=(k, len(order)))
        table = in_order @ _block_diagonal([block.table for block in blocks])
        units = _block_diagonal([block.units for block in blocks])
    else:
        table = np.zeros((k, q))
        for block in blocks:
            table[block.cells], units = block.table, block.units
    labels = tuple(
        f"{label} in {block.stratum}" if block.stratum else label
        for block in blocks
        for label in block.labels
    )
    implied = implies_mean_parity(rows, table) if implied is None else implied
    targets = np.zeros((q, 1))
    return Functionals(
        rows.codes, table, targets, units, labels, implied, rows.weights, unconstrained
    )


def implies_mean_parity(rows: Rows, table: Any) -> bool:
    """Whether the functionals of a table span all contrasts of the means of sensitive values."""
    known = rows.is_known(rows.schema.sensitive) | (rows.schema.missing == "group")
    heavy = rows.mass > 0
    groups = rows.combinations(rows.schema.sensitive)
    codes, mass = np.where(known, groups.codes, -1)[heavy], rows.mass[heavy]
    if table.shape[1] < len(np.unique(codes[codes >= 0])) - 1:
        return False
    contrasts = _reflection(mass, codes, groups.names)[0]
    table = table[np.flatnonzero(heavy)]
    found = table @ (table.T @ (mass[:, None] * contrasts))
    return bool(np.abs(np.sqrt(mass)[:, None] * (contrasts - found)).max(initial=0.0) <= 1e-8)


def orthonormal(mass: FloatArray, features: FloatArray, largest: float = 0.0) -> FloatArray:
    """A basis T, (k, q), of centred features, (k, p), with ``Tᵀ diag(mass) T = I``.

    Directions of less than 1e-10 of the largest one, or of `largest`, are dependent on others.
    """
    root = np.sqrt(mass)
    left, sizes, _ = np.linalg.svd(root[:, None] * features, full_matrices=False)
    basis = left[:, sizes > _RANK * max(sizes.max(initial=0.0), largest)]
    # faint features keep some rounding in the direction of the constants: remove it once more
    unit = root / np.linalg.norm(root)
    basis, _ = np.linalg.qr(basis - np.outer(unit, unit @ basis))
    table: FloatArray = basis / root[:, None]
    return table


def _reflection(
    mass: FloatArray, codes: IntArray, names: tuple[str, ...]
) -> tuple[FloatArray, FloatArray, tuple[str, ...]]:
    """Table, units and labels for one set of groups: one reflection, no SVD."""
    inside = codes >= 0
    present = np.flatnonzero(np.bincount(codes[inside], minlength=1))
    level = np.searchsorted(present, codes[inside])
    if len(present) < 2:
        return np.zeros((len(codes), 0)), np.zeros((0, 0)), ()
    needed = 8 * (len(codes) + 3 * len(present)) * len(present)
    if needed > SMALL:
        require_memory(
            needed, what=f"A constraint on {len(present):,} groups", advice="Use fewer groups."
        )
    share = np.bincount(level, weights=mass[inside])
    # an orthonormal basis of the complement of √(share of each group)
    mirror = np.sqrt(share / share.sum())
    mirror[0] += 1.0
    basis = np.eye(len(present))[:, 1:] - np.outer(mirror, mirror[1:]) / mirror[0]
    of_groups = basis / np.sqrt(share)[:, None]
    table = np.zeros((len(codes), len(present) - 1))
    table[inside] = of_groups[level]
    return table, of_groups, tuple(names[i] for i in present)


def _pieces(
    rows: Rows, cells: IntArray, mass: FloatArray, functions: NumberFunctions
) -> Iterator[_Piece]:
    """All conditions of a stratum: groups, and numbers in each group or over all rows."""
    for groups in rows.groupings:
        yield from _groups(mass, groups.codes[cells], groups.names)
    for number, of_cells in rows.numbers.items():
        values = of_cells[cells]
        domains = [("", np.ones(len(cells), bool))]
        if rows.schema.intersectional and rows.groupings:
            names, codes = rows.groupings[0].names, rows.groupings[0].codes[cells]
            domains = [(f" in {names[i]}", codes == i) for i in np.unique(codes[codes >= 0])]
        for where, inside in domains:
            known = inside & ~np.isnan(values)
            if rows.schema.missing == "group":
                names = (f"{number} known{where}", f"{number} missing{where}")
                yield from _groups(mass, np.where(inside, 1 - known, -1), names)
            if len(np.unique(values[known])) > 1:
                features, labels = functions.evaluate(number, values[known])
                yield _covariances(mass, known, features, [label + where for label in labels])


def _groups(mass: FloatArray, codes: IntArray, names: tuple[str, ...]) -> Iterator[_Piece]:
    """The mean of each group minus the mean of all rows that are in a group."""
    present, inside = np.unique(codes[codes >= 0]), codes >= 0
    if len(present) < 2:
        return
    member = (codes[:, None] == present).astype(float)
    share = mass @ member
    gaps = member / share - inside[:, None] / share.sum()
    norms = np.sqrt(mass @ gaps**2)  # a group of hardly any weight counts like all others
    yield _Piece(gaps / norms, gaps, tuple(names[i] for i in present))


def _covariances(
    mass: FloatArray, known: NDArray[np.bool_], functions: FloatArray, labels: Sequence[str]
) -> _Piece:
    """Covariances with functions, scaled to variance one, on the cells where they are known."""
    total = mass[known].sum()
    share = mass[known] / total
    centred = functions - share @ functions
    deviation = np.sqrt(share @ centred**2)
    varies = deviation > 1e-12 * np.abs(centred).max()
    features = np.zeros((len(mass), int(varies.sum())))
    features[known] = centred[:, varies] / deviation[varies]
    kept = tuple(label for label, there in zip(labels, varies, strict=True) if there)
    return _Piece(features / np.sqrt(total), features / total, kept)


def _block_diagonal(parts: list[FloatArray]) -> sparse.csr_array:
    return sparse.csr_array(sparse.block_diag([sparse.csr_array(part) for part in parts]))
