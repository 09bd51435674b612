"""How well columns predict group membership."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from meanparity._typing import FloatArray
from meanparity.audit.checks import require_several_groups
from meanparity.data.features import FeatureLayout
from meanparity.data.fit_input import check_weights
from meanparity.data.groups import Groups
from meanparity.data.refusals import refuse_other_order
from meanparity.exceptions import import_pandas

_PRINTED = 10  # columns shown by print

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Proxies:
    """How well columns predict group membership.

    Parameters
    ----------
    columns : tuple of (str, float)
        Each column of X and the share of the variance of group membership (R²) that it explains
        by itself, largest first.
    joint : float
        R² of a linear regression on all columns together. It is computed on the same rows as the
        regression, so it grows with the number of columns even if they carry no information.

    See Also
    --------
    proxies : Makes them.

    Examples
    --------
    >>> import numpy as np
    >>> from meanparity.audit import proxies
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> proxies(X, sensitive_features=X[:, 0] > 0).columns[0][0]
    'x0'
    """

    columns: tuple[tuple[str, float], ...]
    joint: float

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas data frame with one row for each column."""
        return import_pandas().DataFrame(self.columns, columns=["column", "r_squared"])

    def __str__(self) -> str:
        printed = self.columns[:_PRINTED]
        width = max(len(name) for name, _ in printed)
        lines = [f"{name.ljust(width)}  {r2:.3f}" for name, r2 in printed]
        hidden = len(self.columns) - len(printed)
        lines += [f"... and {hidden} more"] if hidden else []
        header = "R² of group membership, by column"
        return "\n".join([header, *lines, f"all columns together: {self.joint:.3f}"])


def proxies(X: Any, *, sensitive_features: Any, sample_weight: Any = None) -> Proxies:
    r"""Measure how well each column of X, and all columns together, predict group membership.

    Group membership is coded as a matrix Z of 0/1 indicators, one column for each group. The R² of
    a prediction Ẑ is ``1 − Σ‖z − ẑ‖² / Σ‖z − z̄‖²`` over the rows, where Ẑ is the linear
    regression of Z on one column, or on all columns, with an intercept. For two groups and one
    column it is the squared correlation.

    Parameters
    ----------
    X : array-like of shape (n, d), or data frame of numbers
        Features.
    sensitive_features : array-like of shape (n,) or (n, r), or data frame
        Sensitive columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    Proxies

    See Also
    --------
    audit : Gaps between the groups.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.column_stack([[0.0, 1.0, 2.0, 3.0], [1.0, 0.0, 0.0, 1.0]])
    >>> found = proxies(X, sensitive_features=["a", "a", "b", "b"])
    >>> [(name, round(r2, 3)) for name, r2 in found.columns], round(found.joint, 3)
    ([('x0', 0.8), ('x1', 0.0)], 0.8)
    """
    refuse_other_order(X=X, sensitive_features=sensitive_features, sample_weight=sample_weight)
    layout = FeatureLayout.from_table(X)
    values = layout.read(X)
    values = values.toarray() if issparse(values) else np.asarray(values, dtype=np.float64)
    names = layout.feature_names or tuple(f"x{j}" for j in range(values.shape[1]))
    groups = Groups.from_columns(sensitive_features, n_rows=len(values))
    require_several_groups(groups)
    weight = np.ones(len(values))
    if sample_weight is not None:
        weight = check_weights(sample_weight, len(values))
        if len(np.unique(groups.codes[weight > 0])) == 1:
            raise ValueError(
                "All rows of positive weight are in one group. Give rows of other groups weight."
            )
    root = np.sqrt(weight / weight.sum())[:, None]
    indicators = (groups.codes[:, None] == np.arange(groups.n_groups)).astype(float)
    Z, centred = (root * (A - (root**2).T @ A) for A in (indicators, values))
    sizes = (centred**2).sum(axis=0)
    varies = sizes > (1e-12 * np.abs(values).max(axis=0, initial=0.0)) ** 2
    scaled = centred / np.where(varies, np.sqrt(sizes), np.inf)
    shares: FloatArray = ((Z.T @ scaled) ** 2).sum(axis=0) / float((Z**2).sum())
    joint = explained_share(scaled[:, varies], Z)
    order = np.argsort(-shares, kind="stable")
    return Proxies(tuple((names[i], float(shares[i])) for i in order), joint)


def explained_share(X: FloatArray, targets: FloatArray) -> float:
    """Share of the variance of centred targets, (n, k), explained by centred columns, (n, d).

    Linearly dependent columns count once. The share is 0 if the targets are constant.

    Examples
    --------
    >>> round(explained_share(np.array([[-1.0], [1.0]]), np.array([[-3.0], [3.0]])), 9)
    1.0
    """
    total = float((targets**2).sum())
    basis, sizes, _ = np.linalg.svd(X, full_matrices=False)
    basis = basis[:, sizes > 1e-10 * max(float(sizes.max(initial=0.0)), 1e-300)]
    return float(((basis.T @ targets) ** 2).sum()) / total if total > 0 else 0.0
