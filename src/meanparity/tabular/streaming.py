"""A model of a file that is too large for a table in memory: some rows at a time, three times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from meanparity._typing import IntArray
from meanparity.report import Part
from meanparity.solvers.statistics import Statistics
from meanparity.tabular.fitting import TableModel, check_settings, choose, finished
from meanparity.tabular.kinds import conformed
from meanparity.tabular.preparing import Prepared, encoded
from meanparity.tabular.reading import read_batches
from meanparity.tabular.roles import Roles

SAMPLE = 100_000  # rows that settle how columns become numbers, the model, and the held-out rows


def fit_file(
    path: Path,
    roles: Roles,
    *,
    pool: Any = None,
    model: str = "auto",
    unfairness: float = 0.0,
    max_gap: float | None = None,
    missing: str = "error",
    test_size: float = 0.2,
    seed: int = 0,
    tell: Callable[[str], None] = lambda words: None,
) -> TableModel:
    """What `fit_table` does, for files of any size.

    A sample of the rows is split; its held-out part is never fitted to, and all other rows are.
    Parity is exact on all of these.

    Parameters
    ----------
    path : path
        The file.
    roles, pool, model, unfairness, max_gap, missing, test_size, seed, tell
        As in `fit_table`.
    """
    check_settings(model, unfairness)
    tell("reading a sample")
    sample, places, total = _sample(path, seed)
    roles.check(sample, path.name)
    known = np.isfinite(roles.numbers(sample, str(roles.target)))
    rows = Prepared.of(sample, roles, test_size=test_size, seed=seed, missing=missing)
    held_out = places[known][rows.test]
    scored = None if pool is None else rows.pool(pool)
    tell("choosing penalty and kernel")
    X, y = rows.X[rows.train], rows.y[rows.train]
    settings = {"missing": missing}
    estimator, words = choose(X, y, rows.people["train"], model, seed, settings, many=True)
    estimator.set_params(unfairness=unfairness, max_gap=max_gap)
    start = estimator.statistics(X, y, **rows.people["train"])
    found: Statistics | None = None
    for X, y, people, seen in _training(path, rows, held_out):
        more = estimator.more(start, X, y, **people)
        found = more if found is None else found + more
        tell(f"fitting: {seen:,} of {total:,} rows")
    assert found is not None
    estimator.fit_statistics(found, pool=scored)
    part = _predicted(estimator, path, rows, held_out, total, tell)
    others = finished(estimator, rows, scored)[1:]
    dropped = total - len(part.fair) - len(held_out)
    parts = (replace(part, constrained=scored is None or estimator.parity_on != "pool"), *others)
    return TableModel.of(estimator, rows, parts, words, dropped)


def _sample(path: Path, seed: int) -> tuple[Any, IntArray, int]:
    """Some rows of the file, all equally likely, where they are in it, and how many there are."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    kept: Any = None
    keys, places, total = np.zeros(0), np.zeros(0, np.intp), 0
    for part in read_batches(path):
        drawn = rng.random(len(part))
        here = np.arange(total, total + len(part))
        total += len(part)
        limit = np.inf if len(keys) < SAMPLE else keys.max()
        maybe = drawn < limit
        kept = part[maybe] if kept is None else pd.concat([kept, part[maybe]])
        keys, places = np.append(keys, drawn[maybe]), np.append(places, here[maybe])
        if len(keys) > SAMPLE:
            best = np.sort(np.argpartition(keys, SAMPLE)[:SAMPLE])
            kept, keys, places = kept.iloc[best], keys[best], places[best]
    return kept.reset_index(drop=True), places, total


def _training(
    path: Path, rows: Prepared, held_out: IntArray
) -> Iterator[tuple[Any, Any, dict[str, Any], int]]:
    """Rows with a target that are not held out, as estimators take them, batch by batch."""
    start, roles = 0, rows.roles
    for part in read_batches(path):
        here = np.arange(start, start + len(part))
        start += len(part)
        y = roles.numbers(part, str(roles.target))
        keep = np.isfinite(y) & ~np.isin(here, held_out)
        some = part[keep].reset_index(drop=True)
        if len(some):
            X = encoded(rows.encoder, conformed(some, rows.kinds, path.name))
            yield X, y[keep], roles.people(some), start


def _predicted(
    estimator: Any,
    path: Path,
    rows: Prepared,
    held_out: IntArray,
    total: int,
    tell: Callable[[str], None],
) -> Part:
    """Predictions of both ends for all training rows."""
    import pandas as pd

    ends, targets, sensitive, control, weights = [], [], [], [], []
    for X, y, people, seen in _training(path, rows, held_out):
        ends.append(estimator.tradeoff_.predict(X, [0.0, 1.0]))
        targets.append(y)
        sensitive.append(people["sensitive_features"])
        control.append(people["control_features"])
        weights.append(people["sample_weight"])
        tell(f"predicting: {seen:,} of {total:,} rows")
    fair, free = np.concatenate(ends, axis=1)
    return Part(
        "training rows",
        fair,
        free,
        pd.concat(sensitive, ignore_index=True),
        np.concatenate(targets),
        None if control[0] is None else pd.concat(control, ignore_index=True),
        None if weights[0] is None else np.concatenate(weights),
    )
