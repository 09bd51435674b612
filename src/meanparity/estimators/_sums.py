"""Ridge estimators that can be fitted to sums over rows: batches, files and Dask collections."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import FloatArray, available_if
from meanparity.constraints import Constraint
from meanparity.data.features import in_memory
from meanparity.data.fit_input import FitInput, PoolInput, check_alpha
from meanparity.data.partitions import is_dask
from meanparity.estimators._base import (
    FIT_METADATA,
    ParityEstimator,
    conditions,
    store_fitted,
)
from meanparity.estimators._messages import (
    pool_to_hold_on,
    refuse_given,
    refuse_unused_control,
    warn_about_input,
)
from meanparity.estimators._report import Reporting
from meanparity.estimators._unseen import Parts
from meanparity.exceptions import warn
from meanparity.linalg.parallel import all_threads
from meanparity.solvers.choose import resolve_solver, resolve_sums_solver
from meanparity.solvers.normal import Held, Moments, SummedProblem
from meanparity.solvers.problem import Solver
from meanparity.solvers.solution import Fit, Solution
from meanparity.statistics.collect import Collector
from meanparity.statistics.statistics import KeyedCells, Statistics, uncentred


def _fits_sums(estimator: SumsRegressor) -> bool:
    """Whether the solver needs sums over rows only; scikit-learn asks before it calls."""
    if not resolve_solver(estimator.solver).takes_sums:
        raise AttributeError(_needs_rows(estimator.solver))
    return True


def _needs_rows(solver: Any) -> str:
    return (
        f"solver={solver!r} needs all rows in memory. Pass solver='auto' or 'nystrom' to fit to "
        "sums over rows."
    )


class SumsRegressor(Reporting, MultiOutputMixin, RegressorMixin, ParityEstimator):  # type: ignore[misc]
    """Base of the ridge estimators."""

    __metadata_request__partial_fit: ClassVar = {
        name: wanted for name, wanted in FIT_METADATA.items() if name != "pool"
    }

    statistics_: Statistics

    def _solver(self) -> Solver:
        return resolve_solver(self.solver)

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        pool: Any = None,
    ) -> Self:
        """Fit the constrained and the unconstrained model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), files, or lazy rows
            Features; the kernel matrix, (n, n), if the kernel is "precomputed". Files and Dask
            collections are approximated with landmarks if the kernel is not linear.
        y : array-like of shape (n,) or (n, m)
            Targets.
        sensitive_features : array-like of shape (n,) or (n, r), series or data frame
            One or several sensitive columns. Required unless `sensitive_columns` names columns of
            X.
        control_features : array-like of shape (n,) or (n, c), series or data frame, optional
            Columns such as the grade: the constraint holds inside each combination of their
            values.
        sample_weight : array-like of shape (n,), optional
            Weights, such as exposures. Integer weights are equivalent to repeated rows.
        pool : (X_pool, sensitive_features_pool) or Pool, optional
            People to be scored, whose y is not known: the constraint holds exactly on them.

        Notes
        -----
        X may be the path of Parquet, CSV, TSV or Feather files, a list of paths, a folder, a
        PyArrow dataset, a polars LazyFrame, a DuckDB relation or an Arrow RecordBatchReader, which
        are written to a temporary file first. Then y and the other arguments are names of columns,
        the remaining columns are the features, and rows are read in batches and not kept. X may
        also be a Dask array or data frame; then the other arguments are Dask collections with the
        same partitions, or names of columns, and sums are computed where the partitions are, on
        the active scheduler.
        """
        people = {
            "sensitive_features": sensitive_features,
            "control_features": control_features,
            "sample_weight": sample_weight,
        }
        solver = self._solver()
        if not in_memory(X):
            statistics = self._collector(self._checked_constraint()).collect(X, y, **people)
            return self.fit_statistics(statistics, pool=pool)
        self._fit(solver, X, y, pool=pool, **people)
        return self

    def predict(self, X: Any, **given: Any) -> FloatArray:
        """Predictions for the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or Dask collection
            Rows, with the columns that were there in fit; those that `drop_sensitive` removes may
            be missing.
        **given
            Refused: predictions depend on X alone.

        Returns
        -------
        (n,) array, or (n, m) for several outputs; a Dask collection for a Dask collection
        """
        if given:
            refuse_given(self, given)
        if not isinstance(X, np.ndarray) and is_dask(X):
            check_is_fitted(self)
            lazily: FloatArray = _predict_partitions(self, X)  # not an array until it is computed
            return lazily
        return self._values(X)

    @available_if(_fits_sums)
    def statistics(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        like: Statistics | None = None,
    ) -> Statistics:
        """Everything that a fit needs to know about these rows, without a fit.

        Statistics of other rows can be added (``+``), and those of rows that were added can be
        subtracted (``-``); `fit_statistics` fits to them. Data owners can thus fit together
        without sharing rows; `Statistics` says what it reveals.

        Parameters
        ----------
        X, y, sensitive_features, control_features, sample_weight
            As in `fit`.
        like : Statistics, optional
            Statistics of other rows, whose landmarks and kinds of columns are used here too.
        """
        people = {
            "sensitive_features": sensitive_features,
            "control_features": control_features,
            "sample_weight": sample_weight,
        }
        collector = self._collector(self._checked_constraint())
        if like is None:
            return collector.first_batch(X, y, **people)
        return collector.add_batch(like, X, y, **people)

    @available_if(_fits_sums)
    def partial_fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Add a batch of rows, and fit to all rows so far, which are not kept.

        The constraint holds exactly on all of them. Groups may first appear in any batch. The
        first batch settles which columns there are, which of them are numbers, and the landmarks:
        make it large. A fit to rows in memory keeps no sums, so batches after it start anew.

        Parameters
        ----------
        X, y, sensitive_features, control_features, sample_weight
            As in `fit`.
        """
        people = {
            "sensitive_features": sensitive_features,
            "control_features": control_features,
            "sample_weight": sample_weight,
        }
        so_far = getattr(self, "statistics_", None)
        total = self.statistics(X, y, **people, like=so_far)
        total = total if so_far is None else so_far + total
        names = total.schema.sensitive
        if len({values[: len(names)] for values in total.cells.values}) < 2:
            warn(
                f"All {total.n_rows:,} rows so far have the same {', '.join(names)}, so there is "
                "nothing to equalise. The model is fitted once another group appears."
            )
            store_fitted(self, total.layout, {"statistics_": total})
            self.__dict__.pop("_function", None)  # an earlier fit is not a fit to these rows
            return self
        return self.fit_statistics(total)

    def fit_statistics(self, statistics: Statistics, *, pool: Any = None) -> Self:
        """Fit to all rows that the statistics are about.

        Parameters
        ----------
        statistics : Statistics
            From `statistics`, of this estimator or of one with the same parameters.
        pool : (X_pool, sensitive_features_pool) or Pool, optional
            People to be scored: the constraint holds exactly on them.
        """
        start = time.perf_counter()
        if not isinstance(statistics, Statistics):
            raise TypeError(
                f"{type(statistics).__name__} is not a Statistics. Pass what statistics() returned."
            )
        constraint = self._checked_constraint()
        collector = self._collector(constraint)
        _check_statistics(statistics, constraint, collector)
        kept, statistics = statistics, statistics if self.fit_intercept else uncentred(statistics)
        people = pool_to_hold_on(constraint, pool)
        pool_cells = None if people is None else collector.pool(statistics, people)
        data = _input_from_statistics(statistics, pool_cells)
        refuse_unused_control(constraint, data.rows)
        with all_threads():
            with np.errstate(over="ignore", invalid="ignore"):
                parts = conditions(constraint, data)
                warn_about_input(constraint, data, *parts)
                solution = self._solve_statistics(statistics, pool_cells, parts, start)
            self._store(constraint, data, parts, _in_cell_order(solution, data))
        self.statistics_ = kept
        return self

    def _solve_statistics(
        self,
        statistics: Statistics,
        pool_cells: KeyedCells | None,
        parts: Parts,
        start: float,
    ) -> Solution:
        fit_intercept, m = bool(self.fit_intercept), len(statistics.y_origin)
        features, cells = statistics.features, statistics.cells.sums
        moments = Moments.from_sums(statistics.loss, features, statistics.y_origin, fit_intercept)
        there = None if pool_cells is None else pool_cells.sums
        held = [
            Held(part.moments(sums.means - moments.mean, slice(None)), part)
            for part, sums in zip(parts, (cells, there), strict=True)
            if sums is not None
        ]
        alpha = check_alpha(self.alpha, m)
        problem = SummedProblem(features, moments, tuple(held), alpha, fit_intercept, cells, there)
        solver: Any = resolve_solver(self.solver)
        solution: Solution = solver.solve_sums(problem, start)
        return solution

    def _collector(self, constraint: Constraint) -> Collector:
        """How sums are collected; constraints and solvers that need all rows are refused."""
        if self.confidence is not None or constraint.pooling is not None:
            which = "confidence" if self.confidence is not None else "pooling"
            raise ValueError(
                f"{which} needs rows that are left out of the fit, and sums over rows have none. "
                "Use fit with all rows in memory."
            )
        if constraint.needs_rows:
            raise ValueError(
                f"{type(constraint).__name__} cannot be fitted to sums over rows: "
                f"{constraint.needs_rows}. Use fit with all rows in memory."
            )
        solver = resolve_solver(self.solver)
        if not solver.takes_sums:
            raise ValueError(_needs_rows(self.solver))
        kernel, solver = self._kernel(), resolve_sums_solver(self.solver)
        if not kernel.is_linear and not hasattr(solver, "feature_map"):
            raise ValueError(
                f"solver={self.solver!r} does not say which features stand for the kernel, and "
                "sums over rows need features. Pass 'auto' or 'nystrom', or a solver with a method "
                "feature_map."
            )
        return Collector(self._options(constraint), kernel, solver, bool(self.fit_intercept))


