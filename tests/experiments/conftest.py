"""Small experiments that need no file."""

from __future__ import annotations

import pytest

from meanparity.experiments.declaration import Claim, Entry, Experiment, Verdict
from meanparity.experiments.measures import scores


def below(rows):
    ours, ols = (rows[rows.method == name].smd_train.mean() for name in ("Ours", "OLS"))
    return Verdict(bool(ours < ols), f"{ours:.0e} < {ols:.3f}")


def small(**changes):
    """An experiment on synthetic data with two methods and three trials."""
    fields = {
        "name": "fig:small",
        "paper": "fig::small",
        "title": "Small",
        "datasets": ("synthetic",),
        "entries": (Entry("OLS", "OLS"), Entry("Ours", "Ours")),
        "measure": scores,
        "metrics": ("mse", "smd"),
        "figure": "boxes",
        "claims": (Claim("Ours has less.", below),),
        "trials": 3,
    }
    return Experiment(**{**fields, **changes})


@pytest.fixture
def experiment():
    return small()


@pytest.fixture
def bundled_only(monkeypatch, tmp_path):
    """A machine without the paper's files and without a network."""
    monkeypatch.delenv("MEANPARITY_DATA", raising=False)
    monkeypatch.setattr("meanparity.datasets._fetched.ADDRESS", "http://127.0.0.1:9/")
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "empty")
