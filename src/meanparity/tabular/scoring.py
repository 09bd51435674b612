"""Predictions for the rows of a file, some at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from meanparity.persistence import Saved
from meanparity.tabular.preparing import require_columns
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
    columns = saved.about.get("columns")
    if not columns:
        raise ValueError(
            "This file holds no model of a table. Load it with meanparity.persistence."
        )
    name = f"predicted {saved.about['target']}"
    model = saved.model
    steps, estimator = model[:-1], model[-1]
    function = estimator if unfairness is None else estimator.tradeoff_.at(unfairness)

    def scored() -> Iterator[Any]:
        for part in read_batches(source):
            require_columns(part, columns, Path(source).name)
            yield part.assign(**{name: function.predict(steps.transform(part[columns]))})

    return write_parts(scored(), out)
