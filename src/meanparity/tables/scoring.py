"""Scoring the rows of a file with a saved model, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from meanparity.data.delimited import ANY_LAYOUT, Layout
from meanparity.data.fit_input import check_unfairness
from meanparity.persistence import Saved
from meanparity.tables.encoding import Encoder, warn_about_unknown
from meanparity.tables.kinds import with_columns
from meanparity.tables.known_groups import KnownGroups
from meanparity.tables.losses import predict_ends, predict_values
from meanparity.tables.reading import TableFile
from meanparity.tables.writing import write_batches

_NEEDED = {"columns", "kinds", "categories", "target", "unfairness"}


def score_file(
    saved: Saved,
    source: str | Path,
    out: str | Path,
    *,
    unfairness: float | None = None,
    strict: bool = False,
    layout: Layout = ANY_LAYOUT,
) -> int:
    """Copy the rows of a file with one more column, the predictions.

    Parameters
    ----------
    saved : Saved
        A model written by ``meanparity fit``, or saved with ``about=TableModel.about()``.
    source, out : str or path
        Input and output files. Their extensions determine the formats.
    unfairness : float, optional
        Position between the predictions of the constrained model (0) and of the unconstrained one
        (1); by default that of
        the saved model, which is the only one that a minimal file contains.
    strict : bool, default=False
        Refuse rows whose sensitive or control cells are empty, or have values that the model was
        not fitted to, instead of counting them in a warning.
    layout : Layout
        How a text file is written, if that should not be found out.

    Returns
    -------
    int
        Number of rows.

    See Also
    --------
    fit_table : Makes the model.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from meanparity.persistence import read, save
    >>> from meanparity.tables import Roles, fit_table, read_frame, write_frame
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> frame = pd.DataFrame({"sex": ["F", "M"] * 30, "x": np.arange(60) / 2})
    >>> fitted = fit_table(frame.assign(y=frame["x"]), Roles("y", ("sex",)), model="linear")
    >>> save(fitted.pipeline, folder / "model.meanparity", about=fitted.about())
    >>> write_frame(frame, folder / "new.csv")
    >>> score_file(read(folder / "model.meanparity"), folder / "new.csv", folder / "scored.csv")
    60
    >>> list(read_frame(folder / "scored.csv").columns)
    ['sex', 'x', 'predicted y']
    """
    about, pipeline = saved.about, saved.model
    if not (isinstance(about, dict) and set(about) >= _NEEDED and isinstance(pipeline, Pipeline)):
        raise ValueError(
            "This file does not contain a model of a table. Load it with meanparity.persistence "
            "and call predict."
        )
    with _fitting_parts():
        encoder = Encoder(pipeline[:-1], about["kinds"], about["categories"])
        estimator = pipeline[-1]
        text_columns = {column: "str" for column, kind in encoder.kinds.items() if kind == "text"}
        groups = [*about.get("sensitive", ()), *about.get("control", ())]
        known = KnownGroups.from_about(about)
        outside = known.nobody()
        own = None if about["unfairness"] is None else float(about["unfairness"])
    if unfairness is not None:
        if saved.minimal:
            which = "" if own is None else f", with unfairness {own:.3g}"
            raise ValueError(
                "The unfairness of a minimal model file cannot be changed, because the file "
                f"contains one model only{which}. Predict "
                "without --unfairness, or fit the model again without --minimal (unfairness=None "
                "and minimal=False in Python)."
            )
        check_unfairness(unfairness)
    target, name = f"predicted {about['target']}", Path(source).name
    # columns that are only copied keep what is written in them, such as the identifier 007
    names = TableFile(source, layout=layout).names
    copied = [column for column in names if column not in encoder.kinds]
    as_written = [*groups, *copied]
    unknown: dict[str, set[str]] = {}
    if strict:
        known.refuse_missing_columns(names, name)

    def scored_batches() -> Iterator[pd.DataFrame]:
        nonlocal outside
        for batch in TableFile(source, as_written, layout).batches(text_columns):
            if target in batch.columns:
                raise ValueError(f"{name} already has a column {target!r}. Rename it.")
            with _fitting_parts():
                X, found = encoder.encode(batch, name)
                for column, values in found.items():
                    unknown.setdefault(column, set()).update(values)
                outside += known.look_at(batch)
            if strict:
                outside.refuse(name)
            with _fitting_parts(), np.errstate(over="ignore", invalid="ignore"):
                if unfairness is None:
                    predicted = predict_values(estimator, X)
                else:
                    predicted = predict_ends(estimator, X) @ [1 - unfairness, unfairness]
                finite = np.isfinite(predicted)
            if not finite.all():
                row = int(batch.index[int(finite.argmin())]) + 1
                raise ValueError(
                    f"The prediction for row {row} of {name} is not a finite number. The numbers "
                    "in this row are too large, or the model file is not one that a fit wrote."
                )
            yield with_columns(batch, {target: predicted})

    n_rows = write_batches(scored_batches(), out)
    warn_about_unknown(name, unknown)
    outside.note(name)
    return n_rows


@contextmanager
def _fitting_parts() -> Iterator[None]:
    """Say so if the parts of a model file do not fit together, whatever that leads to."""
    try:
        yield
    except (ValueError, OSError, ImportError, MemoryError):
        raise
    except Exception as error:
        raise ValueError(
            "The model file is damaged, or was not written by meanparity fit: its parts do not fit "
            f"together ({type(error).__name__}: {error}). Fit the model again."
        ) from error
