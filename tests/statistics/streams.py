"""Rows for the tests of sums over rows."""

from __future__ import annotations

import numpy as np

from meanparity import (
    Nystrom,
    ParityKernelRidge,
)

NYSTROM = ParityKernelRidge(kernel="rbf", gamma=0.2, fit_intercept=True, solver=Nystrom(40))


def table(seed, n=120, far=0.0, outputs=None, wide=1):
    rng = np.random.default_rng(seed)
    s = np.where(np.arange(n) < 6, np.resize(["a", "b", "c"], n), rng.choice(["a", "b", "c"], n))
    X = rng.standard_normal((n, 4 * wide)) + (s == "b")[:, None] + far
    y = X[:, 0] + (s == "c") + rng.standard_normal(n) + far
    return X, y if outputs is None else np.stack([y, y**2], axis=1), s
