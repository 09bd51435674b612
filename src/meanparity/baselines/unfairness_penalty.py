"""Fair ridge regression (FRRM): a penalty on the sensitive coefficients that bounds R²."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

from meanparity._typing import Columns
from meanparity.baselines.bounded import BOUNDED_PREDICTS_WITH, BoundedRegression, SecondStage
from meanparity.baselines.two_stage import Part, Spectrum
from meanparity.state import stored


@stored("UnfairnessPenaltyRidge", predicts_with=BOUNDED_PREDICTS_WITH)
class UnfairnessPenaltyRidge(BoundedRegression):
    r"""Linear regression that shrinks the sensitive coefficients until a bound on R² holds.

    The fair ridge regression model of Scutari et al., FRRM. With U the residuals of a regression
    of X on S, and predictions ``ŷ = ȳ + Sα + Uβ``::

        minimise  ‖y − ŷ‖² + λ_r‖α‖² + alpha‖β‖²

    with the smallest λ_r ≥ 0 for which S explains at most the share `unfairness` of the variance
    of ŷ: ``Var(Sα) / Var(ŷ) ≤ ε``. β does not depend on λ_r, so λ_r is the root of a decreasing
    function.

    Parameters
    ----------
    unfairness : float, default=0.05
        ε, from 0 (S is not used) to 1 (least squares). The authors have no default.
    alpha : float, default=0.0
        Ridge penalty of β, on standardised columns; n times the `lambda` of the authors' package,
        which has no penalty by default either.
    fit_intercept : bool, default=True
        Whether the mean of y is added to the predictions; pass False if y is centred already. S
        and U are centred in either case.
    continuous : "auto" or list of names or positions, default="auto"
        Sensitive columns that are numbers rather than categories; see `MeanParity`.
    sensitive_columns : int, str or list of them, optional
        Positions or names of sensitive columns of X, instead of `sensitive_features`. They are
        also used as features unless `drop_sensitive` is set, which does not change the
        predictions.
    drop_sensitive : bool, default=False
        Do not use the sensitive columns as features. They may then hold text.

    Attributes
    ----------
    coef_ : (d,) array
        Coefficients of the columns of X.
    coef_sensitive_ : (e,) array
        Coefficients of the sensitive numbers, and of the indicators of all categories except the
        first one of each column.
    intercept_ : float
        The intercept.
    r2_sensitive_ : float
        Share of S in the variance of the predictions on the training rows.
    sensitive_penalty_ : float
        λ_r, for standardised columns; infinite for ``unfairness=0``.
    n_features_in_, feature_names_in_
        Number and names of the columns of X in `fit`.

    See Also
    --------
    CorrelationBoundedRegression : The same bound in closed form.

    Notes
    -----
    Several sensitive columns are put side by side. A column of categories has an indicator for
    every value but the first in the order of the labels (as in the authors' package), so with
    three or more categories the fit depends slightly on which of them comes first.

    References
    ----------
    Scutari, M., Panero, F. and Proissl, M. (2022). Achieving fairness with a simple ridge penalty.
    Statistics and Computing 32.

    Examples
    --------
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(500, random_state=0)
    >>> model = UnfairnessPenaltyRidge(unfairness=0.001).fit(X, y, sensitive_features=s)
    >>> round(model.r2_sensitive_, 9)
    0.001
    """

    def __init__(
        self,
        *,
        unfairness: float = 0.05,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        continuous: Any = "auto",
        sensitive_columns: Columns = None,
        drop_sensitive: bool = False,
    ) -> None:
        self.unfairness = unfairness
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.continuous = continuous
        self.sensitive_columns = sensitive_columns
        self.drop_sensitive = drop_sensitive

    def _solve(self, problem: SecondStage) -> tuple[Part, Part, dict[str, Any]]:
        on_s, on_u = problem.spectra()
        rest = on_u.part(on_u.solve(problem.alpha / problem.total))
        ridge = _smallest_penalty(on_s, rest.size, problem.bound)
        return on_s.part(on_s.solve(ridge)), rest, {"sensitive_penalty_": ridge * problem.total}


def _smallest_penalty(on_s: Spectrum, rest: float, bound: float) -> float:
    """The smallest penalty at which S has at most the share `bound`; U has the variance `rest`."""
    free = on_s.variance(on_s.solve(0.0))
    bound = 0.0 if bound < 1e-30 else bound  # smaller bounds have no root in floating point
    allowed = bound / (1 - bound) * rest if bound < 1 else np.inf
    if allowed == 0:
        return np.inf if free > 0 else 0.0

    def excess(ridge: float) -> float:
        return on_s.variance(on_s.solve(ridge)) / allowed - 1

    if excess(0.0) <= 0:
        return 0.0
    # at max(V_S)·√(free/allowed) every coefficient has shrunk by more than √(free/allowed)
    top = 2 * on_s.values.max() * np.sqrt(free / allowed)
    return float(brentq(excess, 0.0, top, xtol=1e-300))
