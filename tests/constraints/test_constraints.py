from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from meanparity import CovarianceParity, LinearParity, MeanParity, ResidualParity
from meanparity.constraints import Functionals
from meanparity.constraints.base import resolve_constraint
from meanparity.constraints.covariance import numeric_labels
from meanparity.data.groups import Groups
from meanparity.data.rows import Rows

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
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_functionals(constraint, column, m):
    rows = Rows.from_columns(column, continuous=[])
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
    rows = Rows.from_columns(column, continuous=[])
    groups = rows.groups
    functionals = MeanParity().functionals(rows)
    values = np.random.default_rng(0).standard_normal((len(column), 2))
    assert np.allclose(functionals.gaps(values), groups.means(values) - values.mean(axis=0))
    assert functionals.labels == groups.names
    assert len(functionals) == groups.n_groups - 1


def test_gaps_of_covariance_parity_are_covariances_with_unit_features():
    s = np.array([1.0, 2.0, 4.0, 7.0])
    values = np.array([[3.0], [1.0], [4.0], [1.0]])
    functionals = CovarianceParity("linear").functionals(Rows.from_columns(s))
    expected = np.cov(s, values[:, 0], ddof=0)[0, 1] / s.std()
    assert np.isclose(abs(functionals.gaps(values)[0, 0]), abs(expected))


@pytest.mark.parametrize("k", [2, 3, 7, 12])
def test_polynomial_of_degree_k_minus_1_satisfies_assumption_1(k):
    """The paper's appendix "Choice of kernel", also where the numbers are far from one."""
    for column in (np.arange(k), 1900 + 10 * np.arange(k), np.arange(k) * 1e-3):
        groups = Rows.from_columns(np.tile(column, 3), continuous=[])
        for degree in range(1, k):
            constraint = CovarianceParity("polynomial", degree=degree)
            assert len(constraint.functionals(groups)) == degree
            assert constraint.implies_mean_parity(groups) == (degree == k - 1)


def test_assumption_1_for_intersections_of_binary_columns():
    grid = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    groups = Rows.from_columns(grid)
    assert not CovarianceParity("linear").implies_mean_parity(groups)
    assert not CovarianceParity("polynomial", degree=2).implies_mean_parity(groups)
    assert CovarianceParity("polynomial", degree=3).implies_mean_parity(groups)
    assert CovarianceParity("rbf").implies_mean_parity(groups)


def test_text_has_no_order():
    groups = Groups.from_columns(["north", "south", "west", "west"])
    assert CovarianceParity("linear").implies_mean_parity(
        Rows.from_columns(["north", "south", "west", "west"])
    )
    assert numeric_labels(groups).tolist() == np.eye(3).tolist()
    mixed = Groups.from_columns({"a": [1.5, 2.5], "b": [True, False]})
    assert numeric_labels(mixed).tolist() == [[1.5, 1.0], [2.5, 0.0]]


def test_continuous_column_needs_no_matrix_of_all_pairs():
    s = np.random.default_rng(0).standard_normal(20_000)  # pairs would take 3 GB
    functionals = CovarianceParity("polynomial", degree=3).functionals(Rows.from_columns(s))
    assert len(functionals) == 3
    level = s[:, None] ** 4
    level -= functionals.dense() @ functionals.apply(level)
    for power in (1, 2, 3):
        assert abs(np.corrcoef(s**power, level[:, 0])[0, 1]) <= 1e-12


def test_columns_of_unlike_scales_all_count():
    rng = np.random.default_rng(0)
    table = {"income": rng.uniform(0, 2e6, 300), "sex": rng.integers(0, 2, 300)}
    # of degree 2: income, its square, sex (which is its own square), and their product
    for constraint, count in ((CovarianceParity(), 2), (CovarianceParity("poly", degree=2), 4)):
        functionals = constraint.functionals(Rows.from_columns(table))
        assert len(functionals) == count
        level = rng.standard_normal((300, 1))
        level -= functionals.dense() @ functionals.apply(level)
        for column in table.values():
            assert abs(np.corrcoef(column, level[:, 0])[0, 1]) <= 1e-10


def test_high_degrees_keep_their_rank():
    ages = np.arange(18, 81)
    for degree in (5, 20, 40):
        assert (
            len(CovarianceParity("poly", degree=degree).functionals(Rows.from_columns(ages)))
            == degree
        )


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
)
def test_what_is_no_sensitive_kernel(kernel, message):
    with pytest.raises(ValueError, match=message):
        CovarianceParity(kernel).functionals(Rows.from_columns([1, 2, 3]))


