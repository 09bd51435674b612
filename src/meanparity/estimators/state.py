"""Fitted attributes as files can hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator


@dataclass(frozen=True)
class Pairs:
    """A dict whose keys are no text: its keys and values."""

    keys: tuple[Any, ...]
    values: tuple[Any, ...]


class PlainState(BaseEstimator):  # type: ignore[misc]
    """Estimators whose dicts by combination of groups are stored as pairs.

    Files that cannot run code know text as keys only.
    """

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {
            name: Pairs(tuple(value), tuple(value.values())) if _has_other_keys(value) else value
            for name, value in state.items()
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(
            {
                name: dict(zip(value.keys, value.values, strict=True))
                if isinstance(value, Pairs)
                else value
                for name, value in state.items()
            }
        )


def _has_other_keys(value: Any) -> bool:
    return isinstance(value, dict) and not all(isinstance(key, str) for key in value)
