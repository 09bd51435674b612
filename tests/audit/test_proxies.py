"""Which columns tell the groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from meanparity.audit import proxies
from meanparity.audit.proxies import explained_share


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    s = rng.integers(0, 3, 200)
    X = rng.normal(size=(200, 4)) + np.outer(s == 1, [1.0, 0.0, 0.5, 0.0])
    return X, s


def naive(X, s, weight=None):
    """R² of the indicators, all together weighted by their variances."""
    Z = (s[:, None] == np.unique(s)).astype(float)
    predicted = LinearRegression().fit(X, Z, weight).predict(X)
    return r2_score(Z, predicted, sample_weight=weight, multioutput="variance_weighted")


@pytest.mark.parametrize("weighted", [False, True])
def test_r_squared_is_that_of_a_regression_on_the_column(data, weighted):
    X, s = data
    weight = np.random.default_rng(1).uniform(0.5, 2, 200) if weighted else None
    found = proxies(X, sensitive_features=s, sample_weight=weight)
    expected = {f"x{j}": naive(X[:, [j]], s, weight) for j in range(4)}
    assert dict(found.columns) == pytest.approx(expected, abs=1e-12)
    values = [r2 for _, r2 in found.columns]
    assert values == sorted(values, reverse=True)
    assert found.joint == pytest.approx(naive(X, s, weight), abs=1e-12)
    assert found.joint >= max(values)


def test_dependent_and_constant_columns_add_nothing(data):
    X, s = data
    more = np.column_stack([X, X[:, 0] * 1e6 + 3, np.full(200, 7.0), X @ [1.0, 2.0, 3.0, 4.0]])
    found = proxies(more, sensitive_features=s)
    assert found.joint == pytest.approx(proxies(X, sensitive_features=s).joint, abs=1e-9)
    assert dict(found.columns)["x5"] == 0.0
    assert dict(found.columns)["x4"] == pytest.approx(dict(found.columns)["x0"])


@pytest.mark.parametrize("value", [0.0, 1e8 / 3, -1e8 / 3, 1e-9 / 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_constant_columns_explain_nothing(data, value, weighted):
    X, s = data
    weight = np.random.default_rng(1).uniform(0.5, 2, 200) if weighted else None
    more = np.column_stack([X, np.full(200, value)])
    found = proxies(more, sensitive_features=s, sample_weight=weight)
    assert dict(found.columns)["x4"] == 0.0
    expected = proxies(X, sensitive_features=s, sample_weight=weight).joint
    assert found.joint == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-15, 1e-9, 1e12])
def test_units_of_columns_do_not_matter(data, scale):
    X, s = data
    one, other = (proxies(A, sensitive_features=s) for A in (X, scale * X))
    assert dict(other.columns) == pytest.approx(dict(one.columns))
    assert other.joint == pytest.approx(one.joint)


def test_equally_good_columns_keep_their_order(data):
    X, s = data
    found = proxies(np.hstack([X[:, :1]] * 30), sensitive_features=s)
    assert [name for name, _ in found.columns] == [f"x{j}" for j in range(30)]


def test_more_columns_than_rows():
    X = np.random.default_rng(2).normal(size=(6, 9))
    found = proxies(X, sensitive_features=list("aabbcc"))
    assert {name for name, _ in found.columns} == {f"x{j}" for j in range(9)}
    assert found.joint == pytest.approx(1.0)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e6])
def test_the_explained_share_of_dependent_columns(scale):
    rng = np.random.default_rng(3)
    X, target = rng.normal(size=(50, 3)), rng.normal(size=(50, 2))
    X, target = X - X.mean(axis=0), target - target.mean(axis=0)
    Q = np.linalg.qr(X)[0]
    expected = ((Q.T @ target) ** 2).sum() / (target**2).sum()
    dependent = np.column_stack([X, X @ rng.normal(size=(3, 4))])
    assert explained_share(scale * dependent, target) == pytest.approx(expected)
    assert explained_share(scale * dependent, 1e-9 * target) == pytest.approx(expected)


def test_constant_targets_and_no_columns_have_no_explained_share():
    assert explained_share(np.array([[-1.0], [1.0]]), np.zeros((2, 1))) == 0.0
    assert explained_share(np.zeros((2, 0)), np.array([[-1.0], [1.0]])) == 0.0
    assert explained_share(np.zeros((2, 1)), np.array([[-1.0], [1.0]])) == 0.0


def test_a_copy_of_the_attribute_explains_everything():
    s = np.array(list("abcabcab"))
    X = np.column_stack([s == "a", s == "b"]).astype(float)
    assert proxies(X, sensitive_features=s).joint == pytest.approx(1.0)


def test_names_sparse_features_and_printing(data):
    X, s = data
    frame = pd.DataFrame(X, columns=["age", "pay", "hours", "zip"])
    found = proxies(frame, sensitive_features=s)
    assert found.columns[0][0] == "age"
    assert str(found).splitlines()[1].startswith("age")
    assert str(found).endswith(f"all columns together: {found.joint:.3f}")
    assert list(found.to_frame().column) == [name for name, _ in found.columns]
    assert proxies(csr_matrix(X), sensitive_features=s).joint == pytest.approx(found.joint)
    table = [line.split() for line in str(found).splitlines()[1:5]]
    assert table == [[name, f"{r2:.3f}"] for name, r2 in found.columns]
    assert len({line.index("0.") for line in str(found).splitlines()[1:5]}) == 1
    many = proxies(np.hstack([X] * 4), sensitive_features=s)
    assert "... and 6 more" in str(many)
    assert len(str(many).splitlines()) == 13
    assert "more" not in str(proxies(np.hstack([X, X, X[:, :2]]), sensitive_features=s))


def test_one_group_is_refused(data):
    with pytest.raises(ValueError, match="All 200 rows are in one group"):
        proxies(data[0], sensitive_features=np.ones(200))
    X, s = data
    with pytest.raises(ValueError, match="All rows of positive weight are in one group"):
        proxies(X, sensitive_features=s, sample_weight=s == 1)
