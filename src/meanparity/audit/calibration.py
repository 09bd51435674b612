"""Calibration by group, with intervals."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special
from sklearn.utils import check_array, check_random_state

from meanparity._typing import FloatArray
from meanparity.audit.checks import check_probability
from meanparity.audit.comparisons import is_two_valued
from meanparity.metrics import prediction_errors
from meanparity.metrics.gaps import check_predictions

_FEWEST_ROWS = 30  # fewer lognormal errors rarely show the large ones that their mean depends on
_FEWEST_EVENTS = 20  # of two outcomes, as often as the rarer one has to occur in a group
_RESAMPLED_ROWS = 2000  # with more, the statistics are normal
_DRAWS = 1999
_BATCH = 2**20
_ROUNDING = 1e-10  # of one minus the leverage of a row


@dataclass(frozen=True)
class CalibrationFinding:
    """How the outcomes of a group depend on its predictions, with uncertainty.

    Parameters
    ----------
    group : hashable
        The group.
    size : int
        Number of rows with positive weight.
    bias, bias_low, bias_high : float
        Mean outcome minus mean prediction, and its interval.
    slope, slope_low, slope_high : float
        Slope of the linear regression of outcomes on predictions in the group, and its interval;
        NaN if all predictions of the group are equal. Intervals are infinite where there are too
        few rows to tell: fewer than thirty, or errors that do not differ, or, of outcomes with two
        values, fewer than twenty of either.

    See Also
    --------
    audit_calibration : Makes them.

    Examples
    --------
    >>> import numpy as np
    >>> from meanparity.audit import audit_calibration
    >>> rng = np.random.default_rng(0)
    >>> y, s = rng.normal(size=200), np.arange(200) % 2
    >>> [found.group for found in audit_calibration(y, y, sensitive_features=s)]
    [0, 1]
    """

    group: Hashable
    size: int
    bias: float
    bias_low: float
    bias_high: float
    slope: float
    slope_low: float
    slope_high: float


def audit_calibration(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    confidence: float = 0.95,
    random_state: Any = 0,
) -> tuple[CalibrationFinding, ...]:
    """Bias and slope of the predictions in each group, with intervals.

    Intervals are each for itself. They contain those of a bootstrap-t, for which rows of the group
    are resampled and the studentised bias and slope computed on each sample, and those of Student's
    t distribution, for the slope with the standard errors and degrees of freedom of Bell and
    McCaffrey: either alone is too short in some groups of few rows. docs/audit.md says how often
    they hold.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Outcomes and predictions.
    sensitive_features : array-like of shape (n,) or (n, r), or data frame
        Sensitive columns.
    sample_weight : array-like of shape (n,), optional
        Sampling weights of the rows.
    confidence : float, default=0.95
        Confidence of each interval.
    random_state : int, RandomState or None, default=0
        Random seed of the samples.

    Returns
    -------
    tuple of CalibrationFinding

    See Also
    --------
    meanparity.metrics.calibration_by_group : The numbers without intervals.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> g, s = rng.normal(size=600), np.repeat(["a", "b"], 300)
    >>> y = g * np.where(s == "a", 1.0, 2.0) + rng.normal(size=600)
    >>> found = audit_calibration(y, g, sensitive_features=s)
    >>> [f.slope_low < (1 if f.group == "a" else 2) < f.slope_high for f in found]
    [True, True]
    """
    confidence = check_probability(confidence, "confidence")
    errors = -prediction_errors(y_true, y_pred, "signed")  # checks both
    values, groups, weight = check_predictions(y_true, y_pred, sensitive_features, sample_weight)
    outcomes = check_array(y_true, ensure_2d=False, dtype=np.float64).reshape(-1)
    two_valued = is_two_valued(outcomes)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    found = []
    for j, key in enumerate(groups.keys):
        rows = (groups.codes == j) & (weight > 0)
        part = errors[rows], values.reshape(-1)[rows], weight[rows]
        enough = _are_enough(outcomes[rows], part[0], two_valued)
        bias, slope = _intervals(*part, 1 - confidence, rng, enough=enough)
        found.append(CalibrationFinding(key, int(rows.sum()), *bias.tolist(), *slope.tolist()))
    return tuple(found)


def _are_enough(outcomes: FloatArray, errors: FloatArray, two_valued: bool) -> bool:
    """Whether the rows of a group can tell how its errors vary."""
    rounding = 8 * np.finfo(float).eps * max(np.abs(outcomes).max(), np.abs(errors).max())
    if len(errors) < _FEWEST_ROWS or np.ptp(errors) <= rounding:
        return False
    events = np.sum(outcomes == outcomes[0])
    return not two_valued or min(events, len(outcomes) - events) >= _FEWEST_EVENTS


def _intervals(
    errors: FloatArray,
    values: FloatArray,
    weight: FloatArray,
    error: float,
    rng: np.random.Generator,
    *,
    enough: bool,
) -> tuple[FloatArray, FloatArray]:
    """Bias and slope, each with its limits: (3,) and (3,)."""
    n, scale = len(values), max(np.ptp(values), np.abs(errors).max()) or 1.0
    errors, values = errors / scale, values / scale  # squares of either can be too large or small
    estimates, se = (part[:, 0] for part in _statistics(errors[None], values[None], weight[None]))
    if not enough:
        drawn = np.full((2, 1), np.inf)
    elif n > _RESAMPLED_ROWS:
        drawn = rng.standard_normal((2, _DRAWS))
    else:
        parts, step = [], max(1, _BATCH // n)
        for start in range(0, _DRAWS, step):
            rows = rng.integers(0, n, (min(step, _DRAWS - start), n))
            found, ses = _statistics(errors[rows], values[rows], weight[rows])
            with np.errstate(divide="ignore", invalid="ignore"):
                t = (found - estimates[:, None]) / ses
            parts.append(np.where(ses > 0, t, np.inf))
        drawn = np.hstack(parts)
    of_slope, freedom = _slope_error(errors, values, weight)
    students = (se[0], max(n - 1, 1)), (of_slope, freedom)
    limits = []
    for i in range(2):
        ends = np.quantile(drawn[i], [error / 2, 1 - error / 2], method="nearest")
        known = np.isfinite(ends).all() and se[i] > 0
        low, high = estimates[i] - se[i] * ends[::-1] if known else (-np.inf, np.inf)
        student = students[i][0] * special.stdtrit(students[i][1], 1 - error / 2)
        low, high = min(low, estimates[i] - student), max(high, estimates[i] + student)
        limits.append(np.array([estimates[i], low, high]))
    if not np.ptp(values) > 0:
        limits[1] = np.array([np.nan, -np.inf, np.inf])
    return scale * limits[0], 1 + limits[1]


def _statistics(
    errors: FloatArray, values: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Bias, and slope of the errors, of B samples, and their standard errors: (2, B) each."""
    n, total = values.shape[1], weight.sum(axis=1, keepdims=True)
    bias = (weight * errors).sum(axis=1, keepdims=True) / total
    g = values - (weight * values).sum(axis=1, keepdims=True) / total
    e, square = errors - bias, (weight * g**2).sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = (weight * g * e).sum(axis=1, keepdims=True) / square
        of_bias = ((weight * e) ** 2).sum(axis=1) * n / max(n - 1, 1) / total[:, 0] ** 2
        residuals = weight * g * (e - slope * g)
        of_slope = (residuals**2).sum(axis=1) * n / max(n - 2, 1) / square[:, 0] ** 2
    estimates = np.stack([bias[:, 0], slope[:, 0]])
    return estimates, np.sqrt(np.nan_to_num(np.stack([of_bias, of_slope])))


