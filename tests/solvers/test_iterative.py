"""Other losses on hostile problems: no better function is nearby."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from meanparity import ParityKernelClassifier, ParityKernelRegressor
from meanparity.losses import Huber, Logistic, Quantile, SmoothL1
from tests.oracles.losses import group_contrasts, kernel_features
from tests.problems import cases, rounding_decides_the_rank

KERNELS = {"linear": {}, "rbf": {"gamma": 0.3}}


def gram(X, kernel):
    return X @ X.T if kernel == "linear" else np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))


@settings(deadline=None)
@given(
    case=cases(min_rows=12, max_rows=30),
    kernel=st.sampled_from(list(KERNELS)),
    loss=st.sampled_from([Huber(0.5), SmoothL1(0.1), Quantile(0.3, smoothing=0.1), Logistic()]),
    alpha=st.sampled_from([1e-2, 1.0]),
    seed=st.integers(0, 1000),
)
def test_no_function_nearby_is_better(case, kernel, loss, alpha, seed):
    """In coordinates of the whole space: random feasible changes never lower the objective."""
    X = case.X / np.abs(case.X).max()
    assume(not rounding_decides_the_rank(gram(X, kernel), case.codes))
    y = case.y / np.std(case.y)
    y = (y > np.median(y)).astype(float) if loss.is_binary else y
    kind = ParityKernelClassifier if loss.is_binary else ParityKernelRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(loss=loss, kernel=kernel, alpha=alpha, **KERNELS[kernel])
        model.fit(X, y, sensitive_features=case.codes)
    F = kernel_features(gram(X, kernel))
    scores = model.predict_score(X)
    theta = np.linalg.lstsq(F, scores - model.intercept_, rcond=None)[0]
    norm = model.tradeoff_.penalties[0, 0] / alpha
    assert theta @ theta == pytest.approx(norm, rel=1e-4, abs=1e-4)
    constraint = group_contrasts(case.codes).T @ F
    rng = np.random.default_rng(seed)
    here = model.tradeoff_.objective(0.0)
    for size in (1e-3, 1e-1, 1.0):
        step = size * rng.standard_normal(F.shape[1])
        step -= np.linalg.pinv(constraint) @ (constraint @ step)
        moved = scores + F @ step + size * rng.standard_normal()
        value = loss.value(y, moved).sum() + alpha * np.sum((theta + step) ** 2)
        assert value >= here * (1 - 1e-7) - 1e-9
