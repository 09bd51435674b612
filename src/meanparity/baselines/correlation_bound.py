"""Nonconvex regression with fairness constraints (NRFC): least squares under a bound on R²."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.optimize import brentq

from meanparity._typing import Features, FloatArray
from meanparity.baselines.bounded import BoundedRegression, Prepared
from meanparity.baselines.two_stage import Spectrum
from meanparity.constraints import Functionals
from meanparity.estimators.kernel_parameters import KernelParameters
from meanparity.groups import group_sums
from meanparity.kernels import AbstractKernel, BoundKernel, Kernel
from meanparity.solvers import Task, solve

_NONE = 1e-30  # bounds below this are zero


class CorrelationBoundedRegression(KernelParameters, BoundedRegression):
    r"""(Kernel) regression with a bound on how much of its variance the sensitive features explain.

    The nonconvex regression of Komiyama et al., NRFC in the paper. With U what a regression on S
    leaves of X, and predictions ``ŷ = ȳ + Sα + Uβ``::

        minimise  ‖y − ŷ‖² + λ(‖α‖² + ‖β‖²)   subject to  Var(Sα) ≤ ε Var(ŷ)

    which is not convex, but has one multiplier: with ``λ = 0`` a closed form, else one root. With
    a kernel, functions f of S and of U take the places of Sα and Uβ, the constraint is about their
    ``Σf² + λ‖f‖²`` instead of their variances, and products of the two are left out of the loss, as
    in the authors' code.

    Parameters
    ----------
    unfairness : float, default=0.1
        ε, from 0 (S is not used at all) to 1 (no constraint).
    alpha : float, default=1.0
        λ, on standardised columns; the authors' default. The paper uses 0 for linear regression.
    kernel : str, callable or Kernel, default="linear"
        The kernel of standardised S and of standardised U. "linear" is linear regression.
    gamma : float, default=1.0
        Parameter of named kernels; the authors' default. None is the kernel's own default.
    degree, coef0 : float, float
        Parameters of polynomial kernels.
    kernel_params : mapping, optional
        Keyword arguments of a callable kernel.
    fit_intercept : bool, default=True
        Whether the mean of y is added; leave it out of a y that is centred already. S and U are
        centred either way.
    continuous : "auto" or list of names or positions, default="auto"
        Sensitive columns that are numbers, such as age; "auto" takes columns of numbers with more
        than 20 values. Of others every value is a category.
    sensitive_columns : int, str or list of them, optional
        Positions or names of columns of X that are sensitive, instead of `sensitive_features`.
        They stay features as well unless `drop_sensitive`, which does not change what is
        predicted.
    drop_sensitive : bool, default=False
        Whether `sensitive_columns` are left out of the features. They may hold text then.

    Attributes
    ----------
    coef_ : (d,) array
        Coefficients of the columns of X, for the linear kernel.
    coef_sensitive_ : (e,) array
        Coefficients of the sensitive numbers and of the indicators of all categories but the first
        of each column, for the linear kernel.
    intercept_ : float
        The constant, for the linear kernel.
    r2_sensitive_ : float
        Share of S in the variance of the predictions on the training rows; with a kernel in what
        is bounded instead, see Notes.
    n_features_in_, feature_names_in_
        Number and names of the columns seen in fit.

    Notes
    -----
    The first stage is least squares, so that S and U are uncorrelated; the authors' code has their
    ridge penalty there. With a kernel, a function of U may well be correlated with S: then neither
    parity of means nor the bound holds for the predictions themselves, not even with
    ``unfairness=0``. Several sensitive columns stand side by side; of a column of categories all
    but the first, in the order of the labels, have an indicator, so with three or more of them a
    penalty depends, a little, on which is first.

    References
    ----------
    Komiyama, J., Takeda, A., Honda, J. and Shimao, H. (2018). Nonconvex Optimization for
    Regression with Fairness Constraints. ICML.

    Examples
    --------
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(500, random_state=0)
    >>> model = CorrelationBoundedRegression(unfairness=0.001).fit(X, y, sensitive_features=s)
    >>> round(model.r2_sensitive_, 9)
    0.001
    """

    def __init__(
        self,
        *,
        unfairness: float = 0.1,
        alpha: float = 1.0,
        kernel: str | Callable[..., Any] | AbstractKernel = "linear",
        gamma: float | None = 1.0,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        fit_intercept: bool = True,
        continuous: Any = "auto",
        sensitive_columns: Any = None,
        drop_sensitive: bool = False,
    ) -> None:
        self.unfairness = unfairness
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.continuous = continuous
        self.sensitive_columns = sensitive_columns
        self.drop_sensitive = drop_sensitive

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> CorrelationBoundedRegression:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features.
        y : array-like of shape (n,)
            Targets.
        sensitive_features : array-like of shape (n,) or (n, r), series or data frame
            Sensitive columns, categories or numbers. Required unless `sensitive_columns` names
            columns of X.
        sample_weight : array-like of shape (n,), optional
            Weights.
        """
        kernel = self._one_kernel()
        problem = self._prepare(X, y, sensitive_features, sample_weight)
        if kernel.is_linear:
            on_s, on_u = problem.spectra()
            sensitive, rest = bounded(on_s, on_u, problem.alpha / problem.total, problem.bound)
            self._store(problem, on_s.variance(sensitive), on_u.variance(rest))
            self._parts: tuple[tuple[BoundKernel, FloatArray], ...] = ()
            self._store_linear(problem, on_s.vectors @ sensitive, on_u.vectors @ rest)
        else:
            with np.errstate(over="ignore", invalid="ignore"):  # refused by name
                self._fit_kernels(kernel, problem)
        return self

    def _fit_kernels(self, kernel: Kernel, problem: Prepared) -> None:
        """Ridge regressions on S and on U, and how much of each."""
        y, weights, rows = problem.y, problem.training.weights, problem.training.rows
        heavy_rows = np.ones(len(y)) if weights is None else weights
        mass = group_sums(rows.codes, heavy_rows, len(rows.cells))
        heavy = mass > 0
        first = np.unique(rows.codes, return_index=True)[1][heavy]
        means = group_sums(rows.codes, heavy_rows * y, len(rows.cells))[heavy] / mass[heavy]
        parts = (  # rows of equal S are one row of more weight
            _kernel_ridge(kernel, problem.S[first], means, problem.alpha, mass[heavy]),
            _kernel_ridge(kernel, _something(problem.U), y, problem.alpha, weights),
        )
        (_, _, p), (_, _, q) = parts
        shares = cone(np.sqrt(max(p, 0.0)), np.sqrt(max(q, 0.0)), problem.bound)
        self._store(problem, shares[0] ** 2 * p, shares[1] ** 2 * q)
        self._forget("coef_", "coef_sensitive_", "intercept_")
        self._parts = tuple(
            (of_kernel, scale * coef)
            for (of_kernel, coef, _), scale in zip(parts, shares, strict=True)
        )

    def _evaluate(self, S: FloatArray, U: FloatArray) -> FloatArray:
        if not self._parts:
            return super()._evaluate(S, U)
        values = [
            of_kernel.evaluate(points, coef)
            for (of_kernel, coef), points in zip(self._parts, (S, _something(U)), strict=True)
        ]
        return np.asarray(sum(values))[:, 0]

    def _one_kernel(self) -> Kernel:
        """A kernel that makes sense of S and of U."""
        kernel = self._named(self.kernel)
        if isinstance(kernel, Kernel) and kernel.kernel in ("chi2", "additive_chi2"):
            raise ValueError(
                f"kernel={self.kernel!r} needs columns of positive numbers, but what S leaves of X "
                "has mean zero. Choose another kernel."
            )
        whole = isinstance(kernel, Kernel) and kernel.kernel != "precomputed"
        if not isinstance(kernel, Kernel) or not whole or kernel.columns is not None:
            raise ValueError(
                f"kernel={self.kernel!r} cannot look at sensitive and at other features in turn. "
                "Pass a name, a function of two rows, or a Kernel without columns."
            )
        return kernel