def _slope_error(errors: FloatArray, values: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Standard error of the slope, and the degrees of freedom of its Student's t distribution.

    It allows for errors of uneven size (HC2): each residual is divided by the square root of one
    minus the leverage of its row. The degrees of freedom are those that the standard error would
    have with even, normal errors; where a few rows lie far from the others, these are few. The
    error is infinite if one row alone decides the slope.

    References
    ----------
    Bell, R. M. and McCaffrey, D. F. (2002). Bias reduction in standard errors for linear regression
    with multi-stage samples. Survey Methodology 28.
    """
    total = weight.sum()
    g = values - np.average(values, weights=weight)
    e, square = errors - np.average(errors, weights=weight), weight @ g**2
    if not square > 0:
        return np.inf, 1.0
    rest = 1 - weight / total - weight * g**2 / square
    if rest.min() < _ROUNDING:
        return np.inf, 1.0
    factors = weight * g / (square * np.sqrt(rest))
    se = np.linalg.norm(factors * (e - (weight @ (g * e)) / square * g))
    # Even errors have residuals with the covariance I - LR', where L and R have four columns.
    design = np.stack([np.ones_like(g), g], axis=1)
    scaled, heavy = design / [total, square], weight[:, None] * design
    left = np.hstack(
        [scaled, weight[:, None] * scaled - scaled @ (heavy.T @ heavy) / [total, square]]
    )
    right = np.hstack([heavy, design])
    squares, diagonal = (factors / np.abs(factors).max()) ** 2, (left * right).sum(axis=1)
    both = ((left.T * squares) @ left) * ((right.T * squares) @ right)
    trace = squares @ (1 - diagonal)
    return float(se), float(trace**2 / (squares**2 @ (1 - 2 * diagonal) + both.sum()))
