"""What a fitted estimator says of itself, beside its attributes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from meanparity import (
    MeanParity,
    ParityAdjusted,
    ParityKernelClassifier,
    ParityKernelRegressor,
    ParityKernelRidgeCV,
    ParityRidge,
    ParityRidgeCV,
)
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


@pytest.mark.parametrize("pool", [False, True])
@pytest.mark.parametrize("unfairness", [0.0, 0.25])
def test_a_correction_has_its_gaps_before_and_after(pool, unfairness, data):
    X, y, s = data
    model = ParityAdjusted(LinearRegression(), unfairness=unfairness)
    model.fit(X, y, sensitive_features=s["sex"], pool=(X[:90], s["sex"][:90]) if pool else None)
    frame = model.summary().to_frame().set_index("gap")
    assert list(frame.index) == ["F", "M"] + (["F (pool)", "M (pool)"] if pool else [])
    base, own = LinearRegression().fit(X, y).predict(X), model.predict(X)
    for name, before, after in frame.itertuples():
        n = 90 if "pool" in name else len(X)
        inside, base, own = (s["sex"] == name[0]).to_numpy()[:n], base[:n], own[:n]
        assert before == pytest.approx(base[inside].mean() - base.mean())
        assert after == pytest.approx(own[inside].mean() - own.mean(), abs=1e-12)
        assert after == pytest.approx(unfairness * before, abs=1e-12)
    text = str(model.summary())
    assert value(text, "regressor") == "LinearRegression"
    assert ("share of the gaps that is left" in text) == (unfairness > 0)


def test_scores_are_not_called_predictions(data):
    X, y, s = data
    counts = np.floor(np.exp(y / 4))
    model = ParityKernelRegressor(loss="poisson").fit(X, counts, sensitive_features=s["sex"])
    text = str(model.summary())
    assert "The mean score is the same in every group of sex." in text
    assert "mean score" in text.splitlines()[-5]
    assert "prediction" not in text
    assert value(text, "R² of means on the training rows") == f"{model_r2(model, X, counts):.4g}"
    model = ParityKernelRegressor(loss="poisson", constraint=MeanParity(scale="response"))
    text = str(model.fit(X, counts, sensitive_features=s["sex"]).summary())
    assert "The mean prediction is the same in every group of sex." in text
    hinge = ParityKernelClassifier(loss="hinge").fit(X, y > 0, sensitive_features=s["sex"])
    assert "R²" not in str(hinge.summary())


def model_r2(model, X, y):
    return 1 - ((y - model.predict(X)) ** 2).sum() / ((y - y.mean()) ** 2).sum()
