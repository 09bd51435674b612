"""The pool: rows that will be scored, whose outcomes are not known yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.utils.validation import _num_samples

from meanparity.data.streams import refuse_stream


@dataclass(frozen=True, eq=False, repr=False)
class Pool:
    """People to be scored, before their outcomes are known.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (p, d)
        Their features, with the columns of the training rows. For the kernel "precomputed", kernel
        values with the training rows followed by those with the pool itself: (p, n + p).
    sensitive_features : array-like of shape (p,) or (p, r), or data frame
        Their sensitive columns, as in fit; not needed when `sensitive_columns` are in X.
    control_features : array-like or data frame, optional
        Their control columns, if fit has control columns.
    sample_weight : array-like of shape (p,), optional
        Weights in the means of the pool, independent of the `weight_scope` of training weights.

    See Also
    --------
    MeanParity : ``parity_on`` says on which rows parity holds.

    Examples
    --------
    >>> Pool([[1.0], [2.0], [4.0]], ["a", "b", "b"])
    Pool(3 rows)
    """

    X: Any
    sensitive_features: Any = None
    control_features: Any = None
    sample_weight: Any = None

    def __repr__(self) -> str:
        return f"Pool({_num_samples(self.X)} rows)"


def as_pool(pool: Any) -> Pool:
    """A pool from the argument of fit: a `Pool`, or a pair (X, sensitive_features)."""
    if isinstance(pool, Pool):
        return pool
    if isinstance(pool, tuple) and len(pool) == 2:
        return Pool(*pool)
    refuse_stream(pool, "pool")
    raise TypeError(
        f"pool is a {type(pool).__name__}. Pass a pair (X_pool, sensitive_features_pool), or "
        "meanparity.Pool(X_pool, sensitive_features=..., control_features=..., "
        "sample_weight=...); if sensitive_columns are in X, Pool(X_pool)."
    )
