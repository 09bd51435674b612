"""An upper bound on the gaps in a population, from rows that were not used in fit."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse import csr_array, issparse
from sklearn.utils import gen_batches

from meanparity._typing import FloatArray, IntArray
from meanparity.audit.checks import check_probability, require_several_groups
from meanparity.audit.moments import Moments
from meanparity.data.columns import are_numbers, is_missing, plain_column, read_levels
from meanparity.data.features import FeatureLayout, shape_of
from meanparity.data.groups import Groups


@dataclass(frozen=True)
class Certificate:
    """Bounds on the distance between each group's mean prediction and the overall mean.

    Parameters
    ----------
    bound : float
        Upper bound on ``max_j |E(g | group j) − E(g)|`` in the population from which the rows were
        drawn.
    bounds : tuple of (group, float)
        The upper bound for each group. All of them hold simultaneously.
    observed : float
        Largest gap on the rows themselves.
    confidence : float
        Probability, at least, that all bounds hold.
    kind : {"distribution-free", "asymptotic"}
        Whether the bounds hold for any distribution and any number of rows, or only
        approximately, for many rows.
    n_rows : int
        Number of rows.
    """

    bound: float
    bounds: tuple[tuple[Hashable, float], ...]
    observed: float
    confidence: float
    kind: str
    n_rows: int

    def __str__(self) -> str:
        validity = (
            "valid for any distribution"
            if self.kind == "distribution-free"
            else "an approximation for many rows"
        )
        return (
            f"With {100 * self.confidence:g} % confidence, no group's mean prediction differs from "
            f"the overall mean by more than {self.bound:.4g} in the population from which these "
            f"{self.n_rows:,} rows were drawn ({validity}). The largest gap on these rows is "
            f"{self.observed:.4g}."
        )


def parity_certificate(
    model: Any,
    X: Any,
    sensitive_features: Any,
    *,
    confidence: float = 0.95,
    bounds: tuple[float, float] | None = None,
    X_train: Any = None,
    unseen: bool = False,
) -> Certificate:
    r"""Bound the gaps between group means in a population.

    On the rows used in fit, parity is exact by construction and says nothing about other rows. For
    n rows that were drawn independently of the fit, with gaps ``ĝ_j``, the bound for group j is

    * with `bounds` on the predictions, ``|ĝ_j| + ε_j + ε``, where ε_j and ε bound the error of the
      group's mean and of the overall mean. Each is the smaller of Hoeffding's bound and the
      empirical Bernstein bound of Maurer and Pontil, at an equal share of the error probability.
      This holds for any distribution;
    * without `bounds`, ``|ĝ_j| + q·se_j`` with a quantile q of Student's t distribution, at an
      equal share of the error probability for each group. This holds for many rows.

    Parameters
    ----------
    model : fitted estimator with `predict`
    X : array-like of shape (n, d)
        Rows that were used neither for training nor as a pool.
    sensitive_features : array-like of shape (n,) or (n, r), or data frame
        Sensitive columns of these rows.
    confidence : float, default=0.95
        Confidence that all bounds hold simultaneously.
    bounds : (low, high), optional
        Interval that contains every possible prediction, known in advance, such as (0, 1).
    X_train : array-like, optional
        The rows used in fit, a pool included. Rows of X that are among them, in single or double
        precision, are refused. Tables with text, such as a pipeline reads, are compared cell by
        cell. Required unless `unseen` is True.
    unseen : bool, default=False
        Confirm that no row of X was used in fit. Rows that only look like training rows, because
        the features take few values, are then accepted.

    Returns
    -------
    Certificate

    References
    ----------
    Maurer, A. and Pontil, M. (2009). Empirical Bernstein bounds and sample variance penalization.
    COLT.

    Examples
    --------
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(2000, random_state=0)
    >>> train, test = slice(0, 1000), slice(1000, None)
    >>> model = ParityRidge().fit(X[train], y[train], sensitive_features=s[train])
    >>> certificate = parity_certificate(model, X[test], s[test], X_train=X[train])
    >>> certificate.observed < certificate.bound
    True
    >>> parity_certificate(model, X, s, X_train=X[train])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: 1000 of 2000 rows of X were used in fit, where parity says nothing about ...
    """
    confidence = check_probability(confidence, "confidence")
    if not unseen:
        _refuse_training_rows(X, X_train)
    values = np.asarray(model.predict(X), dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(
            f"predict returns values of shape {values.shape}. Certify a model of one output."
        )
    groups = Groups.from_columns(sensitive_features, n_rows=len(values))
    require_several_groups(groups)
    moments = Moments.from_values(values, groups, None)
    gaps = np.abs(moments.gaps)
    if bounds is None:
        upper = gaps + _asymptotic_margins(moments, 1 - confidence)
    else:
        width = _check_bounds(bounds, values)
        upper = gaps + _distribution_free_margins(values, groups, width, 1 - confidence)
    return Certificate(
        bound=float(upper.max()),
        bounds=tuple((key, float(value)) for key, value in zip(groups.keys, upper, strict=True)),
        observed=float(gaps.max()),
        confidence=confidence,
        kind="asymptotic" if bounds is None else "distribution-free",
        n_rows=len(values),
    )


def _asymptotic_margins(moments: Moments, error: float) -> FloatArray:
    # The shares of the groups are random too, which adds to the variance of the overall mean.
    shares = float(moments.shares @ moments.gaps**2) / float(moments.counts.sum())
    quantile = stats.t.ppf(1 - error / (2 * len(moments.means)), moments.degrees_of_freedom)
    return np.asarray(quantile * np.sqrt(moments.standard_errors**2 + shares))


def _distribution_free_margins(
    values: FloatArray, groups: Groups, width: float, error: float
) -> FloatArray:
    each = error / (groups.n_groups + 1)
    overall = _deviation_bound(values, width, each)
    samples = [values[groups.codes == j] for j in range(groups.n_groups)]
    return np.array([_deviation_bound(sample, width, each) + overall for sample in samples])


def _deviation_bound(sample: FloatArray, width: float, error: float) -> float:
    """Two-sided bound on the error of a sample mean that fails with probability `error`."""
    n, side = len(sample), error / 4  # two sides of two bounds
    hoeffding = np.sqrt(np.log(1 / side) / (2 * n))
    if n < 2:
        return float(width * hoeffding)
    variance = float(sample.var(ddof=1)) / width**2
    bernstein = np.sqrt(2 * variance * np.log(2 / side) / n) + 7 * np.log(2 / side) / (3 * (n - 1))
    return float(width * min(hoeffding, bernstein))


def _check_bounds(bounds: Any, values: FloatArray) -> float:
    """Return the width of an interval that contains all predictions."""
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError):
        low = high = np.nan
    if not -np.inf < low < high < np.inf:
        raise ValueError(f"bounds={bounds!r}. Pass two finite numbers, the smaller one first.")
    if values.min() < low or values.max() > high:
        raise ValueError(
            f"Predictions lie between {values.min():.4g} and {values.max():.4g}, outside "
            f"bounds={bounds!r}. Pass an interval that contains every possible prediction, or "
            "leave bounds out."
        )
    return high - low


def _refuse_training_rows(X: Any, X_train: Any) -> None:
    if X_train is None:
        raise ValueError(
            "Whether rows of X were used in fit is not known. Pass the rows used in fit as "
            "X_train, or unseen=True if none of X is among them."
        )
    train, rows = _comparable(X_train, X)
    known = set(_row_bytes(train))
    repeated = [row in known for row in _row_bytes(rows)]
    if any(repeated):
        raise ValueError(
            f"{sum(repeated)} of {len(repeated)} rows of X were used in fit, where parity says "
            "nothing about other rows. Pass rows that were held out, or unseen=True if these are "
            "different people with the same features."
        )


def _comparable(X_train: Any, X: Any) -> tuple[Any, Any]:
    """Both tables as arrays or sparse matrices of numbers, in which equal rows are equal."""
    layout = FeatureLayout.from_table(X_train)
    try:
        train, rows = (layout.read(table) for table in (X_train, X))
    except (TypeError, ValueError) as error:  # TypeError: dates of polars
        wrong = not ("X holds text" in str(error) or "contains NaN" in str(error))
        if isinstance(error, ValueError) and wrong:
            raise
        return _cell_codes(layout, X_train, layout.select(X))
    if not (issparse(train) or issparse(rows)):
        return _in_equal_precision(train, rows)
    train, rows = csr_array(train, dtype=np.float64), csr_array(rows, dtype=np.float64)
    entries = _in_equal_precision(train.data[:, None], rows.data[:, None])
    for matrix, values in zip((train, rows), entries, strict=True):
        matrix.data = values[:, 0]
    return train, rows


def _cell_codes(layout: FeatureLayout, X_train: Any, X: Any) -> tuple[IntArray, IntArray]:
    """A code for each cell of tables with text or missing values, equal for equal cells."""
    every = replace(layout, sensitive=tuple(range(layout.n_columns)))
    before, after = every.sensitive_values(X_train), every.sensitive_values(X)
    codes = []
    for (name, first), second in zip(before.items(), after.values(), strict=True):
        parts = tuple(_cells(plain_column(part, str(name))) for part in (first, second))
        kinds = {part.dtype.kind for part in parts}
        if kinds <= set("biuf"):
            numbers = _in_equal_precision(parts[0][:, None], parts[1][:, None])
            parts = numbers[0][:, 0], numbers[1][:, 0]
        elif len(kinds) > 1:
            parts = parts[0].astype(object), parts[1].astype(object)
        codes.append(read_levels({str(name): np.concatenate(parts)}, "group")[1])
    table = np.hstack(codes)
    n_train = len(table) - shape_of(X)[0]
    return table[:n_train], table[n_train:]


def _cells(values: NDArray[Any]) -> NDArray[Any]:
    """A column; numbers with missing values become an array of numbers with NaN."""
    if values.dtype.kind != "O":
        return values
    known = np.array([not is_missing(value) for value in values], dtype=bool)
    if not are_numbers(values[known].tolist(), booleans=True):
        return values
    numbers = np.full(len(values), np.nan)
    numbers[known] = values[known].astype(np.float64)
    return numbers


def _in_equal_precision(a: Any, b: Any) -> tuple[FloatArray, FloatArray]:
    """Columns of numbers, (n, d) and (m, d), in double precision.

    A column that is in single precision on one side is rounded to it on the other.
    """
    a, b = np.array(a, dtype=np.float64), np.array(b, dtype=np.float64)
    rounded = _in_single_precision(a), _in_single_precision(b)
    single = ((rounded[0] == a) | np.isnan(a)).all(axis=0)
    single |= ((rounded[1] == b) | np.isnan(b)).all(axis=0)
    return np.where(single, rounded[0], a), np.where(single, rounded[1], b)


def _in_single_precision(values: FloatArray) -> FloatArray:
    """Numbers rounded to the 24 bits of single precision, without its limits on size."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(mantissa * 2.0**24), exponent - 24))


def _row_bytes(X: Any) -> Iterator[bytes]:
    """The rows of X as bytes, which are equal for equal rows."""
    for batch in gen_batches(X.shape[0], 4096):
        rows = X[batch].toarray() if issparse(X) else X[batch]
        yield from map(bytes, np.ascontiguousarray(rows + 0.0))  # -0.0 becomes 0.0
