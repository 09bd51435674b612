"""What model files say about the groups of a fit."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from meanparity.exceptions import ParityWarning
from meanparity.tables.known_groups import KnownGroups, Outside


def test_descriptions_are_read_back():
    frame = pd.DataFrame({"sex": ["F", "M", None], "age": [30, 40, 50]})
    known = KnownGroups.from_rows([frame], ["age"], "ignore")
    assert KnownGroups.from_about({"groups": known.as_dict()}) == known


@pytest.mark.parametrize("damaged", [{"columns": [], "seen": []}, ["sex"], "sex"])
def test_damaged_descriptions_are_refused(damaged):
    with pytest.raises(ValueError, match="says about groups is damaged"):
        KnownGroups.from_about({"groups": damaged})


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (Outside(empty=1, first="row 3"), "1 row with an empty sensitive or control cell (row 3)"),
        (Outside(unseen=2, first="row 3"), "2 rows in a group that no row of the fit was in"),
    ],
)
def test_either_kind_of_rows_outside_is_refused_and_noted(rows, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        rows.refuse("new.csv")
    with pytest.warns(ParityWarning, match=re.escape(said)):
        rows.note("new.csv")


def test_without_such_rows_nothing_is_said(recwarn):
    Outside().refuse("new.csv")
    Outside().note("new.csv")
    assert not recwarn
