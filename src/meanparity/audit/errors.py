"""Audits of prediction errors."""

from __future__ import annotations

from typing import Any

from meanparity.audit.auditing import audit
from meanparity.audit.result import Audit
from meanparity.data.refusals import refuse_other_order
from meanparity.metrics import prediction_errors


def audit_errors(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    error: str | float = "squared",
    **options: Any,
) -> Audit:
    """Compare the mean error of every group with that of all rows, with uncertainty.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Outcomes and predictions.
    sensitive_features : array-like of shape (n,) or (n, r), or data frame
        Sensitive columns.
    error : {"squared", "absolute", "signed"} or float, default="squared"
        The error; a number is the quantile of a quantile loss. See
        `meanparity.metrics.prediction_errors`.
    **options
        Further parameters of `audit`.

    Returns
    -------
    Audit
        Its means are mean errors, its gaps are distances from the mean error of all rows.

    See Also
    --------
    audit : Compares predictions or outcomes.
    meanparity.metrics.max_error_gap : The gap without an interval.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat(["a", "b"], 200)
    >>> y = rng.normal(size=400) * np.where(s == "a", 1.0, 2.0)
    >>> found = audit_errors(y, np.zeros(400), sensitive_features=s)
    >>> [f.low < (-1.5 if f.group == "a" else 1.5) < f.high for f in found.findings]
    [True, True]
    """
    names = ("control_features", "sample_weight")
    people = {name: options[name] for name in names if name in options}
    refuse_other_order(
        y_pred=y_pred, y_true=y_true, sensitive_features=sensitive_features, **people
    )
    errors = prediction_errors(y_true, y_pred, error)
    return audit(errors, sensitive_features=sensitive_features, **options)