def test_a_kernel_that_sees_nothing():
    groups = Rows.from_columns([1, 2, 3])
    with pytest.raises(ValueError, match="the same features"):
        CovarianceParity(lambda a, b: 1.0).functionals(groups)


def test_names():
    found = resolve_constraint("covariance_parity")
    assert type(found) is CovarianceParity
    assert found.get_params() == CovarianceParity().get_params()
    own = MeanParity(degree=2)
    assert resolve_constraint(own) is own
    for wrong in ("fair", None, MeanParity):
        with pytest.raises(ValueError, match=r"is not known\. Pass one of 'mean_parity'"):
            resolve_constraint(wrong)


@pytest.mark.parametrize(
    "constraint",
    [MeanParity(degree=3, n_knots=4), CovarianceParity("rbf", gamma=0.5), ResidualParity()],
    ids=str,
)
def test_constraints_are_cloned_and_searched_like_estimators(constraint):
    copy = clone(constraint)
    assert copy is not constraint
    assert copy.get_params() == constraint.get_params()
    copy.set_params(missing="group")
    assert constraint.missing == "error"
    before = constraint.get_params()
    age = np.random.default_rng(0).normal(40, 9, 50)
    constraint.settle(Rows.from_columns(age, y=age[:, None]))
    assert constraint.get_params() == before
    assert not hasattr(constraint, "knots_"), "settled knots belong to a copy"


def gaps(constraint, values, columns, **options):
    """Gaps by name."""
    functionals = constraint.functionals(Rows.from_columns(columns, **options))
    found = functionals.gaps(np.asarray(values, dtype=float)[:, None])[:, 0]
    return dict(zip(functionals.labels, found.round(12).tolist(), strict=True))


TABLE = {"sex": ["F", "F", "M", "M"], "race": ["a", "b", "a", "b"]}


def test_what_gaps_are_called():
    values, twice = [1.0, 3.0, 5.0, 11.0], {name: column * 2 for name, column in TABLE.items()}
    assert gaps(MeanParity(), values * 2, twice)["sex=M, race=b"] == 6.0
    marginal = gaps(MeanParity(), values, TABLE, intersectional=False)
    assert marginal == {"sex=F": -3.0, "sex=M": 3.0, "race=a": -2.0, "race=b": 2.0}
    strata = gaps(MeanParity(), values * 2, twice["sex"], control_features=twice["race"])
    assert strata == {
        "F in control=a": -2.0,
        "M in control=a": 2.0,
        "F in control=b": -4.0,
        "M in control=b": 4.0,
    }
    weighted = gaps(
        MeanParity(), values, TABLE["sex"], sample_weight=np.array([1.0, 0.0, 1.0, 2.0])
    )
    assert weighted == {"F": -6.0, "M": 2.0}
    ages = gaps(MeanParity(degree=2), [0.0, 1.0, 4.0] * 2, [1, 2, 3] * 2, continuous=[0])
    assert ages["sensitive"] == np.round(4 / 3 / np.sqrt(2 / 3), 12)
    assert list(ages) == ["sensitive", "sensitive^2"]
    missing = gaps(MeanParity(), values, ["F", None, "M", "M"], missing="ignore")
    assert missing == {"F": -4.666666666667, "M": 2.333333333333}
    assert gaps(CovarianceParity("rbf"), values, TABLE["sex"]) == {"F": -3.0, "M": 3.0}


def test_numbers_inside_groups():
    sex, age = np.array(list("FFFMMM")), np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])
    within = gaps(MeanParity(), age, {"sex": sex, "age": age}, continuous=["age"])
    assert list(within) == ["F", "M", "age in F", "age in M"]
    crossed = np.where(sex == "F", age, -age) + 2 * (sex == "M") * 2
    overall = gaps(
        MeanParity(), crossed, {"sex": sex, "age": age}, continuous=["age"], intersectional=False
    )
    assert list(overall) == ["F", "M", "age"]
    assert overall["age"] == 0.0, "over all rows a slope and its opposite cancel"
    inside = gaps(MeanParity(), crossed, {"sex": sex, "age": age}, continuous=["age"])
    assert inside["age in F"] == -inside["age in M"] != 0.0


@pytest.mark.parametrize("degree", [1, 3])
def test_splines_see_more_than_powers(degree):
    age = np.linspace(20, 60, 201)
    rows = Rows.from_columns(age)
    splines = MeanParity(degree=degree, n_knots=5).functionals(rows)
    assert len(splines) == 5 + degree - 2
    bend = np.maximum(age - 40, 0.0)[:, None] ** degree  # a bend at the middle knot

    def left(functionals):
        level = bend - functionals.dense() @ functionals.apply(bend)
        return np.abs(level - level.mean()).max() / np.ptp(bend)

    assert left(splines) <= 1e-10
    assert left(MeanParity(degree=degree).functionals(rows)) > 0.01