def bounded(
    on_s: Spectrum, on_u: Spectrum, ridge: float, bound: float
) -> tuple[FloatArray, FloatArray]:
    """Coefficients of S and U under ``(1 − ε) Var(Sα) ≤ ε Var(Uβ)``, in the spectra's coordinates.

    Stationarity with the multiplier μ: ``α = ((1 + μ(1 − ε))V_S + ridge)⁻¹v_s`` and
    ``β = ((1 − με)V_U + ridge)⁻¹v_u``, with μ below ``(1 + ridge / max V_U) / ε``.

    Parameters
    ----------
    on_s, on_u : Spectrum
        Of S and of U.
    ridge : float
        λ / n.
    bound : float
        ε.
    """
    sensitive, rest = on_s.solve(ridge), on_u.solve(ridge)
    p, q = on_s.variance(sensitive), on_u.variance(rest)
    if (1 - bound) * p <= bound * q:
        return sensitive, rest
    if bound < _NONE or not len(rest):
        return np.zeros_like(sensitive), rest
    top = on_u.values.max()
    if q <= 1e-28 * p:  # U has nothing to say of y; its largest direction makes room for S
        rest[int(on_u.values.argmax())] = np.sqrt(bound * (1 - bound) * p / top)
        return bound * sensitive, rest
    if ridge == 0:
        shares = cone(np.sqrt(p), np.sqrt(q), bound)
        return shares[0] * sensitive, shares[1] * rest
    most = (1 + ridge / top) / bound

    def at(distance: float) -> tuple[FloatArray, FloatArray]:
        """Coefficients at a distance of μ from its bound, where nothing cancels."""
        slack = ridge * (1 - on_u.values / top) + bound * distance * on_u.values
        mu = most - distance
        of_s = on_s.products / ((1 + mu * (1 - bound)) * on_s.values + ridge)
        return of_s, on_u.products / slack

    def excess(log_distance: float) -> float:
        of_s, of_u = at(float(np.exp(log_distance)))
        return float(
            np.log((1 - bound) * on_s.variance(of_s)) - np.log(bound * on_u.variance(of_u))
        )

    low, high = np.log(most) - 60.0, np.log(most)
    if excess(high) <= 0:  # the bound holds already, as far as rounding can tell
        return sensitive, rest
    if excess(low) > 0:  # U has nothing to say along its largest direction, which fills the bound
        of_s, of_u = at(float(np.exp(low)))
        lacking = (1 - bound) * on_s.variance(of_s) / bound - on_u.variance(of_u)
        of_u[int(on_u.values.argmax())] += np.sqrt(lacking / top)
        return of_s, of_u
    return at(float(np.exp(brentq(excess, low, high, xtol=1e-15, rtol=1e-15, maxiter=500))))


