"""Small experiments that need no data file."""

from __future__ import annotations

import pytest

from reproduction.declaration import Claim, Entry, Experiment, Verdict
from reproduction.measures import scores


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
