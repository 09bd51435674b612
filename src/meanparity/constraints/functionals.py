"""Linear functionals of the values on some rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from meanparity._typing import FloatArray, IntArray
from meanparity.data.groups import group_sums


@dataclass(frozen=True, eq=False, repr=False)
class Functionals:
    """q linear functionals of values on n rows: ``Cᵀ v = targets``, with ``C = diag(w) T[codes]``.

    Rows of one cell share a row of T, so C is kept as a table and costs O(n) to apply. The columns
    of T are orthonormal in the weighted rows, ``Σ_i w_i T_i T_iᵀ = I``, and those of C sum to zero.

    Parameters
    ----------
    codes : (n,) array of int
        Which row of `table` each row uses.
    table : (k, q) array or sparse array
        T; sparse if there are strata, whose conditions are about their own cells.
    targets : (q, 1) or (q, m) array
        What ``Cᵀ v`` has to be, for all outputs or for each.
    units : (r, q) array or sparse array
        Takes ``Cᵀ v`` to gaps in the units of v, one for each of the r `labels`.
    labels : tuple of str
        What each gap is about.
    implies_mean_parity : bool
        Whether values on which the functionals vanish have the same mean in every group.
    weights : (n,) array or None
        w, all ones if None.
    unconstrained : tuple of (str, int)
        Strata with nothing to equalise, as where only one group occurs, and their rows.

    See Also
    --------
    Constraint : Turns rows into functionals.

    Examples
    --------
    >>> import numpy as np
    >>> weights = np.repeat([[0.5], [-0.5]], 2, axis=0)  # of the rows, in one condition
    >>> Functionals.from_weights(weights, [0.0], ["first two minus last two"]).count
    1
    """

    codes: IntArray
    table: Any
    targets: FloatArray
    units: Any
    labels: tuple[str, ...]
    implies_mean_parity: bool
    weights: FloatArray | None = None
    unconstrained: tuple[tuple[str, int], ...] = ()

    @classmethod
    def none(cls, n_rows: int) -> Functionals:
        """No functionals of n rows."""
        empty = np.zeros((1, 0))
        return cls(np.zeros(n_rows, np.intp), empty, np.zeros((0, 1)), empty[:0], (), False)

    @classmethod
    def from_weights(
        cls,
        weights: Any,
        targets: Any = None,
        labels: Sequence[str] | None = None,
        unconstrained: Sequence[tuple[str, int]] = (),
    ) -> Functionals:
        """Functionals from the weight of each row in each of them.

        Parameters
        ----------
        weights : array-like of shape (n, p) or (n,)
            Column j says that ``Σ_i weights[i, j] g(x_i) = targets[j]``. Every column sums to
            zero, so that a constant changes nothing. Columns may depend on each other.
        targets : array-like of shape (p,) or (p, m), optional
            0 by default; one for all outputs, or one for each.
        labels : p texts, optional
            What each condition is about.
        unconstrained : sequence of (str, int), optional
            Strata in which there is nothing to compare, and their numbers of rows: fit warns about
            them, and they are in `unconstrained_strata_`.

        Raises
        ------
        ValueError
            When a column does not sum to zero, or the conditions contradict each other.

        Examples
        --------
        The sum of the first two rows is 3 more than twice the third one, stated twice:

        >>> f = Functionals.from_weights([[1, 2], [1, 2], [-2, -4]], targets=[3, 6])
        >>> len(f)
        1
        >>> f.gaps(np.array([[1.0], [2.0], [0.0]])).ravel().round(12)
        array([0., 0.])
        """
        C = np.asarray(weights, dtype=float)
        C = C[:, None] if C.ndim == 1 else C
        if C.ndim == 2 and not C.shape[1]:
            return replace(cls.none(len(C)), unconstrained=tuple(unconstrained))
        t = np.zeros(C.shape[1:2]) if targets is None else np.asarray(targets, dtype=float)
        t = t.reshape(-1, 1) if t.ndim < 2 else t
        names = [f"condition {j}" for j in range(C.shape[1])] if labels is None else list(labels)
        _check_weights(C, t, names)
        size = np.linalg.norm(C, axis=0)
        left, sizes, right = np.linalg.svd((C - C.mean(axis=0)) / size, full_matrices=False)
        rank = int(np.sum(sizes > 1e-10 * sizes[0]))
        T, units = left[:, :rank], ((sizes[:rank, None] * right[:rank]) * size).T
        found = np.linalg.lstsq(units / size[:, None], t / size[:, None], rcond=None)[0]
        off = np.abs(units @ found - t) / size[:, None]
        if off.max() > 1e-8 * np.abs(t / size[:, None]).max():
            worst = int(off.max(axis=1).argmax())
            raise ValueError(
                f"The {len(size)} conditions are {rank} independent ones, and their targets "
                f"contradict each other: with the others met, {names[worst]!r} misses "
                f"{t[worst].tolist()} by {np.abs(units @ found - t)[worst].max():.3g}. Change the "
                "targets, or leave conditions out."
            )
        left_out = tuple(unconstrained)
        return cls(np.arange(len(C)), T, found, units, tuple(names), False, None, left_out)

    def above(self, other: Functionals) -> Functionals:
        """These functionals followed by others, whose rows come below the rows of these."""
        parts, k = (self, other), self.table.shape[0]
        weights = [np.ones(f.n_rows) if f.weights is None else f.weights for f in parts]
        m = max(f.targets.shape[1] for f in parts)
        return Functionals(
            np.concatenate([self.codes, k + other.codes]),
            sparse.csr_array(sparse.block_diag([sparse.csr_array(f.table) for f in (self, other)])),
            np.vstack([np.broadcast_to(f.targets, (len(f), m)) for f in parts]),
            sparse.csr_array(sparse.block_diag([sparse.csr_array(f.units) for f in (self, other)])),
            self.labels + other.labels,
            False,
            np.concatenate(weights),
        )

    def __post_init__(self) -> None:
        arrays: tuple[Any, ...] = self.codes, self.table, self.targets, self.units, self.weights
        for array in arrays:
            if array is not None:
                (array.data if sparse.issparse(array) else array).setflags(write=False)

    @cached_property
    def count(self) -> int:
        """Number of functionals, q."""
        return int(self.table.shape[1])

    def __len__(self) -> int:
        return self.count

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""
        return len(self.codes)

    def apply(self, values: FloatArray) -> FloatArray:
        """``Cᵀ v`` for v of shape (n, m): (q, m)."""
        return self.moments(values, slice(None)).T

    def moments(self, values: FloatArray, rows: slice) -> FloatArray:
        """``vᵀ C`` over some of the rows, whose values are v, (b, m): (m, q)."""
        values = self._weighted(rows, values)
        k, q = self.table.shape
        if k > 4 * q + len(values) // 4:  # hardly any row shares its cell with another
            return np.asarray((self.table[self.codes[rows]].T @ values).T)
        return np.asarray((self.table.T @ group_sums(self.codes[rows], values, k)).T)

    def spread(self, multipliers: FloatArray) -> FloatArray:
        """``C ν`` for ν of shape (q, m): (n, m)."""
        return self._weighted(slice(None), (self.table @ multipliers)[self.codes])

    def dense(self) -> FloatArray:
        """C, (n, q)."""
        table = self.table[self.codes]
        return self._weighted(slice(None), table.toarray() if sparse.issparse(table) else table)

    def on_cells(
        self, codes: IntArray, n_cells: int, weights: FloatArray | None
    ) -> Functionals | None:
        """The same with one row of T for each of k cells; None if rows of one cell differ in T."""
        if self.codes is codes:
            return self
        C, of_rows = self.dense(), codes
        if weights is not None:
            heavy = weights > 0
            C, of_rows = C[heavy] / weights[heavy, None], codes[heavy]
        table = np.zeros((n_cells, C.shape[1]))
        table[of_rows] = C
        if np.abs(table[of_rows] - C).max(initial=0.0) > 1e-9 * np.abs(C).max(initial=0.0):
            return None
        mass = np.bincount(codes, weights, minlength=n_cells)
        triangle = np.asarray(np.linalg.qr(np.sqrt(mass)[:, None] * table, mode="r"))
        return replace(  # with columns of T that are orthonormal in the weighted rows
            self,
            codes=codes,
            table=np.linalg.solve(triangle.T, table.T).T,
            targets=np.linalg.solve(triangle.T, self.targets),
            units=self.units @ triangle.T,
            weights=weights,
        )

    def gaps(self, values: FloatArray) -> FloatArray:
        """How far values, (n, m), are from parity, in their own units: (r, m).

        Values of several functions side by side, (n, e·m), have the same targets.
        """
        return self._gaps(self.apply(values))

    @property
    def gaps_of_zero(self) -> FloatArray:
        """The gaps of values that are all zero, which the targets alone determine."""
        return self._gaps(np.zeros((len(self.targets), 1)))

    def gaps_of_sums(self, sums: FloatArray) -> FloatArray:
        """The same from weighted sums of values over the rows that share a code, (k, m)."""
        return self._gaps(self.table.T @ sums)

    def _gaps(self, applied: FloatArray) -> FloatArray:
        targets, columns = self.targets, applied.shape[1]
        if targets.shape[1] not in (1, columns):
            targets = np.tile(targets, columns // targets.shape[1])
        gaps: FloatArray = self.units @ (applied - targets)
        return gaps

    def touches(self, rows: NDArray[np.bool_]) -> bool:
        """Whether any of these rows, (n,), counts in a functional."""
        heavy = rows if self.weights is None else rows & (self.weights > 0)
        return bool(abs(self.table[self.codes[heavy]]).sum())

    def _weighted(self, rows: slice, values: FloatArray) -> FloatArray:
        return values if self.weights is None else self.weights[rows, None] * values


def _check_weights(C: FloatArray, t: FloatArray, names: list[str]) -> None:
    if C.ndim != 2 or not C.size or not (np.isfinite(C).all() and np.isfinite(t).all()):
        raise ValueError(
            f"weights have shape {C.shape} and have to be finite, like the targets. Pass one "
            "column for each condition, with one number for each row."
        )
    if len(t) != C.shape[1] or len(names) != C.shape[1]:
        raise ValueError(
            f"There are {C.shape[1]} columns of weights, {len(t)} targets and {len(names)} labels. "
            "Pass as many of each."
        )
    size = np.abs(C).sum(axis=0)
    wrong = np.abs(C.sum(axis=0)) > 1e-8 * size
    if wrong.any() or not size.all():
        j = int((wrong | (size == 0)).argmax())
        raise ValueError(
            f"The weights of {names[j]!r} sum to {C[:, j].sum():.3g} and their sizes to "
            f"{size[j]:.3g}. They have to sum to zero without being zero, so that adding a "
            "constant to all predictions changes nothing: compare with the mean of some rows."
        )


def check_functionals(functionals: Any, name: str, n_rows: int, n_outputs: int) -> None:
    """Refuse functionals of a constraint, which may be a user's own, that do not fit the rows."""
    if not isinstance(functionals, Functionals) or len(functionals.codes) != n_rows:
        raise TypeError(
            f"{name}.functionals returned {type(functionals).__name__}. Return Functionals of all "
            f"{n_rows} rows, as Functionals.from_weights makes them."
        )
    given = functionals.targets.shape[1]
    if given not in (1, n_outputs):
        raise ValueError(
            f"{name} has targets for {given} outputs, but y has {n_outputs}. Pass one target for "
            "each condition, or one for each condition and output."
        )
