"""The paper's Adam with plain Python numbers: one coordinate, one row and one step at a time."""

from __future__ import annotations

from math import sqrt

import numpy as np
from scipy.linalg import null_space


def smooth_l1(residual, beta):
    """Value and derivative of the smooth L1 loss at a residual g − y."""
    if abs(residual) < beta:
        return residual**2 / (2 * beta), residual / beta
    return abs(residual) - beta / 2, 1.0 if residual > 0 else -1.0


def adam_history(X, y, s, beta, *, fair, learning_rate, steps):
    """Mean loss and sum of gaps before the first step and after each step.

    The parameters are the coefficients of the centred columns and a constant. Under parity, a
    function is evaluated at the orthogonal projection of its parameters onto the null space of the
    differences between group means and the overall mean.
    """
    n, d = X.shape
    rows = [[X[i, j] - X[:, j].sum() / n for j in range(d)] + [1.0] for i in range(n)]
    groups = [[i for i in range(n) if s[i] == value] for value in sorted(set(s))]
    project = np.eye(d + 1)
    if fair:
        means = np.array([np.mean([rows[i] for i in group], axis=0) for group in groups])
        basis = null_space(means - np.mean(rows, axis=0), rcond=1e-10)
        project = basis @ basis.T
    theta, first, second = [0.0] * (d + 1), [0.0] * (d + 1), [0.0] * (d + 1)
    losses, gaps = [], []
    for step in range(1, steps + 2):
        used = project @ theta
        scores = [sum(z * w for z, w in zip(row, used, strict=True)) for row in rows]
        pairs = [smooth_l1(score - target, beta) for score, target in zip(scores, y, strict=True)]
        losses.append(sum(value for value, _ in pairs) / n)
        overall = sum(scores) / n
        gaps.append(sum(abs(sum(scores[i] for i in g) / len(g) - overall) for g in groups))
        slopes = [sum(pairs[i][1] * rows[i][j] for i in range(n)) / n for j in range(d + 1)]
        gradient = project.T @ slopes
        for j in range(d + 1):
            first[j] = 0.9 * first[j] + 0.1 * gradient[j]
            second[j] = 0.999 * second[j] + 0.001 * gradient[j] ** 2
            mean, variance = first[j] / (1 - 0.9**step), second[j] / (1 - 0.999**step)
            theta[j] -= learning_rate * mean / (sqrt(variance) + 1e-8)
    return np.array(losses), np.array(gaps)
