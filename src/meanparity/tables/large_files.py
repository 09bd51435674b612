"""Fitting a model to a file that is too large for memory, in batches of rows.

A random sample of the rows is encoded and split by `fit_table`. The held-out part of the sample is
never used to fit, all other rows of the file are, and the constraint holds exactly on these.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from meanparity.data.pool import Pool
from meanparity.data.progress import progress_line
from meanparity.report import PredictedRows, Slider
from meanparity.report.models import AT_SAME_PENALTY
from meanparity.tables.encoding import EncodedRows, EncodedTable
from meanparity.tables.reading import TableFile

# rows that determine the encoding, the model and the held-out rows
SAMPLE_ROWS = 100_000


def sample_rows(file: TableFile, seed: int) -> tuple[pd.DataFrame, int]:
    """Draw rows uniformly at random; their index contains their positions in the file.

    Returns the rows, and the number of rows in the file.
    """
    # every row gets a random key, and those with the smallest keys are kept
    rng = np.random.default_rng(seed)
    kept: list[pd.DataFrame] = []
    keys, n_rows = np.zeros(0), 0
    for batch in file.batches():
        drawn = rng.random(len(batch))
        n_rows += len(batch)
        candidates = drawn < (np.inf if len(keys) < SAMPLE_ROWS else keys.max())
        kept.append(batch[candidates])
        keys = np.append(keys, drawn[candidates])
        if len(keys) > SAMPLE_ROWS:
            smallest = np.sort(np.argpartition(keys, SAMPLE_ROWS)[:SAMPLE_ROWS])
            kept, keys = [pd.concat(kept).iloc[smallest]], keys[smallest]
    return pd.concat(kept), n_rows


def fit_batches(
    estimator: Any,
    file: TableFile,
    table: EncodedTable,
    pool: Pool | None,
    n_rows: int,
    progress: Callable[[str], None],
) -> None:
    """Fit an estimator to all rows of a file that have a target and are not held out.

    Parameters
    ----------
    estimator : ParityRidge or ParityKernelRidge
        The estimator to fit.
    file : TableFile
        The file.
    table : EncodedTable
        The sample, which determines the encoding and the held-out rows.
    pool : Pool or None
        The encoded pool.
    n_rows : int
        Number of rows in the file, for messages.
    progress : callable
        Receives messages about what is being done.
    """
    train = table.train
    layout = estimator.statistics(train.X, train.y, **train.metadata)
    statistics: Any = None
    start = time.monotonic()
    for rows in _training_batches(file, table):
        batch = estimator.statistics(rows.X, rows.y, **rows.metadata, like=layout)
        statistics = batch if statistics is None else statistics + batch
        progress(f"fitting: {_progress(rows, n_rows, start)}")
    estimator.fit_statistics(statistics, pool=pool)


def predict_batches(
    estimator: Any,
    slider: Slider,
    file: TableFile,
    table: EncodedTable,
    n_rows: int,
    progress: Callable[[str], None],
) -> PredictedRows:
    """Predict the rows of the fit with the models of a slider; parameters as in `fit_batches`."""
    predictions, targets, metadata = [], [], []
    start = time.monotonic()
    for rows in _training_batches(file, table):
        predictions.append(slider.columns(estimator, rows.X))
        targets.append(rows.y)
        metadata.append(rows.metadata)
        progress(f"predicting: {_progress(rows, n_rows, start)}")
    columns = np.concatenate(predictions)
    return PredictedRows(
        "training rows",
        columns[:, 0],
        columns[:, 1],
        y=np.concatenate(targets),
        constrained=True,
        further=columns[:, 2:] if columns.shape[1] > 2 else None,
        without=AT_SAME_PENALTY,
        **{name: pd.concat([part[name] for part in metadata]) for name in metadata[0]},
    )


def _progress(rows: EncodedRows, n_rows: int, start: float) -> str:
    """How far a pass has come that began at this time."""
    return progress_line(int(rows.positions[-1]) + 1, n_rows, time.monotonic() - start, "rows")


def _training_batches(file: TableFile, table: EncodedTable) -> Iterator[EncodedRows]:
    """Encode the rows that have a target and are not held out, batch by batch."""
    for batch in file.batches():
        y = table.roles.numbers(batch, str(table.roles.target))
        keep = np.isfinite(y) & ~np.isin(batch.index, table.test.positions)
        rows = batch[keep]
        if len(rows):
            # values that are not in the sample count as none of the known ones
            X, _ = table.encoder.encode(rows, file.path.name)
            yield EncodedRows(X, y[keep], table.roles.metadata(rows))
