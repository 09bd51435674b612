"""Two stages: regress the features on the sensitive ones, then predict from both.

``ŷ = ȳ + Sα + Uβ`` with U the residuals of a regression of X on S. S and U are uncorrelated, so the
share of S in the variance of the predictions is ``αᵀV_Sα / (αᵀV_Sα + βᵀV_Uβ)``. Columns of S and of
U are divided by their standard deviations, as Komiyama et al. do, so that penalties do not depend
on units.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from meanparity._typing import Features, FloatArray, IntArray
from meanparity.data.rows import Rows, Schema
from meanparity.kernels.bound import KernelExpansion
from meanparity.linalg.memory import require_memory
from meanparity.state import stored

_EXPLAINED = 1e-10  # residuals below this share of a column's deviation are rounding
_NOISE = 64 * np.finfo(float).eps  # deviations below this share of a column's mean are rounding
_CONDITION = 1e-6  # eigenvalues below this share are computed without squaring the columns


@stored("Encoder", any_number=("levels",))
@dataclass(frozen=True)
class SensitiveEncoder:
    """Encodes sensitive values as numbers, as in the published methods.

    Numbers stay as they are, categories become indicators of all values but the first, and several
    columns are put side by side.

    Parameters
    ----------
    schema : Schema
        How the columns are read.
    levels : tuple of tuples
        The values of each category in the training rows; empty for numbers.

    Examples
    --------
    >>> rows = Rows.from_columns({"sex": ["F", "M", "F"], "age": [31, 45, 28]}, continuous=["age"])
    >>> SensitiveEncoder.from_rows(rows).encode(rows)
    array([[ 0., 31.],
           [ 1., 45.],
           [ 0., 28.]])
    """

    schema: Schema
    levels: tuple[tuple[Hashable, ...], ...]

    @classmethod
    def from_rows(cls, rows: Rows) -> SensitiveEncoder:
        """The encoding of training rows; their numbers, which say who was there, are not kept."""
        sensitive, numbers = rows.schema.sensitive, rows.schema.continuous
        pairs = zip(sensitive, rows.levels, strict=True)
        return cls(rows.schema, tuple(() if name in numbers else found for name, found in pairs))

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
            start = part.stop
            first = np.full((len(numbers), 1), 0.5)  # the first value has no indicator
            nearest = np.hstack([first, numbers[:, part]]).argmax(axis=1)
            result[:, part] = np.eye(len(self.levels[j]))[nearest, 1:]
            known = np.abs(numbers[:, part] - result[:, part]).max(axis=1, initial=0.0) < 1e-6
            if not known.all():
                raise ValueError(
                    f"The columns of X that determine the sensitive column {name!r} have values in "
                    f"row {int(known.argmin())} that fit did not see. Leave such rows out, or pass "
                    "sensitive_features."
                )
        return result


@stored(
    "StagePart",
    anonymous=lambda part: replace(part, size=float("nan")),
    any_number=("size",),
)
@dataclass(frozen=True, eq=False)
class Part:
    """The part of the predictions that depends on Z, which is standardised S or U.

    Parameters
    ----------
    coef : (p,) or (n, 1) array
        Coefficients of the columns of Z, or of the training rows if there is a kernel.
    size : float
        What is bounded: the variance of this part on the training rows, or ``Σf² + λ‖f‖²`` of a
        kernel function f.
    kernel : KernelExpansion or None
        The kernel at the training rows; None for a linear function.
    """

    coef: FloatArray
    size: float
    kernel: KernelExpansion | None = None

    def scale(self, factor: float) -> Part:
        """The function, multiplied by a number."""
        return Part(factor * self.coef, factor**2 * self.size, self.kernel)

    def evaluate(self, Z: FloatArray) -> FloatArray:
        """Values at the rows of Z, (n, p): (n,)."""
        if self.kernel is None:
            return np.asarray(Z @ self.coef)
        return np.asarray(self.kernel.evaluate(some_column(Z), self.coef)[:, 0])


def some_column(Z: FloatArray) -> FloatArray:
    """Z, or a column of zeros if it has no columns, because kernels need at least one."""
    return Z if Z.shape[1] else np.zeros((len(Z), 1))


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

    def part(self, coef: FloatArray) -> Part:
        """The linear function of Z with these coefficients, (r,)."""
        return Part(self.vectors @ coef, self.variance(coef))


@stored("FirstStage", any_number=("s_scale",))
@dataclass(frozen=True, eq=False)
class FirstStage:
    """The first stage: standardised S, and U, the standardised residuals of X given S.

    Parameters
    ----------
    encoder : SensitiveEncoder
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

    encoder: SensitiveEncoder
    s_mean: FloatArray
    s_scale: FloatArray
    kept: IntArray
    x_mean: FloatArray
    u_scale: FloatArray
    slopes: FloatArray
    recovery: FloatArray | None

    def __post_init__(self) -> None:
        if np.isnan(self.s_scale).any():  # infinite where a value never varies
            raise ValueError("the scale of sensitive values has numbers that are not numbers")

    @classmethod
    def fit(
        cls, X: Features, rows: Rows, share: FloatArray
    ) -> tuple[FirstStage, FloatArray, FloatArray]:
        """Regress features, (n, d), on sensitive values; the stage, S, (n, e), and U, (n, r)."""
        encoder = SensitiveEncoder.from_rows(rows)
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
        slopes = (np.linalg.pinv(root * S, rcond=_EXPLAINED) * root.T) @ U
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
    def rounding(self) -> tuple[FloatArray, FloatArray]:
        """How much of each column of S and of U may be rounding error: (e,) and (r,)."""
        taken = np.abs(self.slopes).sum(axis=0)
        in_s = 1 + np.abs(self.s_mean) / self.s_scale
        in_u = 1 + (np.abs(self.x_mean) + taken) / self.u_scale
        return np.finfo(float).eps * in_s, np.finfo(float).eps * in_u

    def transform(self, X: Features, numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """S, (n, e), and U, (n, r), of features, (n, d), and encoded sensitive values, (n, e)."""
        S = (numbers - self.s_mean) / self.s_scale
        U = _dense(X[:, self.kept]) - self.x_mean - S @ self.slopes
        return S, U / self.u_scale

    def recover(self, X: Features) -> FloatArray | None:
        """Encoded sensitive values, (n, e), from features, (n, d), if these determine them."""
        if self.recovery is None:
            return None
        return self.encoder.check(X @ self.recovery[1:] + self.recovery[0])


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
    unit[(unit == 0) | ((unit > 1e-150) & (unit < 1e150))] = 1.0
    scaled = Z if (unit == 1).all() else Z / unit
    return np.asarray(unit * np.sqrt(np.einsum("i,ij,ij->j", share, scaled, scaled)))


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
