"""Reports about rows, from models and from predictions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from meanparity.report import report


@pytest.mark.parametrize("name", ["sensitive_features", "control_features", "sample_weight"])
def test_columns_in_another_order_are_refused_by_name(name):
    rows = pd.Index([3, 1, 2, 0])
    y = pd.Series([1.0, 2.0, 3.0, 4.0], index=rows)
    given = {
        "sensitive_features": pd.Series(["F", "M", "F", "M"], index=rows),
        "control_features": pd.Series(["a", "a", "b", "b"], index=rows),
        "sample_weight": pd.Series(np.ones(4), index=rows),
    }
    report(y, y + 1, **given)
    given[name] = given[name].sort_index()
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        report(y, y + 1, **given)
