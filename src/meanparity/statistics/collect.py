"""Collecting sums: from rows in memory, batch by batch, from files, and from Dask partitions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from meanparity._typing import Features, FloatArray
from meanparity.data.files import ColumnRoles, Files
from meanparity.data.fit_input import (
    FitInput,
    InputOptions,
    check_weights,
    read_fit_input,
    read_targets,
    sensitive_values,
)
from meanparity.data.groups import Cells
from meanparity.data.partitions import Partitions, is_dask
from meanparity.data.pool import Pool
from meanparity.data.progress import with_progress
from meanparity.data.refusals import refuse_other_order
from meanparity.data.streams import spooled, stream_kind
from meanparity.exceptions import did_you_mean
from meanparity.kernels.spec import AbstractKernel
from meanparity.linalg.parallel import all_threads, ordered_map
from meanparity.solvers.features import FeatureMap, KernelFeatures, LinearFeatures
from meanparity.solvers.sums import sum_rows
from meanparity.statistics.statistics import KeyedCells, Statistics, cell_values

_SAMPLE = 20_000  # rows from which landmarks, and how columns are read, are settled

People = dict[str, Any]


@dataclass(frozen=True)
class Collector:
    """Collects the sums that a ridge estimator is fitted to.

    Parameters
    ----------
    options : InputOptions
        How input is read.
    kernel : AbstractKernel
        The kernel.
    solver : Solver
        Its `feature_map` stands for a kernel that is not linear.
    fit_intercept : bool
        Whether a constant is fitted.
    """

    options: InputOptions
    kernel: AbstractKernel
    solver: Any
    fit_intercept: bool

    def first_batch(self, X: Any, y: Any, **people: Any) -> Statistics:
        """Statistics of first rows, which settle the features and how columns are read."""
        data = read_fit_input(self.options, X, y, min_rows=1, **people)
        features = self._features(data.X, data.layout.feature_names)
        origin = data.Y.mean(axis=0) if self.fit_intercept else np.zeros(data.Y.shape[1])
        return self._sums(data, features, origin)

    def _features(self, X: Features, names: tuple[str, ...] | None) -> FeatureMap:
        if self.kernel.is_linear:
            return LinearFeatures.near(X, centred=self.fit_intercept)
        features: FeatureMap = self.solver.feature_map(X, self.kernel, names)
        return features

    def _sums(self, data: FitInput, features: FeatureMap, y_origin: FloatArray) -> Statistics:
        """Sum over rows, one block at a time."""
        scope, rows = self.options.weight_scope, data.rows
        w = data.sample_weight if scope != "loss" else None
        cells = Cells(rows.codes, len(rows.cells), w)
        with all_threads():
            loss, sums = sum_rows(features, data.X, data.Y - y_origin, cells, data.weights)
        return Statistics(
            data.layout,
            features,
            rows.schema,
            data.single_output,
            y_origin,
            loss,
            KeyedCells(cell_values(rows), sums),
            "" if data.sample_weight is None else scope,
        )

    def suits(self, features: FeatureMap) -> bool:
        """Whether statistics of these features can be used."""
        if self.kernel.is_linear:
            return isinstance(features, LinearFeatures)
        if not isinstance(features, KernelFeatures) or features.spec != self.kernel:
            return False
        landmarks = getattr(self.solver, "landmarks", None)
        drawn = landmarks is None or isinstance(landmarks, str)
        return drawn or features.is_among(landmarks)

    def add_batch(self, so_far: Statistics, X: Any, y: Any, **people: Any) -> Statistics:
        """Statistics of more rows, read like those before; they are not added yet."""
        name = self.options.estimator
        refuse_other_order(X=X, y=y, **people)
        features = so_far.layout.read(X, estimator=name)
        Y, single_output = read_targets(name, X, y)
        if (Y.shape[1], single_output) != (len(so_far.y_origin), so_far.single_output):
            raise ValueError(
                f"y has shape {np.shape(y)}, but before it had {len(so_far.y_origin)} outputs. "
                "Pass as many."
            )
        weights = people.get("sample_weight")
        weights = None if weights is None else check_weights(weights, len(Y), all_zero=True)
        rows = so_far.schema.read_rows(
            sensitive_values(
                self.options, so_far.layout, X, people.get("sensitive_features"), len(Y)
            ),
            control_features=people.get("control_features"),
            y=Y,
            n_rows=len(Y),
        )
        in_loss = weights if self.options.weight_scope != "constraint" else None
        data = FitInput(
            so_far.layout, features, Y, in_loss, weights, rows, single_output, np.zeros(Y.shape[1])
        )
        return self._sums(data, so_far.features, so_far.y_origin)

    def pool(self, statistics: Statistics, pool: Pool) -> KeyedCells:
        """Sums over a pool, whose y is not known."""
        if is_dask(pool.X):
            return self._pool_of_partitions(statistics, pool)
        try:
            refuse_other_order(
                X=pool.X,
                sensitive_features=pool.sensitive_features,
                control_features=pool.control_features,
                sample_weight=pool.sample_weight,
            )
            X = statistics.layout.read(pool.X, estimator=self.options.estimator)
            p, weights = X.shape[0], pool.sample_weight
            weights = None if weights is None else check_weights(weights, p, all_zero=True)
            groups = sensitive_values(
                self.options, statistics.layout, pool.X, pool.sensitive_features, p
            )
            rows = statistics.schema.read_rows(
                groups, control_features=pool.control_features, n_rows=p
            )
        except ValueError as error:
            raise ValueError(f"In the pool: {error}") from error
        return KeyedCells.from_rows(statistics.features, X, rows, weights)

    def _pool_of_partitions(self, statistics: Statistics, pool: Pool) -> KeyedCells:
        names = ("sensitive_features", "control_features", "sample_weight")
        X, _, people = _named_columns(pool.X, None, {name: getattr(pool, name) for name in names})
        parts = Partitions.from_collections(X, **people)
        found: KeyedCells | None = parts.total(partial(_pool_sums, self, statistics))
        if found is None:
            raise ValueError("In the pool: there are no rows.")
        return found

    def collect(self, X: Any, y: Any, **people: Any) -> Statistics:
        """Statistics of rows that are not in memory: files, a stream, or a Dask collection."""
        if is_dask(X):
            return self._from_partitions(X, y, people)
        if not stream_kind(X):
            return self._from_files(X, y, people)
        with spooled(X) as path:
            return self._from_files(path, y, people)

    def _from_files(self, source: Any, y: Any, people: People) -> Statistics:
        """A sample of the rows settles how they are read; then all are read in batches."""
        for role, value in {"y": y, **people}.items():
            if not (value is None or _is_name(value)):
                raise ValueError(
                    f"{role} is a {type(value).__name__}, but the rows of X are not in memory. "
                    "Pass the name of a column of X, or a list of names."
                )
        files, own = Files.open(source), self.options.sensitive_columns
        own = () if own is None else (own,) if np.ndim(own) == 0 else tuple(own)
        roles = files.roles(
            y,
            people["sensitive_features"],
            people["control_features"],
            people["sample_weight"],
            own,
        )
        if not (roles.sensitive or own):
            raise ValueError(
                "sensitive_features has to name the columns of the file that say which group each "
                "row belongs to."
            )
        weight = [] if roles.weight is None else [roles.weight]
        numbers = [*roles.features, *roles.target, *weight]
        groups = [*own, *roles.sensitive, *roles.control]
        files = files.checked([name for name in numbers if name not in own], groups)
        total = files.count()
        if not total:
            raise ValueError("The files have no rows.")
        every = [*numbers, *roles.sensitive, *roles.control]
        X, target, given = _split_table(files.sample(every, self._sample(total)), roles)
        first = self.first_batch(X, target, **given)

        def batch_sums(table: Any) -> tuple[int, Statistics]:
            X, target, given = _split_table(table, roles)
            return table.num_rows, self.add_batch(first, X, target, **given)

        found = with_progress(ordered_map(batch_sums, files.batches(every)), total, "rows")
        return reduce(add, found)

    def _from_partitions(self, X: Any, y: Any, people: People) -> Statistics:
        """Sums are computed where the partitions are, and added in a tree."""
        if y is None:
            raise ValueError("y is None. Pass a Dask collection, or the name of a column.")
        X, y, people = _named_columns(X, y, people)
        parts = Partitions.from_collections(X, y=y, **people)
        total = int(parts.lengths.sum())
        if not total:
            raise ValueError("X has no rows.")
        first = self._first_of_partitions(parts.sample(self._sample(total)))
        found: Statistics = parts.total(partial(_batch_sums, self, first))
        return found

    def _first_of_partitions(self, sample: dict[int, dict[str, Any]]) -> Statistics:
        first, parts = next(iter(sample)), list(sample.values())
        for number, part in sample.items():
            for name, values in part.items():
                shapes = [_column_summary(one) for one in (parts[0][name], values)]
                if shapes[0] != shapes[1]:
                    raise ValueError(
                        f"{name} has {shapes[1]} in partition {number}, but {shapes[0]} in "
                        f"partition {first}. Pass partitions with the same columns."
                    )
        together = {name: _concatenate([part[name] for part in parts]) for name in parts[0]}
        given = dict.fromkeys(("sensitive_features", "control_features", "sample_weight"))
        try:
            return self.first_batch(together.pop("X"), together.pop("y"), **{**given, **together})
        except ValueError as error:
            for number, part in sample.items():
                if any(_has_missing(part[name]) for name in ("X", "y")):
                    raise ValueError(f"Partition {number} has empty cells: {error}") from error
            raise

    def _sample(self, total: int) -> Any:
        """Sorted positions of a sample of the rows."""
        rng = check_random_state(getattr(self.solver, "random_state", 0))
        return np.sort(sample_without_replacement(total, min(_SAMPLE, total), random_state=rng))


def _split_table(table: Any, roles: ColumnRoles) -> tuple[Any, FloatArray, People]:
    """Features, targets, and sensitive, control and weight columns of a table of a file."""

    def numbers(name: str) -> FloatArray:
        try:
            return np.asarray(table[name].to_numpy(), dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Column {name!r} of the file has to hold numbers: {error}") from error

    weight = [] if roles.weight is None else [roles.weight]
    for name in [*roles.features, *roles.target, *weight]:
        if table[name].null_count:
            raise ValueError(
                f"Column {name!r} of the file has empty cells ({table[name].null_count:,} in a "
                f"batch of {table.num_rows:,} rows). Fill them, or leave out the rows or the "
                "column."
            )
    y = [numbers(name) for name in roles.target]
    people = {
        "sensitive_features": table.select(list(roles.sensitive)) if roles.sensitive else None,
        "control_features": table.select(list(roles.control)) if roles.control else None,
        "sample_weight": None if roles.weight is None else numbers(roles.weight),
    }
    return table.select(list(roles.features)), y[0] if len(y) == 1 else np.stack(y, axis=1), people


def _named_columns(X: Any, y: Any, people: People) -> tuple[Any, Any, People]:
    """Columns of a Dask data frame that were passed by name, separated from the features."""
    given = {"y": y, **people}
    named = {role: value for role, value in given.items() if _is_name(value)}
    if not named:
        return X, y, people
    if not hasattr(X, "columns"):
        role, value = next(iter(named.items()))
        raise ValueError(f"{role}={value!r} names a column, but X has none. Pass a Dask array.")
    taken = []
    for role, value in named.items():
        for name in [value] if isinstance(value, str) else value:
            if name not in X.columns:
                raise ValueError(
                    f"{role} names the column {name!r}, but X has the columns {list(X.columns)}."
                    + did_you_mean(name, X.columns)
                )
            taken.append(name)
        single = role == "y" and not isinstance(value, str) and len(value) == 1
        given[role] = X[value[0]] if single else X[value]
    rest = [name for name in X.columns if name not in taken]
    return X[rest], given.pop("y"), given


def _is_name(value: Any) -> bool:
    if isinstance(value, str):
        return True
    listed = isinstance(value, list | tuple) and len(value) > 0
    return listed and all(isinstance(name, str) for name in value)


def _column_summary(part: Any) -> str:
    if hasattr(part, "columns"):
        return f"the columns {list(part.columns)}"
    return f"{part.shape[1]} columns" if np.ndim(part) == 2 else "one column"


def _has_missing(part: Any) -> bool:
    if hasattr(part, "isna"):
        return bool(np.any(part.isna()))
    if sparse.issparse(part):
        part = part.data
    return bool(np.issubdtype(part.dtype, np.floating) and np.isnan(part).any())


def _concatenate(parts: list[Any]) -> Any:
    """Parts of a collection, in memory, below each other."""
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts)
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def _batch_sums(
    collector: Collector, first: Statistics, X: Any, y: Any, **people: Any
) -> Statistics | None:
    return collector.add_batch(first, X, y, **people) if X.shape[0] else None


def _pool_sums(
    collector: Collector, statistics: Statistics, X: Any, **people: Any
) -> KeyedCells | None:
    return collector.pool(statistics, Pool(X, **people)) if X.shape[0] else None
