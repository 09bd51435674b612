"""Fair kernel learning (FKR, FKL): a penalty on the covariance with the sensitive features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from meanparity._typing import Columns, FloatArray, KernelName
from meanparity.baselines.penalty import PENALTY_PREDICTS_WITH, PenaltyRidge
from meanparity.constraints.covariance import cell_numbers
from meanparity.data.columns import are_numbers
from meanparity.data.rows import Rows, refuse_identifier
from meanparity.kernels import AbstractKernel, Kernel
from meanparity.linalg.memory import require_memory
from meanparity.linalg.pivoted import dense_features, pivoted_cholesky
from meanparity.state import stored

_TOLERANCE = 1e-15  # remainders below this share of the largest κ(s, s) are rounding
_FEW = 256  # features up to which they are found one by one


@stored("CovariancePenaltyRidge", predicts_with=PENALTY_PREDICTS_WITH)
class CovariancePenaltyRidge(PenaltyRidge):
    r"""(Kernel) ridge regression with a penalty on the covariance with the sensitive features.

    Fair Kernel Learning by Pérez-Suay et al., called FKR in the paper::

        minimise  ‖y − g(X)‖² + α‖g‖² + η‖Cov(φ_S(S), g)‖²

    for the features φ_S of a sensitive kernel. In terms of ``g = Σ c_i κ(·, x_i)`` that is
    ``(K + αI + (η/n²) H K_S H K) c = y`` with the centring matrix H. The rank of ``K_S`` is at
    most the number of different sensitive values, so one factorisation of ``K + αI`` is enough.
    With η = 0 this is (kernel) ridge regression.

    Parameters
    ----------
    alpha : float, default=1.0
        Ridge penalty (the paper's λ).
    penalty : float, default=10.0
        η, at least 0. The paper uses 10 (FKR-1) and 1000 (FKR-3).
    kernel : str, callable, Kernel or sklearn.gaussian_process kernel, default="linear"
        As in `ParityKernelRidge`.
    gamma, degree, coef0 : float, float, float
        Parameters of the named kernels. ``gamma=None`` uses the default of the kernel.
    kernel_params : mapping, optional
        Keyword arguments of a kernel that is a function.
    sensitive_kernel : str, callable or Kernel, optional
        The kernel of the sensitive features. A name or a function has the parameters gamma, degree,
        coef0 and kernel_params too; a `meanparity.kernels.Kernel` has its own. By default it is
        the same as `kernel` (with ``gamma=None`` each of them has the default for its own number
        of columns).
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
    MeanPenaltyRidge : A penalty on the gaps of means.
    meanparity.CovarianceParity : The constraint that it approaches.

    Notes
    -----
    Sensitive numbers and booleans are used as they are, however many values they have; text and
    categories become one indicator for each value. The penalty depends on the units of S. The
    authors' μ is η/n² here. A sensitive kernel with nearly as many independent features as there
    are rows (a rough or narrow kernel of a number) costs several times more than one with few.

    References
    ----------
    Pérez-Suay, A., Laparra, V., Mateo-García, G., Muñoz-Marí, J., Gómez-Chova, L. and
    Camps-Valls, G. (2017). Fair Kernel Learning. ECML PKDD.

    Examples
    --------
    >>> from meanparity.datasets import make_synthetic
    >>> from meanparity.metrics import covariance_norm
    >>> X, y, s = make_synthetic(500, random_state=0)
    >>> for penalty in (0.0, 1e6, 1e8):
    ...     model = CovariancePenaltyRidge(penalty=penalty).fit(X, y, sensitive_features=s)
    ...     print(f"{covariance_norm(y, model.predict(X), sensitive_features=s):.6f}")
    0.015204
    0.000861
    0.000009
    """

    _orthonormal = False

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
        sensitive_kernel: str | Callable[..., Any] | AbstractKernel | None = None,
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
        self.sensitive_kernel = sensitive_kernel
        self.fit_intercept = fit_intercept
        self.sensitive_columns = sensitive_columns
        self.drop_sensitive = drop_sensitive

    def _penalised_functions(self, rows: Rows) -> FloatArray:
        if not any(map(are_numbers, rows.levels)):
            refuse_identifier(rows, "pass numbers")
        kernel = self._sensitive_kernel()
        features = _features(cell_numbers(rows), kernel)
        share = rows.mass / rows.mass.sum()
        size = np.abs(features).max(initial=0.0)
        features = features - share @ features
        if not np.abs(features[share > 0]).max(initial=0.0) > 1e-14 * size:
            raise ValueError(
                f"The sensitive features of all {rows.n_rows} rows are the same under {kernel!r}, "
                "so there is nothing to penalise. Pass a column with at least two values, or "
                "another sensitive_kernel."
            )
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
        # the covariances of values V with the features are CᵀV
        return np.asarray((weights / rows.n_rows)[:, None] * features[rows.codes])

    def _sensitive_kernel(self) -> Kernel:
        """The kernel of the sensitive values."""
        own = self.sensitive_kernel is not None
        kernel = self._with_parameters(self.sensitive_kernel) if own else self._kernel()
        if (
            not isinstance(kernel, Kernel)
            or kernel.is_precomputed
            or (kernel.columns is not None and not own)  # which are columns of X
        ):
            raise ValueError(
                f"The sensitive features need a kernel of their own, because {kernel!r} cannot be "
                "evaluated on them. Pass sensitive_kernel, a name or a function of two rows of "
                "sensitive values."
            )
        return kernel


def _features(values: FloatArray, kernel: Kernel) -> FloatArray:
    """Features F, (k, p), of values, (k, e), such that ``F Fᵀ`` is their kernel matrix."""
    if kernel.is_linear:
        return values
    bound = kernel.bind(values)
    features = pivoted_cholesky(
        bound.diagonal(values),
        lambda j: bound.block(values[j : j + 1])[0],
        tolerance=_TOLERANCE,
        max_rank=_FEW,
    )
    if features.shape[1] == min(_FEW, len(values)):  # there may be more, faster from the matrix
        require_memory(
            3 * 8 * len(values) ** 2,
            what=f"The sensitive kernel of {len(values):,} different values",
            advice="Round the sensitive values, or use a smoother sensitive_kernel.",
        )
        features = dense_features(bound.block(values), tolerance=_TOLERANCE)
    # a kernel that is not positive semidefinite differs from the products of the features
    checked = np.unique(np.linspace(0, len(values) - 1, 64).astype(int))
    block = bound.block(values[checked])
    size = np.abs(block).max()
    if not np.isfinite(size) or np.abs(features[checked] @ features.T - block).max() > 1e-8 * size:
        raise ValueError(
            f"The sensitive kernel {kernel!r} is not positive semidefinite on these values (or not "
            "finite), so it has no features. Choose another sensitive_kernel, such as 'rbf'."
        )
    return features
