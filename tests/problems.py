"""Random regression problems, hostile ones among them, for property tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from meanparity.data.rows import Rows


@dataclass(frozen=True)
class Case:
    """A training set with new rows to predict."""

    X: np.ndarray
    y: np.ndarray
    codes: np.ndarray
    X_new: np.ndarray

    @property
    def rows(self) -> Rows:
        return Rows.from_columns(self.codes)

    @property
    def scale(self) -> float:
        """What errors are compared with."""
        return float(np.abs(self.y).max())


@st.composite
def cases(draw, min_rows=8, max_rows=40, max_columns=6):
    """Training sets: duplicated rows, dependent columns, one-row groups, odd scales."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(min_rows, max_rows))
    d = draw(st.integers(1, max_columns))
    k = draw(st.integers(2, min(5, n // 2)))
    X = rng.standard_normal((n, d))
    codes = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    if draw(st.booleans(), label="one group with one row"):
        codes[codes == k - 1] = 0
        codes[-1] = k - 1
    X[:, 0] += codes  # groups differ, or there would be nothing to equalise
    if draw(st.booleans(), label="duplicated rows"):
        half = n // 2
        X[half : 2 * half] = X[:half]
    if d > 1 and draw(st.booleans(), label="dependent columns"):
        X[:, -1] = X[:, 0] - (X[:, 1] if d > 2 else 0)
    if draw(st.booleans(), label="far from zero"):
        X += 10.0
    X *= draw(st.sampled_from([1.0, 1e-3, 1e3]), label="scale of X")
    y = rng.standard_normal(n) + codes + X[:, 0] / np.abs(X[:, 0]).max()
    y *= draw(st.sampled_from([1.0, 1e-4, 1e5]), label="scale of y")
    return Case(
        X, y, codes, X[rng.integers(0, n, 7)] + 0.1 * np.std(X) * rng.standard_normal((7, d))
    )


def rounding_decides_the_rank(K, codes):
    """Whether contrasts of means have inner products neither clearly there nor clearly rounding."""
    groups = np.unique(codes)
    C = np.stack([(codes == g) / np.sum(codes == g) - 1 / len(codes) for g in groups], axis=1)
    values = np.linalg.eigvalsh(C.T @ K @ C)
    return bool(np.any((np.abs(values) > 1e-16 * K.max()) & (values < 1e-9 * values.max())))
