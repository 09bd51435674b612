"""Fitting a model to a table: split, select, fit, predict."""

from __future__ import annotations

import filecmp
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from meanparity._typing import MissingValues
from meanparity.constraints import MeanParity
from meanparity.data.delimited import ANY_LAYOUT, Layout
from meanparity.data.fit_input import check_unfairness
from meanparity.data.pool import Pool
from meanparity.data.rows import Rows
from meanparity.exceptions import ParityWarning, warn
from meanparity.report.models import AT_SAME_PENALTY
from meanparity.report.small_cells import check_min_cell
from meanparity.report.summary import require_groups
from meanparity.tables.encoding import EncodedRows, EncodedTable
from meanparity.tables.large_files import fit_batches, predict_batches, sample_rows
from meanparity.tables.losses import LOSSES, check_loss, recognise_loss, suitable_loss
from meanparity.tables.model import TableModel, predict_rows, slider_of
from meanparity.tables.reading import TableFile
from meanparity.tables.roles import Roles
from meanparity.tables.selecting import LOSS, MODELS, select_estimator, select_loss, selection_steps
from meanparity.tables.steps import Steps
from meanparity.tradeoff.budgets import Kind

_MANY_OUTSIDE = 0.01  # of the predictions that are outside 0 to 1


def fit_table(
    data: Any,
    roles: Roles,
    *,
    pool: Any = None,
    model: str = "auto",
    unfairness: float = 0.0,
    max_gap: float | None = None,
    budget: Kind | None = None,
    loss: str = "auto",
    missing: MissingValues = "error",
    degree: int = 1,
    min_group_size: int = 10,
    test_size: float = 0.2,
    seed: int = 0,
    min_cell: int = 1,
    layout: Layout = ANY_LAYOUT,
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
        A table with numbers, text, dates and empty cells, or a file, of which sensitive and control
        columns are read as they are written; see `read_frame`.
    roles : Roles
        The role of each column.
    pool : pandas data frame, str or path, optional
        Rows to be scored, on which the constraint holds as well: a table or a file.
    model : {"auto", "linear", "kernel"}, default="auto"
        "auto" selects the model with the smaller error on left-out rows.
    unfairness, max_gap
        As in `ParityRidge`. An unfairness between 0 and 1 needs the squared error.
    budget : {"gap", "smd", "norm"}, optional
        What the slider of the report limits, as in `ParityRidge.report`.
    loss : {"auto", "squared", "logistic", "poisson", "gamma"}, default="auto"
        What is minimised. "auto" recognises outcomes of 0 and 1, counts, and amounts, and takes
        their loss if that has the smaller squared error on left-out rows. With these losses,
        predictions are probabilities or positive numbers, whose means are equal.
    missing : {"error", "ignore", "group"}, default="error"
        What to do with empty sensitive and control cells, as in `MeanParity`.
    degree, min_group_size
        As in `MeanParity`.
    test_size : float, default=0.2
        Share of the rows to hold out.
    seed : int, default=0
        Random seed.
    min_cell : int, default=1
        The smallest number of people about whom a report will say anything. Rows in which fewer
        than two groups would be left are refused before the fit.
    layout : Layout
        How text files are written, if that should not be found out.
    progress : callable, optional
        Receives messages about what is being done. From the choice of a model on, they begin with
        the number of the step and the number of steps.

    Returns
    -------
    TableModel

    See Also
    --------
    score_file : Predictions for a file.

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
    if model not in MODELS:
        raise ValueError(f"model={model!r} is not known. Pass one of {', '.join(MODELS)}.")
    if loss not in LOSSES:
        raise ValueError(f"loss={loss!r} is not known. Pass one of {', '.join(LOSSES)}.")
    check_unfairness(unfairness)
    held_out_in_pool = _is_same_table(data, pool)
    if held_out_in_pool:
        warn(
            "The pool is the same table as the data. The means are equal over all of its rows, "
            "held-out rows included, so these no longer show how large gaps are among other "
            "people. For that, leave out the pool, or name the rows that are to be scored."
        )
    file = TableFile(data, roles.groups, layout) if isinstance(data, str | Path) else None
    large_file = file if file is not None and file.is_large else None
    if large_file is not None:
        progress("reading a sample")
        frame, n_rows = sample_rows(large_file, seed)
    else:
        frame = data.reset_index(drop=True) if file is None else file.read()
        n_rows = len(frame)
    progress("encoding the columns")
    table = EncodedTable.from_frame(frame, roles, test_size=test_size, seed=seed, missing=missing)
    if isinstance(pool, str | Path):
        texts = {name: "str" for name, kind in table.metadata_kinds.items() if kind == "text"}
        pool = TableFile(pool, roles.groups, layout).read(texts)
    pool_rows = None if pool is None else table.encode_pool(pool)
    if check_min_cell(min_cell) > 1:
        sets = {"training rows": table.train, "held-out rows": table.test}
        if large_file is not None:  # of which these are a sample
            del sets["training rows"]
        if pool_rows is not None:
            sets["rows of the pool"] = pool_rows
        groups = {name: _groups_of(rows, table, missing) for name, rows in sets.items()}
        require_groups(groups, min_cell)
    encoded_pool = None if pool_rows is None else Pool(pool_rows.X, **pool_rows.metadata)
    in_memory, mixed = large_file is None, unfairness not in (0.0, 1.0)
    names = selection_steps(len(table.train.X), model)
    if in_memory and not mixed and suitable_loss(loss, table.train.y) != "squared":
        names.append(LOSS)
    progress = Steps([*names, "fitting", "predicting"], progress)
    constraint = MeanParity(
        continuous=table.continuous, degree=degree, missing=missing, min_group_size=min_group_size
    )
    selected = select_estimator(
        table.train,
        model,
        constraint=constraint,
        unfairness=unfairness,
        seed=seed,
        large=large_file is not None,
        progress=progress,
    )
    estimator, selection = selected.estimator, selected.description
    squared, auto_squared = estimator, False
    if in_memory and not mixed:
        check_loss(loss, table.train.y, str(roles.target))
        estimator, chosen = select_loss(
            squared, loss, table.train, unfairness=unfairness, seed=seed, progress=progress
        )
        if estimator is not squared:  # which has a penalty of its own
            selection = re.sub(r", penalty [^,;]+", "", selection, count=1)
        selection += f"; {chosen}" if chosen else ""
        auto_squared = loss == "auto" and estimator is squared
    elif loss not in ("auto", "squared"):
        reason = (
            "needs all rows in memory, but the file is read in batches"
            if large_file is not None
            else f"has no model with unfairness {unfairness:g}. Limit the gaps with --max-gap "
            "(max_gap in Python) instead"
        )
        raise ValueError(f"The loss {loss!r} {reason}, or pass the loss squared.")
    for candidate in (estimator, squared):
        candidate.set_params(unfairness=unfairness, max_gap=max_gap)
    best, without = None, AT_SAME_PENALTY
    if large_file is None:
        progress("fitting")
        people = {**table.train.metadata, "pool": encoded_pool}
        X, y = table.train.X, table.train.y
        price = selected.price if max_gap is None else None  # which was not selected for
        try:
            if estimator is not squared:
                estimator.fit(X, y, **people)
        except ValueError as error:
            if loss != "auto":
                raise
            warn(f"The squared error is minimised, as the other loss failed: {error}")
            estimator = squared
        if estimator is squared:
            replace(selected, price=price).fit(X, y, **people)
        if estimator is squared and unfairness < 1:
            without = selected.described_free
            if not selected.is_best_free:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ParityWarning)
                    best = selected.free.fit(X, y, **table.train.metadata)
        progress("predicting")
        slider = slider_of(estimator, budget)
        train = predict_rows(
            estimator,
            slider,
            "training rows",
            table.train,
            constrained=True,
            best=best,
            without=without,
        )
    else:
        fit_batches(estimator, large_file, table, encoded_pool, n_rows, progress)
        slider = slider_of(estimator, budget)
        train = predict_batches(estimator, slider, large_file, table, n_rows, progress)
    held_out = predict_rows(
        estimator,
        slider,
        "held-out rows",
        table.test,
        constrained=held_out_in_pool,
        best=best,
        without=without,
    )
    if auto_squared:
        _warn_about_probabilities(estimator, table.test, str(roles.target))
    row_sets = [train, held_out]
    n_dropped = n_rows - sum(map(len, row_sets))
    if pool_rows is not None:
        imposed = predict_rows(estimator, slider, "rows of the pool", pool_rows, constrained=True)
        row_sets.append(imposed)
    return TableModel(table, estimator, selection, tuple(row_sets), n_dropped, slider)


