"""Zero covariance with the features of a sensitive kernel."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from meanparity._typing import FloatArray, IntArray
from meanparity.constraints.base import Constraint, as_sentence, join_words
from meanparity.constraints.contrasts import Block, assemble, orthonormal
from meanparity.constraints.functionals import Functionals
from meanparity.constraints.numbers import orthogonal_powers
from meanparity.data.columns import are_numbers
from meanparity.data.groups import Groups, label_name
from meanparity.data.rows import Rows
from meanparity.kernels.spec import Kernel
from meanparity.linalg.pivoted import pivoted_cholesky
from meanparity.state import stored


@stored("CovarianceParity")
@dataclass(eq=False, repr=False)
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
    continuous, missing, scale, parity_on, weight_scope, min_group_size
        See `MeanParity`.

    See Also
    --------
    MeanParity : Equal means of groups, or zero covariance with powers of a number.

    Notes
    -----
    Numbers and booleans are used as they are; text and categories become one indicator for each
    value, so that no order is invented. With the linear kernel and several columns of text, the
    groups of each column have equal means, but not the combinations of columns. The kernel looks at
    all sensitive columns together, so with ``missing="ignore"`` a row counts if all are known.
    Smooth kernels of a number, such as "rbf", have ever fainter features: those below rounding are
    left out, and the cut can show in the predictions. Powers are clearer.

    Examples
    --------
    >>> rows = Rows.from_columns([1, 2, 3, 3])
    >>> CovarianceParity("linear").implies_mean_parity(rows)
    False
    >>> CovarianceParity("polynomial", degree=2).implies_mean_parity(rows)
    True
    """

    name: ClassVar[str] = "covariance_parity"
    needs_rows: ClassVar[str] = ""
    uses_control: ClassVar[bool] = True
    reads_values: ClassVar[bool] = True

    kernel: str | Callable[..., Any] = "linear"
    gamma: float | None = field(default=None, kw_only=True)
    degree: int = field(default=3, kw_only=True)
    coef0: float = field(default=1.0, kw_only=True)
    continuous: Any = field(default="auto", kw_only=True)
    missing: str = field(default="error", kw_only=True)
    scale: str = field(default="score", kw_only=True)
    parity_on: str = field(default="both", kw_only=True)
    weight_scope: str = field(default="both", kw_only=True)
    min_group_size: int = field(default=10, kw_only=True)

    def functionals(self, rows: Rows) -> Functionals:
        """An orthonormal basis of the centred sensitive features; `gaps` are covariances with it.

        Each basis function is scaled to variance one, so that a gap has the units of the
        predictions. Where the features tell all groups apart, gaps are those of `MeanParity`.
        """
        sensitive = len(rows.schema.sensitive)
        known = rows.mass > 0
        if rows.schema.missing == "ignore":
            known = known & rows.is_known(rows.schema.sensitive)
        strata, unconstrained = [], []
        for stratum, cells in rows.strata:
            cells = cells[known[cells]]
            if len(np.unique(rows.cells[cells, :sensitive], axis=0)) > 1:
                strata.append((stratum, cells))
            else:
                unconstrained.append((stratum, int(rows.counts[cells].sum())))
        if not strata:
            _refuse_one_group(rows)
        spanning = self._spanning_features(cell_numbers(rows)[known])
        features = np.zeros((len(known), spanning.shape[1]))
        features[known] = spanning
        blocks = [_block(rows, stratum, cells, features) for stratum, cells in strata]
        if not any(block.table.shape[1] for block in blocks):
            raise ValueError(
                f"The sensitive kernel {self.kernel!r} gives all {len(rows.cells)} groups the same "
                "features, so it cannot constrain anything. Choose another kernel."
            )
        return assemble(rows, blocks, tuple(unconstrained) if rows.schema.control else ())

    def describe(self, rows: Rows) -> str:
        """Say what the predictions are uncorrelated with, and whether group means are equal.

        Examples
        --------
        >>> print(CovarianceParity("linear").describe(Rows.from_columns({"grade": [1, 2, 3, 3]})))
        Predictions have zero covariance with the numbers in grade; this does not make the mean
        prediction the same in every group.
        """
        schema = rows.schema
        columns = join_words(schema.sensitive)
        if self.kernel == "linear":
            parts = []
            for name, levels in zip(schema.sensitive, rows.levels, strict=False):
                numeric = levels and are_numbers(levels, booleans=True)
                kind = "numbers in" if numeric else "indicators of the values of"
                parts.append(f"the {kind} {name}")
            features = join_words(parts)
        else:
            kernel = getattr(self.kernel, "__name__", self.kernel)
            features = f"every feature of the {kernel} kernel on {columns}"
        weighted = "" if rows.weights is None else "weighted "
        statement = f"predictions have zero {weighted}covariance with {features}"
        # with strata or numbers, whether means are equal is not a question of these groups alone
        if not schema.control and not schema.continuous:
            try:
                implied = self.implies_mean_parity(rows)
            except ValueError:  # one group only
                implied = False
            groups = f"group of {columns}" if len(schema.sensitive) == 1 else "group"
            if implied:
                statement += (
                    f", which makes the {weighted}mean prediction the same in every {groups}"
                )
            else:
                statement += "; this does not make the mean prediction the same in every group"
        return as_sentence(rows, statement)

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

    def _spanning_features(self, values: FloatArray) -> FloatArray:
        """Features that span what those of the kernel span, in units without huge or tiny numbers.

        Linear functions, and polynomials up to a degree, are the same set in any units.
        """
        polynomial = self.kernel in ("poly", "polynomial") and self.coef0 > 0
        if self.kernel == "linear" or polynomial:
            low, high = values.min(axis=0), values.max(axis=0)
            values = (2 * values - low - high) / np.where(high > low, high - low, 1.0)
        if self.kernel == "linear":
            return values
        if polynomial and values.shape[1] == 1 and self.degree == int(self.degree):
            return orthogonal_powers(values[:, 0], int(self.degree))
        if polynomial:
            return self._features(values, 1 / values.shape[1], 1.0)
        return self._features(values, self.gamma, self.coef0)


