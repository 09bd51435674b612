"""Limits of proportions by the sums of binomial probabilities that define them."""

from __future__ import annotations

from math import comb


def at_least(count, n, p):
    """Probability of at least `count` events."""
    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(count, n + 1))


def exact_limits(count, n, error):
    """Clopper and Pearson's limits, by bisection."""

    def lower(events):
        low, high = 0.0, 1.0
        if events == 0:
            return 0.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if at_least(events, n, middle) < error / 2 else (low, middle)
        return low

    return lower(count), 1 - lower(n - count)
