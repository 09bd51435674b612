"""A model of a table, with the predictions on which its report is based."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.pipeline import Pipeline

from meanparity.data.pool import Pool
from meanparity.report import PredictedRows, Report, make_report
from meanparity.tables.encoding import EncodedTable


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
    """

    table: EncodedTable
    estimator: Any
    selection: str
    row_sets: tuple[PredictedRows, ...]
    n_dropped: int

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        table: EncodedTable,
        pool: Pool | None,
        selection: str,
        *,
        train: PredictedRows | None = None,
        n_dropped: int | None = None,
    ) -> TableModel:
        """Predict held-out rows, the pool, and, unless they are given, the training rows.

        Parameters
        ----------
        estimator, table, selection
            As in `TableModel`.
        pool : Pool or None
            The pool of the fit.
        train : PredictedRows, optional
            All training rows, if not all of them are in memory.
        n_dropped : int, optional
            Number of rows without a target, if not all rows are in memory.
        """
        test = table.test
        row_sets = [
            _training_rows(estimator, table) if train is None else train,
            predict_rows(estimator, "held-out rows", test.X, test.y, test.metadata),
        ]
        if pool is not None:
            metadata = {name: getattr(pool, name) for name in test.metadata}
            row_sets.append(
                predict_rows(
                    estimator, "rows of the pool", pool.X, None, metadata, constrained=True
                )
            )
        n_dropped = table.n_dropped if n_dropped is None else n_dropped
        return cls(table, estimator, selection, tuple(row_sets), n_dropped)

    @property
    def pipeline(self) -> Pipeline:
        """Predicts from the columns of the table; its last step is the estimator."""
        return Pipeline([*self.table.pipeline.steps, ("model", self.estimator)])

    @property
    def columns(self) -> list[str]:
        """The feature columns of the table."""
        return list(self.table.kinds)

    def report(self, facts: Mapping[str, str] | None = None) -> Report:
        """Make a report about the model.

        Parameters
        ----------
        facts : mapping of str to str, optional
            Further facts for the last section of the page.
        """
        import pandas as pd

        table, train = self.table, self.row_sets[0]
        if len(train) > len(table.train.y):  # drivers and proxies come from the rows in memory
            train = _training_rows(self.estimator, table)
        features = pd.DataFrame(table.train.X, columns=table.names)
        return make_report(
            self.row_sets,
            comparison=self.estimator.tradeoff_.comparison,
            position=float(self.estimator.unfairness_),
            target=str(table.roles.target),
            columns=(features, train),
            origin=getattr(table.pipeline[0], "output_to_input_", {}),
            facts={"model": self.selection, **(facts or {})},
        )

    def about(self) -> dict[str, Any]:
        """Return what `score_file` needs to know about a model file."""
        roles = self.table.roles
        return {
            "target": str(roles.target),
            "sensitive": list(roles.sensitive),
            "control": list(roles.control),
            "columns": self.columns,
            "kinds": self.table.kinds,
            "categories": self.table.categories,
            "model": self.selection,
            "unfairness": float(self.estimator.unfairness_),
        }


def _training_rows(estimator: Any, table: EncodedTable) -> PredictedRows:
    """Predict the training rows that are in memory."""
    rows = table.train
    return predict_rows(estimator, "training rows", rows.X, rows.y, rows.metadata, constrained=True)


def predict_rows(
    estimator: Any,
    name: str,
    X: Any,
    y: Any,
    metadata: Mapping[str, Any],
    *,
    constrained: bool = False,
) -> PredictedRows:
    """Predict encoded rows with the constrained and the unconstrained model."""
    fair, free = estimator.tradeoff_.predict(X, [0.0, 1.0])
    return PredictedRows(name, fair, free, y=y, constrained=constrained, **metadata)
