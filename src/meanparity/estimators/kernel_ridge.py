"""Kernel ridge regression under parity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples

from meanparity._typing import Features
from meanparity.constraints import Constraint
from meanparity.estimators.kernel_parameters import KernelParameters
from meanparity.estimators.problem import Problem
from meanparity.estimators.ridge import LinearFunctions, centred
from meanparity.estimators.streaming import StreamingRegressor
from meanparity.exceptions import warn
from meanparity.kernels import AbstractKernel, Kernel, ShiftedKernel
from meanparity.path import Basis
from meanparity.solvers import Solution, choose_landmarks_for, solve
from meanparity.solvers.features import FeatureSpace, FourierSpace, KernelSpace, LinearSpace
from meanparity.solvers.nystrom import feature_space
from meanparity.solvers.statistics import Statistics
from meanparity.sources import is_dask, is_files, stack


def _fits_sums(estimator: ParityKernelRidge) -> bool:
    if estimator.solver in ("auto", "nystrom"):
        return True
    raise AttributeError(
        f"solver={estimator.solver!r} needs all rows at once. Pass solver='nystrom' to fit to sums "
        "over rows."
    )


class ParityKernelRidge(KernelParameters, StreamingRegressor):
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
    solver : {"auto", "dense", "spectral", "primal", "conjugate_gradient", "nystrom"}
        How to solve: "dense" by a Cholesky factorisation, "spectral" by an eigendecomposition
        (``alpha=0``, singular or indefinite kernel matrices), "primal" for the linear kernel,
        "conjugate_gradient" in steps, without the n × n matrix (exact, slower, 4 · n^1.5 numbers),
        "nystrom" in the space of `n_components` features, at a cost linear in the rows: an
        approximation, in which the constraint holds exactly. "auto" takes it, with a warning, for
        more than 25,000 rows and where the kernel matrix does not fit into memory.
    n_components : int, default=500
        Number of features of "nystrom".
    landmarks : {"rpcholesky", "kmeans++", "uniform", "fourier"} or array-like of shape (p, d)
        Features of "nystrom": kernel functions at rows that are drawn by randomly pivoted Cholesky,
        by k-means++ or uniformly, or at given points; or random Fourier features (RBF only).
    random_state : int, RandomState or None, default=0
        Where chance in "nystrom" comes from.

    Attributes
    ----------
    dual_coef_ : (n,) or (n, m) array
        Coefficient of each training row, and then of each row of the pool (n + p of them): a
        model that holds on a pool keeps the pool's features. Of each landmark, if the solver is
        "nystrom". Not there when it is "primal", which keeps no rows.
    X_fit_ : (n, d) array or sparse matrix
        The training rows, and then those of the pool, or the landmarks. Not there when the solver
        is "primal" or the kernel "precomputed".
    coef_ : (d,) or (m, d) array
        Coefficients of the columns, when the solver is "primal"; of Fourier features.
    statistics_ : Statistics
        Sums over all rows, with "nystrom"; see `partial_fit`.
    intercept_ : float or (m,) array
        The constant, 0 without `fit_intercept`.
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
        n_components: int = 500,
        landmarks: Any = "rpcholesky",
        random_state: Any = 0,
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
        self.n_components = n_components
        self.landmarks = landmarks
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        pool: Any = None,
    ) -> ParityKernelRidge:
        """Fit the constrained and the unconstrained model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or files
            Features; the kernel matrix, (n, n), if the kernel is "precomputed".
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
            fitted: ParityKernelRidge = self._fit_collection(X, y, pool=pool, **people)
            return fitted
        reason = self._why_landmarks(X)
        if self.solver == "nystrom" or reason is not None:
            self._reason = reason
            self.fit_statistics(self._statistics(X, y, **people), pool=pool)
            return self
        problem = self._fit(X, y, self._solve, precomputed=self._precomputed, pool=pool, **people)
        if hasattr(self, "statistics_"):
            del self.statistics_  # of batches before
        self._points = None if self._precomputed else stack(problem.task.X, problem.task.points)
        self._store_function()
        return self

    partial_fit = available_if(_fits_sums)(StreamingRegressor.partial_fit)
    statistics = available_if(_fits_sums)(StreamingRegressor.statistics)

    def _store_function(self) -> None:
        for left_over in {"coef_", "dual_coef_", "X_fit_"} & set(vars(self)):
            delattr(self, left_over)
        function, functions = self._function, self._functions
        coef, intercept = function.coef, function.intercept
        single = function.single_output
        if isinstance(functions, LinearFunctions | FourierSpace):
            if isinstance(functions, LinearFunctions):
                intercept = intercept - functions.origin @ coef
            self.coef_ = coef[:, 0] if single else coef.T
        else:
            self.dual_coef_ = coef[:, 0] if single else coef
            points = functions.landmarks if isinstance(functions, KernelSpace) else self._points
            if points is not None:
                self.X_fit_ = points
            if isinstance(functions, ShiftedKernel):  # a linear one, and coef sums to zero
                intercept = intercept - functions.origin @ (self.X_fit_.T @ coef)
        self._points = None
        self.intercept_ = float(intercept[0]) if single else intercept

    def _space(self, X: Features, names: tuple[str, ...] | None) -> FeatureSpace:
        kernel = self._kernel()
        if isinstance(kernel, Kernel) and kernel.is_linear:
            return LinearSpace.around(X, centred=bool(self.fit_intercept))
        return feature_space(X, kernel, names, self.landmarks, self.n_components, self.random_state)

    def _suits(self, space: FeatureSpace) -> bool:
        kernel = self._kernel()
        if isinstance(kernel, Kernel) and kernel.is_linear:
            return isinstance(space, LinearSpace)
        given = None if isinstance(self.landmarks, str) else self.landmarks
        if isinstance(space, KernelSpace):
            return space.spec == kernel and (given is None or space.is_among(given))
        if not isinstance(space, FourierSpace) or given is not None:
            return False
        gamma = getattr(kernel, "gamma", None)
        gamma = 1 / len(space.frequencies) if gamma is None else float(gamma)
        wanted = ("fourier", self.n_components, gamma)
        return (self.landmarks, space.width, space.gamma) == wanted

    def _basis(self, space: Any) -> Basis:
        return LinearFunctions(space.middle) if isinstance(space, LinearSpace) else space

    def _why_landmarks(self, X: Any) -> str | None:
        """Why "auto" does not fit exactly, if it does not; a warning says so."""
        if self.solver != "auto" or self._precomputed:
            return None
        kernel = self._kernel()
        if isinstance(kernel, Kernel) and kernel.is_linear:
            return None
        reason = choose_landmarks_for(_num_samples(X))
        if reason is not None:
            warn(
                f"The kernel fit is approximate, in {self.n_components} features, because {reason}."
                " The constraint holds exactly. Pass solver='nystrom' to say that this is meant, "
                "with more n_components to come closer, or solver='dense' for the exact fit."
            )
        return reason

    def _solver_words(self, statistics: Statistics) -> tuple[str, str]:
        words = f"sums over {statistics.loss.n_rows:,} rows of {statistics.space}"
        reason, self._reason = getattr(self, "_reason", None), None
        return "nystrom", words if reason is None else f"{words}, because {reason}"

    def _solve(self, problem: Problem) -> tuple[Solution, Basis]:
        kernel = self._kernel()
        is_linear = isinstance(kernel, Kernel) and kernel.is_linear
        task, origin = problem.task, np.zeros(0)
        if is_linear:
            task, origin = centred(task)
        names = problem.table.feature_names

        @cache
        def bind() -> Any:
            points = task.X if self._precomputed else stack(task.X, task.points)
            return kernel.bind(points, names)

        solution = solve(task, kernel=bind, is_linear=is_linear, solver=self.solver)
        if solution.info.solver == "primal":
            return solution, LinearFunctions(origin)
        bound = bind()
        return solution, ShiftedKernel(bound, origin) if origin.any() else bound
