"""Fairlearn's MetricFrame with our metrics, our scorer with theirs, and names of the same."""

from __future__ import annotations

import fairlearn.metrics as theirs
import numpy as np
import pytest
import sklearn
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import cross_validate

from meanparity import ParityRidge
from meanparity.metrics import (
    group_means,
    max_error_gap,
    max_mean_gap,
    mean_parity_gap,
    parity_scorer,
    selection_rate_difference,
    selection_rate_ratio,
    selection_rates,
)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(2)
    s, grade = rng.choice(["a", "b", "c"], 300), rng.choice([1, 2], 300)
    y = rng.standard_normal(300) + (s == "a")
    return y, y + 0.5 * (s == "b") + 0.3 * rng.standard_normal(300), s, grade


def test_group_means_are_those_of_a_metric_frame(people):
    y, predicted, s, _ = people
    frame = theirs.MetricFrame(
        metrics=theirs.mean_prediction, y_true=y, y_pred=predicted, sensitive_features=s
    )
    ours = group_means(y, predicted, sensitive_features=s)
    assert frame.by_group.to_dict() == pytest.approx(ours)
    from_overall = np.abs(frame.by_group - frame.overall)
    assert from_overall.max() == pytest.approx(max_mean_gap(y, predicted, sensitive_features=s))
    assert from_overall.sum() == pytest.approx(mean_parity_gap(y, predicted, sensitive_features=s))


def test_our_gaps_inside_strata_of_a_metric_frame(people):
    """A metric of groups needs the groups of the rows in each stratum, as a sample parameter."""
    y, predicted, s, grade = people
    frame = theirs.MetricFrame(
        metrics=lambda y_true, y_pred, groups: max_mean_gap(
            y_true, y_pred, sensitive_features=groups
        ),
        y_true=y,
        y_pred=predicted,
        sensitive_features=grade,
        sample_params={"groups": s},
    )
    inside = max_mean_gap(y, predicted, sensitive_features=s, control_features=grade)
    assert frame.by_group.max() == pytest.approx(inside)


def test_names_of_selection_rates_in_both_directions(people):
    y, predicted, s, _ = people
    wanted, chosen = y > 0.5, predicted > 0.5
    given = {"sensitive_features": s}
    frame = theirs.MetricFrame(
        metrics=theirs.selection_rate, y_true=wanted, y_pred=chosen, sensitive_features=s
    )
    assert frame.by_group.to_dict() == pytest.approx(selection_rates(wanted, chosen, **given))
    difference = theirs.demographic_parity_difference(wanted, chosen, **given)
    assert difference == pytest.approx(selection_rate_difference(wanted, chosen, **given))
    ratio = theirs.demographic_parity_ratio(wanted, chosen, **given)
    assert ratio == pytest.approx(selection_rate_ratio(wanted, chosen, **given))


def test_the_error_gap_is_the_largest_difference_from_the_overall_error(people):
    y, predicted, s, _ = people
    frame = theirs.MetricFrame(
        metrics=mean_squared_error, y_true=y, y_pred=predicted, sensitive_features=s
    )
    largest = np.abs(frame.by_group - frame.overall).max()
    assert largest == pytest.approx(max_error_gap(y, predicted, sensitive_features=s))


def test_their_metrics_are_scores_of_our_models(people):
    y, _, s, _ = people
    X = np.random.default_rng(0).standard_normal((300, 3)) + (s == "a")[:, None]

    def difference(y_true, y_pred, *, sensitive_features):
        return theirs.demographic_parity_difference(
            y_true > 0.5, y_pred > 0.5, sensitive_features=sensitive_features
        )

    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(
            ParityRidge(),
            X,
            y,
            scoring={"theirs": parity_scorer(difference), "ours": parity_scorer()},
            params={"sensitive_features": s},
            cv=3,
            error_score="raise",
        )
    assert (found["test_theirs"] <= 0).all()
    assert (found["test_ours"] < 0).all()
