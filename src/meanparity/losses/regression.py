"""Losses of errors: squared, robust, quantile and epsilon-insensitive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meanparity._typing import FloatArray
from meanparity.losses.base import Loss, Rounded, positive, ramp, ramp_bend, rise
from meanparity.state import stored


@stored("Squared")
@dataclass(frozen=True)
class Squared(Loss):
    """``(y − g)²``.

    See Also
    --------
    Huber : Less weight for outliers.

    Examples
    --------
    >>> Squared().value(np.array([1.0]), np.array([3.0]))
    array([4.])
    """

    name: ClassVar[str] = "squared"

    def value(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``(y − g)²``."""
        return (y - score) ** 2

    def gradient(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``−2 (y − g)``."""
        return 2 * (score - y)

    def curvature(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """2."""
        return np.full_like(score, 2.0)


@stored("Huber")
@dataclass(frozen=True)
class Huber(Loss):
    """``z²`` for errors z up to epsilon, ``2ε|z| − ε²`` beyond: large errors count linearly.

    Parameters
    ----------
    epsilon : float, default=1.35
        Where it becomes linear, in the units of y.

    See Also
    --------
    SmoothL1 : The paper's form of it.
    Quantile : The median and other quantiles.

    Examples
    --------
    >>> Huber(1.0).value(np.array([0.5, 3.0]), np.zeros(2))
    array([0.25, 5.  ])
    """

    name: ClassVar[str] = "huber"
    epsilon: float = 1.35

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)

    def value(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``z²`` or ``2ε|z| − ε²``."""
        size = np.abs(y - score)
        inside = np.minimum(size, self.epsilon)
        return np.asarray(inside * (2 * size - inside))

    def gradient(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``−2z``, between ``−2ε`` and ``2ε``."""
        return np.asarray(2 * np.clip(score - y, -self.epsilon, self.epsilon))

    def curvature(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """2 or 0."""
        return np.where(np.abs(y - score) <= self.epsilon, 2.0, 0.0)


@stored("SmoothL1")
@dataclass(frozen=True)
class SmoothL1(Loss):
    """``z²/(2β)`` for errors z up to β, ``|z| − β/2`` beyond: the paper's smooth L1 loss.

    Parameters
    ----------
    beta : float, default=1.0
        Where it becomes linear, in the units of y.

    See Also
    --------
    Huber : The same with another scale.

    Examples
    --------
    >>> SmoothL1(1.0).value(np.array([0.5, 3.0]), np.zeros(2))
    array([0.125, 2.5  ])
    """

    name: ClassVar[str] = "smooth_l1"
    beta: float = 1.0

    def __post_init__(self) -> None:
        positive("beta", self.beta)

    def value(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``z²/(2β)`` or ``|z| − β/2``."""
        return Huber(self.beta).value(y, score) / (2 * self.beta)

    def gradient(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``−z/β``, between −1 and 1."""
        return Huber(self.beta).gradient(y, score) / (2 * self.beta)

    def curvature(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``1/β`` or 0."""
        return Huber(self.beta).curvature(y, score) / (2 * self.beta)


@stored("Quantile")
@dataclass(frozen=True)
class Quantile(Rounded):
    """The pinball loss ``q z`` of errors above, ``(q − 1) z`` of errors below: scores a quantile.

    Within `smoothing` h of zero it is ``z²/(4h) + (q − ½) z + h/4``.

    Parameters
    ----------
    quantile : float, default=0.5
        q, between 0 and 1.
    smoothing : float, default=0.0
        h, in the units of y; 0 is the pinball loss itself.

    See Also
    --------
    Huber : Robust means.

    Examples
    --------
    >>> Quantile(0.9).value(np.array([1.0, -1.0]), np.zeros(2))
    array([0.9, 0.1])
    """

    name: ClassVar[str] = "quantile"
    quantile: float = 0.5
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        positive("quantile", self.quantile)
        if self.quantile >= 1:
            raise ValueError(f"quantile={self.quantile!r}. Pass a number between 0 and 1.")
        super().__post_init__()

    def value(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """The pinball loss, rounded off."""
        z, h = y - score, self.smoothing
        inside = np.minimum(np.abs(z), h)
        round_ = inside * inside / (4 * h) + h / 4 - inside / 2 if h > 0 else 0.0
        return np.asarray(np.abs(z) / 2 + round_ + (self.quantile - 0.5) * z)

    def gradient(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """Between ``−q`` and ``1 − q``."""
        z, h = y - score, self.smoothing
        sign = np.clip(z / h, -1.0, 1.0) if h > 0 else np.sign(z)
        return np.asarray(-sign / 2 - (self.quantile - 0.5))

    def curvature(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``1/(2h)`` near zero."""
        h = self.smoothing
        return np.where(np.abs(y - score) < h, 1 / (2 * h) if h > 0 else 0.0, 0.0)

    def start(self, y: FloatArray, weights: FloatArray) -> float:
        """The quantile of y."""
        order = np.argsort(y)
        share = np.cumsum(weights[order]) / weights.sum()
        return float(y[order][min(int(np.searchsorted(share, self.quantile)), len(y) - 1)])


@stored("EpsilonInsensitive")
@dataclass(frozen=True)
class EpsilonInsensitive(Rounded):
    """``max(|z| − ε, 0)`` with its kink rounded off: errors up to ε do not count.

    With ``smoothing=0`` it is the loss of support vector regression.

    Within `smoothing` h beyond ε it is ``(|z| − ε)²/(2h)``, and ``|z| − ε − h/2`` after that.

    Parameters
    ----------
    epsilon : float, default=0.1
        ε, in the units of y.
    smoothing : float, default=0.05
        h, in the units of y; 0 for the kink itself.

    See Also
    --------
    Huber : Small errors count, too.

    Examples
    --------
    >>> EpsilonInsensitive(1.0, smoothing=0.0).value(np.array([0.5, 3.0]), np.zeros(2))
    array([0., 2.])
    """

    name: ClassVar[str] = "epsilon_insensitive"
    epsilon: float = 0.1
    smoothing: float = 0.05

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon, or_zero=True)
        super().__post_init__()

    def value(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``max(|z| − ε, 0)``, rounded off."""
        return ramp(np.abs(y - score) - self.epsilon, self.smoothing)

    def gradient(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """Between −1 and 1."""
        z = y - score
        return np.asarray(-np.sign(z) * rise(np.abs(z) - self.epsilon, self.smoothing))

    def curvature(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``1/h`` just beyond ε."""
        return ramp_bend(np.abs(y - score) - self.epsilon, self.smoothing)
