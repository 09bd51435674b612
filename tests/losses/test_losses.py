"""Losses: derivatives against differences, links, kinks, and targets that make no sense."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meanparity.losses import (
    LOSSES,
    EpsilonInsensitive,
    Gamma,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Poisson,
    Quantile,
    SmoothL1,
    Squared,
    resolve_loss,
)

SMOOTH = [
    Squared(),
    Huber(0.7),
    SmoothL1(0.1),
    SmoothL1(1.0),
    Quantile(0.3, smoothing=0.2),
    EpsilonInsensitive(0.1, smoothing=0.3),
    Logistic(),
    Hinge(0.5),
    Poisson(),
    Gamma(),
]


def test_every_loss_of_the_package_is_tested_here():
    assert {type(loss) for loss in SMOOTH} == set(LOSSES.values())


def targets(loss, rng, n):
    if loss.is_binary:
        return rng.integers(0, 2, n).astype(float)
    if isinstance(loss, Poisson):
        return rng.poisson(2.0, n).astype(float)
    return rng.gamma(2.0, 1.0, n) if isinstance(loss, Gamma) else rng.standard_normal(n)


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
@given(seed=st.integers(0, 10_000))
def test_derivatives_are_those_of_the_value(loss, seed):
    rng = np.random.default_rng(seed)
    y, score, h = targets(loss, rng, 20), 2 * rng.standard_normal(20), 1e-6
    difference = (loss.value(y, score + h) - loss.value(y, score - h)) / (2 * h)
    assert np.allclose(loss.gradient(y, score), difference, rtol=1e-6, atol=1e-6)
    second = (loss.gradient(y, score + h) - loss.gradient(y, score - h)) / (2 * h)
    found = loss.curvature(y, score)
    near = [loss.curvature(y, score + step) for step in (-h, h)]
    smooth_here = np.isclose(*near, rtol=1e-3, atol=1e-4)  # the gradient has no kink between
    assert smooth_here.mean() > 0.8
    assert np.allclose(found[smooth_here], second[smooth_here], rtol=1e-5, atol=1e-5)
    slope = (loss.response(score + h) - loss.response(score - h)) / (2 * h)
    assert np.allclose(loss.slope(score), slope, rtol=1e-6, atol=1e-6)
    assert (found >= 0).all()


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_values_are_convex_and_not_negative(loss):
    rng = np.random.default_rng(0)
    y = targets(loss, rng, 200)
    a, b = 3 * rng.standard_normal((2, 200))
    middle = loss.value(y, (a + b) / 2)
    assert np.all(middle <= (loss.value(y, a) + loss.value(y, b)) / 2 + 1e-12)
    assert loss.value(y, a).min() >= -1e-12


@pytest.mark.parametrize("kind", [Quantile, EpsilonInsensitive, Hinge])
def test_rounded_losses_are_near_those_with_kinks(kind):
    exact, y = kind(smoothing=0.0), np.tile([0.0, 1.0], 200)
    score = np.linspace(-2, 3, 400)
    assert not exact.is_smooth
    for smoothing in (0.5, 0.1, 1e-3):
        near = exact.rounded(smoothing)
        assert near.is_smooth
        assert np.abs(near.value(y, score) - exact.value(y, score)).max() <= smoothing / 2 + 1e-12


def test_known_values():
    z = np.array([2.0, -2.0])
    zero = np.zeros(2)
    assert np.allclose(Quantile(0.9).value(z, zero), [1.8, 0.2])
    assert np.allclose(Quantile(0.9, smoothing=0.5).value(z, zero), [1.8, 0.2])
    assert np.allclose(Quantile(0.5, smoothing=0.4).value(zero, zero), 0.1)
    assert np.allclose(Huber(1.0).value(z, zero), 3.0)
    assert np.allclose(SmoothL1(0.5).value(z, zero), 1.75)
    assert np.allclose(EpsilonInsensitive(0.5, smoothing=0.0).value(z, zero), 1.5)
    assert np.allclose(Logistic().value(np.array([0.0, 1.0]), np.array([800.0, -800.0])), 800)
    assert np.allclose(Poisson().value(np.array([3.0]), np.log([3.0])), 0.0)
    assert np.allclose(Gamma().value(np.array([3.0]), np.log([3.0])), 0.0)


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_the_start_is_a_good_constant(loss):
    rng = np.random.default_rng(0)
    y, u = targets(loss, rng, 100), rng.uniform(0.1, 2, 100)
    start = loss.start(y, u)
    here = u @ loss.value(y, np.full(100, start))
    everywhere = [u @ loss.value(y, np.full(100, c)) for c in np.linspace(-3, 3, 61)]
    assert here <= 1.2 * min(everywhere)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Huber(0.0), r"epsilon=0\.0\. Pass a number above 0"),
        (lambda: SmoothL1(-1), r"beta=-1\. Pass a number above 0"),
        (lambda: SmoothL1(np.nan), r"beta=nan"),
        (lambda: Quantile(1.0), r"quantile=1\.0\. Pass a number between 0 and 1"),
        (lambda: Quantile(0.5, smoothing=-1), r"smoothing=-1\. Pass a number of 0 or more"),
        (lambda: EpsilonInsensitive("a"), r"epsilon='a'"),
        (lambda: Hinge(True), r"smoothing=True"),
        (lambda: Poisson().check(np.array([-1.0])), r"0 or more.*from -1 to -1"),
        (lambda: Poisson().check(np.zeros(3)), r"not all of them 0"),
        (lambda: Gamma().check(np.array([0.0, 1.0])), r"above 0, but the smallest is 0"),
        (lambda: resolve_loss("cubic", binary=False), r"loss='cubic' is not known.*smooth_l1"),
        (lambda: resolve_loss("hinge", binary=False), r"one of ParityKernelClassifier's"),
        (lambda: resolve_loss("huber", binary=True), r"one of ParityKernelRegressor's"),
        (lambda: resolve_loss(3, binary=True), r"loss=3 is not known"),
    ],
)
def test_what_makes_no_sense(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_all_names_give_losses():
    for name, kind in LOSSES.items():
        assert isinstance(resolve_loss(name, binary=kind.is_binary), Loss)
        assert resolve_loss(kind(), binary=kind.is_binary) == kind()
