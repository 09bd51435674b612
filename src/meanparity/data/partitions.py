"""Dask collections: partitions of rows, and sums over them on the active scheduler."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FAN_IN = 8  # partial sums added in one task


def is_dask(source: Any) -> bool:
    """Whether this is a Dask array, series or data frame."""
    return type(source).__module__.split(".")[0] == "dask"


@dataclass(frozen=True, eq=False)
class Partitions:
    """The partitions of several collections that have the same rows.

    Parameters
    ----------
    parts : list of dict
        For each partition the delayed part of every collection, by name.
    """

    parts: list[dict[str, Any]]

    @classmethod
    def from_collections(cls, X: Any, **others: Any) -> Partitions:
        """The partitions of X and of other collections; those that are None are left out.

        Data frames and series are aligned by partition; arrays are cut at the rows where X is.
        """
        columns = {"X": _delayed(X, None)}
        cuts = X.chunks[0] if hasattr(X, "chunks") else None
        for name, value in others.items():
            if value is None:
                continue
            if not is_dask(value):
                raise TypeError(
                    f"X is a Dask collection, but {name} is {type(value).__name__}. Pass a Dask "
                    "collection with the same partitions, or, of a data frame, names of columns."
                )
            columns[name] = _delayed(value, cuts)
            if len(columns[name]) != len(columns["X"]):
                raise ValueError(
                    f"X has {len(columns['X'])} partitions, but {name} has {len(columns[name])}. "
                    "Pass collections that are cut at the same rows."
                )
        parts = zip(*columns.values(), strict=True)
        return cls([dict(zip(columns, part, strict=True)) for part in parts])

    @functools.cached_property
    def lengths(self) -> NDArray[np.intp]:
        """Number of rows of each partition, the same in all collections."""
        import dask

        counted = dask.delayed(_lengths)
        tasks = [counted(**part) for part in self.parts]
        return np.array(_compute(tasks, tasks), np.intp)

    def sample(self, rows: NDArray[np.intp]) -> dict[int, dict[str, Any]]:
        """The rows at sorted positions, in memory, by number of partition."""
        import dask

        ends = np.cumsum(self.lengths)
        tasks = {}
        starts = np.append(0, ends[:-1])
        for number, (part, start, stop) in enumerate(zip(self.parts, starts, ends, strict=True)):
            first, last = np.searchsorted(rows, [start, stop])
            if last > first:
                inside = rows[first:last] - start
                tasks[number] = {n: dask.delayed(_take)(v, inside) for n, v in part.items()}
        found = dask.compute(*tasks.values())
        return dict(zip(tasks, found, strict=True))

    def total(self, function: Callable[..., Any]) -> Any:
        """The sum over partitions of a function's results; results of None are left out.

        If a partition fails, the error names it.
        """
        import dask

        mapped = dask.delayed(function)
        sums = each = [mapped(**part) for part in self.parts]
        while len(sums) > 1:
            groups = [sums[i : i + _FAN_IN] for i in range(0, len(sums), _FAN_IN)]
            sums = [dask.delayed(_added)(group) for group in groups]
        return _compute(sums, each)[0]


def _compute(tasks: Sequence[Any], each: Sequence[Any]) -> Any:
    """The results of tasks; if one fails, `each`, a task for each partition, says which."""
    import dask

    try:
        return dask.compute(*tasks)
    except Exception:
        for number, task in enumerate(each):
            try:
                dask.compute(task)
            except Exception as reason:
                raise ValueError(
                    f"Partition {number} of {len(each)} failed: {type(reason).__name__}: {reason}"
                ) from reason
        raise


def _delayed(collection: Any, cuts: Any) -> list[Any]:
    """The partitions of a collection."""
    if not hasattr(collection, "chunks"):
        return list(collection.to_delayed())
    if collection.ndim == 2 and collection.numblocks[1] > 1:
        collection = collection.rechunk({1: -1})
    known = cuts is not None and not np.isnan(np.sum(cuts))
    if known and not np.isnan(np.sum(collection.chunks[0])) and collection.chunks[0] != cuts:
        if sum(cuts) != collection.shape[0]:
            raise ValueError(
                f"X has {sum(cuts)} rows, but another collection has {collection.shape[0]}. Pass "
                "one value for each row."
            )
        collection = collection.rechunk({0: cuts})
    return list(collection.to_delayed().ravel())


def _lengths(X: Any, **others: Any) -> int:
    rows = X.shape[0]
    for name, part in others.items():
        if len(part) != rows:
            raise ValueError(
                f"X has {rows} rows, but {name} has {len(part)}. Pass collections that are cut at "
                "the same rows."
            )
    return int(rows)


def _take(part: Any, rows: NDArray[np.intp]) -> Any:
    return part.iloc[rows] if hasattr(part, "iloc") else part[rows]


def _added(parts: Sequence[Any]) -> Any:
    known = [part for part in parts if part is not None]
    return functools.reduce(operator.add, known) if known else None
