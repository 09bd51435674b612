"""Regression with any loss under parity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d

from meanparity._typing import (
    Columns,
    ConstraintName,
    FloatArray,
    KernelName,
    LossSolverName,
    RegressionLossName,
)
from meanparity.constraints import Constraint
from meanparity.estimators._base import PREDICTS_WITH
from meanparity.estimators._loss import LossEstimator, Target, require_target
from meanparity.estimators._messages import refuse_given
from meanparity.kernels.spec import AbstractKernel
from meanparity.losses import Loss, resolve_loss
from meanparity.solvers.problem import Solver
from meanparity.state import stored


@stored("ParityKernelRegressor", predicts_with=PREDICTS_WITH)
class ParityKernelRegressor(RegressorMixin, LossEstimator):  # type: ignore[misc]
    r"""Regression with any loss whose predictions meet a parity constraint.

    Minimises ``Σ ℓ(y, g(X)) + α‖g‖²`` over linear or kernel functions g, the scores, subject to the
    constraint on the training rows (and on a pool). By default, the scores have the same mean in
    every sensitive group. Scores of "poisson" and "gamma" are logarithms of the predictions, so the
    groups' mean predictions, such as rates, can still differ. Pass
    ``constraint=MeanParity(scale="response")`` to make the mean predictions equal. With the squared
    loss it is `ParityKernelRidge`, which is faster.

    Parameters
    ----------
    loss : str or Loss, default="squared"
        "squared", "huber", "smooth_l1", "quantile", "epsilon_insensitive", "poisson" or "gamma", or
        an object of `meanparity.losses` with its own parameters, such as ``SmoothL1(beta=0.1)`` or
        ``Quantile(0.9)``.
    alpha : float, default=1.0
        Ridge penalty; 0 for linear functions only.
    kernel : str, callable, Kernel or sklearn.gaussian_process kernel, default="linear"
        See `ParityKernelRidge`.
    gamma, degree, coef0 : float, float, float
        Parameters of the named kernels; ``gamma=None`` is the kernel's own default.
    kernel_params : mapping, optional
        Keyword arguments of a callable kernel.
    fit_intercept : bool, default=True
        Whether to fit a constant, which is not penalised.
    unfairness : float, default=0.0
        The dial: 0 is parity, 1 is the unconstrained fit; between, scores are mixed.
    max_gap : float or mapping of str to float, optional
        Instead of `unfairness`, the largest allowed size of any gap, of scores or of responses, or
        of each gap by its name, on the rows of fit; see `LossTradeoff.for_gap`. There is no
        `confidence` as in `ParityRidge`.
    constraint : {"mean_parity", "covariance_parity", "residual_parity"} or Constraint
        What has to hold, by default ``MeanParity()``, for the scores.
        ``MeanParity(scale="response")`` equalises the mean responses, which are ``e^g`` for
        "poisson" and "gamma" and the scores themselves for the other losses.
    solver : {"auto", "newton", "lbfgs", "nystrom"} or Solver, default="auto"
        "newton" is iteratively reweighted least squares, with one factorisation for each step;
        "lbfgs" needs only products; "auto" chooses by size. "nystrom" or
        ``Nystrom(n_components=...)`` minimises in the features of landmarks: an approximation in
        which the constraint holds exactly.
    sensitive_columns, drop_sensitive
        Sensitive columns of X; see `ParityRidge`.

    Attributes
    ----------
    coef_ : (d,) array
        Coefficients of the features, for the linear kernel with more rows than columns.
    dual_coef_, X_fit_ : (n,) and (n, d) arrays
        Coefficients of the training rows and of the pool, and these, otherwise.
    intercept_ : float
        The constant.
    n_iter_, converged_ : int, bool
        Number of steps of the constrained fit, and whether both fits reached the tolerance.
    history_ : dict
        For the "constrained" and the "free" fit: "objective" and "smd" (the sum of gaps on the
        training rows, the paper's SMD), before the first step and after each; for a loss with
        kinks, of its smoothed version.
    group_means_, gaps_, parity_residual_
        Means and gaps on the scale of the constraint, and the largest deviation from it; see
        `ParityRidge`.
    tradeoff_ : LossTradeoff
        Everything between the constrained and the free fit, on the scale of the score.
    n_features_in_, feature_names_in_
        Number and names of the columns seen in fit.

    See Also
    --------
    ParityKernelRidge : The squared error, in closed form.
    ParityKernelClassifier : Two classes.

    Examples
    --------
    >>> from meanparity.datasets import make_synthetic
    >>> from meanparity.losses import Quantile
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> model = ParityKernelRegressor(loss=Quantile(0.9)).fit(X, y, sensitive_features=s)
    >>> model.parity_residual_ < 1e-12
    True
    """

    def __init__(
        self,
        *,
        loss: RegressionLossName | Loss = "squared",
        alpha: float = 1.0,
        kernel: KernelName | Callable[..., Any] | AbstractKernel = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        fit_intercept: bool = True,
        unfairness: float = 0.0,
        max_gap: float | Mapping[str, float] | None = None,
        constraint: ConstraintName | Constraint = "mean_parity",
        solver: LossSolverName | Solver = "auto",
        sensitive_columns: Columns = None,
        drop_sensitive: bool = False,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
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

    def _target(self, y: Any) -> Target:
        loss = resolve_loss(self.loss, binary=False)
        require_target(self, y)
        return Target(column_or_1d(y, warn=True, dtype=np.float64), loss)

    def predict(self, X: Any, **given: Any) -> FloatArray:
        """Responses for the rows of X, (n,): scores, or their exponentials for a log link.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows, with the columns that were there in fit.
        **given
            Refused: predictions depend on X alone.
        """
        if given:
            refuse_given(self, given)
        scores = self._values(X)
        return self._loss.response(scores)
