"""What parity costs models of other losses is said, where it is much more than it has to be."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import root_scalar
from scipy.special import expit

from meanparity import MeanParity, ParityKernelClassifier, ParityKernelRegressor
from meanparity.metrics import group_means

LOSSES = ("huber", "smooth_l1", "quantile", "epsilon_insensitive", "poisson", "gamma")


def counts_by_group(n=1500, seed=0):
    """A score that differs between groups, and outcomes of every kind that follow it."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 2, n)
    X = pd.DataFrame({"priors": rng.poisson(1.5 + 1.2 * s), "age": rng.normal(0, 1, n)})
    score = 0.4 * X["priors"].to_numpy() - 0.05 * X["age"].to_numpy() - 0.5
    y = {
        "poisson": rng.poisson(np.exp(score)).astype(float),
        "gamma": rng.gamma(6, np.exp(score) / 6) + 1e-3,
        "logistic": (rng.random(n) < expit(2 * score - 1)).astype(float),
    }
    y |= {"hinge": y["logistic"]}
    return X.astype(float), y, score + 0.2 * rng.standard_normal(n), np.array(["F", "M"])[s]


def fitted(name, X, y, s, **settings):
    made = ParityKernelClassifier if name in ("logistic", "hinge") else ParityKernelRegressor
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        model = made(loss=name, alpha=0.01, **settings).fit(X, y, sensitive_features=s)
    return model, [str(w.message) for w in noted if "Parity costs much" in str(w.message)]


@pytest.mark.parametrize(
    ("name", "scale"),
    [(name, scale) for name in (*LOSSES, "logistic", "hinge") for scale in ("score", "response")][
        :-1
    ],  # the hinge loss has no response
)
def test_a_model_that_parity_wrecks_is_noted_with_its_price(name, scale):
    X, outcomes, other, s = counts_by_group()
    y = outcomes.get(name, other)
    constraint = MeanParity(scale=scale)
    model, noted = fitted(name, X, y, s, constraint=constraint)
    assert len(noted) == 1
    loss = model._loss
    free = fitted(name, X, y, s, constraint=constraint, unfairness=1.0)[0].predict_score(X)

    def shifted(size):  # with the mean score of all rows
        return free + size * ((s == "F") - np.mean(s == "F"))

    def gap(size):
        values = loss.response(shifted(size)) if scale == "response" else shifted(size)
        means = group_means(None, values, sensitive_features=s)
        return means["F"] - means["M"]

    least = shifted(root_scalar(gap, bracket=(-5, 5)).root)

    def mean_loss(score):
        return loss.value(y, score).mean()

    constant = min(mean_loss(np.full(len(y), c)) for c in np.linspace(-5, 5, 5001))
    now = mean_loss(model.predict_score(X))
    told = [int(share) for share in re.findall(r"(\d+)%", noted[0])]
    want = [100 * (1 - mean_loss(free) / constant)]
    if now < constant:
        want.insert(0, 100 * (1 - now / constant))
    else:
        assert "of the model is above that of the best constant" in noted[0]
    want.append(100 * (1 - mean_loss(least) / constant))
    assert told == pytest.approx(want, abs=0.6)
    assert f"mean {name} loss" in noted[0]
    for advice in ("sensitive columns to the features", "kernel", "max_gap"):
        assert advice in noted[0]


@pytest.mark.parametrize("name", [*LOSSES, "logistic", "hinge"])
def test_what_the_note_advises_is_not_noted(name):
    X, outcomes, other, s = counts_by_group()
    y = outcomes.get(name, other)
    assert not fitted(name, X.assign(male=(s == "M") * 1.0), y, s)[1]
    assert not fitted(name, X, y, s, unfairness=0.9)[1]
    assert fitted(name, X, y, s)[1]


@pytest.mark.parametrize("name", LOSSES)
def test_predictions_out_of_the_range_of_y_are_noted(name):
    """Ten rows that do not count in the loss have to make up for the gap of all others."""
    rng = np.random.default_rng(0)
    s = rng.integers(0, 2, 400)
    rare = np.zeros(400)
    rare[np.flatnonzero(s == 0)[:10]] = 1.0
    X = np.column_stack([s + 0.3 * rng.standard_normal(400), rare])
    y = rng.poisson(np.exp(1 + X[:, 0])) + 1.0
    constraint = MeanParity(weight_scope="loss")
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        model = ParityKernelRegressor(loss=name, alpha=1e-3, constraint=constraint)
        model.fit(X, y, sensitive_features=s, sample_weight=1 - rare)
    (told,) = [str(w.message) for w in noted if "outside the range of y" in str(w.message)]
    furthest = float(re.search(r"the furthest is ([\d.e+-]+),", told)[1])
    assert furthest == pytest.approx(model.predict(X).max(), rel=1e-3)
    assert "ParityAdjusted" not in told


def test_probabilities_are_never_out_of_range():
    X, outcomes, _, s = counts_by_group()
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        ParityKernelClassifier(alpha=0.01).fit(X, outcomes["logistic"], sensitive_features=s)
    assert any("Parity costs much" in str(w.message) for w in noted)
    assert not any("outside the range" in str(w.message) for w in noted)
