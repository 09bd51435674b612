"""Gaps as scores wherever scikit-learn takes scores, and metrics of labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from fairlearn.metrics import demographic_parity_difference, demographic_parity_ratio
from scipy import stats
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestRegressor, StackingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from meanparity import ParityAdjusted, ParityKernelRidge, ParityRidge, SmallestLoss
from meanparity.baselines import BarycenterRegressor
from meanparity.exceptions import ParityWarning
from meanparity.metrics import (
    covariance_norm,
    max_mean_gap,
    mean_parity_gap,
    parity_scorer,
    selection_rate_difference,
    selection_rate_ratio,
    selection_rates,
)

CV = KFold(3)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    s = rng.choice(["a", "b", "c"], 150)
    X = rng.standard_normal((150, 4)) + (s == "b")[:, None]
    return X, X[:, 0] + (s == "c") + 0.3 * rng.standard_normal(150), s


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def by_hand(model, X, y, s, metric=max_mean_gap):
    scores = []
    for train, test in CV.split(X):
        fitted = sklearn.clone(model).fit(X[train], y[train], sensitive_features=s[train])
        scores.append(-metric(y[test], fitted.predict(X[test]), sensitive_features=s[test]))
    return scores


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("metric", ["max_mean_gap", mean_parity_gap])
def test_cross_validation(metric, data):
    X, y, s = data
    found = cross_validate(
        ParityRidge(),
        X,
        y,
        cv=CV,
        scoring={"gap": parity_scorer(metric), "r2": "r2"},
        params={"sensitive_features": s},
    )
    function = max_mean_gap if metric == "max_mean_gap" else metric
    assert found["test_gap"] == pytest.approx(by_hand(ParityRidge(), X, y, s, function))
    assert (found["test_r2"] > 0).all()


@pytest.mark.usefixtures("routing")
def test_searches_and_pipelines(data):
    X, y, s = data
    pipeline = make_pipeline(StandardScaler(), ParityKernelRidge(kernel="rbf"))
    search = GridSearchCV(
        pipeline,
        {"paritykernelridge__alpha": [0.01, 1.0, 100.0]},
        cv=CV,
        scoring={"loss": "neg_mean_squared_error", "gap": parity_scorer()},
        refit=SmallestLoss(max_gap=0.2),
    )
    search.fit(X, y, sensitive_features=s)
    results = pd.DataFrame(search.cv_results_)
    allowed = results[-results.mean_test_gap <= 0.2]
    assert 0 < len(allowed) < 3
    assert search.best_index_ == allowed.mean_test_loss.idxmax()
    gap = max_mean_gap(y, search.predict(X), sensitive_features=s)
    assert gap <= 1e-10 * y.std()


@pytest.mark.usefixtures("routing")
def test_transformed_targets(data):
    X, y, s = data
    model = TransformedTargetRegressor(ParityRidge(), transformer=StandardScaler())
    scores = cross_val_score(
        model, X, y, cv=CV, scoring=parity_scorer(), params={"sensitive_features": s}
    )
    assert scores == pytest.approx(by_hand(ParityRidge(), X, y, s), abs=1e-6)


@pytest.mark.usefixtures("routing")
def test_stacks(data):
    X, y, s = data
    forest = RandomForestRegressor(10, random_state=0)
    # scikit-learn passes everything to the last one, so that has to be one of ours
    parts = [("forest", forest), ("ridge", ParityRidge())]
    stack = StackingRegressor(parts, final_estimator=ParityRidge(), passthrough=True, cv=CV)
    scores = cross_val_score(
        stack, X, y, cv=CV, scoring=parity_scorer(), params={"sensitive_features": s}
    )
    assert (scores < 0).all()
    gap = max_mean_gap(y, stack.fit(X, y, sensitive_features=s).predict(X), sensitive_features=s)
    free = max_mean_gap(y, forest.fit(X, y).predict(X), sensitive_features=s)
    assert 1e-6 < gap < 0.3 * free  # close to parity on the training rows, and not exact
    stack = StackingRegressor([("forest", forest), ("ridge", LinearRegression())], cv=CV)
    adjusted = ParityAdjusted(stack).fit(X, y, sensitive_features=s)
    assert max_mean_gap(y, adjusted.predict(X), sensitive_features=s) <= 1e-12


def test_groups_in_columns_need_no_routing(data):
    X, y, s = data
    frame = pd.DataFrame(X, columns=list("wxyz")).assign(group=s)
    settings = {"sensitive_columns": "group", "drop_sensitive": True}
    scorer = parity_scorer(sensitive_columns="group")
    scores = cross_val_score(ParityRidge(**settings), frame, y, cv=CV, scoring=scorer)
    assert scores == pytest.approx(by_hand(ParityRidge(), X, y, s))
    for aware in (
        ParityAdjusted(correction="groups", **settings),
        BarycenterRegressor(**settings),
    ):
        scores = cross_val_score(aware, frame, y, cv=CV, scoring=scorer)
        expected = []
        for train, test in CV.split(X):
            there = sklearn.clone(aware).fit(frame.iloc[train], y[train])
            predicted = there.predict(frame.iloc[test])
            expected.append(-max_mean_gap(None, predicted, sensitive_features=s[test]))
        assert scores == pytest.approx(expected)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("correction", [None, "groups"])
def test_corrections_have_scores_of_their_own(correction, data):
    X, y, s = data
    model = ParityAdjusted(LinearRegression(), correction=correction)
    found = cross_validate(model, X, y, cv=CV, params={"sensitive_features": s})["test_score"]
    for (train, test), score in zip(CV.split(X), found, strict=True):
        model.fit(X[train], y[train], sensitive_features=s[train])
        people = {"sensitive_features": s[test]} if correction else {}
        assert score == pytest.approx(r2_score(y[test], model.predict(X[test], **people)))


def test_a_scorer_without_groups_explains_how_to_pass_them(data):
    X, y, s = data
    model = ParityRidge().fit(X, y, sensitive_features=s)
    with pytest.raises(ValueError, match=r"no sensitive_features\. Either enable metadata routing"):
        parity_scorer()(model, X, y)
    two = ParityRidge().fit(X, np.stack([y, y], axis=1), sensitive_features=s)
    frame = np.column_stack([X, s == "a"])
    two.fit(frame, np.stack([y, y], axis=1), sensitive_features=s)
    with pytest.raises(ValueError, match="max_mean_gap returns 2 numbers"):
        parity_scorer(sensitive_columns=4)(two, frame, y)


def test_parameters_and_responses(data):
    X, y, _ = data
    frame = pd.DataFrame(X, columns=list("wxyz")).assign(age=np.arange(150) % 7)
    model = LogisticRegression().fit(frame, y > 0)
    scorer = parity_scorer(
        "covariance_norm",
        sensitive_columns="age",
        response_method="predict_proba",
        kernel="rbf",
        gamma=0.1,
    )
    expected = covariance_norm(
        None,
        model.predict_proba(frame)[:, 1],
        sensitive_features=frame.age,
        kernel="rbf",
        gamma=0.1,
    )
    assert scorer(model, frame, y > 0) == pytest.approx(-expected)
    ratio = parity_scorer("selection_rate_ratio", sensitive_columns="age")
    assert 0 <= ratio(model, frame, y > 0) <= 1  # greater is better


@pytest.mark.usefixtures("routing")
def test_weights_on_request(data):
    X, y, s = data
    weights = np.linspace(0.1, 2.0, 150)
    scorer = parity_scorer().set_score_request(sensitive_features=True, sample_weight=True)
    model = ParityRidge().set_fit_request(sample_weight=False)
    params = {"sensitive_features": s, "sample_weight": weights}
    found = cross_validate(
        model, X, y, cv=[(np.arange(150), np.arange(150))], scoring=scorer, params=params
    )
    fitted = ParityRidge().fit(X, y, sensitive_features=s)
    expected = max_mean_gap(None, fitted.predict(X), sensitive_features=s, sample_weight=weights)
    assert found["test_score"][0] == pytest.approx(-expected)


def test_wrong_scorers_are_explained():
    with pytest.raises(ValueError, match=r"metric=.smd. is not known\. Pass one of max_mean_gap"):
        parity_scorer("smd")
    with pytest.raises(TypeError, match="metric=3 is neither a name nor a function"):
        parity_scorer(3)
    with pytest.raises(ValueError, match="no scores named 'loss' and 'gap'"):
        SmallestLoss()({"mean_test_score": [1.0]})
    with pytest.raises(ValueError, match=r"score 'gap' is 0\.9, but minus a gap is never positive"):
        SmallestLoss(0.1)({"mean_test_loss": [-1.0, -2.0], "mean_test_gap": [0.3, 0.9]})
    for value in (-1, float("nan"), "0.1", None, True):
        with pytest.raises(ValueError, match="Pass a number of 0 or more"):
            SmallestLoss(value)


def test_a_failed_fit_is_not_chosen():
    results = {"mean_test_loss": [np.nan, -1.0], "mean_test_gap": [np.nan, -0.1]}
    assert SmallestLoss()(results) == 1
    with pytest.warns(ParityWarning, match="the smallest upper limit of a gap is 0.1"):
        assert SmallestLoss(max_gap=0.01)(results) == 1
    within = {"mean_test_loss": [np.nan, -0.5, -0.6], "mean_test_gap": [-0.1, -0.9, -0.8]}
    with pytest.warns(ParityWarning, match="max_gap=0.3 .* is 0.8, and"):
        assert SmallestLoss(max_gap=0.3)(within) == 2


def test_the_gap_of_one_more_fit_is_limited_by_those_of_the_splits():
    splits = np.array([[-0.1, -0.30], [-0.2, -0.31], [-0.9, -0.29]])
    results = {"mean_test_loss": np.array([-1.0, -2.0]), "mean_test_gap": splits.mean(axis=0)}
    results |= {f"split{i}_test_gap": row for i, row in enumerate(splits)}
    assert SmallestLoss(max_gap=0.5)(results) == 1  # the first varies too much
    assert SmallestLoss(max_gap=0.3 + stats.t.ppf(0.95, 2) * 0.01 * 1.16)(results) == 1
    with pytest.warns(ParityWarning, match="max_gap=0.32"):
        SmallestLoss(max_gap=0.32)(results)
    assert SmallestLoss()(results) == 0


def test_selection_rates_are_fairlearns():
    rng = np.random.default_rng(0)
    labels, s, w = rng.integers(0, 2, 90), rng.choice(list("abc"), 90), rng.uniform(0.1, 1, 90)
    given = {"sensitive_features": s, "sample_weight": w}
    assert selection_rate_difference(None, labels, **given) == pytest.approx(
        demographic_parity_difference(labels, labels, **given)
    )
    assert selection_rate_ratio(None, labels, **given) == pytest.approx(
        demographic_parity_ratio(labels, labels, **given)
    )
    text = np.where(labels, "hired", "declined")
    rates = selection_rates(None, text, sensitive_features=s, pos_label="hired")
    assert rates == pytest.approx({g: labels[s == g].mean() for g in "abc"})


def test_nobody_selected():
    assert selection_rate_ratio(None, [0, 0], sensitive_features=["a", "b"]) == 1.0
    assert selection_rate_difference(None, [False, False], sensitive_features=["a", "b"]) == 0.0
    assert selection_rates(None, [-1, 1], sensitive_features=["a", "b"]) == {"a": 0.0, "b": 1.0}


@pytest.mark.parametrize(
    ("labels", "parameters", "message"),
    [
        ([0.1, 0.7, 0.2, 0.5], {}, "4 different values .* Turn predicted numbers into labels"),
        ([0.2, 0.8, 0.2, 0.8], {}, r"y_pred contains 0\.2, which is a predicted number"),
        ([0.2, 0.8, 0.2, 0.8], {"pos_label": 0.8}, r"0\.2, which is a predicted number"),
        ([[1], [0], [1, 2], [0]], {}, "Pass one label for each row"),
        ([1, 0, 1, 0], {"pos_label": np.array([1, 0])}, "is not among the labels"),
        (pd.Series([True, None, True, False], dtype="boolean"), {}, "missing labels"),
        (["x", "y", "x", "y"], {}, "the labels 'x', 'y'. Pass pos_label"),
        (["x", "y", "x", "y"], {"pos_label": "z"}, "pos_label='z' is not among"),
        ([1, 0, None, 1], {}, "missing labels"),
        ([1.0, 0.0, np.nan, 1.0], {}, "missing labels"),
        (np.zeros((4, 2)), {}, r"y_pred has shape \(4, 2\)"),
    ],
)
@pytest.mark.parametrize(
    "metric", [selection_rates, selection_rate_difference, selection_rate_ratio]
)
def test_metrics_of_labels_refuse_numbers(metric, labels, parameters, message):
    with pytest.raises(ValueError, match=message):
        metric(None, labels, sensitive_features=["a", "a", "b", "b"], **parameters)
