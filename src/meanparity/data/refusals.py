"""Refusals of input that would otherwise be read as something that it is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from meanparity.data.streams import refuse_stream

_FEW = 3  # items of a list in a message


def refuse_other_order(**given: Any) -> None:
    """Refuse pandas objects whose indexes say that their rows are not the same, in one order.

    Rows are matched by position. An index in another order, or with other labels, would give each
    row the values of another one. A default index (0, 1, 2, ...) says nothing about rows: it is
    what `reset_index` leaves, for instance of a piece that `train_test_split` returned. There are
    two exceptions, which look like mistakes: the other index is a permutation of it, or it is a run
    of consecutive numbers that overlaps it, such as 5, 6, 7, ... of ``X.iloc[5:]`` beside
    ``s.iloc[:-5]``. A piece that was reset on purpose beside such a run has to be passed without
    its index.

    Parameters
    ----------
    **given : array, data frame, series or mapping of them
        What belongs to the rows, by the name of the argument. Everything else has no index. Rows
        that are not in memory are refused.
    """
    earlier: list[tuple[str, Any]] = []
    for name, value in given.items():
        parts = value.items() if isinstance(value, Mapping) else [(None, value)]
        for column, part in parts:
            if not isinstance(part, np.ndarray):
                refuse_stream(part, name)
            index = _index(part)
            if index is None:
                continue
            for first, own in earlier:
                if len(index) != len(own) or index.equals(own) or _says_nothing(own, index):
                    continue
                at = _first_difference(own, index)
                what = name if column is None else f"Column {column!r} of {name}"
                raise ValueError(
                    f"{what} has another index than {first}: row {at} is labelled "
                    f"{_label(index[at])} there and {_label(own[at])} in {first}, but rows are "
                    f"matched by position. Pass it in the order of {first}, "
                    f"{name}.loc[{first}.index], or without an index, {name}.to_numpy(), if its "
                    "rows are in order already."
                )
            earlier.append((name, index))


def _index(values: Any) -> Any:
    """The index of a pandas object; None for everything else."""
    index = getattr(values, "index", None)
    return index if hasattr(index, "equals") and hasattr(index, "get_indexer") else None


def _first_difference(first: Any, second: Any) -> int:
    """Position of the first label that differs, of any kinds; two missing labels are the same."""
    for i, (one, other) in enumerate(zip(first, second, strict=True)):
        if _label(one) != _label(other) and (one == other) is not True:  # 1 and 1.0 are the same
            return i
    return 0


def _label(label: Any) -> str:
    return repr(label.item() if isinstance(label, np.generic) else label)


def _says_nothing(first: Any, second: Any) -> bool:
    """Whether one of two different indexes is the default one, and the other not made from it.

    An index is made from the default one by permuting it, or by shifting it by fewer than all rows.
    """
    default = np.arange(len(first))
    for one, other in ((first, second), (second, first)):
        if not np.array_equal(one, default):
            continue
        if other.dtype.kind not in "iuf":
            return True
        numbers = np.asarray(other)
        shifted = len(default) > 0 and bool(np.abs(numbers[0]) < len(default))
        is_run = shifted and np.array_equal(numbers - numbers[0], default)
        return not (is_run or np.array_equal(np.sort(numbers), default))
    return False


def refuse_masked(values: Any, name: str) -> None:
    """Refuse masked values, which NumPy would use as if they were not masked."""
    if isinstance(values, np.ma.MaskedArray) and np.any(values.mask):
        n = int(np.sum(values.mask))
        raise ValueError(
            f"{name} has {n:,} masked values, which would be used as if they were not masked. Fill "
            "them, or leave their rows out."
        )


def refuse_dates(X: Any) -> None:
    """Refuse features that are dates or times, of which NumPy would take nanoseconds."""
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    dates = ["all columns"] if kind and kind in "mM" else []
    if not isinstance(X, np.ndarray):
        frame = nw.from_native(X, pass_through=True, eager_only=True)
        if isinstance(frame, nw.DataFrame):
            dates = [repr(name) for name, kind in frame.schema.items() if kind.is_temporal()]
    if dates:
        shown = ", ".join(dates[:_FEW]) + (", ..." if len(dates) > _FEW else "")
        raise ValueError(
            f"X holds dates or times ({shown}). Turn them into numbers that mean something for "
            "the target, such as days since a date, or the year and the month."
        )


def refuse_times(y: Any, name: str) -> None:
    """Refuse targets that are dates or times, of which NumPy would take nanoseconds."""
    native = nw.from_native(y, pass_through=True, eager_only=True, allow_series=True)
    kinds = [native.dtype] if isinstance(native, nw.Series) else []
    if isinstance(native, nw.DataFrame):
        kinds = list(native.schema.values())
    is_time = any(kind.is_temporal() for kind in kinds)
    if is_time or getattr(getattr(y, "dtype", None), "kind", "") in ("m", "M"):
        raise ValueError(f"{name} holds dates or times. Pass numbers, such as days since a date.")
