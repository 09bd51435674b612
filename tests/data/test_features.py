"""The columns of X, and the sensitive ones among them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.dummy import DummyRegressor

from meanparity import ParityRidge
from meanparity.data.features import FeatureLayout
from meanparity.metrics import parity_scorer

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({1: RNG.integers(0, 2, 60), "1": RNG.integers(0, 3, 60), 2: RNG.random(60)})


def test_columns_with_the_same_name_as_text_are_both_read_or_refused():
    """The columns 1 and "1" of a frame: neither takes the place of the other."""
    y = FRAME[2].to_numpy()
    model = ParityRidge(sensitive_columns=[0, 1], drop_sensitive=True)
    refused = pytest.raises(ValueError, match="has the columns 1 and '1', which are both named '1'")
    for read in (model.fit, model.statistics, model.partial_fit):
        with refused:
            read(FRAME, y)
    fitted = DummyRegressor().fit(FRAME.to_numpy(), y)
    with refused:
        parity_scorer("max_mean_gap", sensitive_columns=[0, 1])(fitted, FRAME, y)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_sensitive_columns_of_frames_keep_their_names(kind):
    frame = kind({"sex": ["F", "M"], "pay": [1.0, 2.0], "race": ["x", "y"]})
    layout = FeatureLayout.from_table(frame, ["race", 0], drop_sensitive=True)
    values = layout.sensitive_values(frame)
    assert {name: list(column) for name, column in values.items()} == {
        "race": ["x", "y"],
        "sex": ["F", "M"],
    }
    assert layout.feature_names == ("pay",)
    assert layout.read(frame).tolist() == [[1.0], [2.0]]


def test_sensitive_columns_of_arrays_are_named_by_position():
    layout = FeatureLayout.from_table([[1, "F"], [2, "M"]], -1, drop_sensitive=True)
    values = layout.sensitive_values([[1, "F"], [2, "M"]])
    assert {name: list(column) for name, column in values.items()} == {"column 1": ["F", "M"]}
