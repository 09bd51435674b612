"""Scoring with models that no fit made: nothing is predicted that is not a number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from meanparity.persistence import read, save
from meanparity.tables import Roles, fit_table, score_file


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scoring")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.choice(["F", "M"], 60), "x": rng.normal(size=60)})
    frame["pay"] = frame["x"] + rng.normal(size=60)
    fitted = fit_table(frame, Roles("pay", ("sex",)), model="linear")
    save(fitted.pipeline, folder / "m.meanparity", about=fitted.about())
    frame.to_csv(folder / "new.csv", index=False)
    return folder


@pytest.mark.parametrize("unfairness", [None, 0.5])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_predictions_that_are_not_finite_are_refused(unfairness, value, folder):
    saved = read(folder / "m.meanparity")
    estimator = saved.model[-1]
    function = estimator._function if unfairness is None else estimator.tradeoff_.solution.fair
    function.coef[:] = value
    with pytest.raises(ValueError, match=r"row 1 of new\.csv is not a finite number\. The numbers"):
        score_file(saved, folder / "new.csv", folder / "out.csv", unfairness=unfairness)
    assert not (folder / "out.csv").exists()


def test_a_row_whose_prediction_overflows_is_named(folder):
    saved = read(folder / "m.meanparity")
    frame = pd.read_csv(folder / "new.csv")
    frame.loc[7, "x"] = 1e6
    frame.to_csv(folder / "large.csv", index=False)
    saved.model[-1]._function.coef[:] = 1e304
    with pytest.raises(ValueError, match=r"row 8 of large\.csv is not a finite number"):
        score_file(saved, folder / "large.csv", folder / "out.csv")


@pytest.mark.parametrize(
    "change", [{"kinds": 3}, {"sensitive": 5}, {"categories": [1]}, {"unfairness": []}]
)
def test_notes_that_no_fit_wrote_are_refused_in_words(change, folder):
    saved = read(folder / "m.meanparity")
    saved = replace(saved, about=saved.about | change)
    with pytest.raises(ValueError, match=r"parts do not fit together \(.*Error: .*\)\. Fit the"):
        score_file(saved, folder / "new.csv", folder / "out.csv")


def test_an_encoding_that_no_fit_wrote_is_refused_in_words(folder):
    saved = read(folder / "m.meanparity")
    saved.model[-1]._function = None
    with pytest.raises(ValueError, match=r"parts do not fit together \(AttributeError: "):
        score_file(saved, folder / "new.csv", folder / "out.csv")
