"""What must be equal: groups to linear functionals of the predictions.

A notion of parity says that q linear functionals of the predictor vanish, ``Cᵀ g = 0`` on the
training rows. The columns of C sum to zero, so a constant never violates anything. Notions are
frozen specifications; applied to `Groups` they give `Functionals`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from meanparity._typing import FloatArray, IntArray
from meanparity.groups import Groups, group_sums
from meanparity.kernels import Kernel
from meanparity.linalg import pivoted_cholesky


@dataclass(frozen=True, eq=False, repr=False)
class Functionals:
    """q linear functionals of values on n rows: ``Cᵀ v = targets``, with ``CᵀC = I``.

    Rows of one group share a row of C, so C is kept as a table and costs O(n) to apply.

    Parameters
    ----------
    codes : (n,) array of int
        Which row of `table` each row uses.
    table : (k, q) array
        The distinct rows of C.
    targets : (q,) array
        What ``Cᵀ v`` has to be.
    units : (r, q) array
        Takes ``Cᵀ v`` to gaps in the units of v, one for each of the r `labels`.
    labels : tuple of str
        What each gap is about.
    implies_mean_parity : bool
        Whether values on which the functionals vanish have the same mean in every group.
    """

    codes: IntArray
    table: FloatArray
    targets: FloatArray
    units: FloatArray
    labels: tuple[str, ...]
    implies_mean_parity: bool

    def __post_init__(self) -> None:
        for array in (self.table, self.targets, self.units):
            array.setflags(write=False)

    def __len__(self) -> int:
        return int(self.table.shape[1])

    def apply(self, values: FloatArray) -> FloatArray:
        """``Cᵀ v`` for v of shape (n, m): (q, m)."""
        return self.table.T @ group_sums(self.codes, values, len(self.table))

    def spread(self, multipliers: FloatArray) -> FloatArray:
        """``C ν`` for ν of shape (q, m): (n, m)."""
        product: FloatArray = (self.table @ multipliers)[self.codes]
        return product

    def dense(self) -> FloatArray:
        """C itself, (n, q)."""
        return self.spread(np.eye(len(self)))

    def gaps(self, values: FloatArray) -> FloatArray:
        """How far values, (n, m), are from parity, in their own units: (r, m)."""
        return self.units @ (self.apply(values) - self.targets[:, None])


class Constraint(ABC):
    """A notion of parity: applied to groups it gives functionals."""

    @abstractmethod
    def functionals(self, groups: Groups) -> Functionals:
        """The linear functionals that have to vanish on the rows of `groups`."""

    def implies_mean_parity(self, groups: Groups) -> bool:
        """Whether meeting this constraint gives every one of these groups the same mean."""
        return self.functionals(groups).implies_mean_parity


@dataclass(frozen=True)
class MeanParity(Constraint):
    """The mean prediction is the same in every group.

    ``mean(g | group j) = mean(g)`` for each of the k groups (Definition 1 of the paper): k − 1
    functionals.

    Examples
    --------
    >>> from meanparity.groups import Groups
    >>> functionals = MeanParity().functionals(Groups.from_columns(["a", "b", "b"]))
    >>> functionals.gaps(np.array([[3.0], [0.0], [0.0]])).ravel()
    array([ 2., -1.])
    """

    def functionals(self, groups: Groups) -> Functionals:
        """The k − 1 contrasts of the group means; `gaps` are the group means less the mean."""
        _refuse_trivial(groups)
        root = np.sqrt(groups.counts / groups.n_rows)
        # an orthonormal basis of the complement of √(share of each group), by one reflection
        mirror = root.copy()
        mirror[0] += 1.0
        basis = np.eye(groups.n_groups)[:, 1:] - np.outer(mirror, mirror[1:]) / mirror[0]
        table = basis / np.sqrt(groups.counts)[:, None]
        return Functionals(
            groups.codes, table, np.zeros(table.shape[1]), table, groups.names, True
        )  # fmt: skip


@dataclass(frozen=True)
class CovarianceParity(Constraint):
    """The predictions are uncorrelated with the sensitive features in a kernel's feature space.

    ``Cov(φ_S(S), g) = 0`` (the paper's covariance-based fairness) for the feature map φ_S of a
    sensitive kernel. It gives the same mean to every group exactly when Assumption 1 of the paper
    holds, which `implies_mean_parity` tells: a kernel rich enough to tell the groups apart, such
    as a polynomial of degree k − 1 in one column.

    Parameters
    ----------
    kernel : str or callable, default="linear"
        A kernel name of scikit-learn ("linear", "polynomial", "rbf", ...) or a function of two
        rows of sensitive values that returns a number.
    gamma, degree, coef0 : float, int, float
        The kernel's parameters, as in scikit-learn's ``pairwise_kernels``.

    Notes
    -----
    Numbers and booleans are used as they are; text and categories become one indicator for each
    value, so that no order is made up. With the linear kernel and several columns of text, the
    groups of each column have equal means, but not the combinations of columns.

    Examples
    --------
    >>> from meanparity.groups import Groups
    >>> groups = Groups.from_columns([1, 2, 3, 3])
    >>> CovarianceParity("linear").implies_mean_parity(groups)
    False
    >>> CovarianceParity("polynomial", degree=2).implies_mean_parity(groups)
    True
    """

    kernel: str | Callable[..., Any] = "linear"
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0

    def functionals(self, groups: Groups) -> Functionals:
        """An orthonormal basis of the centred sensitive features; `gaps` are covariances with it.

        Each basis function is scaled to variance one, so that a gap has the units of the
        predictions.
        """
        _refuse_trivial(groups, every_row=False)
        share = groups.counts / groups.n_rows
        features = self._spanning_features(groups)
        root = np.sqrt(share)
        centred = features - share @ features
        left, sizes, _ = np.linalg.svd(root[:, None] * centred, full_matrices=False)
        basis = left[
            :, sizes > 1e-10 * max(sizes.max(initial=0.0), np.abs(features).max(initial=0.0) * 1e-3)
        ]
        # once more at right angles to the constants, of which faint features keep some rounding
        basis, _ = np.linalg.qr(basis - np.outer(root, root @ basis))
        q = basis.shape[1]
        if q == 0:
            raise ValueError(
                f"The sensitive kernel {self.kernel!r} gives all {groups.n_groups} groups the same "
                "features, so it cannot constrain anything. Choose another kernel."
            )
        return Functionals(
            codes=groups.codes,
            table=basis / np.sqrt(groups.counts)[:, None],
            targets=np.zeros(q),
            units=np.eye(q) / np.sqrt(groups.n_rows),
            labels=tuple(f"sensitive feature {j}" for j in range(q)),
            implies_mean_parity=q == groups.n_groups - 1,
        )

    def features(self, groups: Groups) -> FloatArray:
        """Features F of the groups with ``F Fᵀ`` their sensitive kernel matrix: (k, p)."""
        return self._features(numeric_labels(groups), self.gamma, self.coef0)

    def _features(self, values: FloatArray, gamma: float | None, coef0: float) -> FloatArray:
        if self.kernel == "precomputed":
            raise ValueError("A sensitive kernel cannot be 'precomputed'. Name one, or a function.")
        kernel = Kernel(self.kernel, gamma, self.degree, coef0).bind(values)
        return pivoted_cholesky(
            kernel.diagonal(values), lambda j: kernel.block(values[j : j + 1])[0]
        )

    def _spanning_features(self, groups: Groups) -> FloatArray:
        """Features that span what those of the kernel span, in units without huge or tiny numbers.

        Linear functions, and polynomials up to a degree, are the same set in any units.
        """
        values = numeric_labels(groups)
        polynomial = self.kernel in ("poly", "polynomial") and self.coef0 > 0
        if self.kernel == "linear" or polynomial:
            low, high = values.min(axis=0), values.max(axis=0)
            values = (2 * values - low - high) / np.where(high > low, high - low, 1.0)
        if self.kernel == "linear":
            return values
        if polynomial and values.shape[1] == 1 and self.degree == int(self.degree):
            return _orthogonal_powers(values[:, 0], int(self.degree))
        if polynomial:
            return self._features(values, 1 / values.shape[1], 1.0)
        return self._features(values, self.gamma, self.coef0)


def _orthogonal_powers(values: FloatArray, degree: int) -> FloatArray:
    """An orthonormal basis of the polynomials up to a degree on k values: (k, ≤ degree + 1).

    Each power is the last one times the values, made orthogonal to all before it: high powers
    themselves would be numerically dependent.
    """
    columns = [np.full(len(values), 1 / np.sqrt(len(values)))]
    while len(columns) <= min(degree, len(values) - 1):
        power = values * columns[-1]
        for _ in range(2):
            for column in columns:
                power = power - (column @ power) * column
        columns.append(power / np.linalg.norm(power))
    return np.stack(columns, axis=1)


def numeric_labels(groups: Groups) -> FloatArray:
    """The sensitive values of each group as numbers: (k, e).

    Examples
    --------
    >>> numeric_labels(Groups.from_columns({"age": [30, 40], "sex": ["F", "M"]}))
    array([[30.,  1.,  0.],
           [40.,  0.,  1.]])
    """
    columns = []
    for values in zip(*groups.labels, strict=True):
        if all(isinstance(value, Real | Decimal) for value in values):
            columns.append(np.array(values, dtype=float)[:, None])
        else:
            codes = np.unique(np.array([str(value) for value in values]), return_inverse=True)[1]
            columns.append(np.eye(codes.max() + 1)[codes])
    return np.hstack(columns)


def resolve_constraint(constraint: str | Constraint) -> Constraint:
    """A constraint object from a name or an object.

    Examples
    --------
    >>> resolve_constraint("mean_parity")
    MeanParity()
    """
    named: dict[str, Constraint] = {
        "mean_parity": MeanParity(),
        "covariance_parity": CovarianceParity(),
    }
    if isinstance(constraint, Constraint):
        return constraint
    if isinstance(constraint, str) and constraint in named:
        return named[constraint]
    raise ValueError(
        f"constraint={constraint!r} is not known. Pass one of {', '.join(map(repr, named))}, "
        "or an object such as MeanParity() or CovarianceParity(kernel='rbf')."
    )


def _refuse_trivial(groups: Groups, every_row: bool = True) -> None:
    if groups.n_groups == 1:
        raise ValueError(
            f"sensitive_features has one group only ({groups.names[0]!r} in all {groups.n_rows} "
            "rows), so there is nothing to equalise. Pass a column with at least two values, "
            "or fit scikit-learn's Ridge or KernelRidge instead."
        )
    if every_row and groups.n_groups == groups.n_rows:
        raise ValueError(
            f"sensitive_features has {groups.n_groups} different values in {groups.n_rows} rows: "
            "every row is its own group, and equal group means would make every prediction the "
            "same. If the column is a number such as age, pass "
            "constraint=CovarianceParity(kernel='linear') or bin it; if it is an identifier, "
            "pass another column."
        )
