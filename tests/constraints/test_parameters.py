"""How options of constraints are passed."""

from __future__ import annotations

import inspect

import pytest

from meanparity import constraints

POSITIONAL = {
    "CovarianceParity": ["kernel"],
    "LinearParity": ["weights", "targets", "labels"],
    "MeanParity": [],
    "ResidualParity": [],
}


def test_every_constraint_of_the_package_is_here():
    found = {
        name for name in constraints.__all__ if hasattr(getattr(constraints, name), "functionals")
    }
    assert found - {"Constraint"} == set(POSITIONAL)


@pytest.mark.parametrize("name", POSITIONAL)
def test_options_are_passed_by_their_names(name):
    parameters = inspect.signature(getattr(constraints, name)).parameters.values()
    named = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    assert named == POSITIONAL[name]
