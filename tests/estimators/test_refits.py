"""A fit replaces an earlier one as a whole, or leaves it as it was."""

from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from pathlib import Path

import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from meanparity import LBFGS, ParityKernelRegressor
from meanparity.linalg import parallel
from tests.persistence.models import MODELS, OF_SKLEARN, N, S, X, Y, fit

OURS = [name for name in MODELS if name not in OF_SKLEARN]
BATCHES = "ridge, batches"
# where a fit gives the BLAS its threads back, which cannot be refused
AFTERWARDS = [str(Path(module.__file__)) for module in (parallel, contextlib, threading)]

pytestmark = [
    pytest.mark.filterwarnings("ignore::meanparity.exceptions.ParityWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def fitted_attributes(model):
    parameters = model.get_params(deep=False)
    return {name: value for name, value in vars(model).items() if name not in parameters}


@pytest.mark.parametrize("name", OURS)
def test_a_fit_stores_everything_at_once(name):
    """From the first attribute that changes on, nothing is called any more that could refuse."""
    model = fit(name)
    for attribute in fitted_attributes(model):
        if not (name == BATCHES and attribute == "statistics_"):
            setattr(model, attribute, object())
    before, calls = dict(vars(model)), []

    def watch(frame, event, argument):
        code = frame.f_code
        called = event == "call" and code.co_name[0] != "<" and code.co_filename not in AFTERWARDS
        same = vars(model).keys() == before.keys()
        if called and not (same and all(vars(model)[n] is v for n, v in before.items())):
            calls.append(code.co_name)

    profiler = sys.getprofile()
    sys.setprofile(watch)
    try:
        if name == BATCHES:
            model.partial_fit(X, Y, sensitive_features=S)
        else:
            fit(name, model)
    finally:
        sys.setprofile(profiler)
    assert calls == []
    assert not [n for n, v in fitted_attributes(model).items() if v is before.get(n)]


@pytest.mark.parametrize("name", OURS)
def test_a_refused_fit_leaves_the_model_as_it_was(name):
    model = fit(name)
    before = dict(vars(model))
    other = pd.DataFrame({"p": X["a"], "q": X["b"]})[: N - 20]
    with pytest.raises(ValueError, match=r"[.]"):
        model.fit(other, Y[: N - 20], sensitive_features=S[: N - 20][:1].repeat(N - 20))
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[n] is value for n, value in before.items())


def test_a_fit_whose_warning_is_an_error_leaves_the_model_as_it_was():
    model = ParityKernelRegressor(loss="huber", solver=LBFGS(max_iter=1))
    model.fit(X, Y, sensitive_features=S)
    before = dict(vars(model))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises(ConvergenceWarning, match="in 1 steps of lbfgs"):
            model.fit(X, Y + 1, sensitive_features=S)
    assert all(vars(model)[n] is value for n, value in before.items())
