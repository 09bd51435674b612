"""The certificate: it is right as often as it says, and not given for training rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_matrix
from sklearn.linear_model import LinearRegression

from meanparity import ParityKernelRidge, ParityRidge
from meanparity.audit import parity_certificate


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
    assert "if the rows are many enough" in str(found)


def test_bounded_predictions_have_a_bound_for_any_distribution():
    rng = np.random.default_rng(2)
    x, s = rng.beta(2, 5, size=4000), np.repeat(["a", "b"], [3000, 1000])
    found = certify(x, s, bounds=(0, 1))
    assert found.kind == "distribution-free"
    assert found.bound > certify(x, s).bound
    assert "whatever the distribution" in str(found)
    # rows that hardly vary are known better than bounds alone tell
    assert certify(0.01 * x, s, bounds=(0, 1)).bound < found.bound / 2
    # and for few rows it is never more than the range allows by much
    few = certify([0.0, 1.0, 0.0, 1.0], list("aabb"), bounds=(0, 1))
    assert few.bound >= 1.0


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


@pytest.mark.parametrize("model", [ParityRidge(), ParityKernelRidge(kernel="rbf")])
@pytest.mark.parametrize("sparse", [False, True])
def test_training_rows_and_the_pool_are_refused(model, sparse, data):
    X, y, s = data
    convert = csr_matrix if sparse else np.asarray
    pool = (convert(X[100:200]), s[100:200])
    model.fit(convert(X[:100]), y[:100], sensitive_features=s[:100], pool=pool)
    assert model.has_seen(X).tolist() == [True] * 200 + [False] * 100
    assert parity_certificate(model, X[200:], s[200:]).n_rows == 100
    for rows in (slice(0, 50), slice(150, 250)):
        with pytest.raises(ValueError, match=r"50 of .* rows of X were seen in fit"):
            parity_certificate(model, X[rows], s[rows])
    assert parity_certificate(model, X[:100], s[:100], unseen=True).observed < 1e-12


def test_other_models_have_to_tell_what_they_were_trained_on(data):
    X, y, s = data
    model = LinearRegression().fit(X[:100], y[:100])
    with pytest.raises(ValueError, match=r"LinearRegression does not tell .* Pass X_train="):
        parity_certificate(model, X[100:], s[100:])
    with pytest.raises(ValueError, match="1 of 200 rows of X were seen"):
        parity_certificate(model, X[99:299], s[99:299], X_train=X[:100])
    assert parity_certificate(model, X[100:], s[100:], X_train=X[:100]).bound > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confidence": 1.0}, "confidence=1.0 is not between 0 and 1"),
        ({"bounds": (1, 0)}, r"bounds=\(1, 0\). Pass two finite numbers"),
        ({"bounds": 3}, "bounds=3. Pass two finite numbers"),
        ({"bounds": (0, 0.5)}, "Predictions lie between 0 and 1, outside of"),
    ],
)
def test_wrong_use_speaks(change, message):
    with pytest.raises(ValueError, match=message):
        certify([0.0, 1.0, 0.5, 0.2], list("aabb"), **change)


def test_one_group_and_several_outputs_are_refused():
    with pytest.raises(ValueError, match="All 2 rows are in one group"):
        certify([0.0, 1.0], ["a", "a"])

    class Two(Given):
        def predict(self, X):
            return np.asarray(X)

    with pytest.raises(ValueError, match="Certify one output"):
        parity_certificate(Two(), np.ones((4, 2)), list("aabb"), unseen=True)