def test_knots_belong_to_the_training_rows():
    age = np.concatenate([np.full(900, 30.0), np.arange(31.0, 71.0)])
    rows = Rows.from_columns(age)
    settled = MeanParity(degree=1, n_knots=5).settle(rows)
    assert settled.knots_ == (("sensitive", (30.0, 70.0)),), "quantiles of people, not of ages"
    other = rows.schema.read_rows(np.array([25.0, 40.0, 50.0, 90.0]))
    assert len(settled.functionals(other)) == 1
    weights = np.where(age == 30, 0.01, 1.0)
    heavy = MeanParity(degree=1, n_knots=3).settle(Rows.from_columns(age, sample_weight=weights))
    assert heavy.knots_[0][1][1] > 40
    twice = MeanParity(degree=3, n_knots=4).settle(
        Rows.from_columns({"age": age, "sex": ["F", "M"] * 470})
    )
    assert dict(twice.knots_)["age"] == MeanParity(degree=3, n_knots=4).settle(rows).knots_[0][1]


@given(
    seed=st.integers(0, 10**6), marginal=st.booleans(), missing=st.sampled_from(["group", "ignore"])
)
def test_implied_mean_parity_is_tested_not_counted(seed, marginal, missing):
    rng = np.random.default_rng(seed)
    columns = {name: rng.choice(np.array(["x", "y", None]), 30) for name in "ab"}
    rows = Rows.from_columns(columns, missing=missing, intersectional=not marginal)
    functionals = MeanParity().between_groups(rows)
    values = rng.standard_normal((30, 1))
    values -= functionals.dense() @ functionals.apply(values)
    gaps = rows.groups.means(values) - rows.groups.means(values).mean(axis=0)
    assert functionals.implies_mean_parity == (np.abs(gaps).max() <= 1e-10)


def test_covariance_parity_that_tells_many_numbers_apart():
    rows = Rows.from_columns(np.arange(21))
    assert CovarianceParity("polynomial", degree=20).implies_mean_parity(rows)
    assert not CovarianceParity("polynomial", degree=19).implies_mean_parity(rows)


def test_strata_are_kept_apart_in_memory():
    rng = np.random.default_rng(0)
    columns = {"sex": rng.choice(["F", "M"], 20_000), "age": rng.normal(40, 9, 20_000)}
    rows = Rows.from_columns(columns, control_features=rng.integers(0, 200, 20_000))
    functionals = MeanParity().functionals(rows)
    assert len(functionals) == 600
    assert functionals.table.nnz <= 4 * 20_000, "a dense table would have 12 million entries"
    values = rng.standard_normal((20_000, 2))
    C = functionals.dense()
    assert np.allclose(functionals.apply(values), C.T @ values)
    assert np.allclose(
        functionals.moments(values[50:90], slice(50, 90)), values[50:90].T @ C[50:90]
    )
    assert np.allclose(C.T @ C, np.eye(600), atol=1e-10)


def test_hardly_any_weight_is_some():
    """A group of 1e-22 of the weight is compared like all others."""
    rng = np.random.default_rng(0)
    columns = {"a": rng.choice(["F", "M"], 50), "b": rng.choice(["x", "y"], 50)}
    weights = np.where(columns["a"] == "M", 1e-22, 1.0)
    rows = Rows.from_columns(columns, sample_weight=weights, intersectional=False)
    functionals = MeanParity().functionals(rows)
    assert len(functionals) == 2
    assert len(functionals.labels) == 4


def test_powers_of_few_values_do_not_repeat_themselves():
    rows = Rows.from_columns({"age": [1, 2, 3, 3, 2]}, continuous=["age"])
    assert len(MeanParity(degree=7).functionals(rows)) == 2
    for wrong in ({"degree": 0}, {"degree": 1.5}, {"degree": True}, {"n_knots": 1}):
        with pytest.raises(ValueError, match="is not an integer of"):
            MeanParity(**wrong).functionals(rows)


def test_strata_with_one_group_are_reported():
    rows = Rows.from_columns(["a", "b", "a", "a"], control_features={"grade": [1, 1, 2, 2]})
    for constraint in (MeanParity(), CovarianceParity()):
        assert constraint.functionals(rows).unconstrained == (("grade=2", 2),)
        with pytest.raises(ValueError, match=r"nothing to (equalise|constrain)"):
            constraint.functionals(Rows.from_columns(["a", "b"], control_features=[1, 2]))
    with pytest.raises(ValueError, match="one group only"):
        CovarianceParity().functionals(Rows.from_columns(["a", "a"]))
    pairs = MeanParity().functionals(Rows.from_columns(list("abab"), control_features=[1, 1, 2, 2]))
    assert len(pairs) == 2, "pairs may be compared, each in its stratum"


