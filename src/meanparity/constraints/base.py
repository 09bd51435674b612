"""Constraints: what a notion of parity has to say about rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from meanparity._typing import FloatArray
from meanparity.constraints.contrasts import mean_contrasts
from meanparity.constraints.functionals import Functionals
from meanparity.rows import Rows


class Constraint(ABC):
    """A notion of parity: applied to rows it gives functionals.

    A notion of your own is a subclass with this one method; `Functionals.from_weights` makes
    functionals of any weights (docs/add-a-constraint.md).
    """

    training_only: ClassVar[str] = ""  # why it cannot hold on a pool, if it cannot
    uses: ClassVar[tuple[str, ...]] = ()  # of "control_features" and "intersectional"; else refused
    reads_values: ClassVar[bool] = False  # whether it takes numbers as they are, many or few

    @abstractmethod
    def functionals(self, rows: Rows) -> Functionals:
        """The linear functionals that have to meet their targets on these rows."""

    def implies_mean_parity(self, rows: Rows) -> bool:
        """Whether meeting this constraint gives every group of these rows the same mean."""
        return self.functionals(rows).implies_mean_parity

    def settled(self, rows: Rows) -> Self:
        """The notion with all that it takes from the training rows, such as quantiles."""
        return self

    def measured(self, rows: Rows, functionals: Functionals) -> Functionals:
        """What gaps in the units of y are about: by default what the functionals are about."""
        return functionals

    def contrasts(self, rows: Rows) -> Functionals:
        """What gaps on any rows are about: differences of group means; maybe none at all."""
        return mean_contrasts(rows)

    def compared(self, values: FloatArray, y: FloatArray) -> FloatArray:
        """What groups are compared by, (n, m), of predictions and targets: the predictions."""
        return values


@dataclass(frozen=True, eq=False)
class LinearParity(Constraint):
    """Any linear conditions on the predictions for the training rows: ``Σ_i W_ij g(x_i) = t_j``.

    Parameters
    ----------
    weights : array-like or sparse matrix of shape (n, p) or (n,)
        W, in the order of the training rows. Every column sums to zero.
    targets : array-like of shape (p,) or (p, m), optional
        t, 0 by default.
    labels : p texts, optional
        What each condition is about.

    Notes
    -----
    The weights belong to rows, so this does not survive cross-validation, and says nothing about a
    pool. A subclass of `Constraint` computes its weights from the rows that it is given.

    Examples
    --------
    >>> from meanparity import ParityRidge
    >>> X, y = [[1.0], [2.0], [4.0]], [1.0, 2.0, 4.0]
    >>> constraint = LinearParity([[-1.0], [0.0], [1.0]], targets=[1.5])
    >>> model = ParityRidge(constraint=constraint).fit(X, y, sensitive_features=["a", "b", "b"])
    >>> float((model.predict(X)[2] - model.predict(X)[0]).round(12))
    1.5
    """

    training_only: ClassVar[str] = "its weights belong to the training rows"

    weights: Any
    targets: Any = None
    labels: Sequence[str] | None = None

    def functionals(self, rows: Rows) -> Functionals:
        """The given conditions, refused on another number of rows."""
        weights = self.weights.toarray() if sparse.issparse(self.weights) else self.weights
        if np.shape(weights)[:1] != (rows.n_rows,):
            raise ValueError(
                f"LinearParity has weights of shape {np.shape(weights)}, but there are "
                f"{rows.n_rows} rows. Pass one row of weights for each training row; for "
                "cross-validation write a subclass of Constraint instead."
            )
        return Functionals.from_weights(weights, self.targets, self.labels)
