"""Contrasts of group means, and covariances with numbers, as functionals.

Everything happens on cells: rows of equal sensitive and control values. In each stratum of the
control columns the conditions are collected, each with features that are centred on the cells it
is about, and an orthonormal basis of all of them is the stratum's block of the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from meanparity._typing import FloatArray, IntArray
from meanparity.constraints.functionals import Functionals
from meanparity.constraints.numbers import NumberFunctions
from meanparity.data.rows import Grouping, Rows
from meanparity.linalg.memory import SMALL, require_memory

_RANK = 1e-10  # singular values below this share of the largest are dependent conditions


@dataclass(frozen=True, eq=False)
class Block:
    """The conditions on the k cells of one stratum.

    Parameters
    ----------
    cells : (k,) array of int
        Which cells these are.
    table : (k, q) array
        An orthonormal basis of the conditions.
    units : (r, q) array
        Takes values of the q functionals to r gaps.
    labels : r texts
        What each gap is about.
    """

    cells: IntArray
    table: FloatArray
    units: FloatArray
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Piece:
    """Conditions of one kind on the k cells of a stratum.

    Parameters
    ----------
    features : (k, p) array
        Centred functions of the cells that predictions must have zero covariance with.
    gaps : (k, p) array
        Turn weighted sums of the cells into gaps in the units of the values.
    labels : p texts
        What each gap is about.
    """

    features: FloatArray
    gaps: FloatArray
    labels: tuple[str, ...]


def mean_contrasts(rows: Rows, functions: NumberFunctions | None = None) -> Functionals:
    """Differences of group means, and covariances with numbers; maybe none at all.

    `gaps` of values are, for each group, its mean less the mean of all groups (of its stratum),
    and, for each function of a sensitive number, scaled to variance one, the covariance with it.
    """
    blocks, unconstrained, single = [], [], False
    for stratum, cells in rows.strata:
        mass = rows.mass[cells]
        groupings = [grouping.take(cells) for grouping in rows.groupings]
        for grouping in groupings:
            if len(np.unique(grouping.codes[grouping.codes >= 0])) < 2:
                what = f"{', '.join(grouping.columns)} in " if len(groupings) > 1 else ""
                unconstrained.append((what + stratum, int(rows.counts[cells].sum())))
        single = len(groupings) == 1 and not rows.schema.continuous
        if single:
            table, units, labels = _reflection(mass, groupings[0])
        else:
            functions = NumberFunctions() if functions is None else functions
            pieces = list(_pieces(rows, cells, mass, groupings, functions))
            labels = tuple(label for piece in pieces for label in piece.labels)
            none = np.zeros((len(cells), 0))
            table = orthonormal(mass, np.hstack([none, *(piece.features for piece in pieces)]))
            gaps = np.hstack([none, *(piece.gaps for piece in pieces)])
            units = (mass[:, None] * gaps).T @ table
        where = f" in {stratum}" if stratum else ""
        if table.shape[1]:
            blocks.append(Block(cells, table, units, tuple(label + where for label in labels)))
    skipped = tuple(unconstrained) if rows.schema.control else ()
    implied = True if single and not rows.schema.control else None
    return assemble(rows, blocks, skipped, implied)


def assemble(
    rows: Rows,
    blocks: list[Block],
    unconstrained: tuple[tuple[str, int], ...] = (),
    implied: bool | None = None,
) -> Functionals:
    """Functionals from the blocks of all strata.

    `implied` says whether they span all contrasts of group means; None if that is to be found out.
    """
    q = sum(block.table.shape[1] for block in blocks)
    k = len(rows.cells)
    labels = tuple(label for block in blocks for label in block.labels)
    if len(blocks) == 1:  # one stratum: everything is dense
        if 8 * k * q > SMALL:
            require_memory(
                8 * k * q, what=f"A constraint of {q:,} conditions", advice="Use fewer groups."
            )
        table = np.zeros((k, q))
        table[blocks[0].cells] = blocks[0].table
        units = blocks[0].units
    else:
        order = np.concatenate([np.zeros(0, np.intp), *(block.cells for block in blocks)])
        back = np.full(k, len(order))
        back[order] = np.arange(len(order))
        diagonal = [sparse.csr_array(block.table) for block in blocks]
        stacked = sparse.block_diag([*diagonal, sparse.csr_array((1, 0))], format="csr")
        table = sparse.csr_array(stacked)[back]
        units = sparse.csr_array(
            sparse.block_diag([*(block.units for block in blocks), np.zeros((0, 0))], format="csr")
        )
    zero = np.zeros((q, 1))
    implied = implies_mean_parity(rows, table) if implied is None else implied
    return Functionals(rows.codes, table, zero, units, labels, implied, rows.weights, unconstrained)


def implies_mean_parity(rows: Rows, table: FloatArray) -> bool:
    """Whether the functionals of a table span all contrasts of the means of sensitive values."""
    known = rows.is_known(rows.schema.sensitive) | (rows.schema.missing == "group")
    columns = tuple(rows.schema.sensitive)
    grouping = rows.combinations(columns)
    codes = np.where(known & (rows.mass > 0), grouping.codes, -1)
    if table.shape[1] < len(np.unique(codes[codes >= 0])) - 1:
        return False
    heavy = np.flatnonzero(rows.mass > 0)
    mass, wanted = rows.mass[heavy], Grouping(columns, grouping.names, codes[heavy])
    contrasts = _reflection(mass, wanted)[0]
    found = table[heavy] @ (table[heavy].T @ (mass[:, None] * contrasts))
    return bool(np.abs(np.sqrt(mass)[:, None] * (contrasts - found)).max(initial=0.0) <= 1e-8)


def orthonormal(mass: FloatArray, features: FloatArray, largest: float = 0.0) -> FloatArray:
    """A basis T, (k, q), of centred features, (k, p), with ``Tᵀ diag(mass) T = I``.

    Directions of less than 1e-10 of the largest one, or of `largest`, are dependent on others.
    """
    root = np.sqrt(mass)
    left, sizes, _ = np.linalg.svd(root[:, None] * features, full_matrices=False)
    basis = left[:, sizes > _RANK * max(sizes.max(initial=0.0), largest)]
    # once more at right angles to the constants, of which faint features keep some rounding
    unit = root / np.linalg.norm(root)
    basis, _ = np.linalg.qr(basis - np.outer(unit, unit @ basis))
    table: FloatArray = basis / root[:, None]
    return table


def _reflection(
    mass: FloatArray, grouping: Grouping
) -> tuple[FloatArray, FloatArray, tuple[str, ...]]:
    """Table, units and labels for one set of groups: one reflection, no SVD."""
    codes = grouping.codes
    present, level = np.unique(codes[codes >= 0], return_inverse=True)
    if len(present) < 2:
        return np.zeros((len(codes), 0)), np.zeros((0, 0)), ()
    needed = 8 * (len(codes) + 3 * len(present)) * len(present)
    if needed > SMALL:
        require_memory(
            needed, what=f"A constraint on {len(present):,} groups", advice="Use fewer groups."
        )
    share = np.bincount(level, weights=mass[codes >= 0], minlength=len(present))
    # an orthonormal basis of the complement of √(share of each group)
    mirror = np.sqrt(share / share.sum())
    mirror[0] += 1.0
    basis = np.eye(len(present))[:, 1:] - np.outer(mirror, mirror[1:]) / mirror[0]
    of_groups = basis / np.sqrt(share)[:, None]
    table = np.zeros((len(codes), len(present) - 1))
    table[codes >= 0] = of_groups[level]
    return table, of_groups, tuple(grouping.names[i] for i in present)


def _pieces(
    rows: Rows,
    cells: IntArray,
    mass: FloatArray,
    groupings: list[Grouping],
    functions: NumberFunctions,
) -> Iterator[_Piece]:
    """All conditions of a stratum: groups, and numbers in each group or over all rows."""
    for grouping in groupings:
        yield from _groups(mass, grouping.codes, grouping.names)
    for number, of_cells in rows.numbers.items():
        values = of_cells[cells]
        domains = [("", np.ones(len(cells), bool))]
        if rows.schema.intersectional and groupings:
            names, codes = groupings[0].names, groupings[0].codes
            domains = [(f" in {names[i]}", codes == i) for i in np.unique(codes[codes >= 0])]
        for where, inside in domains:
            known = inside & ~np.isnan(values)
            if rows.schema.missing == "group":
                labels = (f"{number} known{where}", f"{number} missing{where}")
                yield from _groups(mass, np.where(inside, 1 - known, -1), labels)
            yield from _covariances(mass, values, known, number, where, functions)


def _groups(mass: FloatArray, codes: IntArray, names: tuple[str, ...]) -> Iterator[_Piece]:
    """The mean of each group less the mean of all that are in one."""
    present, inside = np.unique(codes[codes >= 0]), codes >= 0
    if len(present) < 2:
        return
    member = (codes[:, None] == present).astype(float)
    share = mass @ member
    gaps = member / share - inside[:, None] / share.sum()
    norms = np.sqrt(mass @ gaps**2)  # a group of hardly any weight counts like all others
    yield _Piece(gaps / norms, gaps, tuple(names[i] for i in present))


def _covariances(
    mass: FloatArray,
    values: FloatArray,
    known: NDArray[np.bool_],
    name: str,
    where: str,
    functions: NumberFunctions,
) -> Iterator[_Piece]:
    """Covariances with functions of a number, of variance one, on the cells where it is known."""
    if len(np.unique(values[known])) < 2:
        return
    found, labels = functions.evaluate(name, values[known])
    share = mass[known] / mass[known].sum()
    found = found - share @ found
    deviation = np.sqrt(share @ found**2)
    varies = deviation > 1e-12 * np.abs(found).max()
    features = np.zeros((len(values), int(varies.sum())))
    features[known] = found[:, varies] / deviation[varies]
    total = mass[known].sum()
    kept = tuple(label + where for label, there in zip(labels, varies, strict=True) if there)
    yield _Piece(features / np.sqrt(total), features / total, kept)