def _block(rows: Rows, stratum: str, cells: IntArray, features: FloatArray) -> Block:
    """The conditions on the cells of a stratum."""
    mass, inside = rows.mass[cells], features[cells]
    share = mass / mass.sum()
    largest = 1e-3 * np.abs(inside).max(initial=0.0) * np.sqrt(mass.sum())
    table = orthonormal(mass, inside - share @ inside, largest)
    q = table.shape[1]
    if q == len(cells) - 1:  # all cells are told apart: their means less the overall mean
        columns = rows.schema.sensitive
        labels = tuple(label_name(columns, rows.sensitive_values(cell)) for cell in cells)
        return Block(stratum, cells, table, table, labels)
    labels = tuple(f"sensitive feature {j}" for j in range(q))
    return Block(stratum, cells, table, np.eye(q) / np.sqrt(mass.sum()), labels)


def _refuse_one_group(rows: Rows) -> None:
    control = ", ".join(rows.schema.control)
    n = int(rows.counts[rows.mass > 0].sum())
    where = f"all {n} rows" + (" that have weight" if n < rows.counts.sum() else "")
    where = f"every stratum of {control}" if control else where
    advice = "Use coarser strata" if control else "Pass a column with at least two values"
    raise ValueError(
        f"sensitive_features has one group only in {where}, so there is nothing to constrain. "
        f"{advice}, or fit scikit-learn's Ridge or KernelRidge instead."
    )


def numeric_labels(groups: Groups) -> FloatArray:
    """The sensitive values of each group as numbers: (k, e).

    Examples
    --------
    >>> numeric_labels(Groups.from_columns({"age": [30, 40], "sex": ["F", "M"]}))
    array([[30.,  1.,  0.],
           [40.,  0.,  1.]])
    """
    return np.hstack([_encode(values) for values in zip(*groups.labels, strict=True)])


def cell_numbers(rows: Rows) -> FloatArray:
    """The sensitive values of each cell as numbers: (k, e)."""
    columns = []
    for position in range(len(rows.schema.sensitive)):
        levels = (*rows.levels[position], None)
        columns.append(_encode([levels[code] for code in rows.cells[:, position].tolist()]))
    return np.hstack(columns)


def _encode(values: Sequence[Hashable]) -> FloatArray:
    """A column of values as numbers, (k, e): themselves, or one indicator for each value.

    Missing numbers get an indicator of their own and the mean of the others.
    """
    known = [value for value in values if value is not None]
    if known and are_numbers(known, booleans=True):
        numbers = np.array([np.nan if value is None else value for value in values], dtype=float)
        missing = np.isnan(numbers)
        filled = np.where(missing, numbers[~missing].mean(), numbers)[:, None]
        return np.column_stack([filled, missing]) if missing.any() else filled
    codes = np.unique(np.array([str(value) for value in values]), return_inverse=True)[1]
    return np.eye(codes.max() + 1)[codes]
