"""Columns may have any name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from meanparity.tables import Roles, fit_table, read_frame, write_frame


@pytest.mark.parametrize("renamed", ["sex", "hours", "job", "pay"])
def test_a_column_may_be_named_like_an_argument(renamed, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.choice(["F", "M"], 80), "job": rng.choice(["p", "q"], 80)})
    frame["hours"] = rng.normal(38, 4, 80)
    frame["pay"] = frame["hours"] + (frame["sex"] == "M")
    names = {name: "self" if name == renamed else name for name in frame}
    roles = Roles(names["pay"], (names["sex"],))
    plain = fit_table(frame, Roles("pay", ("sex",)), model="linear")
    fitted = fit_table(frame.rename(columns=names), roles, model="linear")
    assert np.array_equal(fitted.row_sets[0].fair, plain.row_sets[0].fair)
    write_frame(frame.rename(columns=names), tmp_path / "people.csv")
    assert list(read_frame(tmp_path / "people.csv").columns) == list(names.values())
