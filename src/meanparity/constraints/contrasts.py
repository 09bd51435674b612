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

from meanparity._typing import FloatArray, IntArray
from meanparity.constraints.functionals import Functionals
from meanparity.linalg import require_memory
from meanparity.rows import Rows

_RANK = 1e-10  # singular values below this share of the largest are dependent conditions


@dataclass(frozen=True, eq=False)
class Piece:
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


def mean_contrasts(rows: Rows, degree: int = 1, n_knots: int | None = None) -> Functionals:
    """Differences of group means, and covariances with numbers; maybe none at all.

    `gaps` of values are, for each group, its mean less the mean of all groups (of its stratum),
    and, for each function of a sensitive number, scaled to variance one, the covariance with it.
    """
    parts, unconstrained = [], []
    for stratum, cells in rows.strata:
        mass = rows.mass[cells]
        groupings = [(names, codes[cells]) for names, codes in rows.groupings]
        if len(groupings) == 1 and not rows.reading.continuous:
            names, codes = groupings[0]
            table, units, present = _reflection(mass, codes)
            labels = tuple(names[i] for i in present)
        else:
            pieces = list(_pieces(rows, cells, mass, groupings, degree, n_knots))
            labels = tuple(label for piece in pieces for label in piece.labels)
            features = np.hstack([np.zeros((len(cells), 0)), *(p.features for p in pieces)])
            table = orthonormal(mass, features)
            gaps = np.hstack([np.zeros((len(cells), 0)), *(p.gaps for p in pieces)])
            units = (mass[:, None] * gaps).T @ table
        if not table.shape[1]:
            unconstrained.append((stratum, int(rows.counts[cells].sum())))
            continue
        where = f" in {stratum}" if stratum else ""
        parts.append((cells, table, units, tuple(label + where for label in labels)))
    return assemble(rows, parts, tuple(unconstrained) if rows.reading.control else ())


def assemble(
    rows: Rows,
    parts: list[tuple[IntArray, FloatArray, FloatArray, tuple[str, ...]]],
    unconstrained: tuple[tuple[str, int], ...] = (),
) -> Functionals:
    """Functionals from the cells, the table, the units and the labels of each stratum."""
    q = sum(table.shape[1] for _, table, _, _ in parts)
    r = sum(len(units) for _, _, units, _ in parts)
    require_memory(
        8 * (len(rows.cells) + r) * q,
        what=f"A constraint of {q:,} conditions on {len(rows.cells):,} cells",
        advice="Use fewer groups or strata.",
    )
    T, U = np.zeros((len(rows.cells), q)), np.zeros((r, q))
    column = row = 0
    for cells, table, units, _ in parts:
        to = slice(column, column + table.shape[1])
        T[cells, to] = table
        U[row : row + len(units), to] = units
        column, row = to.stop, row + len(units)
    known = rows.is_known(rows.reading.sensitive) | (rows.reading.missing == "group")
    n_groups = int(np.sum(known & (rows.mass > 0)))
    implied = not rows.reading.control and not rows.reading.continuous and q == n_groups - 1
    labels = tuple(label for *_, names in parts for label in names)
    return Functionals(
        rows.codes, T, np.zeros((q, 1)), U, labels, implied, rows.weights, unconstrained
    )


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


