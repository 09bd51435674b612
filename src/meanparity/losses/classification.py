"""Losses of two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, logit

from meanparity._typing import FloatArray
from meanparity.losses.base import Loss, Rounded, ramp, ramp_bend, rise
from meanparity.state import stored


@stored("Logistic")
@dataclass(frozen=True)
class Logistic(Loss):
    """``log(1 + e^g) − y g`` for y of 0 or 1; the response is the probability of 1.

    See Also
    --------
    Hinge : Support vector classification, smoothed.

    Examples
    --------
    >>> Logistic().value(np.array([1.0]), np.array([0.0])).round(4)
    array([0.6931])
    """

    name: ClassVar[str] = "logistic"
    is_identity: ClassVar[bool] = False
    is_binary: ClassVar[bool] = True

    def value(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``log(1 + e^g) − y g``."""
        return np.asarray(np.logaddexp(0.0, score) - y * score)

    def gradient(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``p − y``."""
        return np.asarray(expit(score) - y)

    def curvature(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``p (1 − p)``."""
        return self.slope(score)

    def response(self, score: FloatArray) -> FloatArray:
        """``1/(1 + e^−g)``."""
        return np.asarray(expit(score))

    def slope(self, score: FloatArray) -> FloatArray:
        """``p (1 − p)``."""
        return np.asarray(expit(score) * expit(-score))

    def bend(self, score: FloatArray) -> FloatArray:
        """``p (1 − p) (1 − 2p)``."""
        return self.slope(score) * (1 - 2 * self.response(score))

    def start(self, y: FloatArray, weights: FloatArray) -> float:
        """The log odds of y."""
        p = np.clip(np.average(y, weights=weights), 1e-6, 1 - 1e-6)
        return float(logit(p))


@stored("Hinge")
@dataclass(frozen=True)
class Hinge(Rounded):
    """``max(1 − t g, 0)`` for t = −1 or 1, given as y of 0 or 1, with its kink rounded off.

    With ``smoothing=0`` it is the loss of support vector classification.

    Parameters
    ----------
    smoothing : float, default=0.5
        h: within it the loss is ``(1 − t g)²/(2h)``, beyond ``1 − t g − h/2``; 0 for the kink
        itself.

    See Also
    --------
    Logistic : Has probabilities.

    Examples
    --------
    >>> Hinge(smoothing=0.0).value(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    array([0.5, 1.5])
    """

    name: ClassVar[str] = "hinge"
    is_binary: ClassVar[bool] = True
    has_response: ClassVar[bool] = False

    smoothing: float = 0.5

    def value(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``max(1 − t g, 0)``, rounded off."""
        return ramp(1 - (2 * y - 1) * score, self.smoothing)

    def gradient(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """Between −1 and 1."""
        t = 2 * y - 1
        return np.asarray(-t * rise(1 - t * score, self.smoothing))

    def curvature(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``1/h`` just below the margin."""
        return ramp_bend(1 - (2 * y - 1) * score, self.smoothing)

    def start(self, y: FloatArray, weights: FloatArray) -> float:
        """The margin of the larger class, −1 or 1."""
        return float(np.sign(np.average(2 * y - 1, weights=weights)))
