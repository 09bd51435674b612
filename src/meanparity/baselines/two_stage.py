"""Two stages: regress the features on the sensitive ones, then predict from both.

``ŷ = ȳ + Sα + Uβ`` with U the residuals of a regression of X on S. S and U are uncorrelated, so the
share of S in the variance of the predictions is ``αᵀV_Sα / (αᵀV_Sα + βᵀV_Uβ)``. Columns of S and of
U are divided by their standard deviations, as Komiyama et al. do, so that penalties do not depend
on units.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from meanparity._typing import Features, FloatArray, IntArray
from meanparity.data.rows import Rows, Schema
from meanparity.linalg.memory import require_memory

_EXPLAINED = 1e-10  # residuals below this share of a column's deviation are rounding
_NOISE = 64 * np.finfo(float).eps  # deviations below this share of a column's mean are rounding
_CONDITION = 1e-6  # eigenvalues below this share are computed without squaring the columns


@dataclass(frozen=True)
class Encoder:
    """Encodes sensitive values as numbers, as in the published methods.

    Numbers stay as they are, categories become indicators of all values but the first, and several
    columns are put side by side.

    Parameters
    ----------
    schema : Schema
        How the columns are read.
    levels : tuple of tuples
        The values of each column in the training rows.

    Examples
    --------
    >>> rows = Rows.from_columns({"sex": ["F", "M", "F"], "age": [31, 45, 28]}, continuous=["age"])
    >>> Encoder.from_rows(rows).encode(rows)
    array([[ 0., 31.],
           [ 1., 45.],
           [ 0., 28.]])
    """

    schema: Schema
    levels: tuple[tuple[Hashable, ...], ...]

    @classmethod
    def from_rows(cls, rows: Rows) -> Encoder:
        """The encoding of training rows."""
        return cls(rows.schema, rows.levels)

    def encode(self, rows: Rows) -> FloatArray:
        """Encode rows that were read in the same way: (n, e)."""
        columns = []
        for j, name in enumerate(self.schema.sensitive):
            if name in self.schema.continuous:
                columns.append(rows.numbers[name][:, None])
                continue
            position = {value: i for i, value in enumerate(self.levels[j])}
            unseen = [value for value in rows.levels[j] if value not in position]
            if unseen:
                raise ValueError(
                    f"Sensitive column {name!r} has the value {unseen[0]!r}, which fit did not "
                    f"see: in fit it was one of {list(self.levels[j])[:10]}. Leave such rows out."
                )
            known = np.array([position[value] for value in rows.levels[j]], dtype=int)
            columns.append(np.eye(len(position))[known[rows.cells[:, j]], 1:])
        return np.hstack(columns)[rows.codes]

    def check(self, numbers: FloatArray) -> FloatArray:
        """Encoded values, (n, e), without rounding; values that fit did not see are refused."""
        start, result = 0, numbers.copy()
        for j, name in enumerate(self.schema.sensitive):
            if name in self.schema.continuous:
                start += 1
                continue
            part = slice(start, start + len(self.levels[j]) - 1)
            start, indicators = part.stop, np.round(numbers[:, part])
            off = np.abs(numbers[:, part] - indicators).max(axis=1, initial=0.0)
            known = (off < 1e-6) & np.isin(indicators, (0.0, 1.0)).all(axis=1)
            known &= indicators.sum(axis=1) <= 1
            if not known.all():
                raise ValueError(
                    f"The columns of X that determine the sensitive column {name!r} have values in "
                    f"row {int(known.argmin())} that fit did not see. Leave such rows out, or pass "
                    "sensitive_features."
                )
            result[:, part] = indicators
        return result


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Least squares on columns Z, in coordinates in which they are uncorrelated.

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
    def from_columns(
        cls, Z: FloatArray, y: FloatArray, share: FloatArray, rounding: FloatArray
    ) -> Spectrum:
        """Decompose columns of mean zero and variance one.

        Parameters
        ----------
        Z : (n, p) array
            The columns.
        y : (n,) array
            Targets.
        share : (n,) array
            Weights that sum to one.
        rounding : (p,) array
            How much of each column may be rounding error.
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
        """Coefficients of ridge regression, in these coordinates: (r,)."""
        return self.products / (self.values + ridge)

    def variance(self, coef: FloatArray) -> float:
        """Variance of the fitted values with these coefficients, (r,)."""
        return float(self.values @ coef**2)


