"""A kernel matrix that is not stored: its values are recomputed for every product."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanparity._typing import Features, FloatArray
from meanparity.kernels.bound import BoundKernel
from meanparity.linalg.adjusted import AdjustedMatrix
from meanparity.linalg.parallel import ordered_map
from meanparity.linalg.symmetric import require_finite, row_blocks

_BLOCK = 2**20  # kernel values held at a time by each core (8 MiB)


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelOperator(AdjustedMatrix):
    """The kernel matrix of rows with themselves, which is not stored.

    Parameters
    ----------
    kernel : BoundKernel
        Bound to the rows, and others after them.
    X : (n, d) array or sparse matrix
        The rows.
    """

    kernel: BoundKernel
    X: Features

    @classmethod
    def from_kernel(cls, kernel: BoundKernel, X: Features) -> KernelOperator:
        """The kernel matrix of rows X, neither centred nor scaled."""
        with np.errstate(over="ignore", invalid="ignore"):
            diagonal = kernel.diagonal(X)
        require_finite(diagonal)
        return cls(diagonal=diagonal, kernel=kernel, X=X)

    def plain_times(self, Z: FloatArray) -> FloatArray:
        """The product of the kernel matrix itself with Z, (n, r)."""
        n = len(self)
        if self.kernel.has_device:
            return self.kernel.evaluate_own(self.X, Z)

        def rows(part: slice) -> FloatArray:
            values: FloatArray = self.kernel.block(self.X[part], slice(0, n)) @ Z
            return values

        return np.concatenate(list(ordered_map(rows, row_blocks(n, max(_BLOCK // n, 16)))))
