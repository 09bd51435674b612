"""Which columns tell the groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from meanparity.audit import proxies


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


def test_a_copy_of_the_attribute_tells_all():
    s = np.array(list("abcabcab"))
    X = np.column_stack([s == "a", s == "b"]).astype(float)
    assert proxies(X, sensitive_features=s).joint == pytest.approx(1.0)


def test_names_sparse_features_and_printing(data):
    X, s = data
    frame = pd.DataFrame(X, columns=["age", "pay", "hours", "zip"])
    found = proxies(frame, sensitive_features=s)
    assert found.columns[0][0] == "age"
    assert str(found).splitlines()[1].startswith("age")
    assert str(found).endswith(f"all together: {found.joint:.3f}")
    assert list(found.to_pandas().column) == [name for name, _ in found.columns]
    assert proxies(csr_matrix(X), sensitive_features=s).joint == pytest.approx(found.joint)
    many = proxies(np.hstack([X] * 4), sensitive_features=s)
    assert "... and 6 more" in str(many)


def test_one_group_is_refused(data):
    with pytest.raises(ValueError, match="All 200 rows are in one group"):
        proxies(data[0], sensitive_features=np.ones(200))