@dataclass(frozen=True, eq=False)
class FirstStage:
    """The first stage: standardised S, and U, the standardised residuals of X given S.

    Parameters
    ----------
    encoder : Encoder
        Encodes sensitive values as numbers.
    s_mean, s_scale : (e,) arrays
        Means and standard deviations of these numbers (infinite for a constant).
    kept : (r,) array of int
        The columns of X that S does not explain completely.
    x_mean, u_scale : (r,) arrays
        Means of these columns, and standard deviations of their residuals.
    slopes : (e, r) array
        Coefficients of their regression on standardised S.
    recovery : (d + 1, e) array or None
        Linear map from a constant and the features to the sensitive numbers, where columns of X
        determine them.
    """

    encoder: Encoder
    s_mean: FloatArray
    s_scale: FloatArray
    kept: IntArray
    x_mean: FloatArray
    u_scale: FloatArray
    slopes: FloatArray
    recovery: FloatArray | None

    @classmethod
    def fit(
        cls, X: Features, rows: Rows, share: FloatArray
    ) -> tuple[FirstStage, FloatArray, FloatArray]:
        """Regress features, (n, d), on sensitive values; the stage, S, (n, e), and U, (n, r)."""
        encoder = Encoder.from_rows(rows)
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
        recovery = _recovery(X, np.flatnonzero(explained), numbers)
        if explained.any():
            U, slopes = U[:, kept], slopes[:, kept]
            x_mean, deviation = x_mean[kept], deviation[kept]
        U /= deviation
        return cls(encoder, s_mean, s_scale, kept, x_mean, deviation, slopes, recovery), S, U

    @property
    def s_rounding(self) -> FloatArray:
        """How much of each column of S may be rounding error: (e,)."""
        return np.asarray(np.finfo(float).eps * (1 + np.abs(self.s_mean) / self.s_scale))

    @property
    def u_rounding(self) -> FloatArray:
        """How much of each column of U may be rounding error: (r,)."""
        taken = np.abs(self.slopes).sum(axis=0)
        size = 1 + (np.abs(self.x_mean) + taken) / self.u_scale
        return np.asarray(np.finfo(float).eps * size)

    def sensitive(self, numbers: FloatArray) -> FloatArray:
        """Standardised S from encoded sensitive values, (n, e): (n, e)."""
        return (numbers - self.s_mean) / self.s_scale

    def rest(self, X: Features, S: FloatArray) -> FloatArray:
        """Standardised U from features, (n, d), and standardised S, (n, e): (n, r)."""
        rest = _dense(X[:, self.kept]) - self.x_mean - S @ self.slopes
        return np.asarray(rest / self.u_scale)

    @property
    def recovers(self) -> bool:
        """Whether the features determine the sensitive values."""
        return self.recovery is not None

    def recover(self, X: Features) -> FloatArray:
        """Encoded sensitive values of rows whose features determine them: (n, e)."""
        assert self.recovery is not None
        numbers: FloatArray = X @ self.recovery[1:] + self.recovery[0]
        return self.encoder.check(numbers)


def _dense(X: Features) -> FloatArray:
    if not sparse.issparse(X):
        return np.asarray(X)
    require_memory(
        3 * 8 * X.shape[0] * X.shape[1],
        what=f"The dense {X.shape[0]:,} × {X.shape[1]:,} matrix of residuals given S",
        advice="Use fewer columns, or ParityRidge, which keeps them sparse.",
    )
    return np.asarray(X.toarray())


def _deviation(Z: FloatArray, share: FloatArray) -> FloatArray:
    """Standard deviations of columns of mean zero, (n, p), without overflow: (p,)."""
    unit = np.abs(Z).max(axis=0, initial=0.0)
    if ((unit > 0) & ((unit < 1e-150) | (unit > 1e150))).any():
        safe = np.where(unit > 0, unit, 1.0)
        return np.asarray(unit * _deviation(Z / safe, share))
    deviation: FloatArray = np.sqrt(np.einsum("i,ij,ij->j", share, Z, Z))
    return deviation


def _recovery(X: FloatArray, explained: IntArray, numbers: FloatArray) -> FloatArray | None:
    """A linear map from the features that S explains completely to the numbers, (n, e), if any."""
    used = explained[X[:, explained].any(axis=0)]
    columns = X[:, used]
    scale = np.abs(columns).max(axis=0, initial=0.0)
    design = np.column_stack([np.ones(len(columns)), columns / scale])
    found = np.linalg.lstsq(design, numbers, rcond=1e-10)[0]
    if np.abs(design @ found - numbers).max() > 1e-8 * np.abs(numbers).max():
        return None
    recovery = np.zeros((1 + X.shape[1], numbers.shape[1]))
    recovery[0], recovery[1 + used] = found[0], found[1:] / scale[:, None]
    return recovery
