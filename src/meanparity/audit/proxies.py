"""Which columns tell the sensitive attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from meanparity._typing import FloatArray
from meanparity.groups import Groups
from meanparity.sources import Table, check_weights


@dataclass(frozen=True)
class Proxies:
    """How well columns predict who is in which group.

    Parameters
    ----------
    columns : tuple of (str, float)
        Each column of X and its R² of the groups, the largest first.
    joint : float
        R² of all columns together, by least squares: what a linear model can tell at least.
    """

    columns: tuple[tuple[str, float], ...]
    joint: float

    def to_pandas(self) -> Any:
        """A pandas data frame with a row for each column."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("pandas is missing: pip install pandas") from error
        return pd.DataFrame(self.columns, columns=["column", "r_squared"])

    def __str__(self) -> str:
        shown = self.columns[:10]
        width = max(len(name) for name, _ in shown)
        lines = [f"{name.ljust(width)}  {r2:.3f}" for name, r2 in shown]
        more = len(self.columns) - len(shown)
        lines += [f"... and {more} more"] if more else []
        return "\n".join(["R² of the groups by", *lines, f"all together: {self.joint:.3f}"])


def proxies(X: Any, *, sensitive_features: Any, sample_weight: Any = None) -> Proxies:
    r"""How well each column of X, and all together, predict the groups.

    The groups are the 0/1 columns Z of an indicator each; the R² of a prediction Ẑ is
    ``1 − Σ‖z − ẑ‖² / Σ‖z − z̄‖²`` over rows, of the least-squares prediction from one column (with
    a constant), and from all. For two groups it is the squared correlation.

    Parameters
    ----------
    X : array-like of shape (n, d), or data frame of numbers
        Features.
    sensitive_features : array-like of shape (n,) or (n, r), or data frame
        Sensitive columns.
    sample_weight : array-like of shape (n,), optional
        Weights.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.column_stack([[0.0, 1.0, 2.0, 3.0], [1.0, 0.0, 0.0, 1.0]])
    >>> found = proxies(X, sensitive_features=["a", "a", "b", "b"])
    >>> [(name, round(r2, 3)) for name, r2 in found.columns], round(found.joint, 3)
    ([('x0', 0.8), ('x1', 0.0)], 0.8)
    """
    table = Table.like(X, None, False)
    values = table.features(X)
    values = values.toarray() if issparse(values) else np.asarray(values, dtype=np.float64)
    names = table.feature_names or tuple(f"x{j}" for j in range(values.shape[1]))
    groups = Groups.from_columns(sensitive_features, n_rows=len(values))
    if groups.n_groups == 1:
        raise ValueError(f"All {len(values)} rows are in one group ({groups.names[0]}).")
    weight = np.ones(len(values))
    if sample_weight is not None:
        weight = check_weights(sample_weight, len(values))
    root = np.sqrt(weight / weight.sum())[:, None]
    Z = (groups.codes[:, None] == np.arange(groups.n_groups)).astype(float)
    Z, centred = (root * (A - (root**2).T @ A) for A in (Z, values))
    total = float((Z**2).sum())
    sizes = (centred**2).sum(axis=0)
    negligible = sizes <= (1e-12 * np.abs(values).max(axis=0, initial=0.0)) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        each: FloatArray = ((Z.T @ centred) ** 2).sum(axis=0) / sizes / total
    each = np.where(negligible, 0.0, each)
    scaled = centred / np.where(negligible, 1.0, np.sqrt(sizes))
    U, s, _ = np.linalg.svd(scaled[:, ~negligible], full_matrices=False)
    U = U[:, s > 1e-10 * s.max(initial=0.0)]
    joint = float(((U.T @ Z) ** 2).sum() / total)
    order = np.argsort(-each, kind="stable")
    return Proxies(tuple((names[i], float(each[i])) for i in order), joint)
