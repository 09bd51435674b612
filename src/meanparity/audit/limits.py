"""Limits of gaps, from limits of differences between groups and of the shares of groups."""

from __future__ import annotations

import numpy as np

from meanparity._typing import FloatArray
from meanparity.audit.comparisons import Limits
from meanparity.audit.moments import Moments
from meanparity.audit.proportions import share_limits


def gap_limits(moments: Moments, differences: Limits, error: float) -> Limits:
    """Limits of the gaps, ``(1 − share)·difference``, from those of the differences: (k,) each.

    If the shares are sampled, the exact limits of ``1 − share`` widen those of the product by the
    method of variance estimates recovery, on the scale of logarithms where the difference has a
    sign, so that a gap has a sign exactly when the difference has one.

    References
    ----------
    Zou, G. Y. and Donner, A. (2008). Construction of confidence limits about effect measures: a
    general approach. Statistics in Medicine 27.
    """
    others = (moments.others,) * 3
    if moments.sampled:
        others = (moments.others, *share_limits(moments.others, moments.share_sizes, error))
    low, high = differences
    above = _lower(-moments.differences, -high, -low, *others)
    return _lower(moments.differences, low, high, *others), -above


def _lower(
    difference: FloatArray,
    low: FloatArray,
    high: FloatArray,
    others: FloatArray,
    fewest: FloatArray,
    most: FloatArray,
) -> FloatArray:
    """Lower limit of the product of a difference and a share, each with its limits."""
    gap = others * difference
    with np.errstate(divide="ignore", invalid="ignore"):
        positive = gap * np.exp(-np.hypot(np.log(difference / low), np.log(others / fewest)))
        negative = gap * np.exp(np.hypot(np.log(low / difference), np.log(most / others)))
        share = np.where(difference > 0, others - fewest, most - others)
        either = gap - np.hypot(others * (difference - low), difference * share)
    signed = np.where(low > 0, positive, np.where(high < 0, negative, either))
    return np.asarray(np.where(np.isneginf(low), -np.inf, signed))
