"""What the methods on top of another regressor share."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

import sklearn
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from meanparity._typing import FloatArray


def check_regressor(estimator: Any) -> None:
    """Refuse what cannot be fitted, and predict."""
    if isinstance(estimator, type) or not all(
        hasattr(estimator, name) for name in ("fit", "predict", "get_params")
    ):
        raise TypeError(
            f"estimator={estimator!r} is not a regressor. Pass an object with fit and predict, "
            "such as RandomForestRegressor()."
        )


def weight_keyword(estimator: Any) -> str | None:
    """How to pass sample weights to fit; None if the estimator does not take any.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> weight_keyword(Ridge()), weight_keyword(KNeighborsRegressor())
    ('sample_weight', None)
    >>> weight_keyword(make_pipeline(Ridge()))
    'ridge__sample_weight'
    """
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_keyword(last)
        routed = sklearn.get_config()["enable_metadata_routing"]
        return inner if inner is None or routed else f"{name}__{inner}"
    kinds = {parameter.kind for parameter in signature(estimator.fit).parameters.values()}
    return "sample_weight" if Parameter.VAR_KEYWORD in kinds else None


def fit_clone(estimator: Any, X: Any, y: FloatArray, weights: FloatArray | None) -> Any:
    """A fitted copy of a regressor."""
    if weights is None:
        return clone(estimator).fit(X, y)
    keyword = weight_keyword(estimator)
    if keyword is None:
        raise ValueError(
            f"{type(estimator).__name__}.fit takes no sample_weight, and rows of different weight "
            "cannot be told apart. Use a regressor that takes weights, such as "
            "RandomForestRegressor or Ridge."
        )
    return clone(estimator).fit(X, y, **{keyword: weights})
