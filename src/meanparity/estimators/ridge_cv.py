"""Ridge regression under parity that chooses its penalty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meanparity._typing import Columns, ConstraintName, Numbers, RidgeSolverName
from meanparity.constraints import Constraint
from meanparity.estimators._cv import CV_PREDICTS_WITH, CrossValidated
from meanparity.estimators.ridge import ParityRidge
from meanparity.estimators.selection import SmallestLoss
from meanparity.solvers.problem import Solver
from meanparity.state import stored


@stored("ParityRidgeCV", predicts_with=CV_PREDICTS_WITH)
class ParityRidgeCV(CrossValidated):
    r"""`ParityRidge` with the penalty that predicts held-out rows best.

    By default exact leave-one-out: for every penalty, each row is predicted by the fit to all
    others under the constraint on all others, which costs one singular value decomposition in
    all. The textbook's shortcut, which keeps the constraint of all rows, is another number.
    Errors within 0.1 % of the smallest count as equal; the model without the constraint decides
    between them. A warning says if parity costs much, compared with the best model without it.

    Parameters
    ----------
    alphas : array-like of shape (p,), optional
        Penalties to try; by default 17, two a decade, around the size of the features.
    cv : int, splitter or iterable, optional
        None is leave-one-out. Else as in scikit-learn: each fold is predicted by a fit to the
        others; needed with a pool, `max_gap`, more than 200 cells of sensitive values, and
        constraints that need rows, such as those with splines.
    scoring : SmallestLoss, optional
        How to choose. ``SmallestLoss(max_gap=500)``: the smallest squared error among penalties
        whose gap on unseen rows is shown to be at most 500.
    fit_intercept, unfairness, max_gap, constraint, solver, sensitive_columns, drop_sensitive
        See `ParityRidge`. There is no `confidence`: to promise a gap for people who were not seen,
        fit `ParityRidge` with the penalty that was chosen.

    Attributes
    ----------
    alpha_ : float
        The penalty that was chosen.
    cv_results_ : dict
        For each penalty: ``param_alpha``, ``mean_squared_error`` and ``max_gap`` of held-out
        predictions, ``unconstrained_mean_squared_error`` of those of the model without the
        constraint at the same penalty, ``gap_limit``, an upper limit of the gap of one fit on other
        rows, and the rank; ``pandas.DataFrame(cv_results_)`` is the table.
    best_estimator_ : ParityRidge
        Fitted to all rows. Its fitted attributes are here as well.
    best_index_, best_score_ : int, float
        Its row of `cv_results_`, and its negative squared error.

    See Also
    --------
    ParityRidge : The estimator that is fitted in the end.
    SmallestLoss : Chooses among candidates whose gap is small enough.

    Examples
    --------
    >>> from meanparity.datasets import load_communities_crime
    >>> data = load_communities_crime()
    >>> model = ParityRidgeCV(alphas=[0.1, 1.0, 10.0, 100.0])
    >>> model.fit(data.data, data.target, sensitive_features=data.sensitive).alpha_
    0.1
    """

    def __init__(
        self,
        *,
        alphas: Numbers | None = None,
        cv: Any = None,
        scoring: SmallestLoss | None = None,
        fit_intercept: bool = True,
        unfairness: float = 0.0,
        max_gap: float | Mapping[str, float] | None = None,
        constraint: ConstraintName | Constraint = "mean_parity",
        solver: RidgeSolverName | Solver = "auto",
        sensitive_columns: Columns = None,
        drop_sensitive: bool = False,
    ) -> None:
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring
        self.fit_intercept = fit_intercept
        self.unfairness = unfairness
        self.max_gap = max_gap
        self.constraint = constraint
        self.solver = solver
        self.sensitive_columns = sensitive_columns
        self.drop_sensitive = drop_sensitive

    def _model(self, **parameters: Any) -> ParityRidge:
        return ParityRidge(**self._own(), **parameters)
