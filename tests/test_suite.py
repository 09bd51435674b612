"""The suite itself: every test can fail because of what it looks at."""

from __future__ import annotations

import ast
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "tests").rglob("test_*.py"))
FAILS = {"raises", "warns", "fail"}  # of pytest


class Module:
    """The functions of a file of tests, and which of them can fail.

    A function can fail if it holds an ``assert`` of something that is not a constant, uses
    ``pytest.raises``, ``pytest.warns`` or ``pytest.fail``, calls a function named ``assert...`` or
    ``check...`` of another package, or calls one of the suite's functions that can fail.
    """

    def __init__(self, path: Path) -> None:
        self.tree = ast.parse(path.read_text("utf-8"))

    @classmethod
    def named(cls, name: str) -> Module | None:
        path = ROOT / Path(*name.split("."))
        for candidate in (path.with_suffix(".py"), path / "__init__.py"):
            if candidate.exists():
                return cls(candidate)
        return None

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        """All functions and methods by name."""
        return {n.name: n for n in ast.walk(self.tree) if isinstance(n, ast.FunctionDef)}

    @cached_property
    def imported(self) -> dict[str, tuple[str, str]]:
        """Names imported from the suite, with the module and the name there."""
        found = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests"):
                for alias in node.names:
                    found[alias.asname or alias.name] = (node.module or "", alias.name)
        return found

    def can_fail(self, function: ast.FunctionDef, above: tuple[str, ...] = ()) -> bool:
        for node in ast.walk(function):
            if isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant | ast.Tuple):
                return True
            if isinstance(node, ast.Call) and self._call_can_fail(node, (*above, function.name)):
                return True
        return False

    def _call_can_fail(self, call: ast.Call, above: tuple[str, ...]) -> bool:
        owner, name = None, ""
        if isinstance(call.func, ast.Name):
            name = call.func.id
        elif isinstance(call.func, ast.Attribute):
            owner, name = call.func.value, call.func.attr
        if isinstance(owner, ast.Name) and owner.id == "pytest":
            return name in FAILS
        if owner is None or (isinstance(owner, ast.Name) and owner.id == "self"):
            if name in self.functions:
                return name not in above and self.can_fail(self.functions[name], above)
            if name in self.imported:
                module, other = self.imported[name]
                found = Module.named(module)
                if found is None or other not in found.functions:
                    return False
                return found.can_fail(found.functions[other])
        return name.startswith(("assert", "check"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT / "tests")))
def test_every_test_can_fail(path):
    module = Module(path)
    defined = (node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef))
    tests = [function for function in defined if function.name.startswith("test")]
    assert tests
    assert [f"{f.name} (line {f.lineno})" for f in tests if not module.can_fail(f)] == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def test(): f()", False),
        ("def test(): assert True", False),
        ("def test(): assert (f(), 'always true')", False),
        ("def test(): assert f()", True),
        ("def test():\n  with pytest.raises(ValueError): f()", True),
        ("def test(): np.testing.assert_allclose(f(), 1)", True),
        ("def test(estimator, check): check(estimator)", True),
        ("def check(x): f(x)\ndef test(): check(1)", False),
        ("def same(x): assert x\ndef test(): same(1)", True),
        ("def test(): test()", False),
        ("from tests.test_suite import test_every_test_can_fail as t\ndef test(): t(1)", True),
    ],
)
def test_what_counts_as_a_test_that_can_fail(source, expected, tmp_path):
    (tmp_path / "module.py").write_text(source)
    module = Module(tmp_path / "module.py")
    assert module.can_fail(module.functions["test"]) == expected
