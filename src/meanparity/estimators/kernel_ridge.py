"""Kernel ridge regression under parity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from meanparity._typing import Columns, ConstraintName, KernelName, Numbers, RidgeSolverName
from meanparity.constraints import Constraint
from meanparity.estimators._base import PREDICTS_WITH, KernelParameters
from meanparity.estimators._sums import SumsRegressor
from meanparity.kernels.spec import AbstractKernel
from meanparity.solvers.problem import Solver
from meanparity.state import stored


@stored("ParityKernelRidge", predicts_with=PREDICTS_WITH)
class ParityKernelRidge(KernelParameters, SumsRegressor):
    """Kernel ridge regression whose predictions meet a parity constraint.

    Minimises ``‖y − g(X)‖² + α‖g‖²`` over the reproducing kernel Hilbert space of the kernel
    subject to the constraint on the training rows, by default that every sensitive group has the
    same mean prediction. One factorisation gives the constrained solution, the unconstrained one
    (scikit-learn's `KernelRidge`) and everything between.

    Parameters
    ----------
    alpha : float or array-like of shape (m,), default=1.0
        Ridge penalty (the paper's λ), one for all outputs or one for each.
    kernel : str, callable, Kernel or sklearn.gaussian_process kernel, default="linear"
        A kernel name of scikit-learn, "precomputed", a function of two rows, a kernel object, or
        sums and products of `meanparity.kernels.Kernel` on some of the columns.
    gamma, degree, coef0 : float, float, float
        Parameters of the named kernels; ``gamma=None`` is the kernel's own default.
    kernel_params : mapping, optional
        Keyword arguments of a callable kernel.
    fit_intercept : bool, default=False
        Whether to fit a constant, which is not penalised. scikit-learn's `KernelRidge` does not,
        and neither does the default here: predictions are then pulled towards 0, so centre y, or
        pass True, unless 0 is a natural middle.
    unfairness : float, default=0.0
        The dial: 0 is parity, 1 is the unconstrained fit; between, every gap on the training rows
        is this share of the unconstrained one.
    max_gap : float or mapping of str to float, optional
        The largest allowed size of gaps, instead of `unfairness`; see `ParityRidge`.
    confidence : float, optional
        The probability with which `max_gap` holds for people who were not seen; see `ParityRidge`.
        With a narrow kernel or a small alpha, gaps that are closed on the rows of fit reopen on
        others, and the margin is large. Estimators that choose their penalty
        (CV) and those of other losses do not take it.
    constraint : {"mean_parity", "covariance_parity", "residual_parity"} or Constraint
        What has to hold, for which groups and on which rows, by default ``MeanParity()``.
    solver : {"auto", "dense", "spectral", "primal", "conjugate_gradient", "nystrom"} or Solver
        How to solve: "dense" by a Cholesky factorisation, "spectral" by an eigendecomposition
        (``alpha=0``, singular or indefinite kernel matrices), "primal" for the linear kernel,
        "conjugate_gradient" iteratively, without the n × n matrix (exact, slower, 4 · n^1.5
        numbers), "nystrom" or ``Nystrom(n_components=...)`` with landmarks, at a cost linear in
        the rows: an approximation in which the constraint holds exactly. "auto" uses it, with a
        warning, for more than 25,000 rows and where the kernel matrix does not fit into memory.
    sensitive_columns : int, str or list of them, optional
        Positions or names of sensitive columns of X, instead of `sensitive_features`. They are
        also used as features unless `drop_sensitive` is set.
    drop_sensitive : bool, default=False
        Do not use the sensitive columns as features. They may then hold text.

    Attributes
    ----------
    dual_coef_ : (n,) or (n, m) array
        Coefficient of each training row, followed by that of each row of the pool (n + p of them):
        a model that holds on a pool keeps the pool's features. With "nystrom", of each landmark.
        Absent when the solver is "primal", which keeps no rows.
    X_fit_ : (n, d) array or sparse matrix
        The training rows, followed by those of the pool, or the landmarks. Absent when the solver
        is "primal" or the kernel "precomputed".
    coef_ : (d,) or (m, d) array
        Coefficients of the columns, when the solver is "primal".
    intercept_ : float or (m,) array
        The constant, 0 without `fit_intercept`.
    group_means_, pool_group_means_, parity_residual_, gaps_, pool_gaps_, n_conditions_, \
tradeoff_, unfairness_, group_counts_, continuous_, unconstrained_strata_, implies_mean_parity_, \
solver_, solver_info_, statistics_, n_features_in_, feature_names_in_
        See `ParityRidge`.

    See Also
    --------
    ParityRidge : Linear functions, without a matrix of all pairs of rows.
    ParityKernelRidgeCV : Chooses the penalty and gamma.
    ParityKernelRegressor : Other losses.

    References
    ----------
    Wei, S., Liu, J., Li, B. and Zha, H. (2023). Mean Parity Fair Regression in RKHS. AISTATS.

    Examples
    --------
    >>> from meanparity.datasets import make_synthetic
    >>> from meanparity.metrics import mean_parity_gap
    >>> X, y, s = make_synthetic(300, nonlinear=True, random_state=0)
    >>> model = ParityKernelRidge(kernel="rbf", gamma=0.1).fit(X, y, sensitive_features=s)
    >>> mean_parity_gap(y, model.predict(X), sensitive_features=s) < 1e-12
    True
    >>> half = model.tradeoff_.at(0.5).predict(X)
    """

    def __init__(
        self,
        *,
        alpha: Numbers = 1.0,
        kernel: KernelName | Callable[..., Any] | AbstractKernel = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        fit_intercept: bool = False,
        unfairness: float = 0.0,
        max_gap: float | Mapping[str, float] | None = None,
        confidence: float | None = None,
        constraint: ConstraintName | Constraint = "mean_parity",
        solver: RidgeSolverName | Solver = "auto",
        sensitive_columns: Columns = None,
        drop_sensitive: bool = False,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.unfairness = unfairness
        self.max_gap = max_gap
        self.confidence = confidence
        self.constraint = constraint
        self.solver = solver
        self.sensitive_columns = sensitive_columns
        self.drop_sensitive = drop_sensitive
