"""The covariance of values with a sensitive number, such as an age, and its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from meanparity._typing import FloatArray
from meanparity.audit.comparisons import Limits, share_of_draws
from meanparity.audit.moments import NEGLIGIBLE

_FEWEST_ROWS = 10
_RESAMPLED_ROWS = 2000  # with more, the statistic is normal
_BATCH = 2**20


@dataclass(frozen=True, eq=False)
class CovarianceComparison:
    """Covariance of values with a number of unit variance, by resampling rows (bootstrap-t).

    Parameters
    ----------
    gap, standard_error : float
        The covariance, in the units of the values, and its standard error.
    statistics : (B,) array
        Studentised covariances of resampled rows, minus the observed one.
    error : float
        Probability of error at which a strength is 1.
    """

    gap: float
    standard_error: float
    statistics: FloatArray
    error: float

    @classmethod
    def from_values(
        cls,
        values: FloatArray,
        number: FloatArray,
        weight: FloatArray | None,
        error: float,
        n_draws: int,
        rng: np.random.Generator,
    ) -> CovarianceComparison:
        """Compare n values with n numbers that are not all equal."""
        w = np.ones(len(values)) if weight is None else weight
        scale = float(np.abs(values).max(initial=0.0))
        values = values - np.average(values, weights=w)
        number = number - np.average(number, weights=w)
        number = number / np.sqrt(np.average(number**2, weights=w))
        found, se = (float(part[0]) for part in _covariances(values[None], number[None], w[None]))
        if len(values) < _FEWEST_ROWS or np.abs(values).max() <= NEGLIGIBLE * scale or se == 0:
            return cls(found, np.inf, np.full(n_draws, np.inf), error)
        if len(values) > _RESAMPLED_ROWS:
            return cls(found, se, rng.standard_normal(n_draws), error)
        parts, step = [], max(1, _BATCH // len(values))
        for start in range(0, n_draws, step):
            size = (min(step, n_draws - start), len(values))
            rows = rng.integers(0, len(values), size)
            drawn, errors = _covariances(values[rows], number[rows], w[rows])
            with np.errstate(divide="ignore", invalid="ignore"):
                parts.append(np.where(errors > 0, (drawn - found) / errors, np.inf))
        return cls(found, se, np.concatenate(parts), error)

    @property
    def told(self) -> NDArray[np.bool_]:
        """Whether there are enough rows to tell: (1,)."""
        return np.array([np.isfinite(self.standard_error) and np.isfinite(self._ends).all()])

    @cached_property
    def _ends(self) -> FloatArray:
        return self._quantiles(self.error)

    def _quantiles(self, error: float) -> FloatArray:
        """Distances of the two quantiles of the drawn statistics from zero: (2,)."""
        ends = np.quantile(self.statistics, [error / 2, 1 - error / 2], method="nearest")
        return np.asarray(np.maximum(ends * [-1, 1], 1e-9))

    def _strength(self, statistics: FloatArray) -> FloatArray:
        if not self.told[0]:
            return np.zeros(np.shape(statistics))
        low, high = self._ends
        return np.asarray(np.where(statistics > 0, statistics / high, statistics / low))

    @property
    def strengths(self) -> FloatArray:
        """Strength of the covariance: (1,)."""
        return np.abs(self._strength(np.array([self.gap / self.standard_error])))

    @cached_property
    def drawn(self) -> FloatArray:
        """Strengths of resampled rows: (B, 1)."""
        return self._strength(self.statistics)[:, None]

    @property
    def errors(self) -> FloatArray:
        """The standard error, 0 where there are too few rows: (1,)."""
        return np.array([self.standard_error if self.told[0] else 0.0])

    def p_values(self) -> FloatArray:
        """p-value of no covariance: (1,)."""
        return share_of_draws(self.drawn, self.strengths)

    def limits(self, error: float) -> Limits:
        """Limits of the covariance, one of which fails with probability `error`: (1,) each."""
        return self._between(self._quantiles(error))

    def limits_at(self, strength: float | FloatArray) -> Limits:
        """Limits between which the covariance would have at most this strength: (1,) each."""
        return self._between(strength * self._ends if self.told[0] else self._ends)

    def _between(self, ends: FloatArray) -> Limits:
        if not self.told[0]:
            return np.array([-np.inf]), np.array([np.inf])
        low, high = (
            self.gap - self.standard_error * ends[1],
            self.gap + self.standard_error * ends[0],
        )
        return np.array([low]), np.array([high])

    def detectable(self, power: float) -> FloatArray:
        """The larger of the detectable covariances above and below zero: (1,)."""
        if not self.told[0]:
            return np.array([np.inf])
        ends = np.quantile(self.statistics, [power, 1 - power], method="nearest") * [1, -1]
        return np.array([self.standard_error * float((self._ends + ends).max())])


def _covariances(
    values: FloatArray, numbers: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Covariances with numbers scaled to unit variance, and their standard errors: (B,) each.

    The influence of a row is ``z·f − c(z² + 1)/2``, because the scale of the numbers is estimated.
    """
    n, total = values.shape[1], weights.sum(axis=1, keepdims=True)
    f = values - (weights * values).sum(axis=1, keepdims=True) / total
    z = numbers - (weights * numbers).sum(axis=1, keepdims=True) / total
    spread = np.sqrt((weights * z**2).sum(axis=1, keepdims=True) / total)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(spread > 0, z / spread, 0.0)
    c = (weights * z * f).sum(axis=1, keepdims=True) / total
    influence = weights * (z * f - c * (z**2 + 1) / 2)
    errors = np.sqrt((influence**2).sum(axis=1) * n / (n - 2)) / total[:, 0] if n > 2 else 0 * c
    return c[:, 0], np.reshape(errors, -1)
