"""How columns are read: numbers, categories, strata, missing values, other rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from meanparity.data import Groups, Rows
from meanparity.data.rows import Schema

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("column", "continuous"),
    [
        (np.arange(21), True),
        (np.arange(20), False),
        (np.tile(np.arange(30), 50), True),
        (np.array([0.5, 1.5, 2.5, 2.5, 3.5]), True),
        (np.tile([0.5, 1.5], 5), False),
        (np.array([1.0, 2.0, 3.0]), False),
        (np.array([f"{i}" for i in range(50)]), False),
        (np.arange(50) % 2 == 0, False),
        (pd.Series(pd.Categorical(np.arange(50) % 19)), False),
        (pl.Series(np.arange(50)), True),
        ([None, *range(30)], True),
    ],
    ids=str,
)
def test_numbers_with_many_values_are_recognised(column, continuous):
    rows = Rows.from_columns(column, missing="group")
    assert rows.schema.continuous == (("sensitive",) if continuous else ())
    assert (rows.groups is None) == continuous
    assert Rows.from_columns(column, missing="group", continuous=[]).schema.continuous == ()


def test_infinite_values_are_categories_unless_there_are_many():
    assert Rows.from_columns([1.0, np.inf, 2.0, 1.0, np.inf, 2.0, 1.0]).groups.n_groups == 3
    with pytest.raises(ValueError, match="treated as a number, but holds inf"):
        Rows.from_columns([*range(30), np.inf])


def test_the_choice_can_be_forced():
    columns = {"age": [30, 40, 30], "sex": ["F", "M", "M"]}
    for choice in (["age"], "age", [0], 0, [-2], np.array(["age"])):
        assert Rows.from_columns(columns, continuous=choice).schema.continuous == ("age",)
    for wrong in (["salary"], [2], [True], None, [None]):
        with pytest.raises(ValueError, match=r"continuous holds .* sensitive columns are \['age'"):
            Rows.from_columns(columns, continuous=wrong)
    with pytest.raises(ValueError, match="'sex' is treated as a number, but holds 'F'"):
        Rows.from_columns(columns, continuous=["sex"])
    with pytest.raises(ValueError, match="but holds inf"):
        Rows.from_columns([1.0, np.inf, 2.0], continuous=[0])


def test_cells_and_columns():
    rows = Rows.from_columns(
        {"sex": ["F", "M", "F", None], "age": [30.5, 40.0, np.nan, 30.5]},
        control_features={"grade": ["x", "y", "x", "x"]},
        continuous=["age"],
        missing="group",
    )
    assert rows.n_rows == 4
    assert rows.column("sex").tolist() == ["F", "M", "F", None]
    assert np.array_equal(rows.column("age"), [30.5, 40.0, np.nan, 30.5], equal_nan=True)
    assert rows.column("grade").tolist() == ["x", "y", "x", "x"]
    assert rows.groups.names == ("F", "M", "missing")
    assert [name for name, _ in rows.strata] == ["grade=x", "grade=y"]
    assert "4 rows in 4 cells" in repr(rows)
    assert rows.mass.tolist() == [1.0] * 4


def test_weights_are_relative_and_cells_without_weight_are_in_no_stratum():
    rows = Rows.from_columns(["a", "b", "c"], sample_weight=np.array([2.0, 0.0, 4.0]))
    assert rows.weights.tolist() == [1.0, 0.0, 2.0]
    assert [cells.tolist() for _, cells in rows.strata] == [[0, 2]]


@pytest.mark.parametrize("missing", ["group", "ignore"])
def test_missing_values(missing):
    columns = {"a": ["x", None, "y", "x"], "b": [1, 2, None, 1]}
    groups = Groups.from_columns(columns, missing=missing)
    if missing == "group":
        assert groups.names == ("a=x, b=1", "a=y, b=missing", "a=missing, b=2")
        assert groups.codes.tolist() == [0, 2, 1, 0]
        assert groups.keys[1] == ("y", None)
    else:
        assert groups.names == ("a=x, b=1",)
        assert groups.codes.tolist() == [0, -1, -1, 0]
        assert repr(groups) == "Groups(4 rows; a=x, b=1: 2; in none: 2)"
        assert groups.means(np.array([1.0, 100.0, 100.0, 3.0])).tolist() == [2.0]
    with pytest.raises(ValueError, match=r"missing='drop' is not known\. Pass one of error"):
        Groups.from_columns(columns, missing="drop")


def test_marginal_groups_ignore_what_is_missing_in_their_own_column_only():
    rows = Rows.from_columns(
        {"a": ["x", None, "y"], "b": [1, 2, None]}, missing="ignore", intersectional=False
    )
    a, b = rows.groupings
    assert a.names == ("a=x", "a=y")
    assert b.names == ("b=1", "b=2")
    assert a.codes[rows.codes].tolist() == [0, -1, 1]
    assert b.codes[rows.codes].tolist() == [0, 1, -1]


def test_other_rows_are_read_like_the_first():
    first = Rows.from_columns(
        {"sex": list("FM") * 20, "age": np.arange(40)}, control_features=[1, 2] * 20
    )
    assert first.schema == Schema(("sex", "age"), ("control",), ("age",))
    turned = pd.DataFrame({"age": [30, 31], "sex": ["F", "M"]})
    other = first.schema.read_rows(turned, control_features=[1, 1])
    assert other.groups.names == ("F", "M")
    assert other.column("age").tolist() == [30, 31]
    array = first.schema.read_rows(
        np.array([["F", 3], ["M", 4]], dtype=object), control_features=[1, 1]
    )
    assert array.column("age").tolist() == [3, 4]
    with pytest.raises(ValueError, match=r"has the columns \['sex', 'wage'\], but fit saw"):
        first.schema.read_rows({"sex": ["F"], "wage": [3]}, control_features=[1])
    with pytest.raises(ValueError, match="columns"):
        first.schema.read_rows(["F", "M"], control_features=[1, 1])
    with pytest.raises(ValueError, match="holds at equal control, which is not known"):
        first.schema.read_rows(turned)
    with pytest.raises(ValueError, match="'age' is treated as a number, but holds 'old'"):
        first.schema.read_rows({"sex": ["F"], "age": ["old"]}, control_features=[1])
    with pytest.raises(ValueError, match="fit had none"):
        Rows.from_columns(["a", "b"]).schema.read_rows(["a"], control_features=[1])


def test_a_column_cannot_be_sensitive_and_a_control():
    with pytest.raises(ValueError, match="'sex' is both sensitive and a control"):
        Rows.from_columns({"sex": ["F", "M"]}, control_features={"sex": ["F", "M"]})


def test_control_columns_have_errors_of_their_own():
    with pytest.raises(ValueError, match="control_features has 3 rows, but the data have 2"):
        Rows.from_columns(["a", "b"], control_features=[1, 2, 3], n_rows=2)
    with pytest.raises(ValueError, match="Column 'control' has 1 missing value"):
        Rows.from_columns(["a", "b"], control_features=[1, None])


def test_a_subset_of_rows_is_as_if_there_were_no_others():
    columns = {"sex": ["F", "M", "F", None, "M"], "age": [31, 45, 28, 60, 45]}
    weights, y = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.arange(5.0)[:, None]
    rows = Rows.from_columns(
        columns, continuous=["age"], missing="group", sample_weight=weights, y=y
    )
    keep = np.array([True, False, True, True, False])
    subset = rows.subset(keep)
    kept = {name: np.array(values, dtype=object)[keep] for name, values in columns.items()}
    alone = Rows.from_columns(
        kept,
        continuous=["age"], missing="group", sample_weight=weights[keep], y=y[keep],
    )  # fmt: skip
    assert subset.levels == alone.levels
    assert np.array_equal(subset.cells[subset.codes], alone.cells[alone.codes])
    assert np.allclose(subset.weights, alone.weights)
    assert np.array_equal(subset.y, alone.y)
    assert subset.groups.labels == alone.groups.labels
