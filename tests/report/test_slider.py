"""The slider of a report: every number on it is that of the model at its position."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_squared_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from meanparity import (
    MeanParity,
    ParityKernelClassifier,
    ParityKernelRegressor,
    ParityKernelRidge,
    ParityRidge,
    ParityRidgeCV,
)
from meanparity.constraints import ResidualParity
from meanparity.metrics import group_means, max_mean_gap
from meanparity.persistence import load, save
from meanparity.report import Slider, report_on
from meanparity.tables import Roles, fit_table

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
    assert f"This model has gaps of at most {limit} on the rows of fit." in report.lead
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


# --- the chosen frontier

BUDGETS = ("gap", "smd", "norm")
SIZES = {"gap": "max_gap", "smd": "smd", "norm": "norm"}


def size(budget, gaps):
    """What a budget limits, of gaps by name."""
    found = np.abs(list(gaps.values()))
    return {"gap": found.max(), "smd": found.sum(), "norm": np.sqrt((found**2).sum())}[budget]


def within(tradeoff, budget, limit):
    return {"gap": tradeoff.for_gap, "smd": tradeoff.for_smd, "norm": tradeoff.for_norm}[budget](
        limit
    )


def text_of(report):
    return " ".join(re.sub(r"<[^>]+>", " ", report.to_html().split("<script")[0]).split())


def check_page(report, model, rows, limits):
    """Every position of a page about rows is the library's function within its limit."""
    (summary,), slider = report.summaries, report.slider
    tradeoff, budget = model.tradeoff_, slider.budget
    measured = tradeoff.frontier(F[rows], Y[rows], S[rows], budget, limits)
    assert len(limits) == len(slider.labels) == len(slider.weights)
    for step, weights in enumerate(slider.weights):
        assert float(slider.labels[step]) == pytest.approx(limits[step], rel=1e-3, abs=1e-9)
        mse, gaps = summary.mean_squared_error(weights), summary.gaps(weights)
        assert mse == pytest.approx(measured.mse[step], rel=1e-6)
        shown = size(budget, dict(enumerate(gaps)))
        assert shown == pytest.approx(getattr(measured, SIZES[budget])[step], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("options", [{}, {"unfairness": 0.3}, {"max_gap": 0.4}], ids=str)
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_budget_has_a_slider_along_its_frontier(budget, options):
    model = fitted(**options)
    report = model.report(F[OTHER], Y[OTHER], sensitive_features=S[OTHER], budget=budget)
    slider, own = report.slider, size(budget, model.gaps_)
    free = size(budget, fitted(unfairness=1.0).gaps_)
    limits = np.linspace(0, free, 21)
    check_page(report, model, OTHER, limits)
    columns = slider.columns(model, F[OTHER])
    for step in (0, 7, 13, 20):
        function = within(model.tradeoff_, budget, limits[step])
        assert columns @ slider.weights[step] == pytest.approx(function.predict(F[OTHER]))
    assert columns @ slider.model == pytest.approx(model.predict(F[OTHER]))
    # where the fitted model stands
    assert abs(limits[slider.start] - own) <= free / 40 * (1 + 1e-9)
    place = {"gap": "the largest of its gaps is", "smd": "its gaps add up to"}
    place |= {"norm": "the root of the sum of its squared gaps is"}
    shown = f"{own:.4g}" if own > 1e-9 else "0"
    assert f"On the rows of fit, {place[budget]} {shown}." in text_of(report)
    assert slider.model_value.startswith(shown)
    for other in BUDGETS:
        assert (place[other] in text_of(report)) == (other == budget)
    has = "gaps of at most 0.4" if "max_gap" in options else f"unfairness {model.unfairness_}"
    assert f"The model of this report has {has.replace('0.0', '0')}" in text_of(report)
    assert "Limits are in the units of the predictions." in text_of(report)


@pytest.mark.parametrize("budget", BUDGETS)
def test_on_a_pool_the_page_says_so(budget):
    pool = (F[OTHER], S[OTHER])
    model = ParityRidge(unfairness=0.5)
    model.fit(F[TRAIN], Y[TRAIN], sensitive_features=S[TRAIN], pool=pool)
    report = model.report(F[TRAIN], Y[TRAIN], sensitive_features=S[TRAIN], budget=budget)
    here, there = (size(budget, gaps) for gaps in (model.gaps_, model.pool_gaps_))
    own = np.hypot(here, there) if budget == "norm" else max(here, there)
    sentence = {
        "gap": f"On the rows of fit or on the pool, the largest of its gaps is {own:.4g}.",
        "smd": f"On the rows of fit, and on the pool, its gaps add up to no more than {own:.4g}.",
        "norm": "On the rows of fit and the pool together, the root of the sum of its squared gaps "
        f"is {own:.4g}.",
    }
    assert sentence[budget] in text_of(report)
    assert 2 * own == pytest.approx(float(report.slider.labels[-1]), rel=1e-3)
    assert report.slider.start == 10


@pytest.mark.parametrize("budget", BUDGETS)
def test_with_many_directions_there_are_fewer_positions(budget, monkeypatch):
    monkeypatch.setattr("meanparity.report.slider._MOST_DIRECTIONS", 2)
    for options in ({}, {"unfairness": 1.0}, {"max_gap": 0.4}):
        model = fitted(**options)
        report = model.report(F[OTHER], Y[OTHER], sensitive_features=S[OTHER], budget=budget)
        free = size(budget, fitted(unfairness=1.0).gaps_)
        check_page(report, model, OTHER, np.linspace(0, free, 9))
        columns = report.slider.columns(model, F[OTHER])
        assert columns @ report.slider.model == pytest.approx(model.predict(F[OTHER]))


LOSSES = {
    "probabilities": ParityKernelClassifier(constraint=MeanParity(scale="response")),
    "scores": ParityKernelClassifier(constraint=MeanParity(scale="score")),
    "limit": ParityKernelClassifier(constraint=MeanParity(scale="score"), max_gap=0.3),
    "huber": ParityKernelRegressor(loss="huber", unfairness=0.25),
}


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", LOSSES)
def test_other_losses_have_nine_positions(name, budget):
    model = clone(LOSSES[name])
    y = Y if name == "huber" else (Y > 0).astype(int)
    model.fit(F[TRAIN], y[TRAIN], sensitive_features=S[TRAIN])
    report = model.report(F[OTHER], y[OTHER], sensitive_features=S[OTHER], budget=budget)
    (summary,), slider, tradeoff = report.summaries, report.slider, model.tradeoff_
    free = clone(model).set_params(unfairness=1.0, max_gap=None)
    free.fit(F[TRAIN], y[TRAIN], sensitive_features=S[TRAIN])
    limits = np.linspace(0, size(budget, free.gaps_), 9)
    measured = tradeoff.frontier(F[OTHER], y[OTHER], S[OTHER], budget, limits)
    for step, weights in enumerate(slider.weights):
        assert float(slider.labels[step]) == pytest.approx(limits[step], rel=1e-3, abs=1e-9)
        assert summary.mean_squared_error(weights) == pytest.approx(measured.mse[step], rel=1e-6)
        shown = size(budget, dict(enumerate(summary.gaps(weights))))
        expected = getattr(measured, SIZES[budget])[step]
        assert shown == pytest.approx(expected, rel=1e-5, abs=1e-9)
    values = model.predict(F[OTHER]) if name == "huber" else model.predict_proba(F[OTHER])[:, 1]
    assert summary.predicted.at(slider.model) == pytest.approx(values)
    text = text_of(report)
    unit = "scores" if name in ("scores", "limit") else "predictions"
    assert f"Limits are in the units of the {unit}." in text
    assert ("no small change within the limit" in text) == (name == "probabilities")
    assert ("the models of smallest penalised loss" in text) == (name != "probabilities")
    own = size(budget, model.gaps_)
    assert abs(limits[slider.start] - own) <= limits[1] / 2 * (1 + 1e-6)


def test_a_budget_that_cannot_be_followed_is_refused(tmp_path):
    model, s = fitted(), {"sensitive_features": S[OTHER]}
    with pytest.raises(ValueError, match=r"budget='sum' is not known\. Pass one of gap, smd, norm"):
        model.report(F[OTHER], Y[OTHER], budget="sum", **s)
    other = Ridge().fit(F[TRAIN], Y[TRAIN])
    with pytest.raises(ValueError, match=r"which Ridge does not have\. Leave budget out"):
        report_on(other, F[OTHER], Y[OTHER], budget="gap", **s)
    loss = ParityKernelRegressor(loss="huber").fit(F[TRAIN], Y[TRAIN], sensitive_features=S[TRAIN])
    save(loss, tmp_path / "model.meanparity")
    loaded = load(tmp_path / "model.meanparity")
    with pytest.raises(ValueError, match="or leave budget out of a report"):
        loaded.report(F[OTHER], Y[OTHER], budget="gap", **s)


def test_models_from_files_and_at_the_end_of_pipelines_have_frontiers(tmp_path):
    model, s = fitted(), {"sensitive_features": S[OTHER]}
    save(model, tmp_path / "model.meanparity")
    wanted = model.report(F[OTHER], Y[OTHER], budget="smd", **s).sentences
    loaded = load(tmp_path / "model.meanparity")
    assert loaded.report(F[OTHER], Y[OTHER], budget="smd", **s).sentences == wanted
    steps = make_pipeline(StandardScaler(), ParityRidgeCV())
    steps.fit(F[TRAIN], Y[TRAIN], parityridgecv__sensitive_features=S[TRAIN])
    page = report_on(steps, F[OTHER], Y[OTHER], budget="smd", **s)
    assert page.slider.budget == "smd"
    assert len(page.slider.labels) == 21


@pytest.mark.parametrize("budget", [None, "gap"])
def test_a_cross_validated_model_with_a_limit_is_on_the_page(budget):
    model = ParityRidgeCV(max_gap=0.3, cv=3)
    model.fit(F[TRAIN], Y[TRAIN], sensitive_features=S[TRAIN])
    page = model.report(F[OTHER], Y[OTHER], sensitive_features=S[OTHER], budget=budget)
    (summary,) = page.summaries
    assert page.slider.name == "Largest gap allowed on the rows of fit"
    assert summary.predicted.at(page.slider.model) == pytest.approx(model.predict(F[OTHER]))


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_tables_have_frontiers(loss):
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"sex": rng.choice(list("FMx"), 300), "x": rng.standard_normal(300)})
    people["claims"] = rng.poisson(np.exp(0.5 * people["x"] + 0.5 * (people["sex"] == "F")))
    made = fit_table(people, Roles("claims", ("sex",)), model="linear", loss=loss, budget="norm")
    page = made.report()
    assert page.slider.budget == "norm"
    assert len(page.slider.labels) == (21 if loss == "squared" else 9)
    tradeoff = made.estimator.tradeoff_
    X, rows = made.table.test, page.summaries[1]
    limits = tradeoff.along_frontier("norm", len(page.slider.labels) - 1)[0]
    found = tradeoff.frontier(X.X, X.y, X.metadata["sensitive_features"], "norm", limits)
    errors = [rows.mean_squared_error(weights) for weights in page.slider.weights]
    assert errors == pytest.approx(found.mse, rel=1e-6)
    norms = [size("norm", dict(enumerate(rows.gaps(w)))) for w in page.slider.weights]
    assert norms == pytest.approx(found.norm, rel=1e-5, abs=1e-9)
