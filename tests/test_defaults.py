"""The defaults that docstrings tell are those of the code."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re

import pytest

import meanparity

PARTS = sorted(info.name for info in pkgutil.iter_modules(meanparity.__path__))
TOLD = re.compile(r"^ *(?P<names>\w+(?:, \w+)*) : .*?\bdefault=(?P<value>.+?)\s*$", re.MULTILINE)


def documented(part):
    """Every function, method and class of a part of the package that tells defaults."""
    package = importlib.import_module(f"meanparity.{part}")
    found = pkgutil.walk_packages(getattr(package, "__path__", []), f"{package.__name__}.")
    for name in [package.__name__, *(info.name for info in found)]:
        module = importlib.import_module(name)
        for owner in vars(module).values():
            if getattr(owner, "__module__", None) != name:
                continue
            members = [owner, *vars(owner).values()] if inspect.isclass(owner) else [owner]
            for member in members:
                function = getattr(member, "__func__", member)
                if callable(function) and "default=" in (function.__doc__ or ""):
                    yield function


def read(text):
    """A default as it is written, such as ``10``, ``"auto"`` or ``inf``."""
    return float("inf") if text == "inf" else ast.literal_eval(text)


@pytest.mark.parametrize("part", PARTS)
def test_defaults_are_those_of_the_docstrings(part):
    for function in documented(part):
        told = {
            name: read(match["value"])
            for match in TOLD.finditer(inspect.getdoc(function))
            for name in match["names"].split(", ")
        }
        assert told, function
        parameters = inspect.signature(function).parameters
        assert {name: parameters[name].default for name in told} == told, function
        types = {name: type(value) for name, value in told.items()}
        assert {name: type(parameters[name].default) for name in told} == types, function


def test_there_are_defaults_to_look_at():
    assert len(list(documented("audit"))) >= 2
    assert len(list(documented("estimators"))) >= 6
