"""Communities and Crime: violent crime in 1993 communities of the United States."""

from collections.abc import Mapping
from typing import Any, Literal, overload

import numpy as np
from sklearn.utils import Bunch

from meanparity._typing import FloatArray
from meanparity.datasets._bunch import Variant, is_paper, paper_bunch
from meanparity.datasets._bundled import import_pandas, read_description, read_table
from meanparity.datasets._fetched import read_csv

_TARGET = "ViolentCrimesPerPop"
_SENSITIVE = "majority_white"
_RACE_COLUMNS = ["racepctblack", "racePctWhite", "racePctAsian", "racePctHisp"]


@overload
def load_communities_crime(
    *, variant: Variant = ..., as_frame: bool = ..., return_X_y: Literal[False] = ...
) -> Bunch: ...
@overload
def load_communities_crime(
    *, variant: Variant = ..., as_frame: bool = ..., return_X_y: Literal[True]
) -> tuple[Any, Any]: ...
def load_communities_crime(
    *,
    variant: Variant = "full",
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Bunch | tuple[Any, Any]:
    """Load Communities and Crime: 1993 communities, 95 features, a binary sensitive attribute.

    The target is the number of violent crimes per head. Every number was scaled to [0, 1] by the
    creator of the data, each column by its own range, and no value is missing.

    The sensitive attribute is 1 where ``racePctWhite`` is the largest of ``racepctblack``,
    ``racePctWhite``, ``racePctAsian`` and ``racePctHisp``, else 0; a tie (8 rows) goes to the
    first of them in this order. The four are compared as scaled, so 1 says that the community's
    white share stands highest within its range, not that most inhabitants are white.

    Parameters
    ----------
    variant : {"full", "paper"}, default="full"
        "paper": the table of the paper's experiments, with 1994 rows and 118 features, in which 0
        stands for what is missing. It is looked for in the folder that the environment variable
        MEANPARITY_DATA names, then in the cache, and is else downloaded once (``pip install
        'meanparity[datasets]'``).
    as_frame : bool, default=False
        Return pandas objects instead of arrays; the numbers are the same. Needs pandas.
    return_X_y : bool, default=False
        Return ``(data, target)`` only. The sensitive attribute is in the Bunch alone.

    Returns
    -------
    Bunch or tuple
        ``(data, target)`` if ``return_X_y``, else a Bunch with (for the full variant)

        data : float64 array or DataFrame of shape (1993, 95)
            Neither the four race columns nor the sensitive attribute are among the features; to
            use the latter as one, append it: ``np.column_stack([data, sensitive])``.
        target : float64 array or Series of shape (1993,)
            ``ViolentCrimesPerPop``, in [0, 1].
        sensitive : int64 array or Series of shape (1993,)
            ``majority_white``: 1571 ones and 422 zeros.
        feature_names, target_names, sensitive_names : list of str
            The columns of `data`, and ``["ViolentCrimesPerPop"]`` and ``["majority_white"]``.
        frame : DataFrame of shape (1993, 102) or None
            With ``as_frame`` the whole bundled table, with the community's name and the four race
            columns, and ``majority_white`` as last column.
        DESCR : str
            Source, creator, licence (CC BY 4.0), changes and checksums.

    Notes
    -----
    The paper's file has one more row and 23 more columns, nearly all of them empty in 84 % of the
    rows; ``DESCR`` says which. Numbers fitted to the full variant are therefore close to, not equal
    to, those fitted to the paper's.

    Examples
    --------
    >>> from meanparity.datasets import load_communities_crime
    >>> crime = load_communities_crime()
    >>> crime.data.shape, crime.feature_names[:2]
    ((1993, 95), ['population', 'householdsize'])
    >>> for group in (0, 1):
    ...     print(group, crime.target[crime.sensitive == group].mean().round(3))
    0 0.474
    1 0.175
    """
    if is_paper(variant):
        options = {"as_frame": as_frame, "return_X_y": return_X_y}
        text = read_description("communities_crime")
        return paper_bunch(_paper_table(), _TARGET, _SENSITIVE, **options, description=text)
    header, rows = read_table("communities_crime")
    names, *columns = zip(*rows, strict=True)
    table = dict(zip(header[1:], np.array(columns, dtype=np.float64), strict=True))
    feature_names = [name for name in table if name not in (*_RACE_COLUMNS, _TARGET)]

    data: Any = np.column_stack([table[name] for name in feature_names])
    target: Any = table[_TARGET]
    sensitive: Any = _majority_white(table)
    frame: Any = None
    if as_frame:
        frame = import_pandas().DataFrame({header[0]: names, **table, _SENSITIVE: sensitive})
        data, target, sensitive = frame[feature_names], frame[_TARGET], frame[_SENSITIVE]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        sensitive=sensitive,
        feature_names=feature_names,
        target_names=[_TARGET],
        sensitive_names=[_SENSITIVE],
        frame=frame,
        DESCR=read_description("communities_crime"),
    )


def _majority_white(table: Mapping[str, FloatArray]) -> Any:
    largest = np.argmax([table[name] for name in _RACE_COLUMNS], axis=0)
    return (largest == _RACE_COLUMNS.index("racePctWhite")).astype(np.int64)


def _paper_table() -> dict[str, FloatArray]:
    """The columns of the paper's experiments, with 0 for what is missing."""
    header, rows = read_csv("communities.csv")
    columns = np.array([[value or "0" for value in row] for row in rows], dtype=np.float64).T
    table = dict(zip(header, columns, strict=True))
    table[_SENSITIVE] = _majority_white(table)
    return {name: values for name, values in table.items() if name not in _RACE_COLUMNS}
