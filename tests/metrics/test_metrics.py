from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import pairwise_kernels

from meanparity.metrics import (
    covariance_norm,
    group_means,
    max_mean_gap,
    mean_parity_gap,
    selection_rates,
    wasserstein_gap,
)
from tests.oracles import dpd, norm_of_cov, smd

METRICS = [mean_parity_gap, max_mean_gap, wasserstein_gap, covariance_norm]


@st.composite
def predictions(draw):
    codes = np.array(draw(st.lists(st.integers(0, 3), min_size=1, max_size=30)))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    values = rng.standard_normal(len(codes)) * draw(st.sampled_from([1.0, 1e-6, 1e6]))
    if draw(st.booleans(), label="ties"):
        values = np.round(values, 1)
    return values, codes


@given(predictions())
def test_metrics_are_the_papers(case):
    values, codes = case
    size = np.abs(values).max() + 1e-300
    given = {"sensitive_features": codes}
    assert np.isclose(mean_parity_gap(None, values, **given), smd(values, codes), atol=1e-12 * size)
    assert np.isclose(wasserstein_gap(None, values, **given), dpd(values, codes), atol=1e-12 * size)
    for kernel, settings in (("linear", {}), ("rbf", {"gamma": 0.3}), ("poly", {"degree": 2})):
        K = pairwise_kernels(codes[:, None].astype(float), metric=kernel, **settings)
        expected = norm_of_cov(values, K)
        actual = covariance_norm(None, values, kernel=kernel, **given, **settings)
        assert np.isclose(actual, expected, rtol=1e-6, atol=1e-9 * size)


@given(predictions())
def test_mean_gap_is_never_above_the_wasserstein_gap(case):
    """Proposition 1 of the paper, label pro::mp."""
    values, codes = case
    mean = mean_parity_gap(None, values, sensitive_features=codes)
    assert (
        mean
        <= wasserstein_gap(None, values, sensitive_features=codes) + 1e-9 * np.abs(values).max()
    )


@given(predictions(), st.integers(0, 100))
def test_whole_weights_are_repeated_rows(case, seed):
    values, codes = case
    weights = np.random.default_rng(seed).integers(1, 4, len(values))
    rows = np.repeat(np.arange(len(values)), weights)
    for metric in METRICS:
        weighted = metric(None, values, sensitive_features=codes, sample_weight=weights)
        repeated = metric(None, values[rows], sensitive_features=codes[rows])
        assert np.isclose(weighted, repeated, rtol=1e-9, atol=1e-10 * np.abs(values).max())


def test_two_groups():
    values, s = [1.0, 3.0, 10.0], ["a", "a", "b"]
    assert mean_parity_gap(None, values, sensitive_features=s) == pytest.approx(8.0)
    assert max_mean_gap(None, values, sensitive_features=s) == pytest.approx(16 / 3)
    assert group_means(None, values, sensitive_features=s) == {"a": 2.0, "b": 10.0}


def test_several_outputs():
    values = np.arange(12.0).reshape(6, 2) ** 2
    s = [0, 0, 1, 1, 2, 2]
    for metric in METRICS:
        both = metric(None, values, sensitive_features=s)
        each = [metric(None, column, sensitive_features=s) for column in values.T]
        assert np.allclose(both, each)
    assert group_means(None, values, sensitive_features=s)[0].tolist() == [2.0, 5.0]


def test_means_and_rates_of_groups_as_a_data_frame():
    s = {"sex": ["F", "F", "M"], "union": [1, 0, 0]}
    found = group_means(None, [1.0, 2.0, 6.0], sensitive_features=s)
    assert found == {("F", 0): 2.0, ("F", 1): 1.0, ("M", 0): 6.0}
    expected = {"sex": ["F", "F", "M"], "union": [0, 1, 0], "mean": [2.0, 1.0, 6.0]}
    assert found.to_frame().to_dict("list") == expected
    rates = selection_rates(
        None, [1, 0, 1], sensitive_features=pd.Series(["a", "a", "b"], name="s")
    )
    assert rates.to_frame().to_dict("list") == {"s": ["a", "b"], "rate": [0.5, 1.0]}
    assert pickle.loads(pickle.dumps(rates)).to_frame().equals(rates.to_frame())
    several = group_means(None, [[1.0, 2.0], [3.0, 4.0]], sensitive_features=["a", "b"]).to_frame()
    assert several.columns[1:].tolist() == ["mean_0", "mean_1"]
    assert several["mean_1"].tolist() == [2.0, 4.0]


