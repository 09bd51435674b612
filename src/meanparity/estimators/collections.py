"""Fits to rows that are not in memory: files, and partitions of Dask collections."""

from __future__ import annotations

from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from meanparity._typing import FloatArray
from meanparity.estimators.problem import check_parameters
from meanparity.exceptions import did_you_mean
from meanparity.linalg import ordered_map
from meanparity.solvers.statistics import CellSums, Statistics
from meanparity.sources import Columns, Files, Partitions, Pool, shown

if TYPE_CHECKING:
    from meanparity.estimators.streaming import StreamingRegressor

_SAMPLE = 20_000  # rows on which landmarks, and how columns are read, are settled

People = dict[str, Any]


def fit_files(model: StreamingRegressor, source: Any, y: Any, *, pool: Any, **named: Any) -> Any:
    """Fit to files, whose columns are passed by name, by record batches: a sample, then all."""
    check_parameters(model)
    files = Files.open(source)
    own = model.sensitive_columns
    own = () if own is None else (own,) if np.ndim(own) == 0 else tuple(own)
    roles = ("sensitive_features", "control_features", "sample_weight")
    sensitive, control, weight = (named[role] for role in roles)
    names = files.columns(y, sensitive, control, weight, own)
    if not (names.sensitive or own):
        raise ValueError(
            "sensitive_features has to name the columns of the file that say who is in which group."
        )
    total = files.count()
    if not total:
        raise ValueError("The files have no rows.")
    numbers = [*names.features, *names.target, *([] if names.weight is None else [names.weight])]
    files = files.with_numbers([name for name in numbers if name not in own])
    every = [*numbers, *names.sensitive, *names.control]
    X, target, people = _columns(files.sample(every, _some(model, total)), names)
    start = model.statistics(X, target, **people)

    def sums(table: Any) -> tuple[int, Statistics]:
        X, target, people = _columns(table, names)
        return table.num_rows, model.more(start, X, target, **people)

    found = shown(ordered_map(sums, files.batches(every)), total, "rows")
    return model.fit_statistics(reduce(add, found), pool=pool)


