"""Kernel ridge regression under parity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from meanparity.constraints import Constraint
from meanparity.estimators.base import ParityRegressor, Problem
from meanparity.estimators.ridge import LinearFunctions, centre_of
from meanparity.kernels import AbstractKernel, Kernel, ShiftedKernel, resolve_kernel
from meanparity.path import Basis
from meanparity.solvers import Solution, solve


class ParityKernelRidge(ParityRegressor):
    r"""Kernel ridge regression whose predictions meet a parity constraint.

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
        The dial (the paper's α): 0 is parity, 1 is the unconstrained fit; between, every gap on
        the training rows is this share of the unconstrained one.
    constraint : {"mean_parity", "covariance_parity"} or Constraint, default="mean_parity"
        What has to hold.
    sensitive_columns : int, str or list of them, optional
        Positions or names of columns of X that say who is in which group, instead of
        `sensitive_features`. They stay features as well unless `drop_sensitive`.
    drop_sensitive : bool, default=False
        Whether `sensitive_columns` are left out of the features. They may hold text then.
    solver : {"auto", "dense", "spectral", "primal"}, default="auto"
        How to solve: "dense" by a Cholesky factorisation, "spectral" by an eigendecomposition
        (``alpha=0``, singular or indefinite kernel matrices), "primal" for the linear kernel.

    Attributes
    ----------
    dual_coef_ : (n,) or (n, m) array
        Coefficient of each training row. Not there when the solver is "primal".
    X_fit_ : (n, d) array or sparse matrix
        The training rows. Not there when the solver is "primal" or the kernel "precomputed".
    coef_ : (d,) or (m, d) array
        Coefficients of the features, when the solver is "primal".
    intercept_ : float or (m,) array
        The constant, 0 without `fit_intercept`.
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
        alpha: Any = 1.0,
        kernel: str | Callable[..., Any] | AbstractKernel = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        fit_intercept: bool = False,
        unfairness: float = 0.0,
        constraint: str | Constraint = "mean_parity",
        sensitive_columns: Any = None,
        drop_sensitive: bool = False,
        solver: str = "auto",
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.unfairness = unfairness
        self.constraint = constraint
        self.sensitive_columns = sensitive_columns
        self.drop_sensitive = drop_sensitive
        self.solver = solver

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None) -> ParityKernelRidge:
        """Fit the constrained and the unconstrained model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features; the kernel matrix, (n, n), if the kernel is "precomputed".
        y : array-like of shape (n,) or (n, m)
            Targets.
        sensitive_features : array-like of shape (n,) or (n, r), series or data frame
            One or several sensitive columns; every combination of values that occurs is a group.
            Required unless `sensitive_columns` names columns of X.
        """
        problem = self._fit(X, y, sensitive_features, self._solve)
        for left_over in {"coef_", "dual_coef_", "X_fit_"} & set(vars(self)):
            delattr(self, left_over)
        coef, intercept = self._function.coef, self._function.intercept
        single = self._function.single_output
        if isinstance(self._functions, LinearFunctions):
            intercept = intercept - self._functions.origin @ coef
            self.coef_ = coef[:, 0] if single else coef.T
        else:
            self.dual_coef_ = coef[:, 0] if single else coef
            if not self._precomputed:
                self.X_fit_ = problem.X
        self.intercept_ = float(intercept[0]) if single else intercept
        return self

    def _solve(self, problem: Problem) -> tuple[Solution, Basis]:
        kernel = self._kernel()
        is_linear = isinstance(kernel, Kernel) and kernel.is_linear
        origin = centre_of(problem.X, bool(self.fit_intercept and is_linear))
        X = problem.X - origin if origin.any() else problem.X
        bound = kernel.bind(X, problem.table.feature_names)
        solution = solve(
            X,
            problem.Y,
            problem.functionals,
            problem.alpha,
            kernel=bound,
            is_linear=is_linear,
            fit_intercept=bool(self.fit_intercept),
            solver=self.solver,
        )
        if solution.info.solver == "primal":
            return solution, LinearFunctions(origin)
        return solution, ShiftedKernel(bound, origin) if origin.any() else bound

    def _kernel(self) -> AbstractKernel:
        if isinstance(self.kernel, AbstractKernel) and self.gamma is not None:
            raise ValueError(
                f"gamma={self.gamma!r} is for named kernels, but kernel is {self.kernel!r}. Pass "
                "gamma to the kernel itself."
            )
        return resolve_kernel(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            params=self.kernel_params,
        )

    @property
    def _precomputed(self) -> bool:
        name = self.kernel.kernel if isinstance(self.kernel, Kernel) else self.kernel
        return isinstance(name, str) and name == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags
