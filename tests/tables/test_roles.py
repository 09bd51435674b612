"""Roles of columns: what is said about columns that are not there."""

from __future__ import annotations

import pandas as pd
import pytest

from meanparity.tables import Roles


@pytest.mark.parametrize(("n", "end"), [(20, "."), (21, ", ...")])
def test_twenty_columns_are_listed_at_most(n, end):
    names = [f"column{i}" for i in range(n)]
    frame = pd.DataFrame({name: [1.0] for name in names})
    with pytest.raises(ValueError, match="has no column 'sex'") as error:
        Roles("pay", ("sex",)).check(frame, "The table")
    listed = ", ".join(names[:20])
    assert str(error.value).endswith(f"Its columns are: {listed}{end}")


def test_a_target_of_two_words_is_refused_with_numbers_for_them():
    frame = pd.DataFrame({"sex": ["F", "M"] * 20, "x": range(40), "y": ["yes", "no"] * 20})
    with pytest.raises(ValueError, match=r"has 'yes' in row 1.* \(0 for 'no' and 1 for 'yes'\)\."):
        Roles("y", ("sex",)).numbers(frame, "y")
    frame.loc[0, "y"] = "perhaps"
    with pytest.raises(ValueError, match=r"convert this one to numbers\."):
        Roles("y", ("sex",)).numbers(frame, "y")
