"""Rows of a table that are fitted and held out."""

from __future__ import annotations

import numpy as np
import pytest

from meanparity.tables import Roles
from meanparity.tables.encoding import EncodedTable
from tests.tables.test_kinds import coded

ROLES = Roles("y", ("sex",))


def split(frame, test_size=0.25):
    return EncodedTable.from_frame(frame, ROLES, test_size=test_size, seed=0)


def test_ten_rows_are_enough_and_nine_are_not():
    table = split(coded(12).assign(sex=["F", "M"] * 6).iloc[:10])
    assert len(table.train.y) + len(table.test.y) == 10
    with pytest.raises(ValueError, match=r"9 rows have a 'y'.*Pass at least 10 rows"):
        split(coded(12).iloc[:9])


def test_groups_have_equal_shares_in_both_parts_if_all_have_two_rows():
    frame = coded(400)
    frame["sex"] = np.repeat(["F", "M", "X"], [300, 60, 40])
    test = split(frame).test.metadata["sensitive_features"]["sex"]
    assert test.value_counts().to_dict() == {"F": 75, "M": 15, "X": 10}


def test_a_group_of_one_row_does_not_keep_a_table_from_being_split():
    frame = coded(400)
    frame["sex"] = ["X"] + ["F", "M", "F"] * 133
    table = split(frame)
    assert len(table.test.y) == 100


def test_many_small_groups_are_not_split_evenly():
    frame = coded(400)
    frame["sex"] = [f"group {i % 51}" for i in range(400)]  # 50 of 100 held-out rows at most
    assert len(split(frame).test.y) == 100