def test_constants_have_no_gap():
    for metric in METRICS:
        assert metric(None, np.full(5, 0.1), sensitive_features=[0, 0, 1, 1, 2]) <= 1e-16


def test_inside_fairlearns_metric_frame():
    """The gap between sexes inside each region."""
    rng = np.random.default_rng(0)
    y, values = rng.standard_normal(60), rng.standard_normal(60)
    sex, region = np.tile(["F", "M"], 30), np.repeat(["n", "s", "w"], 20)
    frame = MetricFrame(
        metrics={"smd": mean_parity_gap, "dpd": wasserstein_gap},
        y_true=y,
        y_pred=values,
        sensitive_features=pd.Series(region, name="region"),
        sample_params={name: {"sensitive_features": sex} for name in ("smd", "dpd")},
    )
    assert frame.overall["smd"] == pytest.approx(mean_parity_gap(y, values, sensitive_features=sex))
    for name in "nsw":
        here = region == name
        expected = mean_parity_gap(y[here], values[here], sensitive_features=sex[here])
        assert frame.by_group.loc[name, "smd"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_pred": [1.0, np.nan, 2.0]}, "contains NaN"),
        ({"y_pred": ["a", "b", "c"]}, "convert"),
        ({"sensitive_features": [0, 1]}, "inconsistent numbers of samples"),
        ({"sensitive_features": [0, 1, None]}, "1 missing value"),
        ({"sample_weight": [1.0, 1.0]}, r"has shape \(2,\), but there are 3 rows"),
        ({"sample_weight": [1.0, -1.0, 1.0]}, "Negative values"),
        ({"sample_weight": [[1.0], [1.0], [1.0]]}, r"has shape \(3, 1\), but there are 3 rows"),
        ({"sample_weight": [1.0, 1.0, 0.0]}, "zero in all rows of group '1'"),
    ],
    ids=str,
)
def test_bad_input(change, message):
    arguments = {"y_pred": [1.0, 2.0, 3.0], "sensitive_features": [0, 0, 1], **change}
    for metric in (*METRICS, group_means):
        with pytest.raises(ValueError, match=message):
            metric(None, **arguments)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_gaps_inside_strata(outputs, weighted):
    rng = np.random.default_rng(0)
    s, grade = rng.integers(0, 3, 60), np.where(rng.integers(0, 2, 60), "x", "y")
    s[grade == "y"] = np.minimum(s[grade == "y"], 1)
    values = rng.standard_normal((60, 2))[:, : outputs if outputs > 1 else 1]
    weights = rng.integers(1, 4, 60) if weighted else np.ones(60)
    gaps = []
    for stratum in ("x", "y"):
        inside = grade == stratum
        overall = np.average(values[inside], axis=0, weights=weights[inside])
        for group in np.unique(s[inside]):
            member = inside & (s == group)
            mean = np.average(values[member], axis=0, weights=weights[member])
            gaps.append(np.abs(mean - overall))
    given = values[:, 0] if outputs == 1 else values
    by = {"sensitive_features": s, "sample_weight": weights, "control_features": grade}
    assert np.allclose(mean_parity_gap(None, given, **by), np.sum(gaps, axis=0).squeeze())
    assert np.allclose(max_mean_gap(None, given, **by), np.max(gaps, axis=0).squeeze())
    with pytest.raises(ValueError, match="control_features has 59 rows"):
        mean_parity_gap(None, given, **by | {"control_features": grade[1:]})
