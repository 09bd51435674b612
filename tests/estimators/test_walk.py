"""How many calls and files a fit takes: its way is meant to be followed by a reader."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import meanparity
from meanparity import ParityKernelRidge, ParityRidge, baselines, estimators

PACKAGE = str(Path(meanparity.__file__).parent)


def walk(call):
    """The files of the package that a call enters, one for each call of a named function."""
    files = []

    def enter(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_name[0] != "<":
            files.append(code.co_filename)

    before = sys.getprofile()
    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(before)
    return files


@pytest.mark.parametrize(
    ("model", "method", "most"),
    [
        (ParityKernelRidge(kernel="rbf"), "fit", (25, 250, 90)),
        (ParityRidge(), "fit", (26, 200, 85)),
        (ParityKernelRidge(kernel="rbf"), "predict", (6, 30, 10)),
    ],
    ids=["kernel fit", "linear fit", "predict"],
)
def test_the_way_of_a_fit_is_short(model, method, most):
    """Numbers of files, of calls, and of steps from one file to another."""
    rng = np.random.default_rng(0)
    X, s, y = rng.normal(size=(150, 4)), rng.integers(0, 3, 150), rng.normal(size=150)

    def fit():
        model.fit(X, y, sensitive_features=s)

    fit()  # imports and caches are not part of the way
    files = walk(fit if method == "fit" else lambda: model.predict(X))
    steps = sum(a != b for a, b in pairwise(files))
    found = len(set(files)), len(files), steps
    assert all(a <= b for a, b in zip(found, most, strict=True)), found


@pytest.mark.parametrize(
    "cls",
    [
        getattr(home, name)
        for home in (baselines, estimators)
        for name in home.__all__
        if hasattr(getattr(home, name), "get_params")
    ],
)
def test_the_parameters_of_an_estimator_are_few(cls):
    """What belongs to the constraint or to the solver is a parameter of those."""
    assert len(cls._get_param_names()) <= 15
