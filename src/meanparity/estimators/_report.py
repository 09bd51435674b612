"""A report about a fitted estimator."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import FloatOrArray
from meanparity.data.fit_input import check_weights
from meanparity.tradeoff.tradeoff import Tradeoff

_MOST_GROUPS = 10  # named in a summary

if TYPE_CHECKING:
    from meanparity.report import Report


def require_tradeoff(estimator: Any) -> Tradeoff:
    """The `tradeoff_` of a fitted estimator, which those from minimal files do not have."""
    if not hasattr(estimator, "tradeoff_"):
        raise ValueError(
            "The model comes from a minimal file, which has one position of the dial. Use the "
            "model that was fitted, or one from a file that is not minimal."
        )
    tradeoff: Tradeoff = estimator.tradeoff_
    return tradeoff


class Reporting:
    """Estimators with a dial, which can report about their predictions."""

    tradeoff_: Tradeoff
    unfairness_: float | None
    gaps_: dict[str, FloatOrArray]
    pool_gaps_: dict[str, FloatOrArray]
    group_counts_: dict[Hashable, int]
    n_features_in_: int
    parity_residual_: float

    def summary(self) -> str:
        """What was fitted, in a few sentences: constraint, groups, and gaps on the training rows.

        Gaps on the training rows say nothing about other rows; `report`, and
        `meanparity.audit.audit` of predictions, are about those.

        Examples
        --------
        >>> from meanparity import ParityRidge
        >>> from meanparity.datasets import make_synthetic
        >>> X, y, s = make_synthetic(300, random_state=0)
        >>> print(ParityRidge().fit(X, y, sensitive_features=s).summary())
        ParityRidge with 5 columns. The mean prediction is the same in every group of sensitive.
        Groups in the training rows: -0.1 (152 rows), 0.1 (148 rows).
        Largest gap on the training rows: zero, up to rounding.
        """
        check_is_fitted(self)
        comparison = require_tradeoff(self).comparison
        lines = [f"{type(self).__name__} with {self.n_features_in_:,} columns."]
        if comparison.description:
            lines[0] += f" {comparison.description}"
        if hasattr(self, "alpha_"):
            lines.append(f"Penalty chosen by predictions for held-out rows: {self.alpha_:.4g}.")
        shown = [
            f"{key} ({n:,} rows)" for key, n in list(self.group_counts_.items())[:_MOST_GROUPS]
        ]
        more = len(self.group_counts_) - len(shown)
        if shown:
            groups = ", ".join(shown) + (f", and {more} more" if more else "")
            lines.append(f"Groups in the training rows: {groups}.")
        if self.unfairness_ is not None and self.unfairness_ > 0:
            lines.append(f"Share of the unconstrained gaps that is left: {self.unfairness_:.4g}.")
        for where, gaps in (("training rows", self.gaps_), ("pool", self.pool_gaps_)):
            sizes = {name: float(np.abs(gap).max()) for name, gap in (gaps or {}).items()}
            if sizes:
                largest = max(sizes, key=sizes.__getitem__)
                zero = sizes[largest] <= 10 * self.parity_residual_
                text = f"{sizes[largest]:.4g} ({largest})"
                text = "zero, up to rounding" if zero and self.unfairness_ == 0 else text
                lines.append(f"Largest gap on the {where}: {text}.")
        return "\n".join(lines)

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
