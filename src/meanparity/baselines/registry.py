"""All methods of the comparison, under the paper's short names and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import signature
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression

from meanparity._typing import FloatArray
from meanparity.baselines.barycenter import BarycenterRegressor
from meanparity.baselines.correlation_bound import CorrelationBoundedRegression
from meanparity.baselines.covariance_penalty import CovariancePenaltyRidge
from meanparity.baselines.mean_penalty import MeanPenaltyRidge
from meanparity.baselines.reduction import ReductionRegressor
from meanparity.baselines.unfairness_penalty import UnfairnessPenaltyRidge
from meanparity.estimators import ParityKernelRidge


@dataclass(frozen=True)
class Method:
    """A method of the comparison.

    Parameters
    ----------
    name : str
        The paper's short name, or a similar one.
    title : str
        What the method does.
    linear, kernel : callable or None
        Make the estimator for the paper's linear setting (least squares without a penalty) and for
        its kernel setting (RBF, γ = 0.1, penalty 1). None if there is no such variant. Keyword
        arguments are parameters of the estimator.
    dial : str or None
        The parameter that trades parity against accuracy.
    centred : bool
        Whether experiments subtract the training mean from y before the fit, as in the paper. RBA
        is not centred, because its thresholds are those of a y between 0 and 1.
    is_random : bool
        Whether the method's guarantee is about a random predictor, see `mixture`.

    See Also
    --------
    meanparity.tables.compare_methods : Runs methods on a table.

    Examples
    --------
    >>> X, y, s = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0], ["a", "b", "a", "b"]
    >>> method = METHODS["FPR-3"]
    >>> model = method.fit(X, y, sensitive_features=s)
    >>> method.predict(model, X, sensitive_features=s).shape
    (4,)
    """

    name: str
    title: str
    linear: Callable[..., Any] | None
    kernel: Callable[..., Any] | None
    dial: str | None = None
    centred: bool = True
    is_random: bool = False

    @property
    def settings(self) -> tuple[str, ...]:
        """Which of "linear" and "kernel" are available."""
        return tuple(name for name in ("linear", "kernel") if getattr(self, name) is not None)

    def make(self, setting: str = "linear", **parameters: Any) -> Any:
        """Make an unfitted estimator with the given parameters."""
        if setting not in self.settings:
            raise ValueError(
                f"{self.name} has no setting {setting!r}. Pass {' or '.join(self.settings)}."
            )
        return getattr(self, setting)(**parameters)

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any, setting: str = "linear", **parameters: Any
    ) -> Any:
        """Fit an estimator, which receives the sensitive features if it has that parameter."""
        return _with_groups(self.make(setting, **parameters).fit, sensitive_features, X, y)

    def predict(self, model: Any, X: Any, *, sensitive_features: Any) -> FloatArray:
        """Predict with a fitted estimator, which receives the sensitive features if needed."""
        return np.asarray(_with_groups(model.predict, sensitive_features, X))

    def mixture(
        self, model: Any, X: Any, *, sensitive_features: Any
    ) -> tuple[FloatArray, FloatArray]:
        """The possible predictions, (n, h), and the probability of each column, (h,).

        A method that is not random has one column, its predictions.
        """
        if self.is_random:
            return model.mixture_values(X), model.mixture_weights_
        predicted = self.predict(model, X, sensitive_features=sensitive_features)
        return predicted[:, None], np.ones(1)


def _with_groups(function: Callable[..., Any], sensitive_features: Any, *arguments: Any) -> Any:
    """Call a method of an estimator, with the sensitive features if it takes them."""
    if "sensitive_features" in signature(function).parameters:
        return function(*arguments, sensitive_features=sensitive_features)
    return function(*arguments)


_LINEAR: Mapping[str, Any] = MappingProxyType({"kernel": "linear", "alpha": 0.0})
_RBF: Mapping[str, Any] = MappingProxyType({"kernel": "rbf", "gamma": 0.1, "alpha": 1.0})


def _both(make: Callable[..., Any], **parameters: Any) -> tuple[partial[Any], partial[Any]]:
    """A method of kernels in the linear and in the kernel setting."""
    return partial(make, **_LINEAR, **parameters), partial(make, **_RBF, **parameters)


_ALL = [
    Method("Constant", "the mean of y for all rows", DummyRegressor, DummyRegressor),
    Method("OLS", "ordinary least squares", LinearRegression, None),
    Method("KRR", "kernel ridge regression", None, partial(KernelRidge, **_RBF)),
    *(
        Method(
            f"FPR-{power}",
            f"penalty on differences of means, coefficient {10**power}",
            *_both(MeanPenaltyRidge, penalty=10.0**power),
            "penalty",
        )
        for power in (1, 3)
    ),
    *(
        Method(
            f"FKR-{power}",
            f"penalty on the covariance with S, coefficient {10**power}",
            *_both(CovariancePenaltyRidge, penalty=10.0**power),
            "penalty",
        )
        for power in (1, 3)
    ),
    Method(
        "NRFC",
        "bound on the R² of S (0), exact for linear functions",
        *_both(CorrelationBoundedRegression, unfairness=0.0),
        "unfairness",
    ),
    Method(
        "FRRM",
        "bound on the R² of S (0.05), by a ridge penalty",
        partial(UnfairnessPenaltyRidge, unfairness=0.05),
        None,
        "unfairness",
    ),
    Method(
        "RBA",
        "equal distributions (within 0.01), by a random mixture of regressions",
        partial(ReductionRegressor, slack=0.01),
        None,
        "slack",
        centred=False,
        is_random=True,
    ),
    Method(
        "Barycenter",
        "equal distributions, by moving predictions; needs S to predict",
        BarycenterRegressor,
        partial(BarycenterRegressor, estimator=KernelRidge(**_RBF)),
        "unfairness",
    ),
    Method("Ours", "equal means, exact", *_both(ParityKernelRidge), "unfairness"),
]
METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in _ALL})
