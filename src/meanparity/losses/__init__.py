"""Losses of a score: value, gradient, curvature, and the link from scores to responses.

A loss is convex in the score g. The response is what is predicted of y: the score itself, a
probability, or the mean of a count or an amount. Losses with a kink are rounded off within
`smoothing` of it; with ``smoothing=0`` the solver makes that smaller and smaller.
"""

from meanparity.losses.base import Loss, Rounded
from meanparity.losses.classification import Hinge, Logistic
from meanparity.losses.counts import Gamma, Poisson
from meanparity.losses.regression import EpsilonInsensitive, Huber, Quantile, SmoothL1, Squared
from meanparity.losses.resolve import LOSSES, resolve_loss

__all__ = [
    "LOSSES",
    "EpsilonInsensitive",
    "Gamma",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Poisson",
    "Quantile",
    "Rounded",
    "SmoothL1",
    "Squared",
    "resolve_loss",
]
