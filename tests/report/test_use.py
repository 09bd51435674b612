"""Whether features contain the sensitive columns, by name or by value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from meanparity.data.rows import Schema
from meanparity.report.statements import GroupUse
from meanparity.report.use import use_of

RNG = np.random.default_rng(0)
AGE, OTHER = RNG.integers(20, 65, 200).astype(float), RNG.standard_normal(200)
NUMBER = Schema(("age",), continuous=("age",))


def use(*columns, names=(), schema=NUMBER, people=AGE, rows=None):
    people = pd.DataFrame({schema.sensitive[0]: people})
    return use_of(np.column_stack(columns), names, schema, people, rows)


def test_a_number_is_found_in_any_unit_and_direction():
    assert use(OTHER, AGE) == GroupUse(encoded=("age",))
    assert use(OTHER, (AGE - 40) / 12) == GroupUse(encoded=("age",))
    assert use(OTHER, 2026 - AGE) == GroupUse(encoded=("age",))


@pytest.mark.parametrize("column", [OTHER, AGE**2, AGE + 0.01 * OTHER, np.ones(200)])
def test_what_is_not_a_linear_function_of_a_number_is_not_the_number(column):
    assert use(OTHER, column) == GroupUse(left_out=("age",))


def test_numbers_that_are_missing_or_all_alike_tell_nothing():
    gaps = np.where(np.arange(200) % 3, AGE, np.nan)
    ignored = Schema(("age",), continuous=("age",), missing="ignore")
    assert use(AGE, schema=ignored, people=gaps) == GroupUse(encoded=("age",))
    assert use(OTHER, people=np.full(200, 30.0)) == GroupUse(left_out=("age",))
    few = np.array([1.0, 2.0])
    assert use(few, people=few) == GroupUse(left_out=("age",))
    three = np.array([1.0, 2.0, 4.0])
    assert use(three, people=three) == GroupUse(encoded=("age",))


def test_a_category_is_found_by_its_name_or_by_a_value_for_each_group():
    schema = Schema(("sex",))
    sex = np.where(RNG.random(200) < 0.4, "F", "M")
    code = np.where(sex == "F", 3.0, -1.0)
    assert use(OTHER, names=["sex"], schema=schema, people=sex) == GroupUse(features=("sex",))
    assert use(OTHER, code, schema=schema, people=sex) == GroupUse(encoded=("sex",))
    assert use(OTHER, schema=schema, people=sex) == GroupUse(left_out=("sex",))
    code[7] += 1e-9
    assert use(OTHER, code, schema=schema, people=sex) == GroupUse(left_out=("sex",))


def test_some_rows_are_taken_by_their_places():
    rows = np.arange(0, 200, 2)
    assert use(AGE[rows], rows=rows) == GroupUse(encoded=("age",))
    assert use(AGE[rows + 1], rows=rows) == GroupUse(left_out=("age",))
