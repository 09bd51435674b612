"""The tool that changes the package in small ways: what it changes, and what it leaves alone."""

from __future__ import annotations

import ast

import pytest

from tools.mutants.mutations import mutants, mutate
from tools.mutants.rooms import (
    DEFAULT_ROOMS,
    PACKAGE,
    ROOT,
    Equivalents,
    all_mutants,
    existing_rooms,
)


def changes(source):
    return [(mutant.before, mutant.after) for mutant in mutants(source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", [("a < b", "a <= b"), ("a < b", "a >= b")]),
        ("a == b", [("a == b", "a != b")]),
        ("a is not b", [("a is not b", "a is b")]),
        ("a + b", [("a + b", "a - b")]),
        ("a ** b", [("a ** b", "a * b")]),
        ("a += b", [("a += b", "a -= b")]),
        ("a and b", [("a and b", "a or b")]),
        ("not a", [("not a", "a")]),
        ("-a", [("-a", "a")]),
        ("f(3)", [("3", "4"), ("3", "2")]),
        ("f(0.5)", [("0.5", "1.0"), ("0.5", "0.25")]),
        ("f(1e-9)", [("1e-09", "1.000000001")]),
        ("f(True)", [("True", "False")]),
        ("min(a)", [("min(a)", "max(a)")]),
        ("np.minimum(a, b)", [("np.minimum(a, b)", "np.maximum(a, b)")]),
        ("a.mean()", [("a.mean()", "a.sum()")]),
        ("np.sqrt(a)", [("np.sqrt(a)", "a")]),
        ("f'{a:.4g} rows'", [("f'.4g'", "f'.5g'")]),
        ("f'{a + b} rows'", [("a + b", "a - b")]),
        ("f(side='right')", [("'right'", "'x_right'")]),
        ("a['right']", [("'right'", "'x_right'")]),
        ("def f(): return a", [("a", "None")]),
        ("def f(a=3): pass", [("3", "4"), ("3", "2")]),
        ("if a: pass", [("a", "not a")]),
        ("[a for a in b if a]", [("a", "not a")]),
        ("while a: break", [("a", "not a"), ("break", "continue")]),
    ],
)
def test_what_is_changed(source, expected):
    assert changes(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""Two words."""',
        "'one' + word",
        "a: Literal['one', 2] = b",
        "def f(a: 'int' = b) -> Literal[2]: 'Text.'",
        "raise ValueError(f'{a + 1} rows of {n:.3g}')",
        "warn(f'{a + 1} rows')",
        "warnings.warn('text', stacklevel=2)",
        "_LOG.info('%d', a + 1)",
        "__all__ = ['a', 'b']",
        "@dataclass(frozen=True)\nclass A: pass",
        "zip(a, b, strict=True)",
        "if TYPE_CHECKING: a = 1",
        "f('some words')",
        "isinstance(a, list | tuple)",
        "names = ['x'] + names",
    ],
)
def test_what_is_left_alone(source):
    assert changes(source) == []


def test_a_mutant_changes_one_place():
    source = "def f(a):\n    # why\n    b = a + 1\n    return b * 2 + 1\n"
    found = mutants(source)
    texts = {mutate(source, mutant.index) for mutant in found}
    assert len(texts) == len(found)
    assert ast.unparse(ast.parse(source)) not in texts
    first = next(mutant for mutant in found if mutant.before == "a + 1")
    assert (first.line, first.text, first.first, first.last) == (3, "b = a + 1", 3, 3)
    assert "b = a - 1" in mutate(source, first.index)
    with pytest.raises(IndexError):
        mutate(source, len(found))


def test_mutants_of_one_line_are_told_apart():
    assert [(m.after, m.nth) for m in mutants("a[0] + b[0]")] == [
        ("a[0] - b[0]", 0),
        ("1", 0),
        ("-1", 0),
        ("1", 1),
        ("-1", 1),
    ]


def test_rooms_that_do_not_exist(monkeypatch, capsys):
    with pytest.raises(SystemExit, match="There is no room 'kitchen'"):
        existing_rooms(["kitchen"])
    monkeypatch.setattr("tools.mutants.rooms.PACKAGE", PACKAGE / "nowhere")
    with pytest.raises(SystemExit, match="Room 'audit' has no sources"):
        existing_rooms(["audit"])
    assert existing_rooms() == {}
    assert capsys.readouterr().out.count("is left out") == len(DEFAULT_ROOMS)


def test_every_equivalent_mutant_is_one_and_has_a_reason():
    known = Equivalents.read()
    files = {str(PACKAGE / entry["file"]) for entry in known.entries}
    assert [file for file in files if not (ROOT / file).exists()] == []
    assert known.stale(all_mutants(sorted(files))) == []
    assert all(len(entry["reason"].split()) > 3 for entry in known.entries)
