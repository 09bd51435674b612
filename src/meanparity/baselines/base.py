"""The base classes of the baselines: reading input, and checks that several of them need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import column_or_1d

from meanparity._documentation import Documented
from meanparity._typing import Columns, FloatArray
from meanparity.audit.checks import is_number
from meanparity.data.features import FeatureLayout, features_to_predict
from meanparity.data.fit_input import (
    FitInput,
    InputOptions,
    read_fit_input,
    read_rows_to_predict,
)
from meanparity.data.groups import Groups
from meanparity.data.rows import Rows, Schema, refuse_identifier
from meanparity.estimators._base import COLUMNS, store_fitted

READS_WITH = (*COLUMNS, "_layout", "_to_numbers")


class Baseline(Documented, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the methods that our estimators are compared with.

    The `fit` of a subclass reads its input with `_read`, and ends with ``return self._store(data,
    coef_=..., ...)``, which sets all fitted attributes at once, so that a fit that is refused
    leaves an earlier one as it was. `_read_features` then reads rows to predict.
    """

    __metadata_request__fit: ClassVar = {"sensitive_features": True}

    sensitive_columns: Columns
    drop_sensitive: bool
    continuous: Any = "auto"  # for methods without this parameter
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _layout: FeatureLayout
    _to_numbers: bool = True  # for models in files that do not have it

    def _options(self) -> InputOptions:
        """How this method reads its input."""
        return InputOptions(
            type(self).__name__, self.sensitive_columns, self.drop_sensitive, self.continuous
        )

    def _read(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, to_numbers: bool = True
    ) -> FitInput:
        """Read and check the arguments of fit; rows of weight zero are left out.

        Features are numbers in double precision, or stay as they are without `to_numbers`.
        """
        data = read_fit_input(
            self._options(),
            X,
            y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            to_numbers=to_numbers,
        )
        if to_numbers:
            data = replace(data, X=data.X.astype(np.float64, copy=False))
        if data.weights is None or data.weights.all():
            return data
        return data.subset(np.flatnonzero(data.weights))

    def _read_features(self, X: Any) -> Any:
        """Features of rows to predict, compared with those of fit the way scikit-learn does."""
        features = features_to_predict(self, self._layout, X, to_numbers=self._to_numbers)
        return features.astype(np.float64, copy=False) if self._to_numbers else features

    def _require_groups(self, rows: Rows) -> Groups:
        """The groups to compare; numbers, identifiers and a single group are refused."""
        schema, groups = rows.schema, rows.groups
        if schema.continuous or groups is None:
            column = schema.continuous[0]
            values = rows.levels[schema.sensitive.index(column)]
            raise ValueError(
                f"{type(self).__name__} compares groups, but sensitive column {column!r} has "
                f"{len(values)} different numbers. Bin it, for instance with pandas.cut, or pass "
                "it as text if every value is a group. Methods that accept numbers: "
                "CovariancePenaltyRidge, CorrelationBoundedRegression, UnfairnessPenaltyRidge, and "
                "our ParityRidge and ParityKernelRidge."
            )
        refuse_identifier(rows, "bin it")
        if groups.n_groups < 2:
            raise ValueError(
                f"sensitive_features has one group only ({groups.names[0]!r} in all "
                f"{rows.n_rows} rows), so there is nothing to compare. Pass a column with at "
                "least two values."
            )
        return groups

    def _require_single_output(self, data: FitInput) -> FloatArray:
        """The targets, (n,), of a method that predicts one output."""
        if data.Y.shape[1] != 1:
            raise ValueError(
                f"y has {data.Y.shape[1]} outputs, but {type(self).__name__} predicts one. Fit "
                "one model for each, for instance with sklearn.multioutput.MultiOutputRegressor."
            )
        # scikit-learn warns about a y with one column
        return data.Y[:, 0] if data.single_output else column_or_1d(data.Y, warn=True)

    def _store(self, data: FitInput, to_numbers: bool = True, /, **fitted: Any) -> Self:
        """Set all fitted attributes at once; `_read` says what `to_numbers` means."""
        layout = data.layout
        store_fitted(self, layout, {"_layout": layout, "_to_numbers": to_numbers, **fitted})
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class AwareBaseline(Baseline, ABC):
    """Base of the methods that need the sensitive features of the rows they predict."""

    __metadata_request__predict: ClassVar = {"sensitive_features": True}
    __metadata_request__score: ClassVar = {"sensitive_features": True}

    @abstractmethod
    def predict(self, X: Any, *, sensitive_features: Any = None) -> FloatArray:
        """Predictions for rows whose sensitive features are known."""

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None
    ) -> float:
        """R² of the predictions; see scikit-learn's `RegressorMixin.score`.

        Parameters
        ----------
        X, y, sample_weight
            Rows, targets and weights.
        sensitive_features : array-like of shape (n,) or (n, r), series or data frame
            Sensitive columns, as in `predict`.
        """
        predicted = self.predict(X, sensitive_features=sensitive_features)
        return float(r2_score(y, predicted, sample_weight=sample_weight))

    def _read_rows(self, schema: Schema, X: Any, sensitive_features: Any) -> Rows:
        """Sensitive values of rows to predict."""
        return read_rows_to_predict(self._options(), self._layout, schema, X, sensitive_features)


def check_range(name: str, value: Any, low: float, high: float, meaning: str) -> float:
    """A finite number from `low` to `high`; otherwise an error says what to pass.

    Examples
    --------
    >>> check_range("penalty", -1, 0, np.inf, "0 (no penalty) or more")
    Traceback (most recent call last):
        ...
    ValueError: penalty=-1 is out of range. Pass 0 (no penalty) or more.
    """
    if not is_number(value) or value != value:
        raise ValueError(f"{name}={value!r} is not a number. Pass {meaning}.")
    if not low <= value <= min(high, np.finfo(float).max):
        raise ValueError(f"{name}={value!r} is out of range. Pass {meaning}.")
    return float(value)


def shares(weights: FloatArray | None, n: int) -> FloatArray:
    """Weights of n rows that sum to one: (n,)."""
    return np.full(n, 1 / n) if weights is None else weights / weights.sum()
