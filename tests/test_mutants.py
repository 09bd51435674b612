"""The tool that changes the package in small ways: what it changes, and what it leaves alone."""

from __future__ import annotations

import argparse
import ast

import pytest

from tools.mutants.__main__ import _sample
from tools.mutants.mutations import mutants, mutate
from tools.mutants.rooms import (
    DEFAULT_ROOMS,
    PACKAGE,
    ROOT,
    Equivalents,
    all_mutants,
    existing_rooms,
)
from tools.mutants.testing import Plan, digests_now

ZERO = [("0", "1"), ("0", "-1")]
PRODUCT = [("1e-09 * b", "1e-09 / b"), ("1e-09", "1.000000001")]
FOUR_EPS = [("4 * eps", "4 / eps"), ("4", "5"), ("4", "3")]


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
        ("a[:, 0] + a[f(0):]", [("a[:, 0] + a[f(0):]", "a[:, 0] - a[f(0):]"), ("0", "1"), *ZERO]),
        ("a > 1e-9 * b", [("a > 1e-09 * b", "a <= 1e-09 * b"), *PRODUCT]),
        ("_CUT = 1e-6\na < _CUT", [("1e-06", "1.000001"), ("a < _CUT", "a >= _CUT")]),
        ("a < 4 * eps", [("a < 4 * eps", "a >= 4 * eps"), *FOUR_EPS]),
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
        "axes.plot(a, b, linewidth=2)",
        "if TYPE_CHECKING: a = 1",
        "f('some words')",
        "isinstance(a, list | tuple)",
        "names = ['x'] + names",
        "_BLOCK = 2**20",
        "rows = max(min(n, AT_ONCE // (p + 1)), 256)",
        "for part in row_blocks(n, max(k // 2, 256)): pass",
    ],
)
def test_what_is_left_alone(source):
    assert changes(source) == []


def test_arrays_without_elements_have_no_other_values():
    assert changes("np.zeros((n, 0))") == [("0", "1"), ("0", "-1")]
    assert changes("np.ones((n, m))") == [("np.ones((n, m))", "np.zeros((n, m))")]


def test_what_a_test_has_to_reach():
    source = """\
_FEW, _MANY = 1, n
class A:
    size: int = 2

    def f(self, a=3):
        if a:
            return 4
"""
    reached = {m.before: (m.first, m.last, m.names) for m in mutants(source)}
    assert reached == {
        "1": (1, 1, ("_FEW", "_MANY")),
        "2": (2, 7, ()),
        "3": (5, 7, ()),
        "a": (6, 6, ()),
        "4": (7, 7, ()),
    }


def test_tests_of_the_room_come_first_and_then_the_others_that_reach_a_statement():
    mutant = mutants("def f():\n    return a\n", "src/meanparity/a.py")[0]
    here, there = {("src/meanparity/a.py", 2)}, {("src/meanparity/a.py", 1)}
    lines = {"x::slow": here, "x::quick": here, "y::z": here, "x::not": there, "x::late": here}
    seconds = {"x::slow": 2.0, "x::quick": 1.0, "y::z": 1.0, "x::not": 1.0, "x::late": 9.0}
    plan = Plan(seconds, lines, (), digests_now())
    assert plan.stages(mutant, ["x"], 10.0) == [["x::quick", "x::slow"], ["y::z"]]
    assert plan.stages(mutant, ["w", "y"], 1.0) == [["y::z"], ["x::quick"]]
    nowhere = mutants("def f():\n    return a\n", "src/meanparity/b.py")[0]
    assert plan.stages(nowhere, ["y"], 10.0) == [["y::z"]]


def test_a_sample_stays_when_other_mutants_come_and_go():
    options = argparse.Namespace(file="", again=None, seed=3, sample=4)
    source = "\n".join(f"a[{i}] + b" for i in range(2, 9))
    few = [("a", mutant) for mutant in mutants(source, "a.py")]
    more = [("a", mutant) for mutant in mutants(f"c = d < 2\n{source}", "a.py")]
    drawn = [(m.key, m.nth) for _, m in _sample(options, few)]
    again = [(m.key, m.nth) for _, m in _sample(options, more)]
    assert len(drawn) == len(again) == 4
    assert {key for key in again if key[0][1] != "c = d < 2"} <= set(drawn)
    other = argparse.Namespace(file="", again=None, seed=4, sample=4)
    assert [(m.key, m.nth) for _, m in _sample(other, few)] != drawn


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
        ("1", 1),
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
