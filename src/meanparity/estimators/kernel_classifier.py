"""Classification into two classes under parity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from meanparity._typing import (
    ClassificationLossName,
    Columns,
    ConstraintName,
    FloatArray,
    KernelName,
    LossSolverName,
    available_if,
)
from meanparity.constraints import Constraint
from meanparity.estimators._base import PREDICTS_WITH
from meanparity.estimators._loss import LossEstimator, Target, require_target
from meanparity.estimators._messages import refuse_given
from meanparity.kernels.spec import AbstractKernel
from meanparity.losses import Loss, resolve_loss
from meanparity.solvers.problem import Solver
from meanparity.state import stored


def _has_probabilities(estimator: Any) -> bool:
    """Whether the loss has probabilities; scikit-learn also asks before the fit."""
    if resolve_loss(estimator.loss, binary=True).is_identity:
        raise AttributeError("The hinge loss has no probabilities. Use loss='logistic'.")
    return True


@stored("ParityKernelClassifier", predicts_with=PREDICTS_WITH)
class ParityKernelClassifier(ClassifierMixin, LossEstimator):  # type: ignore[misc]
    r"""Classification into two classes whose scores or probabilities meet a parity constraint.

    Minimises ``Σ ℓ(y, g(X)) + α‖g‖²`` over linear or kernel functions g, the scores, subject to the
    constraint on the training rows (and on a pool): by default every sensitive group has the same
    mean score, with ``scale="response"`` the same mean probability.

    Parameters
    ----------
    loss : str or Loss, default="logistic"
        "logistic" or "hinge" (with its kink rounded off; `Hinge(smoothing=0)` is that of support
        vector classification), or an object of `meanparity.losses`.
    alpha : float, default=0.5
        Ridge penalty; ``1/(2C)`` of scikit-learn's `LogisticRegression`.
    kernel, gamma, degree, coef0, kernel_params
        See `ParityKernelRidge`.
    fit_intercept : bool, default=True
        Whether to fit a constant, which is not penalised.
    unfairness, max_gap, solver, sensitive_columns, drop_sensitive
        See `ParityKernelRegressor`.
    constraint : {"mean_parity", "covariance_parity", "residual_parity"} or Constraint
        What has to hold, by default ``MeanParity()``, for the scores.
        ``MeanParity(scale="response")`` equalises the mean probabilities of the second class
        (logistic loss): demographic parity of a decision that is drawn with that probability.

    Attributes
    ----------
    classes_ : (2,) array
        The classes; scores are of the second.
    coef_, dual_coef_, X_fit_, intercept_, n_iter_, converged_, history_, tradeoff_
        See `ParityKernelRegressor`.
    group_means_, gaps_, parity_residual_
        Means and gaps on the scale of the constraint, and the largest deviation from it.
    n_features_in_, feature_names_in_
        Number and names of the columns seen in fit.

    See Also
    --------
    ParityKernelRegressor : Counts, amounts and robust losses.

    Examples
    --------
    >>> from meanparity.datasets import make_synthetic
    >>> from meanparity import MeanParity
    >>> from meanparity.metrics import mean_parity_gap
    >>> X, y, s = make_synthetic(300, random_state=0)
    >>> model = ParityKernelClassifier(constraint=MeanParity(scale="response"))
    >>> model = model.fit(X, y > 0, sensitive_features=s)
    >>> probability = model.predict_proba(X)[:, 1]
    >>> mean_parity_gap(y, probability, sensitive_features=s) < 1e-8
    True
    """

    def __init__(
        self,
        *,
        loss: ClassificationLossName | Loss = "logistic",
        alpha: float = 0.5,
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
        return Target((y == classes[-1:]).astype(float), loss, classes)

    def predict(self, X: Any, **given: Any) -> NDArray[Any]:
        """The class of each row of X, (n,): the second where the score is positive.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows, with the columns that were there in fit.
        **given
            Refused: predictions depend on X alone.
        """
        if given:
            refuse_given(self, given)
        second = self._values(X) > 0
        found: NDArray[Any] = self.classes_[second.astype(int)]
        return found

    def decision_function(self, X: Any) -> FloatArray:
        """Scores of the rows of X, (n,), positive for the second class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows, with the columns that were there in fit.
        """
        return self._values(X)

    @available_if(_has_probabilities)
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
