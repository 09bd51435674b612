"""The interface of a loss, and what losses with kinks are made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from meanparity._typing import FloatArray


class Loss(ABC):
    """A loss ℓ(y, g), convex and differentiable in the score g; all arrays are (n,).

    See Also
    --------
    resolve_loss : Losses by name.

    Examples
    --------
    >>> import numpy as np
    >>> from meanparity.losses import Huber
    >>> Huber(epsilon=1.0).value(np.zeros(2), np.array([0.5, 3.0])).tolist()
    [0.25, 5.0]
    """

    name: ClassVar[str] = ""  # the shortcut under which estimators know it
    is_identity: ClassVar[bool] = True  # whether the response is the score
    is_binary: ClassVar[bool] = False  # whether y is 0 or 1
    has_response: ClassVar[bool] = True  # whether the response estimates the mean of y

    @abstractmethod
    def value(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """ℓ(y, g)."""

    @abstractmethod
    def gradient(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """ℓ'(y, g), the derivative with respect to g."""

    @abstractmethod
    def curvature(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """ℓ''(y, g), never negative; at a kink of ℓ' that of one side."""

    def response(self, score: FloatArray) -> FloatArray:
        """μ(g), the inverse link."""
        return score

    def slope(self, score: FloatArray) -> FloatArray:
        """μ'(g)."""
        return np.ones_like(score)

    def bend(self, score: FloatArray) -> FloatArray:
        """μ''(g)."""
        return np.zeros_like(score)

    def start(self, y: FloatArray, weights: FloatArray) -> float:
        """A constant score to begin with, about the best constant."""
        return float(np.average(y, weights=weights))

    def check(self, y: FloatArray) -> None:
        """Refuse targets that make no sense for the loss; by default all finite ones do."""
        return

    @property
    def is_smooth(self) -> bool:
        """Whether the derivative has no jumps."""
        return True


class Rounded(Loss):
    """A loss with kinks, rounded off within `smoothing` of them.

    See Also
    --------
    Quantile : One of the losses whose kinks are rounded.

    Examples
    --------
    >>> from meanparity.losses import Quantile
    >>> isinstance(Quantile(0.9), Rounded)
    True
    """

    smoothing: float

    def __post_init__(self) -> None:
        positive("smoothing", self.smoothing, or_zero=True)

    @property
    def is_smooth(self) -> bool:
        """Whether the kinks are rounded off."""
        return self.smoothing > 0

    def rounded(self, smoothing: float) -> Self:
        """The same loss, rounded off within another distance."""
        return replace(self, smoothing=smoothing)  # type: ignore[type-var]


def positive(name: str, value: Any, *, or_zero: bool = False) -> None:
    """Refuse a parameter that is not a positive number."""
    number = float(value) if isinstance(value, Real) and value is not True else np.nan
    if not (0 < number < np.inf or (number == 0 and or_zero)):
        raise ValueError(
            f"{name}={value!r}. Pass a number {'of 0 or more' if or_zero else 'above 0'}."
        )


def ramp(t: FloatArray, h: float) -> FloatArray:
    """``max(t, 0)``, rounded off between 0 and h."""
    t = np.maximum(t, 0.0)
    if h == 0:
        return t
    inside = np.minimum(t, h)
    return np.asarray(inside * inside / (2 * h) + (t - inside))


def rise(t: FloatArray, h: float) -> FloatArray:
    """The derivative of the ramp."""
    return np.clip(t / h, 0.0, 1.0) if h > 0 else (t > 0).astype(float)


def ramp_bend(t: FloatArray, h: float) -> FloatArray:
    """The second derivative of the ramp."""
    return np.where((t > 0) & (t < h), 1 / h if h > 0 else 0.0, 0.0)
