"""Ridge regression under parity."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from scipy import sparse

from meanparity._typing import Features, FloatArray
from meanparity.constraints import Constraint
from meanparity.estimators.base import ParityRegressor, Problem
from meanparity.kernels import Kernel
from meanparity.path import Basis
from meanparity.solvers import Fit, Solution, solve


class ParityRidge(ParityRegressor):
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
    constraint : {"mean_parity", "covariance_parity"} or Constraint, default="mean_parity"
        What has to hold.
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
    parity_residual_ : float
        Largest deviation from the constraint on the training rows, in the units of y: what
        rounding left.
    tradeoff_ : Tradeoff
        Everything between the constrained and the free fit.
    unfairness_ : float
        The dial's position in fit.
    groups_ : Groups
        Who is in which group.
    implies_mean_parity_ : bool
        Whether the constraint makes the group means equal on these groups.
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
        constraint: str | Constraint = "mean_parity",
        sensitive_columns: Any = None,
        drop_sensitive: bool = False,
        solver: str = "auto",
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.unfairness = unfairness
        self.constraint = constraint
        self.sensitive_columns = sensitive_columns
        self.drop_sensitive = drop_sensitive
        self.solver = solver

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None) -> ParityRidge:
        """Fit the constrained and the unconstrained model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features.
        y : array-like of shape (n,) or (n, m)
            Targets.
        sensitive_features : array-like of shape (n,) or (n, r), series or data frame
            One or several sensitive columns; every combination of values that occurs is a group.
            Required unless `sensitive_columns` names columns of X.
        """
        self._fit(X, y, sensitive_features, self._solve)
        coef, intercept = self._function.coef, self._function.intercept
        single = self._function.single_output
        intercept = intercept - cast(LinearFunctions, self._functions).origin @ coef
        self.coef_ = coef[:, 0] if single else coef.T
        self.intercept_ = float(intercept[0]) if single else intercept
        return self

    def _solve(self, problem: Problem) -> tuple[Solution, Basis]:
        origin = centre_of(problem.X, self.fit_intercept)
        X = problem.X - origin if origin.any() else problem.X
        solution = solve(
            X,
            problem.Y,
            problem.functionals,
            problem.alpha,
            kernel=Kernel("linear").bind(X),
            is_linear=True,
            fit_intercept=bool(self.fit_intercept),
            solver=self.solver,
        )
        if solution.info.solver != "primal":
            fair, free = _on_columns(solution.fair, X), _on_columns(solution.free, X)
            solution = replace(solution, fair=fair, free=free)
        return solution, LinearFunctions(origin)


def _on_columns(fit: Fit, X: Features) -> Fit:
    """A fit with one coefficient for each row of X, as one for each column."""
    coef = X.T @ fit.coef
    return replace(fit, coef=coef, fitted=X @ coef + fit.intercept)


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


def centre_of(X: Features, fit_intercept: bool) -> FloatArray:
    """The mean of dense rows if there is an intercept, else zeros: (d,)."""
    if fit_intercept and not sparse.issparse(X):
        mean: FloatArray = X.mean(axis=0)
        return mean
    return np.zeros(X.shape[1])