def test_strata_that_some_columns_are_compared_in():
    """Men only in the second grade: their origins are compared, the sexes are not."""
    columns = {"sex": list("FMFMMMMM"), "origin": list("aabbabab")}
    rows = Rows.from_columns(
        columns, control_features={"grade": [1] * 4 + [2] * 4}, intersectional=False
    )
    functionals = MeanParity().functionals(rows)
    assert functionals.unconstrained == (("sex in grade=2", 4),)
    assert len(functionals) == 3


def test_residual_parity_needs_y():
    with pytest.raises(ValueError, match="needs y"):
        ResidualParity().functionals(Rows.from_columns(["a", "b", "b"]))


@given(seed=st.integers(0, 10**6), m=st.integers(1, 3), copies=st.integers(0, 3))
def test_own_weights(seed, m, copies):
    rng = np.random.default_rng(seed)
    C = rng.standard_normal((12, 3)) * [1.0, 1e-4, 1e4]
    C -= C.mean(axis=0)
    C = np.hstack([C, C[:, :copies] * 2])
    g = rng.standard_normal((12, m))
    functionals = Functionals.from_weights(C, C.T @ g)
    assert len(functionals) == 3
    T = functionals.dense()
    assert np.allclose(T.T @ T, np.eye(3), atol=1e-12)
    scale = np.abs(C).sum(axis=0)[:, None]
    assert np.all(np.abs(functionals.gaps(g)) <= 1e-12 * scale)
    other = rng.standard_normal((12, m))
    assert np.allclose(functionals.gaps(other) / scale, C.T @ (other - g) / scale, atol=1e-12)


@pytest.mark.parametrize(
    ("weights", "targets", "message"),
    [
        ([[1.0], [1.0]], None, "sum to 2"),
        ([[0.0], [0.0]], None, "without being zero"),
        ([[1.0, 2.0], [-1.0, -2.0]], [1.0, 3.0], "contradict each other: .* 'condition 0' misses"),
        ([[1.0], [-1.0]], [1.0, 2.0], "1 columns of weights, 2 targets"),
        ([[1.0], [np.nan]], None, "have to be finite"),
        (np.zeros((0, 2)), None, r"have shape \(0, 2\)"),
    ],
    ids=str,
)
def test_what_are_no_conditions(weights, targets, message):
    with pytest.raises(ValueError, match=message):
        Functionals.from_weights(weights, targets)


def test_linear_parity_belongs_to_its_rows():
    constraint = LinearParity([[1.0], [-1.0]], labels=["first and second"])
    assert constraint.functionals(Rows.from_columns([1, 2])).labels == ("first and second",)
    with pytest.raises(ValueError, match=r"weights of shape \(2, 1\), but there are 3 rows"):
        constraint.functionals(Rows.from_columns([1, 2, 2]))


def test_functionals_of_rows_above_others():
    first = MeanParity().functionals(Rows.from_columns(["a", "b", "b"]))
    second = MeanParity().functionals(Rows.from_columns(["x", "y", "x", "z"]))
    both = first.above(second)
    values = np.random.default_rng(0).standard_normal((7, 2))
    above, below = values[:3], values[3:]
    assert np.allclose(both.apply(values), np.vstack([first.apply(above), second.apply(below)]))
    assert np.allclose(both.gaps(values), np.vstack([first.gaps(above), second.gaps(below)]))
    assert both.labels == first.labels + second.labels
    assert np.allclose(both.dense()[:3, : len(first)], first.dense())


def test_equal_means_are_not_implied_where_one_group_alone_is_left_out():
    """The middle one of three equal groups has no weight in a line through their labels."""
    rows = Rows.from_columns(np.repeat([1, 2, 3], 5))
    assert not CovarianceParity("linear").implies_mean_parity(rows)
    assert CovarianceParity("polynomial", degree=2).implies_mean_parity(rows)


def test_rows_of_no_weight_are_not_touched():
    rows = Rows.from_columns(np.array(["a", "b"] * 3), sample_weight=np.array([1.0, 1, 1, 1, 0, 0]))
    functionals = MeanParity().functionals(rows)
    last = np.arange(6) >= 4
    assert not functionals.touches(last)
    assert functionals.touches(~last)


def test_one_empty_condition_among_others_is_refused():
    weights = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match=r"without being zero"):
        Functionals.from_weights(weights)