def _reflection(mass: FloatArray, codes: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Table, units and the groups that occur, for one set of groups: one reflection, no SVD."""
    present, level = np.unique(codes[codes >= 0], return_inverse=True)
    share = np.bincount(level, weights=mass[codes >= 0], minlength=len(present))
    if len(present) < 2:
        return np.zeros((len(codes), 0)), np.zeros((0, 0)), present[:0]
    require_memory(
        8 * (len(codes) + 3 * len(present)) * len(present),
        what=f"A constraint on {len(present):,} groups",
        advice="Use fewer groups.",
    )
    # an orthonormal basis of the complement of √(share of each group)
    mirror = np.sqrt(share / share.sum())
    mirror[0] += 1.0
    basis = np.eye(len(present))[:, 1:] - np.outer(mirror, mirror[1:]) / mirror[0]
    of_groups = basis / np.sqrt(share)[:, None]
    table = np.zeros((len(codes), len(present) - 1))
    table[codes >= 0] = of_groups[level]
    return table, of_groups, present


def _pieces(
    rows: Rows,
    cells: IntArray,
    mass: FloatArray,
    groupings: list[tuple[tuple[str, ...], IntArray]],
    degree: int,
    n_knots: int | None,
) -> Iterator[Piece]:
    """All conditions of a stratum: groups, and numbers in each group or over all rows."""
    for names, codes in groupings:
        yield from _groups(mass, codes, names)
    for number, of_cells in rows.numbers.items():
        values = of_cells[cells]
        domains = [("", np.ones(len(cells), bool))]
        if rows.reading.intersectional and groupings:
            names, codes = groupings[0]
            domains = [(f" in {names[i]}", codes == i) for i in np.unique(codes[codes >= 0])]
        for where, inside in domains:
            known = inside & ~np.isnan(values)
            if rows.reading.missing == "group":
                labels = (f"{number} known{where}", f"{number} missing{where}")
                yield from _groups(mass, np.where(inside, 1 - known, -1), labels)
            yield from _functions(mass, values, known, number, where, degree, n_knots)


def _groups(mass: FloatArray, codes: IntArray, names: tuple[str, ...]) -> Iterator[Piece]:
    """The mean of each group less the mean of all that are in one."""
    present, inside = np.unique(codes[codes >= 0]), codes >= 0
    if len(present) < 2:
        return
    member = (codes[:, None] == present).astype(float)
    share = mass @ member
    gaps = member / share - inside[:, None] / share.sum()
    yield Piece(gaps * share, gaps, tuple(names[i] for i in present))


def _functions(
    mass: FloatArray,
    values: FloatArray,
    known: NDArray[np.bool_],
    name: str,
    where: str,
    degree: int,
    n_knots: int | None,
) -> Iterator[Piece]:
    """Covariances with functions of a number, of variance one, on the cells where it is known."""
    if len(np.unique(values[known])) < 2:
        return
    functions = number_functions(values[known], degree, n_knots)
    share = mass[known] / mass[known].sum()
    functions = functions - share @ functions
    deviation = np.sqrt(share @ functions**2)
    functions = functions[:, deviation > 1e-12] / deviation[deviation > 1e-12]
    kind = name if n_knots is None else f"{name} (spline)"
    labels = tuple(
        f"{kind}^{j + 1}{where}" if j else kind + where for j in range(functions.shape[1])
    )
    features = np.zeros((len(values), functions.shape[1]))
    features[known] = functions
    yield Piece(features, features / mass[known].sum(), labels)


def number_functions(values: FloatArray, degree: int, n_knots: int | None) -> FloatArray:
    """Functions of n numbers that predictions shall not vary with: powers or splines, (n, p)."""
    _check_functions(degree, n_knots)
    low, high = values.min(), values.max()
    values = (2 * values - low - high) / (high - low)
    if n_knots is None:
        return orthogonal_powers(values, int(degree))[:, 1:]
    from sklearn.preprocessing import SplineTransformer

    knots = np.unique(np.quantile(values, np.linspace(0, 1, n_knots)))
    splines = SplineTransformer(degree=int(degree), knots=knots[:, None], include_bias=False)
    functions: FloatArray = splines.fit_transform(values[:, None])
    return functions


def orthogonal_powers(values: FloatArray, degree: int) -> FloatArray:
    """An orthonormal basis of the polynomials up to a degree on n values: (n, ≤ degree + 1).

    Each power is the last one times the values, made orthogonal to all before it: high powers
    themselves would be numerically dependent.
    """
    columns = [np.full(len(values), 1 / np.sqrt(len(values)))]
    while len(columns) <= min(degree, len(np.unique(values)) - 1):
        power = values * columns[-1]
        for _ in range(2):
            for column in columns:
                power = power - (column @ power) * column
        columns.append(power / np.linalg.norm(power))
    return np.stack(columns, axis=1)


def _check_functions(degree: int, n_knots: int | None) -> None:
    if isinstance(degree, bool) or degree != int(degree) or degree < 1:
        raise ValueError(f"degree={degree!r} is not a whole number of 1 or more.")
    if n_knots is not None and (
        isinstance(n_knots, bool) or n_knots != int(n_knots) or n_knots < 2
    ):
        raise ValueError(f"n_knots={n_knots!r} is not a whole number of 2 or more, or None.")
