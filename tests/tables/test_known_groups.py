"""What model files say about the groups of a fit."""

from __future__ import annotations

import pandas as pd
import pytest

from meanparity.tables.known_groups import KnownGroups


def test_descriptions_are_read_back():
    frame = pd.DataFrame({"sex": ["F", "M", None], "age": [30, 40, 50]})
    known = KnownGroups.from_rows([frame], ["age"], "ignore")
    assert KnownGroups.from_about({"groups": known.as_dict()}) == known


@pytest.mark.parametrize("damaged", [{"columns": [], "seen": []}, ["sex"], "sex"])
def test_damaged_descriptions_are_refused(damaged):
    with pytest.raises(ValueError, match="says about groups is damaged"):
        KnownGroups.from_about({"groups": damaged})
