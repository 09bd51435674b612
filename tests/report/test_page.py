"""The page: its numbers are the library's, its names are text."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_squared_error

from meanparity import (
    CovarianceParity,
    ParityKernelRidge,
    ParityKernelRidgeCV,
    ParityRidge,
    ParityWarning,
)
from meanparity.audit import audit
from meanparity.constraints import Constraint, Functionals, MeanParity
from meanparity.data.rows import Rows
from meanparity.metrics import group_means, max_mean_gap, mean_parity_gap
from meanparity.persistence import load, save
from meanparity.report import PredictedRows, make_report
from meanparity.report.slider import STEPS
from meanparity.report.summary import BINS
from meanparity.solvers import Nystrom

RNG = np.random.default_rng(0)
N = 600
X = pd.DataFrame(RNG.standard_normal((N, 4)), columns=["a", "b", "c", "d"])
SEX = RNG.choice(["F", "M", "other"], N, p=[0.5, 0.4, 0.1])
Y = np.sin(X["a"]) + 0.8 * (SEX == "F") + 0.3 * RNG.standard_normal(N)
S = pd.DataFrame({"sex": SEX})


@pytest.fixture(scope="module")
def model():
    half = slice(0, 300)
    fitted = ParityKernelRidge(kernel="rbf", fit_intercept=True, unfairness=0.25)
    return fitted.fit(X[half], Y[half], sensitive_features=S[half])


def embedded(page):
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(text)


def test_the_numbers_of_every_position_are_the_librarys(model):
    part = embedded(model.report(X, Y, sensitive_features=S).to_html())["parts"][0]
    for u in (0.0, 0.25, 0.6, 1.0):
        predicted = model.tradeoff_.at(u).predict(X)
        w = np.array([1 - u, u])
        mse = w @ np.array(part["errors"]) @ w
        assert mse == pytest.approx(mean_squared_error(Y, predicted), rel=1e-12)
        fair, free = (np.array(gaps) for gaps in part["gaps"])
        gaps = np.abs((1 - u) * fair + u * free)
        assert gaps.max() == pytest.approx(max_mean_gap(Y, predicted, sensitive_features=S))
        assert gaps.sum() == pytest.approx(mean_parity_gap(Y, predicted, sensitive_features=S))
        means = group_means(Y, predicted, sensitive_features=S)
        mixed = w @ np.array(part["predicted"]["means"])
        assert dict(zip(part["groups"], mixed, strict=True)) == pytest.approx(means)
        low, high = part["range"]
        edges = np.linspace(low, high, BINS + 1)
        for i, group in enumerate(part["groups"]):
            counted = np.histogram(predicted[group == SEX], edges)[0] / np.sum(group == SEX)
            shown = np.array(part["bars"][round(u * STEPS)][i]) / 1000
            assert np.abs(shown - counted).sum() < 0.05  # a value on an edge, and rounding


def test_changes_and_tables(model):
    report = model.report(
        X, Y, sensitive_features=S, name="held-out rows", target="pay", constrained=False
    )
    (summary,) = report.summaries
    moved = model.tradeoff_.at(0.0).predict(X) - model.tradeoff_.at(1.0).predict(X)
    for group, change in zip(summary.names, summary.data["change"][0], strict=True):
        some = moved[group == SEX]
        assert change["up"] == np.mean(some > 0)
        assert change["low"] == pytest.approx(np.quantile(some, 0.1))
    page = html.unescape(report.to_html())
    assert "600 held-out rows, on which the constraint was not imposed." in page
    assert "On the 600 held-out rows, the largest of 3 gaps of the mean prediction is" in page
    assert "On the 600 held-out rows, predictions of pay are off by" in page
    assert report.drivers[0][0] == "a"


def test_drivers_and_proxies_are_shares_of_variance():
    rng = np.random.default_rng(0)
    job = rng.choice(["p", "q", "r"], N)
    frame = pd.DataFrame({f"job_{name}": (job == name) * 1.0 for name in "pqr"})
    frame["x"], frame["const"] = rng.standard_normal(N), 1.0
    sensitive = pd.DataFrame({"sex": np.where((job == "p") ^ (rng.random(N) < 0.2), "F", "M")})
    model = ParityRidge().fit(frame, Y, sensitive_features=sensitive)
    fair, free = model.tradeoff_.predict(frame, [0.0, 1.0])
    part = PredictedRows("rows", fair, free, sensitive, Y)
    origin = {f"job_{name}": "job" for name in "pqr"}
    report = make_report(
        [part],
        comparison=model.tradeoff_.comparison,
        position=0.0,
        columns=(frame, part),
        origin=origin,
    )
    shares = {name: before for name, before, _ in report.drivers}
    assert set(shares) == {"job", "x", "const"}
    by_job = pd.Series(free).groupby(job).transform("mean")
    assert shares["job"] == pytest.approx(by_job.var() / free.var(ddof=1))
    assert shares["const"] == 0
    told = dict(report.proxies.columns)
    is_f = pd.Series((sensitive["sex"] == "F") * 1.0)
    assert told["job"] == pytest.approx(is_f.groupby(job).transform("mean").var() / is_f.var())
    assert report.proxies.joint >= told["job"]


def test_verdict_of_constrained_rows(model):
    half = slice(0, 300)
    parity = model.tradeoff_.at(0.0)
    assert parity.unfairness == 0
    exact = ParityKernelRidge(kernel="rbf", fit_intercept=True)
    exact.fit(X[half], Y[half], sensitive_features=S[half])
    page = exact.report(
        X[half], Y[half], sensitive_features=S[half], name="training rows", constrained=True
    ).to_html()
    page = html.unescape(page)
    assert "300 training rows, on which the constraint was imposed." in page
    assert "On the 300 training rows, all 3 groups have the same mean prediction, up to" in page
    assert '<th scope="col">interval</th>' not in page
    page = model.report(X[half], Y[half], sensitive_features=S[half], constrained=True).to_html()
    assert "the largest of 3 gaps of the mean prediction is" in page


HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"quotes\" & 'more' {{ 7 * 7 }}",
    "😀 emoji \u2028 line",
    "x" * 200,
]


def test_names_are_text():
    names = np.array(HOSTILE, dtype=object)[np.arange(N) % 5]
    frame = X.rename(columns={"a": "<b>a</b>", "b": "</style>"})
    sensitive = pd.DataFrame({"<i>s</i>": names})
    model = ParityKernelRidge(kernel="rbf").fit(frame, Y, sensitive_features=sensitive)
    page = model.report(
        frame, Y, sensitive_features=sensitive, target="<u>y</u>", name="<rows>"
    ).to_html()
    assert "{{ 7 * 7 }}" in page
    for raw in ("<script>alert", "<img", "<b>a", "<i>s", "<u>y", "<rows>"):
        assert raw not in page.split("<body>")[1].split('<script type="application/json"')[0]
    assert page.count("</script>") == 2
    assert page.count("</style>") == 1
    assert embedded(page)["parts"][0]["groups"] == sorted(HOSTILE)


def test_sensitive_numbers_are_shown_in_bands():
    age = 40 + 10 * X["a"]
    sensitive = pd.DataFrame({"age": age})
    model = ParityRidge(constraint=MeanParity(continuous=["age"])).fit(
        X, Y, sensitive_features=sensitive
    )
    report = model.report(X, Y, sensitive_features=sensitive, constrained=True)
    (summary,) = report.summaries
    assert summary.banded
    assert len(summary.names) == 5
    assert sum(summary.data["counts"]) == 600
    assert max(abs(n - 120) for n in summary.data["counts"]) < 5
    assert report.constraint == "Predictions have zero covariance with age."
    assert "The constraint concerns a covariance and not the means of the bands" in report.to_html()


def test_many_groups_show_the_largest():
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 80, 4000)
    groups[:2000] = rng.integers(0, 10, 2000)
    features = rng.standard_normal((4000, 3))
    model = ParityKernelRidge(
        kernel="rbf", solver=Nystrom(n_components=200), constraint=MeanParity(continuous=[])
    )
    people = pd.DataFrame({"place": groups.astype(str)})
    model.fit(features, features[:, 0], sensitive_features=people)
    report = model.report(features, sensitive_features=people)
    (summary,) = report.summaries
    assert (len(summary.names), summary.n_groups) == (50, 80)
    assert "(the 50 largest of 80 groups)" in report.to_html()
    assert summary.data["errors"] is None


def test_weights_control_columns_and_other_constraints():
    grade, weights = pd.DataFrame({"grade": RNG.choice([1, 2], N)}), RNG.uniform(0.5, 2, N)
    for constraint in ("mean_parity", "residual_parity"):
        model = ParityKernelRidge(kernel="rbf", fit_intercept=True, constraint=constraint)
        people = {"sensitive_features": S, "control_features": grade, "sample_weight": weights}
        model.fit(X, Y, **people)
        part = model.report(X, Y, **people, constrained=True).summaries[0].data
        curve = model.tradeoff_.curve(X, Y, S, [0.3], control_features=grade, sample_weight=weights)
        fair, free = (np.array(gaps) for gaps in part["gaps"])
        assert np.abs(0.7 * fair + 0.3 * free).max() == pytest.approx(curve.max_gap[0])
        w = np.array([0.7, 0.3])
        assert w @ np.array(part["errors"]) @ w == pytest.approx(curve.mse[0])
        # what the page compares has no gaps at parity, group by group of each stratum
        compared = part["compared"]
        fair = np.array(compared["means"])[0] - np.array(compared["strata"])[0][part["stratum"]]
        assert len(fair) == 6
        assert np.abs(fair).max() < 1e-10
        free = np.array(compared["means"])[1] - np.array(compared["strata"])[1][part["stratum"]]
        assert np.abs(free).max() == pytest.approx(curve_at(model, people, 1.0).max_gap[0])


def curve_at(model, people, u):
    given = {name: people[name] for name in ("control_features", "sample_weight")}
    return model.tradeoff_.curve(X, Y, people["sensitive_features"], [u], **given)


def test_a_page_with_strata_speaks_of_strata():
    grade = pd.DataFrame({"grade": np.arange(N) % 2})
    model = ParityKernelRidge(kernel="rbf", fit_intercept=True)
    model.fit(X, Y, sensitive_features=S, control_features=grade)
    report = model.report(
        X, Y, sensitive_features=S, control_features=grade, name="training rows", constrained=True
    )
    (summary,) = report.summaries
    assert summary.names == tuple(f"grade={g}: {s}" for g in (0, 1) for s in ("F", "M", "other"))
    for finding in summary.after.findings:
        assert abs(finding.gap) < 1e-10
    page = report.to_html()
    assert "difference between a group's mean prediction and the mean of its stratum" in (
        html.unescape(page)
    )
    assert "Within each stratum of grade" in page


def text_of(report):
    """What the page says, without markup."""
    body = report.to_html().split("<body>")[1].split('<script type="application/json"')[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_equal_means_are_claimed_only_where_they_are_equal():
    level = RNG.choice([1, 2, 5], N)
    people = pd.DataFrame({"level": level})
    y = Y + 0.5 * (level == 2)
    for constraint, equal in (
        (CovarianceParity("linear"), False),
        (CovarianceParity("polynomial", degree=2), True),
    ):
        model = ParityKernelRidge(kernel="rbf", fit_intercept=True, constraint=constraint)
        model.fit(X.assign(level=level), y, sensitive_features=people)
        report = model.report(
            X.assign(level=level), y, sensitive_features=people, name="rows", constrained=True
        )
        gap = max_mean_gap(None, model.predict(X.assign(level=level)), sensitive_features=people)
        page = text_of(report)
        assert (gap < 1e-9) == equal
        assert ("which makes the mean prediction the same in every group of level" in page) == equal
        assert ("all 3 groups have the same mean prediction, up to rounding" in page) == equal
        assert "is exact for means" not in page
        if not equal:
            assert f"the largest of 3 gaps of the mean prediction is {gap:.4g} (" in page
            assert "this does not make the mean prediction the same in every group" in page


def test_a_constraint_of_a_users_own_is_not_described_as_mean_parity():
    class Halves(Constraint):
        def functionals(self, rows):
            half = np.where(np.arange(rows.n_rows) < rows.n_rows // 2, 1.0, -1.0)
            return Functionals.from_weights(half - half.mean())

    model = ParityKernelRidge(kernel="rbf", fit_intercept=True, constraint=Halves())
    model.fit(X, Y, sensitive_features=S)
    page = text_of(model.report(X, Y, sensitive_features=S, constrained=True))
    gap = max_mean_gap(None, model.predict(X), sensitive_features=S)
    assert "Constraint: The predictions satisfy the linear conditions of Halves." in page
    assert f"the largest of 3 gaps of the mean prediction is {gap:.4g} (" in page


def test_the_constraint_is_described_where_it_was_imposed():
    level = RNG.choice([1, 2, 5], N)
    people, few = pd.DataFrame({"level": level}), level < 5
    model = ParityKernelRidge(kernel="rbf", constraint=CovarianceParity("linear"))
    model.fit(X, Y, sensitive_features=people)
    fair, free = model.tradeoff_.predict(X, [0.0, 1.0])
    two_groups = PredictedRows("two groups", fair[few], free[few], people[few], Y[few])
    all_groups = PredictedRows("rows of fit", fair, free, people, Y, constrained=True)
    options = {"comparison": model.tradeoff_.comparison, "position": 0.0}
    sentence = CovarianceParity("linear").describe(Rows.from_columns(people))
    assert "does not make" in sentence
    # two groups alone would have equal means, but the model was fitted to three
    for row_sets in ([two_groups], [two_groups, all_groups], [all_groups]):
        assert make_report(row_sets, **options).constraint == sentence
    report = model.report(X[few], Y[few], sensitive_features=people[few])
    assert f"Constraint: {sentence}" in text_of(report)


def test_a_file_without_a_description_is_described_where_the_constraint_was_imposed():
    model = ParityRidge().fit(X, Y, sensitive_features=S)
    rows = PredictedRows("rows", *model.tradeoff_.predict(X, [0.0, 1.0]), S, Y, constrained=True)
    comparison = replace(model.tradeoff_.comparison, description="")
    report = make_report([rows], comparison=comparison, position=0.0)
    assert report.constraint == model.tradeoff_.comparison.description


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_of_the_fit_are_in_the_description(weighted, tmp_path):
    weights = RNG.uniform(0.5, 2, N) if weighted else None
    mean = "weighted mean" if weighted else "mean"
    sentence = f"The {mean} prediction is the same in every group of sex."
    model = ParityRidge().fit(X, Y, sensitive_features=S, sample_weight=weights)
    assert model.report(X, Y, sensitive_features=S).constraint == sentence
    summed = ParityRidge().partial_fit(X, Y, sensitive_features=S, sample_weight=weights)
    assert summed.report(X, Y, sensitive_features=S).constraint == sentence, "sums over cells"
    save(model, tmp_path / "m.meanparity")
    assert load(tmp_path / "m.meanparity").report(X, sensitive_features=S).constraint == sentence


def test_errors_are_called_errors():
    model = ParityKernelRidge(
        kernel="rbf", fit_intercept=True, constraint="residual_parity", unfairness=0.5
    )
    model.fit(X, Y, sensitive_features=S)
    report = model.report(X, Y, sensitive_features=S, name="training rows", constrained=True)
    gap = max_mean_gap(None, model.predict(X) - Y, sensitive_features=S)
    page = text_of(report)
    assert "would say: The mean prediction error is the same in every group of sex." in page
    assert "between the constraint (0) and no constraint (1)" in page
    assert f"the largest of 3 gaps of the mean prediction error is {gap:.4g} (" in page
    assert "A gap is the difference between a group's mean prediction error and the" in page
    # without outcomes there are no errors: the page compares predictions, and says so
    unknown = text_of(model.report(X, sensitive_features=S))
    assert "the largest of 3 gaps of the mean prediction is" in unknown


def test_categories_beside_numbers():
    people = S.assign(age=40 + 10 * X["a"])
    model = ParityKernelRidge(kernel="rbf", fit_intercept=True, unfairness=0.3)
    with pytest.warns(ParityWarning, match="age"):
        model.fit(X, Y, sensitive_features=people)
    report = model.report(X, Y, sensitive_features=people, constrained=True)
    gap = max_mean_gap(None, model.predict(X), sensitive_features=S)
    page = text_of(report)
    assert "within each of these groups predictions have zero covariance with age" in page
    assert f"the largest of 3 gaps of the mean prediction is {gap:.4g} (" in page
    assert "along the straight line that fits best (the largest of 3 such differences)." in page
    assert "or the covariance of the predictions with age, divided by its standard dev" in page


def test_the_rows_of_the_constraint_are_named_only_if_they_are_shown(model):
    unknown = text_of(model.report(X, Y, sensitive_features=S))
    assert "On rows that were not used in fit, the constraint holds only as far as" in unknown
    assert "imposed" not in unknown
    elsewhere = text_of(
        model.report(X, Y, sensitive_features=S, name="held-out rows", constrained=False)
    )
    assert "The constraint was not imposed on the rows of this report." in elsewhere
    here = text_of(model.report(X, Y, sensitive_features=S, name="first rows", constrained=True))
    assert "The constraint was imposed on 600 first rows. On other rows it holds only" in here


def test_significance_and_cost_are_those_of_the_audit(model):
    rows = slice(300, None)
    report = model.report(X[rows], Y[rows], sensitive_features=S[rows], name="held-out rows")
    page, (summary,) = text_of(report), report.summaries
    predicted = model.predict(X[rows])
    found = audit(predicted, sensitive_features=S[rows])
    largest = max(found.findings, key=lambda finding: abs(finding.gap))
    significant = sum(finding.p_adjusted <= 0.05 for finding in found.findings)
    assert f"of the mean prediction is {abs(largest.gap):.4g} ({largest.group}, " in page
    low, high = f"{largest.low_all:.3f}", f"{largest.high_all:.3f}"  # a width of 0.53
    assert f"the gap of {largest.group} is likely between {low} and {high} (95% sim" in page
    told = {0: "No gap among 3 groups is", 1: "The gap of 1 of 3 groups is"}
    told = told.get(significant, f"The gaps of {significant} of 3 groups are")
    assert f"{told} larger than chance would explain (5% level, adjusted for their" in page
    rmse, free = (
        mean_squared_error(Y[rows], values) ** 0.5
        for values in (predicted, model.tradeoff_.at(1.0).predict(X[rows]))
    )
    change = f"{100 * abs(rmse / free - 1):.1f}% {'more' if rmse > free else 'less'}"
    assert f"are off by {rmse:.4g} (root mean squared error), {change} than without" in page
    assert f"than without the constraint at the same penalty ({free:.4g})" in page
    assert summary.quantity == "prediction"


def test_intervals_are_mentioned_only_if_there_are_some(model):
    for constrained in (True, False):
        page = model.report(X, Y, sensitive_features=S, constrained=constrained).to_html()
        assert ("the intervals above" in page) != constrained


def test_notebooks_and_wrong_calls(model, tmp_path):
    report = model.report(X, sensitive_features=S)
    assert repr(report) == "Report(600 rows)"
    assert report._repr_html_().startswith("<iframe")
    report.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text("utf-8") == report.to_html()
    with pytest.raises(ValueError, match="y has 3 values, but there are 600 predictions"):
        model.report(X, [1, 2, 3], sensitive_features=S)
    with pytest.raises(ValueError, match="y has 1 missing or infinite values, the first in row 4"):
        model.report(X, np.where(np.arange(600) == 4, np.nan, Y), sensitive_features=S)
    with pytest.raises(ValueError, match="groups of these rows are not known"):
        model.report(X)
    two = ParityRidge().fit(X, np.column_stack([Y, Y]), sensitive_features=S)
    with pytest.raises(ValueError, match="one output"):
        two.report(X, sensitive_features=S)
    chosen = ParityKernelRidgeCV(kernel="rbf").fit(X[:100], Y[:100], sensitive_features=S[:100])
    assert chosen.report(X, Y, sensitive_features=S).summaries[0].n_groups == 3


def test_the_template_leaves_few_empty_lines(model):
    page = model.report(X, Y, sensitive_features=S).to_html()
    body = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S)
    assert sum(not line.strip() for line in body.splitlines()) < 20
