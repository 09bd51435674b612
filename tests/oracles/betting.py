"""Betting bounds spelled out for one mean at a time, with plain Python numbers."""

from __future__ import annotations

import math


def is_refuted(values, mean, error):
    """Whether bets against means from this one on ever multiply the stake by 1 / error."""
    stake, total, squares = 1.0, 0.5, 0.125
    n = len(values)
    for t, y in enumerate(values):
        if stake >= 1 / error:
            return True
        variance = squares / (t + 1)
        bet = math.sqrt(2 * math.log(1 / (error * stake)) / ((n - t) * variance))
        if mean < 1:
            bet = min(bet, 0.99 / (1 - mean))
        stake *= 1 + bet * (mean - y)
        total += y
        squares += (y - total / (t + 2)) ** 2
    return stake >= 1 / error


def upper_bound(values, error, steps):
    """The smallest mean of a grid from which on all are refuted; 1 if the last one is not."""
    bound = 1.0
    for i in range(steps, -1, -1):
        if not is_refuted(values, i / steps, error):
            return min((i + 1) / steps, 1.0)
        bound = i / steps
    return bound
