"""Losses of counts and of positive amounts, with a log link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import xlogy

from meanparity._typing import FloatArray
from meanparity.losses.base import Loss
from meanparity.state import stored


class _LogLink(Loss):
    """A loss whose response is ``e^g``."""

    is_identity: ClassVar[bool] = False

    def response(self, score: FloatArray) -> FloatArray:
        """``e^g``."""
        return np.asarray(np.exp(score))

    slope = bend = response  # its derivatives are e^g as well

    def start(self, y: FloatArray, weights: FloatArray) -> float:
        """The logarithm of the mean."""
        return float(np.log(max(np.average(y, weights=weights), np.finfo(float).tiny)))


@stored("Poisson")
@dataclass(frozen=True)
class Poisson(_LogLink):
    """Half the Poisson deviance, ``y log(y/μ) − y + μ`` with ``μ = e^g``: counts.

    See Also
    --------
    Gamma : Positive amounts.

    Examples
    --------
    >>> Poisson().value(np.array([1.0, 0.0]), np.array([0.0, 0.0]))
    array([0., 1.])
    """

    name: ClassVar[str] = "poisson"

    def value(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``y log y − y g − y + e^g``."""
        return np.asarray(xlogy(y, y) - y * score - y + np.exp(score))

    def gradient(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``e^g − y``."""
        return np.asarray(np.exp(score) - y)

    def curvature(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``e^g``."""
        return self.response(score)

    def check(self, y: FloatArray) -> None:
        """Counts are not negative, and not all zero."""
        if (y < 0).any() or not y.any():
            raise ValueError(
                f"loss='poisson' needs targets of 0 or more, not all of them 0, but they go from "
                f"{y.min():g} to {y.max():g}. Use another loss."
            )


@stored("Gamma")
@dataclass(frozen=True)
class Gamma(_LogLink):
    """Half the Gamma deviance, ``log(μ/y) + y/μ − 1`` with ``μ = e^g``: positive amounts.

    See Also
    --------
    Poisson : Counts.

    Examples
    --------
    >>> Gamma().value(np.array([1.0]), np.array([0.0]))
    array([0.])
    """

    name: ClassVar[str] = "gamma"

    def value(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``g − log y + y e^−g − 1``."""
        return np.asarray(score - np.log(y) + y * np.exp(-score) - 1)

    def gradient(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``1 − y e^−g``."""
        return np.asarray(1 - y * np.exp(-score))

    def curvature(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``y e^−g``."""
        return np.asarray(y * np.exp(-score))

    def check(self, y: FloatArray) -> None:
        """Amounts are positive."""
        if (y <= 0).any():
            raise ValueError(
                f"loss='gamma' needs targets above 0, but the smallest is {y.min():g}. Leave such "
                "rows out, or use another loss."
            )
