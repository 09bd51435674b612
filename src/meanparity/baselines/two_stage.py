"""Two stages: features are cleared of what the sensitive ones explain, and then both predict.

``ŷ = ȳ + Sα + Uβ`` with ``U = X − (regression of X on S)``: S and U are uncorrelated, so the share
of S in the variance of the predictions is ``αᵀV_Sα / (αᵀV_Sα + βᵀV_Uβ)``. Columns of S and of U are
divided by their standard deviations, as Komiyama et al. do, so that penalties do not depend on
units.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from meanparity._typing import Features, FloatArray, IntArray
from meanparity.rows import Reading, Rows

_EXPLAINED = 1e-10  # of a column's deviation: what is left of less is nothing but rounding
_CONDITION = 1e-6  # eigenvalues of a smaller share are computed without squaring the columns


@dataclass(frozen=True)
class Encoder:
    """Sensitive values as numbers: themselves, or indicators of all values of a category but one.

    Several columns stand side by side, as in the published methods.

    Parameters
    ----------
    reading : Reading
        How the columns are read.
    levels : tuple of tuples
        The values that each column takes in the training rows.

    Examples
    --------
    >>> rows = Rows.of({"sex": ["F", "M", "F"], "age": [31, 45, 28]}, continuous=["age"])
    >>> Encoder.of(rows).encode(rows)
    array([[ 0., 31.],
           [ 1., 45.],
           [ 0., 28.]])
    """

    reading: Reading
    levels: tuple[tuple[Hashable, ...], ...]

    @classmethod
    def of(cls, rows: Rows) -> Encoder:
        """The encoding of training rows."""
        return cls(rows.reading, rows.levels)

    def read(self, sensitive_features: Any, n_rows: int) -> FloatArray:
        """The numbers of other rows: (n, e)."""
        return self.encode(self.reading.rows(sensitive_features, n_rows=n_rows))

    def encode(self, rows: Rows) -> FloatArray:
        """The numbers of rows that were read the same way: (n, e)."""
        columns = []
        for j, name in enumerate(self.reading.sensitive):
            if name in self.reading.continuous:
                columns.append(rows.numbers[name][:, None])
                continue
            position = {value: i for i, value in enumerate(self.levels[j])}
            unseen = [value for value in rows.levels[j] if value not in position]
            if unseen:
                raise ValueError(
                    f"Sensitive column {name!r} has the value {unseen[0]!r}, which fit did not "
                    f"see: there it was one of {list(self.levels[j])[:10]}. Leave such rows out."
                )
            known = np.array([position[value] for value in rows.levels[j]], dtype=int)
            columns.append(np.eye(len(position))[known[rows.cells[:, j]], 1:])
        return np.hstack(columns)[rows.codes]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Least squares on columns Z in the coordinates in which they are uncorrelated.

    Parameters
    ----------
    values : (r,) array
        Eigenvalues of ``V = E[Z Zᵀ]``, all positive.
    vectors : (p, r) array
        Their eigenvectors.
    products : (r,) array
        ``E[Z y]`` in these coordinates.
    """

    values: FloatArray
    vectors: FloatArray
    products: FloatArray

    @classmethod
    def of(cls, Z: FloatArray, y: FloatArray, share: FloatArray) -> Spectrum:
        """Decompose columns Z, (n, p), of mean zero; `share`, (n,), are weights that sum to one."""
        some = np.flatnonzero(Z.any(axis=0))
        if len(some) < Z.shape[1]:
            part = cls.of(Z[:, some], y, share)
            vectors = np.zeros((Z.shape[1], len(part.values)))
            vectors[some] = part.vectors
            return replace(part, vectors=vectors)
        root = np.sqrt(share)
        Z, y = root[:, None] * Z, root * y
        values, vectors = np.linalg.eigh(Z.T @ Z)
        products = vectors.T @ (Z.T @ y)
        if values.min(initial=np.inf) < _CONDITION * values.max(initial=0.0):
            both = np.asarray(np.linalg.qr(np.column_stack([Z, y]), mode="r"))
            left, sizes, right = np.linalg.svd(both[:, :-1], full_matrices=False)
            cut = max(*Z.shape, 50) * np.finfo(float).eps * np.linalg.norm(sizes)
            keep = sizes > cut
            values, vectors = sizes[keep] ** 2, right[keep].T
            products = sizes[keep] * (left[:, keep].T @ both[:, -1])
        return cls(values, vectors, products)

    def solve(self, ridge: float) -> FloatArray:
        """Coefficients of least squares with a penalty, in these coordinates: (r,)."""
        return self.products / (self.values + ridge)

    def variance(self, coef: FloatArray) -> float:
        """Variance of the values with these coefficients."""
        return float(self.values @ coef**2)