def cone(p: float, q: float, bound: float) -> tuple[float, float]:
    """How much of two uncorrelated least-squares fits, of deviations p and q, meets the bound best.

    The nearest point of the cone ``(1 − ε)a² ≤ εb²`` to (p, q), in shares of p and q. If q is
    nothing, all directions of U would do to make room for S, and none is taken.

    Examples
    --------
    >>> cone(1.0, 1.0, 0.0)
    (0.0, 1.0)
    >>> cone(1.0, 1.0, 0.5)
    (1.0, 1.0)
    """
    if (1 - bound) * p**2 <= bound * q**2:
        return 1.0, 1.0
    if not q > 1e-14 * p:
        return 0.0, 1.0
    along = np.sqrt(bound) * p + np.sqrt(1 - bound) * q
    return float(np.sqrt(bound) * along / p), float(np.sqrt(1 - bound) * along / q)


def _something(U: FloatArray) -> FloatArray:
    """U, or a column of zeros where S leaves no column at all, which kernels cannot look at."""
    return U if U.shape[1] else np.zeros((len(U), 1))


def _kernel_ridge(
    kernel: Kernel, X: Features, y: FloatArray, alpha: float, weights: FloatArray | None
) -> tuple[BoundKernel, FloatArray, float]:
    """Kernel ridge regression: the kernel, its coefficients, and ``yᵀ(fitted values)``."""
    bound = kernel.bind(X)
    none = Functionals.none(len(y))
    task = Task(X, y[:, None], np.array([alpha]), none, False, weights)
    free = solve(task, kernel=lambda: bound, is_linear=False, solver="auto").free
    weighted = y if weights is None else weights * y
    return bound, free.coef, float(weighted @ free.fitted[:, 0])
