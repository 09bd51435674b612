from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meanparity.data import Groups
from meanparity.data.columns import read_levels

COLUMNS = {
    "text": np.array(["b", "a", "b", "c"]),
    "objects": np.array(["b", "a", "b", "c"], dtype=object),
    "list": ["b", "a", "b", "c"],
    "pandas": pd.Series(["b", "a", "b", "c"], name="letter"),
    "pandas categories": pd.Series(["b", "a", "b", "c"], dtype="category", name="letter"),
    "polars": pl.Series("letter", ["b", "a", "b", "c"]),
    "polars categories": pl.Series("letter", ["b", "a", "b", "c"], dtype=pl.Categorical),
    "frame": pd.DataFrame({"letter": ["b", "a", "b", "c"]}),
    "polars frame": pl.DataFrame({"letter": ["b", "a", "b", "c"]}),
    "mapping": {"letter": ["b", "a", "b", "c"]},
    "array of one column": np.array([["b"], ["a"], ["b"], ["c"]]),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_one_column_of_text(column):
    groups = Groups.from_columns(column)
    assert groups.keys == ("a", "b", "c")
    assert groups.names == ("a", "b", "c")
    assert groups.codes.tolist() == [1, 0, 1, 2]
    assert groups.counts.tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    ("column", "keys"),
    [
        (np.array([3, 1, 3]), (1, 3)),
        (np.array([0.1, -0.1, 0.1]), (-0.1, 0.1)),
        (np.array([True, False, True]), (False, True)),
        ([True, False, True], (False, True)),
        (["1", 1, "1"], (1, "1")),
        (pd.Series([3, 1, 3], dtype="Int64"), (1, 3)),
        (pl.Series([True, False, True]), (False, True)),
        (pd.Series(pd.Categorical([2, 1, 2], categories=[3, 2, 1])), (1, 2)),
        (pd.DataFrame({0: [5, 4, 5]}), (4, 5)),
        (pd.Series([5, 4, 5], name=7), (4, 5)),
        (np.array(["2020-02", "2020-01", "2020-02"], dtype="M8[ns]"), None),
        (np.array(["x", "", "x"]), ("", "x")),
    ],
    ids=str,
)
def test_other_values(column, keys):
    groups = Groups.from_columns(column)
    assert groups.codes.tolist() == [1, 0, 1]
    if keys is None:
        assert groups.names[0].startswith("2020-01-01")
    else:
        assert groups.keys == keys


SEVERAL = {
    "array": np.array([["F", "x, y"], ["M", "z"], ["F", "z"], ["F", "z"]]),
    "rows": [["F", "x, y"], ["M", "z"], ["F", "z"], ["F", "z"]],
    "pandas": pd.DataFrame({"sex": list("FMFF"), "race": ["x, y", "z", "z", "z"]}),
    "polars": pl.DataFrame({"sex": list("FMFF"), "race": ["x, y", "z", "z", "z"]}),
}


@pytest.mark.parametrize("columns", SEVERAL.values(), ids=SEVERAL)
def test_combinations_that_occur_are_groups_with_labels_kept_apart(columns):
    groups = Groups.from_columns(columns)
    assert groups.keys == (("F", "x, y"), ("F", "z"), ("M", "z"))
    assert groups.codes.tolist() == [0, 2, 1, 1]
    assert groups.n_groups == 3, "the empty combination of M and 'x, y' is absent"
    if hasattr(columns, "columns"):
        assert groups.names == ("sex=F, race=x, y", "sex=F, race=z", "sex=M, race=z")


def test_labels_that_would_clash_when_joined():
    groups = Groups.from_columns({"a": ["1", "1,b=2"], "b": ["2,b=3", "3"]})
    assert groups.n_groups == 2


def test_many_columns_do_not_overflow():
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 1000, (50, 12))  # 1000¹² combinations are more than 64 bits
    groups = Groups.from_columns(columns)
    assert groups.n_groups == 50
    assert all(groups.labels[groups.codes[i]] == tuple(columns[i]) for i in range(50))


@pytest.mark.parametrize(
    "column",
    [
        ["a", None, "b", np.nan],
        np.array([1.0, np.nan, 2.0, np.nan]),
        pd.Series(["a", None, "b", None]),
        pd.Series([1, None, 2, None], dtype="Int64"),
        pd.Series(pd.to_datetime(["2020", None, "2021", None])),
        pd.Series(["a", None, "b", None], dtype="category"),
        pl.Series([1, None, 2, None]),
        pl.Series(["a", None, "b", None]),
        pl.Series([1.0, None, 2.0, float("nan")]),
        [pd.NA, pd.NA, "a", "b"],
        np.ma.masked_array([1, 2, 3, 4], mask=[True, False, True, False]),
        np.array(["2020", "NaT", "2021", "NaT"], dtype="M8[s]"),
    ],
    ids=str,
)
def test_missing_values_are_counted_and_located(column):
    with pytest.raises(ValueError, match=r"2 missing values \(rows \d, \d\)\. Drop these rows"):
        Groups.from_columns(column)