def _input_from_statistics(statistics: Statistics, pool: KeyedCells | None) -> FitInput:
    """The cells as rows, each of which stands for many."""
    rows, loss = statistics.cells.as_rows(statistics.schema, statistics.y_origin), statistics.loss
    assert rows.y is not None
    variance = loss.squares / loss.mass - (loss.targets / loss.mass) ** 2
    data = FitInput(
        statistics.layout,
        None,
        rows.y,
        None,
        None,
        rows,
        statistics.single_output,
        np.sqrt(np.maximum(variance, 0.0)),
    )
    if pool is None:
        return data
    return replace(data, pool=PoolInput(None, pool.as_rows(statistics.schema, np.zeros(0))))


def _in_cell_order(solution: Solution, data: FitInput) -> Solution:
    """Means of cells in the order in which rows sort their cells."""

    def ordered(fit: Fit) -> Fit:
        there = fit.pool_cell_means
        if data.pool is not None:
            there = data.pool.rows.cell_means(there)
        return replace(fit, cell_means=data.rows.cell_means(fit.cell_means), pool_cell_means=there)

    found = solution.directions
    if found is not None and found.cell_means is not None:
        found = replace(
            found, cell_means=np.stack([data.rows.cell_means(part) for part in found.cell_means])
        )
    if found is not None and found.pool_cell_means is not None and data.pool is not None:
        there = [data.pool.rows.cell_means(part) for part in found.pool_cell_means]
        found = replace(found, pool_cell_means=np.stack(there))
    fair, free = ordered(solution.fair), ordered(solution.free)
    return replace(solution, fair=fair, free=free, directions=found)


