"""Reports about rows, from models and from predictions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from meanparity.audit import audit
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


def test_numbers_that_ignore_strata_compare_the_groups_of_all_strata():
    rng = np.random.default_rng(0)
    grade, sex = rng.choice(["g1", "g2", "g3"], 300), rng.choice(["F", "M"], 300)
    predicted = 10.0 * (grade == "g2") + 50.0 * (grade == "g3") + rng.standard_normal(300)
    keep = (grade != "g1") | (sex != "F")  # a stratum without one of the groups
    grade, sex, predicted = grade[keep], sex[keep], predicted[keep]
    found = report(None, predicted, sex, control_features=grade).summaries[0].after
    alone = audit(predicted, sensitive_features=sex)
    assert found.wasserstein == pytest.approx(alone.wasserstein, rel=1e-12)
    assert found.r_squared == pytest.approx(alone.r_squared, rel=1e-12)
    assert found.quantile_gap == alone.quantile_gap
    within = audit(predicted, sensitive_features=sex, control_features=grade)
    for mine, theirs in zip(found.findings, within.findings, strict=True):
        assert (mine.group, mine.mean) == (theirs.group, pytest.approx(theirs.mean, rel=1e-12))
