"""Ridge regression under parity."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from scipy import sparse

from meanparity._typing import Features, FloatArray
from meanparity.constraints import Constraint
from meanparity.estimators.problem import Problem
from meanparity.estimators.streaming import StreamingRegressor
from meanparity.kernels import Kernel
from meanparity.path import Basis
from meanparity.solvers import Fit, Solution, Task, solve
from meanparity.solvers.features import FeatureSpace, LinearSpace
from meanparity.sources import is_dask, is_files, stack


class ParityRidge(StreamingRegressor):
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
    max_gap : float, optional
        The dial in the units of y, instead of `unfairness`: the largest allowed size of any gap
        (see `gaps_`), such as the distance of a group's mean from the mean of all rows; two groups
        may then be up to twice as far from each other. `unfairness_` tells what it comes to.
    constraint : {"mean_parity", "covariance_parity", "residual_parity"} or Constraint
        What has to hold, by default "mean_parity".
    parity_on : {"both", "train", "pool"}, default="both"
        Where it has to hold: on the training rows, on the pool that is passed to `fit`, or on
        both (that is, on the training rows if there is no pool).
    intersectional : bool, default=True
        Whether every combination of sensitive categories that occurs is a group, or, with False,
        the groups of each column are compared apart.
    continuous : "auto" or list of names or positions, default="auto"
        Sensitive columns that are numbers, such as age: predictions get zero covariance with them
        (or with their powers or splines, see `MeanParity`). "auto" takes columns of numbers with
        more than 20 values, and warns; [] makes every value a group.
    missing : {"error", "group", "ignore"}, default="error"
        What a missing sensitive or control value is: an error, a group of its own, or a row that
        counts in the loss and not in the comparisons that need the value.
    min_group_size : int, default=10
        Groups of fewer rows give a warning with their sizes and standard errors; none are merged.
    weight_scope : {"both", "loss", "constraint"}, default="both"
        What `sample_weight` counts in.
    sensitive_columns : int, str or list of them, optional
        Positions or names of columns of X that say who is in which group, instead of
        `sensitive_features`. They stay features as well unless `drop_sensitive`.
    drop_sensitive : bool, default=False
        Whether `sensitive_columns` are left out of the features. They may hold text then.
    solver : {"auto", "primal", "dense", "spectral"}, default="auto"
        How to solve. "primal" works with one coefficient per column; "dense" and "spectral" with
        one per row, which is faster when there are fewer rows than columns.

    Attributes
    ----------
    coef_ : (d,) or (m, d) array
        Coefficients of the features.
    intercept_ : float or (m,) array
        The constant.
    group_means_ : dict
        Mean prediction of each group on the training rows.
    pool_group_means_ : dict or None
        The same on the pool; None if the constraint does not hold on one.
    parity_residual_ : float
        Largest deviation from the constraint on the rows on which it holds, in the units of y:
        what rounding left (more where not all conditions can be met, which a warning says).
    gaps_, pool_gaps_ : dict
        What is left of each gap that the constraint is about, by name, on the training rows and on
        the pool: the mean of a group less the mean of all (of its stratum), in the units of y; the
        covariance with a sensitive number in units of that number's standard deviation.
    n_conditions_ : int
        How many conditions the predictions have to meet, on the training rows and on the pool. A
        linear model needs clearly more columns than that.
    tradeoff_ : Tradeoff
        Everything between the constrained and the free fit.
    unfairness_ : float
        The dial's position in fit.
    groups_ : Groups or None
        Who is in which group; None if all sensitive columns are numbers.
    continuous_ : tuple of str
        The sensitive columns that were read as numbers.
    unconstrained_strata_ : dict
        Strata of the control features in which only one group occurs, and their numbers of rows.
    implies_mean_parity_ : bool
        Whether the constraint makes the means of all groups equal.
    solver_, solver_info_ : str, Info
        Which solver ran, and what it took.
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
        alpha: Any = 1.0,
        fit_intercept: bool = True,
        unfairness: float = 0.0,
        max_gap: float | None = None,
        constraint: str | Constraint = "mean_parity",
        parity_on: str = "both",
        intersectional: bool = True,
        continuous: Any = "auto",
        missing: str = "error",
        min_group_size: int = 10,
        weight_scope: str = "both",
        sensitive_columns: Any = None,
        drop_sensitive: bool = False,
        solver: str = "auto",
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.unfairness = unfairness
        self.max_gap = max_gap
        self.constraint = constraint
        self.parity_on = parity_on
        self.intersectional = intersectional
        self.continuous = continuous
        self.missing = missing
        self.min_group_size = min_group_size
        self.weight_scope = weight_scope
        self.sensitive_columns = sensitive_columns
        self.drop_sensitive = drop_sensitive
        self.solver = solver

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        pool: Any = None,
    ) -> ParityRidge:
        """Fit the constrained and the unconstrained model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or files
            Features.
        y : array-like of shape (n,) or (n, m)
            Targets.
        sensitive_features : array-like of shape (n,) or (n, r), series or data frame
            One or several sensitive columns. Required unless `sensitive_columns` names columns of
            X.
        control_features : array-like of shape (n,) or (n, c), series or data frame, optional
            Columns such as the grade: the constraint holds inside each combination of their
            values.
        sample_weight : array-like of shape (n,), optional
            Weights, such as exposures. Whole numbers do what repeated rows would.
        pool : (X_pool, sensitive_features_pool) or Pool, optional
            People to be scored, whose y is not known: the constraint holds exactly on them.

        Notes
        -----
        X may be the path of Parquet, CSV, TSV or Feather files, a list of paths, a folder, or a
        PyArrow dataset. Then y and all others are names of columns, what is left are the features,
        and rows are read by batches and not kept. Or X is a Dask array or data frame, and all
        others are Dask collections with the same partitions, or names of columns: sums are computed
        where the partitions are, on whatever scheduler is active.
        """
        people = {
            "sensitive_features": sensitive_features,
            "control_features": control_features,
            "sample_weight": sample_weight,
        }
        if is_files(X) or is_dask(X):
            fitted: ParityRidge = self._fit_collection(X, y, pool=pool, **people)
            return fitted
        self._fit(X, y, self._solve, pool=pool, **people)
        if hasattr(self, "statistics_"):
            del self.statistics_  # of batches before
        self._store_function()
        return self

    def _store_function(self) -> None:
        coef, intercept = self._function.coef, self._function.intercept
        single = self._function.single_output
        intercept = intercept - cast(LinearFunctions, self._functions).origin @ coef
        self.coef_ = coef[:, 0] if single else coef.T
        self.intercept_ = float(intercept[0]) if single else intercept

    def _space(self, X: Features, names: tuple[str, ...] | None) -> FeatureSpace:
        return LinearSpace.around(X, centred=bool(self.fit_intercept))

    def _suits(self, space: FeatureSpace) -> bool:
        return isinstance(space, LinearSpace)

    def _basis(self, space: Any) -> Basis:
        return LinearFunctions(space.middle)

    def _solve(self, problem: Problem) -> tuple[Solution, Basis]:
        task, origin = centred(problem.task)
        solution = solve(
            task,
            kernel=lambda: Kernel("linear").bind(stack(task.X, task.points)),
            is_linear=True,
            solver=self.solver,
        )
        if solution.info.solver != "primal":
            fair, free = (_on_columns(fit, task) for fit in (solution.fair, solution.free))
            solution = replace(solution, fair=fair, free=free)
        return solution, LinearFunctions(origin)


def _on_columns(fit: Fit, task: Task) -> Fit:
    """A fit with one coefficient for each row and each row of the pool, as one for each column."""
    coef, pool = stack(task.X, task.points).T @ fit.coef, fit.pool
    if task.points is not None:
        pool = task.points @ coef + fit.intercept
    return replace(fit, coef=coef, fitted=task.X @ coef + fit.intercept, pool=pool)


@dataclass(frozen=True, eq=False)
class LinearFunctions:
    """Linear functions of the features less an origin, (d,).

    With an intercept the origin does not matter, and the middle of the training rows costs no
    digits when they lie far from zero.
    """

    origin: FloatArray

    def evaluate(self, X: Features, coef: FloatArray) -> FloatArray:
        """``(X − origin) @ coef`` for coef of shape (d, m)."""
        values: FloatArray
        if sparse.issparse(X) or not self.origin.any():
            values = X @ coef - self.origin @ coef
        else:
            values = (X - self.origin) @ coef
        return values


def centred(task: Task) -> tuple[Task, FloatArray]:
    """The task on dense features less their mean if there is an intercept, and that mean: (d,)."""
    if not task.fit_intercept or sparse.issparse(task.X):
        return task, np.zeros(task.X.shape[1])
    origin: FloatArray = task.X.mean(axis=0)
    if not origin.any():
        return task, origin
    points = task.points
    if points is not None:
        points = (points.toarray() if sparse.issparse(points) else points) - origin
    return replace(task, X=task.X - origin, points=points, origin=origin), origin
