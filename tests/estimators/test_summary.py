"""What a fitted estimator says of itself, beside its attributes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from meanparity import MeanParity, ParityKernelRidgeCV, ParityRidge, ParityRidgeCV
from meanparity.metrics import group_means


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    s = pd.DataFrame({"sex": rng.choice(["F", "M"], 300), "site": rng.choice([1, 2], 300)})
    X = rng.standard_normal((300, 4)) + (s["sex"] == "M").to_numpy()[:, None]
    return X, X[:, 0] + 0.5 * (s["site"] == 2) + rng.standard_normal(300), s


def value(text, name):
    (line,) = [line for line in text.splitlines() if line.startswith(name)]
    return line.removeprefix(name).strip()


@pytest.mark.parametrize("unfairness", [0.0, 0.4, 1.0])
def test_numbers_are_those_of_the_fit(unfairness, data):
    X, y, s = data
    model = ParityRidge(alpha=2.5, unfairness=unfairness).fit(X, y, sensitive_features=s)
    text = str(model.summary())
    assert text.splitlines()[0] == "ParityRidge"
    assert value(text, "columns") == "4"
    assert value(text, "conditions") == "3"
    assert value(text, "penalty (alpha)") == "2.5"
    assert value(text, "R² on the training rows") == f"{model.score(X, y):.4g}"
    free = ParityRidge(alpha=2.5, unfairness=1.0).fit(X, y, sensitive_features=s)
    assert value(text, "R² without the constraint") == f"{free.score(X, y):.4g}"
    if unfairness:
        assert value(text, "share of the free gaps that is left") == f"{unfairness:.4g}"
        largest = max(map(abs, model.gaps_.values()))
        assert f"Largest gap on the training rows: {largest:.4g} (" in text
    else:
        assert text.endswith("Largest gap on the training rows: zero, up to rounding.")
    assert repr(model.summary()) == text
    assert len({len(line) for line in text.splitlines() if line.startswith("---")}) == 1


def test_the_frame_has_the_groups_and_their_means(data):
    X, y, s = data
    model = ParityRidge(unfairness=0.5).fit(X, y, sensitive_features=s)
    frame = model.summary().to_frame()
    expected = group_means(y, model.predict(X), sensitive_features=s)
    assert dict(zip(frame["group"], frame["mean"], strict=True)) == pytest.approx(
        {", ".join(map(str, key)): mean for key, mean in expected.items()}
    )
    assert frame["rows"].sum() == 300
    for name, rows in zip(frame["group"], frame["rows"], strict=True):
        (line,) = [x for x in str(model.summary()).splitlines() if x.startswith(name)]
        assert line.split()[-2] == f"{rows:,}"


def test_chosen_penalties_pools_limits_and_outputs(data):
    X, y, s = data
    chosen = ParityRidgeCV(alphas=[0.1, 1.0]).fit(X, y, sensitive_features=s)
    assert value(str(chosen.summary()), "penalty (chosen)") == f"{chosen.alpha_:.4g}"
    both = np.column_stack([y, -y])
    pooled = ParityKernelRidgeCV(alphas=[0.1, 1.0], cv=3, fit_intercept=True)
    pooled.fit(X, both, sensitive_features=s["sex"], pool=(X[:50], s["sex"][:50]))
    summary = pooled.summary()
    assert "Largest gap on the pool: zero, up to rounding." in str(summary)
    assert list(summary.to_frame()) == ["group", "rows", "mean_0", "mean_1"]
    assert "R²" not in str(summary), "there is one for each output"
    limited = ParityRidge(max_gap=0.05).fit(X, y, sensitive_features=s)
    assert limited.unfairness_ is None
    assert "R² on the training rows" not in str(limited.summary())
    assert "Largest gap on the training rows: 0.05 (" in str(limited.summary())


def test_many_groups_and_numbers_without_groups(data):
    X, y, _ = data
    constraint = MeanParity(continuous=[])
    many = ParityRidge(constraint=constraint, unfairness=0.5).fit(
        np.random.default_rng(1).standard_normal((300, 20)),
        y,
        sensitive_features=np.arange(300) % 15,
    )
    assert "and 5 more" in str(many.summary())
    assert len(many.summary().to_frame()) == 15
    age = pd.DataFrame({"age": np.random.default_rng(2).uniform(20, 60, 300)})
    numbers = ParityRidge(constraint=MeanParity(continuous=["age"])).fit(
        X, y, sensitive_features=age
    )
    assert "mean prediction  " not in str(numbers.summary())
    assert "zero covariance" in str(numbers.summary())
