"""Two stages: features are cleared of what the sensitive ones explain, and then both predict.

``ŷ = ȳ + Sα + Uβ`` with ``U = X − (regression of X on S)``: S and U are uncorrelated, so the share
of S in the variance of the predictions is ``αᵀV_Sα / (αᵀV_Sα + βᵀV_Uβ)``. Columns of S and of U are
divided by their standard deviations, as Komiyama et al. do, so that penalties do not depend on
units.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from meanparity._typing import Features, FloatArray, IntArray
from meanparity.linalg import require_memory
from meanparity.rows import Reading, Rows

_EXPLAINED = 1e-10  # of a column's deviation: what is left of less is nothing but rounding
_NOISE = 64 * np.finfo(float).eps  # of a column's mean: deviations of less are rounding
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

    def checked(self, numbers: FloatArray) -> FloatArray:
        """Numbers, (n, e), that are near those of values that fit saw; others are refused."""
        start, result = 0, numbers.copy()
        for j, name in enumerate(self.reading.sensitive):
            if name in self.reading.continuous:
                start += 1
                continue
            part = slice(start, start + len(self.levels[j]) - 1)
            start, indicators = part.stop, np.round(numbers[:, part])
            off = np.abs(numbers[:, part] - indicators).max(axis=1, initial=0.0)
            known = (off < 1e-6) & np.isin(indicators, (0.0, 1.0)).all(axis=1)
            known &= indicators.sum(axis=1) <= 1
            if not known.all():
                raise ValueError(
                    f"The columns of X that tell the sensitive column {name!r} have values in row "
                    f"{int(known.argmin())} that fit did not see. Leave such rows out, or pass "
                    "sensitive_features."
                )
            result[:, part] = indicators
        return result


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
    def of(cls, Z: FloatArray, y: FloatArray, share: FloatArray, rounding: FloatArray) -> Spectrum:
        """Decompose columns Z, (n, p), of mean zero and variance one, and products with y, (n,).

        `share`, (n,), are weights that sum to one; `rounding`, (p,), is how much of each column may
        be nothing but rounding.
        """
        root = np.sqrt(share)
        Z, y = root[:, None] * Z, root * y
        n, p = Z.shape
        if p <= n:
            values, vectors = np.linalg.eigh(Z.T @ Z)
            if values.min(initial=np.inf) > _CONDITION * values.max(initial=0.0):
                return cls(values, vectors, vectors.T @ (Z.T @ y))
            both = np.asarray(np.linalg.qr(np.column_stack([Z, y]), mode="r"))
            Z, y = both[:, :-1], both[:, -1]
        left, sizes, right = np.linalg.svd(Z, full_matrices=False)
        cut = max(n, p, 50) * np.finfo(float).eps * np.linalg.norm(sizes)
        keep = sizes > cut + 8 * np.linalg.norm(rounding)
        return cls(sizes[keep] ** 2, right[keep].T, sizes[keep] * (left[:, keep].T @ y))

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
        Means and deviations of these numbers (infinite for a constant).
    kept : (r,) array of int
        The columns of X of which S leaves anything.
    x_mean, u_scale : (r,) arrays
        Their means, and the deviations of what is left.
    slopes : (e, r) array
        Their regression on standardised S.
    back : (d + 1, e) array or None
        Takes a constant and features to the numbers, where columns of X tell them.
    """

    encoder: Encoder
    s_mean: FloatArray
    s_scale: FloatArray
    kept: IntArray
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
        s_scale = _deviation(numbers - s_mean, share)
        s_scale[s_scale <= _NOISE * np.abs(s_mean)] = np.inf
        if not np.isfinite(s_scale).any():
            raise ValueError(
                f"sensitive_features has one group only in all {rows.n_rows} rows, so there is "
                "nothing to bound. Pass a column with at least two values."
            )
        S = (numbers - s_mean) / s_scale
        x_mean = share @ X
        U, root = X - x_mean, np.sqrt(share)[:, None]
        before = _deviation(U, share)
        left, sizes, right = np.linalg.svd(root * S, full_matrices=False)
        keep = sizes > _EXPLAINED * sizes[0]
        slopes = (right[keep].T / sizes[keep]) @ ((root * left[:, keep]).T @ U)
        U -= S @ slopes
        deviation = _deviation(U, share)
        if not np.isfinite(deviation).all():
            raise ValueError("X is too large for floating point. Scale the features.")
        explained = deviation <= _EXPLAINED * before + _NOISE * np.abs(x_mean)
        kept = np.flatnonzero(~explained)
        back = _back(X, np.flatnonzero(explained), numbers)
        if explained.any():
            U, slopes = U[:, kept], slopes[:, kept]
            x_mean, deviation = x_mean[kept], deviation[kept]
        U /= deviation
        return cls(encoder, s_mean, s_scale, kept, x_mean, deviation, slopes, back), S, U

    @property
    def s_rounding(self) -> FloatArray:
        """How much of each column of S may be rounding: (e,)."""
        return np.asarray(np.finfo(float).eps * (1 + np.abs(self.s_mean) / self.s_scale))

    @property
    def u_rounding(self) -> FloatArray:
        """How much of each column of U may be rounding: (r,)."""
        taken = np.abs(self.slopes).sum(axis=0)
        size = 1 + (np.abs(self.x_mean) + taken) / self.u_scale
        return np.asarray(np.finfo(float).eps * size)

    def sensitive(self, numbers: FloatArray) -> FloatArray:
        """S: (n, e)."""
        return (numbers - self.s_mean) / self.s_scale

    def rest(self, X: Features, S: FloatArray) -> FloatArray:
        """U: (n, r)."""
        rest = _dense(X[:, self.kept]) - self.x_mean - S @ self.slopes
        return np.asarray(rest / self.u_scale)

    @property
    def is_told(self) -> bool:
        """Whether the features tell the sensitive numbers."""
        return self.back is not None

    def recover(self, X: Features) -> FloatArray:
        """The sensitive numbers of rows whose features tell them: (n, e)."""
        assert self.back is not None
        numbers: FloatArray = X @ self.back[1:] + self.back[0]
        return self.encoder.checked(numbers)


def _dense(X: Features) -> FloatArray:
    if not sparse.issparse(X):
        return np.asarray(X)
    require_memory(
        3 * 8 * X.shape[0] * X.shape[1],
        what=f"What S leaves of {X.shape[1]:,} columns of {X.shape[0]:,} rows is not sparse, and",
        advice="Use fewer columns, or a method that keeps them sparse: ParityRidge.",
    )
    return np.asarray(X.toarray())


def _deviation(Z: FloatArray, share: FloatArray) -> FloatArray:
    """Standard deviations of columns of mean zero, (n, p), whatever their size: (p,)."""
    unit = np.abs(Z).max(axis=0, initial=0.0)
    if ((unit > 0) & ((unit < 1e-150) | (unit > 1e150))).any():
        safe = np.where(unit > 0, unit, 1.0)
        return np.asarray(unit * _deviation(Z / safe, share))
    deviation: FloatArray = np.sqrt(np.einsum("i,ij,ij->j", share, Z, Z))
    return deviation


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
