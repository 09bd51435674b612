"""Law School: grades of law students, from the National Longitudinal Bar Passage Study."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from meanparity._typing import FloatArray
from meanparity.datasets._bunch import (
    ArrayBunch,
    FrameBunch,
    Variant,
    is_paper,
    make_bunch,
    paper_rows,
)
from meanparity.datasets._fetched import read_csv

_TARGET = "ugpa"
_WHITE = "7"  # the file's code


@overload
def fetch_law_school(
    *, variant: Variant = ..., as_frame: Literal[False] = ..., return_X_y: Literal[False] = ...
) -> ArrayBunch: ...
@overload
def fetch_law_school(
    *, variant: Variant = ..., as_frame: Literal[True], return_X_y: Literal[False] = ...
) -> FrameBunch: ...
@overload
def fetch_law_school(
    *, variant: Variant = ..., as_frame: Literal[False] = ..., return_X_y: Literal[True]
) -> tuple[FloatArray, FloatArray]: ...
@overload
def fetch_law_school(*, variant: Variant = ..., as_frame: bool, return_X_y: bool = ...) -> Any: ...
def fetch_law_school(
    *, variant: Variant = "full", as_frame: bool = False, return_X_y: bool = False
) -> Any:
    """Fetch Law School: 20,800 students with their undergraduate grade, race and gender.

    The file is not bundled. It is read from the folder named by the environment variable
    MEANPARITY_DATA, or from the cache, or else downloaded once (``pip install
    'meanparity[datasets]'``), and its checksum is verified. Rows with an unknown value are left
    out.

    Parameters
    ----------
    variant : {"full", "paper"}, default="full"
        "paper" gives the 1,000 rows and the encoding of the paper's experiments: the target is the
        grade divided by 4, the sensitive attribute is race alone (1 for white, 0 for other), and
        gender (1 for male) is a feature.
    as_frame : bool, default=False
        Return pandas objects instead of arrays, with the same numbers; this needs pandas.
    return_X_y : bool, default=False
        Return only ``(data, target)``, without the sensitive attributes.

    Returns
    -------
    Bunch or tuple
        ``(data, target)`` if ``return_X_y``, else a Bunch with

        data : float64 array or DataFrame of shape (20800, 8), or (1000, 9)
            ``cluster`` (of the school), ``lsat``, ``zfygpa``, ``zgpa``, ``bar1`` (1 if the bar
            exam was passed at the first attempt), ``fulltime``, ``fam_inc`` and ``age``, as coded
            in the file.
        target : float64 array or Series of shape (20800,) or (1000,)
            ``ugpa``, from 0 to 4; in the paper's variant from 0 to 1.
        sensitive : object array or DataFrame of shape (20800, 2)
            ``race`` (white, other) and ``gender`` (female, male), as text; in the paper's variant
            an int64 array or Series of shape (1000,).
        feature_names, target_names, sensitive_names : list of str
            The columns of `data`, `target` and `sensitive`.
        frame : DataFrame or None
            With ``as_frame``, all columns in one data frame.
        DESCR : str
            Source, columns and checksum.

    See Also
    --------
    load_adult : A bundled table.

    Examples
    --------
    Once the file is available::

        law = fetch_law_school()
        ParityRidge().fit(law.data, law.target, sensitive_features=law.sensitive[:, 0])

    >>> fetch_law_school(variant="small")
    Traceback (most recent call last):
        ...
    ValueError: variant='small' is not known. Pass 'full' or 'paper'.
    """
    paper = is_paper(variant)
    header, rows = read_csv("lawschool.csv")
    complete = [row for row in rows if not {"", "NA"}.intersection(row)]
    text = {name: np.array(v) for name, v in zip(header, zip(*complete, strict=True), strict=True)}
    white, male = text["race"] == _WHITE, text["gender"] == "male"
    coded = {**text, "race": white, "gender": male, "bar1": text["bar1"] == "P"}
    table: dict[str, Any] = {name: values.astype(np.float64) for name, values in coded.items()}
    sensitive: str | list[str] = "race"
    if paper:
        keep = paper_rows(len(complete), 1000)
        table = {name: values[keep] for name, values in table.items()}
        table |= {_TARGET: table[_TARGET] / 4, "race": table["race"].astype(np.int64)}
    else:
        sensitive = ["race", "gender"]
        features = [name for name in table if name not in (*sensitive, _TARGET)]
        table = {
            **{name: table[name] for name in features},
            "race": np.where(white, "white", "other").astype(object),
            "gender": text["gender"].astype(object),
            _TARGET: table[_TARGET],
        }
    return make_bunch(
        "law_school", table, _TARGET, sensitive, as_frame=as_frame, return_X_y=return_X_y
    )
