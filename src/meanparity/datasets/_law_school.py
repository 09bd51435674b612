"""Law School: grades of law students, from the National Longitudinal Bar Passage Study."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from sklearn.utils import Bunch

from meanparity.datasets._bunch import Variant, is_paper, paper_bunch, paper_rows
from meanparity.datasets._bundled import import_pandas, read_description
from meanparity.datasets._fetched import read_csv

_TARGET = "ugpa"
_SENSITIVE = ["race", "gender"]
_WHITE = "7"  # the file's code


@overload
def fetch_law_school(
    *, variant: Variant = ..., as_frame: bool = ..., return_X_y: Literal[False] = ...
) -> Bunch: ...
@overload
def fetch_law_school(
    *, variant: Variant = ..., as_frame: bool = ..., return_X_y: Literal[True]
) -> tuple[Any, Any]: ...
def fetch_law_school(
    *,
    variant: Variant = "full",
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Bunch | tuple[Any, Any]:
    """Fetch Law School: 20,800 students, their undergraduate grade, race and gender.

    The file is not bundled. It is looked for in the folder that the environment variable
    MEANPARITY_DATA names, then in the cache, and is else downloaded once (``pip install
    'meanparity[datasets]'``); its checksum is verified. Rows with an unknown value are left out.

    Parameters
    ----------
    variant : {"full", "paper"}, default="full"
        "paper": the 1,000 rows and the form of the paper's experiments: the target is the grade
        divided by 4, the sensitive attribute is race alone (1 white, 0 other), and gender
        (1 male) is a feature.
    as_frame : bool, default=False
        Return pandas objects instead of arrays; the numbers are the same. Needs pandas.
    return_X_y : bool, default=False
        Return ``(data, target)`` only. The sensitive attributes are in the Bunch alone.

    Returns
    -------
    Bunch or tuple
        ``(data, target)`` if ``return_X_y``, else a Bunch with

        data : float64 array or DataFrame of shape (20800, 8), or (1000, 9)
            ``cluster`` (of the school), ``lsat``, ``zfygpa``, ``zgpa``, ``bar1`` (1: passed at
            the first attempt), ``fulltime``, ``fam_inc``, ``age``, as coded in the file.
        target : float64 array or Series of shape (20800,) or (1000,)
            ``ugpa``, from 0 to 4; in the paper's variant from 0 to 1.
        sensitive : object array or DataFrame of shape (20800, 2)
            ``race`` (white, other) and ``gender`` (female, male), as text; in the paper's variant
            an int64 array or Series of shape (1000,).
        feature_names, target_names, sensitive_names : list of str
            The columns of `data`, `target` and `sensitive`.
        frame : DataFrame or None
            With ``as_frame`` all columns side by side.
        DESCR : str
            Source, columns and checksum.

    Examples
    --------
    Once the file is there::

        law = fetch_law_school()
        ParityRidge().fit(law.data, law.target, sensitive_features=law.sensitive[:, 0])
    """
    paper = is_paper(variant)
    header, rows = read_csv("lawschool.csv")
    complete = [row for row in rows if not {"", "NA"}.intersection(row)]
    text = {name: np.array(v) for name, v in zip(header, zip(*complete, strict=True), strict=True)}
    white, male = text["race"] == _WHITE, text["gender"] == "male"
    table = {**text, "race": white, "gender": male, "bar1": text["bar1"] == "P"}
    numbers = {name: values.astype(np.float64) for name, values in table.items()}
    description = read_description("law_school")
    if paper:
        keep = paper_rows(len(complete), 1000)
        numbers = {name: values[keep] for name, values in numbers.items()}
        numbers[_TARGET] = numbers[_TARGET] / 4
        options = {"as_frame": as_frame, "return_X_y": return_X_y}
        return paper_bunch(numbers, _TARGET, "race", **options, description=description)

    names = [name for name in numbers if name not in (_TARGET, *_SENSITIVE)]
    groups = {
        "race": np.where(white, "white", "other").astype(object),
        "gender": text["gender"].astype(object),
    }
    data: Any = np.column_stack([numbers[name] for name in names])
    target: Any = numbers[_TARGET]
    sensitive: Any = np.column_stack(list(groups.values()))
    frame: Any = None
    if as_frame:
        frame = import_pandas().DataFrame(
            {**{name: numbers[name] for name in names}, **groups, _TARGET: target}
        )
        data, target, sensitive = frame[names], frame[_TARGET], frame[_SENSITIVE]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        sensitive=sensitive,
        feature_names=names,
        target_names=[_TARGET],
        sensitive_names=list(_SENSITIVE),
        frame=frame,
        DESCR=description,
    )
