"""Fits from sums over rows, a batch at a time."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import Features, FloatArray
from meanparity.constraints import (
    Constraint,
    CovarianceParity,
    Functionals,
    MeanParity,
    ResidualParity,
    resolve_constraint,
)
from meanparity.estimators.base import ParityRegressor
from meanparity.estimators.collections import (
    fit_files,
    fit_partitions,
    pool_of_partitions,
    predict_partitions,
)
from meanparity.estimators.problem import (
    Problem,
    check_parameters,
    functionals_of,
    pool_of,
    refuse_unused,
)
from meanparity.estimators.training import (
    Training,
    check_alpha,
    read_features,
    read_targets,
    read_training,
    sensitive_values,
)
from meanparity.estimators.warn import warn_of_gaps, warn_of_reading
from meanparity.exceptions import warn
from meanparity.linalg import ordered_map
from meanparity.path import Basis, CurveSums, check_unfairness
from meanparity.solvers import Summed, Task, solve_sums
from meanparity.solvers.blocks import Block, blocks
from meanparity.solvers.features import FeatureSpace
from meanparity.solvers.statistics import CellSums, LossSums, Statistics
from meanparity.sources import Pool, check_weights, is_dask


class StreamingRegressor(ParityRegressor):
    """Base of the ridge estimators: all that they need to know of rows are sums."""

    statistics_: Statistics

    @abstractmethod
    def _space(self, X: Features, names: tuple[str, ...] | None) -> FeatureSpace:
        """The features, settled on some rows."""

    @abstractmethod
    def _store_function(self) -> None:
        """Store coefficients under the names that users know."""

    def statistics(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
    ) -> Statistics:
        """All that a fit needs to know of some rows, without a fit.

        Statistics of other rows can be added (``+``), those of rows that were added taken back
        (``-``); `fit_statistics` fits to them. So data owners can fit together without sharing
        rows; `Statistics` says what it reveals.

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
        return self._statistics(X, y, min_rows=1, **people)

    def _statistics(self, X: Any, y: Any, *, min_rows: int = 2, **people: Any) -> Statistics:
        check_parameters(self)
        training = read_training(
            self,
            X,
            y,
            **people,
            weigh_groups=False,
            precise=False,
            min_rows=min_rows,
            continuous=self.continuous,
            intersectional=bool(self.intersectional),
            missing=self.missing,
        )
        space = self._space(training.X, training.table.feature_names)
        middle = training.Y.mean(axis=0) if self.fit_intercept else np.zeros(training.Y.shape[1])
        return self._summed(training, space, middle)

    def _fit_collection(self, X: Any, y: Any, **given: Any) -> Any:
        """Fit to rows that are not in memory."""
        self.statistics  # noqa: B018  # says which solvers need all rows at once
        return (fit_partitions if is_dask(X) else fit_files)(self, X, y, **given)

    def predict(self, X: Any) -> Any:
        """Predictions for the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or Dask collection
            Rows, with the columns that were there in fit; those that `drop_sensitive` takes out
            may be missing.

        Returns
        -------
        (n,) array, or (n, m) for several outputs; of a Dask collection another one
        """
        if is_dask(X):
            check_is_fitted(self)
            return predict_partitions(self, X)
        return super().predict(X)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """Add a batch of rows and fit to all rows so far, which are not kept.

        The constraint holds exactly on all of them. Groups may appear in any batch; which columns
        there are, which of them are numbers, and landmarks are settled by the first one: let it
        have many rows. A fit to rows in memory keeps no sums, and batches after it start anew.

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
        if so_far is None:
            total = self.statistics(X, y, **people)
        else:
            total = so_far + self.more(so_far, X, y, **people)
        names = total.reading.sensitive
        if len({values[: len(names)] for values in total.cells.values}) < 2:
            warn(
                f"All {total.loss.n_rows:,} rows so far have the same {', '.join(names)}, so that "
                "there is nothing to equalise. The model is fitted when there is another group."
            )
            self.statistics_ = total
            return self
        return self.fit_statistics(total)

    def fit_statistics(self, statistics: Statistics, *, pool: Any = None) -> Any:
        """Fit to all rows that statistics are about.

        Parameters
        ----------
        statistics : Statistics
            From `statistics`, of this estimator or of one with the same settings.
        pool : (X_pool, sensitive_features_pool) or Pool, optional
            People to be scored: the constraint holds exactly on them.
        """
        if not isinstance(statistics, Statistics):
            raise TypeError(
                f"{type(statistics).__name__} is no Statistics. Pass what statistics() gave."
            )
        unfairness = check_unfairness(self.unfairness)
        check_parameters(self)
        constraint = _summable(resolve_constraint(self.constraint))
        reading = statistics.reading
        self._check_statistics(statistics)
        kept, statistics = statistics, statistics if self.fit_intercept else statistics.uncentred()
        refuse_unused(constraint, bool(reading.control), bool(self.intersectional))
        people = pool_of(self, pool, constraint)
        self.restore_columns(statistics)
        cells = None if people is None else self.pool_cells(statistics, people)
        problem = self._problem(statistics, constraint, cells)
        recognised = isinstance(self.continuous, str) and self.continuous == "auto"
        warn_of_reading(problem, recognised, self.min_group_size)
        name, reason = self._solver_words(statistics)
        task = problem.task
        with np.errstate(over="ignore", invalid="ignore"):
            found = solve_sums(
                statistics,
                task.functionals,
                task.alpha,
                fit_intercept=task.fit_intercept,
                pool=cells,
                pool_functionals=task.pool,
                solver=name,
                reason=reason,
            )
        self._keep(
            problem,
            found.solution,
            self._basis(statistics.space),
            _curve(problem, found),
            unfairness,
        )
        rounding = (1 - self.unfairness_) * found.rounding
        if rounding > self.parity_residual_:
            warn_of_gaps(rounding, problem.spread, found.solution.fair.fitted)
            self.parity_residual_ = rounding
        self._seen = None
        self.statistics_ = kept
        self._store_function()
        return self

    @abstractmethod
    def _suits(self, space: FeatureSpace) -> bool:
        """Whether these are the features of this model."""

    def _check_statistics(self, statistics: Statistics) -> None:
        """Refuse sums that other settings gave."""
        reading = statistics.reading
        if not self._suits(statistics.space):
            raise ValueError(
                f"These are statistics of {statistics.space}, and not of the features of this "
                f"{type(self).__name__}. Take them with the same estimator, kernel and landmarks."
            )
        for name in ("intersectional", "missing"):
            was, now = getattr(reading, name), getattr(self, name)
            if was != now:
                raise ValueError(
                    f"These statistics were taken with {name}={was!r}, and this estimator has "
                    f"{name}={now!r}. Use the same."
                )
        if statistics.weight_scope not in ("", self.weight_scope):
            raise ValueError(
                f"These statistics were taken with weight_scope={statistics.weight_scope!r}, and "
                f"this estimator has {self.weight_scope!r}. Use the same."
            )
        if not statistics.loss.mass > 0 or not statistics.cells.mass.sum() > 0:
            raise ValueError("All rows have weight zero. Pass weights of which some are positive.")

    def _basis(self, space: Any) -> Basis:
        """What evaluates functions of the features."""
        basis: Basis = space
        return basis

    def _solver_words(self, statistics: Statistics) -> tuple[str, str]:
        """Name of the solver, and why."""
        rows = f"{statistics.loss.n_rows:,} rows"
        return "statistics", f"sums over {rows} of {statistics.space}"

    def restore_columns(self, statistics: Statistics) -> None:
        """Remember the columns that the statistics are about."""
        self.n_features_in_ = statistics.table.n_columns
        if statistics.table.names is not None:
            self.feature_names_in_ = np.array(statistics.table.names, dtype=object)

    def more(self, so_far: Statistics, X: Any, y: Any, **people: Any) -> Statistics:
        """Statistics of more rows, read like those before."""
        name = type(self).__name__
        self.restore_columns(so_far)
        features = read_features(self, so_far.table, X, reset=False, precise=False)
        Y, single_output = read_targets(name, X, y)
        if (Y.shape[1], single_output) != (len(so_far.y_origin), so_far.single_output):
            raise ValueError(
                f"y has shape {np.shape(y)}, but before it had {len(so_far.y_origin)} outputs. "
                "Pass as many."
            )
        weights = people["sample_weight"]
        weights = None if weights is None else check_weights(weights, len(Y), all_zero=True)
        rows = so_far.reading.rows(
            sensitive_values(self, so_far.table, X, people["sensitive_features"], len(Y)),
            control_features=people["control_features"],
            y=Y,
            n_rows=len(Y),
        )
        training = Training(so_far.table, features, Y, weights, rows, single_output)
        return self._summed(training, so_far.space, so_far.y_origin)

    def _summed(self, training: Training, space: FeatureSpace, y_origin: FloatArray) -> Statistics:
        """Sums over the rows of a training set, a block at a time."""
        rows, n = training.rows, len(training.Y)
        values = [rows.values(cell) for cell in range(len(rows.cells))]
        in_loss = training.weights if self.weight_scope != "constraint" else None
        in_cells = training.weights if self.weight_scope != "loss" else None

        def sums(block: slice) -> tuple[LossSums, CellSums]:
            X, Y = training.X[block], training.Y[block] - y_origin
            u, w = (None if part is None else part[block] for part in (in_loss, in_cells))
            w = u if in_loss is in_cells else w
            return Block(space, X, Y, values, rows.codes[block], w).sums(u)

        parts = ordered_map(sums, blocks(n, space))
        loss, cells = next(parts)
        for more_loss, more_cells in parts:
            loss, cells = loss + more_loss, cells + more_cells
        return Statistics(
            training.table,
            space,
            rows.reading,
            training.single_output,
            y_origin,
            loss,
            cells,
            "" if training.weights is None else self.weight_scope,
        )

    def pool_cells(self, statistics: Statistics, pool: Pool) -> CellSums:
        """Sums over a pool, whose y is not known."""
        if is_dask(pool.X):
            return pool_of_partitions(self, statistics, pool)
        try:
            X = read_features(self, statistics.table, pool.X, reset=False, precise=False)
            p = X.shape[0]
            weights = pool.sample_weight
            weights = None if weights is None else check_weights(weights, p, all_zero=True)
            rows = statistics.reading.rows(
                sensitive_values(self, statistics.table, pool.X, pool.sensitive_features, p),
                control_features=pool.control_features,
                n_rows=p,
            )
        except ValueError as error:
            raise ValueError(f"In the pool: {error}") from error
        values = [rows.values(cell) for cell in range(len(rows.cells))]
        space, total = statistics.space, None
        for block in blocks(p, space):
            w, codes = None if weights is None else weights[block], rows.codes[block]
            none = np.zeros((len(codes), 0))
            part = Block(space, X[block], none, values, codes, w).cells()
            total = part if total is None else total + part
        assert total is not None
        return total

    def _problem(
        self, statistics: Statistics, constraint: Constraint, pool: CellSums | None
    ) -> Problem:
        """The cells as rows, each of which stands for many."""
        cells, m = statistics.cells, len(statistics.y_origin)
        rows = cells.rows(statistics.reading, statistics.y_origin)
        on_train = self.parity_on != "pool"
        none = Functionals.none(0)
        here = functionals_of(constraint, rows, m) if on_train else Functionals.none(rows.n_rows)
        there, others = none, None
        if pool is not None:
            others = pool.rows(statistics.reading, np.zeros(0))
            try:
                there = functionals_of(constraint, others, m)
            except ValueError as error:
                raise ValueError(f"In the pool: {error}") from error
        measured = (
            constraint.measured(rows, here) if on_train else none,
            constraint.measured(others, there) if others is not None else none,
        )
        y = rows.y
        assert y is not None
        task = Task(
            cells.means,
            y,
            check_alpha(self.alpha, m),
            here,
            bool(self.fit_intercept),
            None,
            None if pool is None else pool.means,
            there,
        )
        loss = statistics.loss
        variance = loss.squares / loss.mass - (loss.targets / loss.mass) ** 2
        deviation = np.sqrt(np.maximum(variance, 0.0))
        return Problem(
            statistics.table,
            task,
            rows,
            others,
            constraint,
            measured,
            statistics.single_output,
            deviation,
        )


def _curve(problem: Problem, found: Summed) -> CurveSums:
    contrasts = problem.constraint.contrasts(problem.rows)
    ends = (found.solution.fair.fitted, found.solution.free.fitted)
    compared = [problem.constraint.compared(values, problem.task.Y) for values in ends]
    gaps = np.stack([contrasts.gaps(values) for values in compared])
    return CurveSums(found.products, found.variance, gaps)


def _summable(constraint: Constraint) -> Constraint:
    """Refuse a notion that needs more than sums."""
    name = type(constraint).__name__
    if type(constraint) not in (MeanParity, CovarianceParity, ResidualParity):
        raise ValueError(
            f"{name} may look at rows one by one, and sums over rows do not tell. Use fit with "
            "another solver, or MeanParity, CovarianceParity or ResidualParity."
        )
    if getattr(constraint, "n_knots", None) is not None:
        raise ValueError(
            "Knots of splines lie at quantiles, which sums over rows do not tell. Pass "
            "MeanParity(degree=...) without n_knots."
        )
    return constraint
