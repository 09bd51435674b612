"""All methods of the comparison, ours among them, under the paper's short names and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from types import MappingProxyType
from typing import Any

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

SETTINGS = ("linear", "kernel")
_LINEAR: Mapping[str, Any] = MappingProxyType({"kernel": "linear", "alpha": 0.0})
_RBF: Mapping[str, Any] = MappingProxyType({"kernel": "rbf", "gamma": 0.1, "alpha": 1.0})


@dataclass(frozen=True)
class Method:
    """A method of the comparison.

    Parameters
    ----------
    name : str
        The paper's short name, or one like it.
    title : str
        What it does.
    linear, kernel : callable or None
        Make the estimator for the paper's linear setting (least squares without a penalty) and for
        its kernel setting (RBF, γ = 0.1, penalty 1); None where there is no such variant. Keyword
        arguments are parameters to set.
    dial : str or None
        The parameter between parity and accuracy.
    accepts_numbers : bool
        Whether sensitive columns may be numbers such as age.

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
    accepts_numbers: bool = True

    @property
    def settings(self) -> tuple[str, ...]:
        """Which of "linear" and "kernel" there are."""
        return tuple(name for name in SETTINGS if getattr(self, name) is not None)

    def make(self, setting: str = "linear", **parameters: Any) -> Any:
        """An estimator that is not fitted, with some parameters set."""
        if setting not in self.settings:
            raise ValueError(
                f"{self.name} has no setting {setting!r}. Pass {' or '.join(self.settings)}."
            )
        return getattr(self, setting)(**parameters)

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        setting: str = "linear",
        **parameters: Any,
    ) -> Any:
        """A fitted estimator; those that do not look at sensitive features do not get them."""
        model = self.make(setting, **parameters)
        if "sensitive_features" in signature(model.fit).parameters:
            return model.fit(X, y, sensitive_features=sensitive_features)
        return model.fit(X, y)

    def predict(self, model: Any, X: Any, *, sensitive_features: Any) -> FloatArray:
        """Predictions of a fitted estimator, which gets the sensitive features if it needs them."""
        if "sensitive_features" in signature(model.predict).parameters:
            predicted: FloatArray = model.predict(X, sensitive_features=sensitive_features)
        else:
            predicted = model.predict(X)
        return predicted


def _with(make: Callable[..., Any], defaults: Mapping[str, Any], **more: Any) -> Callable[..., Any]:
    """A maker with some parameters set, which a caller may set otherwise."""
    return lambda **parameters: make(**({**defaults, **more} | parameters))


def _barycenter_of_kernels(**parameters: Any) -> BarycenterRegressor:
    return BarycenterRegressor(**({"estimator": KernelRidge(**_RBF)} | parameters))


def _penalised(name: str, title: str, make: Callable[..., Any], **more: Any) -> list[Method]:
    """Both strengths that the paper uses."""
    return [
        Method(
            f"{name}-{power}",
            f"{title}, coefficient {10**power}",
            _with(make, _LINEAR, penalty=float(10**power)),
            _with(make, _RBF, penalty=float(10**power)),
            "penalty",
            **more,
        )
        for power in (1, 3)
    ]


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        method.name: method
        for method in (
            Method("Constant", "the mean of y for everybody", DummyRegressor, DummyRegressor),
            Method("OLS", "ordinary least squares", LinearRegression, None),
            Method("KRR", "kernel ridge regression", None, _with(KernelRidge, _RBF)),
            *_penalised(
                "FPR", "penalty on differences of means", MeanPenaltyRidge, accepts_numbers=False
            ),
            *_penalised("FKR", "penalty on the covariance with S", CovariancePenaltyRidge),
            Method(
                "NRFC",
                "bound on R² of S, exact; none of S by default",
                _with(CorrelationBoundedRegression, _LINEAR, unfairness=0.0),
                _with(CorrelationBoundedRegression, _RBF, unfairness=0.0),
                "unfairness",
            ),
            Method(
                "FRRM",
                "bound on R² of S, by a ridge penalty",
                UnfairnessPenaltyRidge,
                None,
                "unfairness",
            ),
            Method(
                "RBA",
                "equal distributions, by a mixture of regressions",
                ReductionRegressor,
                None,
                "slack",
                accepts_numbers=False,
            ),
            Method(
                "Barycenter",
                "equal distributions, by moving predictions; needs S to predict",
                BarycenterRegressor,
                _barycenter_of_kernels,
                "unfairness",
                accepts_numbers=False,
            ),
            Method(
                "Ours",
                "equal means, exact",
                _with(ParityKernelRidge, _LINEAR),
                _with(ParityKernelRidge, _RBF),
                "unfairness",
            ),
        )
    }
)