def _warn_about_probabilities(estimator: Any, rows: EncodedRows, target: str) -> None:
    """Predictions of an outcome of 0 and 1 that are no probabilities, for held-out rows."""
    if not len(rows.y) or recognise_loss(rows.y) != "logistic":
        return
    predicted = estimator.predict(rows.X)
    n, low, high = int(((predicted < 0) | (predicted > 1)).sum()), predicted.min(), predicted.max()
    if n > _MANY_OUTSIDE * len(predicted):
        warn(
            f"{n:,} of {len(predicted):,} predictions for held-out rows are below 0 or above 1 "
            f"(from {low:.3g} to {high:.3g}), although {target} is 0 or 1. Pass --loss logistic "
            "(loss='logistic' in Python) for predictions that are probabilities."
        )


def _groups_of(rows: EncodedRows, table: EncodedTable, missing: str) -> Rows:
    """Rows as a constraint sees them."""
    people = {name: part for name, part in rows.metadata.items() if name != "sample_weight"}
    return Rows.from_columns(**people, continuous=table.continuous, missing=missing)


def _is_same_table(data: Any, pool: Any) -> bool:
    """Whether two files, or two frames, have the same content."""
    if isinstance(data, str | Path) and isinstance(pool, str | Path):
        return filecmp.cmp(data, pool, shallow=False)
    return isinstance(data, pd.DataFrame) and data.equals(pool)
