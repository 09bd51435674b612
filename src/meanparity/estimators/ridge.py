"""Ridge regression under parity."""

from __future__ import annotations

from collections.abc import Mapping

from meanparity._typing import Columns, ConstraintName, Numbers, RidgeSolverName
from meanparity.constraints import Constraint
from meanparity.estimators._base import PREDICTS_WITH
from meanparity.estimators._sums import SumsRegressor
from meanparity.solvers.choose import resolve_solver
from meanparity.solvers.primal import ByColumns
from meanparity.solvers.problem import Solver
from meanparity.state import stored


@stored("ParityRidge", predicts_with=PREDICTS_WITH)
class ParityRidge(SumsRegressor):
    r"""Linear ridge regression whose predictions meet a parity constraint.

    Minimises ``‖y − Xw − b‖² + α‖w‖²`` over w and b subject to the constraint on the training
    rows, by default that every sensitive group has the same mean prediction. Without the
    constraint (``unfairness=1``) it is scikit-learn's `Ridge`; with ``alpha=0`` it is ordinary
    least squares, of least norm where that is not unique.

    Parameters
    ----------
    alpha : float or array-like of shape (m,), default=1.0
        Ridge penalty, one for all outputs or one for each.
    fit_intercept : bool, default=True
        Whether to fit the constant b, which is not penalised.
    unfairness : float, default=0.0
        The dial: 0 is parity, 1 is the unconstrained fit; between, every gap on the training rows
        is this share of the unconstrained one.
    max_gap : float or mapping of str to float, optional
        Instead of `unfairness`, the largest allowed size of any gap in the units of y, or of each
        gap by its name, such as the difference between a group's mean and the overall mean; two
        groups may then differ by up to twice as much. The fit is the function of smallest
        objective among those with gaps within the limits, see `Tradeoff.for_gap`.
    confidence : float, optional
        With this probability, such as 0.95, `max_gap` holds for people who were not seen, and not
        just for the rows of fit. The limits in fit are smaller by a margin that five fits to four
        fifths of the rows tell: how far gaps reopen on the rows that are left out, and a multiple
        of the standard error. They are in `gap_limits_`. If the rows are too few for the promise,
        an error says what could be promised. Estimators that choose their penalty (CV) and those
        of other losses do not take it.
    constraint : {"mean_parity", "covariance_parity", "residual_parity"} or Constraint
        What has to hold, for which groups and on which rows, by default ``MeanParity()``.
    solver : {"auto", "primal", "dense", "spectral"} or Solver, default="auto"
        How to solve. "primal" solves for one coefficient per column; "dense" and "spectral" for
        one per row, which is faster when there are fewer rows than columns.
    sensitive_columns : int, str or list of them, optional
        Positions or names of sensitive columns of X, instead of `sensitive_features`. They are
        also used as features unless `drop_sensitive` is set.
    drop_sensitive : bool, default=False
        Do not use the sensitive columns as features. They may then hold text.

    Attributes
    ----------
    coef_ : (d,) or (m, d) array
        Coefficients of the features.
    intercept_ : float or (m,) array
        The constant.
    group_means_ : dict
        Mean prediction of each group on the training rows.
    pool_group_means_ : dict or None
        Mean prediction of each group on the pool; None if the constraint does not hold on a pool.
    parity_residual_ : float
        Largest deviation from the constraint on the rows on which it holds, in the units of y: the
        rounding error (more where not all conditions can be met, which a warning says).
    gaps_, pool_gaps_ : dict
        Each gap that the constraint is about, by the name that a limit in `max_gap` takes, on the
        training rows and on the pool: the mean of a group minus the overall mean (of its stratum),
        in the units of y; the covariance with a sensitive number or feature in units of its
        standard deviation; of other conditions, the distance from the target.
    n_conditions_ : int
        Number of conditions that the predictions meet, on the training rows and on the pool. A
        linear model needs clearly more columns than that.
    tradeoff_ : Tradeoff
        Everything between the constrained and the free fit.
    unfairness_ : float or None
        Position on the dial; None if `max_gap` leads to a function that is not on the dial.
    group_counts_ : dict
        Number of training rows in each group; empty if all sensitive columns are numbers.
    continuous_ : tuple of str
        The sensitive columns that were treated as numbers.
    gap_limits_ : GapLimits
        The most that each gap can be on the rows of fit, and its standard error, after a fit with
        `confidence` or with `pooling` of the constraint; it prints them and has `to_frame`.
    unconstrained_strata_ : dict
        Strata of the control features with no groups to compare, and their numbers of rows.
    implies_mean_parity_ : bool
        Whether the constraint makes the means of all groups equal.
    solver_, solver_info_ : str, SolverInfo
        Which solver ran, why, and what it took.
    statistics_ : Statistics
        Sums over all rows, after `partial_fit`, `fit_statistics`, and fits to files and Dask.
    n_features_in_, feature_names_in_
        Number and names of the columns seen in fit.

    See Also
    --------
    ParityKernelRidge : The same in the function space of a kernel.

    Examples
    --------
    >>> from meanparity.datasets import make_synthetic
    >>> from meanparity.metrics import mean_parity_gap
    >>> X, y, s = make_synthetic(500, random_state=0)
    >>> model = ParityRidge(alpha=1.0).fit(X, y, sensitive_features=s)
    >>> mean_parity_gap(y, model.predict(X), sensitive_features=s) < 1e-12
    True
    >>> free = model.tradeoff_.at(1.0).predict(X)
    >>> mean_parity_gap(y, free, sensitive_features=s) > 0.1
    True
    """

    def __init__(
        self,
        *,
        alpha: Numbers = 1.0,
        fit_intercept: bool = True,
        unfairness: float = 0.0,
        max_gap: float | Mapping[str, float] | None = None,
        confidence: float | None = None,
        constraint: ConstraintName | Constraint = "mean_parity",
        solver: RidgeSolverName | Solver = "auto",
        sensitive_columns: Columns = None,
        drop_sensitive: bool = False,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.unfairness = unfairness
        self.max_gap = max_gap
        self.confidence = confidence
        self.constraint = constraint
        self.solver = solver
        self.sensitive_columns = sensitive_columns
        self.drop_sensitive = drop_sensitive

    def _solver(self) -> Solver:
        return ByColumns(resolve_solver(self.solver))