@dataclass(frozen=True, eq=False)
class TwoStage:
    """The first stage: S, standardised, and U, cleared of S and standardised.

    Parameters
    ----------
    encoder : Encoder
        Takes sensitive values to numbers.
    s_mean, s_scale : (e,) arrays
        Means and deviations of these numbers.
    x_mean, u_scale : (d,) arrays
        Means of the features, and deviations of what S leaves of them (infinite for nothing).
    slopes : (e, d) array
        The regression of X on standardised S.
    back : (d + 1, e) array or None
        Takes a constant and features to the numbers, where columns of X hold them.
    """

    encoder: Encoder
    s_mean: FloatArray
    s_scale: FloatArray
    x_mean: FloatArray
    u_scale: FloatArray
    slopes: FloatArray
    back: FloatArray | None

    @classmethod
    def fit(
        cls, X: Features, rows: Rows, share: FloatArray
    ) -> tuple[TwoStage, FloatArray, FloatArray]:
        """Regress features, (n, d), on the sensitive values of the rows; S and U as well."""
        encoder = Encoder.of(rows)
        numbers, X = encoder.encode(rows), _dense(X)
        s_mean = share @ numbers
        s_scale = np.sqrt(share @ (numbers - s_mean) ** 2)
        s_scale[s_scale <= 1e-14 * np.abs(s_mean)] = np.inf
        if not np.isfinite(s_scale).any():
            raise ValueError(
                f"sensitive_features has one group only in all {rows.n_rows} rows, so there is "
                "nothing to bound. Pass a column with at least two values."
            )
        S = (numbers - s_mean) / s_scale
        x_mean = share @ X
        U, root = X - x_mean, np.sqrt(share)[:, None]
        before = np.sqrt(np.einsum("i,ij,ij->j", share, U, U))
        left, sizes, right = np.linalg.svd(root * S, full_matrices=False)
        keep = sizes > _EXPLAINED * sizes[0]
        slopes = (right[keep].T / sizes[keep]) @ ((root * left[:, keep]).T @ U)
        U -= S @ slopes
        deviation = np.sqrt(np.einsum("i,ij,ij->j", share, U, U))
        if not np.isfinite(deviation).all():
            raise ValueError("The squares of X are infinite. Scale the features.")
        explained = deviation <= _EXPLAINED * np.maximum(before, 1e-5 * np.abs(x_mean))
        u_scale = np.where(explained, np.inf, deviation)
        back = _back(X, np.flatnonzero(explained), numbers)
        U /= u_scale
        return cls(encoder, s_mean, s_scale, x_mean, u_scale, slopes, back), S, U

    def sensitive(self, numbers: FloatArray) -> FloatArray:
        """S: (n, e)."""
        return (numbers - self.s_mean) / self.s_scale

    def rest(self, X: Features, S: FloatArray) -> FloatArray:
        """U: (n, d)."""
        rest: FloatArray = (_dense(X) - self.x_mean - S @ self.slopes) / self.u_scale
        return rest

    def recover(self, X: Features) -> FloatArray | None:
        """The sensitive numbers of rows whose features hold them, (n, e); None if they do not."""
        if self.back is None:
            return None
        numbers: FloatArray = X @ self.back[1:] + self.back[0]
        return numbers


def _dense(X: Features) -> FloatArray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X)


def _back(X: FloatArray, explained: IntArray, numbers: FloatArray) -> FloatArray | None:
    """A linear map from those features that S explains wholly to the sensitive numbers, (n, e)."""
    used = explained[X[:, explained].any(axis=0)]
    columns = X[:, used]
    scale = np.abs(columns).max(axis=0, initial=0.0)
    design = np.column_stack([np.ones(len(columns)), columns / scale])
    found = np.linalg.lstsq(design, numbers, rcond=1e-10)[0]
    if np.abs(design @ found - numbers).max() > 1e-8 * np.abs(numbers).max():
        return None
    back = np.zeros((1 + X.shape[1], numbers.shape[1]))
    back[0], back[1 + used] = found[0], found[1:] / scale[:, None]
    return back
