from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meanparity import CovarianceParity, MeanParity
from meanparity.constraints import numeric_labels, resolve_constraint
from meanparity.groups import Groups
from meanparity.rows import Rows

CONSTRAINTS = [
    MeanParity(),
    CovarianceParity(),
    CovarianceParity("polynomial", degree=2),
    CovarianceParity("polynomial", degree=2, coef0=0.0),
    CovarianceParity("rbf", gamma=0.5),
    CovarianceParity(lambda a, b: float(a[0] == b[0])),
]


@st.composite
def columns(draw):
    rows = draw(st.lists(st.integers(-2, 3), min_size=4, max_size=40))
    rows[:3] = [0, 1, 1]
    return np.array(rows) * draw(st.sampled_from([1.0, 1e-3, 1e3]))


@given(column=columns(), m=st.integers(1, 3))
@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=str)
def test_functionals(constraint, column, m):
    rows = Rows.of(column, continuous=[])
    groups = rows.groups
    functionals = constraint.functionals(rows)
    C = functionals.dense()
    n, q = C.shape
    assert np.allclose(C.sum(axis=0), 0, atol=1e-12), "constants violate nothing"
    assert np.allclose(C.T @ C, np.eye(q), atol=1e-10)
    values = np.random.default_rng(n).standard_normal((n, m))
    assert np.allclose(functionals.apply(values), C.T @ values)
    assert np.allclose(functionals.spread(values[:q]), C @ values[:q]) if q <= n else None
    # orthogonal to all columns of C is parity, and the other way round
    level = values - C @ (C.T @ values)
    assert np.abs(functionals.gaps(level)).max() <= 1e-10
    if functionals.implies_mean_parity:
        assert np.allclose(groups.means(level), level.mean(axis=0))
    else:
        assert q < groups.n_groups - 1


@given(column=columns())
def test_gaps_of_mean_parity_are_group_means_less_the_mean(column):
    rows = Rows.of(column, continuous=[])
    groups = rows.groups
    functionals = MeanParity().functionals(rows)
    values = np.random.default_rng(0).standard_normal((len(column), 2))
    assert np.allclose(functionals.gaps(values), groups.means(values) - values.mean(axis=0))
    assert functionals.labels == groups.names
    assert len(functionals) == groups.n_groups - 1


def test_gaps_of_covariance_parity_are_covariances_with_unit_features():
    s = np.array([1.0, 2.0, 4.0, 7.0])
    values = np.array([[3.0], [1.0], [4.0], [1.0]])
    functionals = CovarianceParity("linear").functionals(Rows.of(s))
    expected = np.cov(s, values[:, 0], ddof=0)[0, 1] / s.std()
    assert np.isclose(abs(functionals.gaps(values)[0, 0]), abs(expected))


@pytest.mark.parametrize("k", [2, 3, 7, 12])
def test_polynomial_of_degree_k_minus_1_satisfies_assumption_1(k):
    """The paper's appendix "Choice of kernel", also where the numbers are far from one."""
    for column in (np.arange(k), 1900 + 10 * np.arange(k), np.arange(k) * 1e-3):
        groups = Rows.of(np.tile(column, 3), continuous=[])
        for degree in range(1, k):
            constraint = CovarianceParity("polynomial", degree=degree)
            assert len(constraint.functionals(groups)) == degree
            assert constraint.implies_mean_parity(groups) == (degree == k - 1)


def test_assumption_1_for_intersections_of_binary_columns():
    grid = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    groups = Rows.of(grid)
    assert not CovarianceParity("linear").implies_mean_parity(groups)
    assert not CovarianceParity("polynomial", degree=2).implies_mean_parity(groups)
    assert CovarianceParity("polynomial", degree=3).implies_mean_parity(groups)
    assert CovarianceParity("rbf").implies_mean_parity(groups)


def test_text_has_no_order():
    groups = Groups.from_columns(["north", "south", "west", "west"])
    assert CovarianceParity("linear").implies_mean_parity(
        Rows.of(["north", "south", "west", "west"])
    )
    assert numeric_labels(groups).tolist() == np.eye(3).tolist()
    mixed = Groups.from_columns({"a": [1.5, 2.5], "b": [True, False]})
    assert numeric_labels(mixed).tolist() == [[1.5, 1.0], [2.5, 0.0]]


def test_continuous_column_needs_no_matrix_of_all_pairs():
    s = np.random.default_rng(0).standard_normal(20_000)  # pairs would take 3 GB
    functionals = CovarianceParity("polynomial", degree=3).functionals(Rows.of(s))
    assert len(functionals) == 3
    level = s[:, None] ** 4
    level -= functionals.dense() @ functionals.apply(level)
    for power in (1, 2, 3):
        assert abs(np.corrcoef(s**power, level[:, 0])[0, 1]) <= 1e-12


def test_columns_of_unlike_scales_all_count():
    rng = np.random.default_rng(0)
    table = {"income": rng.uniform(0, 2e6, 300), "sex": rng.integers(0, 2, 300)}
    for constraint, count in ((CovarianceParity(), 2), (CovarianceParity("poly", degree=2), 5)):
        functionals = constraint.functionals(Rows.of(table))
        assert len(functionals) in (count, count - 1)  # sex is its own square
        level = rng.standard_normal((300, 1))
        level -= functionals.dense() @ functionals.apply(level)
        for column in table.values():
            assert abs(np.corrcoef(column, level[:, 0])[0, 1]) <= 1e-10


def test_high_degrees_keep_their_rank():
    ages = np.arange(18, 81)
    for degree in (5, 20, 40):
        assert len(CovarianceParity("poly", degree=degree).functionals(Rows.of(ages))) == degree


def test_numbers_in_lists_are_numbers():
    values = np.array([1, 2, 4])
    for column in (values, list(values), list(values.astype(np.float32)), [Decimal(1), 2, 4.0]):
        assert numeric_labels(Groups.from_columns(column))[:, 0].tolist() == [1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda a, b: float(a[0]), "not symmetric"),
        (lambda a, b: np.nan, "not finite"),
        ("precomputed", "cannot be 'precomputed'"),
        ("gaussian", "is not known"),
    ],
    ids=str,
)
def test_what_is_no_sensitive_kernel(kernel, message):
    with pytest.raises(ValueError, match=message):
        CovarianceParity(kernel).functionals(Rows.of([1, 2, 3]))


def test_a_kernel_that_sees_nothing():
    groups = Rows.of([1, 2, 3])
    with pytest.raises(ValueError, match="the same features"):
        CovarianceParity(lambda a, b: 1.0).functionals(groups)


def test_names():
    assert resolve_constraint("covariance_parity") == CovarianceParity()
    for wrong in ("fair", None, MeanParity):
        with pytest.raises(ValueError, match=r"is not known\. Pass one of 'mean_parity'"):
            resolve_constraint(wrong)


def test_specifications_are_values():
    assert MeanParity() == MeanParity()
    assert hash(CovarianceParity("rbf")) == hash(CovarianceParity("rbf"))
    with pytest.raises(AttributeError):
        CovarianceParity().degree = 5
