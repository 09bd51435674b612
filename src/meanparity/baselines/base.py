"""What the baselines share: reading the input, and who needs to know the groups when."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import column_or_1d

from meanparity._typing import FloatArray
from meanparity.constraints import MeanParity
from meanparity.estimators.training import (
    Training,
    check_flags,
    read_training,
    refuse_identifier,
    sensitive_values,
)
from meanparity.rows import Rows
from meanparity.sources import Table

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

    def _read(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, **reading: Any
    ) -> Training:
        """Check what fit got."""
        flags = ("fit_intercept",) if hasattr(self, "fit_intercept") else ()
        check_flags(self, *flags)
        people = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        return read_training(self, X, y, **people, **reading)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class AwareBaseline(Baseline):
    """A method whose predictions need the sensitive features of the rows."""

    __metadata_request__predict: ClassVar = {"sensitive_features": True}
    __metadata_request__score: ClassVar = {"sensitive_features": True}

    def predict(self, X: Any, *, sensitive_features: Any = None) -> FloatArray:
        """Predictions for rows whose groups are known."""
        raise NotImplementedError

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

    def _people(self, table: Table, X: Any, sensitive_features: Any, n_rows: int) -> Any:
        """The sensitive columns of rows to predict; an error says that they are needed."""
        if sensitive_features is None and not table.sensitive:
            raise ValueError(
                f"{type(self).__name__} needs the sensitive features of the rows it predicts. Pass "
                "predict(X, sensitive_features=...), or, if they are columns of X, name them: "
                f"{type(self).__name__}(sensitive_columns=[...])."
            )
        return sensitive_values(self, table, X, sensitive_features, n_rows)


def require_groups(rows: Rows, method: str) -> None:
    """Refuse numbers, one group only, and groups of one row each."""
    numbers = rows.reading.continuous
    if numbers:
        raise ValueError(
            f"{method} compares groups, but sensitive column {numbers[0]!r} has "
            f"{len(rows.levels[rows.reading.sensitive.index(numbers[0])])} different numbers. Bin "
            "it, for instance with pandas.cut, or pass it as text if every value is a group. "
            f"Methods that accept numbers: {', '.join(ACCEPT_NUMBERS)}, and our ParityRidge and "
            "ParityKernelRidge."
        )
    MeanParity().functionals(rows)
    refuse_identifier(rows)


def check_range(name: str, value: Any, low: float, high: float, meaning: str) -> float:
    """A number from low to high; `low` itself only if it is 0 and `meaning` says so.

    Examples
    --------
    >>> check_range("penalty", -1, 0, np.inf, "0 (no penalty) or more")
    Traceback (most recent call last):
        ...
    ValueError: penalty=-1 is out of range. Pass 0 (no penalty) or more.
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or np.isnan(float(value)):
        raise ValueError(f"{name}={value!r} is not a number. Pass {meaning}.")
    if not low <= float(value) <= high or np.isinf(float(value)):
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
