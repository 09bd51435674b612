"""What the loaders have in common: choosing a variant, and the paper's form of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch

from meanparity._typing import FloatArray
from meanparity.datasets._bundled import import_pandas

Variant = Literal["full", "paper"]


def is_paper(variant: str) -> bool:
    """Whether the paper's variant is asked for.

    Examples
    --------
    >>> is_paper("paper"), is_paper("full")
    (True, False)
    """
    if variant not in get_args(Variant):
        raise ValueError(f"variant={variant!r} is unknown. Pass 'full' or 'paper'.")
    return variant == "paper"


def paper_rows(n: int, size: int) -> Any:
    """Which `size` of n rows the paper's experiments use: (size,) in their order.

    Examples
    --------
    >>> paper_rows(20800, 1000)[:3]
    array([ 4864,  5515, 12607])
    """
    keep, _ = train_test_split(np.arange(n), test_size=1 - size / n, random_state=4)
    return keep


def paper_bunch(
    table: Mapping[str, FloatArray],
    target: str,
    sensitive: str,
    *,
    as_frame: bool,
    return_X_y: bool,
    description: str,
) -> Bunch | tuple[Any, Any]:
    """A Bunch out of columns, all numbers, or ``(data, target)`` only.

    Examples
    --------
    >>> table = {"a": np.array([1.0, 2.0]), "s": np.array([0.0, 1.0]), "y": np.array([3.0, 4.0])}
    >>> options = {"as_frame": False, "return_X_y": False, "description": ""}
    >>> paper_bunch(table, "y", "s", **options).feature_names
    ['a']
    """
    feature_names = [name for name in table if name not in (target, sensitive)]
    data: Any = np.column_stack([table[name] for name in feature_names])
    y: Any = table[target]
    s: Any = table[sensitive].astype(np.int64)
    frame: Any = None
    if as_frame:
        frame = import_pandas().DataFrame({**table, sensitive: s})
        data, y, s = frame[feature_names], frame[target], frame[sensitive]
    if return_X_y:
        return data, y
    return Bunch(
        data=data,
        target=y,
        sensitive=s,
        feature_names=feature_names,
        target_names=[target],
        sensitive_names=[sensitive],
        frame=frame,
        DESCR=description,
    )
