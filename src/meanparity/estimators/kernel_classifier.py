"""Classification into two classes under parity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from meanparity._typing import FloatArray
from meanparity.constraints import Constraint
from meanparity.estimators.kernel_loss import LossModel, require_target
from meanparity.kernels import AbstractKernel
from meanparity.losses import Loss, resolve_loss


def _has_probabilities(estimator: Any) -> bool:
    """Whether the loss has; scikit-learn asks before the fit as well."""
    if resolve_loss(estimator.loss, binary=True).is_identity:
        raise AttributeError("The hinge loss has no probabilities. Use loss='logistic'.")
    return True


class ParityKernelClassifier(ClassifierMixin, LossModel):  # type: ignore[misc]
    r"""Classification into two classes whose scores or probabilities meet a parity constraint.

    Minimises ``Σ ℓ(y, g(X)) + α‖g‖²`` over linear or kernel functions g, the scores, subject to the
    constraint on the training rows (and on a pool): by default every sensitive group has the same
    mean score, with ``scale="response"`` the same mean probability.

    Parameters
    ----------
    loss : str or Loss, default="logistic"
        "logistic" or "hinge" (support vector classification, smoothed), or an object of
        `meanparity.losses`.
    alpha : float, default=0.5
        Ridge penalty; ``1/(2C)`` of scikit-learn's `LogisticRegression`.
    kernel, gamma, degree, coef0, kernel_params
        See `ParityKernelRidge`.
    fit_intercept : bool, default=True
        Whether to fit a constant, which is not penalised.
    scale : {"score", "response"}, default="score"
        What has the same mean in every group: the score, or the probability of the second class
        (logistic loss). Equal mean probabilities are demographic parity of a decision that is drawn
        with that probability.
    unfairness, max_gap, optimizer, max_iter, tol, learning_rate, warm_start, verbose
        See `ParityKernelRegressor`.
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
    classes_ : (2,) array
        The classes; scores are of the second.
    coef_, dual_coef_, X_fit_, intercept_, n_iter_, converged_, history_, tradeoff_
        See `ParityKernelRegressor`.
    group_means_, gaps_, parity_residual_
        Means and gaps on the scale of the constraint, and what is left of it.
    n_features_in_, feature_names_in_
        Number and names of the columns seen in fit.

    Examples
    --------
    >>> from meanparity.datasets import make_synthetic
    >>> from meanparity.metrics import mean_parity_gap
    >>> X, y, s = make_synthetic(300, random_state=0)
    >>> model = ParityKernelClassifier(scale="response").fit(X, y > 0, sensitive_features=s)
    >>> probability = model.predict_proba(X)[:, 1]
    >>> mean_parity_gap(y, probability, sensitive_features=s) < 1e-8
    True
    """

    def __init__(
        self,
        *,
        loss: str | Loss = "logistic",
        alpha: float = 0.5,
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
    ) -> ParityKernelClassifier:
        """Fit the constrained and the unconstrained model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features; the kernel matrix, (n, n), if the kernel is "precomputed".
        y : array-like of shape (n,)
            Two classes.
        sensitive_features, control_features, sample_weight, pool
            See `ParityKernelRidge.fit`.
        """
        loss = resolve_loss(self.loss, binary=True)
        require_target(self, y)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        classes = np.unique(y)
        if len(y) and len(classes) != 2:
            found = "one class" if len(classes) == 1 else f"{len(classes)} classes"
            kind = type_of_target(y)
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}, with "
                f"{found}, such as {classes[0]!r}. Pass two classes."
            )
        self.classes_ = classes
        people = {
            "sensitive_features": sensitive_features,
            "control_features": control_features,
            "sample_weight": sample_weight,
            "pool": pool,
        }
        return self._fit_loss(X, (y == classes[-1:]).astype(float), loss, **people)

    def predict(self, X: Any) -> Any:
        """The class of each row of X, (n,): the second where the score is positive.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows, with the columns that were there in fit.
        """
        second = self._values(X) > 0
        return self.classes_[second.astype(int)]

    def decision_function(self, X: Any) -> FloatArray:
        """Scores of the rows of X, (n,), positive for the second class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows, with the columns that were there in fit.
        """
        return self._values(X)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of both classes, (n, 2), of the logistic loss.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows, with the columns that were there in fit.
        """
        scores = self._values(X)
        second = self._loss.response(scores)
        return np.column_stack([1 - second, second])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
