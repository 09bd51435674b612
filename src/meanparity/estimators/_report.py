"""A report about a fitted estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from meanparity.data.fit_input import check_weights

if TYPE_CHECKING:
    from meanparity.report import Report


def require_tradeoff(estimator: Any) -> Any:
    """The `tradeoff_` of a fitted estimator, which those from minimal files do not have."""
    if not hasattr(estimator, "tradeoff_"):
        raise ValueError(
            "The model comes from a minimal file, which has one position of the dial. Use the "
            "model that was fitted, or one from a file that is not minimal."
        )
    return estimator.tradeoff_


class Reporting:
    """Estimators with a dial, which can report about their predictions."""

    tradeoff_: Any
    unfairness_: float | None

    def report(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        name: str = "rows",
        target: str = "y",
        constrained: bool = False,
        min_cell: int = 1,
    ) -> Report:
        """A report on the predictions for these rows: verdict, groups, and a slider.

        It shows itself in notebooks; `save` writes it to a file that needs no network.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, such as held-out ones.
        y : array-like of shape (n,), optional
            Their outcomes, if these are known.
        sensitive_features, control_features, sample_weight
            As in `fit`.
        name, target : str
            Names of the rows and of the outcome.
        constrained : bool
            Whether these are the rows of fit, or its pool: their gaps are zero by construction up
            to rounding, and have no intervals.
        min_cell : int, default=1
            The smallest number of people about whom the report says anything: smaller groups are
            merged, and bars and shares of fewer people are left out.
        """
        from meanparity.report import PredictedRows, Slider, make_report

        check_is_fitted(self)
        tradeoff = require_tradeoff(self)
        if not tradeoff.single_output:
            raise ValueError("A report is about one output. Fit a model for each.")
        if sensitive_features is None:
            sensitive_features = tradeoff.basis.sensitive_features(X)
        slider = Slider.of(self)
        fair, free, *further = slider.columns(self, X).T
        weights = None if sample_weight is None else check_weights(sample_weight, len(fair))
        outcomes = None if y is None else np.asarray(y, dtype=np.float64).reshape(-1)
        if outcomes is not None and len(outcomes) != len(fair):
            raise ValueError(f"y has {len(outcomes)} values, but X has {len(fair)} rows.")
        rows = PredictedRows(
            name,
            fair,
            free,
            sensitive_features,
            outcomes,
            control_features,
            weights,
            constrained,
            np.column_stack(further) if further else None,
        )
        columns = (X, rows) if hasattr(X, "columns") and hasattr(X, "iloc") else None
        return make_report(
            [rows],
            comparison=tradeoff.comparison,
            slider=slider,
            target=target,
            columns=columns,
            min_cell=min_cell,
        )
