"""Conditions with given weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from meanparity.constraints.base import Constraint
from meanparity.constraints.functionals import Functionals
from meanparity.data.rows import Rows
from meanparity.state import stored


@stored("LinearParity")
@dataclass(eq=False, repr=False)
class LinearParity(Constraint):
    """Any linear conditions on the predictions for the training rows: ``Σ_i W_ij g(x_i) = t_j``.

    Parameters
    ----------
    weights : array-like or sparse matrix of shape (n, p) or (n,)
        W, in the order of the training rows. Every column sums to zero.
    targets : array-like of shape (p,) or (p, m), optional
        t, 0 by default.
    labels : sequence of p str, optional
        Name of each condition.
    scale, weight_scope, min_group_size
        See `MeanParity`.

    See Also
    --------
    Constraint : A class of your own, which also works on pools and in folds.

    Notes
    -----
    The weights belong to the training rows, so this constraint cannot be cross-validated and cannot
    hold on a pool. A subclass of `Constraint` computes its weights from the rows that it is given.

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
    needs_rows: ClassVar[str] = "its weights belong to the training rows"

    weights: Any
    targets: Any = None
    labels: Sequence[str] | None = None
    scale: str = field(default="score", kw_only=True)
    weight_scope: str = field(default="both", kw_only=True)
    min_group_size: int = field(default=10, kw_only=True)

    def describe(self, rows: Rows) -> str:
        """Say how many conditions there are, and their names if they are known."""
        shape = np.shape(self.weights)
        count = shape[1] if len(shape) == 2 else 1
        about = f" ({', '.join(map(str, self.labels))})" if self.labels is not None else ""
        conditions = f"{count:,} given linear condition{'' if count == 1 else 's'}"
        return f"The predictions on the training rows satisfy {conditions}{about}."

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