@pytest.mark.parametrize("kind", [pl.Series, lambda x: pd.Series(x, dtype="Int64"), list])
def test_whole_numbers_stay_whole_beside_missing_ones(kind):
    assert Groups.from_columns(kind([2, None, 1]), missing="group").names == ("1", "2", "missing")


def test_one_missing_value_reads_well():
    with pytest.raises(ValueError, match=r"'sex' has 1 missing value \(row 1\)"):
        Groups.from_columns({"sex": ["a", None]})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([], "is empty"),
        (np.empty((3, 0)), "is empty"),
        (np.zeros((2, 2, 2)), r"has shape \(2, 2, 2\)"),
        ({"a": [1, 2], "b": [1]}, "different shapes"),
        ([[1, 2], [3]], None),
        ([{}, {}], "cannot be compared"),
        ({1: [1, 2], "1": [3, 4]}, "columns 1 and '1'"),
        (pd.DataFrame({1: [1, 2], "1": [3, 4]}), "columns 1 and '1'"),
        (7, "one value for each row"),
        ("abc", "one value for each row"),
        (np.array([1j, 2j]), "complex"),
        (pl.LazyFrame({"a": [1]}), "collect"),
    ],
    ids=str,
)
def test_what_is_not_a_column(columns, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Groups.from_columns(columns)


def test_wrong_length():
    with pytest.raises(ValueError, match="has 2 rows, but the data have 3"):
        Groups.from_columns([1, 2], n_rows=3)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.integers(1, 3), st.booleans())
def test_sums_and_means(codes, m, weighted):
    rng = np.random.default_rng(len(codes))
    values = rng.standard_normal((len(codes), m))
    weights = rng.uniform(0.5, 2, len(codes)) if weighted else None
    groups = Groups.from_columns(codes)
    for i, key in enumerate(groups.keys):
        member = np.array(codes) == key
        assert np.allclose(groups.sums(values)[i], values[member].sum(axis=0))
        inside = None if weights is None else weights[member]
        expected = np.average(values[member], axis=0, weights=inside)
        assert np.allclose(groups.means(values, weights)[i], expected)
        assert np.allclose(groups.means(values[:, 0], weights)[i], expected[0])


@pytest.mark.parametrize("n", [1, 7, 3000])
@pytest.mark.parametrize("k", [1, 2, 5, 15, 16, 17, 40])
@pytest.mark.parametrize(
    "make",
    [
        lambda i: i,
        lambda i: i.astype(np.int8) - 100,
        lambda i: i.astype(np.uint64) + np.uint64(2**63),
        lambda i: i * 10**12 - 10**15,
        lambda i: i.astype(float) / 4,
        lambda i: np.array([f"group {j * 7 % 41}" for j in i]),
        lambda i: np.array([f"group {j * 7 % 41}".encode() for j in i]),
        lambda i: i % 2 == 1,
        lambda i: np.array([f"group {j * 7 % 41}" for j in i], dtype=object),
    ],
    ids=["int", "int8", "uint64", "far", "float", "text", "bytes", "bool", "objects"],
)
def test_levels_are_those_of_unique_however_many_there_are(make, n, k):
    values = make(np.random.default_rng(n + k).integers(0, k, n))
    levels, codes = read_levels({"s": values}, "error")
    expected, positions = np.unique(values, return_inverse=True)
    assert levels == [expected.tolist()]
    assert [type(value) for value in levels[0]] == [type(value) for value in expected.tolist()]
    assert np.array_equal(codes[:, 0], positions)


def test_levels_of_objects_with_several_kinds_of_missing_values():
    values = np.array(["b", None, float("nan"), "a", pd.NA, np.nan, pd.NaT, "b"], dtype=object)
    levels, codes = read_levels({"s": values}, "group")
    assert levels == [["a", "b"]]
    assert codes[:, 0].tolist() == [1, -1, -1, 0, -1, -1, -1, 1]


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_texts_that_were_chosen_to_collide_are_told_apart(order):
    """The keys of these texts are equal whichever letters they are computed from."""
    factor, start, last = 0x9E3779B97F4A7C15, 0x4141414141414141, 0x4242424242424241
    far = (start + factor) % 2**64
    words = np.array(
        [[far, last], [start, last + 1], [far, last + 1], [start, last]], dtype=np.uint64
    )
    texts = np.ascontiguousarray(words[:, order]).view("S16").ravel()
    values = texts[np.random.default_rng(0).integers(0, 4, 5000)]
    levels, codes = read_levels({"s": values}, "error")
    assert levels == [np.unique(texts).tolist()]
    assert np.array_equal(np.array(levels[0])[codes[:, 0]], values)
