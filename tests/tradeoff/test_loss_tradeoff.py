"""The dial between parity and the free fit of other losses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from meanparity import MeanParity, ParityKernelClassifier


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((200, 3)), rng.choice(["a", "b", "c"], 200)
    X[:, 0] += s == "b"
    y = np.where(X[:, 0] + rng.logistic(size=200) > 0.8, "yes", "no")
    model = ParityKernelClassifier(alpha=0.5, constraint=MeanParity(scale="response"))
    return model.fit(X, y, sensitive_features=s), X, y, s


def test_curves_of_class_labels_are_those_of_the_fit(fitted):
    model, X, y, s = fitted
    u = [0.0, 0.3, 1.0]
    there, here = model.tradeoff_.curve(X, y, s, unfairness=u), model.tradeoff_.training_curve(u)
    for name in ("mse", "r2", "smd", "max_gap"):
        assert getattr(there, name) == pytest.approx(getattr(here, name), abs=1e-9), name
    chance = model.predict_proba(X)[:, list(model.classes_).index("yes")]
    assert there.mse[0] == pytest.approx(np.mean(((y == "yes") - chance) ** 2))


def test_no_gap_of_responses_at_all_is_parity(fitted):
    tradeoff = fitted[0].tradeoff_
    assert tradeoff.for_smd(0.0).unfairness == tradeoff.for_gap(0.0).unfairness == 0.0
    assert tradeoff.for_smd(9.0).unfairness == tradeoff.for_gap(9.0).unfairness == 1.0


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_an_end_that_left_a_gap_is_not_taken_for_no_gap(fitted, sign):
    tradeoff = fitted[0].tradeoff_
    gaps = tradeoff.solution.gaps.copy()
    gaps[0] = sign * 0.2
    stopped = replace(tradeoff, solution=replace(tradeoff.solution, gaps=gaps))
    found = stopped.for_gap(0.0)
    assert found.unfairness is None
    scores = [end.predict(fitted[1]) for end in (found, tradeoff.at(0.0))]
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)