def _check_statistics(statistics: Statistics, constraint: Constraint, collector: Collector) -> None:
    """Refuse statistics that were collected with other parameters."""
    schema = statistics.schema
    if not collector.suits(statistics.features):
        raise ValueError(
            f"These are statistics of {statistics.features}, not of the features of this "
            f"{collector.options.estimator}. Collect them with the same estimator, kernel and "
            "landmarks."
        )
    for name in ("intersectional", "missing"):
        was, now = getattr(schema, name), getattr(constraint, name)
        if was != now:
            raise ValueError(
                f"These statistics were collected with {name}={was!r}, but the constraint has "
                f"{name}={now!r}. Use the same."
            )
    if statistics.weight_scope not in ("", constraint.weight_scope):
        raise ValueError(
            f"These statistics were collected with weight_scope={statistics.weight_scope!r}, but "
            f"the constraint has {constraint.weight_scope!r}. Use the same."
        )
    if not statistics.loss.mass > 0 or not statistics.cells.sums.mass.sum() > 0:
        raise ValueError("All rows have weight zero. Pass weights of which some are positive.")


def _predict_partitions(model: SumsRegressor, X: Any) -> Any:
    """Predictions for a Dask collection, as another one, computed when they are needed."""
    single, outputs = model._function.single_output, len(model._function.intercept)
    if not hasattr(X, "chunks"):
        meta: Any = (None, float) if single else dict.fromkeys(range(outputs), float)
        return X.map_partitions(_predict_frame, model, meta=meta)
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimension. Pass rows and columns.")
    width = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    chunks = (X.chunks[0],) if single else (X.chunks[0], (outputs,))
    dropped = {"drop_axis": 1} if single else {}
    return width.map_blocks(partial(_predict_block, model), dtype=float, chunks=chunks, **dropped)


def _predict_block(model: SumsRegressor, X: Any) -> FloatArray:
    function = model._function
    if not X.shape[0]:
        return np.zeros(0 if function.single_output else (0, len(function.intercept)))
    values: FloatArray = model.predict(X)
    return values


def _predict_frame(X: Any, model: SumsRegressor) -> Any:
    import pandas as pd

    kind = pd.Series if model._function.single_output else pd.DataFrame
    return kind(_predict_block(model, X), index=X.index)
