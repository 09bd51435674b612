"""The Adult data set: whether a person earns more than 50,000 dollars, from the 1994 census."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from meanparity._typing import FloatArray
from meanparity.datasets._bunch import (
    ArrayBunch,
    FrameBunch,
    Variant,
    is_paper,
    make_bunch,
    paper_rows,
)
from meanparity.datasets._bundled import read_bundled
from meanparity.datasets._fetched import read_csv

_TARGET = "income>50K"
_SENSITIVE = ["sex", "race"]
_NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")


@overload
def load_adult(
    *, variant: Variant = ..., as_frame: Literal[False] = ..., return_X_y: Literal[False] = ...
) -> ArrayBunch: ...
@overload
def load_adult(
    *, variant: Variant = ..., as_frame: Literal[True], return_X_y: Literal[False] = ...
) -> FrameBunch: ...
@overload
def load_adult(
    *, variant: Variant = ..., as_frame: Literal[False] = ..., return_X_y: Literal[True]
) -> tuple[FloatArray, FloatArray]: ...
@overload
def load_adult(*, variant: Variant = ..., as_frame: bool, return_X_y: bool = ...) -> Any: ...
def load_adult(
    *, variant: Variant = "full", as_frame: bool = False, return_X_y: bool = False
) -> Any:
    """Load the Adult data set: 30,162 people, a binary income, and two sensitive attributes.

    The bundled file contains the 32,561 rows of the original training set. The 2,399 rows with an
    unknown value ("?") are left out, as in the paper.

    Parameters
    ----------
    variant : {"full", "paper"}, default="full"
        "paper" gives the 2,000 rows and the encoding of the paper's experiments, from a file with
        the same people in another order. The file is read from the folder named by the environment
        variable MEANPARITY_DATA, or from the cache, or else downloaded once (``pip install
        'meanparity[datasets]'``). Text columns are 0/1 columns in data frames as well, numbers x
        are transformed to log(1 + x), race is a feature, and `sensitive` is sex alone, int64 of
        shape (2000,) with 1 for female and 0 for male.
    as_frame : bool, default=False
        Return pandas objects with the original columns (integers and text); this needs pandas.
        Otherwise return arrays, with each text column replaced by one 0/1 column for each label.
    return_X_y : bool, default=False
        Return only ``(data, target)``, without the sensitive attributes.

    Returns
    -------
    Bunch or tuple
        ``(data, target)`` if ``return_X_y``, else a Bunch with (for the full variant)

        data : float64 array of shape (30162, 97) or DataFrame of shape (30162, 12)
            Sex and race are not among the features, so that using them is your decision. To use
            sex as a feature: ``np.column_stack([data, sensitive[:, 0] == "Female"])``, or, with
            data frames, ``data.join(sensitive["sex"])``.
        target : float64 array or Series of shape (30162,)
            1 if the income is above 50,000 dollars (24.9 % of the rows), otherwise 0.
        sensitive : object array or DataFrame of shape (30162, 2)
            ``sex`` (Female, Male) and ``race`` (Amer-Indian-Eskimo, Asian-Pac-Islander, Black,
            Other, White), as text.
        feature_names, target_names, sensitive_names : list of str
            The columns of `data` (for arrays, ``<column>_<label>`` for text columns, with labels
            in alphabetical order), ``["income>50K"]`` and ``["sex", "race"]``.
        frame : DataFrame of shape (30162, 15) or None
            With ``as_frame``, the columns of `data`, `sensitive` and `target` in one data frame.
        DESCR : str
            Source, creators, licence (CC BY 4.0), changes and checksums.

    See Also
    --------
    load_communities_crime : A smaller table.

    Notes
    -----
    The columns have different scales (``fnlwgt``, a census weight, exceeds a million), so
    standardise them before using a kernel based on distances. The label columns of one text column
    add up to 1, and ``education-num`` numbers the labels of ``education``. ``relationship``
    reveals the sex in many rows (Husband, Wife), although sex itself is not a feature.

    Examples
    --------
    >>> from meanparity.datasets import load_adult
    >>> adult = load_adult()
    >>> adult.data.shape, adult.feature_names[:3]
    ((30162, 97), ['age', 'workclass_Federal-gov', 'workclass_Local-gov'])
    >>> for sex in ("Female", "Male"):
    ...     print(sex, adult.target[adult.sensitive[:, 0] == sex].mean().round(3))
    Female 0.114
    Male 0.314
    """
    if is_paper(variant):
        table: dict[str, Any] = _paper_table()
        sensitive: str | list[str] = "sex"
    else:
        header, rows = read_bundled("adult")
        columns = _complete_columns(header, rows)
        groups = {name: columns.pop(name) for name in _SENSITIVE}
        target = np.array(columns.pop("income-per-year")) == ">50K"
        if as_frame:
            whole = {name: np.array(columns[name], dtype=np.int64) for name in _NUMERIC}
            features = {name: whole.get(name, values) for name, values in columns.items()}
        else:
            features = _one_hot(columns)
        table = {**features, **groups, _TARGET: target.astype(np.float64)}
        sensitive = list(_SENSITIVE)
    return make_bunch("adult", table, _TARGET, sensitive, as_frame=as_frame, return_X_y=return_X_y)


def _complete_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Columns of the rows without an unknown value."""
    complete = [row for row in rows if "?" not in row]
    return dict(zip(header, zip(*complete, strict=True), strict=True))


def _paper_table() -> dict[str, Any]:
    """Columns of the paper's experiments, all numbers."""
    header, rows = read_csv("adult_full.csv")
    columns = _complete_columns([name.replace(".", "-") for name in header], rows)
    income, sex = np.array(columns.pop("income")), np.array(columns.pop("sex"))
    features = _one_hot(columns)
    features |= {name: np.log1p(features[name]) for name in _NUMERIC}
    keep = paper_rows(len(sex), 2000)
    return {
        **{name: values[keep] for name, values in features.items()},
        "sex": (sex == "Female")[keep].astype(np.int64),
        _TARGET: (income == ">50K")[keep].astype(np.float64),
    }


def _one_hot(table: Mapping[str, Sequence[str]]) -> dict[str, NDArray[np.float64]]:
    """Numeric columns as they are, and one 0/1 column for each label of the others."""
    columns: dict[str, NDArray[np.float64]] = {}
    for name, column in table.items():
        values = np.array(column)
        if name in _NUMERIC:
            columns[name] = values.astype(np.float64)
        else:
            for label in np.unique(values).tolist():
                columns[f"{name}_{label}"] = (values == label).astype(np.float64)
    return columns
