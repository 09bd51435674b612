"""An upper bound on the gaps of everybody, from rows that the model has not seen."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from meanparity._typing import FloatArray
from meanparity.audit.compare import check_share
from meanparity.audit.moments import Moments
from meanparity.groups import Groups
from meanparity.sources import Table, row_hashes


@dataclass(frozen=True)
class Certificate:
    """With the given confidence, no group's mean prediction is further from the mean of all.

    Parameters
    ----------
    bound : float
        On ``max_j |E(g | group j) − E(g)|`` in the population that the rows were drawn from.
    bounds : tuple of (group, float)
        The same for each group; all hold together.
    observed : float
        The largest gap on the rows.
    confidence : float
        How often, in samples like this one, all bounds are right, at least.
    kind : {"distribution-free", "asymptotic"}
        Whether that holds for any distribution and number of rows, or for many rows.
    n_rows : int
        Rows.
    """

    bound: float
    bounds: tuple[tuple[Hashable, float], ...]
    observed: float
    confidence: float
    kind: str
    n_rows: int

    def __str__(self) -> str:
        share = f"{100 * self.confidence:g} %"
        how = (
            "whatever the distribution"
            if self.kind == "distribution-free"
            else "if the rows are many enough for normal means"
        )
        return (
            f"With {share} confidence, no group's mean prediction is further than {self.bound:.4g} "
            f"from the mean of all, in the population that these {self.n_rows:,} rows were drawn "
            f"from ({how}). The largest gap on the rows is {self.observed:.4g}."
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
    r"""Bound the gaps in the population from rows that the model has not seen.

    On the rows that a model was fitted to, parity is exact by construction and says nothing about
    others. For n rows drawn independently of the fit, with gaps ``ĝ_j``:

    * with `bounds` on the predictions, ``|ĝ_j| + ε_j + ε``, where ε is the smaller of Hoeffding's
      and of Maurer and Pontil's (empirical Bernstein) bound for the mean of a group, and of all,
      at a share of the error probability each: right for any distribution;
    * without, ``|ĝ_j| + q·se_j`` with a quantile q of Student's t, at a share of the error
      probability for each group: right for many rows.

    Parameters
    ----------
    model : fitted estimator with `predict`
    X : array-like of shape (n, d)
        Rows that were neither trained on nor part of a pool.
    sensitive_features : array-like of shape (n,) or (n, r), or data frame
        Their sensitive columns.
    confidence : float, default=0.95
        For all groups together.
    bounds : (low, high), optional
        Between which all predictions lie, known beforehand, such as (0, 1).
    X_train : array-like, optional
        The training rows of a model that is not one of this package's, to see that none of X is
        among them.
    unseen : bool, default=False
        Say that rows which look like training rows (features with few values) are other people.

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
    >>> model = ParityRidge().fit(X[:1000], y[:1000], sensitive_features=s[:1000])
    >>> certificate = parity_certificate(model, X[1000:], s[1000:])
    >>> certificate.observed < certificate.bound
    True
    >>> try:
    ...     parity_certificate(model, X[:1000], s[:1000])
    ... except ValueError as error:
    ...     print(str(error)[:45])
    1000 of 1000 rows of X were seen in fit, wher
    """
    confidence = check_share(confidence, "confidence")
    if not unseen:
        _refuse_seen(model, X, X_train)
    values = np.asarray(model.predict(X), dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"predict gives values of shape {values.shape}. Certify one output.")
    groups = Groups.from_columns(sensitive_features, n_rows=len(values))
    if groups.n_groups == 1:
        raise ValueError(f"All {len(values)} rows are in one group ({groups.names[0]}).")
    moments = Moments.of(values, groups, None)
    gaps = np.abs(moments.gaps)
    margins = (
        _asymptotic(moments, 1 - confidence)
        if bounds is None
        else _distribution_free(values, groups, _check_bounds(bounds, values), 1 - confidence)
    )
    upper = gaps + margins
    return Certificate(
        float(upper.max()),
        tuple((key, float(value)) for key, value in zip(groups.keys, upper, strict=True)),
        float(gaps.max()),
        confidence,
        "asymptotic" if bounds is None else "distribution-free",
        len(values),
    )


def _asymptotic(moments: Moments, error: float) -> FloatArray:
    # the shares of the groups are drawn too, which moves the mean of all
    shares = float(moments.shares @ moments.gaps**2) / float(moments.counts.sum())
    quantile = stats.t.ppf(1 - error / (2 * len(moments.means)), moments.freedom)
    margins: FloatArray = quantile * np.sqrt(moments.errors**2 + shares)
    return margins


def _distribution_free(
    values: FloatArray, groups: Groups, width: float, error: float
) -> FloatArray:
    each = error / (groups.n_groups + 1)
    samples = [values[groups.codes == j] for j in range(groups.n_groups)]
    of_all = _deviation(values, width, each)
    return np.array([_deviation(sample, width, each) + of_all for sample in samples])


def _deviation(sample: FloatArray, width: float, error: float) -> float:
    """How far the mean of a sample is from its expectation at most, but for `error`, both sides."""
    n, side = len(sample), error / 4  # two sides of two bounds
    hoeffding = np.sqrt(np.log(1 / side) / (2 * n))
    if n < 2:
        return float(width * hoeffding)
    spread = float(sample.var(ddof=1)) / width**2
    bernstein = np.sqrt(2 * spread * np.log(2 / side) / n) + 7 * np.log(2 / side) / (3 * (n - 1))
    return float(width * min(hoeffding, bernstein))


def _check_bounds(bounds: Any, values: FloatArray) -> float:
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError):
        low = high = np.nan
    if not -np.inf < low < high < np.inf:
        raise ValueError(f"bounds={bounds!r}. Pass two finite numbers, the smaller one first.")
    if values.min() < low or values.max() > high:
        raise ValueError(
            f"Predictions lie between {values.min():.4g} and {values.max():.4g}, outside of "
            f"bounds={bounds!r}. Pass bounds that hold for everybody, or none."
        )
    return high - low


def _refuse_seen(model: Any, X: Any, X_train: Any) -> None:
    if hasattr(model, "has_seen"):
        again = model.has_seen(X)
    elif X_train is not None:
        table = Table.like(X_train, None, False)
        known = row_hashes(table.features(X_train))
        again = np.isin(row_hashes(table.features(X)), known)
    else:
        raise ValueError(
            f"{type(model).__name__} does not tell which rows it was fitted to. Pass X_train=..., "
            "or unseen=True if none of X is among them."
        )
    if again.any():
        raise ValueError(
            f"{again.sum()} of {len(again)} rows of X were seen in fit, where parity says nothing "
            "about others. Pass rows that were held out, or unseen=True if these are other people "
            "with the same features."
        )
