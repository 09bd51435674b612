"""Fair penalty regression (FPR): a penalty on violations of mean parity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from meanparity._typing import Columns, FloatArray, KernelName
from meanparity.baselines.penalty import PENALTY_PREDICTS_WITH, PenaltyRidge
from meanparity.constraints import MeanParity
from meanparity.data.rows import Rows
from meanparity.kernels import AbstractKernel
from meanparity.state import stored


@stored("MeanPenaltyRidge", predicts_with=PENALTY_PREDICTS_WITH)
class MeanPenaltyRidge(PenaltyRidge):
    r"""(Kernel) ridge regression with a penalty on differences between group means.

    Fair Penalty Regression (FPR), from the appendix of the paper::

        minimise  ‖y − g(X)‖² + α‖g‖² + ζ‖g − Pg‖²

    with P the projection onto the functions whose mean is the same in every group. In terms of
    ``g = Σ c_i κ(·, x_i)`` that is ``c = (KK + αK + ζKAK)⁺ K y`` with ``A = C(CᵀKC)⁺Cᵀ`` for the
    contrasts C of the group means. It is computed as ``(K + αI + ζAK) c = y`` from one
    factorisation of ``K + αI``. With ζ = 0 this is ridge regression, and as ζ grows it approaches
    `ParityKernelRidge`, which meets the constraint exactly and needs no ζ.

    Parameters
    ----------
    alpha : float, default=1.0
        Ridge penalty (the paper's λ).
    penalty : float, default=10.0
        ζ, at least 0. The paper uses 10 (FPR-1) and 1000 (FPR-3).
    kernel : str, callable, Kernel or sklearn.gaussian_process kernel, default="linear"
        As in `ParityKernelRidge`.
    gamma, degree, coef0 : float, float, float
        Parameters of the named kernels. ``gamma=None`` uses the default of the kernel.
    kernel_params : mapping, optional
        Keyword arguments of a kernel that is a function.
    fit_intercept : bool, default=False
        Whether to fit a constant, which is not penalised. By default there is none, as in
        `ParityKernelRidge`: centre y, or pass True.
    sensitive_columns : int, str or list of them, optional
        Positions or names of sensitive columns of X, instead of `sensitive_features`. They are
        also used as features unless `drop_sensitive` is set.
    drop_sensitive : bool, default=False
        Do not use the sensitive columns as features. They may then hold text.

    Attributes
    ----------
    coef_ : (d,) or (m, d) array
        Coefficients of the features, for the linear kernel with more rows than columns.
    dual_coef_, X_fit_ : (n,) or (n, m) array, and (n, d) array
        Otherwise the coefficients of the training rows, and these rows.
    intercept_ : float or (m,) array
        The intercept, 0 without `fit_intercept`.
    n_features_in_, feature_names_in_
        Number and names of the columns of X in `fit`.

    See Also
    --------
    CovariancePenaltyRidge : A penalty on covariances.
    meanparity.MeanParity : The constraint that it approaches.

    References
    ----------
    Wei, S., Liu, J., Li, B. and Zha, H. (2023). Mean Parity Fair Regression in RKHS. AISTATS.

    Examples
    --------
    >>> from meanparity.datasets import make_synthetic
    >>> from meanparity.metrics import mean_parity_gap
    >>> X, y, s = make_synthetic(500, random_state=0)
    >>> for penalty in (0.0, 10.0, 1000.0):
    ...     model = MeanPenaltyRidge(penalty=penalty).fit(X, y, sensitive_features=s)
    ...     print(f"{mean_parity_gap(y, model.predict(X), sensitive_features=s):.4f}")
    0.3041
    0.1215
    0.0020
    """

    _orthonormal = True

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        penalty: float = 10.0,
        kernel: KernelName | Callable[..., Any] | AbstractKernel = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        fit_intercept: bool = False,
        sensitive_columns: Columns = None,
        drop_sensitive: bool = False,
    ) -> None:
        self.alpha = alpha
        self.penalty = penalty
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.sensitive_columns = sensitive_columns
        self.drop_sensitive = drop_sensitive

    def _penalised_functions(self, rows: Rows) -> FloatArray:
        self._require_groups(rows)
        return MeanParity().functionals(rows).dense()
