"""What a solver is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanparity._typing import Features, FloatArray
from meanparity.constraints import Functionals

# of a functional on the pool, what is less than this share beside those on the training rows is
# the same condition: to hold both apart would let rounding of the features decide the fit
SAME = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """Minimise ``Σ_i u_i (y_i − g(x_i))² + λ‖g‖²`` subject to functionals on stated points.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Training rows.
    Y : (n, m) array
        Targets.
    alpha : (m,) array
        λ of each output.
    functionals : Functionals
        What has to hold on the training rows; maybe none.
    fit_intercept : bool
        Whether a constant is fitted, without penalty.
    weights : (n,) array or None
        u, all ones if None.
    points : (p, d) array or sparse matrix, or None
        Other rows on which something has to hold: the pool.
    pool : Functionals
        What has to hold there; none by default.
    origin : (d,) array or None
        What was taken off the columns before: their digits are those of larger numbers.
    """

    X: Features
    Y: FloatArray
    alpha: FloatArray
    functionals: Functionals
    fit_intercept: bool
    weights: FloatArray | None = None
    points: Features | None = None
    pool: Functionals = field(default_factory=lambda: Functionals.none(0))
    origin: FloatArray | None = None

    def outputs(self, which: NDArray[Any]) -> Task:
        """The same task for some of the m outputs."""

        def some(functionals: Functionals) -> Functionals:
            if functionals.targets.shape[1] == 1:
                return functionals
            return replace(functionals, targets=functionals.targets[:, which].copy())

        return replace(
            self,
            Y=self.Y[:, which],
            alpha=self.alpha[which],
            functionals=some(self.functionals),
            pool=some(self.pool),
        )

    @cached_property
    def shares(self) -> FloatArray:
        """Share of each row in the loss, summing to one: (n,)."""
        n = len(self.Y)
        return np.full(n, 1 / n) if self.weights is None else self.weights / self.weights.sum()

    @property
    def suits_columns(self) -> bool:
        """Whether linear functions are better solved for their columns than for their rows."""
        n, d = self.X.shape
        return bool(n > d or not self.alpha.all())

    @property
    def targets(self) -> FloatArray:
        """Targets of all functionals, on the training rows and then on the pool: (q, m)."""
        m = self.Y.shape[1]
        parts = (self.functionals, self.pool)
        return np.vstack([np.broadcast_to(part.targets, (len(part), m)) for part in parts])

    @cached_property
    def root(self) -> FloatArray | None:
        """Square roots of the weights, None if all are one: (n,)."""
        return None if self.weights is None else np.sqrt(self.weights)

    def losses(self, fitted: FloatArray) -> FloatArray:
        """Weighted sum of squared errors of fitted values, (n, m): (m,)."""
        errors = self.Y - fitted
        if self.root is not None:
            errors = self.root[:, None] * errors
        losses: FloatArray = np.einsum("ij,ij->j", errors, errors)
        return losses
