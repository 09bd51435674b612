"""The certificate: it is right as often as it says, and not given for training rows."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LinearRegression

from benchmarks.audit_simulations import CERTIFIED, simulate_certificate
from meanparity import ParityRidge
from meanparity.audit import audit, parity_certificate
from meanparity.audit.betting import _part_means, difference_bounds, upper_bound
from meanparity.audit.certificate import betting_bounds
from meanparity.audit.checks import format_number
from meanparity.audit.moments import Moments
from meanparity.audit.rows import AuditRows
from meanparity.constraints import MeanParity
from meanparity.data import Groups
from meanparity.tables import Roles, fit_table
from tests.oracles import betting as oracle
from tests.oracles import proportions
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


def test_the_asymptotic_bound_is_the_larger_end_of_the_simultaneous_intervals():
    rng = np.random.default_rng(1)
    x, s = rng.normal(size=100), np.repeat([0, 1, 2], [50, 30, 20])
    x[50:] += 0.4
    found, audited = certify(x, s, confidence=0.9), audit(x, sensitive_features=s, confidence=0.9)
    expected = [max(abs(f.low_all), abs(f.high_all)) for f in audited.findings]
    assert [bound for _, bound in found.bounds] == expected
    assert found.bound == max(expected)
    assert found.observed == pytest.approx(audited.max_gap)
    assert (found.kind, found.n_rows, found.too_few_rows) == ("asymptotic", 100, ())
    assert "90 % confidence" in str(found)
    assert "an approximation for many rows" in str(found)


@pytest.mark.parametrize("few", [[0.3, 0.3], [0.3] * 8, [0.1, 0.2, 0.4, 0.3]])
def test_without_a_spread_of_its_own_a_group_is_not_certified(few):
    x = np.append(np.random.default_rng(2).random(300), few)
    s = np.append(np.repeat(["a", "b"], 150), np.repeat("c", len(few)))
    found = certify(x, s)
    assert found.too_few_rows == ("c",)
    assert found.bound == np.inf
    assert "There are too few rows to bound the gaps" in str(found)
    assert "in c." in str(found)
    assert certify(x, s, bounds=(0, 1)).bound <= 1


def test_bounded_predictions_have_a_bound_for_any_distribution():
    rng = np.random.default_rng(2)
    x, s = rng.beta(2, 5, size=4000), np.repeat(["a", "b"], [3000, 1000])
    found = certify(x, s, bounds=(0, 1))
    assert found.kind == "distribution-free"
    assert found.observed < found.bound < 0.04
    assert "valid for any distribution" in str(found)
    # rows that hardly vary are known better
    assert certify(0.01 * x, s, bounds=(0, 1)).bound < found.bound / 2
    # and for few rows it says what the range says
    assert certify([0.0, 1.0, 0.0, 1.0], list("aabb"), bounds=(0, 1)).bound > 0.7


def test_units_of_predictions_do_not_matter():
    rng = np.random.default_rng(3)
    x, s = rng.random(300), rng.integers(0, 3, 300)
    one, other = certify(x, s, bounds=(0, 1)), certify(5 * x - 30, s, bounds=(-30, -25))
    assert other.bound == pytest.approx(5 * one.bound)


@pytest.mark.parametrize("error", [0.05, 0.3])
@pytest.mark.parametrize("kind", ["uniform", "constant", "rare", "ends"])
def test_bets_are_those_of_the_oracle(kind, error):
    rng = np.random.default_rng(5)
    values = {
        "uniform": rng.random(60),
        "constant": np.full(30, 0.4),
        "rare": (rng.random(80) < 0.05).astype(float),
        "ends": np.array([0.0, 1.0, 1.0]),
    }[kind]
    expected = oracle.upper_bound(values.tolist(), error, 200)
    assert upper_bound(values, error, 1 / 200) == pytest.approx(expected)
    assert values.mean() < expected or error == 0.3
    above = upper_bound(values, error, 1 / 200, least=0.5)
    assert above == pytest.approx(max(expected, 0.5))


def test_bounds_of_two_groups_spelled_out():
    rng = np.random.default_rng(6)
    x, s = rng.random(90), np.repeat(["a", "b"], [60, 30])
    found = dict(certify(x, s, bounds=(0, 1), random_state=4).bounds)
    for own, n_others in (("a", 30), ("b", 60)):
        strict, loose = difference_bounds(x[s == own], x[s != own], 1.0, (0.04, 0.075), 4)
        likely, wide = (
            1 - proportions.exact_limits(90 - n_others, 90, p)[0] for p in (0.14, 0.005)
        )
        assert strict > loose
        assert likely < wide
        assert found[own] == pytest.approx(max(likely * strict, wide * loose))


@pytest.mark.slow
def test_bounds_by_betting_are_sharp():
    """400 rows, a group of 25 %: at most 0.6 of the 0.41 of a bound by Hoeffding's inequality."""
    rng = np.random.default_rng(7)
    draws = {
        "uniform": rng.random,
        "rate": lambda n: (rng.random(n) < 0.5).astype(float),
        "beta": lambda n: rng.beta(2, 5, n),
    }
    for draw in draws.values():
        bounds = []
        for i in range(60):
            s = (rng.random(400) < 0.25).astype(int)
            bounds.append(certify(draw(400), s, bounds=(0, 1), random_state=i).bound)
        assert np.median(bounds) <= 0.6 * 0.41


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [c for c in CERTIFIED if c.kind == "rate 0.5" and c.layout == "100 / 300"], ids=str
)
def test_bounds_by_betting_are_sharp_and_hold_where_the_variance_is_largest(case):
    """Rates of 0.7 or 0.3 in the group and 0.5 elsewhere: a gap of 0.15, and a bound of 0.24."""
    found = simulate_certificate(case, 500, 499)
    assert found["betting, median"] <= 0.6 * 0.41
    assert found["betting fails"] <= 0.05


