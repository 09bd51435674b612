"""What the baselines share: reading the input, and who needs to know the groups when."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import _safe_indexing, column_or_1d

from meanparity._typing import FloatArray
from meanparity.constraints import Functionals, MeanParity
from meanparity.estimators.training import (
    Training,
    check_flags,
    read_training,
    refuse_identifier,
)
from meanparity.rows import Rows

ACCEPT_NUMBERS = (
    "CovariancePenaltyRidge",
    "CorrelationBoundedRegression",
    "UnfairnessPenaltyRidge",
)


class Baseline(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the methods that our estimators are compared with."""

    __metadata_request__fit: ClassVar = {"sensitive_features": True}

    sensitive_columns: Any
    drop_sensitive: bool
    _flags: ClassVar[tuple[str, ...]] = ()  # parameters that are True or False

    def _read(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, **reading: Any
    ) -> Training:
        """Check what fit got."""
        check_flags(self, *self._flags)
        people = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        training = read_training(self, X, y, **people, **reading)
        if training.weights is None or training.weights.all():
            return training
        keep = training.weights > 0  # a row of no weight is no row
        return replace(
            training,
            X=_safe_indexing(training.X, np.flatnonzero(keep)),
            Y=training.Y[keep],
            weights=training.weights[keep],
            rows=training.rows.some(keep),
        )

    def _forget(self, *attributes: str) -> None:
        """Drop attributes of an earlier fit that this one does not have."""
        for name in set(attributes) & set(vars(self)):
            delattr(self, name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class AwareBaseline(Baseline, ABC):
    """A method whose predictions need the sensitive features of the rows."""

    __metadata_request__predict: ClassVar = {"sensitive_features": True}
    __metadata_request__score: ClassVar = {"sensitive_features": True}

    @abstractmethod
    def predict(self, X: Any, *, sensitive_features: Any = None) -> FloatArray:
        """Predictions for rows whose groups are known."""

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None
    ) -> float:
        """R² of the predictions, see scikit-learn's `RegressorMixin.score`.

        Parameters
        ----------
        X, y, sample_weight
            Rows, targets, weights.
        sensitive_features : array-like of shape (n,) or (n, r), series or data frame
            Their sensitive columns, as in `predict`.
        """
        predicted = self.predict(X, sensitive_features=sensitive_features)
        return float(r2_score(y, predicted, sample_weight=sample_weight))


def require_groups(rows: Rows, method: str) -> Functionals:
    """Contrasts of the groups' means; numbers, one group only, and one-row groups are refused."""
    numbers = rows.reading.continuous
    if numbers:
        raise ValueError(
            f"{method} compares groups, but sensitive column {numbers[0]!r} has "
            f"{len(rows.levels[rows.reading.sensitive.index(numbers[0])])} different numbers. Bin "
            "it, for instance with pandas.cut, or pass it as text if every value is a group. "
            f"Methods that accept numbers: {', '.join(ACCEPT_NUMBERS)}, and our ParityRidge and "
            "ParityKernelRidge."
        )
    refuse_identifier(rows, "bin it")
    return MeanParity().functionals(rows)


def check_range(name: str, value: Any, low: float, high: float, meaning: str) -> float:
    """A finite number from low to high, or an error that tells its meaning.

    Examples
    --------
    >>> check_range("penalty", -1, 0, np.inf, "0 (no penalty) or more")
    Traceback (most recent call last):
        ...
    ValueError: penalty=-1 is out of range. Pass 0 (no penalty) or more.
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or value != value:
        raise ValueError(f"{name}={value!r} is not a number. Pass {meaning}.")
    if not low <= value <= min(high, np.finfo(float).max):  # type: ignore[operator]
        raise ValueError(f"{name}={value!r} is out of range. Pass {meaning}.")
    return float(value)


def require_single_output(training: Training, method: str) -> FloatArray:
    """y, (n,), of a training set; several outputs are refused."""
    if training.Y.shape[1] != 1:
        raise ValueError(
            f"y has {training.Y.shape[1]} outputs, but {method} predicts one. Fit one model for "
            "each, for instance with sklearn.multioutput.MultiOutputRegressor."
        )
    target: FloatArray = training.Y[:, 0]
    return target if training.single_output else column_or_1d(training.Y, warn=True)
