"""Communities and Crime: violent crime in 1993 communities of the United States."""

from collections.abc import Mapping
from typing import Any, Literal, overload

import numpy as np

from meanparity._typing import FloatArray
from meanparity.datasets._bunch import ArrayBunch, FrameBunch, Variant, is_paper, make_bunch
from meanparity.datasets._bundled import read_bundled
from meanparity.datasets._fetched import read_csv

_TARGET = "ViolentCrimesPerPop"
_SENSITIVE = "majority_white"
_RACE_COLUMNS = ["racepctblack", "racePctWhite", "racePctAsian", "racePctHisp"]


@overload
def load_communities_crime(
    *, variant: Variant = ..., as_frame: Literal[False] = ..., return_X_y: Literal[False] = ...
) -> ArrayBunch: ...
@overload
def load_communities_crime(
    *, variant: Variant = ..., as_frame: Literal[True], return_X_y: Literal[False] = ...
) -> FrameBunch: ...
@overload
def load_communities_crime(
    *, variant: Variant = ..., as_frame: Literal[False] = ..., return_X_y: Literal[True]
) -> tuple[FloatArray, FloatArray]: ...
@overload
def load_communities_crime(
    *, variant: Variant = ..., as_frame: bool, return_X_y: bool = ...
) -> Any: ...
def load_communities_crime(
    *, variant: Variant = "full", as_frame: bool = False, return_X_y: bool = False
) -> Any:
    """Load Communities and Crime: 1993 communities, 95 features, a binary sensitive attribute.

    The target is the number of violent crimes per head. The creator of the data scaled every
    column to [0, 1] by its own range. No value is missing.

    The sensitive attribute is 1 if ``racePctWhite`` is the largest of ``racepctblack``,
    ``racePctWhite``, ``racePctAsian`` and ``racePctHisp``, and 0 otherwise; ties (8 rows) go to
    the first of them in this order. The four columns are compared as scaled, so 1 means that the
    white share of the community is the highest relative to its range, not that most inhabitants
    are white.

    Parameters
    ----------
    variant : {"full", "paper"}, default="full"
        "paper" gives the table of the paper's experiments, with 1994 rows and 118 features, in
        which missing values are 0. The file is read from the folder named by the environment
        variable MEANPARITY_DATA, or from the cache, or else downloaded once (``pip install
        'meanparity[datasets]'``).
    as_frame : bool, default=False
        Return pandas objects instead of arrays, with the same numbers; this needs pandas.
    return_X_y : bool, default=False
        Return only ``(data, target)``, without the sensitive attribute.

    Returns
    -------
    Bunch or tuple
        ``(data, target)`` if ``return_X_y``, else a Bunch with (for the full variant)

        data : float64 array or DataFrame of shape (1993, 95)
            Neither the four race columns nor the sensitive attribute are among the features. To
            use the latter as a feature: ``np.column_stack([data, sensitive])``.
        target : float64 array or Series of shape (1993,)
            ``ViolentCrimesPerPop``, in [0, 1].
        sensitive : int64 array or Series of shape (1993,)
            ``majority_white``: 1571 ones and 422 zeros.
        feature_names, target_names, sensitive_names : list of str
            The columns of `data`, and ``["ViolentCrimesPerPop"]`` and ``["majority_white"]``.
        frame : DataFrame of shape (1993, 102) or None
            With ``as_frame``, the whole bundled table, including the name of the community and
            the four race columns, with ``majority_white`` as the last column.
        DESCR : str
            Source, creator, licence (CC BY 4.0), changes and checksums.

    See Also
    --------
    load_adult : A larger table, with ten groups.

    Notes
    -----
    The paper's file has one more row and 23 more columns, nearly all of which are empty in 84 % of
    the rows; ``DESCR`` lists them. Results on the full variant are therefore close, but not equal,
    to those on the paper's variant.

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
        table, not_features = _paper_table(), []
    else:
        header, rows = read_bundled("communities_crime")
        names, *columns = zip(*rows, strict=True)
        numbers = dict(zip(header[1:], np.array(columns, dtype=np.float64), strict=True))
        table = {header[0]: names, **numbers, _SENSITIVE: _majority_white(numbers)}
        not_features = [header[0], *_RACE_COLUMNS]
    return make_bunch(
        "communities_crime",
        table,
        _TARGET,
        _SENSITIVE,
        not_features=not_features,
        as_frame=as_frame,
        return_X_y=return_X_y,
    )


def _majority_white(table: Mapping[str, FloatArray]) -> Any:
    largest = np.argmax([table[name] for name in _RACE_COLUMNS], axis=0)
    return (largest == _RACE_COLUMNS.index("racePctWhite")).astype(np.int64)


def _paper_table() -> dict[str, Any]:
    """Columns of the paper's experiments, with 0 for missing values."""
    header, rows = read_csv("communities.csv")
    columns = np.array([[value or "0" for value in row] for row in rows], dtype=np.float64).T
    table = dict(zip(header, columns, strict=True))
    table[_SENSITIVE] = _majority_white(table)
    return {name: values for name, values in table.items() if name not in _RACE_COLUMNS}
