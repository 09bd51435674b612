r"""The paper's gradient descent for other losses (Figures 11 and 12): Adam, free and under parity.

Minimises the mean loss ``(1/n) Σ_i ℓ(y_i, z_iᵀθ)`` over θ, where the features z are the centred
columns of X and a constant 1. Let the columns of M be the differences between the mean of z in each
group and its overall mean, and let the columns of Q be an orthonormal basis of the span of M. A
linear function has the same mean in every group if and only if ``Qᵀθ = 0``. Fair-GD therefore
replaces θ by its projection ``(I − QQᵀ)θ``, that is, the features Z by ``Z(I − QQᵀ)``, and descends
without a constraint: parity holds at every step.

Once a coefficient has converged, the second moment of its gradient decays and Adam amplifies
rounding. The last part of a history therefore depends on the order of the rows and on the machine,
by some 1e-5 of the loss on the paper's data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanparity._typing import FloatArray
from meanparity.losses import Loss

_RANK_TOLERANCE = 1e-12  # smallest singular value of M to keep, in units of the largest feature


@dataclass(frozen=True, eq=False)
class History:
    """The course of a descent.

    Parameters
    ----------
    loss : (steps + 1,) array
        Mean loss before the first step and after each step.
    gap : (steps + 1,) array
        ``Σ_j |mean_j(g) − mean(g)|`` over the groups j, at the same points.
    """

    loss: FloatArray
    gap: FloatArray


def descend(
    X: FloatArray,
    y: FloatArray,
    s: FloatArray,
    loss: Loss,
    *,
    fair: bool,
    learning_rate: float = 1e-4,
    steps: int = 20_000,
) -> History:
    """Run full-batch Adam (Kingma and Ba, 2015) from ``θ = 0``, with its default decay rates.

    Parameters
    ----------
    X : (n, d) array
        Features.
    y : (n,) array
        Targets.
    s : (n,) or (n, r) array
        Sensitive columns; each combination of values is a group.
    loss : Loss
        ℓ.
    fair : bool
        Whether all groups have the same mean prediction at every step (the paper's Fair-GD).
    learning_rate : float, default=1e-4
        The paper's learning rate.
    steps : int, default=20_000
        Number of steps. The paper does not state its number.

    Examples
    --------
    >>> from meanparity.losses import SmoothL1
    >>> X, s = np.array([[0.0], [1.0], [2.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> y = np.array([0.0, 1.0, 3.0, 5.0])
    >>> history = descend(X, y, s, SmoothL1(1.0), fair=False, learning_rate=0.1, steps=50)
    >>> bool(history.loss[-1] < history.loss[0]), bool(history.gap[-1] > 1)
    (True, True)
    """
    Z = np.column_stack([X - X.mean(axis=0), np.ones(len(y))])
    C = group_contrasts(s)
    if fair:
        Z = _equal_means(Z, C)
    theta = np.zeros(Z.shape[1])
    first, second = np.zeros_like(theta), np.zeros_like(theta)  # moments of the gradient
    losses, gaps = [], []
    for step in range(1, steps + 2):  # the update after the last record is not used
        g = Z @ theta
        losses.append(loss.value(y, g).mean())
        gaps.append(np.abs(C.T @ g).sum())
        gradient = Z.T @ loss.gradient(y, g) / len(y)
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        scale = np.sqrt(second / (1 - 0.999**step)) + 1e-8
        theta = theta - learning_rate * first / (1 - 0.9**step) / scale
    return History(np.array(losses), np.array(gaps))


def group_contrasts(s: FloatArray) -> FloatArray:
    """The (n, k) matrix C for which ``Cᵀg`` is the mean of g in each group minus its mean."""
    groups = np.unique(s.reshape(len(s), -1), axis=0, return_inverse=True)[1].ravel()
    members = groups[:, None] == np.arange(groups.max() + 1)
    return np.asarray(members / members.sum(axis=0) - 1 / len(s))


def _equal_means(Z: FloatArray, C: FloatArray) -> FloatArray:
    """``Z(I − QQᵀ)``: features whose linear functions have the same mean in every group."""
    basis, sizes, _ = np.linalg.svd(Z.T @ C, full_matrices=False)
    Q = basis[:, sizes > _RANK_TOLERANCE * np.abs(Z).max()]
    return np.asarray(Z - (Z @ Q) @ Q.T)
