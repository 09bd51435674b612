"""The certificate: it is right as often as it says, and not given for training rows."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from scipy.sparse import csr_matrix
from sklearn.linear_model import LinearRegression

from meanparity import ParityRidge
from meanparity.audit import parity_certificate
from meanparity.constraints import MeanParity
from meanparity.tables import Roles, fit_table
from tests.oracles import certificate as oracle
from tests.sentences import numbers


class Given:
    """A model whose prediction is the first column."""

    def predict(self, X):
        return np.asarray(X)[:, 0]


def certify(values, s, **more):
    return parity_certificate(Given(), np.asarray(values)[:, None], s, unseen=True, **more)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    s = rng.integers(0, 2, 300)
    return X, X @ [1.0, 2.0, 0.5] + s, s


def test_the_asymptotic_bound_spelled_out():
    rng = np.random.default_rng(1)
    x, s = rng.normal(size=100), np.repeat([0, 1], [70, 30])
    x[70:] += 0.4
    found = certify(x, s, confidence=0.9)
    a, b = x[:70], x[70:]
    difference = a.mean() - b.mean()
    parts = np.array([a.var(ddof=1) / 70, b.var(ddof=1) / 30])
    freedom = parts.sum() ** 2 / (parts**2 / [69, 29]).sum()
    gaps = np.array([0.3, 0.7]) * abs(difference)
    errors = np.sqrt(
        np.array([0.3, 0.7]) ** 2 * parts.sum() + (0.7 * gaps[0] ** 2 + 0.3 * gaps[1] ** 2) / 100
    )
    expected = gaps + stats.t.ppf(1 - 0.1 / 4, freedom) * errors
    assert [bound for _, bound in found.bounds] == pytest.approx(expected)
    assert found.bound == pytest.approx(max(expected))
    assert found.observed == pytest.approx(gaps.max())
    assert (found.kind, found.n_rows) == ("asymptotic", 100)
    assert "90 % confidence" in str(found)
    assert "an approximation for many rows" in str(found)


def test_bounded_predictions_have_a_bound_for_any_distribution():
    rng = np.random.default_rng(2)
    x, s = rng.beta(2, 5, size=4000), np.repeat(["a", "b"], [3000, 1000])
    found = certify(x, s, bounds=(0, 1))
    assert found.kind == "distribution-free"
    assert found.bound > certify(x, s).bound
    assert "valid for any distribution" in str(found)
    # rows that hardly vary are known better than bounds alone tell
    assert certify(0.01 * x, s, bounds=(0, 1)).bound < found.bound / 2
    # and for few rows it is never more than the range allows by much
    few = certify([0.0, 1.0, 0.0, 1.0], list("aabb"), bounds=(0, 1))
    assert few.bound >= 1.0


@pytest.mark.parametrize("confidence", [0.95, 0.6])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-2.0, 3.0), (-30.0, -10.0)])
@pytest.mark.parametrize("spread", [1.0, 0.5, 0.02])
def test_the_distribution_free_bounds_are_those_of_the_theorems(bounds, spread, confidence):
    """Groups of 1, 2, 3, 30 and 2000 rows, from the whole range and from a small part of it."""
    low, high = bounds
    rng = np.random.default_rng(5)
    sizes = {"a": 1, "b": 2, "c": 3, "d": 30, "e": 2000}
    s = np.repeat(list(sizes), list(sizes.values()))
    x = low + (high - low) * (0.3 + spread * (rng.beta(0.5, 0.5, size=len(s)) - 0.3))
    found = certify(x, s, bounds=bounds, confidence=confidence)
    expected = oracle.bounds(x.tolist(), s.tolist(), low, high, confidence)
    assert dict(found.bounds) == pytest.approx(expected, rel=1e-12)
    assert found.bound == pytest.approx(max(expected.values()), rel=1e-12)
    assert found.confidence == confidence


def test_either_theorem_is_the_better_one_somewhere():
    """So that the test above compares both with the code."""
    few, many = np.random.default_rng(6).beta(0.5, 0.5, size=(2, 2000)).tolist()
    assert oracle.hoeffding(30, 0.01) < oracle.maurer_pontil(few[:30], 0.01)
    assert oracle.maurer_pontil(many, 0.01) < oracle.hoeffding(2000, 0.01)


def test_more_rows_and_less_confidence_give_smaller_bounds():
    rng = np.random.default_rng(3)
    x, s = rng.random(8000), rng.integers(0, 3, 8000)
    for more in ({}, {"bounds": (0, 1)}):
        half = certify(x[:4000], s[:4000], **more)
        assert certify(x, s, **more).bound < half.bound
        assert certify(x[:4000], s[:4000], confidence=0.8, **more).bound < half.bound


@pytest.mark.slow
@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("kind", ["beta", "rare"])
def test_it_fails_at_most_as_often_as_it_says(bounded, kind):
    """At 95 %, at most 5 % of 2000 samples: the group of each row is drawn as well."""
    rng = np.random.default_rng(4)
    shares, means = np.array([0.6, 0.3, 0.1]), []
    if kind == "beta":
        shapes = [(2, 5), (2, 4), (3, 4)]
        means = [a / (a + b) for a, b in shapes]
    else:
        rates = [0.3, 0.4, 0.35]
        means = rates
    gaps = np.abs(np.array(means) - shares @ means)
    failures = 0
    for _ in range(2000):
        s = rng.choice(3, p=shares, size=400)
        if kind == "beta":
            a, b = np.array(shapes, dtype=float)[s].T
            x = rng.beta(a, b)
        else:
            x = (rng.random(400) < np.array(rates)[s]).astype(float)
        found = certify(x, s, **({"bounds": (0, 1)} if bounded else {}))
        failures += any(bound < gaps[group] for group, bound in found.bounds)
    assert failures <= 100


# --- rows that were seen


@pytest.mark.parametrize("sparse", [False, True])
def test_training_rows_and_the_pool_are_refused(sparse, data):
    X, y, s = data
    X = np.where(np.abs(X) < 0.1, -0.0, X)  # -0.0 and 0.0 are the same number
    convert = csr_matrix if sparse else np.asarray
    pool = (convert(X[100:200]), s[100:200])
    model = ParityRidge().fit(convert(X[:100]), y[:100], sensitive_features=s[:100], pool=pool)
    seen = convert(X[:200] + 0.0)
    assert parity_certificate(model, X[200:], s[200:], X_train=seen).n_rows == 100
    for rows in (slice(0, 50), slice(150, 250)):
        with pytest.raises(ValueError, match=r"50 of .* rows of X were used in fit"):
            parity_certificate(model, convert(X[rows]), s[rows], X_train=seen)
    assert parity_certificate(model, X[:100], s[:100], unseen=True).observed < 1e-12


def test_rows_have_to_be_known_to_be_new(data):
    X, y, s = data
    by_number = ParityRidge(sensitive_columns=0, constraint=MeanParity(continuous=[0]))
    for model in (LinearRegression(), by_number):
        model.fit(X[:100], y[:100])
        with pytest.raises(ValueError, match=r"used in fit is not known\. Pass .* X_train"):
            parity_certificate(model, X[100:], s[100:])
        with pytest.raises(ValueError, match="1 of 200 rows of X were used in fit"):
            parity_certificate(model, X[99:299], s[99:299], X_train=X[:100])
        assert parity_certificate(model, X[100:], s[100:], X_train=X[:100]).bound > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confidence": 1.0}, "confidence=1.0 is not between 0 and 1"),
        ({"bounds": (1, 0)}, r"bounds=\(1, 0\). Pass two finite numbers"),
        ({"bounds": 3}, "bounds=3. Pass two finite numbers"),
        ({"bounds": (0, 0)}, r"bounds=\(0, 0\). Pass two finite numbers"),
        ({"bounds": (-np.inf, 1)}, "Pass two finite numbers"),
        ({"bounds": (0, np.inf)}, "Pass two finite numbers"),
        ({"bounds": (0, np.nan)}, "Pass two finite numbers"),
        ({"bounds": (0, 0.5)}, "Predictions lie between 0 and 1, outside bounds"),
        ({"bounds": (0.1, 2)}, "Predictions lie between 0 and 1, outside bounds"),
    ],
)
def test_wrong_arguments_are_explained(change, message):
    with pytest.raises(ValueError, match=message):
        certify([0.0, 1.0, 0.5, 0.2], list("aabb"), **change)


def test_it_is_printed_with_its_numbers():
    x, s = np.random.default_rng(7).random(1500), np.repeat(["a", "b"], [900, 600])
    for more in ({}, {"bounds": (0, 1)}):
        found = certify(x, s, confidence=0.975, **more)
        written = [f"{found.bound:.4g}", f"{found.observed:.4g}"]
        assert numbers(str(found)) == sorted(["97.5", "1,500", *written])


def test_rows_are_training_rows_if_all_their_numbers_are_equal():
    s = list("aabb")
    X_train = np.array([[1e-20, 0.0], [3.0, 1.0], [4.0, 1.0], [5.0, 1.0]])
    for first, is_known in (([1e-20, 0.0], True), ([1e-20, -0.0], True), ([2e-20, 0.0], False)):
        X = np.array([first, [6.0, 2.0], [7.0, 2.0], [8.0, 2.0]])
        if is_known:
            with pytest.raises(ValueError, match="1 of 4 rows of X were used in fit"):
                parity_certificate(Given(), X, s, X_train=X_train)
        else:
            assert parity_certificate(Given(), X, s, X_train=X_train).n_rows == 4


def test_one_group_and_several_outputs_are_refused():
    with pytest.raises(ValueError, match="All 2 rows are in one group"):
        certify([0.0, 1.0], ["a", "a"])

    class Two(Given):
        def predict(self, X):
            return np.asarray(X)

    with pytest.raises(ValueError, match="Certify a model of one output"):
        parity_certificate(Two(), np.ones((4, 2)), list("aabb"), unseen=True)


PRECISIONS = {
    "single": lambda X: X.astype(np.float32),
    "single and back": lambda X: X.astype(np.float32).astype(float),
    "sparse single": lambda X: csr_matrix(X.astype(np.float32)),
    "frame of single": lambda X: pd.DataFrame(X.astype(np.float32)),
}


@pytest.mark.parametrize("convert", PRECISIONS.values(), ids=PRECISIONS)
def test_training_rows_of_another_precision_are_refused(convert, data):
    X, _, s = data
    model = LinearRegression().fit(X, s)
    for train, new in ((X[:200], convert(X[100:])), (convert(X[:200]), X[100:])):
        with pytest.raises(ValueError, match="100 of 200 rows of X were used in fit"):
            parity_certificate(model, new, s[100:], X_train=train)
    assert parity_certificate(model, convert(X[200:]), s[200:], X_train=X[:200]).n_rows == 100


def test_rows_that_only_rounding_makes_equal_are_different():
    s, seconds = list("aabb"), 1_700_000_000.0 + np.arange(4)
    X_train, X = seconds[:, None] + 1 / 3, seconds[:, None] + 0.34
    assert (X_train.astype(np.float32) == X.astype(np.float32)).all()
    assert parity_certificate(Given(), X, s, X_train=X_train).n_rows == 4


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_rows_with_text_and_missing_values_are_compared_cell_by_cell(frame):
    rng = np.random.default_rng(3)
    columns = {
        "grade": rng.choice(["low", "high", None], 60).tolist(),
        "hired": [date(2020, 1, 1 + day) for day in rng.integers(0, 20, 60).tolist()],
        "pay": np.where(rng.random(60) < 0.1, np.nan, rng.normal(size=60)),
        "age": rng.integers(20, 70, 60),
    }
    X, s = frame(columns), rng.choice(["a", "b"], 60)

    class Row:
        def predict(self, X):
            return np.arange(len(X), dtype=float)

    single = frame(columns | {"pay": columns["pay"].astype(np.float32)})
    for new in (X[30:], single[30:]):
        with pytest.raises(ValueError, match="10 of 30 rows of X were used in fit"):
            parity_certificate(Row(), new, s[30:], X_train=X[:40])
        assert parity_certificate(Row(), new, s[30:], X_train=X[:30]).n_rows == 30
    with pytest.raises(ValueError, match="X has the columns"):
        parity_certificate(Row(), X[["pay", "age"]], s, X_train=X)


def test_a_model_of_a_table_is_certified_on_its_test_rows():
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"job": rng.choice(["p", "q", "r"], 400), "x": rng.normal(size=400)})
    table["sex"], table["pay"] = rng.choice(["F", "M"], 400), table["x"] + rng.normal(size=400)
    train, test = table[:250], table[250:]
    model = fit_table(train, Roles("pay", ("sex",)), model="linear").pipeline
    columns = ["job", "x", "sex"]
    found = parity_certificate(model, test[columns], test["sex"], X_train=train[columns])
    assert found.observed < found.bound
    with pytest.raises(ValueError, match="100 of 250 rows of X were used in fit"):
        parity_certificate(
            model, table[150:400][columns], table["sex"][150:], X_train=train[columns]
        )
