"""Kernel ridge regression under parity that chooses its penalty and the width of its kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from meanparity._typing import Columns, ConstraintName, KernelName, Numbers, RidgeSolverName
from meanparity.constraints import Constraint
from meanparity.estimators._cv import CV_PREDICTS_WITH, CrossValidated
from meanparity.estimators.kernel_ridge import ParityKernelRidge
from meanparity.estimators.selection import Candidate, SmallestLoss
from meanparity.kernels.spec import AbstractKernel
from meanparity.solvers.problem import Solver
from meanparity.state import stored


@stored("ParityKernelRidgeCV", predicts_with=CV_PREDICTS_WITH)
class ParityKernelRidgeCV(CrossValidated):
    """`ParityKernelRidge` with the penalty, and gamma, that predict held-out rows best.

    By default exact leave-one-out: for every penalty, each row is predicted by the fit to all
    others under the constraint on all others. That costs one eigendecomposition for each gamma,
    and little for each penalty. The textbook's shortcut, which keeps the constraint of all rows,
    is another number, and chooses wrongly where groups are small. Errors within 0.1 % of the
    smallest count as equal; the model without the constraint decides between them. A warning says
    if parity costs much, compared with the best model without it.

    Parameters
    ----------
    alphas : array-like of shape (p,), optional
        Penalties to try; by default 17, two a decade, around the size of the kernel's values.
    gammas : float or array-like of shape (g,), optional
        Values of gamma to try, each with every penalty; by default the kernel's own default.
    cv : int, splitter or iterable, optional
        None is leave-one-out. Else as in scikit-learn: each fold is predicted by a fit to the
        others; needed with a pool, `max_gap`, more than 200 cells of sensitive values, and
        constraints that need rows, such as those with splines.
    scoring : SmallestLoss, optional
        How to choose. ``SmallestLoss(max_gap=500)``: the smallest squared error among candidates
        whose gap on unseen rows is shown to be at most 500.
    kernel, degree, coef0, kernel_params, fit_intercept, unfairness, max_gap, constraint, solver, \
sensitive_columns, drop_sensitive
        See `ParityKernelRidge`. With "nystrom" the landmarks of all rows serve every fold, except
        with a pool, `max_gap` or pooling. There is no `confidence`: to promise a gap for people who
        were not seen, fit `ParityKernelRidge` with the penalty and gamma that were chosen.

    Attributes
    ----------
    alpha_, gamma_ : float
        The penalty that was chosen, and the gamma of the kernel, by default 1 / the number of
        columns (None for kernels without one, such as the linear one).
    cv_results_ : dict
        For each candidate: ``param_alpha``, ``param_gamma``, ``mean_squared_error`` and ``max_gap``
        of held-out predictions, ``unconstrained_mean_squared_error`` of those of the model without
        the constraint, and the rank; ``pandas.DataFrame(cv_results_)`` is the table.
    best_estimator_ : ParityKernelRidge
        Fitted to all rows. Its fitted attributes are here as well.
    best_index_, best_score_ : int, float
        Its row of `cv_results_`, and its negative squared error.

    See Also
    --------
    ParityKernelRidge : The estimator that is fitted in the end.
    SmallestLoss : Chooses among candidates whose gap is small enough.

    Examples
    --------
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(300, nonlinear=True, random_state=0)
    >>> model = ParityKernelRidgeCV(kernel="rbf", gammas=[0.01, 0.1, 1.0, 10.0])
    >>> model.fit(X, y, sensitive_features=s).gamma_
    1.0
    """

    def __init__(
        self,
        *,
        alphas: Numbers | None = None,
        gammas: Numbers | None = None,
        cv: Any = None,
        scoring: SmallestLoss | None = None,
        kernel: KernelName | Callable[..., Any] | AbstractKernel = "linear",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        fit_intercept: bool = False,
        unfairness: float = 0.0,
        max_gap: float | Mapping[str, float] | None = None,
        constraint: ConstraintName | Constraint = "mean_parity",
        solver: RidgeSolverName | Solver = "auto",
        sensitive_columns: Columns = None,
        drop_sensitive: bool = False,
    ) -> None:
        self.alphas = alphas
        self.gammas = gammas
        self.cv = cv
        self.scoring = scoring
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.unfairness = unfairness
        self.max_gap = max_gap
        self.constraint = constraint
        self.solver = solver
        self.sensitive_columns = sensitive_columns
        self.drop_sensitive = drop_sensitive

    def _model(self, **parameters: Any) -> ParityKernelRidge:
        return ParityKernelRidge(**self._own(), **parameters)

    def _spaces(self) -> list[Candidate]:
        if self.gammas is None:
            return [{"gamma": None}]
        try:
            values = np.unique(np.asarray(self.gammas, dtype=np.float64))
        except (TypeError, ValueError):
            values = np.array([np.nan])
        if not values.size or not (np.isfinite(values).all() and (values > 0).all()):
            raise ValueError(f"gammas={self.gammas!r}. Pass positive numbers, at least one.")
        return [{"gamma": float(value)} for value in values]
