"""Nonconvex regression with fairness constraints (NRFC): least squares under a bound on R²."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.optimize import brentq

from meanparity._typing import Columns, FloatArray, KernelName
from meanparity.baselines.bounded import BOUNDED_PREDICTS_WITH, BoundedRegression, SecondStage
from meanparity.baselines.two_stage import Part, Spectrum, some_column
from meanparity.constraints import Functionals
from meanparity.estimators._base import KernelParameters
from meanparity.kernels import AbstractKernel, Kernel
from meanparity.solvers.factored import solve_exactly
from meanparity.solvers.problem import ConstrainedProblem
from meanparity.state import stored

_NONE = 1e-30  # bounds below this count as zero


@stored("CorrelationBoundedRegression", predicts_with=BOUNDED_PREDICTS_WITH)
class CorrelationBoundedRegression(KernelParameters, BoundedRegression):
    r"""(Kernel) regression with a bound on the variance explained by the sensitive features.

    The nonconvex regression of Komiyama et al., NRFC in the paper. With U the residuals of a
    regression of X on S, and predictions ``ŷ = ȳ + Sα + Uβ``::

        minimise  ‖y − ŷ‖² + λ(‖α‖² + ‖β‖²)   subject to  Var(Sα) ≤ ε Var(ŷ)

    The problem is not convex, but it has a single multiplier: there is a closed form for ``λ = 0``,
    and otherwise one root has to be found. With a kernel, a function f of S and one of U take the
    places of Sα and Uβ, the constraint compares their ``Σf² + λ‖f‖²`` instead of their variances,
    and products of the two are left out of the loss, as in the authors' code.

    Parameters
    ----------
    unfairness : float, default=0.1
        ε, from 0 (S is not used) to 1 (no constraint).
    alpha : float, default=1.0
        λ, for standardised columns. 1 is the authors' default; the paper uses 0 for linear
        regression.
    kernel : str, callable or Kernel, default="linear"
        Kernel of standardised S and of standardised U. "linear" gives linear regression.
    gamma : float, default=1.0
        Parameter of named kernels. 1 is the authors' default; None uses that of the kernel.
    degree, coef0 : float, float
        Parameters of polynomial kernels.
    kernel_params : mapping, optional
        Keyword arguments of a kernel that is a function.
    fit_intercept : bool, default=True
        Whether the mean of y is added to the predictions; pass False if y is centred already. S
        and U are centred in either case.
    continuous : "auto" or list of names or positions, default="auto"
        Sensitive columns that are numbers rather than categories; see `MeanParity`.
    sensitive_columns : int, str or list of them, optional
        Positions or names of sensitive columns of X, instead of `sensitive_features`. They are
        also used as features unless `drop_sensitive` is set, which does not change the
        predictions.
    drop_sensitive : bool, default=False
        Do not use the sensitive columns as features. They may then hold text.

    Attributes
    ----------
    coef_ : (d,) array
        Coefficients of the columns of X, for the linear kernel.
    coef_sensitive_ : (e,) array
        Coefficients of the sensitive numbers, and of the indicators of all categories except the
        first one of each column, for the linear kernel.
    intercept_ : float
        The intercept, for the linear kernel.
    r2_sensitive_ : float
        Share of S in the variance of the predictions on the training rows; with a kernel, its
        share in the quantity that is bounded instead of the variance.
    n_features_in_, feature_names_in_
        Number and names of the columns of X in `fit`.

    See Also
    --------
    UnfairnessPenaltyRidge : The same bound by a penalty.

    Notes
    -----
    The first stage is least squares, so that S and U are uncorrelated; the authors' code uses the
    ridge penalty there too. With a kernel, a function of U may be correlated with S: then neither
    parity of means nor the bound holds for the predictions themselves, not even with
    ``unfairness=0``. Several sensitive columns are put side by side. A column of categories has an
    indicator for every value but the first in the order of the labels, so with three or more
    categories a penalised fit depends slightly on which of them comes first.

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
        kernel: KernelName | Callable[..., Any] | AbstractKernel = "linear",
        gamma: float | None = 1.0,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        fit_intercept: bool = True,
        continuous: Any = "auto",
        sensitive_columns: Columns = None,
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

    def _solve(self, problem: SecondStage) -> tuple[Part, Part, dict[str, Any]]:
        kernel = self._checked_kernel()
        if kernel.is_linear:
            on_s, on_u = problem.spectra()
            sensitive, rest = bounded(on_s, on_u, problem.alpha / problem.total, problem.bound)
            return on_s.part(sensitive), on_u.part(rest), {}
        y, alpha, rows = problem.y[:, None], problem.alpha, problem.rows
        # rows with the same S are one row of larger weight
        mass = rows.mass * (problem.total / rows.n_rows)
        first = np.unique(rows.codes, return_index=True)[1]
        with np.errstate(over="ignore", invalid="ignore"):  # refused with a message
            of_s = _kernel_ridge(kernel, problem.S[first], rows.cell_means(y), alpha, mass)
            of_u = _kernel_ridge(kernel, problem.U, y, alpha, problem.weights)
        shares = cone(np.sqrt(of_s.size), np.sqrt(of_u.size), problem.bound)
        return of_s.scale(shares[0]), of_u.scale(shares[1]), {}

    def _checked_kernel(self) -> Kernel:
        """The kernel, if it can be evaluated on S as well as on U."""
        kernel = self._with_parameters(self.kernel)
        if not isinstance(kernel, Kernel) or kernel.is_precomputed or kernel.columns is not None:
            raise ValueError(
                f"kernel={self.kernel!r} cannot be evaluated on the sensitive features as well as "
                "on the others. Pass a name, a function of two rows, or a Kernel without columns."
            )
        if kernel.kernel in ("chi2", "additive_chi2"):
            raise ValueError(
                f"kernel={self.kernel!r} needs positive numbers, but the residuals of X given S "
                "have mean zero. Choose another kernel."
            )
        return kernel


