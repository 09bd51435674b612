"""Predictions for the rows of a file, some at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

from meanparity.exceptions import warn
from meanparity.persistence import Saved
from meanparity.tabular.kinds import conformed, new_values
from meanparity.tabular.preparing import encoded, require_columns
from meanparity.tabular.reading import read_batches
from meanparity.tabular.writing import write_parts


def score_file(
    saved: Saved, source: str | Path, out: str | Path, *, unfairness: float | None = None
) -> int:
    """Write the rows of a file with one more column, and count them.

    Parameters
    ----------
    saved : Saved
        A model that ``meanparity fit`` wrote.
    source, out : str or path
        Files in and out; the extensions tell the formats.
    unfairness : float, optional
        The dial's position; the model's own by default.
    """
    about, model = saved.about, saved.model
    needed = {"columns", "kinds", "categories", "target", "unfairness"}
    if not isinstance(about, dict) or not needed <= set(about) or not isinstance(model, Pipeline):
        raise ValueError(
            "This file holds no model of a table. Load it with meanparity.persistence."
        )
    columns, kinds, name = about["columns"], about["kinds"], f"predicted {about['target']}"
    texts = {column: "text" for column, kind in kinds.items() if kind == "text"}
    new: dict[str, set[str]] = {}
    steps, estimator = model[:-1], model[-1]
    function = estimator if unfairness is None else estimator.tradeoff_.at(unfairness)

    def scored() -> Iterator[Any]:
        for part in read_batches(source, texts):
            require_columns(part, columns, Path(source).name)
            if name in part.columns:
                raise ValueError(f"{Path(source).name} has a column {name!r} already. Rename it.")
            rows = conformed(part, kinds, Path(source).name)
            for column, values in new_values(rows, about["categories"]).items():
                new.setdefault(column, set()).update(values)
            yield part.assign(**{name: function.predict(encoded(steps, rows))})

    count = write_parts(scored(), out)
    for column, values in new.items():
        warn(
            f"{len(values)} values of {column!r} were not seen in fit, such as "
            f"{min(values)!r}: they count as no value of it."
        )
    return count
