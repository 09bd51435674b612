"""Comparing methods on a table."""

from __future__ import annotations

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from meanparity import ParityWarning
from meanparity.baselines import Method
from meanparity.metrics import mean_parity_gap
from meanparity.tables import Roles, compare_methods, comparing
from meanparity.tables.encoding import EncodedTable
from tests.tables.test_kinds import coded


class Loud(LinearRegression):
    def fit(self, X, y):
        warnings.warn("did not converge", ConvergenceWarning, stacklevel=1)
        return super().fit(X, y)


def test_warnings_of_a_method_have_its_name(monkeypatch):
    monkeypatch.setattr(comparing, "METHODS", {"Loud": Method("Loud", "OLS", Loud, None)})
    frame, roles = coded(), Roles("y", ("sex",))
    with pytest.warns(ParityWarning, match="Loud: did not converge"):
        results, curve = compare_methods(frame, roles, setting="linear")
    assert results["method"].tolist() == [
        *(f"meanparity, {what}" for what in ("unfairness 0", "unfairness 1", "untuned")),
        "Loud",
    ]
    train = EncodedTable.from_frame(frame, roles, test_size=0.2, seed=0).train
    X = train.X.astype(float)  # as exact as the other methods, although the encoder is not
    predicted = LinearRegression().fit(X, train.y).predict(X)
    gap = mean_parity_gap(None, predicted, **train.metadata)
    assert results["sum of gaps, training"].iloc[-1] == pytest.approx(gap)
    assert curve.smd[0] == pytest.approx(results["sum of gaps, test"][0])


def test_errors_on_held_out_rows(monkeypatch):
    monkeypatch.setattr(comparing, "METHODS", {"OLS": Method("OLS", "OLS", LinearRegression, None)})
    frame, roles = coded(noise=2.0), Roles("y", ("sex",))
    results, _ = compare_methods(frame, roles, setting="linear")
    table = EncodedTable.from_frame(frame, roles, test_size=0.2, seed=0)
    model = LinearRegression().fit(table.train.X.astype(float), table.train.y)
    X, y = table.test.X.astype(float), table.test.y
    assert results["test MSE"].iloc[-1] == pytest.approx(((y - model.predict(X)) ** 2).mean())
    assert results["test R²"].iloc[-1] == pytest.approx(model.score(X, y))


def test_empty_groups_are_refused_without_options_that_compare_does_not_have():
    frame = coded()
    frame["sex"] = frame["sex"].astype(object)
    frame.loc[3, "sex"] = None
    with pytest.raises(
        ValueError, match=r"1 empty cell .* in row 4\. Fill them, or leave"
    ) as refused:
        compare_methods(frame, Roles("y", ("sex",)))
    assert "--missing" not in str(refused.value)