def _columns(table: Any, names: Columns) -> tuple[Any, FloatArray, People]:
    """Features, targets and what says who is compared with whom, of a table of a file."""

    def numbers(name: str) -> FloatArray:
        try:
            return np.asarray(table[name].to_numpy(), dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Column {name!r} of the file has to hold numbers: {error}") from error

    whole = [*names.features, *names.target, *([] if names.weight is None else [names.weight])]
    for name in whole:
        if table[name].null_count:
            raise ValueError(
                f"Column {name!r} of the file has empty cells ({table[name].null_count:,} of "
                f"{table.num_rows:,} rows looked at). Fill them, or leave the rows or the column "
                "out."
            )
    y = [numbers(name) for name in names.target]
    people = {
        "sensitive_features": table.select(list(names.sensitive)) if names.sensitive else None,
        "control_features": table.select(list(names.control)) if names.control else None,
        "sample_weight": None if names.weight is None else numbers(names.weight),
    }
    return table.select(list(names.features)), y[0] if len(y) == 1 else np.stack(y, axis=1), people


def fit_partitions(model: StreamingRegressor, X: Any, y: Any, *, pool: Any, **people: Any) -> Any:
    """Fit to Dask collections: sums are computed where the partitions are, and added in a tree."""
    check_parameters(model)
    if y is None:
        raise ValueError("y is None. Pass a Dask collection, or the name of a column.")
    X, y, people = _by_name(X, y, people)
    rows = Partitions.of(X, y=y, **people)
    total = int(rows.lengths().sum())
    if not total:
        raise ValueError("X has no rows.")
    start = _start(model, rows.sample(_some(model, total)))
    found = rows.total(partial(_sums, clone(model), start))
    return model.fit_statistics(found, pool=pool)


def _start(model: StreamingRegressor, sample: dict[int, dict[str, Any]]) -> Statistics:
    """Statistics of some rows of some partitions, which settle how all are read."""
    first, parts = next(iter(sample)), list(sample.values())
    for number, part in sample.items():
        for name, values in part.items():
            looks = [_look(some) for some in (parts[0][name], values)]
            if looks[0] != looks[1]:
                raise ValueError(
                    f"{name} has {looks[1]} in partition {number}, but {looks[0]} in partition "
                    f"{first}. Pass partitions with the same columns."
                )
    together = {name: _joined([part[name] for part in parts]) for name in parts[0]}
    try:
        return model.statistics(together.pop("X"), together.pop("y"), **together)
    except ValueError as error:
        for number, part in sample.items():
            if any(_has_gaps(part[name]) for name in ("X", "y")):
                raise ValueError(f"Partition {number} has empty cells: {error}") from error
        raise


def _look(part: Any) -> str:
    if hasattr(part, "columns"):
        return f"the columns {list(part.columns)}"
    return f"{part.shape[1]} columns" if np.ndim(part) == 2 else "one column"


def _has_gaps(part: Any) -> bool:
    if hasattr(part, "isna"):
        return bool(np.any(part.isna()))
    if sparse.issparse(part):
        part = part.data
    return bool(np.issubdtype(part.dtype, np.floating) and np.isnan(part).any())


def pool_of_partitions(model: StreamingRegressor, statistics: Statistics, pool: Pool) -> CellSums:
    """Sums over a pool that is a Dask collection."""
    names = ("sensitive_features", "control_features", "sample_weight")
    X, _, people = _by_name(pool.X, None, {name: getattr(pool, name) for name in names})
    rows = Partitions.of(X, **people)
    found: CellSums | None = rows.total(partial(_pool_sums, clone(model), statistics))
    if found is None:
        raise ValueError("In the pool: there are no rows.")
    return found


def predict_partitions(model: Any, X: Any) -> Any:
    """Predictions of a Dask collection, as another one, when they are asked for."""
    if not hasattr(X, "chunks"):
        fair = model.tradeoff_.solution.fair
        meta: Any = (None, float)
        if not model.tradeoff_.single_output:
            meta = dict.fromkeys(range(fair.coef.shape[1]), float)
        return X.map_partitions(_predict_frame, model, meta=meta)
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimension. Pass rows and columns.")
    width = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    single = model.tradeoff_.single_output
    outputs = model.tradeoff_.solution.fair.coef.shape[1]
    chunks = (X.chunks[0],) if single else (X.chunks[0], (outputs,))
    predict = partial(_predict_block, model)
    return width.map_blocks(
        predict, dtype=float, chunks=chunks, **({"drop_axis": 1} if single else {})
    )


def _some(model: Any, total: int) -> Any:
    """Sorted positions of some of so many rows."""
    rng = check_random_state(getattr(model, "random_state", 0))
    return np.sort(sample_without_replacement(total, min(_SAMPLE, total), random_state=rng))


def _by_name(X: Any, y: Any, people: People) -> tuple[Any, Any, People]:
    """Columns of a data frame that were passed by name, apart from the features."""
    names = {"y": y, **people}
    asked = {role: value for role, value in names.items() if _is_named(value)}
    if not asked:
        return X, y, people
    if not hasattr(X, "columns"):
        role, value = next(iter(asked.items()))
        raise ValueError(f"{role}={value!r} names a column, but X has none. Pass a Dask array.")
    taken = []
    for role, value in asked.items():
        for name in [value] if isinstance(value, str) else value:
            if name not in X.columns:
                hint = did_you_mean(name, X.columns)
                raise ValueError(
                    f"{role} names the column {name!r}, but X has the columns {list(X.columns)}."
                    + hint
                )
            taken.append(name)
        alone = role == "y" and not isinstance(value, str) and len(value) == 1
        names[role] = X[value[0]] if alone else X[value]  # one target, as of files
    rest = [name for name in X.columns if name not in taken]
    return X[rest], names.pop("y"), names


def _is_named(value: Any) -> bool:
    if isinstance(value, str):
        return True
    listed = isinstance(value, list | tuple) and len(value) > 0
    return listed and all(isinstance(name, str) for name in value)


def _joined(parts: list[Any]) -> Any:
    """Parts of a collection, in memory, one after the other."""
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts)
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def _sums(model: Any, start: Statistics, X: Any, y: Any, **people: Any) -> Statistics | None:
    given = {"sensitive_features": None, "control_features": None, "sample_weight": None, **people}
    if not X.shape[0]:
        return None
    found: Statistics = model.more(start, X, y, **given)
    return found


def _pool_sums(model: Any, statistics: Statistics, X: Any, **people: Any) -> CellSums | None:
    if not X.shape[0]:
        return None
    model.restore_columns(statistics)
    found: CellSums = model.pool_cells(statistics, Pool(X, **people))
    return found


def _predict_block(model: Any, X: Any) -> FloatArray:
    if not X.shape[0]:
        outputs = model.tradeoff_.solution.fair.coef.shape[1]
        return np.zeros(0 if model.tradeoff_.single_output else (0, outputs))
    values: FloatArray = model.predict(X)
    return values


def _predict_frame(X: Any, model: Any) -> Any:
    import pandas as pd

    outputs = model.tradeoff_.solution.fair.coef.shape[1]
    single = model.tradeoff_.single_output
    values = model.predict(X) if len(X) else np.zeros(0 if single else (0, outputs))
    return (pd.Series if single else pd.DataFrame)(values, index=X.index)