def _kernel_ridge(
    kernel: Kernel, Z: FloatArray, y: FloatArray, alpha: float, weights: FloatArray | None
) -> Part:
    """Kernel ridge regression of targets, (n, 1), on S alone or on U alone, (n, p)."""
    Z, none = some_column(Z), Functionals.none(len(y))
    problem = ConstrainedProblem(Z, y, np.array([alpha]), none, False, kernel, weights)
    free = solve_exactly(problem).free
    assert free.fitted is not None
    # the minimiser f of Σ(y − f)² + λ‖f‖² has Σf² + λ‖f‖² = Σyf
    weighted = y if weights is None else weights[:, None] * y
    size = max(float((weighted * free.fitted).sum()), 0.0)
    return Part(free.coef, size, problem.expansion)


def bounded(
    on_s: Spectrum, on_u: Spectrum, ridge: float, bound: float
) -> tuple[FloatArray, FloatArray]:
    """The coefficients of S and U under ``(1 − ε) Var(Sα) ≤ ε Var(Uβ)``.

    They are in the coordinates of the spectra. With the multiplier μ, stationarity means
    ``α = ((1 + μ(1 − ε))V_S + ridge)⁻¹v_s`` and ``β = ((1 − με)V_U + ridge)⁻¹v_u``, where μ is
    below ``(1 + ridge / max V_U) / ε``.

    Parameters
    ----------
    on_s, on_u : Spectrum
        The decompositions of S and of U.
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
    if q <= 1e-28 * p:  # U explains nothing of y; its largest direction makes room for S
        rest[int(on_u.values.argmax())] = np.sqrt(bound * (1 - bound) * p / top)
        return bound * sensitive, rest
    if ridge == 0:
        shares = cone(np.sqrt(p), np.sqrt(q), bound)
        return shares[0] * sensitive, shares[1] * rest
    most = (1 + ridge / top) / bound

    def at(distance: float) -> tuple[FloatArray, FloatArray]:
        """Coefficients for μ at this distance from its bound, computed without cancellation."""
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
    if excess(high) <= 0:  # the bound holds already, up to rounding
        return sensitive, rest
    if excess(low) > 0:  # U explains nothing along its largest direction, which makes room for S
        of_s, of_u = at(float(np.exp(low)))
        lacking = (1 - bound) * on_s.variance(of_s) / bound - on_u.variance(of_u)
        of_u[int(on_u.values.argmax())] += np.sqrt(lacking / top)
        return of_s, of_u
    return at(float(np.exp(brentq(excess, low, high, xtol=1e-15, rtol=1e-15, maxiter=500))))


def cone(p: float, q: float, bound: float) -> tuple[float, float]:
    """The factors by which two uncorrelated fits of lengths p and q meet the bound at least cost.

    The point of the cone ``(1 − ε)a² ≤ εb²`` nearest to (p, q), divided by (p, q). If q is zero,
    every direction of U could make room for S; none is chosen, and S is not used.

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
