"""Functions shared by the methods that build on another regressor."""

from __future__ import annotations

import copy
from inspect import Parameter, signature
from typing import Any

import numpy as np
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from meanparity._typing import FloatArray


def check_regressor(estimator: Any) -> None:
    """Refuse objects that cannot be fitted or cannot predict, and classifiers."""
    if isinstance(estimator, type) or not all(
        hasattr(estimator, name) or hasattr(type(estimator), name)  # some predict once fitted
        for name in ("fit", "predict", "get_params")
    ):
        raise TypeError(
            f"estimator={estimator!r} is not a regressor. Pass an object with fit and predict, "
            "such as RandomForestRegressor()."
        )
    if is_classifier(estimator):
        raise TypeError(
            f"estimator={estimator!r} is a classifier, and its labels cannot be shifted. Pass a "
            "regressor."
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
    inner = getattr(estimator, "regressor", None) or getattr(estimator, "estimator", None)
    if hasattr(inner, "fit") and weight_keyword(inner) is None:
        return None
    kinds = {parameter.kind for parameter in signature(estimator.fit).parameters.values()}
    return "sample_weight" if Parameter.VAR_KEYWORD in kinds else None


def fit_clone(estimator: Any, X: Any, y: FloatArray, weights: FloatArray | None) -> Any:
    """A copy of a regressor, fitted to copies of the data; a frozen one is not fitted again."""
    if isinstance(estimator, FrozenEstimator):
        return clone(estimator)
    model, X, y = _unfitted(estimator), _copied(X), y.copy()
    if weights is None:
        model.fit(X, y)
        return model
    keyword = weight_keyword(estimator)
    if keyword is None:
        raise ValueError(
            f"{type(estimator).__name__}.fit takes no sample_weight, and rows of different weight "
            "cannot be told apart. Use a regressor that takes weights, such as "
            "RandomForestRegressor or Ridge."
        )
    model.fit(X, y, **{keyword: weights.copy()})
    return model


def _unfitted(estimator: Any) -> Any:
    """A clone, or a copy where scikit-learn refuses to clone, as CatBoost with lists of columns."""
    try:
        return clone(estimator)
    except RuntimeError:
        return copy.deepcopy(estimator)


def _copied(X: Any) -> Any:
    return X.copy() if isinstance(X, np.ndarray) or hasattr(X, "iloc") else X


def predictions(model: Any, X: Any) -> FloatArray:
    """The predictions of a fitted regressor, (n,); anything but finite numbers is refused."""
    if not hasattr(model, "predict"):
        raise TypeError(f"{model!r} does not predict. Pass a regressor, at the end of a pipeline.")
    values = np.asarray(model.predict(_copied(X)), dtype=float)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(
            f"{type(model).__name__} predicts an array of shape {values.shape}. Use a regressor of "
            "one output."
        )
    if not np.isfinite(values).all():
        raise ValueError(
            f"{type(model).__name__} predicts {values[~np.isfinite(values)][0]} for some rows. "
            "Use a regressor that predicts finite numbers, or scale the data."
        )
    return values
