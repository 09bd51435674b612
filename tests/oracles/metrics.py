"""The paper's metrics, group by group and row by row."""

from __future__ import annotations

import itertools

import numpy as np


def smd(values, codes):
    """Σ_j |mean_j − mean|."""
    return sum(abs(values[codes == g].mean() - values.mean()) for g in np.unique(codes))


def dpd(values, codes):
    """Σ_j W₁ between the group's and everybody's distribution: area between the two CDFs."""
    total = 0.0
    grid = np.sort(values)
    for g in np.unique(codes):
        inside = values[codes == g]
        for low, high in itertools.pairwise(grid):
            total += abs(np.mean(inside <= low) - np.mean(values <= low)) * (high - low)
    return total


def norm_of_cov(values, K_S):
    """sqrt(f̃ᵀ K_S f̃)/n with f̃ centred."""
    centred = values - values.mean()
    squared = centred @ K_S @ centred
    return np.sqrt(max(squared, 0.0)) / len(values)  # rounding may leave less than nothing
