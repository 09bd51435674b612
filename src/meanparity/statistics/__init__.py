"""Sums over rows that merge: collect, add, store."""

from meanparity.statistics.statistics import Statistics

__all__ = ["Statistics"]
