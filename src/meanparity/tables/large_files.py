"""Fitting a model to a file that is too large for memory, in batches of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from meanparity._typing import IntArray
from meanparity.report import PredictedRows
from meanparity.tables.encoding import EncodedTable, encode
from meanparity.tables.kinds import convert_columns
from meanparity.tables.model import TableModel, predict_rows
from meanparity.tables.reading import read_batches
from meanparity.tables.roles import Roles
from meanparity.tables.selecting import FitSettings, select_estimator

# rows that determine the encoding, the model and the held-out rows
SAMPLE_ROWS = 100_000

_Batch = tuple[Any, Any, dict[str, Any], int]  # X, y, metadata, rows read so far


def fit_large_file(
    path: Path,
    roles: Roles,
    settings: FitSettings,
    *,
    pool: Any,
    progress: Callable[[str], None],
) -> TableModel:
    """Do what `fit_table` does, for a file of any size.

    A random sample of the rows is split: its held-out part is never used to fit, and all other
    rows of the file are. The constraint holds exactly on all of these.

    Parameters
    ----------
    path : path
        The file.
    roles, pool, progress
        As in `fit_table`.
    settings : FitSettings
        All other parameters of `fit_table`.
    """
    progress("reading a sample")
    sample, positions, total = _sample(path, settings.seed)
    table = EncodedTable.from_frame(
        sample,
        roles,
        test_size=settings.test_size,
        seed=settings.seed,
        missing=settings.missing,
    )
    held_out = positions[table.test.positions]
    encoded_pool = None if pool is None else table.encode_pool(pool)
    progress("selecting the model")
    train = table.train
    estimator, selection = select_estimator(train, settings, large=True)
    layout = estimator.statistics(train.X, train.y, **train.metadata)
    statistics: Any = None
    for X, y, metadata, seen in _training_batches(path, table, held_out):
        batch = estimator.statistics(X, y, **metadata, like=layout)
        statistics = batch if statistics is None else statistics + batch
        progress(f"fitting: {seen:,} of {total:,} rows")
    estimator.fit_statistics(statistics, pool=encoded_pool)
    batches = []
    for X, y, metadata, seen in _training_batches(path, table, held_out):
        batches.append(predict_rows(estimator, "training rows", X, y, metadata, constrained=True))
        progress(f"predicting: {seen:,} of {total:,} rows")
    predicted = _concatenate(batches)
    n_dropped = total - len(predicted) - len(held_out)
    return TableModel.from_estimator(
        estimator, table, encoded_pool, selection, train=predicted, n_dropped=n_dropped
    )


def _sample(path: Path, seed: int) -> tuple[Any, IntArray, int]:
    """Draw rows uniformly at random.

    Returns the rows, their positions in the file, and the number of rows in the file.
    """
    import pandas as pd

    # every row gets a random key, and those with the smallest keys are kept
    rng = np.random.default_rng(seed)
    kept: Any = None
    keys, total = np.zeros(0), 0
    for batch in read_batches(path):
        drawn = rng.random(len(batch))
        total += len(batch)
        candidates = drawn < (np.inf if len(keys) < SAMPLE_ROWS else keys.max())
        kept = batch[candidates] if kept is None else pd.concat([kept, batch[candidates]])
        keys = np.append(keys, drawn[candidates])
        if len(keys) > SAMPLE_ROWS:
            smallest = np.sort(np.argpartition(keys, SAMPLE_ROWS)[:SAMPLE_ROWS])
            kept, keys = kept.iloc[smallest], keys[smallest]
    return kept.reset_index(drop=True), kept.index.to_numpy(), total


def _training_batches(path: Path, table: EncodedTable, held_out: IntArray) -> Iterator[_Batch]:
    """Encode the rows that have a target and are not held out, batch by batch."""
    for batch in read_batches(path):
        y = table.roles.numbers(batch, str(table.roles.target))
        keep = np.isfinite(y) & ~np.isin(batch.index, held_out)
        rows = batch[keep]
        if len(rows):
            X = encode(table.pipeline, convert_columns(rows, table.kinds, path.name))
            yield X, y[keep], table.roles.metadata(rows), int(batch.index[-1]) + 1


def _concatenate(batches: list[PredictedRows]) -> PredictedRows:
    import pandas as pd

    def stacked(name: str) -> Any:
        parts = [getattr(batch, name) for batch in batches]
        if parts[0] is None:
            return None
        is_array = isinstance(parts[0], np.ndarray)
        return np.concatenate(parts) if is_array else pd.concat(parts, ignore_index=True)

    first = batches[0]
    columns = ("fair", "free", "sensitive_features", "y", "control_features", "sample_weight")
    return PredictedRows(
        name=first.name,
        constrained=first.constrained,
        **{name: stacked(name) for name in columns},
    )
