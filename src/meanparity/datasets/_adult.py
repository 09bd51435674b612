"""Adult: who earns more than 50,000 dollars a year, from the census of 1994."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from meanparity.datasets._bunch import Variant, is_paper, paper_bunch, paper_rows
from meanparity.datasets._bundled import import_pandas, read_description, read_table
from meanparity.datasets._fetched import read_csv

_TARGET = "income>50K"
_SENSITIVE = ["sex", "race"]
_NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")


@overload
def load_adult(
    *, variant: Variant = ..., as_frame: bool = ..., return_X_y: Literal[False] = ...
) -> Bunch: ...
@overload
def load_adult(
    *, variant: Variant = ..., as_frame: bool = ..., return_X_y: Literal[True]
) -> tuple[Any, Any]: ...
def load_adult(
    *,
    variant: Variant = "full",
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Bunch | tuple[Any, Any]:
    """Load Adult: 30,162 people, their income as 0 or 1, two sensitive attributes.

    The bundled file holds the 32,561 rows of the original training part. The 2,399 rows with an
    unknown value ("?") are left out in both forms, as in the paper.

    Parameters
    ----------
    variant : {"full", "paper"}, default="full"
        "paper": the 2,000 rows and the form of the paper's experiments, from a file with the same
        people in another order. It is looked for in the folder that the environment variable
        MEANPARITY_DATA names, then in the cache, and is else downloaded once (``pip install
        'meanparity[datasets]'``). Text columns are 0/1 columns in frames as well, numbers x are
        log(1 + x), race is a feature, and `sensitive` is sex alone, as int64 of shape (2000,)
        (1 female, 0 male).
    as_frame : bool, default=False
        Return pandas objects with the original columns, whole numbers and text. Needs pandas.
        Otherwise return arrays, with each text column replaced by one 0/1 column per label.
    return_X_y : bool, default=False
        Return ``(data, target)`` only. The sensitive attributes are in the Bunch alone.

    Returns
    -------
    Bunch or tuple
        ``(data, target)`` if ``return_X_y``, else a Bunch with (for the full variant)

        data : float64 array of shape (30162, 97) or DataFrame of shape (30162, 12)
            Sex and race are not among the features, so that using them is your decision. To use
            sex as one: ``np.column_stack([data, sensitive[:, 0] == "Female"])``, or with frames
            ``data.join(sensitive["sex"])``.
        target : float64 array or Series of shape (30162,)
            1 where the income is above 50,000 dollars (24.9 % of the rows), else 0.
        sensitive : object array or DataFrame of shape (30162, 2)
            ``sex`` (Female, Male) and ``race`` (Amer-Indian-Eskimo, Asian-Pac-Islander, Black,
            Other, White), as text.
        feature_names, target_names, sensitive_names : list of str
            The columns of `data` (in the array form ``<column>_<label>`` for text columns, labels
            in alphabetical order), ``["income>50K"]`` and ``["sex", "race"]``.
        frame : DataFrame of shape (30162, 15) or None
            With ``as_frame`` the columns of `data`, `sensitive` and `target` side by side.
        DESCR : str
            Source, creators, licence (CC BY 4.0), changes and checksums.

    Notes
    -----
    The columns are on their own scales (``fnlwgt``, a census weight, goes beyond a million):
    standardise them before a kernel that measures distances. The label columns of one text column
    add up to 1, and ``education-num`` numbers the labels of ``education``. ``relationship`` tells
    the sex of many rows (Husband, Wife) although sex itself is left out.

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
        options = {"as_frame": as_frame, "return_X_y": return_X_y}
        return paper_bunch(
            _paper_table(), _TARGET, "sex", **options, description=read_description("adult")
        )
    header, rows = read_table("adult")
    complete = [row for row in rows if "?" not in row]
    table = dict(zip(header, zip(*complete, strict=True), strict=True))
    target: Any = (np.array(table.pop("income-per-year")) == ">50K").astype(np.float64)
    groups = {name: table.pop(name) for name in _SENSITIVE}

    data, sensitive, frame = None, None, None
    if as_frame:
        pandas = import_pandas()
        feature_names = list(table)
        data = pandas.DataFrame(table).astype(dict.fromkeys(_NUMERIC, np.int64))
        sensitive = pandas.DataFrame(groups)
        target = pandas.Series(target, name=_TARGET)
        frame = pandas.concat([data, sensitive, target], axis=1)
    else:
        data, feature_names = _one_hot(table)
        sensitive = np.array(list(zip(*groups.values(), strict=True)), dtype=object)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        sensitive=sensitive,
        feature_names=feature_names,
        target_names=[_TARGET],
        sensitive_names=list(_SENSITIVE),
        frame=frame,
        DESCR=read_description("adult"),
    )


def _paper_table() -> dict[str, NDArray[np.float64]]:
    """The columns of the paper's experiments, all numbers."""
    header, rows = read_csv("adult_full.csv")
    complete = [row for row in rows if "?" not in row]
    names = [name.replace(".", "-") for name in header]
    table = dict(zip(names, zip(*complete, strict=True), strict=True))
    income, sex = np.array(table.pop("income")), np.array(table.pop("sex"))
    data, columns = _one_hot(table)
    data[:, np.isin(columns, _NUMERIC)] = np.log1p(data[:, np.isin(columns, _NUMERIC)])
    keep = paper_rows(len(data), 2000)
    return {
        **dict(zip(columns, data[keep].T, strict=True)),
        "sex": (sex == "Female")[keep].astype(np.float64),
        _TARGET: (income == ">50K")[keep].astype(np.float64),
    }


def _one_hot(table: Mapping[str, Sequence[str]]) -> tuple[NDArray[np.float64], list[str]]:
    """Numeric columns as they are, one 0/1 column per label of the others, and all names."""
    blocks: list[NDArray[Any]] = []
    names: list[str] = []
    for name, column in table.items():
        if name in _NUMERIC:
            blocks.append(np.array(column, dtype=np.float64)[:, None])
            names.append(name)
        else:
            labels = sorted(set(column))
            blocks.append(np.array(column)[:, None] == np.array(labels))
            names += [f"{name}_{label}" for label in labels]
    return np.hstack(blocks, dtype=np.float64), names
