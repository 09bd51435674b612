"""A model of a table, with the predictions on which its report is based."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from meanparity._typing import FloatArray
from meanparity.report import PredictedRows, Report, Slider, make_report
from meanparity.report.models import AT_SAME_PENALTY
from meanparity.tables.encoding import EncodedRows, EncodedTable
from meanparity.tables.known_groups import KnownGroups
from meanparity.tables.losses import predict_ends, predict_values
from meanparity.tradeoff.budgets import Kind


@dataclass(frozen=True, eq=False, repr=False)
class TableModel:
    """A model fitted to a table by `fit_table`.

    Parameters
    ----------
    table : EncodedTable
        The rows in memory, and how they were encoded.
    estimator : fitted estimator with `tradeoff_`
        Predicts encoded rows.
    selection : str
        What was selected, and how.
    row_sets : tuple of PredictedRows
        Training rows, held-out rows and the pool, with the predictions of the constrained and of
        the unconstrained model.
    n_dropped : int
        Number of rows without a target, which were not used.
    slider : Slider
        The models of the report.

    See Also
    --------
    fit_table : Makes one.
    """

    table: EncodedTable
    estimator: Any
    selection: str
    row_sets: tuple[PredictedRows, ...]
    n_dropped: int
    slider: Slider

    @property
    def pipeline(self) -> Pipeline:
        """Predicts from the columns of the table; its last step is the estimator."""
        return Pipeline([*self.table.encoder.pipeline.steps, ("model", self.estimator)])

    @property
    def columns(self) -> list[str]:
        """The feature columns of the table."""
        return list(self.table.encoder.kinds)

    def report(self, facts: Mapping[str, str] | None = None, *, min_cell: int = 1) -> Report:
        """Make a report about the model.

        Parameters
        ----------
        facts : mapping of str to str, optional
            Further facts for the last section of the page.
        min_cell : int, default=1
            The smallest number of people about whom the report says anything.
        """
        table, train = self.table, self.row_sets[0]
        if len(train) > len(table.train.X):  # drivers and proxies come from the rows in memory
            train = predict_rows(
                self.estimator, self.slider, train.name, table.train, constrained=True
            )
        features = pd.DataFrame(table.train.X, columns=table.names)
        return make_report(
            self.row_sets,
            comparison=self.estimator.tradeoff_.comparison,
            slider=self.slider,
            target=str(table.roles.target),
            columns=(features, train),
            origin=dict(table.encoder.origin),
            facts={"model": self.selection, **(facts or {})},
            min_cell=min_cell,
        )

    def _groups(self) -> KnownGroups:
        """The groups of the rows on which the constraint was imposed."""
        frames = []
        for rows in self.row_sets:
            if rows.constrained:
                parts = [rows.sensitive_features, rows.control_features]
                frames.append(pd.concat([part for part in parts if part is not None], axis=1))
        missing = self.estimator.constraint.missing
        return KnownGroups.from_rows(frames, self.table.continuous, missing)

    def about(self) -> dict[str, Any]:
        """Return what `score_file` needs to know about a model file."""
        roles = self.table.roles
        return {
            "target": str(roles.target),
            "sensitive": list(roles.sensitive),
            "control": list(roles.control),
            "groups": self._groups().as_dict(),
            "columns": self.columns,
            "kinds": self.table.encoder.kinds,
            "categories": self.table.encoder.categories,
            "model": self.selection,
            "unfairness": self.estimator.unfairness_,
        }


def slider_of(estimator: Any, budget: Kind | None) -> Slider:
    """The models of the report; with a link function and no budget, mixtures of the predictions."""
    if budget is not None or not _has_link(estimator):
        return Slider.of(estimator, budget)
    limit = estimator.max_gap
    if limit is None:
        return Slider.dial(estimator.unfairness_)
    return Slider.dial(None, f"gaps of at most {limit:.4g}")


def _columns(estimator: Any, slider: Slider, X: FloatArray) -> FloatArray:
    """Predictions of the constrained and of the free model, and further columns: (n, c)."""
    if not _has_link(estimator):
        return slider.columns(estimator, X)
    if slider.functions:
        return slider.columns(estimator, X, estimator.tradeoff_.loss.response)
    ends = predict_ends(estimator, X)
    if len(slider.model) == 2:
        return ends
    return np.column_stack([ends, predict_values(estimator, X) - ends[:, 1]])


def _has_link(estimator: Any) -> bool:
    loss = getattr(estimator.tradeoff_, "loss", None)
    return loss is not None and not loss.is_identity


def predict_rows(
    estimator: Any,
    slider: Slider,
    name: str,
    rows: EncodedRows,
    *,
    constrained: bool = False,
    best: Any = None,
    without: str = AT_SAME_PENALTY,
) -> PredictedRows:
    """Predict encoded rows with the models of a slider.

    `best` is the fitted model without the constraint with which errors are compared, if it is
    another one, and `without` is what it is called.
    """
    fair, free, *further = _columns(estimator, slider, rows.X).T
    return PredictedRows(
        name,
        fair,
        free,
        y=rows.y,
        constrained=constrained,
        further=np.column_stack(further) if further else None,
        best=None if best is None else best.predict(rows.X),
        without=without,
        **rows.metadata,
    )
