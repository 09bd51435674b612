"""Fitting a model to a table: split, select, fit, predict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from meanparity.tables.encoding import EncodedTable
from meanparity.tables.large_files import fit_large_file
from meanparity.tables.model import TableModel
from meanparity.tables.reading import is_large, read_frame
from meanparity.tables.roles import Roles
from meanparity.tables.selecting import FitSettings, select_estimator


def fit_table(
    data: Any,
    roles: Roles,
    *,
    pool: Any = None,
    model: str = "auto",
    unfairness: float = 0.0,
    max_gap: float | None = None,
    missing: str = "error",
    test_size: float = 0.2,
    seed: int = 0,
    progress: Callable[[str], None] = lambda message: None,
) -> TableModel:
    """Fit a model under mean parity to a table.

    A share of the rows is held out. The model is selected on the other rows by leave-one-out or
    cross-validation, fitted to them, and used to predict all rows. A file whose table would take
    more than 1 GiB of memory is read in batches: a sample of 100,000 rows determines the encoding,
    the model and the held-out rows, and the constraint holds on all other rows.

    Parameters
    ----------
    data : pandas data frame, str or path
        A table with numbers, text, dates and empty cells, or a CSV, TSV, Parquet or Feather file.
    roles : Roles
        The role of each column.
    pool : pandas data frame, optional
        Rows to be scored, on which the constraint holds as well.
    model : {"auto", "linear", "kernel"}, default="auto"
        "auto" selects the model with the smaller error on left-out rows.
    unfairness, max_gap
        As in `ParityRidge`.
    missing : {"error", "ignore", "group"}, default="error"
        What to do with empty sensitive and control cells, as in `MeanParity`.
    test_size : float, default=0.2
        Share of the rows to hold out.
    seed : int, default=0
        Random seed.
    progress : callable, optional
        Receives messages about what is being done.

    Returns
    -------
    TableModel

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"sex": rng.choice(["F", "M"], 100), "hours": rng.normal(38, 4, 100)})
    >>> frame["pay"] = frame["hours"] + 3 * (frame["sex"] == "M") + rng.normal(size=100)
    >>> fitted = fit_table(frame, Roles("pay", ("sex",)), model="linear")
    >>> [(rows.name, len(rows)) for rows in fitted.row_sets]
    [('training rows', 80), ('held-out rows', 20)]
    >>> fitted.pipeline.predict(frame[["sex", "hours"]]).shape
    (100,)
    """
    settings = FitSettings(model, unfairness, max_gap, missing, test_size, seed)
    if isinstance(data, str | Path):
        if is_large(data):
            return fit_large_file(Path(data), roles, settings, pool=pool, progress=progress)
        data = read_frame(data)
    progress("encoding the columns")
    table = EncodedTable.from_frame(data, roles, test_size=test_size, seed=seed, missing=missing)
    encoded_pool = None if pool is None else table.encode_pool(pool)
    progress("selecting the model")
    train = table.train
    estimator, selection = select_estimator(train, settings)
    progress("fitting")
    estimator.fit(train.X, train.y, **train.metadata, pool=encoded_pool)
    progress("predicting")
    return TableModel.from_estimator(estimator, table, encoded_pool, selection)