def test_pairs_use_every_row_once():
    own, others = np.arange(7.0), np.arange(20.0)
    assert _part_means(others, 7).sum() > 0
    sizes = [3, 3, 3, 3, 3, 3, 2]
    means = _part_means(others, 7)
    assert sorted(np.diff((np.arange(8) * 20) // 7)) == sorted(sizes)
    assert (means * np.diff((np.arange(8) * 20) // 7)).sum() == others.sum()
    assert _part_means(own, 7).tolist() == own.tolist()


def test_more_rows_and_less_confidence_give_smaller_bounds():
    rng = np.random.default_rng(3)
    x, s = rng.random(8000), rng.integers(0, 3, 8000)
    for more in ({}, {"bounds": (0, 1)}):
        half = certify(x[:4000], s[:4000], **more)
        assert certify(x, s, **more).bound < half.bound
        assert certify(x[:4000], s[:4000], confidence=0.8, **more).bound < half.bound


def test_groups_without_rows_are_named():
    rng = np.random.default_rng(8)
    x, s = rng.random(60), np.repeat(["a", "b"], 30)
    found = certify(x, s, groups=["a", "b", "c"])
    assert found.absent == ("c",)
    assert str(found).endswith("Nothing is said about groups without rows: c.")
    assert certify(x, s).absent == ()
    with pytest.raises(ValueError, match=r"has the group 'b', which is not among groups=\['a'\]"):
        certify(x, s, groups=["a"])
    with pytest.raises(ValueError, match="'sensitive' is a number, and a certificate is about"):
        certify(x, rng.normal(size=60))


def test_the_groups_of_the_model_are_known(data):
    X, y, _ = data
    s = np.random.default_rng(1).integers(0, 3, 300)
    model = ParityRidge().fit(X[:200], y[:200], sensitive_features=s[:200])
    rows = np.flatnonzero(s[200:] != 2) + 200
    found = parity_certificate(model, X[rows], s[rows], X_train=X[:200])
    assert found.absent == (2,)
    other = np.repeat(["x", "y"], 50)
    assert parity_certificate(model, X[200:], other, X_train=X[:200]).absent == ()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["beta", "rare"])
def test_it_fails_at_most_as_often_as_it_says(kind):
    """At 95 %, at most 5 % of 500 samples, with the group of each row drawn as well."""
    rng = np.random.default_rng(4)
    shares = np.array([0.6, 0.3, 0.1])
    shapes = np.array([(2, 5), (2, 4), (3, 4)], dtype=float)
    means = shapes[:, 0] / shapes.sum(axis=1) if kind == "beta" else np.array([0.02, 0.05, 0.12])
    largest = np.abs(means - shares @ means).max()
    failures = {"bounds": 0, "bound": 0}
    for i in range(500):
        s = rng.choice(3, p=shares, size=150)
        x = rng.beta(*shapes[s].T) if kind == "beta" else (rng.random(150) < means[s]).astype(float)
        groups = Groups.from_columns(s)
        if groups.n_groups < 3:
            continue
        rows = AuditRows(x, groups, {}, ("s",), None, None, None)
        moments = Moments.from_values(x, groups)
        each = betting_bounds(rows, moments, 1.0, 0.05 / 3, np.random.RandomState(i))
        failures["bounds"] += bool((each < np.abs(means - shares @ means)).any())
        alone = betting_bounds(rows, moments, 1.0, 0.05, np.random.RandomState(i))
        failures["bound"] += bool(alone.max() < largest)
    assert max(failures.values()) <= 25


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        c
        for c in CERTIFIED
        if c.gap > 0 and (c.layout == "20 / 380" or (c.layout == "10 × 30" and not c.is_rate))
    ],
    ids=str,
)
def test_the_asymptotic_kind_holds_for_small_or_many_groups_and_heavy_tails(case):
    """In 500 samples; a true rate of 5 % exceeds 7.2 % with a probability of 2 %."""
    assert simulate_certificate(case, 500, 499)["fails"] <= 0.072


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
        written = [format_number(found.bound), format_number(found.observed)]
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
