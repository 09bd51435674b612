"""A number for each group."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from meanparity.data.groups import Groups
from meanparity.exceptions import import_pandas

if TYPE_CHECKING:
    import pandas as pd

Value = TypeVar("Value")


class ByGroup(dict[Hashable, Value]):
    """A dict from groups to what a metric says about each.

    Keys are the sensitive values, or tuples of values if there are several sensitive columns.

    Parameters
    ----------
    groups : Groups
        The groups.
    values : iterable
        What the metric says about each of them, in their order.
    name : str
        What the values are called.

    See Also
    --------
    group_means : Means of each group.
    selection_rates : Shares of each group.

    Examples
    --------
    >>> from meanparity.metrics import group_means
    >>> sensitive = {"sex": ["F", "F", "M"], "union": ["yes", "no", "no"]}
    >>> found = group_means(None, [1.0, 2.0, 6.0], sensitive_features=sensitive)
    >>> found["F", "no"]
    2.0
    >>> found.to_frame()
      sex union  mean
    0   F    no   2.0
    1   F   yes   1.0
    2   M    no   6.0
    """

    def __init__(self, groups: Groups, values: Iterable[Value], name: str) -> None:
        super().__init__(zip(groups.keys, values, strict=True))
        self._columns, self._name = groups.columns, name

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas data frame with one row for each group."""
        groups = [key if len(self._columns) > 1 else (key,) for key in self]
        frame: pd.DataFrame = import_pandas().DataFrame(groups, columns=list(self._columns))
        values = np.array(list(self.values()))
        if values.ndim == 1:
            return frame.assign(**{self._name: values})
        return frame.assign(**{f"{self._name}_{i}": values[:, i] for i in range(values.shape[1])})
