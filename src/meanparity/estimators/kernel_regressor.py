"""Regression with any loss under parity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.base import RegressorMixin

from meanparity._typing import FloatArray
from meanparity.constraints import Constraint
from meanparity.estimators.kernel_loss import LossModel, single_target
from meanparity.kernels import AbstractKernel
from meanparity.losses import Loss, resolve_loss


class ParityKernelRegressor(RegressorMixin, LossModel):  # type: ignore[misc]
    r"""Regression with any loss whose predictions meet a parity constraint.

    Minimises ``Σ ℓ(y, g(X)) + α‖g‖²`` over linear or kernel functions g, the scores, subject to the
    constraint on the training rows (and on a pool), by default that every sensitive group has the
    same mean. With the squared loss it is `ParityKernelRidge`, which is faster.

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
    scale : {"score", "response"}, default="score"
        What has the same mean in every group: the score g, or the response, which is ``e^g`` for
        "poisson" and "gamma" and the score itself for the others.
    unfairness : float, default=0.0
        The dial: 0 is parity, 1 is the unconstrained fit; between, scores are mixed.
    max_gap : float, optional
        The dial in the units of the gaps, instead of `unfairness`; not for gaps of responses.
    optimizer : {"auto", "newton", "lbfgs", "adam"}, default="auto"
        "newton" is iteratively reweighted least squares, a factorisation for each step; "lbfgs"
        needs only products; "adam" is the paper's gradient descent, for comparison. "auto" takes
        one of the first two by size.
    max_iter : int, optional
        Steps at most, of each of the two fits: by default 100, 5000 and 10000. A loss with kinks
        takes so many for each smoothing on its way; parity of responses has steps of its own.
    tol : float, default=1e-10
        Relative decrease of the objective at which to stop. Adam takes all steps.
    learning_rate : float, default=1e-4
        Adam's.
    warm_start : bool, default=False
        Whether a fit starts where the last one ended.
    verbose : bool, default=False
        Whether to print every step.
    constraint, parity_on, intersectional, continuous, missing, min_group_size
        What has to hold, where, and for whom; see `ParityKernelRidge`.
    weight_scope, sensitive_columns, drop_sensitive
        What weights count in, and where sensitive columns travel; see `ParityKernelRidge`.
    solver : {"exact", "nystrom"}, default="exact"
        With "nystrom", functions of `n_components` features instead of one coefficient a row: an
        approximation, in which the constraint holds exactly. The features of all rows are kept.
    n_components, landmarks, random_state
        Which features; see `ParityKernelRidge`.

    Attributes
    ----------
    coef_ : (d,) array
        Coefficients of the features, for the linear kernel with more rows than columns.
    dual_coef_, X_fit_ : (n,) and (n, d) arrays
        Coefficients of the training rows and of the pool, and these, otherwise.
    intercept_ : float
        The constant.
    n_iter_, converged_ : int, bool
        Steps of the constrained fit, and whether both fits reached the tolerance (Adam, which
        takes all its steps, seldom does).
    history_ : dict
        Of the "constrained" and of the "free" fit: "objective" and "gap" (the sum of gaps on the
        training rows, the paper's SMD), before the first step and after each; a loss with kinks as
        it was smoothed.
    group_means_, gaps_, parity_residual_
        Means and gaps on the scale of the constraint, and what is left of it; see
        `ParityKernelRidge`.
    tradeoff_ : LossTradeoff
        Everything between the constrained and the free fit, on the scale of the score.
    n_features_in_, feature_names_in_
        Number and names of the columns seen in fit.

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
        loss: str | Loss = "squared",
        alpha: float = 1.0,
        kernel: str | Callable[..., Any] | AbstractKernel = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        fit_intercept: bool = True,
        scale: str = "score",
        unfairness: float = 0.0,
        max_gap: float | None = None,
        optimizer: str = "auto",
        max_iter: int | None = None,
        tol: float = 1e-10,
        learning_rate: float = 1e-4,
        warm_start: bool = False,
        verbose: bool = False,
        constraint: str | Constraint = "mean_parity",
        parity_on: str = "both",
        intersectional: bool = True,
        continuous: Any = "auto",
        missing: str = "error",
        min_group_size: int = 10,
        weight_scope: str = "both",
        sensitive_columns: Any = None,
        drop_sensitive: bool = False,
        solver: str = "exact",
        n_components: int = 500,
        landmarks: Any = "rpcholesky",
        random_state: Any = 0,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.unfairness = unfairness
        self.max_gap = max_gap
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.warm_start = warm_start
        self.verbose = verbose
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
    ) -> ParityKernelRegressor:
        """Fit the constrained and the unconstrained model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features; the kernel matrix, (n, n), if the kernel is "precomputed".
        y : array-like of shape (n,)
            Targets.
        sensitive_features, control_features, sample_weight, pool
            See `ParityKernelRidge.fit`.
        """
        loss = resolve_loss(self.loss, binary=False)
        people = {
            "sensitive_features": sensitive_features,
            "control_features": control_features,
            "sample_weight": sample_weight,
            "pool": pool,
        }
        return self._fit_loss(X, single_target(self, y), loss, **people)

    def predict(self, X: Any) -> FloatArray:
        """Responses for the rows of X, (n,): scores, or their exponentials for a log link.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows, with the columns that were there in fit.
        """
        scores = self._values(X)
        return self._loss.response(scores)
