"""Losses by name."""

from __future__ import annotations

from typing import Any

from meanparity.losses.base import Loss
from meanparity.losses.classification import Hinge, Logistic
from meanparity.losses.counts import Gamma, Poisson
from meanparity.losses.regression import EpsilonInsensitive, Huber, Quantile, SmoothL1, Squared

_KINDS: tuple[type[Loss], ...] = (
    Squared,
    Huber,
    SmoothL1,
    Quantile,
    EpsilonInsensitive,
    Logistic,
    Hinge,
    Poisson,
    Gamma,
)
LOSSES = {kind.name: kind for kind in _KINDS}


def resolve_loss(loss: Any, *, binary: bool) -> Loss:
    """A loss from its name or itself; `binary` says whether y is one of two classes.

    Parameters
    ----------
    loss : str or Loss
        A name of `LOSSES`, or an object.
    binary : bool
        Whether y is one of two classes.

    Returns
    -------
    Loss

    See Also
    --------
    Loss : A class of your own.

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
