"""Columns with indexes are taken in one order, or refused: in metrics, audits and displays."""

from __future__ import annotations

import inspect

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest

from meanparity import ParityKernelRegressor, ParityRidge, audit, metrics
from meanparity.displays import AuditDisplay, GroupDistributionDisplay, TradeoffDisplay

N = 80
_RNG = np.random.default_rng(0)
INDEX = pd.Index([f"p{i}" for i in range(N)])
Y_PRED = pd.Series(_RNG.normal(size=N), INDEX)
Y_TRUE = Y_PRED + pd.Series(_RNG.normal(size=N), INDEX)
LABELS = (Y_PRED > 0).astype(int)
GROUPS = pd.Series(np.tile(["a", "b"], N // 2), INDEX, name="s")
STRATA = pd.Series(np.repeat(["x", "y"], N // 2), INDEX, name="c")
WEIGHTS = pd.Series(np.ones(N), INDEX)
X = pd.DataFrame({"x": Y_PRED, "z": Y_TRUE})
COLUMNS = {
    "y_true": Y_TRUE,
    "y_pred": Y_PRED,
    "sensitive_features": GROUPS,
    "control_features": STRATA,
    "sample_weight": WEIGHTS,
}
OF_LABELS = ("selection_rates", "selection_rate_difference", "selection_rate_ratio")
METRICS = [
    getattr(metrics, name)
    for name in metrics.__all__
    if "sensitive_features" in inspect.signature(getattr(metrics, name)).parameters
]
AUDITS = [audit.audit, audit.audit_errors, audit.audit_calibration]
OTHERS = [AuditDisplay.from_predictions, TradeoffDisplay.from_predictions]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def columns_of(function):
    names = inspect.signature(function).parameters
    found = {name: column for name, column in COLUMNS.items() if name in names}
    if function.__name__ in OF_LABELS:
        found["y_pred"] = LABELS
    if function == TradeoffDisplay.from_predictions:
        found |= {"y_fair": Y_PRED, "y_free": Y_PRED}
    if function is audit.audit_errors:
        found |= {"control_features": STRATA, "sample_weight": WEIGHTS}
    return found


def shuffled(values):
    return values.sample(frac=1, random_state=1)


def everything(functions):
    for function in functions:
        for name in columns_of(function):
            yield pytest.param(function, name, id=f"{function.__qualname__}-{name}")


@pytest.mark.filterwarnings("ignore:Parity costs")
@pytest.mark.parametrize(("function", "name"), list(everything([*METRICS, *AUDITS, *OTHERS])))
def test_columns_in_another_order_are_refused(function, name):
    columns = columns_of(function)
    function(**columns)  # one order
    for kind in (np.asarray, pl.Series):  # without an index
        function(**columns | {name: kind(columns[name].to_numpy())})
    wrong = columns | {name: shuffled(columns[name])}
    with pytest.raises(ValueError, match=r"has another index than \w+: row 0 is labelled 'p") as e:
        function(**wrong)
    assert "rows are matched by position" in str(e.value)
    default = columns | {name: columns[name].reset_index(drop=True)}  # says nothing
    function(**default)


@pytest.mark.parametrize("name", ["sensitive_features", "sample_weight"])
def test_columns_are_compared_with_each_other_if_predictions_have_no_index(name):
    columns = columns_of(metrics.mean_parity_gap) | {"y_pred": Y_PRED.to_numpy()}
    with pytest.raises(ValueError, match="has another index than"):
        metrics.mean_parity_gap(**columns | {name: shuffled(columns[name])})


def test_rows_of_everything_else_are_compared_as_well():
    model = ParityRidge().fit(X, Y_TRUE, sensitive_features=GROUPS)
    other = ParityKernelRegressor(loss="huber").fit(X, Y_TRUE, sensitive_features=GROUPS)
    wrong, tradeoff = shuffled(GROUPS), model.tradeoff_
    calls = [
        lambda s: audit.proxies(X, sensitive_features=s),
        lambda s: audit.parity_certificate(model, X, s, unseen=True),
        lambda s: audit.AuditStream(["a", "b"]).update(Y_PRED, s),
        lambda s: GroupDistributionDisplay(Y_TRUE, Y_PRED, sensitive_features=s),
        lambda s: tradeoff.curve(X, Y_TRUE, s),
        lambda s: other.tradeoff_.curve(X, Y_TRUE, s),
        lambda s: tradeoff.measure(tradeoff.at(0.0), X, Y_TRUE, s),
        lambda s: (
            ParityRidge()
            .partial_fit(X, Y_TRUE, sensitive_features=GROUPS)
            .partial_fit(X, Y_TRUE, sensitive_features=s)
        ),
        lambda s: ParityRidge().fit(X.to_numpy(), Y_TRUE, sensitive_features=s),
    ]
    for call in calls:
        call(GROUPS)
        with pytest.raises(ValueError, match="sensitive_features has another index than"):
            call(wrong)
