"""The slider of a report: every number on it is that of the model at its position."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import mean_squared_error

from meanparity import MeanParity, ParityKernelRidge, ParityRidge
from meanparity.constraints import ResidualParity
from meanparity.metrics import group_means, max_mean_gap
from meanparity.report import Slider

RNG = np.random.default_rng(7)
X, S = RNG.standard_normal((300, 6)), RNG.choice(list("abcde"), 300, p=[0.3, 0.3, 0.2, 0.1, 0.1])
Y = (
    X @ RNG.standard_normal(6)
    + np.array([0.0, 1.0, -1.0, 2.0, 0.5])[np.searchsorted(list("abcde"), S)]
)
Y = Y + X[:, 0] * (S == "b") + RNG.standard_normal(300)
F = np.column_stack([X, S[:, None] == list("abcde")])
TRAIN, OTHER = slice(0, 200), slice(200, 300)


def fitted(**options):
    return ParityRidge(**options).fit(F[TRAIN], Y[TRAIN], sensitive_features=S[TRAIN])


def largest_gap():
    return max(abs(gap) for gap in fitted(unfairness=1.0).gaps_.values())


def test_a_limit_has_a_slider_of_limits():
    model = fitted(max_gap=0.4 * largest_gap())
    assert model.unfairness_ is None
    slider = Slider.of(model)
    assert slider.name.startswith("Largest gap allowed")
    for rows in (TRAIN, OTHER):
        columns = slider.columns(model, F[rows])
        for step in (0, 3, 8, 15, 20):
            limit = step / 20 * largest_gap()
            function = model.tradeoff_.for_gap(limit)
            assert columns @ slider.weights[step] == pytest.approx(function.predict(F[rows]))
        assert columns @ slider.model == pytest.approx(model.predict(F[rows]))
    assert slider.start == 8
    assert float(slider.labels[8]) == pytest.approx(0.4 * largest_gap(), rel=1e-3)


@pytest.mark.parametrize("constraint", ["mean_parity", ResidualParity()])
def test_numbers_on_the_page_are_those_of_the_model(constraint):
    limit = 0.3 if constraint == "mean_parity" else 0.01
    model = fitted(max_gap=limit, constraint=constraint)
    assert model.unfairness_ is None
    report = model.report(F[OTHER], Y[OTHER], sensitive_features=S[OTHER])
    (summary,) = report.summaries
    predicted, slider = model.predict(F[OTHER]), report.slider
    assert summary.mean_squared_error(slider.model) == pytest.approx(
        mean_squared_error(Y[OTHER], predicted)
    )
    by = {"sensitive_features": S[OTHER]}
    compared = predicted if constraint == "mean_parity" else predicted - Y[OTHER]
    gaps = np.abs(summary.gaps(slider.model))
    assert gaps.max() == pytest.approx(max_mean_gap(None, compared, **by))
    means = slider.model @ np.array(summary.data["predicted"]["means"])
    assert dict(zip(summary.names, means, strict=True)) == pytest.approx(
        group_means(None, predicted, **by)
    )
    assert [f.mean for f in summary.after.findings] == pytest.approx(
        list(group_means(None, compared, **by).values())
    )
    free = model.tradeoff_.at(1.0).predict(F[OTHER])
    for group, change in zip(summary.names, summary.data["change"][-1], strict=True):
        moved = (predicted - free)[S[OTHER] == group]
        assert change["low"] == pytest.approx(np.quantile(moved, 0.1), abs=1e-12)
        assert change["up"] == np.mean(moved > 1e-9)
    assert sum(summary.data["bars"][-1][0]) == pytest.approx(1000, abs=5)
    assert f"This model has gaps of at most {limit}." in report.lead
    assert "unfairness" not in report.to_html().split("<script")[0].replace('"unfairness"', "")


def test_a_limit_for_each_group_is_said():
    limits = dict.fromkeys("abcde", 0.5) | {"d": np.inf}
    model = fitted(max_gap=limits)
    report = model.report(F[TRAIN], Y[TRAIN], sensitive_features=S[TRAIN], constrained=True)
    assert "gaps of at most (a: 0.5, b: 0.5, c: 0.5, d: no limit, e: 0.5)" in report.lead
    columns = report.slider.columns(model, F[OTHER])
    assert columns @ report.slider.model == pytest.approx(model.predict(F[OTHER]))


def test_many_directions_leave_the_dial(monkeypatch):
    monkeypatch.setattr("meanparity.report.slider._MOST_DIRECTIONS", 2)
    model = fitted(max_gap=0.3)
    slider = Slider.of(model)
    assert (slider.name, slider.model_value) == ("Unfairness", "not on the dial")
    columns = slider.columns(model, F[OTHER])
    assert columns @ slider.model == pytest.approx(model.predict(F[OTHER]))
    assert columns @ slider.weights[30] == pytest.approx(model.tradeoff_.at(0.3).predict(F[OTHER]))
    assert "gaps of at most 0.3" in model.report(F, Y, sensitive_features=S).lead


def test_a_model_on_the_dial_keeps_the_dial():
    kernel = ParityKernelRidge(kernel="rbf", unfairness=0.25)
    model = kernel.fit(X, Y, sensitive_features=S)
    slider = Slider.of(model)
    assert (slider.model_label, slider.start, len(slider.labels)) == ("unfairness 0.25", 25, 101)
    assert slider.columns(model, X) @ slider.model == pytest.approx(model.predict(X))


def test_pooled_models_are_on_the_page():
    model = fitted(constraint=MeanParity(pooling=2.0, min_group_size=0))
    report = model.report(F[OTHER], Y[OTHER], sensitive_features=S[OTHER])
    (summary,) = report.summaries
    predicted = model.predict(F[OTHER])
    assert summary.mean_squared_error(report.slider.model) == pytest.approx(
        mean_squared_error(Y[OTHER], predicted)
    )
    assert "This model has partial pooling." in report.lead


def test_as_many_directions_as_are_shown_are_on_the_frontier(monkeypatch):
    model = fitted(max_gap=0.3)
    count = model.tradeoff_.solution.directions.intercept.shape[1]
    for most, name in ((count, "Largest gap"), (count - 1, "Unfairness")):
        monkeypatch.setattr("meanparity.report.slider._MOST_DIRECTIONS", most)
        assert Slider.of(model).name.startswith(name)
