"""Limits of gaps, from limits of differences between groups and of the shares of groups."""

from __future__ import annotations

import numpy as np

from meanparity._typing import FloatArray
from meanparity.audit.comparisons import Limits
from meanparity.audit.moments import Moments, joined
from meanparity.audit.proportions import share_limits


def gap_limits(moments: Moments, differences: Limits, error: float) -> Limits:
    """Limits of the gaps, ``(1 − share)·difference``, from those of the differences: (k,) each.

    If the shares are sampled, the exact limits of ``1 − share`` widen those of the product by the
    method of variance estimates recovery, on the scale of logarithms where the difference has a
    sign, so that a gap has a sign exactly when the difference has one. Where weights depend on the
    values, the errors of the share and of the difference are correlated.

    References
    ----------
    Zou, G. Y. and Donner, A. (2008). Construction of confidence limits about effect measures: a
    general approach. Statistics in Medicine 27.
    """
    others = (moments.others,) * 3
    if moments.sampled:
        others = (moments.others, *share_limits(moments.others, moments.share_sizes, error))
    low, high = differences
    agreement = moments.correlations * np.sign(moments.differences)
    above = _lower(-moments.differences, -high, -low, *others, agreement)
    return _lower(moments.differences, low, high, *others, agreement), -above


def _lower(
    difference: FloatArray,
    low: FloatArray,
    high: FloatArray,
    others: FloatArray,
    fewest: FloatArray,
    most: FloatArray,
    agreement: FloatArray,
) -> FloatArray:
    """Lower limit of the product of a difference and a share, each with its limits.

    `agreement` is the correlation of the errors of the size of the difference and of the share.
    """
    gap = others * difference
    with np.errstate(divide="ignore", invalid="ignore"):
        nearer = joined(np.log(difference / low), np.log(others / fewest), agreement)
        farther = joined(np.log(low / difference), np.log(most / others), agreement)
        positive, negative = gap * np.exp(-nearer), gap * np.exp(farther)
        share = np.where(difference > 0, others - fewest, most - others)
        size = joined(others * (difference - low), np.abs(difference) * share, agreement)
        either = np.minimum(gap - size, 0.0)
    signed = np.where(low > 0, positive, np.where(high < 0, negative, either))
    return np.asarray(np.where(np.isneginf(low), -np.inf, signed))
