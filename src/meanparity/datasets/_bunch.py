"""What the loaders share: choosing a variant, and making a Bunch from named columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch

from meanparity._typing import FloatArray
from meanparity.datasets._bundled import import_pandas, read_description

Variant = Literal["full", "paper"]

if TYPE_CHECKING:
    import pandas as pd

    class _Loaded(dict[str, Any]):
        feature_names: list[str]
        target_names: list[str]
        sensitive_names: list[str]
        DESCR: str

    class ArrayBunch(_Loaded):
        """What a loader returns: arrays."""

        data: FloatArray
        target: FloatArray
        sensitive: NDArray[Any]
        frame: None

    class FrameBunch(_Loaded):
        """What a loader returns with ``as_frame=True``: objects of pandas."""

        data: pd.DataFrame
        target: pd.Series[Any]
        sensitive: pd.DataFrame | pd.Series[Any]
        frame: pd.DataFrame

else:  # type checkers would allow every attribute of scikit-learn's Bunch
    ArrayBunch = FrameBunch = Bunch


def is_paper(variant: str) -> bool:
    """Return whether the variant of the paper is requested.

    Examples
    --------
    >>> is_paper("paper"), is_paper("full")
    (True, False)
    """
    if variant not in get_args(Variant):
        raise ValueError(f"variant={variant!r} is not known. Pass 'full' or 'paper'.")
    return variant == "paper"


def paper_rows(n: int, size: int) -> Any:
    """Return which `size` of n rows the paper's experiments use, in their order: (size,).

    Examples
    --------
    >>> paper_rows(20800, 1000)[:3]
    array([ 4864,  5515, 12607])
    """
    keep, _ = train_test_split(np.arange(n), test_size=1 - size / n, random_state=4)
    return keep


def make_bunch(
    name: str,
    table: Mapping[str, Any],
    target: str,
    sensitive: str | list[str],
    *,
    not_features: Sequence[str] = (),
    as_frame: bool,
    return_X_y: bool,
) -> Any:
    """Return a Bunch made from named columns, or ``(data, target)`` only.

    Parameters
    ----------
    name : str
        Name of the description in ``data/``.
    table : mapping of str to column
        All columns, in the order of the data frame.
    target : str
        The target column.
    sensitive : str or list of str
        The sensitive column, or several of them.
    not_features : sequence of str
        Further columns that are not features.
    as_frame, return_X_y : bool
        As in the loaders.

    Examples
    --------
    >>> table = {"a": np.array([1.0, 2.0]), "s": np.array([0, 1]), "y": np.array([3.0, 4.0])}
    >>> make_bunch("adult", table, "y", "s", as_frame=False, return_X_y=False).feature_names
    ['a']
    """
    sensitive_names = [sensitive] if isinstance(sensitive, str) else sensitive
    others = {target, *sensitive_names, *not_features}
    features = [column for column in table if column not in others]
    frame: Any = None
    if as_frame:
        frame = import_pandas().DataFrame(table)
        data, y, s = frame[features], frame[target], frame[sensitive]
    else:
        data, y = np.column_stack([table[column] for column in features]), table[target]
        if isinstance(sensitive, str):
            s = table[sensitive]
        else:
            s = np.stack([np.array(table[name], dtype=object) for name in sensitive], axis=1)
    if return_X_y:
        return data, y
    return Bunch(
        data=data,
        target=y,
        sensitive=s,
        feature_names=features,
        target_names=[target],
        sensitive_names=list(sensitive_names),
        frame=frame,
        DESCR=read_description(name),
    )
