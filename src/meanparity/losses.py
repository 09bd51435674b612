"""Losses of a score: value, gradient, curvature, and the link from scores to responses.

A loss is convex in the score g. The response is what is predicted of y: the score itself, a
probability, or the mean of a count or an amount. Losses with a kink are rounded off within
`smoothing` of it; with ``smoothing=0`` the solver makes that smaller and smaller.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit, xlogy

from meanparity._typing import FloatArray


class Loss(ABC):
    """A loss ℓ(y, g), convex and differentiable in the score g; all arrays are (n,)."""

    is_identity: ClassVar[bool] = True  # whether the response is the score
    is_binary: ClassVar[bool] = False  # whether y is 0 or 1

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
        """A constant score that fits y about as well as any."""
        return float(np.average(y, weights=weights))

    def check(self, y: FloatArray) -> None:
        """Refuse targets that the loss makes no sense of; all finite ones are fine by default."""
        return

    @property
    def is_smooth(self) -> bool:
        """Whether the derivative has no jumps."""
        return True


class Rounded(Loss):
    """A loss with kinks, rounded off within `smoothing` of them."""

    smoothing: float

    @property
    def is_smooth(self) -> bool:
        """Whether the kinks are rounded off."""
        return self.smoothing > 0

    def rounded(self, smoothing: float) -> Self:
        """The same loss, rounded off within another distance."""
        return replace(self, smoothing=smoothing)  # type: ignore[type-var]


@dataclass(frozen=True)
class Squared(Loss):
    """``(y − g)²``.

    Examples
    --------
    >>> Squared().value(np.array([1.0]), np.array([3.0]))
    array([4.])
    """

    def value(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``(y − g)²``."""
        return (y - score) ** 2

    def gradient(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``−2 (y − g)``."""
        return 2 * (score - y)

    def curvature(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """2."""
        return np.full_like(score, 2.0)


@dataclass(frozen=True)
class Huber(Loss):
    """``z²`` for errors z up to epsilon, ``2ε|z| − ε²`` beyond: large errors count linearly.

    Parameters
    ----------
    epsilon : float, default=1.35
        Where it becomes linear, in the units of y.

    Examples
    --------
    >>> Huber(1.0).value(np.array([0.5, 3.0]), np.zeros(2))
    array([0.25, 5.  ])
    """

    epsilon: float = 1.35

    def __post_init__(self) -> None:
        _positive("epsilon", self.epsilon)

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


@dataclass(frozen=True)
class SmoothL1(Loss):
    """``z²/(2β)`` for errors z up to β, ``|z| − β/2`` beyond: the paper's smooth L1 loss.

    Parameters
    ----------
    beta : float, default=1.0
        Where it becomes linear, in the units of y.

    Examples
    --------
    >>> SmoothL1(1.0).value(np.array([0.5, 3.0]), np.zeros(2))
    array([0.125, 2.5  ])
    """

    beta: float = 1.0

    def __post_init__(self) -> None:
        _positive("beta", self.beta)

    def value(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``z²/(2β)`` or ``|z| − β/2``."""
        return Huber(self.beta).value(y, score) / (2 * self.beta)

    def gradient(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``−z/β``, between −1 and 1."""
        return Huber(self.beta).gradient(y, score) / (2 * self.beta)

    def curvature(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``1/β`` or 0."""
        return Huber(self.beta).curvature(y, score) / (2 * self.beta)


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

    Examples
    --------
    >>> Quantile(0.9).value(np.array([1.0, -1.0]), np.zeros(2))
    array([0.9, 0.1])
    """

    quantile: float = 0.5
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        _positive("quantile", self.quantile)
        if self.quantile >= 1:
            raise ValueError(f"quantile={self.quantile!r}. Pass a number between 0 and 1.")
        _positive("smoothing", self.smoothing, or_zero=True)

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


@dataclass(frozen=True)
class EpsilonInsensitive(Rounded):
    """``max(|z| − ε, 0)``: errors up to ε count nothing, as in support vector regression.

    Within `smoothing` h beyond ε it is ``(|z| − ε)²/(2h)``, and ``|z| − ε − h/2`` after that.

    Parameters
    ----------
    epsilon : float, default=0.1
        ε, in the units of y.
    smoothing : float, default=0.05
        h, in the units of y; 0 for the kink itself.

    Examples
    --------
    >>> EpsilonInsensitive(1.0, smoothing=0.0).value(np.array([0.5, 3.0]), np.zeros(2))
    array([0., 2.])
    """

    epsilon: float = 0.1
    smoothing: float = 0.05

    def __post_init__(self) -> None:
        _positive("epsilon", self.epsilon, or_zero=True)
        _positive("smoothing", self.smoothing, or_zero=True)

    def value(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """What the error exceeds ε by, rounded off."""
        return _ramp(np.abs(y - score) - self.epsilon, self.smoothing)

    def gradient(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """Between −1 and 1."""
        z = y - score
        return np.asarray(-np.sign(z) * _rise(np.abs(z) - self.epsilon, self.smoothing))

    def curvature(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``1/h`` just beyond ε."""
        return _bend(np.abs(y - score) - self.epsilon, self.smoothing)


@dataclass(frozen=True)
class Logistic(Loss):
    """``log(1 + e^g) − y g`` for y of 0 or 1; the response is the probability of 1.

    Examples
    --------
    >>> Logistic().value(np.array([1.0]), np.array([0.0])).round(4)
    array([0.6931])
    """

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
        return float(np.log(p / (1 - p)))


@dataclass(frozen=True)
class Hinge(Rounded):
    """``max(1 − t g, 0)`` for t = −1 or 1, given as y of 0 or 1: support vector classification.

    Parameters
    ----------
    smoothing : float, default=0.5
        h: within it the loss is ``(1 − t g)²/(2h)``, beyond ``1 − t g − h/2``; 0 for the kink
        itself.

    Examples
    --------
    >>> Hinge(smoothing=0.0).value(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    array([0.5, 1.5])
    """

    is_binary: ClassVar[bool] = True

    smoothing: float = 0.5

    def __post_init__(self) -> None:
        _positive("smoothing", self.smoothing, or_zero=True)

    def value(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """What ``t g`` lacks to 1, rounded off."""
        return _ramp(1 - (2 * y - 1) * score, self.smoothing)

    def gradient(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """Between −1 and 1."""
        t = 2 * y - 1
        return np.asarray(-t * _rise(1 - t * score, self.smoothing))

    def curvature(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``1/h`` just below the margin."""
        return _bend(1 - (2 * y - 1) * score, self.smoothing)

    def start(self, y: FloatArray, weights: FloatArray) -> float:
        """The side of the larger class."""
        return float(np.sign(np.average(2 * y - 1, weights=weights)))


class _LogLink(Loss):
    """A loss whose response is ``e^g``."""

    is_identity: ClassVar[bool] = False

    def response(self, score: FloatArray) -> FloatArray:
        """``e^g``."""
        return np.asarray(np.exp(score))

    def slope(self, score: FloatArray) -> FloatArray:
        """``e^g``."""
        return np.asarray(np.exp(score))

    def bend(self, score: FloatArray) -> FloatArray:
        """``e^g``."""
        return np.asarray(np.exp(score))

    def start(self, y: FloatArray, weights: FloatArray) -> float:
        """The logarithm of the mean."""
        return float(np.log(max(np.average(y, weights=weights), np.finfo(float).tiny)))


@dataclass(frozen=True)
class Poisson(_LogLink):
    """Half the Poisson deviance, ``y log(y/μ) − y + μ`` with ``μ = e^g``: counts.

    Examples
    --------
    >>> Poisson().value(np.array([1.0, 0.0]), np.array([0.0, 0.0]))
    array([0., 1.])
    """

    def value(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``y log y − y g − y + e^g``."""
        return np.asarray(xlogy(y, y) - y * score - y + np.exp(score))

    def gradient(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``e^g − y``."""
        return np.asarray(np.exp(score) - y)

    def curvature(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """``e^g``."""
        return np.asarray(np.exp(score))

    def check(self, y: FloatArray) -> None:
        """Counts are not negative, and not all zero."""
        if (y < 0).any() or not y.any():
            raise ValueError(
                f"loss='poisson' needs targets of 0 or more, not all of them 0, but they go from "
                f"{y.min():g} to {y.max():g}. Use another loss."
            )


@dataclass(frozen=True)
class Gamma(_LogLink):
    """Half the Gamma deviance, ``log(μ/y) + y/μ − 1`` with ``μ = e^g``: positive amounts.

    Examples
    --------
    >>> Gamma().value(np.array([1.0]), np.array([0.0]))
    array([0.])
    """

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


LOSSES: dict[str, type[Loss]] = {
    "squared": Squared,
    "huber": Huber,
    "smooth_l1": SmoothL1,
    "quantile": Quantile,
    "epsilon_insensitive": EpsilonInsensitive,
    "logistic": Logistic,
    "hinge": Hinge,
    "poisson": Poisson,
    "gamma": Gamma,
}


def resolve_loss(loss: Any, *, binary: bool) -> Loss:
    """A loss from its name or itself; `binary` says whether y is one of two classes.

    Examples
    --------
    >>> resolve_loss("huber", binary=False)
    Huber(epsilon=1.35)
    """
    names = [name for name, kind in LOSSES.items() if kind.is_binary == binary]
    found = LOSSES[loss]() if isinstance(loss, str) and loss in LOSSES else loss
    if not isinstance(found, Loss) or found.is_binary != binary:
        other = "ParityKernelRegressor" if binary else "ParityKernelClassifier"
        where = f" It is one of {other}'s." if isinstance(found, Loss) else ""
        raise ValueError(
            f"loss={loss!r} is not known here.{where} Pass one of {', '.join(names)}, or an object "
            "of meanparity.losses."
        )
    return found


def _positive(name: str, value: Any, *, or_zero: bool = False) -> None:
    number = float(value) if isinstance(value, Real) and value is not True else np.nan
    if not (0 < number < np.inf or (number == 0 and or_zero)):
        raise ValueError(
            f"{name}={value!r}. Pass a number {'of 0 or more' if or_zero else 'above 0'}."
        )


def _ramp(t: FloatArray, h: float) -> FloatArray:
    """``max(t, 0)``, rounded off between 0 and h."""
    t = np.maximum(t, 0.0)
    if h == 0:
        return t
    inside = np.minimum(t, h)
    return np.asarray(inside * inside / (2 * h) + (t - inside))


def _rise(t: FloatArray, h: float) -> FloatArray:
    """The derivative of the ramp."""
    return np.clip(t / h, 0.0, 1.0) if h > 0 else (t > 0).astype(float)


def _bend(t: FloatArray, h: float) -> FloatArray:
    """The second derivative of the ramp."""
    return np.where((t > 0) & (t < h), 1 / h if h > 0 else 0.0, 0.0)
